-- SPDX-License-Identifier: Apache-2.0
-- What passes over graphs share: who makes a value, what is known before it
-- runs, how often it is taken.
local category = require "tessera.graph.categories"
local value = require "tessera.graph.value"

local edit = {}

-- The node that makes a value, if it is of that operator.
function edit.maker(g, v, op)
  if not v or v.kind ~= "result" then return nil end
  local n = g:node_info(v.node)
  return n.op == op and n or nil
end

-- Input i of a node, nil where it is left out.
function edit.input(g, n, i)
  local id = n.inputs[i] or 0
  return id ~= 0 and value.of(g, id) or nil
end

-- The first result of a node.
function edit.result(g, n) return value.of(g, n.outputs[1]) end

-- What was found out of each graph: by the number of a value.
local known = setmetatable({}, { __mode = "k" })

local function all_known(g, id)
  for _, input in ipairs(g:node_info(id).inputs) do
    if input ~= 0 and not edit.is_known(g, value.of(g, input)) then
      return false
    end
  end
  return true
end

-- Whether a value is a constant, or made of such; it stays so.
function edit.is_known(g, v)
  local list = known[g] or {}
  known[g] = list
  if list[v.id] == nil then
    local kind = v.kind
    list[v.id] = kind == "constant" or
                 kind == "result" and all_known(g, v.node)
  end
  return list[v.id]
end

-- How often each value is taken, by number, as an output, too.
function edit.count_uses(g)
  local uses = {}
  local function count(id) uses[id] = (uses[id] or 0) + 1 end
  for _, n in ipairs(g:nodes()) do
    for _, id in ipairs(n.inputs) do count(id) end
  end
  for _, v in ipairs((g:outputs())) do count(v.id) end
  return uses
end

-- A node's attributes with others in the place of some.
function edit.with(attrs, more)
  local o = {}
  for key, x in pairs(attrs) do o[key] = x end
  for key, x in pairs(more) do o[key] = x end
  return o
end

local by_channel = { broadcast = true, batch_norm = true, prelu = true,
                     quantize = true, dequantize = true }

-- Whether a node computes an element of the elements of its inputs there, of
-- which any dimensions may be broadcast.
function edit.is_pointwise(n)
  return category.of(n.op) <= category.broadcast and not by_channel[n.op] and
         #n.outputs == 1
end

-- The dimensions that a transpose takes, from 0.
function edit.perm_of(g, n)
  if n.attrs.perm then return n.attrs.perm end
  local perm, rank = {}, #edit.input(g, n, 1).shape
  for d = 1, rank do perm[d] = rank - d end
  return perm
end

-- Where the weights of a convolution have the channels of the result, and
-- where the result has them.
edit.convolutions = {
  conv1d_ncl = { 1, 2 }, conv2d_nchw = { 1, 2 }, conv3d_ncdhw = { 1, 2 },
  conv1d_nlc = { 3, 3 }, conv2d_nhwc = { 4, 4 }, conv3d_ndhwc = { 5, 5 },
}

-- Where the weights of a product of matrices have the columns of the result;
-- nil: it is none of all rows with the same weights.
function edit.columns(g, n)
  if n.op == "dense" then return 1 end
  if n.op ~= "matmul" or #edit.input(g, n, 2).shape ~= 2 then return nil end
  return n.attrs.trans_b and 1 or 2
end

-- The same of a convolution, and where the result has its channels; of products
-- these are the columns.
function edit.channels(g, n)
  if edit.convolutions[n.op] then return table.unpack(edit.convolutions[n.op])
  end
  local columns = edit.columns(g, n)
  return columns, columns and #edit.result(g, n).shape
end

return edit
