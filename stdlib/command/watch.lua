-- SPDX-License-Identifier: Apache-2.0
-- `tessera watch DB`: how a running search stands, from the database in which
-- it stores.  That is opened for reading, so that nothing here ever waits for
-- the run, nor the run for it.
local ts = require "tessera"
local arguments = require "tessera.command.arguments"
local candidates = require "tessera.command.candidates"
local declared = require "tessera.command.declared"
local files = require "tessera.command.files"
local progress = require "tessera.report.progress"

-- Seconds between two looks, at the least; and a look that takes processor time
-- is followed by so many times as much of none.
local LEAST, REST = 1, 200

local PROMPT = "-- a record's number opens it in the stepper, q leaves> "

-- ---- what is shown ---------------------------------------------------------

-- The task in a line.
local function line_of(t, path)
  local parts = { ("%s: %s, best %s"):format(progress.name(t),
    progress.measured(t), progress.best(t, path)) }
  parts[#parts + 1] = progress.model(t)
  parts[#parts + 1] = progress.state(t)
  return table.concat(parts, "; ")
end

-- All that is known of it.
local function block_of(t, path)
  local run = t.run
  local list = { progress.name(t) .. (t.shapes ~= "" and ": " .. t.shapes or "")
                 .. "\n  target    " .. t.target }
  local function add(what, text)
    if text then
      list[#list + 1] = ("  %-8s  %s"):format(what, text)
    end
  end
  add("run", run and ("%s, seed %u, %.1f s: %s"):format(run.strategy, run.seed,
    run.seconds, progress.state(t)) or progress.state(t))
  add("trials", progress.measured(t))
  add("best", progress.best(t, path))
  add("funnel", progress.funnel(t))
  add("model", progress.model(t))
  return table.concat(list, "\n")
end

local function text_of(tasks, path)
  local list = {}
  for i, t in ipairs(tasks) do list[i] = block_of(t, path) end
  return #list > 0 and table.concat(list, "\n") or path .. ": no records yet"
end

-- ---- looking on ------------------------------------------------------------

-- The tasks, and for how long to look away.
local function look(db)
  local began = os.clock()
  local tasks = progress.tasks(db)
  return tasks, math.max(LEAST, REST * (os.clock() - began))
end

-- A line for each task that is not as it was, until no run goes on.
local function print_changes(db, path, host)
  local was = {}
  while true do
    local tasks, pause = look(db)
    for _, t in ipairs(tasks) do
      local key = t.hash .. t.target .. t.policy
      local line = line_of(t, path)
      if was[key] ~= line then print(line) end
      was[key] = line
    end
    if not progress.goes_on(tasks) then return end
    host.wait(pause)
  end
end

-- The stepper on a record; what it says of a bad one is shown.
local function open_record(db, path, id, host)
  local name = ("%s:%d"):format(path, id)
  local ok, e = pcall(function()
    require("tessera.step.prompt").step(db:trace(id):stepper(), host, name, {
      load = function(...) return candidates.load("step", ...) end })
  end)
  if ok then return end
  if e == "interrupted" then error(e, 0) end
  return tostring(type(e) == "table" and e.message or e):match "^[^\n]*"
end

-- Obeys a line that was typed; whether that was the last, and what to say.
local function obey(line, db, path, host)
  if not line or line == "q" or line == "quit" then return true end
  local id = math.tointeger(tonumber(line))
  if line == "" then return false end
  if not id then
    return false, ("'%s' is no number of a record"):format(line)
  end
  return false, open_record(db, path, id, host)
end

-- Draws anew what has changed; a number that is typed opens that record.
local function show(db, path, host)
  local shown, said
  while true do
    local tasks, pause = look(db)
    local text = text_of(tasks, path)
    if text ~= shown or said then
      io.stdout:write("\27[H\27[J", text, "\n", said and said .. "\n" or "",
                      PROMPT)
    end
    shown, said = text, nil
    if host.wait(pause) then
      local last
      last, said = obey(io.read "l", db, path, host)
      if last then return end
      shown = nil
    end
  end
end

return function(args, host)
  local o, rest = arguments.parse(args, declared.kinds "watch")
  if #rest ~= 1 then arguments.usage "watch takes one DB" end
  local path = rest[1]
  if not files.is_database(path) then error(path .. ": not a database", 0) end
  local db = ts.database(path, { readonly = true })
  if o.once then
    print(text_of(progress.tasks(db), path))
  elseif host.terminal and host.screen then
    show(db, path, host)
  else
    print_changes(db, path, host)
  end
  return 0
end
