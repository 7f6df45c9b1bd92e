-- SPDX-License-Identifier: Apache-2.0
-- Declarations and checks of options, shared by ts.tune and `tessera tune`.
local words = require "tessera.lang.words"
local options = {}

-- Options of ts.tune, and, in options.of["ts.tune_tasks"], of many tasks alone,
-- as the engine declares them (include/tessera/tune_options.def): `flag` is how
-- `tessera tune` spells one, `takes` what stands behind it there: "count" (1 ..
-- `most`), "unsigned" (of 64 bits), "seconds", "share", "string", or a list of
-- the words that it may be.  Without a flag, `instead` is how the command has
-- it; `single`: many tasks have no such option.
options.list, options.by_name = {}, {}

local function count(name, help, default)
  return { name = name, type = "integer", least = 1, default = default,
           help = help }
end

local function flag(name, help)
  return { name = name, type = "boolean", default = "false", help = help }
end

local function text(name, default, help)
  return { name = name, type = "string", default = default, help = help }
end

local function seed(default, help)
  return { name = "seed", type = "integer", default = default,
           help = "a number that says " .. help }
end

-- Options of other functions, by their names; ops/declare.lua adds those of
-- operators.
options.of = {
  ["tensor.mma"] = {
    count("m", "rows of A and of C; without it C is a row", "none"),
    count("n", "columns of B and of C"),
    count("k", "columns of A and rows of B"),
    text("dtype", "float32", "the type of A and B"),
    text("acc", "dtype", "the type of C"),
    flag("trans", "B is given as B[n, k]"),
  },
  ["ts.placeholder"] = {
    { name = "role", type = '"input"|"layout_free"', default = '"input"',
      help = "layout_free: schedules may lay it out anew" },
    { name = "range", type = "table", default = "none",
      help = "{ least, below }: the values of an integer input" },
    flag("sorted", "each element is at least the one before it"),
    flag("unique", "no two elements are equal"),
    { name = "offsets_into", type = "integer", default = "none",
      help = "offsets of rows of that many elements, as in CSR: sorted, the " ..
             "first 0, the last that number" },
  },
  ["builder:input"] = {
    { name = "role", type = '"input"|"layout_free"', default = '"input"',
      help = "layout_free: schedules may lay it out anew" },
    { name = "range", type = "table", default = "none",
      help = "{ least, below }: the values of an integer input" },
    flag("sorted", "each element is at least the one before it"),
    flag("unique", "no two elements are equal"),
    { name = "offsets_into", type = "integer", default = "none",
      help = "offsets of rows of that many elements, as in CSR: sorted, the " ..
             "first 0, the last that number" },
  },
  ["builder:block"] = {
    { name = "where", type = "tessera.Expr", default = "always",
      help = "the condition under which an instance runs" },
  },
  ["ts.schedule"] = {
    seed("0", "what is drawn where no decision is given"),
    { name = "target", type = "string|tessera.Target", default = "none",
      help = "the machine that it is made for" },
  },
  ["trace:replay"] = {
    flag("resample", "draw all decisions afresh"),
    flag("repair", "mend decisions that do not fit"),
    flag("no_postproc", "stop before enter_postproc"),
    seed("0", "what is drawn"),
  },
  ["ts.space.sketches"] = {
    flag("postprocs", "with the postprocessors, as they are tuned"),
  },
  ["ts.space.explain"] = {
    flag("all", "a line for each block of each sketch"),
  },
  ["trace:mutate"] = { seed("0", "which decision, and to what") },
  ["ts.equivalent"] = { seed("1", "what the inputs are") },
  ["kernel:time"] = {
    { name = "min_time", type = "number", default = "0.1",
      help = "seconds that all its runs last at least" },
  },
}

-- What the engine declares; open.lua hands it over when the module is
-- opened.
function options.declare(declared)
  options.of["ts.tune_tasks"] = declared.tasks
  for i, o in ipairs(declared.tune) do
    options.list[i], options.by_name[o.name] = o, o
  end
end

-- ---- types -----------------------------------------------------------------

-- A value's type: of our own objects with the name in front, "tessera.program".
function options.type_of(x)
  local meta = type(x) == "userdata" and getmetatable(x)
  return type(meta) == "table" and meta.__name or math.type(x) or type(x)
end

function options.is(x, what) return options.type_of(x) == "tessera." .. what end

-- "a program", "an integer".
local function one(name)
  name = name:gsub("^tessera%.", ""):lower():gsub("^float$", "number")
  return (name:find "^[aeiou]" and "an " or "a ") .. name
end

function options.text_of(x)
  if x == nil then return "missing" end
  if type(x) == "string" then return (("%q"):format(x):gsub("\\\n", "\\n")) end
  if type(x) == "number" then return ("the number %s"):format(x) end
  return one(options.type_of(x))
end

-- What somebody gave for a word, in one line: in quotes where it can be read
-- so; of what prints itself at length, as a program does, what it is.
function options.quoted(x)
  local t = type(x)
  if t == "table" or t == "userdata" or t == "function" or t == "thread" then
    return one(options.type_of(x))
  end
  return ("'%s'"):format(tostring(x):gsub("\n", "\\n"))
end

-- Makes a table refuse what it does not have by its name, in place of nil:
-- `what` comes before that, others() gives names that are known besides;
-- numbered(i), if given, refuses numbers.
function options.refuse_unknown(t, what, others, numbered)
  return setmetatable(t, { __index = function(_, name)
    if numbered and type(name) == "number" then numbered(name) end
    if type(name) ~= "string" then return nil end
    local there = others and others() or {}
    for known in next, t do there[#there + 1] = known end
    table.sort(there)
    debug.getregistry()["tessera.invalid"](("%s %s%s"):format(
      what, options.quoted(name), words.suggestion(name, there)))
  end })
end

-- A float with an integer's value, such as 1e3, is that integer.
local function fits(x, wanted)
  if wanted == "integer" then
    return type(x) == "number" and math.tointeger(x) ~= nil
  end
  return wanted:lower() == type(x) or wanted:lower() == options.type_of(x) or
         type(x) == "string" and wanted == ('"%s"'):format(x)
end

-- What o takes: "an integer from 1 on", '"record" or "stop"'.
local function wanted(o)
  local words = {}
  for t in o.type:gmatch("[^|]+") do
    if not (o.list and t == "table") then
      words[#words + 1] = t:find '^"' and t or one(t)
    end
  end
  if o.list and #words == 0 then return "a list of integers" end
  return table.concat(words, " or ") ..
         (o.least and (" from %d on"):format(o.least) or "") ..
         (o.list and ", or a list of them" or "")
end

-- "'trials' is a table, not an integer", or nil where x is of one of the types
-- of option o, which are written "tessera.Space|table|function".
local function unfit(o, x)
  for t in o.type:gmatch("[^|]+") do
    local few = o.least and type(x) == "number" and not (x >= o.least)
    if fits(x, t) and not few then return nil end
  end
  return ("'%s' is %s, not %s"):format(o.name, options.text_of(x), wanted(o))
end

-- The same of an option of ts.tune, by its name.
function options.wrong(name, x) return unfit(options.by_name[name], x) end

-- What is wrong with the options given to a function that takes those of the
-- list; nil: nothing.  Those without a default are required.
function options.refusal(call, list, given)
  local names, known = {}, {}
  if type(given) ~= "table" then
    return ("%s takes one table, not a %s"):format(call, type(given))
  end
  for i, o in ipairs(list) do
    names[i], known[o.name] = o.name, true
  end
  for k in pairs(given) do
    if not known[k] then
      return ("unknown option %s of %s, which has %s"):format(
               options.quoted(k), call, table.concat(names, ", "))
    end
  end
  for _, o in ipairs(list) do
    local x = given[o.name]
    local why = (x ~= nil or not o.default) and unfit(o, x)
    if why then return call .. ": " .. why end
  end
end

-- A key of a list that is no place in it, but for the length that table.pack
-- leaves there; nil: there is none.
function options.stray(list)
  local n = #list
  for k, v in next, list do
    local at = math.type(k) == "integer" and k >= 1 and k <= n
    if not at and not (k == "n" and math.type(v)) then return k end
  end
end

-- What is wrong with a module's parameter `name`, of this value.
function options.unusable(name, value, possible)
  return ("parameter '%s' is %s: %s"):format(name, options.quoted(value),
                                             possible)
end

return options
