-- SPDX-License-Identifier: Apache-2.0
-- Graphs of operators: what the raw object of lua/lgraph.c gets to be pleasant
-- to use.  g:NAME(values.., options) adds a node of the operator ops.NAME.
local ts = require "tessera"
local options = require "tessera.lang.options"
local words = require "tessera.lang.words"
local value = require "tessera.graph.value"
local program = require "tessera.graph.program"

local graph = {}
local methods = debug.getregistry()["tessera.graph"].__index
local invalid = debug.getregistry()["tessera.invalid"]

function graph.new(name) return ts.graph(name) end

-- ---- building --------------------------------------------------------------

-- g:input(name, shape [, dtype]): a dimension is an extent, or the name of a
-- size that is not known yet.
function methods:input(name, shape, dtype)
  return value.of(self, self:add_input(name, dtype or "float32", shape))
end

-- g:constant(name, tensor): which the graph keeps, and nobody may change.
function methods:constant(name, tensor)
  return value.of(self, self:add_constant(name, tensor))
end

-- g:output(name, value)
function methods:output(name, v)
  if not value.is(v) then invalid("an output of a graph is one of its values")
  end
  self:add_output(name, v.id)
end

-- The values that go into a node of an operator, false for those left out, and
-- the options that are left; as ops.NAME takes tensors.
local function arguments(row, ...)
  local args, inputs, o, most = table.pack(...), {}, {}, 0
  local last = args[args.n]
  local named = type(last) == "table" and not value.is(last)
  for key, x in pairs(named and last or {}) do o[key] = x end
  for i = 1, named and args.n - 1 or args.n do inputs[i] = args[i] end
  for i, t in ipairs(row.tensors) do
    if value.is(o[t.name]) then inputs[i], o[t.name] = o[t.name], nil end
  end
  for i in pairs(inputs) do most = math.max(most, i) end
  for i = 1, most do inputs[i] = inputs[i] or false end
  return inputs, o
end

-- Adds a node of the operator that the row declares, and gives its results.
local function add_operator(g, row, ...)
  local inputs, o = arguments(row, ...)
  local name, ids = o.name, {}
  o.name = nil
  for i, v in ipairs(inputs) do
    if v and (not value.is(v) or v.graph ~= g) then
      invalid(("ops.%s: argument %d is no value of this graph"):format(
        row.name, i))
    end
    ids[i] = v and v.id or 0
  end
  local made = g:add_node(row.name, name, ids, o,
                          program.infer(row, inputs, o))
  for i, id in ipairs(made) do made[i] = value.of(g, id) end
  return table.unpack(made)
end

-- Raises for a name that is no operator's, nor of the table `known`.
local function unknown(name, known)
  if type(name) ~= "string" then return nil end
  local names = program.names()
  for other in next, known or {} do names[#names + 1] = other end
  table.sort(names)
  invalid(("there is no operator %s%s"):format(options.quoted(name),
          words.suggestion(name, names)))
end

setmetatable(methods, { __index = function(_, name)
  local row = program.row(name)
  if not row then return unknown(name, methods) end
  return function(g, ...) return add_operator(g, row, ...) end
end })

-- The operators as functions of a graph's values, in place of tessera.ops.
function graph.ops(g)
  return setmetatable({}, { __index = function(_, name)
    local row = program.row(name)
    if not row then return unknown(name) end
    return function(...) return add_operator(g, row, ...) end
  end })
end

-- ---- asking ----------------------------------------------------------------

local function values(g, ids)
  local list = {}
  for i, id in ipairs(ids) do list[i] = value.of(g, id) end
  return list
end

function methods:inputs() return values(self, self:input_values()) end

-- The values of the outputs, and their names.
function methods:outputs()
  local ids, names = self:output_values()
  return values(self, ids), names
end

-- The nodes in their order, as tables.
function methods:nodes()
  local list = {}
  for i, id in ipairs(self:order()) do
    list[i] = self:node_info(id)
    list[i].id = id
  end
  return list
end

-- Runs a graph node by node, unscheduled: the tensors of its outputs, and those
-- of all values by number.
graph.run = require("tessera.graph.plain").run

-- A model that runs, of a graph, which is changed.
graph.model = require("tessera.graph.model").new

return graph
