-- SPDX-License-Identifier: Apache-2.0
-- Parameters of schedule modules, declared once: defaults, checks and reference
-- follow from rows { name, default, what it is; type =, .. }, of these types:
--   boolean
--   integer, number   from `least` to `most`, where these are given
--   integers          a list of such; empty only where the default is
--   range             { least, most }, or an empty list where the default is
--   word, words       one of `words`, or a list of them
--   text              a string
--   any               what `fits` takes, by the text `takes`; all without it
-- Without a type it is that of the default: a boolean; with `words` or `least`
-- a word or an integer, or a list of them; else any.  With nil as the default
-- there may be none; what it is must be said then.
local options = require "tessera.lang.options"
local words = require "tessera.lang.words"
local parameters = {}

local function bounds(row)
  local least = row.least and (" from %s"):format(row.least) or ""
  return least .. (row.most and (" to %s"):format(row.most) or
                   row.least and " on" or "")
end

local function within(row, v)
  return (not row.least or v >= row.least) and (not row.most or v <= row.most)
end

local function quoted(list)
  return '"' .. table.concat(list, '", "') .. '"'
end

local function is_among(list, v)
  for _, word in ipairs(list) do if v == word then return true end end
  return false
end

local function is_list(v)
  return type(v) == "table" and #v > 0 and options.stray(v) == nil
end

-- ---- types -----------------------------------------------------------------

-- Of each type: takes(row), the text of what it takes; convert(row, v, name), v
-- as modules get it, or nil and why not.
local types = {}

local function wrong(row, v, name)
  return nil, options.unusable(name, v, "it is " .. row.takes)
end

types.boolean = {
  takes = function() return "true or false" end,
  convert = function(row, v, name)
    if type(v) == "boolean" then return v end
    return wrong(row, v, name)
  end,
}

types.integer = {
  takes = function(row) return "an integer" .. bounds(row) end,
  convert = function(row, v, name)
    local n = math.type(v) and math.tointeger(v)
    if n and within(row, n) then return n end
    return wrong(row, v, name)
  end,
}

types.number = {
  takes = function(row) return "a number" .. bounds(row) end,
  convert = function(row, v, name)
    if type(v) == "number" and within(row, v) then return v end
    return wrong(row, v, name)
  end,
}

types.text = {
  takes = function() return "a text" end,
  convert = function(row, v, name)
    if type(v) == "string" then return v end
    return wrong(row, v, name)
  end,
}

types.any = {
  takes = function(row) return row.takes or "anything" end,
  convert = function(row, v, name)
    if row.fits and not row.fits(v) then return wrong(row, v, name) end
    local stray = is_list(row.default) and type(v) == "table" and #v > 0 and
                  options.stray(v)
    if stray then
      return nil, ("parameter '%s' is a list, without a field %s"):format(
                    name, options.quoted(stray))
    end
    return v
  end,
}

types.word = {
  takes = function(row) return "one of " .. quoted(row.words) end,
  convert = function(row, v, name)
    if is_among(row.words, v) then return v end
    return wrong(row, v, name)
  end,
}

-- A list, each element as `of` says.
local function convert_list(row, v, name, of)
  if type(v) ~= "table" or #v == 0 and not row.may_be_empty then
    return wrong(row, v, name)
  end
  local stray = options.stray(v)
  if stray ~= nil then
    return nil, ("parameter '%s' is a list, without a field %s"):format(
                  name, options.quoted(stray))
  end
  local list = {}
  for i, x in ipairs(v) do
    local y, why = types[of].convert(row.element, x, ("%s[%d]"):format(name, i))
    if y == nil then return nil, why end
    list[i] = y
  end
  return list
end

types.integers = {
  takes = function(row) return "a list of integers" .. bounds(row) end,
  convert = function(row, v, name)
    return convert_list(row, v, name, "integer")
  end,
}

types.words = {
  takes = function(row) return "a list of " .. quoted(row.words) end,
  convert = function(row, v, name)
    return convert_list(row, v, name, "word")
  end,
}

types.range = {
  takes = function() return "{ least, most }" end,
  convert = function(row, v, name)
    local list, why = convert_list(row, v, name, "integer")
    if not list then return nil, why end
    if #list == 0 or #list == 2 and list[1] <= list[2] then return list end
    return wrong(row, #list, name)
  end,
}

-- ---- declarations ----------------------------------------------------------

local element_of = { integers = "integer", words = "word", range = "integer" }

local function type_of(given, default)
  local list = type(default) == "table"
  if given.type then return given.type end
  if type(default) == "boolean" then return "boolean" end
  if given.words then return list and "words" or "word" end
  if given.least then return list and "integers" or "integer" end
  return "any"
end

-- A row as it is checked, and as the reference shows it: name, default, help,
-- type, takes.
local function complete(given)
  local name, default, help = given[1], given[2], given[3]
  local row = { name = name, default = default, help = help or "",
                least = given.least, most = given.most, words = given.words,
                fits = given.fits, type = type_of(given, default) }
  row.takes = given.takes
  row.takes = types[row.type].takes(row)
  row.may_be_empty = type(default) == "table" and #default == 0
  local of = element_of[row.type]
  if of then
    row.element = { least = row.least or of == "integer" and 1,
                    most = row.most, words = row.words }
    row.element.takes = types[of].takes(row.element)
  end
  return row
end

local fields = { type = "string", least = "number", most = "number",
                 words = "table", fits = "function", takes = "string" }

-- What is wrong with row i of a declaration; nil: nothing.
local function flaw(row, i)
  if type(row) ~= "table" or type(row[1]) ~= "string" or
     type(row[3] or row[2] ~= nil and "") ~= "string" then
    return ("parameter %d is a row { name, default, what it is }"):format(i)
  end
  for k, v in next, row do
    local known = k == 1 or k == 2 or k == 3 or fields[k] == type(v)
    if not known then
      return ("parameter '%s' has no field %s of type %s"):format(
               row[1], options.quoted(k), type(v))
    end
  end
  if row.type and not types[row.type] then
    return ("parameter '%s' has no type %s"):format(row[1],
                                                    options.quoted(row.type))
  end
end

-- The rows of a module; nil and what is wrong with them.
function parameters.declare(rows)
  local list, seen = {}, {}
  local stray = options.stray(rows)
  if stray ~= nil then
    return nil, ("parameters are a list, without a field %s"):format(
                  options.quoted(stray))
  end
  for i, row in ipairs(rows) do
    local why = flaw(row, i)
    if why then return nil, why end
    if seen[row[1]] then
      return nil, ("parameter '%s' is there twice"):format(row[1])
    end
    seen[row[1]], list[i] = true, complete(row)
  end
  return list
end

-- Their values, of which `given` has some; nil and what is wrong with these.
function parameters.complete(list, given)
  local p, known, names = {}, {}, {}
  for i, row in ipairs(list) do names[i], known[row.name] = row.name, true end
  for k in next, given do
    if not known[k] then
      return nil, ("it has no parameter %s%s"):format(options.quoted(k),
        type(k) == "string" and words.suggestion(k, names) or "")
    end
  end
  for _, row in ipairs(list) do
    local v, why = given[row.name], nil
    if v == nil then v = row.default
    else v, why = types[row.type].convert(row, v, row.name) end
    if why then return nil, why end
    p[row.name] = v
  end
  return p
end

return parameters
