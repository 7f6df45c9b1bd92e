-- SPDX-License-Identifier: Apache-2.0
-- Strategies on spaces that others measured whole: cache files of Kernel Tuner
-- (JSON, van Werkhoven, 2019), as those of the FAIR benchmark hub
-- (github.com/AutoTuningAssociation/benchmark_hub), plain or gzipped.
--   tessera bench/peers.lua DIR|FILE ... [--search 'S;...'] [--seeds N]
--     [--trials N] [--noise SHARE] [--batch N]
-- A point that the file lacks breaks a restriction that Kernel Tuner knows
-- before it compiles anything, and is no trial; one with an error is a trial
-- that failed.  For each file and search a line: at 25, 50, 100, 200 and 400
-- trials, and at the end, the median over the seeds of the true time of the
-- best by what was measured, in times the best of the space, and how many of
-- the seeds are within 5 % of that at the end.
-- With --noise 0.1 a reading is the true time times 1 + 0.1 x (normal), one in
-- fifty five times as long; a point that is measured again gives another.
local ts = require "tessera"
local read_json = require "tessera.lang.read_json"

local AT = { 25, 50, 100, 200, 400 }

local arguments = dofile((arg[0]:gsub("[^/]*$", "support/arguments.lua")))(
  "peers.lua DIR|FILE ... [--search 'S;...'] [--seeds N] [--trials N] " ..
  "[--noise SHARE] [--batch N]")
local quoted = arguments.quoted
local given, paths = arguments.options {
  search = "hybrid", seeds = 20, trials = 400, noise = 0.0, batch = 32 }
if #paths == 0 then arguments.refuse "no file of Kernel Tuner is named" end
for _, name in ipairs { "seeds", "trials", "batch" } do
  if given[name] < 1 then arguments.refuse("--%s is from 1 on", name) end
end

-- ---- files of Kernel Tuner -----------------------------------------------

-- Ends with what is wrong with a file.
local function refuse(path, why, ...)
  io.stderr:write("peers.lua: ", path, ": ", why:format(...), "\n")
  os.exit(1)
end

local function lines_of(command)
  local f <close> = assert(io.popen(command))
  local list = {}
  for line in f:lines() do list[#list + 1] = line end
  return list
end

local function files()
  local list = {}
  for _, path in ipairs(paths) do
    local found = lines_of(
      "find " .. quoted(path) .. " -name '*.json' -o -name '*.json.gz' | sort")
    if #found == 0 then refuse(path, "there is no .json or .json.gz") end
    table.move(found, 1, #found, #list + 1, list)
  end
  return list
end

-- What varies: { name =, values = }; and the seconds of each point by its key,
-- false where it failed.
local function read_space(path)
  local f <close> = assert(io.popen(
    (path:find "%.gz$" and "zcat " or "cat ") .. quoted(path)))
  local ok, file = pcall(read_json, f:read "a")
  if not ok then refuse(path, "is no JSON") end
  for _, name in ipairs { "tune_params_keys", "tune_params", "cache" } do
    if type(file) ~= "table" or type(file[name]) ~= "table" then
      refuse(path, "is no cache file of Kernel Tuner: it has no %s", name)
    end
  end
  local params, times, best, failed, count = {}, {}, math.huge, 0, 0
  for _, name in ipairs(file.tune_params_keys) do
    local values = file.tune_params[name]
    if #values > 1 then
      params[#params + 1] = { name = name, values = values }
    end
  end
  for _, point in pairs(file.cache) do
    local key = {}
    for k, p in ipairs(params) do key[k] = tostring(point[p.name]) end
    local t = type(point.time) == "number" and point.time < 1e19 and
              point.time * 1e-3
    times[table.concat(key, ",")] = t
    count = count + 1
    if t then best = math.min(best, t) else failed = failed + 1 end
  end
  if best == math.huge then refuse(path, "no point of it ran") end
  return { params = params, times = times, best = best, failed = failed,
           count = count, name = path:match "([^/]*)%.json" }
end

-- ---- as a space of Tessera -----------------------------------------------

local X = ts.placeholder("X", { 4 })
local program = ts.program("peer", { X }, {
  ts.compute("Y", { 4 }, function(i) return X(i) end) })

local function all_integers(list)
  for _, v in ipairs(list) do
    if math.type(v) ~= "integer" then return false end
  end
  return true
end

-- Each parameter is sampled: its values where they are integers, their
-- positions else.
local function describe(space)
  for _, p in ipairs(space.params) do
    local list = p.values
    if not all_integers(list) then
      list = {}
      for k = 1, #p.values do list[k] = k - 1 end
    end
    p.candidates, p.even, p.value = list, {}, {}
    for k = 1, #list do
      p.even[k], p.value[list[k]] = 1 / #list, p.values[k]
    end
  end
  return ts.space.by_hand(function(sch)
    local block = sch:get_block "Y"
    for _, p in ipairs(space.params) do
      sch:annotate(block, p.name, sch:sample_categorical(p.candidates, p.even))
    end
  end)
end

-- The key of a point: of its decisions, each of which is a length, 1, and a
-- position; or of a schedule.
local function key_of_decisions(space, decisions)
  local key = {}
  for k, p in ipairs(space.params) do
    key[k] = tostring(p.values[decisions[2 * k] + 1])
  end
  return table.concat(key, ",")
end

local function key_of(space, sch)
  local block, key = sch:get_block "Y", {}
  for k, p in ipairs(space.params) do
    key[k] = tostring(p.value[tonumber(sch:annotation(block, p.name))])
  end
  return table.concat(key, ",")
end

-- The decisions of a result's trace in that form.
local function decisions_of(result)
  local list = {}
  for k = 1, result.trace and #result.trace or 0 do
    local inst = result.trace[k]
    if inst.name == "sample_categorical" then
      list[#list + 1], list[#list + 2] = 1, inst.decision[1]
    end
  end
  return list
end

-- ---- runs ----------------------------------------------------------------

local function quantile(list, share)
  local sorted = table.move(list, 1, #list, 1, {})
  table.sort(sorted)
  local at = 1 + share * (#sorted - 1)
  local low = math.floor(at)
  return sorted[low] + (sorted[math.min(low + 1, #sorted)] - sorted[low]) *
         (at - low)
end

local function normal()
  return math.sqrt(-2 * math.log(1 - math.random())) *
         math.cos(2 * math.pi * math.random())
end

local function reading(t)
  if given.noise == 0 then return t end
  local factor = math.max(0.3, 1 + given.noise * normal())
  return t * factor * (math.random() < 0.02 and 5 or 1)
end

-- After each trial the true time, in times the best, of the point whose
-- readings so far have the least median; and that of the winner at the end.
local function run(space, by_hand, search, seed)
  local strategy, model = search:match "^([^/]*)/?(.*)$"
  local seen, curve, trials = {}, {}, 0
  local best, least
  math.randomseed(seed)
  local clock = os.clock()
  local result = ts.tune(program, {
    space = by_hand, strategy = strategy, trials = given.trials, seed = seed,
    cost_model = model ~= "" and model or nil, threads = 1,
    batch = given.batch, postprocs = { { "restrictions", function(sch)
      return space.times[key_of(space, sch)] ~= nil
    end } },
    measure = function(session, candidate)
      local key = key_of_decisions(space, candidate.decisions)
      local t = space.times[key]
      if not seen[key] then seen[key], trials = {}, trials + 1 end
      local list = seen[key]
      if not t then
        curve[trials] = best and space.times[best] / space.best
        return nil, "LAUNCH_ERROR"
      end
      list[#list + 1] = reading(t)
      local middle = quantile(list, 0.5)
      if not least or best == key or middle < least then
        best, least = key, middle
      end
      curve[trials] = space.times[best] / space.best
      return list[#list]
    end,
  })
  local winner = space.times[key_of_decisions(space, decisions_of(result))]
  curve[trials] = winner and winner / space.best
  return curve, os.clock() - clock
end

local function searches()
  local list = {}
  for word in given.search:gmatch "[^;]+" do list[#list + 1] = word end
  return list
end

-- The numbers of trials that there is a column for.
local function trials_shown()
  local list = {}
  for _, at in ipairs(AT) do
    if at < given.trials then list[#list + 1] = at end
  end
  list[#list + 1] = given.trials
  return list
end

local function print_head()
  local cells = {}
  for k, at in ipairs(trials_shown()) do cells[k] = ("%6d"):format(at) end
  print(("%-26s %-28s %s  within 5 %%  time a trial"):format(
    "space", "search", table.concat(cells, " ")))
end

local function line_of(space, by_hand, search)
  local curves, near, spent, rank = {}, 0, 0, 0
  for seed = 1, given.seeds do
    local curve, seconds = run(space, by_hand, search, seed)
    curves[seed], spent = curve, spent + seconds
    if (curve[#curve] or math.huge) <= 1.05 then near = near + 1 end
  end
  local cells = {}
  for k, at in ipairs(trials_shown()) do
    local list = {}
    for seed, curve in ipairs(curves) do
      list[seed] = curve[math.min(at, #curve)] or math.huge
    end
    cells[k] = ("%6.3f"):format(quantile(list, 0.5))
  end
  print(("%-26s %-28s %s  %2d/%d  %.1f ms"):format(
    space.name, search, table.concat(cells, " "), near, given.seeds,
    1e3 * spent / given.seeds / given.trials))
  io.stdout:flush()
end

local list = files()
print_head()
for _, path in ipairs(list) do
  local space = read_space(path)
  local by_hand = describe(space)
  for _, search in ipairs(searches()) do line_of(space, by_hand, search) end
end
