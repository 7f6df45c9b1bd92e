-- SPDX-License-Identifier: Apache-2.0
-- Small calls of every operator: its name, options, and what fills its inputs
-- where that is not small integers; of other tolerance where one is given.
-- tests/lua/ops.lua compares each with plain loops, tests/lua/ops_random.lua
-- schedules it at random.
local ts = require "tessera"

-- ---- what fills inputs -----------------------------------------------------

-- A tensor whose elements f gives, of their indices.
local function filled(x, f)
  local t, at = ts.tensor(x.dtype, x.shape), {}
  local function walk(d)
    if d > #x.shape then
      at[d] = f(table.unpack(at, 1, d - 1))
      t:set(table.unpack(at, 1, d))
      return
    end
    for i = 0, x.shape[d] - 1 do
      at[d] = i
      walk(d + 1)
    end
  end
  walk(1)
  return t
end

local function random(x, seed)
  return ts.tensor(x.dtype, x.shape, "random", seed)
end

-- Fractions of either sign, up to `most`.
local function signed(most)
  return function(x, seed)
    local r, i = random(x, seed), -1
    local flat = {}
    local function walk(at, d)
      if d > #x.shape then
        flat[#flat + 1] = (r:get(table.unpack(at)) - 0.5) * 2 * most
        return
      end
      for k = 0, x.shape[d] - 1 do
        at[d] = k
        walk(at, d + 1)
      end
    end
    walk({}, 1)
    return filled(x, function() i = i + 1 return flat[i + 1] end)
  end
end

local function positive(x, seed)
  local r = random(x, seed)
  return filled(x, function(...) return r:get(...) + 0.25 end)
end

-- These values over and over, from another one on for each input.
local function cycle(values)
  return function(x, seed)
    local i = 3 * seed
    return filled(x, function()
      i = i + 1
      return values[i % #values + 1]
    end)
  end
end

-- Dominated by its diagonal, and symmetric.
local function definite(x)
  return filled(x, function(i, j)
    return i == j and x.shape[1] + 1 or 1 / (2 + (i + j) % 5)
  end)
end

local everywhere = signed(3)
local fractions = { [everywhere] = true, [positive] = true } -- of floats only
local bits = cycle { 0, 1, -1, 5, -7, 100, 64, -128, 127 }
local unsigned = cycle { 0, 1, 255, 5, 7, 100, 64, 128, 127 }
local amounts = cycle { 0, 1, 7, 8, -1, 3, 31, 32, 5 }
local special = cycle { 0, 1, -1.5, 0 / 0, math.huge, -math.huge, 2.5 }
local halves = cycle { 0, 0.5, -0.5, 1.5, 2.5, -2.5, -0.75, 1e10 }

-- ---- the rows --------------------------------------------------------------

local rows = {}
local function add(name, options, fill, tolerance)
  rows[#rows + 1] = { name = name, options = options, fill = fill,
                      tolerance = tolerance }
end

-- The same operator with several options, each over those in common.
local function each(name, common, list, fill, tolerance)
  for _, more in ipairs(list) do
    local o = {}
    for k, v in pairs(common) do o[k] = v end
    for k, v in pairs(more) do o[k] = v end
    add(name, o, fill, tolerance)
  end
end

-- Products
each("matmul", { m = 5, n = 3, k = 7 }, {
  {}, { m = 1, n = 1, k = 1 }, { m = 16, n = 8, k = 16 }, { trans_a = true },
  { trans_b = true }, { trans_a = true, trans_b = true, dtype = "float64" },
  { bias = true, relu = true }, { dtype = "int8", acc = "int32" },
  { dtype = "uint8", acc = "int32", relu = true, out = "uint8" },
  { dtype = "float16", acc = "float32" },
  { dtype = "bfloat16", acc = "float32", out = "bfloat16" },
  { dtype = "float16" }, { bias = true, act = "tanh" },
  { act = "sigmoid", m = 1 }, { batch = { 2, 3 } },
  { batch = { 2, 1 }, batch_b = { 3 }, trans_b = true, bias = true },
  { batch = { 2 }, batch_b = {}, trans_a = true },
})
each("dense", { m = 3, n = 5, k = 4 }, {
  {}, { m = 1, n = 1, k = 1 }, { bias = false }, { act = "relu" },
  { act = "gelu" }, { act = "silu" }, { act = "gelu_tanh" },
  { dtype = "int8", acc = "int32" },
  { dtype = "bfloat16", acc = "float32", act = "gelu" },
})
each("gemm", { m = 3, n = 5, k = 4 }, {
  {}, { m = 1, n = 1, k = 1 }, { alpha = 0.5, beta = 2, trans_b = true },
  { trans_a = true, dtype = "float64" }, { c_shape = { 5 } },
  { c_shape = { 3, 1 }, beta = 2 }, { c_shape = {} }, { add = false },
  { dtype = "int32", alpha = 2, beta = 3 },
})
each("batch_matmul", { b = 2, m = 3, n = 5, k = 4 }, {
  {}, { b = 1, m = 1, n = 1, k = 1 }, { trans_b = true, bias = true },
  { trans_a = true, act = "relu" }, { dtype = "int8", acc = "int32" },
})
each("transpose_batch_matmul", { b = 2, seq = 3, heads = 2, dim = 5 },
     { {}, { b = 1, seq = 1, heads = 1, dim = 1 } })

-- Convolutions
local epilogues = { bias = true, bn = true, act = "relu" }
local function convolutions(name, common)
  each(name, common, {
    {}, { k = 1 }, { pad = 1 }, { stride = 2, pad = 1 },
    { dilation = 2, pad = 2 }, { groups = 2 }, epilogues,
    { dtype = "int8", acc = "int32" }, { n = 1, ci = 1, co = 1, k = 1 },
  })
end
convolutions("conv1d_nlc", { n = 2, w = 7, ci = 4, co = 2, k = 3 })
convolutions("conv1d_ncl", { n = 2, w = 7, ci = 4, co = 2, k = 3 })
convolutions("conv2d_nhwc", { n = 2, h = 6, w = 5, ci = 2, co = 4, k = 3 })
convolutions("conv2d_nchw", { n = 2, h = 6, w = 5, ci = 2, co = 4, k = 3 })
each("conv2d_nhwc", { n = 1, h = 6, w = 5, ci = 2, co = 3 }, {
  { k = { 3, 1 }, stride = { 1, 2 } }, { k = 2, pad = { 0, 1 } },
  { k = 3, pad = { 1, 0, 2, 1 }, dilation = { 1, 2 } },
  { k = 2, dtype = "float16", acc = "float32", bias = true, act = "silu" },
})
convolutions("conv3d_ndhwc", { n = 1, d = 3, h = 4, w = 3, ci = 2, co = 2,
                               k = { 2, 3, 2 } })
convolutions("conv3d_ncdhw", { n = 1, d = 3, h = 4, w = 3, ci = 2, co = 2,
                               k = { 2, 3, 2 } })
each("conv2d_nchwc", { n = 1, h = 5, w = 4, ci = 4, co = 6, k = 3 }, {
  { in_block = 2, out_block = 3 }, { in_block = 4, out_block = 2, pad = 1 },
  { stride = 2, bias = true, act = "relu", in_block = 2, out_block = 6 },
  { k = 1 }, { dtype = "int8", acc = "int32", in_block = 4, out_block = 2 },
})
each("depthwise_conv2d_nhwc", { n = 2, h = 5, w = 6, c = 3, k = 3 }, {
  {}, { pad = 1, stride = 2 }, { c = 1, k = 1 }, { dilation = 2, pad = 2 },
  epilogues,
})
each("depthwise_conv2d_nchwc", { n = 2, h = 5, w = 6, c = 6, k = 3 }, {
  {}, { block = 3, pad = 1, stride = { 2, 1 } }, { c = 1, k = 1 },
  { block = 2, dilation = 2, pad = 2, bias = true, act = "relu" },
})
for _, layout in ipairs { "nhwc", "nchw" } do
  each("conv2d_transpose_" .. layout,
       { n = 2, h = 3, w = 2, ci = 2, co = 3, k = 4 }, {
    {}, { stride = 2, pad = 1 }, { k = 1, ci = 1, co = 1 },
    { stride = { 2, 3 }, k = { 3, 2 }, out_pad = { 1, 0 } },
    { bias = true, act = "relu", stride = 2 },
    { groups = 2, ci = 4, co = 6, k = 3 },
    { dilation = 2, stride = { 2, 3 }, k = 3, pad = { 1, 0, 2, 1 } },
    { pad = 2, k = 2, stride = 3 },
  })
  each("conv2d_winograd_" .. layout, { n = 2, h = 8, w = 7, ci = 2, co = 3 }, {
    {}, { tile = 2 }, { pad = 1 }, { n = 1, h = 3, w = 3, ci = 1, co = 1 },
    { dtype = "float64", tile = 2, pad = 1 },
  }, "winograd", 1e-4)
end
for _, layout in ipairs { "1d_transpose_nlc", "1d_transpose_ncl",
                          "3d_transpose_ndhwc", "3d_transpose_ncdhw" } do
  local o = { n = 1, ci = 2, co = 4, w = 4 }
  if layout:find "^3" then o.d, o.h, o.w = 2, 3, 2 end
  each("conv" .. layout, o, {
    { k = 2 }, { k = 3, stride = 2, pad = 1, out_pad = 1, bias = true },
    { k = 2, groups = 2, dilation = 2, act = "relu" },
  })
end
each("winograd_weight", { ci = 2, co = 3 },
     { {}, { tile = 2 }, { layout = "NCHW" } })
each("capsule_conv2d_nhwc", { n = 1, h = 4, w = 3, ci = 2, co = 3, k = 3 }, {
  { capsule = 2 }, { pad = 1, stride = 2 }, { k = 1, capsule = 1 },
})

-- Attention
each("attention", { b = 2, h = 2, m = 3, n = 5, d = 4 }, {
  {}, { online = true }, { mask = true }, { mask = true, online = true },
  { causal = true, dv = 3 }, { causal = true, online = true, dv = 3 },
  { b = 1, h = 1, m = 1, n = 1, d = 1 },
  { b = 1, h = 1, m = 1, n = 1, d = 1, online = true, scale = 2 },
  { dtype = "float64", online = true },
}, everywhere)

-- Normalisation
each("layer_norm", { shape = { 3, 5 } }, {
  {}, { shape = { 2, 3, 4 }, axis = 1 }, { shape = { 1, 1 } },
  { weight = false }, { bias = false, eps = 0.5 }, { shape = { 7 }, axis = 0 },
  { dtype = "float64" },
}, everywhere)
each("rms_norm", { shape = { 3, 5 } }, {
  {}, { shape = { 2, 3, 4 }, axis = -2 }, { shape = { 1, 1 } },
  { weight = false },
}, everywhere)
each("batch_norm", { shape = { 2, 3, 5 } }, {
  {}, { layout = "channels_last" }, { shape = { 1, 1 } }, { eps = 0.5 },
}, positive)
each("group_norm", { n = 2, c = 4, l = 3 },
     { {}, { groups = 2 }, { groups = 4 }, { n = 1, c = 1, l = 2 } },
     everywhere)
for _, name in ipairs { "softmax", "log_softmax" } do
  each(name, { shape = { 3, 5 } }, {
    {}, { axis = 0 }, { shape = { 2, 3, 4 }, axis = 1 }, { shape = { 1, 1 } },
    { online = true }, { online = true, axis = 0, dtype = "float64" },
  }, everywhere)
end
each("norm", { m = 3, n = 5 }, { {}, { b = 2 }, { m = 1, n = 1 } })

-- Pooling and resizing
for _, name in ipairs { "max_pool2d", "avg_pool2d" } do
  each(name, { n = 2, c = 3, h = 6, w = 5, k = 3 }, {
    {}, { stride = 2, pad = 1 }, { layout = "NHWC" }, { k = 1 },
    { k = { 2, 3 }, pad = { 1, 1 }, stride = { 1, 2 }, layout = "NHWC" },
    { dilation = 2, pad = 1 },
  })
end
add("max_pool2d", { n = 1, c = 2, h = 4, w = 4, k = 2, pad = 1,
                    dtype = "int8" })
add("max_pool2d", { n = 1, c = 2, h = 4, w = 4, k = 2, pad = 1,
                    dtype = "uint8" }, unsigned)
add("avg_pool2d", { n = 1, c = 2, h = 4, w = 4, k = 3, pad = 1,
                    count_include_pad = true })
each("global_pool2d", { n = 2, c = 3, h = 4, w = 5 },
     { {}, { op = "max" }, { layout = "NHWC" }, { h = 1, w = 1 } })
for _, name in ipairs { "max_pool", "avg_pool" } do
  each(name .. "1d", { n = 2, c = 3, w = 7, k = 3 }, {
    {}, { stride = 2, pad = 1 }, { layout = "NLC", dilation = 2 },
    { n = 1, c = 1, w = 1, k = 1 },
  })
  each(name .. "3d", { n = 1, c = 2, d = 3, h = 4, w = 5, k = 2 }, {
    {}, { stride = { 1, 2, 1 }, pad = { 0, 1, 1 } }, { layout = "NDHWC" },
    { n = 1, c = 1, d = 1, h = 1, w = 1, k = 1 },
  })
end
for _, case in ipairs { { 1, "NLC" }, { 3, "NDHWC" } } do
  local rank, layout = table.unpack(case)
  each(("global_pool%dd"):format(rank),
       { n = 2, c = 3, w = 5, h = rank == 3 and 2 or nil,
         d = rank == 3 and 4 or nil },
       { {}, { op = "max", layout = layout } })
end
for _, mode in ipairs { "nearest", "bilinear" } do
  each("resize2d", { n = 1, c = 2, h = 4, w = 3, mode = mode }, {
    { oh = 7, ow = 6 }, { oh = 2, ow = 2 }, { oh = 1, ow = 1 },
    { oh = 7, ow = 5, coordinates = "align_corners" },
    { oh = 1, ow = 3, coordinates = "align_corners" },
    { oh = 9, ow = 2, coordinates = "asymmetric", layout = "NHWC" },
  })
end

-- Reductions
for _, op in ipairs { "sum", "mean", "prod", "max", "min", "l1", "l2",
                      "sum_square", "log_sum", "log_sum_exp" } do
  local fill = (op == "prod" or op:find "log") and positive or nil
  each("reduce", { op = op, shape = { 3, 4, 2 } }, {
    {}, { axes = { 1 } }, { axes = { 0, -1 }, keep = true },
    { shape = { 1 } },
  }, fill)
end
for _, op in ipairs { "sum", "prod", "max", "min", "l1", "sum_square" } do
  add("reduce", { op = op, shape = { 3, 4 }, axes = { 1 }, dtype = "int32" })
end
for _, name in ipairs { "arg_max", "arg_min" } do
  each(name, { shape = { 3, 7 } }, {
    {}, { last = true }, { axis = 0, keep = true }, { shape = { 1 } },
    { shape = { 2, 3, 4 }, axis = 1, dtype = "int8" },
  })
end
each("cumsum", { shape = { 3, 5 } }, {
  {}, { axis = 0 }, { exclusive = true }, { reverse = true },
  { exclusive = true, reverse = true, axis = 0, dtype = "int32" },
  { shape = { 1 } },
})

-- Moving
each("transpose", { shape = { 2, 3, 4 } }, {
  {}, { perm = { 1, 0, 2 } }, { perm = { 2, 0, 1 }, dtype = "int8" },
  { shape = { 1 } },
})
each("reshape", { shape = { 4, 6 } }, {
  { to = { 24 } }, { to = { 2, 3, 4 } }, { to = { 8, 3 }, dtype = "bool" },
  { shape = { 1 }, to = { 1, 1, 1 } },
})
each("broadcast", { shape = { 3, 1 } }, {
  { to = { 3, 4 } }, { to = { 2, 3, 1 } }, { to = { 3, 1 } },
  { shape = { 1 }, to = { 1 } },
})
each("slice", { shape = { 5, 6 } }, {
  { begin = { 1, 0 } }, { begin = { 0, 1 }, stop = { 4, 6 }, step = { 2, 3 } },
  { begin = { 4, 5 }, stop = { -1, 1 }, step = { -1, -2 } },
  { begin = { 4, 5 } },
})
each("split", { shape = { 3, 6 } }, {
  { sizes = { 1, 2, 3 } }, { axis = 0, sizes = { 2, 1 } },
  { sizes = { 6 } },
})
each("concat", { shape = { 3, 1 } }, {
  { sizes = { 1, 2, 3 } }, { axis = 0, sizes = { 2, 1 }, dtype = "int16" },
  { sizes = { 1 } },
})
each("pad", { shape = { 3, 4 }, before = { 1, 2 } }, {
  {}, { after = { 0, 1 }, value = 1.5 }, { mode = "edge" },
  { mode = "reflect" }, { before = { 0, 0 } },
  { dtype = "int8", value = -3 }, { dtype = "bool", value = 1 },
})
each("tile", { shape = { 2, 3 }, times = { 2, 1 } },
     { {}, { times = { 3, 2 }, dtype = "bool" }, { times = { 1, 1 } } })
each("trilu", { shape = { 4, 3 } }, {
  {}, { upper = true }, { k = 1 }, { k = -1, upper = true, dtype = "int8" },
  { shape = { 2, 1, 1 } }, { k = -9 }, { shape = { 3, 3 }, dtype = "bool" },
})
each("depth_to_space", { n = 2, c = 8, h = 2, w = 3, block = 2 }, {
  {}, { mode = "CRD" }, { block = 1 },
  { n = 1, c = 9, h = 1, w = 1, block = 3, dtype = "int8" },
})
each("space_to_depth", { n = 2, c = 3, h = 4, w = 6, block = 2 }, {
  {}, { block = 1 }, { n = 1, c = 1, h = 3, w = 3, block = 3, dtype = "int8" },
})
local indices = cycle { 0, 2, -1, 1, -2, 9, 0 }
each("gather", { shape = { 4, 3 }, indices = { 5 } }, {
  {}, { axis = 1 }, { indices = { 2, 3 }, dtype = "int8" },
  { shape = { 1 }, indices = { 1 } },
  { shape = { 2, 3, 4 }, axis = -2, indices = { 2, 2 } },
}, { I = indices })
each("gather_elements", { shape = { 4, 3 }, indices = { 5, 2 } }, {
  {}, { axis = -1, indices = { 4, 7 }, dtype = "int8" },
  { shape = { 1 }, indices = { 1 } },
}, { I = indices })
each("scatter_add", { shape = { 3, 4 }, n = 5 }, {
  {}, { shape = { 4 }, dtype = "int32" }, { shape = { 1, 1 }, n = 1 },
}, { I = indices })
each("where", { shape = { 3, 4 } }, {
  {}, { c_shape = { 4 }, z_shape = { 1 } },
  { x_shape = { 3, 1 }, dtype = "int8" }, { shape = { 1 } },
}, { C = cycle { 1, 0, 0, 1, 1 } })
each("one_hot", { shape = { 5 }, depth = 3 }, {
  {}, { on = 5, off = -1, dtype = "int32" }, { shape = { 2, 3 } },
  { shape = { 1 }, depth = 1 },
}, { I = indices })

-- Quantization
local scales, zeros = cycle { 0.5, 2, 0.25 }, cycle { 3, 0, 7 }
each("quantize", { shape = { 3, 5 } }, {
  {}, { axis = 1 }, { axis = -2, to = "uint8", dtype = "float64" },
  { to = "uint16", dtype = "float16" }, { to = "int16", shape = { 1 } },
}, { X = cycle { 0, 0.25, 0.75, -1, 9, 500, -500, 60000, -2.5 },
     scale = scales, zero = zeros })
each("dequantize", { shape = { 3, 5 } }, {
  {}, { axis = 1 }, { axis = -2, from = "uint8", dtype = "float64" },
  { from = "int16", dtype = "bfloat16" }, { from = "uint16", shape = { 1 } },
}, { scale = scales, zero = zeros })

-- Stencils
for rank = 2, 3 do
  each(("jacobi_%dd"):format(rank),
       { n = 5, m = 4, l = rank == 3 and 6 or nil },
       { {}, { steps = 3 }, { dtype = "float64" } })
  each(("heat_%dd"):format(rank),
       { n = 5, m = 4, l = rank == 3 and 3 or nil },
       { {}, { steps = 2, alpha = 0.25 }, { n = 1, m = 1 } })
end

-- Linear algebra
for _, name in ipairs { "lu", "cholesky" } do
  each(name, { n = 7 }, { {}, { n = 1 }, { n = 16, dtype = "float64" } },
       definite)
end
each("triangular_solve", { n = 5, m = 3 }, {
  {}, { upper = true }, { unit = true }, { n = 1, m = 1 },
  { upper = true, unit = true, dtype = "float64" },
}, { A = definite })
each("spmv", { m = 5, n = 4, nnz = 8 }, { {}, { dtype = "int32" } },
     { C = cycle { 0, 2, 1, 3 }, R = function(x)
  local ends = { 0, 3, 3, 4, 7, 8 }
  return filled(x, function(i) return ends[i + 1] end)
end })
add("spmv", { m = 1, n = 1, nnz = 1 }, { C = cycle { 0 }, R = function(x)
  return filled(x, function(i) return i end)
end })
each("fft", { n = 8 }, { {}, { n = 2 }, { b = 3, n = 16, inverse = true },
                         { n = 32, dtype = "float64" } }, nil, 1e-5)

-- Elementwise
local function unary(names, fill, more)
  for name in names:gmatch "%S+" do
    each(name, { shape = { 3, 7 } }, more or
         { {}, { shape = { 1 } }, { dtype = "float64" },
           { dtype = "bfloat16" } }, fill)
  end
end
unary("exp expm1 sin cos tanh sigmoid erf erfc gelu gelu_tanh silu softplus " ..
      "mish atan asinh " ..
      "hard_sigmoid hard_swish leaky_relu elu selu celu softsign sinh cosh " ..
      "thresholded_relu shrink", everywhere)
unary("sqrt rsqrt log reciprocal", positive)
unary("tan asin acos atanh log1p", signed(0.9))
unary("acosh", cycle { 1, 1.25, 2, 7, 100, 1e6 })
unary("floor ceil round", halves)
unary("is_nan is_inf", special)
unary("abs neg sign square relu", nil,
      { {}, { shape = { 1 } }, { dtype = "int32" }, { dtype = "float16" } })
unary("clamp", nil, { {}, { low = -2, high = 3, dtype = "int8" },
                      { low = -0.5, high = 0.25 } })
unary("sign", unsigned, { { dtype = "uint8" } })
unary("leaky_relu elu celu thresholded_relu", everywhere, { { alpha = 0.5 } })
unary("hard_sigmoid", everywhere, { { alpha = 0.2, beta = 0.25 } })
unary("shrink", everywhere, { { lambda = 1.5, bias = 1 } })
unary("bit_not", bits, { { dtype = "int8" }, { dtype = "int64" },
                         { shape = { 1 } } })
unary("bit_not", unsigned, { { dtype = "uint8" } })
unary("logical_not", nil, { {}, { shape = { 1 } } })
unary("cast", cycle { 0, 1.75, -1.75, 300, -300, 0.25 },
      { { to = "int8" }, { to = "uint8" }, { to = "bool" },
        { dtype = "float64" }, { to = "int64" } })

local function binary(names, fill, more)
  for name in names:gmatch "%S+" do
    each(name, { shape = { 3, 5 } }, more or
         { {}, { z_shape = { 5 } }, { shape = { 1 } },
           { shape = { 3, 1 }, z_shape = { 1, 5 } }, { dtype = "int32" } },
         fill)
  end
end
local of_floats = { {}, { z_shape = { 5 } }, { shape = { 2, 1, 3 },
                    z_shape = { 4, 1 } }, { dtype = "float64" } }
binary("add sub mul floor_div mod fmod minimum maximum",
       cycle { 3, -7, 2, 5, -4 })
binary("floor_div mod fmod", cycle { 3, 0, -7, 2, 0, -128 },
       { { dtype = "int32" }, { dtype = "int8" } })
binary("fmod", cycle { 3, 0, 7, 2, 255 }, { { dtype = "uint8" } })
binary("fmod", signed(5), { {}, { dtype = "float64" } })
binary("equal not_equal less less_equal greater greater_equal")
binary("div", positive, of_floats)
binary("pow", positive, of_floats)
binary("prelu", everywhere, of_floats)
binary("logical_and logical_or logical_xor", nil,
       { {}, { z_shape = { 1 } }, { shape = { 1 } } })
local words = { { dtype = "int8" }, { dtype = "int32", z_shape = { 5 } },
                { dtype = "int64" }, { shape = { 1 } } }
binary("bit_and bit_or bit_xor", bits, words)
binary("bit_and bit_or bit_xor", unsigned, { { dtype = "uint8" } })
binary("shift_left shift_right", { X = bits, Z = amounts }, words)
binary("shift_right shift_left",
       { X = unsigned, Z = cycle { 0, 7, 8, 200, 1 } }, { { dtype = "uint8" } })

-- What has no plain loops in tests/naive.
local first_alone = #rows + 1
dofile((debug.getinfo(1, "S").source:sub(2):gsub("[^/]*$", "")) ..
       "op_rows_alone.lua")(each, {
  everywhere = everywhere, positive = positive, signed = signed,
  cycle = cycle, special = special, bits = bits })
for i = first_alone, #rows do rows[i].alone = true end

-- ---- arguments -------------------------------------------------------------

local op_rows = { rows = rows }

-- Tensors for the parameters of a row's program, its inputs filled.
function op_rows.arguments(row, program)
  local args = {}
  for i, x in ipairs(program:params()) do
    local fill = row.fill
    if type(fill) == "table" then fill = fill[x.name] end
    if x.role == "output" then
      args[i] = ts.tensor(x.dtype, x.shape)
    elseif type(fill) == "function" and
           (not fractions[fill] or x.dtype:find "float") then
      args[i] = fill(x, i)
    else
      args[i] = ts.tensor(x.dtype, x.shape,
                          x.dtype == "bool" and "random" or "integers", i)
    end
  end
  return args
end

-- "matmul { k = 7, m = 5, n = 3 }".
local function literal(v)
  if type(v) ~= "table" then
    return type(v) == "string" and ("%q"):format(v) or tostring(v)
  end
  local parts = {}
  for i, e in ipairs(v) do parts[i] = literal(e) end
  return "{ " .. table.concat(parts, ", ") .. " }"
end
function op_rows.told(row)
  local parts = {}
  for k, v in pairs(row.options) do
    parts[#parts + 1] = k .. " = " .. literal(v)
  end
  table.sort(parts)
  return ("%s { %s }"):format(row.name, table.concat(parts, ", "))
end

return op_rows
