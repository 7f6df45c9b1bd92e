-- SPDX-License-Identifier: Apache-2.0
-- Nodes of layers: products, convolutions, pooling, normalization, attention,
-- recurrent ones, resizing, and quantized ones.
local ops = require "tessera.ops"

local first = { "ncl", "nchw", "ncdhw" }

local function reshaped(x, to) return ops.reshape(x, { to = to }) end

-- ---- windows ---------------------------------------------------------------

local function filled(n, value)
  local list = {}
  for d = 1, n do list[d] = value end
  return list
end

-- Stride, dilation and padding of windows k over extents.
local function window(n, k, extents)
  local rank = #k
  local o = { stride = n:attr("strides", filled(rank, 1)),
              dilation = n:attr("dilations", filled(rank, 1)),
              pad = n:attr("pads", filled(2 * rank, 0)) }
  local auto = n:attr("auto_pad", "NOTSET")
  if auto == "VALID" then o.pad = filled(2 * rank, 0) end
  if auto:find "^SAME" then
    o.pad = {}
    for d = 1, rank do
      local s, reach = o.stride[d], o.dilation[d] * (k[d] - 1) + 1
      local out = (extents[d] + s - 1) // s
      local total = math.max((out - 1) * s + reach - extents[d], 0)
      local less = total // 2
      o.pad[d] = auto == "SAME_UPPER" and less or total - less
      o.pad[d + rank] = total - o.pad[d]
    end
  end
  return o
end

local function spatial(shape) return table.move(shape, 3, #shape, 1, {}) end

local function conv(n, x, w, bias)
  local o = window(n, n:attr("kernel_shape") or spatial(w.shape),
                   spatial(x.shape))
  o.groups = n:attr("group", 1)
  o.bias = bias
  local name = ("conv%dd_%s"):format(#x.shape - 2, first[#x.shape - 2])
  return ops[name], o
end

local function pool(name, more)
  return function(n)
    local k = n:attr "kernel_shape"
    local x = n:x(1)
    local o = window(n, k, spatial(x.shape))
    o.k, o.ceil = k, n:flag "ceil_mode" or nil
    for key, v in pairs(more(n)) do o[key] = v end
    return ops[name:format(#k)](x, o)
  end
end

-- ---- quantization ----------------------------------------------------------

-- Along which dimension a scale goes, how long its blocks are.
local function quantized(n, scale)
  local o, rank = {}, n:rank(1)
  local axis = n:attr("axis", 1)
  axis = axis < 0 and axis + rank or axis
  local block = n:attr("block_size", 0)
  if block > 0 then
    o.axis, o.block = axis, block
  elseif #scale == 1 then
    o.axis = axis
  end
  return o
end

local function one(x)
  if #x.shape == 0 then return reshaped(x, { 1 }) end
  return x
end

local function zero_of(dtype, shape)
  return ops.constant_of_shape(nil, { shape = shape, dtype = dtype })
end

-- ---- recurrent layers ------------------------------------------------------

local function recurrent(name, gates)
  return function(n)
    local layout = n:attr("layout", 0)
    local o = { hidden = n:attr "hidden_size",
                direction = n:attr("direction", "forward"),
                batch_first = layout == 1,
                clip = n:attr "clip" }
    if name == "gru" then o.linear_before_reset = n:flag "linear_before_reset"
    end
    if name == "lstm" and n:flag "input_forget" then n:refuse "input_forget" end
    if n:attr "activations" then
      o.activations = {}
      for i, a in ipairs(n:attr "activations") do
        o.activations[i] = a:lower()
      end
    end
    o.bias, o.lengths, o.initial = n:x(4), n:x(5), n:x(6)
    if name == "lstm" then o.cell, o.peephole = n:x(7), n:x(8) end
    return ops[name](n:x(1), n:x(2), n:x(3), o)
  end
end

return function(of)
  function of.MatMul(n)
    local a, b = n:x(1), n:x(2)
    local sa, sb = a.shape, b.shape
    if #sa == 1 then a = reshaped(a, { 1, sa[1] }) end
    if #sb == 1 then b = reshaped(b, { sb[1], 1 }) end
    local y = ops.matmul(a, b)
    if #sa > 1 and #sb > 1 then return y end
    return reshaped(y, n.case.outputs[1].shape)
  end
  function of.Gemm(n)
    return ops.gemm(n:x(1), n:x(2), {
      C = n:x(3), alpha = n:attr("alpha", 1), beta = n:attr("beta", 1),
      trans_a = n:flag "transA", trans_b = n:flag "transB" })
  end
  function of.Conv(n)
    local x, w = n:x(1), n:x(2)
    local f, o = conv(n, x, w, n:x(3))
    return f(x, w, o)
  end
  function of.ConvTranspose(n)
    local x, w = n:x(1), n:x(2)
    local rank = n:rank(1) - 2
    local k = n:attr "kernel_shape" or spatial(w.shape)
    local s = n:attr("strides", filled(rank, 1))
    local t = n:attr("dilations", filled(rank, 1))
    local more = n:attr("output_padding", filled(rank, 0))
    local pad = n:attr("pads", filled(2 * rank, 0))
    local auto, shape = n:attr("auto_pad", "NOTSET"), n:attr "output_shape"
    if shape or auto:find "^SAME" then
      pad = {}
      for d = 1, rank do
        local extent = n:shape(1)[d + 2]
        local want = shape and shape[#shape - rank + d] or extent * s[d]
        local total = s[d] * (extent - 1) + more[d] + (k[d] - 1) * t[d] + 1 -
                      want
        local less = total // 2
        if total < 0 then more[d], total, less = more[d] - total, 0, 0 end
        pad[d] = auto == "SAME_UPPER" and less or total - less
        pad[d + rank] = total - pad[d]
      end
    end
    return ops[("conv%dd_transpose_%s"):format(rank, first[rank])](x, w, n:x(3),
      { stride = s, dilation = t, pad = pad, out_pad = more,
        groups = n:attr("group", 1) })
  end
  function of.DeformConv(n)
    local x, w = n:x(1), n:x(2)
    local o = window(n, spatial(w.shape), spatial(x.shape))
    o.groups, o.offset_groups = n:attr("group", 1), n:attr("offset_group", 1)
    o.bias, o.mask = n:x(4), n:x(5)
    return ops.deform_conv2d(x, w, n:x(3), o)
  end
  function of.Col2Im(n)
    return ops.col2im(n:x(1), {
      to = n:values(2), k = n:values(3),
      stride = n:attr("strides", filled(#n:values(2), 1)),
      dilation = n:attr("dilations", filled(#n:values(2), 1)),
      pad = n:attr("pads", filled(2 * #n:values(2), 0)) })
  end

  -- ---- pooling -------------------------------------------------------------
  of.MaxPool = pool("max_pool%dd", function(n)
    return { indices = n.case.outputs[2] and true or nil,
             column_major = n:flag "storage_order" or nil }
  end)
  of.AveragePool = pool("avg_pool%dd", function(n)
    return { count_include_pad = n:flag "count_include_pad" }
  end)
  of.LpPool = pool("lp_pool%dd", function(n) return { p = n:attr("p", 2) } end)
  local function global(op)
    return function(n)
      return ops[("global_pool%dd"):format(n:rank(1) - 2)](n:x(1), { op = op })
    end
  end
  of.GlobalAveragePool, of.GlobalMaxPool = global "mean", global "max"
  function of.MaxUnpool(n)
    return ops.max_unpool(n:x(1), n:x(2), { to = n.case.outputs[1].shape,
      of = n:has(3) and of.unpooled(n) or nil })
  end
  -- The shape that indices count in where another is asked for.
  function of.unpooled(n)
    local k = n:attr "kernel_shape"
    local s = n:attr("strides", filled(#k, 1))
    local pads, shape = n:attr("pads", filled(2 * #k, 0)), n:shape(1)
    local to = { shape[1], shape[2] }
    for d = 1, #k do
      to[d + 2] = (shape[d + 2] - 1) * s[d] - pads[d] - pads[d + #k] + k[d]
    end
    return to
  end
  function of.RoiAlign(n)
    return ops.roi_align(n:x(1), n:x(2), n:x(3), {
      oh = n:attr("output_height", 1), ow = n:attr("output_width", 1),
      samples = n:attr("sampling_ratio", 0),
      scale = n:attr("spatial_scale", 1.0),
      op = n:attr("mode", "avg"),
      half_pixel = n:attr("coordinate_transformation_mode",
                          n.case.opset >= 16 and "half_pixel" or
                          "output_half_pixel") == "half_pixel" })
  end
  function of.GridSample(n)
    local modes = { linear = "linear", bilinear = "linear", cubic = "cubic",
                    bicubic = "cubic", nearest = "nearest" }
    return ops.grid_sample(n:x(1), n:x(2), {
      mode = modes[n:attr("mode", "linear")],
      padding = n:attr("padding_mode", "zeros"),
      align_corners = n:flag "align_corners" })
  end

  -- ---- layers with a state -------------------------------------------------
  function of.CausalConvWithState(n)
    local x, w = n:x(1), n:x(2)
    local k = w.shape[3]
    local act = n:attr("activation", "none")
    return ops.causal_conv1d(x, reshaped(w, { w.shape[1], k }), {
      bias = n:x(3), past = k > 1 and n:x(4) or nil,
      act = act ~= "none" and "silu" or nil })
  end
  function of.LinearAttention(n)
    local h, groups = n:attr "q_num_heads", n:attr "kv_num_heads"
    local function in_heads(x, heads)
      local s = x.shape
      local split = reshaped(x, { s[1], s[2], heads, s[3] // heads })
      return ops.transpose(split, { perm = { 0, 2, 1, 3 } })
    end
    local beta, scale = n:x(6), n:attr("scale", 0.0)
    local Y, present = ops.linear_attention(
      in_heads(n:x(1), h), in_heads(n:x(2), groups), in_heads(n:x(3), groups), {
        past = n:x(4), decay = n:has(5) and in_heads(n:x(5), groups) or nil,
        beta = beta and ops.transpose(beta, { perm = { 0, 2, 1 } }) or nil,
        scale = scale ~= 0 and scale or nil })
    local s = Y.shape
    Y = reshaped(ops.transpose(Y, { perm = { 0, 2, 1, 3 } }),
                 { s[1], s[3], s[2] * s[4] })
    return Y, present
  end

  -- ---- normalization -------------------------------------------------------
  function of.BatchNormalization(n)
    if n:flag "training_mode" then
      return ops.batch_norm_training(n:x(1), n:x(2), n:x(3), n:x(4), n:x(5),
        { eps = n:attr("epsilon", 1e-5), momentum = n:attr("momentum", 0.9) })
    end
    return ops.batch_norm(n:x(1), n:x(2), n:x(3), n:x(4), n:x(5),
                          { eps = n:attr("epsilon", 1e-5) })
  end
  function of.LayerNormalization(n)
    return ops.layer_norm(n:x(1), n:x(2), n:x(3), {
      axis = n:attr("axis", -1), eps = n:attr("epsilon", 1e-5),
      statistics = n.case.outputs[2] and true or nil })
  end
  function of.RMSNormalization(n)
    return ops.rms_norm(n:x(1), n:x(2), { axis = n:attr("axis", -1),
                                          eps = n:attr("epsilon", 1e-5) })
  end
  function of.GroupNormalization(n)
    return ops.group_norm(n:x(1), n:x(2), n:x(3), {
      groups = n:attr "num_groups", eps = n:attr("epsilon", 1e-5) })
  end
  function of.InstanceNormalization(n)
    return ops.group_norm(n:x(1), n:x(2), n:x(3), {
      groups = n:shape(1)[2], eps = n:attr("epsilon", 1e-5) })
  end
  function of.LRN(n)
    return ops.lrn(n:x(1), { size = n:attr "size",
                             alpha = n:attr("alpha", 1e-4),
                             beta = n:attr("beta", 0.75),
                             bias = n:attr("bias", 1.0) })
  end

  -- ---- resizing ------------------------------------------------------------
  function of.Resize(n)
    local modes = { nearest = "nearest", linear = "linear", cubic = "cubic" }
    local scales, sizes = n:values(3), n:values(4)
    local rank = n:rank(1)
    local axes = n:attr "axes"
    local all, s, to = {}, {}, n.case.outputs[1].shape
    for d = 1, rank do s[d] = 1.0 end
    for i = 1, #(scales or sizes) do
      local d = (axes and axes[i] or i - 1) % rank + 1
      s[d] = scales and scales[i] or to[d] / n:shape(1)[d]
      all[#all + 1] = d
    end
    local policy = n:attr("keep_aspect_ratio_policy", "stretch")
    if sizes and policy ~= "stretch" then
      local best
      local choose = policy == "not_larger" and math.min or math.max
      for i, d in ipairs(all) do
        local r = sizes[i] / n:shape(1)[d]
        best = best and choose(best, r) or r
      end
      for _, d in ipairs(all) do s[d] = best end
    end
    local o = { to = to, scales = s,
                mode = modes[n:attr("mode", "nearest")],
                coordinates = n:attr("coordinate_transformation_mode",
                                     "half_pixel"),
                nearest = n:attr("nearest_mode", "round_prefer_floor"),
                cubic = n:attr("cubic_coeff_a", -0.75),
                exclude_outside = n:flag "exclude_outside",
                antialias = n:flag "antialias",
                outside = n:attr("extrapolation_value", 0.0) }
    local roi = n:has(2) and n:values(2)
    if o.coordinates == "tf_crop_and_resize" then
      o.crop = {}
      for d = 1, 2 * rank do o.crop[d] = d <= rank and 0.0 or 1.0 end
      for i, d in ipairs(#all > 0 and all or { 1 }) do
        o.crop[d], o.crop[d + rank] = roi[i], roi[i + #all]
      end
    end
    return ops.resize(n:x(1), o)
  end
  function of.Upsample(n)
    local scales = n:values(2) or n:attr "scales"
    return ops.resize(n:x(1), { to = n.case.outputs[1].shape, scales = scales,
      mode = n:attr("mode", "nearest"), coordinates = "asymmetric",
      nearest = "floor" })
  end

  -- ---- attention -----------------------------------------------------------
  function of.Attention(n)
    return require("onnx_nodes.attention")(n)
  end
  function of.RotaryEmbedding(n)
    local x, rank = n:x(1), n:rank(1)
    local heads, shape = n:attr("num_heads", 0), n:shape(1)
    local o = { interleaved = n:flag "interleaved",
                dim = n:attr("rotary_embedding_dim", 0),
                I = n:x(4) }
    if o.dim == 0 then o.dim = nil end
    if rank == 4 then return ops.rotary_embedding(x, n:x(2), n:x(3), o) end
    local d = shape[3] // heads
    local split = reshaped(x, { shape[1], shape[2], heads, d })
    local y = ops.rotary_embedding(ops.transpose(split,
                { perm = { 0, 2, 1, 3 } }), n:x(2), n:x(3), o)
    return reshaped(ops.transpose(y, { perm = { 0, 2, 1, 3 } }), shape)
  end
  function of.SwiGLU(n)
    return ops.swiglu(n:x(1), n:x(2), { alpha = n:attr("alpha") })
  end
  of.LSTM, of.GRU, of.RNN = recurrent "lstm", recurrent "gru", recurrent "rnn"

  -- ---- quantized -----------------------------------------------------------
  function of.QuantizeLinear(n)
    local to = n:out_dtype()
    local o = quantized(n, n:shape(2))
    o.to, o.bits = to, n.case.outputs[1].bits
    local scale = one(n:x(2))
    local zero = n:has(3) and one(n:x(3)) or zero_of(to, scale.shape)
    return ops.quantize(n:x(1), scale, zero, o)
  end
  function of.DequantizeLinear(n)
    local o = quantized(n, n:shape(2))
    local scale = one(n:x(2))
    local zero = n:has(3) and one(n:x(3)) or zero_of(n:dtype(1), scale.shape)
    return ops.dequantize(n:x(1), scale, zero, o)
  end
  function of.DynamicQuantizeLinear(n) return ops.dynamic_quantize(n:x(1)) end
  function of.MatMulInteger(n)
    return ops.matmul_integer(n:x(1), n:x(2), { a_zero = n:x(3),
                                                b_zero = n:x(4) })
  end
  function of.QLinearMatMul(n)
    local one_each = {}
    for i, at in ipairs { 2, 3, 5, 6, 7, 8 } do one_each[i] = one(n:x(at)) end
    return ops.qlinear_matmul(n:x(1), one_each[1], one_each[2], n:x(4),
                              table.unpack(one_each, 3))
  end
  function of.ConvInteger(n)
    local x, w = n:x(1), n:x(2)
    local _, o = conv(n, x, w)
    o.x_zero, o.w_zero = n:has(3) and one(n:x(3)) or nil,
                         n:has(4) and one(n:x(4)) or nil
    return ops.conv_integer(x, w, o)
  end
  function of.QLinearConv(n)
    local x, w = n:x(1), n:x(4)
    local _, o = conv(n, x, w, n:x(9))
    return ops.qlinear_conv(x, one(n:x(2)), one(n:x(3)), w, one(n:x(5)),
                            one(n:x(6)), one(n:x(7)), one(n:x(8)), o)
  end
end
