-- SPDX-License-Identifier: Apache-2.0
-- Small calls of operators that have no plain loops in tests/naive: kernels are
-- compared with the interpreter, and that with ONNX's own cases
-- (tests/lua/onnx_nodes.lua).  `alone` is op_rows.lua's `each`.
return function(alone, fills)
local everywhere, positive = fills.everywhere, fills.positive
local signed, cycle = fills.signed, fills.cycle
local special, bits = fills.special, fills.bits
local bytes = cycle { 0, 1, 255, 18, 254, 7 }

alone("attention", { b = 2, h = 4, m = 3, n = 5, d = 4 }, {
  { kv_heads = 2, softcap = 2, causal = true, offset = 0 },
  { mask = true, mask_shape = { 2, 1, 1, 5 }, left = 1, right = 2 },
  { mask = true, mask_dtype = "bool", zero_masked = true, online = true },
  { lengths = true, causal = true, zero_masked = true },
  { past = true, past_n = 2, kv_heads = 1, causal = true,
    scores = "weights" },
  { scores = "masked", causal = true, dtype = "float16", kv_heads = 2 },
  { online = true, kv_heads = 2, past = true, past_n = 3, dv = 2 },
}, everywhere)
alone("swish", { shape = { 3, 4 } }, { {}, { alpha = 2 } }, everywhere)
alone("swiglu", { shape = { 3, 4 } }, { {}, { dtype = "float16" } }, everywhere)
alone("rotary_embedding", { b = 2, h = 2, s = 3, d = 6 }, {
  {}, { interleaved = true }, { dim = 4, ids = true, positions = 5 },
}, everywhere)
alone("matmul_integer", { m = 3, n = 4, k = 5 }, {
  {}, { a_zero = true, b_zero = true, columns = { 4 } },
  { batch = { 2 }, a_type = "int8" },
})
alone("qlinear_matmul", { m = 3, n = 4, k = 5 }, {
  {}, { columns = 4, rows = 3, to = "int8" },
  { b_zero = false, batch = { 2 }, batch_b = {} },
}, positive)
alone("dynamic_quantize", { shape = { 3, 4 } }, { {} }, everywhere)
for rank = 1, 3 do
  local o = { n = 1, c = 2, w = 5, h = rank > 1 and 4 or nil,
              d = rank > 2 and 3 or nil, k = 2 }
  alone(("lp_pool%dd"):format(rank), o,
        { {}, { stride = 2, pad = 1, p = 3, ceil = true } }, positive)
  alone(("max_pool%dd"):format(rank), o, { { stride = 3, ceil = true } })
  alone(("avg_pool%dd"):format(rank), o,
        { { stride = 3, ceil = true, pad = 1, count_include_pad = true } })
end
alone("pad", { shape = { 3, 4 }, before = { 1, 5 }, after = { 4, 0 } },
      { { mode = "wrap" } })
alone("cumprod", { shape = { 3, 4 } },
      { {}, { axis = 0, exclusive = true, reverse = true } })
alone("div", { shape = { 4 }, dtype = "int32" }, { {} },
      cycle { -7, 7, 2, -2, 0, 3, -3, 1 })
alone("is_inf", { shape = { 7 }, negative = false }, { {} }, special)
alone("layer_norm", { shape = { 3, 5 }, statistics = true }, {
  {}, { shape = { 2, 3, 4 }, axis = 1, weight = false },
}, everywhere)
alone("group_norm", { n = 2, c = 4, l = { 2, 3 }, groups = 2 }, { {} },
      everywhere)
alone("lrn", { shape = { 2, 5, 3 }, size = 3 }, {
  {}, { size = 4, alpha = 1, beta = 0.5 } }, everywhere)
alone("lp_norm", { shape = { 3, 4 } }, { {}, { p = 1, axis = 0 } }, everywhere)
alone("mean_variance_norm", { shape = { 2, 3, 4 } },
      { {}, { axes = { 0, 2 } } }, everywhere)
alone("hardmax", { shape = { 3, 4 } }, { {}, { axis = 0 } }, everywhere)
alone("batch_norm_training", { shape = { 3, 2, 4 } },
      { {}, { momentum = 0.5, eps = 0.1 } }, positive)
alone("nll_loss", { shape = { 3, 4, 2 } }, {
  {}, { op = "sum", weight = true }, { op = "none", ignore = 1 },
  { ignore = 0, weight = true, index = "int32" },
})
alone("resize", { shape = { 1, 2, 3, 4 }, to = { 1, 2, 5, 7 } }, {
  {}, { mode = "linear" }, { mode = "cubic", coordinates = "align_corners" },
  { mode = "linear", to = { 1, 2, 2, 2 }, antialias = true },
  { mode = "nearest", coordinates = "asymmetric", nearest = "floor" },
  { mode = "cubic", exclude_outside = true, dtype = "float64" },
  { mode = "linear", coordinates = "tf_crop_and_resize", outside = 3,
    crop = { 0, 0, -0.2, 0.3, 1, 1, 0.8, 1.2 } },
  { mode = "linear", dtype = "uint8" },
}, positive)
alone("gather_nd", { shape = { 3, 4, 2 }, indices = { 2, 2 } }, {
  {}, { indices = { 3, 1 }, batch_dims = 1, index = "int64" },
  { indices = { 5, 3 } },
})
alone("scatter_nd", { shape = { 4, 3 }, indices = { 3, 1 } }, {
  {}, { op = "add" }, { indices = { 2, 2 }, op = "max", index = "int64" },
})
alone("scatter_elements", { shape = { 4, 3 }, indices = { 2, 3 } }, {
  {}, { op = "mul" }, { axis = 1, op = "min", index = "int64" },
})
alone("tensor_scatter", { shape = { 2, 5, 3 }, n = 2 }, {
  {}, { circular = true }, { starts = false, axis = 1 },
})
alone("reverse_sequence", { shape = { 4, 3 } }, {
  {}, { time_axis = 1, batch_axis = 0, dtype = "int32" } })
alone("top_k", { shape = { 3, 5 }, k = 2 }, {
  {}, { axis = 0, largest = false, k = 3 }, { dtype = "int32" } })
alone("nonzero", { shape = { 3, 4 } }, { {}, { dtype = "bool" } })
alone("compress", { shape = { 3, 4 }, n = 4 }, { {}, { axis = 0, n = 2 } })
alone("unique", { shape = { 6 } }, {
  {}, { sorted = false }, { shape = { 4, 2 }, axis = 0, dtype = "int32" } })
alone("non_max_suppression", { n = 1, c = 2, m = 5, most = 3, iou = 0.3 }, {
  {}, { center = true, score = 0.5 }, { most = 1, n = 2 } }, positive)
alone("constant_of_shape", { shape = { 2, 3 } }, { {}, { value = 2.5 } })
alone("eye", { m = 3 }, { {}, { n = 5, k = 1, dtype = "int32" }, { k = -9 } })
alone("range", { n = 5 }, { {}, { one = { 1 }, dtype = "int32" } })
alone("cosine_window", { n = 6 }, {
  {}, { periodic = false, coefficients = { 0.42, 0.5, 0.08 } } })
alone("einsum", { equation = "bij,bjk->bik",
                  shapes = { { 2, 3, 4 }, { 2, 4, 5 } } }, {
  {}, { equation = "ii->i", shapes = { { 3, 3 } } },
  { equation = "...ij->...ji", shapes = { { 2, 3, 4 } } },
  { equation = "i,i", shapes = { { 4 }, { 4 } }, dtype = "float16" },
})
for _, name in ipairs { "rnn", "gru", "lstm" } do
  alone(name, { t = 3, b = 2, input = 2, hidden = 3 }, {
    {}, { direction = "reverse", bias = true, clip = 0.5 },
    { direction = "bidirectional", batch_first = true, initial = true },
    { lengths = true, direction = "reverse" },
    { direction = "bidirectional", lengths = true, index = "int64",
      activations = name == "rnn" and { "relu", "tanh" } or nil },
  }, everywhere)
end
alone("gru", { t = 2, b = 2, input = 2, hidden = 3 },
      { { linear_before_reset = true, bias = true } }, everywhere)
alone("lstm", { t = 2, b = 2, input = 2, hidden = 3 },
      { { cell = true, peephole = true, initial = true } }, everywhere)

alone("conv_integer", { n = 1, ci = 2, co = 4, size = { 4, 3 }, k = 2 }, {
  {}, { x_zero = true, w_zero = true, pad = 1, groups = 2 },
  { size = { 5 }, dilation = 2 },
}, { X = bytes, W = bits })
alone("conv_integer", { n = 1, ci = 2, co = 4, size = { 4, 3 }, k = 2 }, {
  { x_zero = true, w_zero = true, zeros = 4, stride = 2, x_type = "int8" },
}, bits)
alone("qlinear_conv", { n = 1, ci = 2, co = 3, size = { 3, 4 }, k = 2 }, {
  {}, { scales = 3, bias = true, pad = { 1, 0, 0, 1 } },
  { x_zero = false, w_zero = false, size = { 6 }, to = "int8", stride = 2 },
}, { x_scale = positive, w_scale = positive, y_scale = positive, X = bytes,
     W = bits })
alone("quantize", { shape = { 3, 5 } }, {
  { axis = 1, block = 2, to = "int16" }, { bits = 4 },
  { bits = 4, to = "uint8", axis = 0, block = 2 }, { dtype = "int32" },
}, { scale = positive, X = everywhere })
alone("dequantize", { shape = { 3, 5 } }, {
  { axis = -1, block = 2 }, { from = "int32" } }, { scale = positive })
alone("unpack_bits", { shape = { 3, 5 } }, {
  {}, { bits = 2, to = "uint8" }, { bits = 1 }, { shape = {} } }, bytes)
alone("pack_bits", { shape = { 3, 5 } }, {
  {}, { bits = 1 }, { shape = {} } }, bits)
alone("pack_bits", { shape = { 3, 5 } }, { { bits = 2, from = "uint8" } },
      bytes)
alone("reduce", { shape = { 3, 4 } }, {
  { axes = {}, op = "l1" }, { axes = {}, op = "log_sum_exp" },
  { op = "max", dtype = "bool", axes = { 1 } },
  { op = "min", dtype = "bool", keep = true },
}, positive)
alone("pow", { shape = { 2, 3 }, dtype = "int32" },
      { {}, { dtype = "uint8" } }, cycle { 2, 3, 0, 1, 5 })
alone("bit_cast", { shape = { 7 } }, {
  {}, { dtype = "int16", to = "float16" }, { dtype = "float64", to = "uint64" },
  { dtype = "bool", to = "uint8" }, { dtype = "int8", to = "bool" },
  { dtype = "bfloat16", to = "uint16" }, { dtype = "int8", to = "uint8" },
})
for rank = 1, 3 do
  alone(("max_pool%dd"):format(rank),
        { n = 1, c = 2, w = 5, h = rank > 1 and 4 or nil,
          d = rank > 2 and 3 or nil, k = 2, indices = true },
        { {}, { stride = 2, pad = 1, column_major = true },
          { dtype = "int8", layout = ({ "NLC", "NHWC", "NDHWC" })[rank] } })
end
alone("max_unpool", { shape = { 1, 2, 3 }, to = { 1, 2, 7 } }, {
  {}, { of = { 1, 2, 6 }, dtype = "int32" } },
  { I = cycle { 0, 3, 1, 5, 12, -1, 99 } })
alone("grid_sample", { n = 1, c = 2, size = { 3, 4 }, out = { 2, 3 } }, {
  {}, { mode = "cubic", padding = "reflection", align_corners = true },
  { mode = "nearest", padding = "border" },
  { mode = "cubic", padding = "border", dtype = "float64" },
  { size = { 5 }, out = { 4 }, padding = "reflection", dtype = "float16" },
  { size = { 2, 3, 2 }, out = { 1, 2, 2 }, align_corners = true },
}, { G = signed(1.5) })
alone("affine_grid", { n = 2, size = { 2, 3 } }, {
  {}, { align_corners = true }, { size = { 1, 2, 3 }, dtype = "float16" } })
alone("roi_align", { n = 2, c = 2, h = 5, w = 4, r = 2, oh = 2, ow = 3 }, {
  {}, { samples = 2, op = "max", half_pixel = false },
  { op = "max", scale = 0.5, index = "int32" },
}, { R = cycle { 0, 0.5, 2.5, 4, 1, -1, 6, 3 }, B = cycle { 0, 1 } })
alone("deform_conv2d", { n = 1, ci = 4, co = 2, h = 4, w = 3, k = 2 }, {
  {}, { bias = true, mask = true, pad = 1, groups = 2 },
  { offset_groups = 2, stride = 2, dtype = "float16" },
}, { D = signed(2) })
alone("col2im", { n = 1, c = 2, to = { 4, 5 }, k = { 2, 3 } }, {
  {}, { stride = { 1, 2 }, pad = 1, dtype = "int32" },
  { to = { 5 }, k = 2, dilation = 2, dtype = "float16" },
})
alone("fft", { n = 6 }, { {}, { n = 15, b = 2 }, { n = 7, inverse = true },
                          { n = 4, dtype = "float16" } })
alone("dft", { shape = { 2, 6, 1 } }, {
  {}, { onesided = true, shape = { 5, 1 } }, { inverse = true, axis = 0 },
  { inverse = true, onesided = true, shape = { 4, 2 } },
  { length = 9, shape = { 6, 2 } }, { length = 3, dtype = "float16" },
  { length = 1 },
})
alone("stft", { b = 2, n = 11, step = 3, length = 6 }, {
  {}, { window = true, onesided = false }, { parts = 2, length = 4 } })
alone("det", { n = 3 }, { {}, { n = 1 }, { batch = { 2, 2 }, n = 4 },
                          { dtype = "float16" } }, everywhere)
alone("causal_conv1d", { b = 2, c = 3, l = 5, k = 3 }, {
  {}, { past = true, bias = true, act = "silu" }, { k = 1 },
  { l = 1, past = true, dtype = "float16" },
}, everywhere)
alone("linear_attention", { b = 2, h = 2, groups = 2, t = 3, d = 2, dv = 3 }, {
  {}, { past = true, decay = true, h = 4 }, { beta = true, betas = 2 },
  { beta = true, decay = true, rates = 2, groups = 1, past = true },
  { dtype = "float16", decay = true, scale = 0.5 },
}, signed(1))
end
