-- SPDX-License-Identifier: Apache-2.0
-- What the default space loses, or gains, by choosing together what is alike:
-- winners of the same number of trials of it and of the space in which each
-- reduction is split and each block placed by itself (`each`), timed
-- interleaved, so that the machine's load affects all of them alike.
--   tessera bench/together.lua [TRIALS [SEEDS [WORKLOAD ...]]]
local ts = require "tessera"
local ops = require "tessera.ops"
local spaces = require "tessera.modules.spaces"
local target = "llvm -num-cores=2"

-- Two sums, the second of what the first gives.
local function variance(rows, n)
  local X = ts.placeholder("X", { rows, n })
  local k, q = ts.reduce_axis("k", n), ts.reduce_axis("q", n)
  local M = ts.compute("M", { rows }, function(i) return ts.sum(X(i, k), k) end)
  local V = ts.compute("V", { rows }, function(i)
    local d = X(i, q) - M(i) / n
    return ts.sum(d * d, q)
  end)
  local Y = ts.compute("Y", { rows }, function(i) return V(i) / n end)
  return ts.program("variance", { X }, { Y })
end

local function product(dtype)
  return ops.matmul { m = 1, n = 16, k = 1024, dtype = dtype }
end

local workloads = {
  { "layer_norm-7x33",
    function() return ops.layer_norm { shape = { 7, 33 } } end },
  { "layer_norm-64x1024",
    function() return ops.layer_norm { shape = { 64, 1024 } } end },
  { "softmax-7x33", function() return ops.softmax { shape = { 7, 33 } } end },
  { "softmax-64x1024",
    function() return ops.softmax { shape = { 64, 1024 } } end },
  { "NRM-1", function() return (ops.suite("NRM", 1)) end },
  { "mean-64x1024", function()
    return ops.reduce { op = "mean", shape = { 64, 1024 }, axes = { 1 } }
  end },
  { "variance-64x1024", function() return variance(64, 1024) end },
  { "matmul-1x16x1024", function() return product "float32" end },
  { "matmul-1x16x1024-bfloat16", function() return product "bfloat16" end },
}

-- The modules of the default space, but for those that choose together.
local function each()
  local alone = {
    add_rfactor = { tree = true },
    random_compute_location = { open = false, fuse = true },
  }
  local list = spaces.modules_for(target)
  for i, m in ipairs(list) do
    local p = alone[m.name]
    if p then list[i] = require("tessera.modules." .. m.name)(p) end
  end
  return list
end

local given = dofile((arg[0]:gsub("[^/]*$", "support/arguments.lua")))(
  "together.lua [TRIALS [SEEDS [WORKLOAD ..]]]")
local trials, seeds = given.count(1, "TRIALS", 128), given.count(2, "SEEDS", 3)
local chosen = table.pack(table.unpack(arg, 3))

local function is_chosen(name)
  for _, pattern in ipairs(chosen) do
    if name:find(pattern, 1, true) then return true end
  end
  return #chosen == 0
end

-- The winner of each space and seed.
local function search(program)
  local list = {}
  for seed = 1, seeds do
    for _, s in ipairs { { "together", spaces.modules_for(target) },
                         { "each", each() } } do
      local r = ts.tune(program, { target = target, seed = seed, space = s[2],
                                   trials = trials, min_time = 0.005 })
      list[#list + 1] = { space = s[1], seed = seed, kernel = r.kernel,
                          least = math.huge }
    end
  end
  return list
end

for _, w in ipairs(workloads) do
  if is_chosen(w[1]) then
    local program, args = w[2](), {}
    for i, p in ipairs(program:params()) do
      args[i] = ts.tensor(p.dtype, p.shape, "random", i)
    end
    local list = search(program)
    for _ = 1, 40 do
      for _, x in ipairs(list) do
        x.least = math.min(x.least,
                           x.kernel:time(args, { min_time = 0.003 }).min)
      end
    end
    for _, x in ipairs(list) do
      print(('{"figure": "winner_us", "value": %.4g, "unit": "us", ' ..
             '"workload": "%s", "space": "%s", "seed": %d, "trials": %d}')
            :format(x.least * 1e6, w[1], x.space, x.seed, trials))
    end
  end
end
