-- SPDX-License-Identifier: Apache-2.0
-- What strategies end with on the default space, which is too large to be
-- recorded: winners of the same number of trials, timed interleaved, so that
-- the machine's load affects all of them alike.
--   tessera bench/strategies.lua [TRIALS [SEEDS [STRATEGY ...]]]
local ts = require "tessera"
local ops = require "tessera.ops"

local given = dofile((arg[0]:gsub("[^/]*$", "support/arguments.lua")))
  "strategies.lua [TRIALS [SEEDS [STRATEGY ...]]]"
local trials = given.count(1, "TRIALS", 96)
local seeds = given.count(2, "SEEDS", 3)
local strategies = table.pack(table.unpack(arg, 3))
if #strategies == 0 then strategies = { "evolutionary", "hybrid" } end

local workloads = {
  { "matmul-256",
    function() return ops.matmul { m = 256, n = 256, k = 256 } end },
  { "CBR-3", function() return (ops.suite("CBR", 3)) end },
}

local function arguments(program)
  local list = {}
  for i, p in ipairs(program:params()) do
    list[i] = ts.tensor(p.dtype, p.shape, "random", i)
  end
  return list
end

local function search(program)
  local list = {}
  for seed = 1, seeds do
    for _, s in ipairs(strategies) do
      local r = ts.tune(program, { target = "llvm -num-cores=1", seed = seed,
                                   trials = trials, strategy = s,
                                   min_time = 0.01 })
      list[#list + 1] = { strategy = s, seed = seed, kernel = r.kernel,
                          least = math.huge }
    end
  end
  return list
end

for _, w in ipairs(workloads) do
  local program = w[2]()
  local list, args = search(program), arguments(program)
  for _ = 1, 30 do
    for _, x in ipairs(list) do
      x.least = math.min(x.least, x.kernel:time(args, { min_time = 0.003 }).min)
    end
  end
  for _, x in ipairs(list) do
    print(('{"figure": "winner_ms", "value": %.4g, "unit": "ms", ' ..
           '"workload": "%s", "strategy": "%s", "seed": %d, "trials": %d}')
          :format(x.least * 1e3, w[1], x.strategy, x.seed, trials))
  end
end
