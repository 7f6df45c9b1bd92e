-- SPDX-License-Identifier: Apache-2.0
-- Operators that are composed: random chains of three to six of them, each
-- through interpreter, plain and scheduled kernels, and a block of a
-- transformer, how long it takes to be described and what tuning makes of it.
--   tessera bench/chains.lua [CHAINS [SEED [TRIALS]]]
-- does 500 chains and 16 trials; prints the figures chains_wrong,
-- transformer_described and transformer_gain.
local here = arg[0]:gsub("[^/]*$", "")
package.path = here .. "?.lua;" .. package.path
local ts = require "tessera"
local chain = require "chains.chain"
local scheduled = require "support.scheduled"

local given = require "support.arguments" "chains.lua [CHAINS [SEED [TRIALS]]]"
local count, first = given.count(1, "CHAINS", 500), given.count(2, "SEED", 1)
local trials = given.count(3, "TRIALS", 16)
given.at_most(3)

local function figure(name, value, unit)
  print(('{"figure": "%s", "value": %.4g, "unit": "%s"}'):format(name, value,
                                                                unit))
end

-- ---- chains ----------------------------------------------------------------

local wrong, blocks = 0, 0
for seed = first, first + count - 1 do
  local program, names = chain.random(seed)
  local want = chain.arguments(program, seed)
  ts.interpret(program, want)
  for _, way in ipairs { { "plain", program },
                         { "scheduled", scheduled(program, seed) } } do
    local got = chain.arguments(program, seed)
    ts.build(way[2], "llvm")(table.unpack(got))
    local where = chain.difference(want, got)
    if where then
      wrong = wrong + 1
      print(("seed %d, %s: %s: %s"):format(seed, names, way[1], where))
    end
  end
  for _ in tostring(program):gmatch "block " do blocks = blocks + 1 end
  if seed % 50 == 0 then collectgarbage() end
end
print(("%d chains of %d blocks"):format(count, blocks))
figure("chains_wrong", wrong, "kernels")

-- ---- a transformer's block -------------------------------------------------

local times = {}
for i = 1, 21 do
  local start = os.clock()
  chain.transformer(128, 256, 8)
  times[i] = os.clock() - start
end
table.sort(times)
figure("transformer_described", times[11] * 1000, "ms")

if trials > 0 then
  local program = chain.transformer(128, 256, 8)
  local inputs, args = chain.inputs(program, 1), chain.arguments(program, 1)
  local plain = ts.build(program, "llvm")
  local result = ts.tune(program, { trials = trials, seed = 1, check = "all",
                                    inputs = inputs,
                                    progress = function() end })
  print(result.classes)
  local function seconds(kernel)
    local least = math.huge
    for _ = 1, 5 do
      local start = os.clock()
      kernel(table.unpack(args))
      least = math.min(least, os.clock() - start)
    end
    return least
  end
  figure("transformer_gain", seconds(plain) / seconds(result.kernel), "times")
end
os.exit(wrong == 0)
