-- SPDX-License-Identifier: Apache-2.0
-- What searches of the default space, which is too large to be recorded, end
-- with: winners of as many trials, timed in turns, so that the machine's load
-- affects all of them alike.
--   tessera bench/strategies.lua [--trials N] [--seeds N] [--threads N]
--     [--strategy S,...] [--winners FILE] [WORKLOAD ...]
-- A line for each winner: its milliseconds, and how many times as long as the
-- best winner it takes.  Winners are added to FILE, as JSON lines, and those
-- that it has of the same workload, machine and number of threads are timed
-- with the new ones; with --seeds 0 only those.
local ts = require "tessera"
local ops = require "tessera.ops"
local here = arg[0]:match "^(.*)/[^/]*$"
local recorder = dofile(here .. "/support/recorder.lua")

local given, names = dofile(here .. "/support/arguments.lua")(
  "strategies.lua [--trials N] [--seeds N] [--threads N] [--strategy S,..] " ..
  "[--winners FILE] [WORKLOAD ..]").options {
  trials = 256, seeds = 5, threads = 1, strategy = "hybrid", winners = "" }
local target = "llvm -num-cores=" .. given.threads

local workloads = {
  ["GMM-4"] = function() return (ops.suite("GMM", 4)) end,
  ["C2D-3"] = function() return (ops.suite("C2D", 3)) end,
  ["DEP-2"] = function() return (ops.suite("DEP", 2)) end,
  ["CBR-3"] = function() return (ops.suite("CBR", 3)) end,
  ["matmul-256"] = function()
    return ops.matmul { m = 256, n = 256, k = 256 }
  end,
  demo = function()
    return ops.matmul { m = 1024, n = 1024, k = 1024, bias = true, relu = true }
  end,
  ["3mm"] = function() return ops.polybench("3mm", "LARGE") end,
  lu = function() return ops.polybench("lu", "LARGE") end,
  cholesky = function() return ops.polybench("cholesky", "LARGE") end,
}
if #names == 0 then names = { "GMM-4", "C2D-3", "3mm", "lu", "cholesky" } end
for _, name in ipairs(names) do
  assert(workloads[name], "strategies.lua: there is no workload " .. name)
end

-- ---- the file ------------------------------------------------------------

local machine = ("%s, threads %d"):format(recorder.machine(), given.threads)

local function keep(name, x)
  if given.winners == "" then return end
  local f <close> = assert(io.open(given.winners, "a"))
  local text = x.trace:json():gsub(', "at": %b[]', ""):gsub("\n%s*", " ")
  f:write(('{"workload": "%s", "machine": "%s", "from": "%s", "trace": %s}\n')
          :format(name, machine, x.from, text))
end

-- The winners of earlier runs.
local function read_winners(name, program)
  local list = {}
  local f <close> = given.winners ~= "" and io.open(given.winners)
  for line in f and f:lines() or function() end do
    local w, m, from, text =
      line:match('^{"workload": "(.-)", "machine": "(.-)", "from": "(.-)", ' ..
                 '"trace": (.*)}$')
    if w == name and m == machine then
      list[#list + 1] = { from = from, old = true,
                          trace = ts.trace.from_json(text, program) }
    end
  end
  return list
end

local ROUNDS = 25

-- ---- searching and timing ------------------------------------------------

local function search(name, program, list)
  for seed = 1, given.seeds do
    for s in given.strategy:gmatch "[^,]+" do
      local start = os.time()
      local r = ts.tune(program, { target = target, seed = seed,
                                   trials = given.trials, strategy = s })
      local from = ("%s, %d trials, seed %d"):format(s, given.trials, seed)
      local x = { from = from, trace = r.trace,
                  seconds = os.time() - start }
      keep(name, x)
      list[#list + 1] = x
    end
  end
end

-- Searches that end with the same trace share a kernel.
local function build_each(program, list)
  local kernels, by = {}, {}
  for _, x in ipairs(list) do
    local text = x.trace:json()
    if not by[text] then
      by[text] = { kernel = ts.build(x.trace:replay(program), target),
                   least = math.huge }
      kernels[#kernels + 1] = by[text]
    end
    x.built = by[text]
  end
  return kernels
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
  local kernels = build_each(program, list)
  local best, args = math.huge, recorder.arguments(program)
  for _ = 1, ROUNDS do
    for _, k in ipairs(kernels) do
      k.least = math.min(k.least, sample(k.kernel, program, args))
      best = math.min(best, k.least)
    end
  end
  for _, x in ipairs(list) do
    local least = x.built.least
    print(('{"figure": "winner_ms", "value": %.4g, "unit": "ms", ' ..
           '"workload": "%s", "of_best": %.3f, "from": "%s", "old": %s, ' ..
           '"seconds": %d}'):format(least * 1e3, name, least / best, x.from,
                                     x.old or false, x.seconds or 0))
    io.stdout:flush()
  end
end
