-- SPDX-License-Identifier: Apache-2.0
-- Programs of nodes: each node's operator is applied to the tensors that its
-- values are; from the same come the shapes of its results.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local ops = require "tessera.ops"
local value = require "tessera.graph.value"

local program = {}

local rows
-- The declaration of an operator by its name; nil: there is none.
function program.row(name)
  if not rows then
    rows = {}
    for _, row in ipairs(declare.list) do rows[row.name] = row end
  end
  return rows[name]
end

-- The names of all operators, sorted.
function program.names()
  local list = {}
  for i, row in ipairs(declare.list) do list[i] = row.name end
  table.sort(list)
  return list
end

-- ---- shapes ----------------------------------------------------------------

-- Sizes by name as variables, one for each name.
local function sizes()
  return setmetatable({}, { __index = function(list, name)
    list[name] = ts.size(name)
    return list[name]
  end })
end

-- A placeholder for a value.
local function placeholder(name, v, size, role)
  local shape = {}
  for d, x in ipairs(v.shape) do
    shape[d] = type(x) == "string" and size[x] or x
  end
  return ts.placeholder(name, shape, v.dtype, { role = role })
end

-- The operator applied to tensors, which are false where left out.
local function apply(row, tensors, o)
  local args, n = {}, #tensors
  for i, t in ipairs(tensors) do args[i] = t or nil end
  local copy = {}
  for key, x in pairs(o) do copy[key] = x end
  args[n + 1] = copy
  if n == 0 then return ops[row.name](nil, copy) end
  return ops[row.name](table.unpack(args, 1, n + 1))
end

-- What results a node of the operator has, as g:add_node takes them.
function program.infer(row, inputs, o)
  local tensors, size = {}, sizes()
  for i, v in ipairs(inputs) do
    tensors[i] = v and placeholder("x" .. i, v, size)
  end
  local results = table.pack(apply(row, tensors, o))
  for i = 1, #results do -- those that are left out come last
    local shape = results[i].shape
    for d, x in ipairs(shape) do
      shape[d] = math.tointeger(x) or tostring(x)
    end
    results[i] = { results[i].dtype, shape }
  end
  results.n = nil
  return results
end

-- ---- programs --------------------------------------------------------------

-- The number of elements of a value whose extents are known.
function program.size(v)
  local n = 1
  for _, x in ipairs(v.shape) do n = n * x end
  return n
end

-- What the nodes of a program are called together; a number in the model, which
-- does not count when programs are compared, tells them apart.
local function name_of(nodes, number)
  local names = {}
  for i, n in ipairs(nodes) do names[i] = n.op end
  local name = table.concat(names, "_")
  if #name > 60 then name = name:sub(1, 56) .. "_" .. #nodes end
  return number and name .. "_" .. number or name
end

-- Of nodes in their order, as g:nodes gives them, one program: its inputs are
-- the values that come from elsewhere, its outputs those for which outside(id)
-- holds.  Constants of one element are part of it; the role of others is
-- `role`.  Also gives the lists of its inputs and outputs.
function program.of(g, nodes, outside, role, number)
  local tensor, size = {}, sizes()
  local inputs, placeholders, outputs, results = {}, {}, {}, {}
  local function input(id)
    if id == 0 then return false end
    if tensor[id] then return tensor[id] end
    local v = value.of(g, id)
    local constant = v.kind == "constant"
    if constant and program.size(v) == 1 then
      tensor[id] = ts.constant("c" .. #inputs, v:tensor())
      return tensor[id]
    end
    tensor[id] = placeholder("x" .. #inputs + 1, v, size,
                             constant and role or nil)
    inputs[#inputs + 1], placeholders[#inputs + 1] = v, tensor[id]
    return tensor[id]
  end
  for _, n in ipairs(nodes) do
    local args = {}
    for i, id in ipairs(n.inputs) do args[i] = input(id) end
    local made = table.pack(apply(program.row(n.op), args, n.attrs))
    for i, id in ipairs(n.outputs) do
      tensor[id] = made[i]
      if outside(id) then
        outputs[#outputs + 1], results[#outputs + 1] = value.of(g, id), made[i]
      end
    end
  end
  local p = ts.program(name_of(nodes, number), placeholders, results)
  return p, inputs, outputs
end

-- The program of one node, with all of its results.
function program.of_node(g, node)
  return program.of(g, { node }, function() return true end)
end

return program
