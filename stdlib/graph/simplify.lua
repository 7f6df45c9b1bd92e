-- SPDX-License-Identifier: Apache-2.0
-- Simplification: nodes that change nothing go, and chains of reshapes,
-- transposes and casts become one.
local declare = require "tessera.ops.declare"
local edit = require "tessera.graph.edit"
local program = require "tessera.graph.program"
local value = require "tessera.graph.value"

local function same_shape(a, b)
  local x, y = a.shape, b.shape
  if #x ~= #y then return false end
  for d = 1, #x do
    if x[d] ~= y[d] then return false end
  end
  return true
end

local function same(a, b) return a.dtype == b.dtype and same_shape(a, b) end

local maker, input = edit.maker, edit.input

-- The one number that a constant has everywhere; nil: it is none, or several.
local function number_of(v)
  if v.kind ~= "constant" or program.size(v) ~= 1 then return nil end
  local zeros = {}
  for d = 1, #v.shape do zeros[d] = 0 end
  return v:tensor():get(table.unpack(zeros))
end

-- x op c is x where c is `neutral`; also c op x, if either may come first.
local function neutral(number, either)
  return function(g, n, y)
    local a, b = input(g, n, 1), input(g, n, 2)
    if same(a, y) and number_of(b) == number then return a end
    if either and same(b, y) and number_of(a) == number then return b end
  end
end

-- What each operator's result may be replaced by; nil: nothing.
local rules = {
  add = neutral(0, true), sub = neutral(0), mul = neutral(1, true),
  div = neutral(1), pow = neutral(1),
}

function rules.reshape(g, n, y)
  local x = input(g, n, 1)
  if same(x, y) then return x end
  local before = maker(g, x, "reshape")
  if not before then return nil end
  local source = input(g, before, 1)
  return same(source, y) and source or g:reshape(source, { to = y.shape })
end

function rules.broadcast(g, n, y)
  local x = input(g, n, 1)
  if same(x, y) then return x end
end

rules.tile = rules.broadcast

-- All of the elements, but of a dimension they may be in the other direction.
function rules.slice(g, n, y)
  for _, step in ipairs(n.attrs.step or {}) do
    if step < 0 then return nil end
  end
  return rules.broadcast(g, n, y)
end

function rules.concat(g, n)
  if #n.inputs == 1 then return input(g, n, 1) end
end

local function is_identity(perm)
  for d, from in ipairs(perm) do
    if from ~= d - 1 then return false end
  end
  return true
end

function rules.transpose(g, n)
  local x, perm = input(g, n, 1), edit.perm_of(g, n)
  if is_identity(perm) then return x end
  local before = maker(g, x, "transpose")
  if not before then return nil end
  local first, both = edit.perm_of(g, before), {}
  for d, from in ipairs(perm) do both[d] = first[from + 1] end
  local source = input(g, before, 1)
  return is_identity(both) and source or g:transpose(source, { perm = both })
end

function rules.cast(g, n, y)
  local x = input(g, n, 1)
  if x.dtype == y.dtype then return x end
  local before = maker(g, x, "cast")
  if not before then return nil end
  local source = input(g, before, 1)
  if x.dtype == "bool" or source.dtype == "bool" or
     not declare.holds(x.dtype, source.dtype) then
    return nil
  end
  if source.dtype == y.dtype then return source end
  return g:cast(source, n.attrs)
end

return function(g)
  for _, node in ipairs(g:nodes()) do
    local rule = rules[node.op]
    if rule then
      local y = value.of(g, node.outputs[1])
      local by = rule(g, g:node_info(node.id), y)
      if by then g:replace_value(y.id, by.id) end
    end
  end
end
