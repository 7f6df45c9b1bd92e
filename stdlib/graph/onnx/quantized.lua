-- SPDX-License-Identifier: Apache-2.0
-- ONNX's operators of quantized tensors.
local fold = require "tessera.graph.onnx.fold"
local packed = require "tessera.graph.onnx.packed"
local windows = require "tessera.graph.onnx.windows"

-- Along which dimension a scale goes, how long its blocks are.  A list of one
-- scale is of the whole tensor, as exporters write it for a bias, whatever
-- dimension 'axis' says and whether there is one.
local function options(n, scale)
  local o = {}
  local block = n:attr("block_size", 0)
  if block > 0 then o.block = block end
  if block > 0 or #scale == 1 and scale[1] ~= 1 then
    o.axis = n:axis(n:attr("axis", 1), n:rank(1))
  end
  return o
end

-- A scale or zero point without dimensions as one of one element; a constant
-- stays one, since passes look at it.
local function one(n, x)
  if #x.shape > 0 then return x end
  if x.kind ~= "constant" then return n:reshape(x, { 1 }) end
  return n:constant(x.dtype, { 1 }, fold.elements(x:tensor()))
end

-- What has neither is 0.
local function zero_point(n, i, dtype, shape)
  if n:has(i) then return one(n, n:x(i)) end
  return n:constant(dtype, shape, 0)
end

return function(of)
  function of.QuantizeLinear(n)
    local o = options(n, n:shape(2))
    local scale = one(n, n:needs(2))
    local type = n:has(3) and n:type(3) or n:attr_type("output_dtype", "uint8")
    local few = packed.of(type)
    o.to, o.bits = few and few.to or type, few and few.bits
    local y = n.ops.quantize(n:needs(1), scale,
                             zero_point(n, 3, o.to, scale.shape), o)
    return few and packed.mark(n.import, y, type) or y
  end
  function of.DequantizeLinear(n)
    local x, scale = n:needs(1), one(n, n:needs(2))
    local o = options(n, n:shape(2))
    return n.ops.dequantize(x, scale, zero_point(n, 3, x.dtype, scale.shape),
                            o)
  end
  function of.DynamicQuantizeLinear(n)
    return n.ops.dynamic_quantize(n:needs(1))
  end
  function of.MatMulInteger(n)
    return n.ops.matmul_integer(n:needs(1), n:needs(2), { a_zero = n:x(3),
                                                          b_zero = n:x(4) })
  end
  function of.QLinearMatMul(n)
    local x = {}
    for i, at in ipairs { 2, 3, 5, 6, 7, 8 } do x[i] = one(n, n:needs(at)) end
    return n.ops.qlinear_matmul(n:needs(1), x[1], x[2], n:needs(4),
                                table.unpack(x, 3))
  end
  function of.ConvInteger(n)
    local x, w = n:needs(1), n:needs(2)
    local _, o = windows.conv(n, x, w)
    o.x_zero = n:has(3) and one(n, n:x(3)) or nil
    o.w_zero = n:has(4) and one(n, n:x(4)) or nil
    return n.ops.conv_integer(x, w, o)
  end
  function of.QLinearConv(n)
    local x, w, p = n:needs(1), n:needs(4), {}
    local _, o = windows.conv(n, x, w)
    for i, at in ipairs { 2, 3, 5, 6, 7, 8 } do p[i] = one(n, n:needs(at)) end
    o.bias = n:x(9)
    return n.ops.qlinear_conv(x, p[1], p[2], w, p[3], p[4], p[5], p[6], o)
  end
end
