-- SPDX-License-Identifier: Apache-2.0
-- The inputs of an ONNX file, of which the file leaves some extents open.
local packed = require "tessera.graph.onnx.packed"

local inputs = {}

local function wrong(text, ...)
  error(setmetatable({ code = "INVALID", message = text:format(...),
                       where = "" }, debug.getregistry()["tessera.error"]), 0)
end

local function check_extents(name, given)
  local whole = given == nil or type(given) == "table"
  for _, x in ipairs(whole and given or {}) do
    whole = whole and math.type(x) == "integer" and x > 0
  end
  if not whole then
    wrong("the shape of input '%s' must be a list of positive integers", name)
  end
end

-- The extents of an input: those of the file, of `shapes`, and of sizes that
-- other inputs fixed.
local function fixed_shape(info, shapes, sizes)
  local given = shapes[info.name]
  check_extents(info.name, given)
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
    if type(x) == "string" and type(shape[d]) == "number" then
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

-- Raises for an extent that is not known, with what to say: 1 is often right.
local function check_fixed(info, shape)
  local open, own, example = {}, {}, {}
  for d, x in ipairs(shape) do
    own[d] = tostring(info.shape[d])
    example[d] = tostring(type(x) == "string" and 1 or x)
    if type(x) == "string" then open[#open + 1] = ("'%s'"):format(x) end
  end
  if #open == 0 then return end
  wrong("input '%s' is of shape %s: say what %s is, as --shape %s=%s, or " ..
        "--shape %s=1", info.name, table.concat(own, "x"),
        table.concat(open, " and "), info.name, table.concat(example, "x"),
        open[1]:sub(2, -2))
end

-- What the file's inputs are, and which names of sizes they have.
local function all_inputs(from)
  local infos, sizes = {}, {}
  for i, id in ipairs(from:input_values()) do
    infos[i] = from:value_info(id)
    infos[infos[i].name] = true
    for _, x in ipairs(infos[i].shape) do
      if type(x) == "string" then sizes[x] = true end
    end
  end
  return infos, sizes
end

-- The inputs as values of the new graph.  `shapes` has shapes by the names of
-- inputs, and { extent } by the name of a size.
function inputs.add(state, from, shapes)
  local list, sizes = {}, {}
  local infos, names = all_inputs(from)
  for name in pairs(names) do
    if shapes[name] and not infos[name] then
      check_extents(name, shapes[name])
      if #shapes[name] ~= 1 then wrong("size '%s' is one number", name) end
      sizes[name] = shapes[name][1]
    end
  end
  for _, info in ipairs(infos) do
    if shapes[info.name] then fixed_shape(info, shapes, sizes) end
  end
  for i, info in ipairs(infos) do
    local shape = fixed_shape(info, shapes, sizes)
    check_fixed(info, shape)
    list[i] = add_input(state, info, shape)
  end
  return list
end

local function check_names(from, names, what)
  local infos, sizes = all_inputs(from)
  for name in pairs(names) do
    if not infos[name] and not sizes[name] then
      wrong("%s: there is no input '%s'", what, name)
    end
  end
end

-- Options by the names of inputs.
function inputs.check(from, shapes, values)
  if type(shapes) ~= "table" or type(values) ~= "table" then
    wrong "shapes and values are tables by the names of inputs"
  end
  check_names(from, shapes, "--shape")
end

return inputs
