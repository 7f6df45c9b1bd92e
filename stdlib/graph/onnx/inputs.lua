-- SPDX-License-Identifier: Apache-2.0
-- The inputs of an ONNX file, of which the file leaves some extents open.
local ts = require "tessera"
local packed = require "tessera.graph.onnx.packed"

local inputs = {}

local invalid = debug.getregistry()["tessera.invalid"]

local function wrong(text, ...) invalid(text:format(...)) end

-- ---- what is advised -------------------------------------------------------

local function key(name)
  return name:find "^[%a_][%w_]*$" and name or ("[%q]"):format(name)
end

-- How a script says shapes, sizes and contents.
inputs.script = {
  shapes = "shapes", values = "values",
  shape = function(name, extents)
    return ("shapes = { %s = { %s } }"):format(key(name),
                                               table.concat(extents, ", "))
  end,
  sizes = function(names)
    local list = {}
    for k, name in ipairs(names) do list[k] = key(name) .. " = 1" end
    return ("shapes = { %s }"):format(table.concat(list, ", "))
  end,
  contents = function(names)
    local list = {}
    for k, name in ipairs(names) do list[k] = key(name) .. " = .." end
    return ("values = { %s }"):format(table.concat(list, ", "))
  end,
}

-- How the command line does.
inputs.flags = {
  shapes = "--shape", values = "--value",
  shape = function(name, extents)
    return ("--shape %s=%s"):format(name, table.concat(extents, "x"))
  end,
  sizes = function(names)
    return ("--shape %s=1"):format(table.concat(names, "=1,"))
  end,
  contents = function(names)
    return ("--value %s=.."):format(table.concat(names, "=..,"))
  end,
}

-- ---- shapes ----------------------------------------------------------------

local function are_extents(given)
  local whole = type(given) == "table"
  for _, x in ipairs(whole and given or {}) do
    whole = whole and math.type(x) == "integer" and x > 0
  end
  return whole
end

-- Whether a size has a name of its own: some exporters call all of them "?".
local function is_named(x) return type(x) == "string" and x ~= "?" end

-- The extents of an input: those of the file, of `shapes`, and of sizes that
-- other inputs fixed.
local function fixed_shape(info, shapes, sizes)
  local given = shapes[info.name]
  if given ~= nil and not are_extents(given) then
    wrong("the shape of input '%s' must be a list of positive integers",
          info.name)
  end
  if given and #given ~= #info.shape then
    wrong("input '%s' has %d dimensions, and %d are given", info.name,
          #info.shape, #given)
  end
  local shape = {}
  for d, x in ipairs(info.shape) do
    shape[d] = given and given[d] or sizes[x] or x
    if type(x) == "number" and shape[d] ~= x then
      wrong("dimension %d of input '%s' is %d, and %d is given", d - 1,
            info.name, x, shape[d])
    end
    if is_named(x) and type(shape[d]) == "number" then
      sizes[x] = sizes[x] or shape[d]
    end
  end
  return shape
end

-- Integers of few bits come in the bytes that they lie in.  One without
-- elements only says its type.
local function add_input(state, info, shape)
  local g, dtype = state.graph, info.dtype
  local few = packed.of(dtype)
  if not few then return g:input(info.name, shape, dtype) end
  local n = packed.bytes(dtype, shape)
  if n == 0 then
    return packed.mark(state, g:input(info.name, shape, few.to), dtype)
  end
  local bytes = g:input(info.name, { n }, "uint8")
  return packed.unpack(state, bytes, dtype, shape)
end

-- Raises for extents that are not known, with what to say in which words: 1 is
-- often right.
local function check_fixed(infos, shapes, words)
  local open, inputs, seen, named = {}, {}, {}, true
  for i, shape in ipairs(shapes) do
    for _, x in ipairs(shape) do
      if type(x) == "string" then
        if inputs[#inputs] ~= i then inputs[#inputs + 1] = i end
        if not seen[x] then open[#open + 1] = x end
        seen[x], named = true, named and is_named(x)
      end
    end
  end
  if #open == 0 then return end
  local first, fixed = infos[inputs[1]], {}
  local own = table.concat(first.shape, "x")
  local what = ("'%s'"):format(table.concat(open, "', '"))
  local verb = #open > 1 and "are" or "is"
  if #inputs > 1 and named then
    wrong("input '%s' is of shape %s, and %d more %s sizes open: say what " ..
          "%s %s, as %s", first.name, own, #inputs - 1,
          #inputs > 2 and "leave" or "leaves", what, verb, words.sizes(open))
  end
  for d, x in ipairs(shapes[inputs[1]]) do
    fixed[d] = type(x) == "string" and 1 or x
  end
  wrong("input '%s' is of shape %s: say what %s %s, as %s%s", first.name, own,
        what, verb, words.shape(first.name, fixed),
        named and ", or " .. words.sizes(open) or "")
end

-- What the file's inputs are, and which names of sizes they have.
local function all_inputs(from)
  local infos, sizes = {}, {}
  for i, id in ipairs(from:input_values()) do
    infos[i] = from:value_info(id)
    infos[infos[i].name] = true
    for _, x in ipairs(infos[i].shape) do
      if is_named(x) then sizes[x] = true end
    end
  end
  return infos, sizes
end

-- ---- contents that are given -----------------------------------------------

-- The shape that contents have: a tensor's, or that of a list.
local function shape_of(info, given)
  if type(given) ~= "table" then return given:shape() end
  if #info.shape > 1 or #info.shape == 0 and #given ~= 1 then
    wrong("input '%s' has %d dimensions: a list of %d numbers is not its " ..
          "contents", info.name, #info.shape, #given)
  end
  return #info.shape == 1 and { #given } or {}
end

-- An input that is a constant from now on.
local function constant(state, info, shape, given)
  if packed.of(info.dtype) then
    wrong("input '%s' of %s stays an input", info.name, info.dtype)
  end
  if type(given) == "table" then
    local x = #shape > 0 and given or given[1]
    local ok, t = pcall(ts.tensor, info.dtype, shape, x)
    if not ok then
      wrong("input '%s' of %s: %s", info.name, info.dtype,
            (tostring(type(t) == "table" and t.message or t)))
    end
    given = t
  elseif given:dtype() ~= info.dtype then
    wrong("input '%s' is of %s, and its contents of %s", info.name, info.dtype,
          given:dtype())
  end
  return state.graph:constant(info.name, given)
end

-- ---- all of them -----------------------------------------------------------

-- The inputs as values of the new graph.  `shapes` has shapes by the names of
-- inputs, and an extent, or { extent }, by the name of a size, `values`
-- contents by the names of inputs that become constants: tensors, or lists of
-- numbers.
function inputs.add(state, from, shapes, values)
  local list, sizes = {}, {}
  local infos, names = all_inputs(from)
  for name in pairs(names) do
    local given = shapes[name]
    if given and not infos[name] then
      if type(given) ~= "table" then given = { given } end
      if not are_extents(given) or #given ~= 1 then
        wrong("size '%s' is one number, from 1 on", name)
      end
      sizes[name] = given[1]
    end
  end
  shapes = setmetatable({}, { __index = shapes })
  for _, info in ipairs(infos) do
    local given = values[info.name]
    if given then shapes[info.name] = shape_of(info, given) end
    if shapes[info.name] then fixed_shape(info, shapes, sizes) end
  end
  local fixed = {}
  for i, info in ipairs(infos) do
    fixed[i] = fixed_shape(info, shapes, sizes)
  end
  check_fixed(infos, fixed, state.words)
  for i, info in ipairs(infos) do
    local given = values[info.name]
    list[i] = given and constant(state, info, fixed[i], given) or
              add_input(state, info, fixed[i])
  end
  return list
end

local function check_names(names, what, kinds, infos, sizes)
  for name in pairs(names) do
    if not infos[name] and not sizes[name] then
      wrong("%s: there is no %s '%s'", what, kinds, name)
    end
  end
end

-- Options by the names of inputs.
function inputs.check(from, shapes, values, words)
  if type(shapes) ~= "table" or type(values) ~= "table" then
    wrong "shapes and values are tables by the names of inputs"
  end
  local infos, sizes = all_inputs(from)
  check_names(shapes, words.shapes, "input or size", infos, sizes)
  check_names(values, words.values, "input", infos, {})
  for name, x in pairs(values) do
    if type(x) ~= "table" and not tostring(x):find "^tensor" then
      wrong("the contents of input '%s' are a tensor or a list of numbers",
            name)
    end
  end
end

return inputs
