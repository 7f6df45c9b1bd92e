-- SPDX-License-Identifier: Apache-2.0
-- Batch norm with constant statistics: its scale becomes part of the weights
-- of the convolution before it, its shift of the bias; alone it becomes a
-- product and a sum.
local ts = require "tessera"
local value = require "tessera.graph.value"

-- Where a convolution's weights have the channels of the result.
local channel = {
  conv1d_ncl = 1, conv2d_nchw = 1, conv3d_ncdhw = 1,
  conv1d_nlc = 3, conv2d_nhwc = 4, conv3d_ndhwc = 5,
}
local last = { conv1d_nlc = true, conv2d_nhwc = true, conv3d_ndhwc = true }

local function is_constant(g, id)
  return value.of(g, id).kind == "constant"
end

-- A vector of channels in a shape of that rank, at dimension d.
local function along(g, v, rank, d)
  local to = {}
  for k = 1, rank do to[k] = k == d and v.shape[1] or 1 end
  return g:reshape(v, { to = to })
end

-- Scale and shift of each channel, as nodes of constants.
local function factors(g, n)
  local weight, bias = value.of(g, n.inputs[2]), value.of(g, n.inputs[3])
  local mean, variance = value.of(g, n.inputs[4]), value.of(g, n.inputs[5])
  local eps = g:constant("", ts.tensor("float32", { 1 },
                                       { n.attrs.eps or 1e-5 }))
  local scale = g:mul(g:reciprocal(g:sqrt(g:add(variance, eps))), weight)
  return scale, g:sub(bias, g:mul(mean, scale))
end

-- The convolution whose only use is the batch norm n, and whose weights are
-- constant; nil: there is none such.
local function convolution(g, n, uses)
  local x = value.of(g, n.inputs[1])
  if x.kind ~= "result" or uses[x.id] ~= 1 then return nil end
  local c = g:node_info(x.node)
  if not channel[c.op] or c.attrs.act or not is_constant(g, c.inputs[2]) then
    return nil
  end
  if (c.inputs[3] or 0) ~= 0 and not is_constant(g, c.inputs[3]) then
    return nil
  end
  local layout = n.attrs.layout == "channels_last"
  return layout == (last[c.op] or false) and c or nil
end

local function fold_into(g, n, c, scale, shift)
  local w = value.of(g, c.inputs[2])
  local weights = g:mul(w, along(g, scale, #w.shape, channel[c.op]))
  local bias = shift
  if (c.inputs[3] or 0) ~= 0 then
    bias = g:add(g:mul(value.of(g, c.inputs[3]), scale), shift)
  end
  local o = {}
  for key, x in pairs(c.attrs) do o[key] = x end
  o.bias = bias
  return g[c.op](g, value.of(g, c.inputs[1]), weights, o)
end

local function apart(g, n, scale, shift)
  local x = value.of(g, n.inputs[1])
  local rank = #x.shape
  local d = n.attrs.layout == "channels_last" and rank or 2
  return g:add(g:mul(x, along(g, scale, rank, d)), along(g, shift, rank, d))
end

local function count_uses(g)
  local uses = {}
  for _, n in ipairs(g:nodes()) do
    for _, id in ipairs(n.inputs) do uses[id] = (uses[id] or 0) + 1 end
  end
  for _, v in ipairs((g:outputs())) do uses[v.id] = (uses[v.id] or 0) + 1 end
  return uses
end

local function applies(g, n)
  if n.op ~= "batch_norm" or value.of(g, n.inputs[1]).dtype ~= "float32" then
    return false
  end
  for i = 2, 5 do
    if not is_constant(g, n.inputs[i]) then return false end
  end
  return true
end

return function(g)
  local uses = count_uses(g)
  for _, n in ipairs(g:nodes()) do
    n = g:node_info(n.id)
    if applies(g, n) then
      local scale, shift = factors(g, n)
      local c = convolution(g, n, uses)
      local y = c and fold_into(g, n, c, scale, shift) or
                apart(g, n, scale, shift)
      g:replace_value(n.outputs[1], y.id)
    end
  end
end
