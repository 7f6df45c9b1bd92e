-- SPDX-License-Identifier: Apache-2.0
-- What stands around a convolution becomes part of it: a border of zeros of its
-- padding; products with and sums of numbers of each channel, which a batch
-- norm of constants is, of its weights and its bias.  So do such products and
-- sums behind a product of matrices.
local ts = require "tessera"
local edit = require "tessera.graph.edit"
local program = require "tessera.graph.program"

-- A vector of channels in a shape of that rank, at dimension d.
local function along(g, v, rank, d)
  local to = {}
  for k = 1, rank do to[k] = k == d and program.size(v) or 1 end
  return g:reshape(v, { to = to })
end

-- ---- batch norm ------------------------------------------------------------

-- As a product and a sum with numbers of each channel, if these are constant.
local function batch_norm(g, n)
  local x, weight = edit.input(g, n, 1), edit.input(g, n, 2)
  local bias, mean = edit.input(g, n, 3), edit.input(g, n, 4)
  local variance = edit.input(g, n, 5)
  if x.dtype ~= "float32" then return nil end
  for _, v in ipairs { weight, bias, mean, variance } do
    if not edit.is_known(g, v) then return nil end
  end
  local eps = g:constant("", ts.tensor("float32", { 1 },
                                       { n.attrs.eps or 1e-5 }))
  local scale = g:mul(g:rsqrt(g:add(variance, eps)), weight)
  local shift = g:sub(bias, g:mul(mean, scale))
  local rank = #x.shape
  local d = n.attrs.layout == "channels_last" and rank or 2
  return g:add(g:mul(x, along(g, scale, rank, d)), along(g, shift, rank, d))
end

-- ---- products and sums -----------------------------------------------------

-- The known operand of a node as a vector of the channels at dimension d, or of
-- one element; and the other operand.  nil where there is none such.
local function per_channel(g, n, y, d)
  for i = 1, 2 do
    local v, x = edit.input(g, n, i), edit.input(g, n, 3 - i)
    local rank, fits = #y.shape, v and x and edit.is_known(g, v) and
                                 #x.shape == #y.shape
    for k = 1, fits and #v.shape or 0 do
      local at = k + rank - #v.shape
      if v.shape[k] ~= 1 and (at ~= d or v.shape[k] ~= x.shape[d]) then
        fits = false
      end
    end
    if fits and (i == 2 or n.op == "add" or n.op == "mul") then
      return g:reshape(v, { to = { program.size(v) } }), x
    end
  end
end

-- The convolution or product that makes x, which only one node takes, if its
-- weights are known.
local function convolution(g, x, uses)
  if x.kind ~= "result" or (uses[x.id] or 1) ~= 1 then return nil end
  local c = g:node_info(x.node)
  local bias = edit.input(g, c, 3)
  if not edit.channels(g, c) or c.attrs.act or c.attrs.relu or c.attrs.out or
     x.dtype ~= "float32" or not edit.is_known(g, edit.input(g, c, 2)) or
     bias and not edit.is_known(g, bias) then
    return nil
  end
  return c
end

local function again(g, c, weights, bias)
  return g[c.op](g, edit.input(g, c, 1), weights,
                 edit.with(c.attrs, { bias = bias }))
end

local function scaled(g, c, f, by)
  local w, bias = edit.input(g, c, 2), edit.input(g, c, 3)
  local at = edit.channels(g, c)
  return again(g, c, f(g, w, along(g, by, #w.shape, at)),
               bias and f(g, bias, by))
end

local function shifted(g, c, f, by)
  local w, bias = edit.input(g, c, 2), edit.input(g, c, 3)
  local n = w.shape[edit.channels(g, c)]
  bias = bias or g:constant("", ts.tensor("float32", { n }))
  return again(g, c, w, f(g, bias, by))
end

local kinds = {
  mul = function(g, c, by) return scaled(g, c, g.mul, by) end,
  div = function(g, c, by) return scaled(g, c, g.div, by) end,
  add = function(g, c, by) return shifted(g, c, g.add, by) end,
  sub = function(g, c, by) return shifted(g, c, g.sub, by) end,
}

local function absorb(g, n, uses)
  local y = edit.result(g, n)
  local channel = { [2] = true, [#y.shape] = true }
  for d in pairs(channel) do
    local by, x = per_channel(g, n, y, d)
    local c = x and convolution(g, x, uses)
    if c and select(2, edit.channels(g, c)) == d then
      return kinds[n.op](g, c, by)
    end
  end
end

-- ---- borders ---------------------------------------------------------------

-- Paddings before each dimension, then behind it.
local function padding(o, rank)
  local pad, list = o.pad or 0, {}
  if type(pad) == "string" then return nil end
  for k = 1, 2 * rank do
    list[k] = type(pad) ~= "table" and pad or
              pad[#pad == 2 * rank and k or (k - 1) % rank + 1]
  end
  return list
end

local function border(g, c)
  local p = edit.maker(g, edit.input(g, c, 1), "pad")
  if not p or #p.inputs > 1 or (p.attrs.value or 0) ~= 0 or
     (p.attrs.mode or "constant") ~= "constant" then
    return nil
  end
  local before, after = p.attrs.before, p.attrs.after or p.attrs.before
  local rank, channel = #before - 2, edit.convolutions[c.op][2]
  local first, list = channel == 2 and 2 or 1, padding(c.attrs, #before - 2)
  if not list or before[1] + after[1] + before[channel] + after[channel] > 0
  then
    return nil
  end
  for k = 1, rank do
    list[k] = list[k] + before[first + k]
    list[rank + k] = list[rank + k] + after[first + k]
  end
  return g[c.op](g, edit.input(g, p, 1), edit.input(g, c, 2),
                 edit.with(c.attrs, { pad = list, bias = edit.input(g, c, 3) }))
end

-- Nodes in their order: what a convolution took in is a convolution again.
return function(g)
  for _, node in ipairs(g:nodes()) do
    if node.op == "batch_norm" then
      local y = batch_norm(g, g:node_info(node.id))
      if y then g:replace_value(node.outputs[1], y.id) end
    end
  end
  g:sweep()
  local uses = edit.count_uses(g)
  for _, node in ipairs(g:nodes()) do
    local n, y = g:node_info(node.id), nil
    if kinds[n.op] then
      y = absorb(g, n, uses)
    elseif edit.convolutions[n.op] then
      y = border(g, n)
    end
    if y then
      uses[y.id] = uses[n.outputs[1]]
      g:replace_value(n.outputs[1], y.id)
    end
  end
end
