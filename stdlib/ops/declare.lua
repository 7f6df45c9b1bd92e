-- SPDX-License-Identifier: Apache-2.0
-- Declares operators: what one is called, computes and takes is said once, and
-- its function, the checks of its options and its page of the reference follow.
local options = require "tessera.options"

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
    end
    if why then return ("ops.%s: %s"):format(row.name, why) end
  end
end

-- The options with integers for floats of their values, as 2.0, and with lists
-- that are the operator's own.
local function normal(row, o)
  local copy = {}
  for _, option in ipairs(row.options) do
    local x = o[option.name]
    if type(x) == "table" and option.list then
      local list = {}
      for i, v in ipairs(x) do list[i] = math.tointeger(v) end
      x = list
    elseif type(x) == "number" and option.type:find "integer" then
      x = math.tointeger(x)
    end
    copy[option.name] = x
  end
  return copy
end

-- Declares an operator:
--   name, summary   of ops.NAME and what it does, in one line
--   says            formula, shapes and layouts, in some lines
--   options         what it takes, made by the functions above
--   example         the text of a small call's options
--   inputs          the texts of what its inputs hold there, by their names,
--                   where integers would not do
--   make            the program of options that were found right; defaults of
--                   type "string" are filled in where they are no option's name
function declare.operator(row)
  options.of["ops." .. row.name] = row.options
  table.insert(declare.list, row)
  declare.ops[row.name] = function(o)
    local why = refusal(row, o)
    if why then debug.getregistry()["tessera.invalid"](why) end
    local given = setmetatable({ name = row.name },
                               { __index = normal(row, o) })
    return row.make(given)
  end
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
