-- SPDX-License-Identifier: Apache-2.0
-- Integer programs of quantized models: a product or a convolution of what was
-- dequantized becomes one of the integers, in int32, whose sum is scaled; its
-- epilogue ends with the quantization of the result, so that groups take bytes
-- and give bytes.  Dequantizations go behind operators that only move elements,
-- and what is dequantized and quantized again by the same is what it was.
local ts = require "tessera"
local edit = require "tessera.graph.edit"
local program = require "tessera.graph.program"

local input, maker = edit.input, edit.maker

-- ---- what was dequantized --------------------------------------------------

-- { q =, scale =, zero =, axis = the dimension that it goes by, from 0 } of a
-- value that dequantized bytes are; nil of others.
local function dequantized(g, v)
  local n = maker(g, v, "dequantize")
  if not n or n.attrs.block or v.dtype ~= "float32" then return nil end
  local q, scale = input(g, n, 1), input(g, n, 2)
  if q.dtype ~= "int8" and q.dtype ~= "uint8" then return nil end
  local axis = program.size(scale) > 1 and n.attrs.axis or nil
  if axis and axis < 0 then axis = axis + #q.shape end
  return { q = q, scale = scale, zero = input(g, n, 3), axis = axis }
end

local function dequantize(g, d, q, axis)
  return g:dequantize(q, d.scale, d.zero, { axis = axis })
end

local function same_constant(a, b)
  if a.id == b.id then return true end
  return a.kind == "constant" and b.kind == "constant" and
         a.dtype == b.dtype and program.size(a) == 1 and
         program.size(b) == 1 and a:tensor():compare(b:tensor()) == 0
end

local function is_zero(v)
  if v.kind ~= "constant" then return false end
  return v:tensor():compare(ts.tensor(v.dtype, v.shape)) == 0
end

-- A zero point; nil where it is 0.
local function zero_of(d)
  if is_zero(d.zero) then return nil end
  return d.zero
end

-- ---- products --------------------------------------------------------------

local function reshaped(g, v, to) return g:reshape(v, { to = to }) end

-- A list of ones, but of n at place d.
local function along(rank, d, n)
  local to = {}
  for k = 1, rank do to[k] = k == d and n or 1 end
  return to
end

-- The sum of a product in int32 as floats: `channel` is the dimension of the
-- result that weights go by, from 1.
local function scaled(g, sum, x, w, channel)
  local scale = g:mul(x.scale, w.scale)
  local n = program.size(scale)
  scale = reshaped(g, scale, along(#sum.shape, n > 1 and channel, n))
  return g:mul(g:cast(sum, { to = "float32" }), scale)
end

local function plus(g, y, bias, channel)
  if not bias then return y end
  return g:add(y, reshaped(g, bias, along(#y.shape, channel,
                                          program.size(bias))))
end

-- Options of convolutions that both have.
local shared = { "stride", "pad", "dilation", "groups" }

local function convolution(g, n)
  local x, w = dequantized(g, input(g, n, 1)), dequantized(g, input(g, n, 2))
  if not x or not w or x.axis or w.axis and w.axis ~= 0 or n.attrs.act or
     n.attrs.out then
    return nil
  end
  local o = { x_zero = zero_of(x), w_zero = zero_of(w) }
  for _, name in ipairs(shared) do o[name] = n.attrs[name] end
  if type(o.pad) == "string" then return nil end
  local y = scaled(g, g:conv_integer(x.q, w.q, o), x, w, 2)
  return plus(g, y, input(g, n, 3), 2)
end

-- The product of A by B, of which the columns may have scales of their own.
local function product(g, n, trans_b)
  local a, b = dequantized(g, input(g, n, 1)), dequantized(g, input(g, n, 2))
  local rank = b and #b.q.shape
  local columns = rank and (trans_b and rank - 2 or rank - 1)
  if not a or not b or a.axis or n.attrs.trans_a or n.attrs.act or
     n.attrs.out or n.attrs.relu or b.axis and (b.axis ~= columns or rank > 2)
  then
    return nil
  end
  local q = b.q
  if trans_b then
    local perm = {}
    for d = 1, rank do perm[d] = d - 1 end
    perm[rank - 1], perm[rank] = rank - 1, rank - 2
    q = g:transpose(q, { perm = perm })
  end
  local sum = g:matmul_integer(a.q, q, { a_zero = zero_of(a),
                                         b_zero = zero_of(b) })
  return scaled(g, sum, a, b, #sum.shape)
end

local function matmul(g, n)
  local y = product(g, n, n.attrs.trans_b)
  return y and plus(g, y, input(g, n, 3), #y.shape)
end

local function dense(g, n)
  local y = product(g, n, true)
  return y and plus(g, y, input(g, n, 3), 2)
end

local function times(g, x, number)
  if number == 1 then return x end
  return g:mul(x, g:constant("", ts.tensor("float32", { 1 }, { number })))
end

local function gemm(g, n)
  local y = product(g, n, n.attrs.trans_b)
  if not y then return nil end
  local c = input(g, n, 3)
  y = times(g, y, n.attrs.alpha or 1)
  return c and g:add(y, times(g, c, n.attrs.beta or 1)) or y
end

-- ---- what moves elements ---------------------------------------------------

local function transpose(g, n)
  local d = dequantized(g, input(g, n, 1))
  if not d then return nil end
  local axis
  for k, from in ipairs(edit.perm_of(g, n)) do
    if from == d.axis then axis = k - 1 end
  end
  return dequantize(g, d, g:transpose(d.q, n.attrs), axis)
end

-- Of one scale for all; where that is positive the greatest stays so.
local function moved(g, n)
  local d = dequantized(g, input(g, n, 1))
  if not d or d.axis or #n.outputs > 1 then return nil end
  if n.op:find "^max_pool" then
    if d.scale.kind ~= "constant" or d.scale:tensor():get(0) <= 0 or
       n.attrs.column_major then
      return nil
    end
  end
  return dequantize(g, d, g[n.op](g, d.q, n.attrs))
end

local function quantize(g, n)
  local d = dequantized(g, input(g, n, 1))
  if not d or d.axis or n.attrs.bits or d.q.dtype ~= n.attrs.to or
     not same_constant(d.scale, input(g, n, 2)) or
     not same_constant(d.zero, input(g, n, 3)) then
    return nil
  end
  return d.q
end

local rules = {
  conv1d_ncl = convolution, conv2d_nchw = convolution,
  conv3d_ncdhw = convolution, matmul = matmul, dense = dense, gemm = gemm,
  transpose = transpose, reshape = moved, max_pool1d = moved,
  max_pool2d = moved, max_pool3d = moved, quantize = quantize,
}

return function(g)
  for _, node in ipairs(g:nodes()) do
    local rule = rules[node.op]
    local y = rule and rule(g, g:node_info(node.id))
    if y then g:replace_value(node.outputs[1], y.id) end
  end
end
