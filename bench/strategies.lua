-- SPDX-License-Identifier: Apache-2.0
-- What searches of the default space, which is too large to be recorded, end
-- with: winners of as many trials on one thread, timed in turns, so that the
-- machine's load affects all of them alike.
--   tessera bench/strategies.lua [TRIALS [SEEDS [FILE [WORKLOAD ...]]]]
-- A line for each winner: its milliseconds, and how many times as long as the
-- best winner it takes.  Winners are added to FILE ("-": to none), as JSON
-- lines, and those that it has of the same workload and machine are timed with
-- the new ones.  The environment's STRATEGY, a name or several with commas
-- between, is searched with, "hybrid" else.
local ts = require "tessera"
local ops = require "tessera.ops"
local here = arg[0]:match "^(.*)/[^/]*$"
local recorder = dofile(here .. "/support/recorder.lua")

local trials, seeds = tonumber(arg[1] or 256), tonumber(arg[2] or 5)
local path = arg[3] ~= "-" and arg[3] or nil
local strategies = {}
for s in (os.getenv "STRATEGY" or "hybrid"):gmatch "[^,]+" do
  strategies[#strategies + 1] = s
end

local workloads = {
  ["GMM-4"] = function() return (ops.suite("GMM", 4)) end,
  ["C2D-3"] = function() return (ops.suite("C2D", 3)) end,
  ["DEP-2"] = function() return (ops.suite("DEP", 2)) end,
  ["CBR-3"] = function() return (ops.suite("CBR", 3)) end,
  ["matmul-256"] = function() return ops.matmul { m = 256, n = 256, k = 256 } end,
  ["3mm"] = function() return ops.polybench("3mm", "LARGE") end,
  lu = function() return ops.polybench("lu", "LARGE") end,
  cholesky = function() return ops.polybench("cholesky", "LARGE") end,
}
local names = table.pack(table.unpack(arg, 4))
if #names == 0 then names = { "GMM-4", "C2D-3", "3mm", "lu", "cholesky" } end

-- ---- the file ------------------------------------------------------------

local machine = recorder.machine()

local function keep(name, x)
  if not path then return end
  local f <close> = assert(io.open(path, "a"))
  local text = x.trace:json():gsub(', "at": %b[]', ""):gsub("\n%s*", " ")
  f:write(('{"workload": "%s", "machine": "%s", "from": "%s", "trace": %s}\n')
          :format(name, machine, x.from, text))
end

-- The winners of earlier runs.
local function read_winners(name, program)
  local list = {}
  local f <close> = path and io.open(path)
  for line in f and f:lines() or function() end do
    local w, m, from, text = line:match(
      '^{"workload": "(.-)", "machine": "(.-)", "from": "(.-)", "trace": (.*)}$')
    if w == name and m == machine then
      list[#list + 1] = { from = from, old = true,
                          trace = ts.trace.from_json(text, program) }
    end
  end
  return list
end

-- ---- searching and timing ------------------------------------------------

local function search(name, program, list)
  for seed = 1, seeds do
    for _, s in ipairs(strategies) do
      local start = os.time()
      local r = ts.tune(program, { target = "llvm -num-cores=1", seed = seed,
                                   trials = trials, strategy = s })
      local x = { from = ("%s, %d trials, seed %d"):format(s, trials, seed),
                  trace = r.trace, seconds = os.time() - start }
      keep(name, x)
      list[#list + 1] = x
    end
  end
end

-- One sample, in seconds; what is factored is filled anew for each.
local function sample(kernel, program, args)
  if #args > 1 then return kernel:time(args, { min_time = 0.01 }).min end
  return recorder.least(kernel, function()
    return recorder.arguments(program)
  end, 0)
end

for _, name in ipairs(names) do
  local program = workloads[name]()
  local list = read_winners(name, program)
  search(name, program, list)
  for _, x in ipairs(list) do
    x.least = math.huge
    x.kernel = ts.build(x.trace:replay(program), "llvm -num-cores=1")
  end
  local best, args = math.huge, recorder.arguments(program)
  for _ = 1, 12 do
    for _, x in ipairs(list) do
      x.least = math.min(x.least, sample(x.kernel, program, args))
      best = math.min(best, x.least)
    end
  end
  for _, x in ipairs(list) do
    print(('{"figure": "winner_ms", "value": %.4g, "unit": "ms", ' ..
           '"workload": "%s", "of_best": %.3f, "from": "%s", "old": %s, ' ..
           '"seconds": %d}'):format(x.least * 1e3, name, x.least / best,
                                    x.from, x.old or false, x.seconds or 0))
    io.stdout:flush()
  end
end
