-- SPDX-License-Identifier: Apache-2.0
-- Labels: slow
-- The tuning of a model that is killed, or stopped by Ctrl-C, and taken up
-- again: no candidate is measured twice (but for the finals), the end is that
-- of a run that was never broken off, and what was stopped runs.  With
-- arguments this is the run that is broken off: DATABASE SIGNAL AFTER.
local ts = require "tessera"
local graph = require "tessera.graph"

local function small()
  local g = graph.new "small"
  local x = g:input("x", { 4, 16 })
  local function weight(...)
    return g:constant("w", ts.tensor("float32", { ... }, "random", 1))
  end
  local h = g:dense(x, weight(8, 16), weight(8), { act = "relu" })
  h = g:softmax(g:dense(h, weight(8, 8), weight(8)), { axis = -1 })
  g:output("y", g:dense(h, weight(4, 8)))
  return g
end

-- Times that the schedule tells, and no clock.
local measured = 0
local function time_of(session, candidate)
  measured = measured + 1
  return 1e-3 + 1e-6 * #tostring(session:program(candidate))
end

local function tune(database, progress)
  return graph.model(small(), {
    trials = 40, batch = 4, seed = 5, database = database, threads = 1,
    strategy = "genetic", measure = time_of, measure_name = "length",
    progress = progress })
end

local function runs(m)
  local x = ts.tensor("float32", { 4, 16 }, "random", 2)
  return m:run { x }:compare(graph.run(small(), { x })[1]) < 1e-4
end

if arg[1] then
  local m = tune(arg[1], function()
    if measured >= tonumber(arg[3]) and not arg.sent then
      arg.sent = true
      io.popen(("kill -%s $PPID"):format(arg[2])):close()
    end
  end)
  print(m.status, runs(m))
  return
end

-- ---- what is in a database -------------------------------------------------

-- Its records as a text; each is of another candidate.
local function records(path)
  local db <close> = ts.database(path)
  local list, seen = {}, {}
  for _, r in ipairs(db:records()) do
    local key = r.hash .. " " .. db:trace(r.id):json()
    assert(not seen[key], "measured twice: " .. key)
    seen[key] = true
    list[#list + 1] = ("%s %.9g"):format(key, r.seconds)
  end
  table.sort(list)
  return table.concat(list, "\n"), #list
end

local paths = {}
local function path()
  local name = os.tmpname()
  os.remove(name)
  paths[#paths + 1] = name
  return name
end

local function broken_off(database, signal, after)
  local f = io.popen(("'%s' '%s' %s %s %d 2>&1"):format(
    arg[-1], arg[0], database, signal, after))
  local said = f:read "a"
  f:close()
  return said
end

local whole = path()
assert(runs(tune(whole)))
local want, n = records(whole)
-- The first of each of the four tasks is asked for twice: times do not vary.
assert(n + 4 == measured and n > 10, n .. " of " .. measured)

for _, row in ipairs { { "KILL", 3 }, { "KILL", 17 }, { "INT", 10 } } do
  local db = path()
  local said = broken_off(db, table.unpack(row))
  local _, before = records(db)
  assert(before < n and before > 0, said)
  if row[1] == "INT" then assert(said:find "CANCELLED%s+true", said) end
  local m = tune(db)
  assert(m.status == "OK" and runs(m))
  assert(records(db) == want)
end
-- What no trial reaches has its default schedule, and nothing was broken off.
do
  local m = graph.model(small(), { trials = 1, measure = time_of,
                                   measure_name = "length" })
  assert(m.status == "OK" and runs(m), m.status)
end
for _, name in ipairs(paths) do os.remove(name) end
