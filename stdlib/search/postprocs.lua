-- SPDX-License-Identifier: Apache-2.0
-- The option postprocs: names of postprocessors, tables { name, parameter =
-- value }, and functions of a schedule, or { name, function }.
local options = require "tessera.lang.options"
local words = require "tessera.lang.words"

local USAGE = "a list of names, of tables { name, parameter = value }, and " ..
              "of functions, or { name, function }"

return function(ts, core, deterministic)
  local postprocs = {}

  local function invalid(text, ...)
    core.invalid("postprocs: " .. text:format(...))
  end

  local function check_list(list)
    if type(list) ~= "table" then
      core.invalid(("postprocs is %s, not %s"):format(USAGE, type(list)))
    end
    local stray = options.stray(list)
    if stray ~= nil then
      invalid("it is %s, without a field %s", USAGE, options.quoted(stray))
    end
    local last = 0
    for i in next, list do
      if math.type(i) == "integer" then last = math.max(last, i) end
    end
    for i = 1, last do
      if list[i] == nil then invalid("entry %d is nil", i) end
    end
  end

  -- Their names, sorted: those of the primitives that only end a sketch.
  local function known_names()
    local names = {}
    for _, p in ipairs(ts.primitives()) do
      for _, start in ipairs { "rewrite_", "verify_", "disallow_" } do
        if p.name:sub(1, #start) == start then names[#names + 1] = p.name end
      end
    end
    table.sort(names)
    return names
  end

  local function check_name(i, name)
    local names = known_names()
    for _, known in ipairs(names) do
      if name == known then return end
    end
    local near = words.nearest(name, names)
    invalid("entry %d: there is no postprocessor %s; %s", i,
            options.quoted(name), near and ("did you mean '%s'?"):format(near)
            or "there are " .. table.concat(names, ", "))
  end

  -- "parameter = value" for each of an entry's, sorted.
  local function parameters_of(i, name, entry)
    local given = {}
    for k, v in next, entry do
      if k ~= 1 then
        if type(v) == "function" then
          invalid("entry %d: %s is a function, which the option postprocs " ..
                  "of ts.tune takes", i, options.quoted(name))
        end
        local known = type(k) == "string" and k:find "^[%a_]+$"
        if name == "default" or not known then
          invalid("entry %d: %s has no parameter %s; an entry is { name, " ..
                  "parameter = value }, or { name, function }", i,
                  options.quoted(name), options.quoted(k))
        end
        if math.type(v) ~= "integer" and type(v) ~= "boolean" then
          invalid("entry %d: %s has a parameter '%s' that is no integer or " ..
                  "boolean", i, name, k)
        end
        given[#given + 1] = ("%s = %s"):format(k, v)
      end
    end
    table.sort(given)
    return table.concat(given, ", ")
  end

  local HEAD = '-- tessera trace 1\nlocal ts = require "tessera"\n'

  -- The call of one as a line of a trace, which is read here, so that what is
  -- wrong with it is said of entry i.
  local function line_of(i, entry)
    if type(entry) == "string" then entry = { entry } end
    local name = type(entry) == "table" and entry[1]
    if type(name) ~= "string" then
      invalid("entry %d is not the name of one, nor a table { name, " ..
              "parameter = value }", i)
    end
    local given = parameters_of(i, name, entry)
    if name == "default" then
      invalid '"default" stands for all those of the target\'s kind, and \z
               no other name beside it'
    end
    check_name(i, name)
    local line = ("sch:%s{%s}\n"):format(name, given)
    local ok, e = pcall(ts.trace.from_lua, HEAD .. line)
    if not ok and (type(e) ~= "table" or e.code == "NOMEM") then error(e, 0) end
    if not ok then invalid("entry %d: %s", i, e.message) end
    return line
  end

  -- Where the names of a list stood in that which was given.
  local places = setmetatable({}, { __mode = "k" })

  -- The calls of postprocessors as a trace, from a list of names and of tables
  -- { name, parameter = value }.
  function postprocs.trace(list)
    check_list(list)
    local text = { HEAD }
    for i, entry in ipairs(list) do
      text[#text + 1] = line_of(places[list] and places[list][i] or i, entry)
    end
    return ts.trace.from_lua(table.concat(text))
  end

  -- What the engine calls for a candidate: f(schedule) schedules it further, or
  -- not, and says whether it is kept.
  local function applying(name, f)
    return { name = name, apply = function(sch)
      return deterministic(f, sch)
    end }
  end

  -- The entry { name, function } number i, which has nothing else.
  local function check_named(i, entry)
    if type(entry[1]) ~= "string" then
      invalid("entry %d is a table { name, function } without a name", i)
    end
    for k in next, entry do
      if k ~= 1 and k ~= 2 then
        invalid("entry %d is a table { name, function }, without a field %s",
                i, options.quoted(k))
      end
    end
  end

  -- Of the option postprocs the names, nil where the default ones are meant,
  -- and the functions: f, or { name, f }.
  function postprocs.split(list)
    if list == nil then return nil, {} end
    check_list(list)
    local names, functions, at = {}, {}, {}
    for i, entry in ipairs(list) do
      local name, f = "function " .. i, entry
      if type(entry) == "table" and type(entry[2]) == "function" then
        check_named(i, entry)
        name, f = entry[1], entry[2]
      end
      if type(f) == "function" then
        functions[#functions + 1] = applying(name, f)
      else
        names[#names + 1], at[#at + 1] = entry, i
      end
    end
    places[names] = at
    if #names == 1 and names[1] == "default" then names = nil end
    return names, functions
  end

  return postprocs
end
