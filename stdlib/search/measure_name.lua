-- SPDX-License-Identifier: Apache-2.0
-- The name by which the database keeps times of the option measure apart from
-- those of other functions: that which was given, or one of the function's
-- code and the texts, numbers and booleans that it captured.  Functions in C
-- have none.  And a warning where that name is new to a database.

-- FNV-1a, 64 bits.
local function hash_of(text, h)
  for i = 1, #text do h = (h ~ text:byte(i)) * 0x100000001b3 end
  return h
end

local measure_name = {}

-- The name of the options' function; nil: it has none.
function measure_name.of(core, o)
  if o.measure == nil and o.measure_name ~= nil then
    core.invalid "option 'measure_name' is the name of the option 'measure', \z
                  which is not given"
  end
  if type(o.measure) ~= "function" or o.measure_name ~= nil then
    return o.measure_name
  end
  local ok, code = pcall(string.dump, o.measure, true)
  if not ok then return nil end
  local h, i = hash_of(code, -0x340d631b7bdddcdb), 1
  while true do
    local name, value = debug.getupvalue(o.measure, i)
    if not name then break end
    local kind = type(value)
    if kind == "string" or kind == "number" or kind == "boolean" then
      h = hash_of(("%d=%s:%s"):format(i, kind, value), h)
    end
    i = i + 1
  end
  return ("code %016x"):format(h)
end

local function is_there(path)
  local f = type(path) == "string" and io.open(path)
  if not f then return false end
  f:close()
  return true
end

local function has_others(ts, program, o, name)
  local db = ts.database(o.database)
  local other = db:best(program, o.target, { measure = true })
  local is_other = other and other.policy:find " name=code " and
                   not db:best(program, o.target, { measure = name })
  db:close()
  return is_other
end

-- A function that captured a counter is another one in each run.
function measure_name.warn(ts, core, program, o, name)
  if o.measure_name or not name or not is_there(o.database) then return end
  local ok, is_other = pcall(has_others, ts, program, o, name)
  if not ok or not is_other then return end
  core.warn(("database %s has times of this program by another function \z
              'measure', which are left out; measure_name = \"NAME\" in all \z
              runs makes it the same one"):format(o.database))
end

return measure_name
