-- SPDX-License-Identifier: Apache-2.0
-- A node of an ONNX file while it becomes nodes of tessera.ops: what functions
-- of the families ask of it.  Inputs and outputs count from 1, axes from 0.
local fold = require "tessera.graph.onnx.fold"
local packed = require "tessera.graph.onnx.packed"
local versions = require "tessera.graph.onnx.versions"

local node = {}
node.__index = node

-- info: as g:node_info gives it, of the file's graph; inputs: what they became,
-- false where left out; import: see import.lua.
function node.new(import, info, inputs, wants)
  return setmetatable({
    import = import, g = import.graph, ops = import.ops, op = info.op,
    info = info, inputs = inputs, nout = #info.outputs,
    opset = info.attrs[".opset"], wanted = wants }, node)
end

-- Ends the import of this node: why it is not supported.
function node:refuse(text, ...)
  error({ refused = text:format(...) }, 0)
end

-- ---- inputs ----------------------------------------------------------------

function node:nin() return #self.inputs end
function node:has(i) return self.inputs[i] and true or false end

-- Input i; nil where it is left out.
function node:x(i) return self.inputs[i] or nil end

function node:needs(i)
  return self:x(i) or self:refuse("input %d is left out", i)
end

function node:shape(i) return self:needs(i).shape end
function node:rank(i) return #self:shape(i) end
function node:dtype(i) return self:needs(i).dtype end

-- The type in the file, which may be "int4" and the like.
function node:type(i)
  return packed.type(self.import, self:needs(i)) or self:dtype(i)
end

-- Input i as a tensor, whose contents decide a shape or an option.
function node:tensor(i)
  local x = self:x(i)
  if not x then return nil end
  local t = fold.tensor(x) or self.import.fixed(x)
  if not t then
    local names = fold.inputs(x)
    self:refuse("input %d, '%s', must be a constant: it decides a shape or " ..
                "an option%s", i, x.name ~= "" and x.name or "%" .. x.id,
                #names > 0 and
                (" (%s)"):format(self.import.words.contents(names)) or "")
  end
  if x.kind ~= "constant" then
    self.inputs[i] = self.import.replace(x, t)
  end
  return t
end

-- Its elements, in order; nil where it is left out.
function node:values(i)
  local t = self:tensor(i)
  return t and fold.elements(t)
end

function node:value(i)
  local list = self:values(i)
  return list and list[1]
end

-- ---- attributes ------------------------------------------------------------

function node:attr(name, default)
  local x = self.info.attrs[name]
  if x == nil then return default end
  return x
end

function node:flag(name, default) return self:attr(name, default or 0) ~= 0 end

-- An attribute that has to be there.
function node:must(name)
  local x = self.info.attrs[name]
  if x == nil then self:refuse("attribute '%s' is left out", name) end
  return x
end

-- The constant of an attribute; nil where it is left out.
function node:attr_constant(name)
  local x = self.info.attrs[name]
  return x and self.import.constant(self.import.from, x.value, "")
end

-- The tensor of an attribute; nil where it is left out.
function node:attr_tensor(name)
  local x = self:attr_constant(name)
  return x and fold.tensor(x)
end

-- The type that an attribute's number says, "int4" and the like, too.
function node:attr_type(name, default)
  local number = self.info.attrs[name]
  if number == nil or number == 0 and default then return default end
  local dtype, what = versions.dtype(number)
  return dtype or self:refuse("there is no type %s", what)
end

-- The type that an attribute's number says, of 8 bits or more.
function node:attr_dtype(name, default)
  local dtype = self:attr_type(name, default)
  return packed.of(dtype) and self:refuse("no tensors of %s here", dtype) or
         dtype
end

-- ---- results ---------------------------------------------------------------

-- Whether anyone takes output k.
function node:wants(k) return self.wanted[k] or false end

-- A constant of these elements, or of one that all are.
function node:constant(dtype, shape, list)
  local many = type(list) == "table"
  local t = fold.make(dtype, shape, function(k)
    return many and list[k] or list
  end)
  return self.g:constant("", t)
end

-- A list of integers as a tensor, as shapes are.
function node:list(list) return self:constant("int64", { #list }, list) end

-- ---- what many do ----------------------------------------------------------

-- An axis that may count from the end, from 0.
function node:axis(a, rank)
  if a < -rank or a >= rank then
    self:refuse("axis %d of %d dimensions", a, rank)
  end
  return a < 0 and a + rank or a
end

function node:reshape(x, to)
  local same = #to == #x.shape
  for d, n in ipairs(to) do same = same and n == x.shape[d] end
  return same and x or self.ops.reshape(x, { to = to })
end

function node.product(list, first, last)
  local p = 1
  for i = first or 1, last or #list do p = p * list[i] end
  return p
end

function node.filled(n, x)
  local list = {}
  for d = 1, n do list[d] = x end
  return list
end

return node
