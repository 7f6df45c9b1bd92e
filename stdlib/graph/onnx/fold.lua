-- SPDX-License-Identifier: Apache-2.0
-- Values that are known when a file is read: the nodes that compute them of
-- constants are interpreted, as the arithmetic of shapes in real exports is.
local ts = require "tessera"
local program = require "tessera.graph.program"
local value = require "tessera.graph.value"

local fold = {}

-- More elements than a value that decides a shape can have; beyond, weights are
-- left to the pass that folds constants by compiled code.
local MOST = 65536

-- The nodes that v needs, in order; nil where they need an input.
local function needed(g, v)
  local nodes, seen = {}, {}
  local function visit(id)
    local x = value.of(g, id)
    if x.kind == "constant" then return true end
    if x.kind ~= "result" then return false end
    if seen[x.node] then return true end
    seen[x.node] = true
    local n = g:node_info(x.node)
    for _, input in ipairs(n.inputs) do
      if input ~= 0 and not visit(input) then return false end
    end
    nodes[#nodes + 1] = n
    return true
  end
  return visit(v.id) and nodes or nil
end

local function size(v)
  local n = 1
  for _, extent in ipairs(v.shape) do n = n * extent end
  return n
end

-- Whether v, of a graph, depends on no input.
function fold.is_known(v)
  return v.kind == "constant" or needed(v.graph, v) ~= nil
end

-- The names of the inputs that a value depends on, in the graph's order.
function fold.inputs(v)
  local g, seen, names = v.graph, {}, {}
  local function visit(id)
    if id == 0 or seen[id] then return end
    local x = value.of(g, id)
    seen[id] = true
    if x.kind ~= "result" then return end
    for _, input in ipairs(g:node_info(x.node).inputs) do visit(input) end
  end
  visit(v.id)
  for _, x in ipairs(g:inputs()) do
    if seen[x.id] then names[#names + 1] = x.name end
  end
  return names
end

-- The tensor of a value that depends on no input; nil of another.
function fold.tensor(v)
  if v.kind == "constant" then return v:tensor() end
  if size(v) > MOST then return nil end
  local g = v.graph
  local nodes = needed(g, v)
  if not nodes then return nil end
  local p, inputs = program.of(g, nodes, function(id)
    return id == v.id
  end)
  local args = {}
  for i, x in ipairs(inputs) do args[i] = x:tensor() end
  local result = ts.tensor(v.dtype, v.shape)
  args[#args + 1] = result
  ts.interpret(p, args)
  return result
end

-- Calls f(at, k) for each element of a shape in order: its indices, a list in
-- whose next entry f may put something, and its number, from 1.
local function each(shape, f)
  local at, k = {}, 0
  local function walk(d)
    if d > #shape then
      k = k + 1
      return f(at, k)
    end
    for i = 0, shape[d] - 1 do
      at[d] = i
      walk(d + 1)
    end
  end
  walk(1)
end

-- The elements of a tensor in order.
function fold.elements(t)
  local shape, list = t:shape(), {}
  each(shape, function(at, k)
    list[k] = t:get(table.unpack(at, 1, #shape))
  end)
  return list
end

-- The tensor whose element number k, at these indices, is f(k, ...).
function fold.make(dtype, shape, f)
  local t, rank = ts.tensor(dtype, shape), #shape
  each(shape, function(at, k)
    at[rank + 1] = f(k, table.unpack(at, 1, rank))
    t:set(table.unpack(at, 1, rank + 1))
  end)
  return t
end

-- The first n elements of a tensor along dimension d, from 1.
function fold.first(t, d, n)
  local shape = t:shape()
  shape[d] = n
  return fold.make(t:dtype(), shape, function(_, ...) return t:get(...) end)
end

return fold
