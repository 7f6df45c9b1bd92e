-- SPDX-License-Identifier: Apache-2.0
-- Transposes sink: an operator element by element of transposed values is the
-- transposed operator of the values, so that those that exports put around each
-- convolution meet, and cancel.
local edit = require "tessera.graph.edit"

-- The value that is transposed and the dimensions, of a transpose's result.
local function transposed(g, v)
  local n = edit.maker(g, v, "transpose")
  if n then return edit.input(g, n, 1), edit.perm_of(g, n) end
end

local function same_perm(a, b)
  if #a ~= #b then return false end
  for d = 1, #a do
    if a[d] ~= b[d] then return false end
  end
  return true
end

-- The dimensions by which all inputs that are not known are transposed; nil:
-- they are not, or not by the same.
local function common_perm(g, n)
  local perm
  for i = 1, #n.inputs do
    local v = edit.input(g, n, i)
    if v and not edit.is_known(g, v) then
      local _, its = transposed(g, v)
      if not its or perm and not same_perm(perm, its) then return nil end
      perm = its
    end
  end
  return perm
end

-- A known value as it has to be where nothing is transposed.
local function untransposed(g, v, perm)
  local rank, to, back = #perm, {}, {}
  if #v.shape == 0 then return v end
  for d = 1, rank do to[d] = v.shape[d - rank + #v.shape] or 1 end
  for d, from in ipairs(perm) do back[from + 1] = d - 1 end
  local x = #v.shape == rank and v or g:reshape(v, { to = to })
  return g:transpose(x, { perm = back })
end

-- ---- element by element ----------------------------------------------------

local function sink(g, n)
  local perm = common_perm(g, n)
  if not perm then return nil end
  local args = {}
  for i = 1, #n.inputs do
    local v = edit.input(g, n, i)
    if v and edit.is_known(g, v) then
      args[i] = untransposed(g, v, perm)
    else
      args[i] = v and transposed(g, v) or false
    end
  end
  args[#args + 1] = n.attrs
  return g:transpose(g[n.op](g, table.unpack(args)), { perm = perm })
end

-- ---- others ----------------------------------------------------------------

local rules = {}

-- A border goes behind the transpose, towards the convolution that takes it.
function rules.transpose(g, n)
  local pad = edit.maker(g, edit.input(g, n, 1), "pad")
  if not pad or #pad.inputs > 1 then return nil end
  local o, perm = pad.attrs, edit.perm_of(g, n)
  local before, after = {}, {}
  for d, from in ipairs(perm) do
    before[d] = o.before[from + 1]
    after[d] = (o.after or o.before)[from + 1]
  end
  local x = g:transpose(edit.input(g, pad, 1), { perm = perm })
  return g:pad(x, edit.with(o, { before = before, after = after }))
end

-- Scales and zero points go by a dimension of their own, if by any.
local function sink_scaled(g, n)
  local x, perm = transposed(g, edit.input(g, n, 1))
  if not x or n.attrs.block then return nil end
  local axis = n.attrs.axis and perm[n.attrs.axis % #perm + 1]
  local y = g[n.op](g, x, edit.input(g, n, 2), edit.input(g, n, 3),
                    edit.with(n.attrs, { axis = axis }))
  return g:transpose(y, { perm = perm })
end
rules.quantize, rules.dequantize = sink_scaled, sink_scaled

-- A reduction needs no transpose before it where the dimensions that stay are
-- in their order.
function rules.reduce(g, n)
  local x, perm = transposed(g, edit.input(g, n, 1))
  if not x or n.attrs.keep or not n.attrs.axes then return nil end
  local gone, axes, last = {}, {}, -1
  for i, axis in ipairs(n.attrs.axes) do
    local d = axis < 0 and axis + #perm or axis
    gone[d], axes[i] = true, perm[d + 1]
  end
  for d, from in ipairs(perm) do
    if not gone[d - 1] then
      if from < last then return nil end
      last = from
    end
  end
  return g:reduce(x, edit.with(n.attrs, { axes = axes }))
end

return function(g)
  for _, node in ipairs(g:nodes()) do
    local n = g:node_info(node.id)
    local rule = edit.is_pointwise(n) and sink or rules[n.op]
    local y = rule and rule(g, n)
    if y then g:replace_value(n.outputs[1], y.id) end
  end
end
