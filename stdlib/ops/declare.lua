-- SPDX-License-Identifier: Apache-2.0
-- Declares operators: what one is called, computes and takes is said once, and
-- its function of options and of tensors (apply.lua), the checks of both and
-- its page of the reference follow.
local options = require "tessera.lang.options"

local declare = { list = {}, ops = {} }

-- ---- errors ----------------------------------------------------------------

-- Raises that a call of the operator is wrong; with arguments for `text`.
function declare.wrong(name, text, ...)
  debug.getregistry()["tessera.invalid"](
    ("ops." .. name .. ": " .. text):format(...))
end

-- ---- kinds of options ------------------------------------------------------

function declare.count(name, help, default)
  return { name = name, type = "integer", least = 1, default = default,
           help = help }
end

function declare.natural(name, help, default)
  return { name = name, type = "integer", least = 0, default = default,
           help = help }
end

function declare.integer(name, help, default)
  return { name = name, type = "integer", default = default, help = help }
end

function declare.number(name, help, default)
  return { name = name, type = "number", default = default, help = help }
end

function declare.flag(name, help)
  return { name = name, type = "boolean", default = "false", help = help }
end

-- A list of integers from `least` on.
function declare.list_of(name, least, help, default)
  return { name = name, type = "table", list = { least = least },
           default = default, help = help }
end

-- The same, of any length: no shape, axes or steps along dimensions.
function declare.parts(name, least, help)
  local o = declare.list_of(name, least, help)
  o.list.most = math.maxinteger
  return o
end

-- An integer, or a list of them.
function declare.each(name, least, help, default)
  return { name = name, type = "integer|table", least = least,
           list = { least = least }, default = default, help = help }
end

-- One of some words.
function declare.word(name, words, default, help)
  return { name = name, type = '"' .. table.concat(words, '"|"') .. '"',
           default = default, help = help }
end

local floats = { "float16", "bfloat16", "float32", "float64" }
local integers = { "int8", "int16", "int32", "int64", "uint8", "uint16",
                   "uint32", "uint64" }
local classes = { float = floats, integer = integers, number = {}, any = {} }
for _, list in ipairs { floats, integers } do
  for _, name in ipairs(list) do
    table.insert(classes.number, name)
    table.insert(classes.any, name)
  end
end
table.insert(classes.any, "bool")

-- Whether a type's name is one of "float", "integer", "number", "any".
function declare.is(dtype, class)
  for _, name in ipairs(classes[class]) do
    if name == dtype then return true end
  end
  return false
end

-- A type of that class.
function declare.dtype(class, default, help, name)
  return { name = name or "dtype", type = "string", class = class,
           default = default or "float32", help = help or "the type of all" }
end

-- What sums are computed in where the result is of `dtype`.
function declare.acc(class)
  return declare.dtype(class or "float", "dtype, float32 for floats of 16 bits",
                       "the type that sums are computed in, at least as wide",
                       "acc")
end

-- What a sum of products adds up in, and gives.
function declare.accumulation()
  return declare.acc "number",
         declare.dtype("number", "acc where it is given, or dtype",
                       "the type of the result", "out")
end

-- Bits, those that integers are exact in, and whether it has a sign.
local function range_of(dtype)
  local bits = math.tointeger(dtype:match "%d+$")
  if declare.is(dtype, "float") then
    local digits = { float16 = 11, bfloat16 = 8, float32 = 24, float64 = 53 }
    return bits, digits[dtype], true
  end
  local signed = not dtype:find "^u"
  return bits, signed and bits - 1 or bits, signed
end

-- Whether a number type has every value of another.
function declare.holds(wide, dtype)
  if wide == dtype then return true end
  local bits, digits, signed = range_of(wide)
  local its_bits, its_digits, its_sign = range_of(dtype)
  if declare.is(dtype, "float") then
    return declare.is(wide, "float") and bits > its_bits
  end
  return digits >= its_digits and (signed or not its_sign)
end

-- ---- checks ----------------------------------------------------------------

-- The greatest integer of an option: products of two do not wrap, and those of
-- a tensor's extents are checked where it is made.
local most_integer = 2 ^ 31 - 1 | 0

local function too_large(name, x)
  if x >= -most_integer and x <= most_integer then return nil end
  return ("%s is %d, beyond %d"):format(name, x,
           x < 0 and -most_integer or most_integer)
end

-- What is wrong with a list of integers; 16 is the most dimensions there are.
local function list_refusal(o, x)
  local n, last, most = 0, 0, o.list.most or 16
  for key in pairs(x) do
    if math.type(key) ~= "integer" or key < 1 then
      return ("'%s' is not a list"):format(o.name)
    end
    n, last = n + 1, math.max(last, key)
  end
  if last > n then
    local hole = 1
    while x[hole] ~= nil do hole = hole + 1 end
    return ("'%s' has no entry %d, but an entry %d"):format(o.name, hole, last)
  end
  if n > most then
    return ("'%s' has %d entries, more than %d"):format(o.name, n, most)
  end
  for i, v in ipairs(x) do
    local whole = type(v) == "number" and math.tointeger(v)
    if not whole or whole < o.list.least then
      return ("entry %d of '%s' is %s, not an integer from %d on"):format(
             i, o.name, options.text_of(v), o.list.least)
    end
    local why = too_large(("entry %d of '%s'"):format(i, o.name), whole)
    if why then return why end
  end
end

local function class_refusal(o, x)
  if declare.is(x, o.class) then return nil end
  return ("'%s' is %q, not one of %s"):format(o.name, x,
         table.concat(classes[o.class], ", "))
end

local function refusal(row, o)
  local why = options.refusal("ops." .. row.name, row.options, o)
  if why then return why end
  for _, option in ipairs(row.options) do
    local x = o[option.name]
    if type(x) == "table" and option.list then
      why = list_refusal(option, x)
    elseif x ~= nil and option.class then
      why = class_refusal(option, x)
    elseif type(x) == "number" and option.type:find "integer" then
      why = too_large(("'%s'"):format(option.name), math.tointeger(x))
    end
    if why then return ("ops.%s: %s"):format(row.name, why) end
  end
end

-- What the text of a default stands for, where it is a value: "1e-5", "false",
-- a word or a type, but not "all" or "1 / sqrt(d)".
local function value_of(option)
  local text = option.default
  if not text then return nil end
  if text == "true" or text == "false" then return text == "true" end
  if option.class then return declare.is(text, "any") and text or nil end
  if option.type:find(('"%s"'):format(text), 1, true) then return text end
  return tonumber(text)
end

-- The options with defaults filled in, integers for floats of their values, as
-- 2.0, and lists that are the operator's own.
local function normal(row, o)
  local own = { name = row.name }
  for _, option in ipairs(row.options) do
    local x = o[option.name]
    if x == nil then x = option.value end
    if type(x) == "table" and option.list then
      local list = {}
      for i, v in ipairs(x) do list[i] = math.tointeger(v) or v end
      x = list
    elseif type(x) == "number" and option.type:find "integer" then
      x = math.tointeger(x)
    end
    own[option.name] = x
  end
  return own
end

-- The options as the operator gets them, if they are right; `given` in their
-- place for the checks.
function declare.options(row, o, given)
  local why = refusal(row, given or o)
  if why then debug.getregistry()["tessera.invalid"](why) end
  local own = normal(row, o)
  if row.check then row.check(own) end
  return own
end

-- ---- tensors ---------------------------------------------------------------

-- A tensor that an operator takes.  `shape` lists its extents, or gives the
-- list for the options:
--   "m"         option m
--   "k.1"       entry 1 of option k
--   "shape..."  all of option shape, a list
--   a number, or a function of the options that gives one
-- more:
--   type     the option that is its type ("dtype"), a type, or a function of
--            the options that gives one
--   when     the option that says whether there is one at all
--   list     a function of the options: how many there are; `shape` then gets
--            the number, from 1, too
--   changed  true: the operator computes in it, and gives it
function declare.tensor(name, shape, more)
  local t = { name = name, shape = shape, type = "dtype" }
  for key, x in pairs(more or {}) do t[key] = x end
  return t
end

-- Declares an operator:
--   name, summary   of ops.NAME and what it does, in one line
--   says            formula, shapes and layouts, in some lines
--   tensors         what it takes, made by declare.tensor
--   options         extents, types and attributes, made by the functions above
--   infer           sets options, of the tensors by their names, that shapes as
--                   lists cannot say
--   check           refuses options that do not fit together, before shapes are
--                   made of them
--   symbolic        which extents may be symbolic: true, or a set of names
--   example         the text of a small call's options
--   inputs          the texts of what its inputs hold there, by their names,
--                   where integers would not do
--   result          what the block of the result is called ("Y")
--   program         the program's name, a function of the options
--   apply           gives the results, of the options and the tensors
-- Defaults of options that are values are filled in.
function declare.operator(row)
  options.of["ops." .. row.name] = row.options
  for _, option in ipairs(row.options) do
    option.value = value_of(option)
  end
  row.tensors = row.tensors or {}
  table.insert(declare.list, row)
  declare.ops[row.name] = function(...)
    if select("#", ...) == 1 and type(...) == "table" then
      return declare.program(row, ...)
    end
    return declare.apply(row, ...)
  end
end

-- How it is called with tensors, those that may be left out in brackets.
function declare.call(row)
  local list = {}
  for i, t in ipairs(row.tensors) do
    list[i] = t.when and ("[%s]"):format(t.name) or
              t.list and t.name .. "1, .." or t.name
  end
  if #list == 0 then list[1] = "nil" end
  return ("ops.%s(%s, options)"):format(row.name, table.concat(list, ", "))
end

-- ---- pages -----------------------------------------------------------------

-- A run of an operator, as text that prints its results.
function declare.example(row)
  local names, given = {}, ""
  for name in pairs(row.inputs or {}) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do names[i] = name .. " = " .. row.inputs[name]
  end
  if #names > 0 then
    given = ("local given = { %s }\n"):format(table.concat(names, ", "))
  end
  local fill = #names > 0 and "given[x.name] or " or ""
  return ([[
local ts, ops = require "tessera", require "tessera.ops"
local program = ops.%s %s
%slocal tensors = {}
for i, x in ipairs(program:params()) do
  local fill = %sx.role ~= "output" and "integers" or nil
  tensors[i] = ts.tensor(x.dtype, x.shape, fill, i)
end
ts.build(program)(table.unpack(tensors))
for i, x in ipairs(program:params()) do print(x.name, tensors[i]) end
]]):format(row.name, row.example, given, fill)
end

return declare
