-- SPDX-License-Identifier: Apache-2.0
-- How `tessera tune` ends: how much faster than the unscheduled program the
-- best is, and what can be done with it.  As comments, since what is printed
-- can be read as a trace.
local ts = require "tessera"
local records = require "tessera.command.records"

local word = records.shell_word

local function duration(s)
  local unit, by = "s", 1
  if s < 1 then unit, by = "ms", 1e3 end
  return ("%.4g %s"):format(s * by, unit)
end

local function print_speed(result)
  if not (result.unscheduled and result.latency) then return end
  local times = result.unscheduled / result.latency
  print(("-- %.3g times as fast as the unscheduled program, which takes %s")
        :format(times, duration(result.unscheduled)))
end

-- Among how many of the fastest records the best is looked for: it was chosen
-- of a few that were timed again.
local FINALISTS = 16

local function find(db, trace, program)
  local filter = { program = program, checked = true, limit = FINALISTS }
  for _, r in ipairs(db:records(filter)) do
    if db:trace(r.id) == trace then return r.id end
  end
end

-- The name of the best's record, "tune.db:44"; nil where it cannot be told.
local function record_of(trace, program, path)
  local ok, db = pcall(ts.database, path)
  if not ok then return nil end
  local found, id = pcall(find, db, trace, program)
  db:close()
  return found and id and word(("%s:%d"):format(path, id)) or nil
end

-- A trace alone does not say what it was measured on.  Kernels of devices are
-- no code that programs are linked with.
local function print_next(name, more, target, is_record)
  local text = tostring(target or "llvm"):gsub(" %-machine=%S+", "")
  local where = target and not is_record and " --target " .. word(text) or ""
  print(("-- next: tessera step %s%s"):format(name, more))
  print(("--       tessera build %s%s%s -o NAME.%s"):format(
    name, more, where, text:match "^%S+" == "llvm" and
                       "so --header NAME.h" or "kernel"))
end

-- d: what was tuned; o: the options of the command; path: FILE.lua.
return function(result, d, o, path)
  if not result.trace then return end
  print_speed(result)
  local target = o.target or d.target
  local record = o.db and record_of(result.trace, d.program, o.db)
  if record then
    print_next(record, "", target, true)
  elseif o.o then
    print_next(word(o.o), " --program " .. word(path), target)
  else
    print "-- next: --db FILE keeps what is measured, -o FILE the best trace"
  end
end
