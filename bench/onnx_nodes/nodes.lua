-- SPDX-License-Identifier: Apache-2.0
-- A node of ONNX as a program: which operators of tessera.ops it is, by its
-- inputs, its attributes and the values of inputs that have to be constants.
local ts = require "tessera"
local ops = require "tessera.ops"

local nodes = { of = {} }

-- What a node's function gets.
local node = {}
node.__index = node

function node:has(i) return self.case.inputs[i] and true or false end
-- Of integers of less than 8 bits `shape` is that of the bytes they lie in and
-- `of` their own; they are computed with as bytes.
local function shape_of(x) return x.of or x.shape end
local function dtype_of(x)
  return x.bits and (x.signed and "int8" or "uint8") or x.dtype
end
function node:shape(i) return shape_of(self.case.inputs[i]) end
function node:rank(i) return #self:shape(i) end
function node:dtype(i) return dtype_of(self.case.inputs[i]) end
function node:out_shape(i) return shape_of(self.case.outputs[i or 1]) end
function node:out_dtype(i) return dtype_of(self.case.outputs[i or 1]) end
function node:attr(name, default)
  local x = self.case.attributes[name]
  if x == nil then return default end
  return x
end
function node:flag(name, default) return self:attr(name, default or 0) ~= 0 end

-- Input i as a tensor of the program; nil where it is left out.
function node:x(i)
  if not self:has(i) then return nil end
  if not self.placeholders[i] then
    local x = self.case.inputs[i]
    local input = ts.placeholder("x" .. i, x.shape, x.dtype)
    table.insert(self.inputs, input)
    table.insert(self.tensors, self.load(x))
    self.placeholders[i] = x.bits and ops.unpack_bits(input, {
      shape = x.of, bits = x.bits, to = dtype_of(x) }) or input
  end
  return self.placeholders[i]
end

-- Input i as a list of its values, in order; nil where it is left out.
function node:values(i)
  if not self:has(i) then return nil end
  local t, list = self.load(self.case.inputs[i]), {}
  local function walk(at, d)
    if d > #t:shape() then
      list[#list + 1] = t:get(table.unpack(at))
      return
    end
    for k = 0, t:shape()[d] - 1 do
      at[d] = k
      walk(at, d + 1)
    end
  end
  walk({}, 1)
  return list
end

function node:value(i) return (self:values(i) or {})[1] end

-- A tensor attribute's values.
function node:attr_values(name)
  local x = self.case.attributes[name]
  if not x then return nil end
  local holder = setmetatable({ case = { inputs = { x } }, load = self.load },
                              node)
  return holder:values(1), x.dtype, x.shape
end

function node:refuse(text, ...) error(text:format(...), 0) end

local domains = { [""] = true, ["ai.onnx.preview"] = true,
                  ["ai.onnx.preview.training"] = true, ["ai.onnx.ml"] = true }

-- The program of a case, the tensors of its inputs, and its results: which
-- output each is, and where it is bounded, which result says by what.
function nodes.program(case, load)
  local f = nodes.of[case.op]
  if not f or not domains[case.domain] then
    error("no operator", 0)
  end
  local n = setmetatable({ case = case, load = load, placeholders = {},
                           inputs = {}, tensors = {} }, node)
  local results, list, buffers = table.pack(f(n)), {}, {}
  for k = 1, results.n do
    local r = results[k]
    if type(r) == "userdata" then r = { r } end
    if r and (case.outputs[k] or r.always) then
      list[#list + 1] = { output = case.outputs[k] and k or 0, count = r.count,
                          dim = r.dim }
      local bits = case.outputs[k] and case.outputs[k].bits
      local y = bits and ops.pack_bits(r[1], { bits = bits }) or r[1]
      buffers[#buffers + 1] = nodes.own(n, y, buffers)
    end
  end
  for _, r in ipairs(list) do
    if r.count then
      local at
      for i, x in ipairs(buffers) do at = rawequal(x, r.count) and i or at end
      buffers[at or #buffers + 1] = r.count
      r.count = at or #buffers
    end
  end
  for k = #list + 1, #buffers do list[k] = { output = 0 } end
  n.results = list
  n.program = ts.program("node", n.inputs, buffers)
  return n
end

-- A tensor that can be an output: none that is an input or one already.
function nodes.own(n, x, taken)
  for _, list in ipairs { n.inputs, taken } do
    for _, y in ipairs(list) do
      if rawequal(x, y) then
        return ts.compute("copy", x.shape, function(...) return x(...) end)
      end
    end
  end
  return x
end

for _, family in ipairs { "elementwise", "arrays", "layers", "rest" } do
  require("onnx_nodes." .. family)(nodes.of)
end

return nodes
