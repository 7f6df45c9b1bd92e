-- SPDX-License-Identifier: Apache-2.0
-- What tuning gains on the OpenCL device of this machine (PoCL, where there is
-- no card), one figure a line:
--   tessera bench/opencl.lua [ROW [TRIALS [SEED]]]
-- of a row of the operator suite (GMM-3, C2D-3): the median of 64 valid
-- candidates drawn at random, the best of TRIALS, how many times faster that
-- is, and the best of as many of the llvm target.
local ts = require "tessera"
local ops = require "tessera.ops"

local usage = "opencl.lua [ROW [TRIALS [SEED]]]"
local given = dofile((arg[0]:gsub("[^/]*$", "support/arguments.lua")))(usage)
local row = arg[1] or "C2D-3"
local trials = given.count(2, "TRIALS", 128)
local seed = given.count(3, "SEED", 1)
given.at_most(3)
local name, number = row:match "^(%w+)-(%d)$"
if not name then
  error(("ROW is as C2D-3, not '%s'; usage: %s"):format(row, usage), 0)
end
local program = ops.suite(name, tonumber(number))
local DRAWN = 64

local function tune(target, strategy, n)
  local file = os.tmpname()
  os.remove(file)
  local result = ts.tune(program, {
    target = target, trials = n, seed = seed, strategy = strategy,
    min_time = 0.02, database = file,
  })
  local db <close> = ts.database(file)
  local times = {}
  for _, record in ipairs(db:records()) do
    times[#times + 1] = record.seconds
  end
  os.remove(file)
  table.sort(times)
  return times, result
end

local function figure(what, value, unit, target)
  print(('{"figure": "%s", "value": %.4g, "unit": "%s", "row": "%s", ' ..
         '"target": "%s", "trials": %d}')
        :format(what, value, unit, row, tostring(target), trials))
end

local device = ts.target "opencl -model=cpu"
local drawn = tune(device, "replay", DRAWN)
local median = drawn[(#drawn + 1) // 2]
assert(median, "no candidate that was drawn is valid")
figure("drawn", #drawn, "count", device)
figure("median_drawn", 1e3 * median, "ms", device)
local _, best = tune(device, nil, trials)
figure("best", 1e3 * best.latency, "ms", device)
figure("gain", median / best.latency, "1", device)
local host = ts.target "llvm"
local _, native = tune(host, nil, trials)
figure("best", 1e3 * native.latency, "ms", host)
figure("of_llvm", native.latency / best.latency, "1", device)
