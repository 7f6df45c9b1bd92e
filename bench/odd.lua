-- SPDX-License-Identifier: Apache-2.0
-- What extents that are primes cost: GFLOP/s of tuned programs compared with
-- those of the next larger shape of multiples of 8, winners timed in turns on
-- one thread.
--   tessera bench/odd.lua [TRIALS [SEED [CASE]]]
-- CASE: a part of the names of those that are measured, as "product".
local ts = require "tessera"
local ops = require "tessera.ops"

local given = dofile((arg[0]:gsub("[^/]*$", "support/arguments.lua")))
  "odd.lua [TRIALS [SEED [CASE]]]"
local trials = given.count(1, "TRIALS", 64)
local seed = given.count(2, "SEED", 1)
given.at_most(3)
local target = "llvm -num-cores=1"

local function product(n) return ops.matmul { m = n, n = n, k = n } end

local function convolution(size, channels)
  return ops.conv2d_nhwc { n = 1, h = size, w = size, ci = channels,
                           co = channels, k = 3, pad = 1 }
end

local cases = {
  { "product, 127", product(127), product(128) },
  { "product, 251", product(251), product(256) },
  { "product, 509", product(509), product(512) },
  { "convolution, 13 x 13 x 61", convolution(13, 61), convolution(16, 64) },
  { "convolution, 29 x 29 x 31", convolution(29, 31), convolution(32, 32) },
  { "convolution, 53 x 53 x 127", convolution(53, 127), convolution(56, 128) },
}

-- The winner for the program, with what to call it on.
local function tuned(program)
  local r = ts.tune(program, { target = target, trials = trials, seed = seed,
                               min_time = 0.02 })
  assert(r.trace, r.funnel)
  local list = {}
  for i, p in ipairs(program:params()) do
    list[i] = ts.tensor(p.dtype, p.shape, "random", i)
  end
  return { kernel = r.kernel, arguments = list, flops = program:flops(),
           least = math.huge }
end

local function measure(case)
  local both = { tuned(case[2]), tuned(case[3]) }
  for _ = 1, 10 do
    for _, x in ipairs(both) do
      local t = x.kernel:time(x.arguments, { min_time = 0.02 })
      x.least = math.min(x.least, t.min)
    end
  end
  local odd, round = both[1].flops / both[1].least * 1e-9,
                     both[2].flops / both[2].least * 1e-9
  print(('{"figure": "ratio_to_round", "value": %.3f, "unit": "", ' ..
         '"case": "%s", "gflops": %.1f, "round_gflops": %.1f, ' ..
         '"trials": %d, "seed": %d}'):format(odd / round, case[1], odd, round,
                                             trials, seed))
  io.stdout:flush()
end

local names = {}
for i, case in ipairs(cases) do names[i] = case[1] end
local chosen = given.matching("case", arg[3] or "", names)
for _, case in ipairs(cases) do
  if chosen[case[1]] then measure(case) end
end
