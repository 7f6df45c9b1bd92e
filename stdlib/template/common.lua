-- SPDX-License-Identifier: Apache-2.0
-- What templates and molds have in common: checks of what they are given, and
-- the names of knobs in the trace.
local options = require "tessera.lang.options"

-- So many sketches at most.
local most = 256

local function wrong(text, ...)
  debug.getregistry()["tessera.invalid"](text:format(...))
end

local function all_integers(list)
  for _, v in ipairs(list) do
    if math.type(v) ~= "integer" then return false end
  end
  return true
end

local function check_branch(what, name, branch)
  if branch ~= nil and type(branch) ~= "boolean" then
    wrong("%s %s: branch is true or false, not %s", what,
          options.quoted(name), tostring(branch))
  end
end

-- Whether it is a text that traces can hold.
local function is_text(v)
  return type(v) == "string" and utf8.len(v) and not v:find "\0"
end

local function check_name(who, name)
  if not is_text(name) or name == "" then
    wrong("%s: a knob's name is a text, not %s", who, options.quoted(name))
  end
end

local function check_values(who, name, list)
  check_name(who, name)
  if type(list) ~= "table" or #list == 0 then
    wrong("%s: knob %s needs a list of values", who, options.quoted(name))
  end
end

-- Refuses names that the table has beside these.
local function check_names(who, o, names)
  local listed = (" %s "):format(names)
  for name in pairs(o) do
    if not listed:find((" %s "):format(name), 1, true) then
      wrong("unknown option %s of %s, which has %s", options.quoted(name), who,
            (names:gsub(" ", ", ")))
    end
  end
end

-- Draws that a primitive refuses are drawn again, so often.
local redraws = 256

-- The schedule of the first of perform(copy of sch, number of the draw) that
-- is not refused; what is no refusal is raised.
local function first_accepted(sch, perform)
  local why
  for k = 1, redraws do
    local copy = sch:copy()
    local ok, e = pcall(perform, copy, k)
    if ok then return copy end
    if type(e) ~= "table" or e.code ~= "REFUSED" then error(e, 0) end
    why = why or e
  end
  error(why, 0)
end

-- ---- names in the trace ---------------------------------------------------

-- Whether a trace can hold the value: a text, a number, a boolean, a random
-- variable, or a list or dictionary of such.
local function is_plain(v)
  if type(v) == "number" then return v == v end
  if type(v) ~= "table" then
    return type(v) == "boolean" or type(v) == "userdata" or is_text(v)
  end
  local count, all = 0, true
  for k, x in next, v do
    count = count + 1
    all = all and (math.type(k) == "integer" or is_text(k)) and is_plain(x)
  end
  return all and (count == #v or #v == 0)
end

-- Writes what the knobs are: named = { { name, value, position }, ... }.  Of a
-- value that no trace can hold, as a function, the position in its list.
local function write_names(sch, named)
  for _, x in ipairs(named) do
    local name, value, at = x[1], x[2], x[3]
    if not is_plain(value) then value = at end
    sch:knob(name, value)
  end
end

return { most = most, wrong = wrong, all_integers = all_integers,
         first_accepted = first_accepted, check_branch = check_branch,
         check_name = check_name, check_values = check_values,
         check_names = check_names, write_names = write_names }
