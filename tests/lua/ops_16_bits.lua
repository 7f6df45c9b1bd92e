-- SPDX-License-Identifier: Apache-2.0
-- Operators of floats of 16 bits: sums of 4096 and more are right to the last
-- bits of the type.  What adds up in 16 bits stays at 256 (bfloat16) or 2048
-- (float16), or further off.
local ts = require "tessera"
local ops = require "tessera.ops"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

-- A list of lists of one value, in the shape of a tensor.
local function full(x, d, value)
  if d > #x.shape then return value end
  local list, inner = {}, full(x, d + 1, value)
  for i = 1, x.shape[d] do list[i] = inner end
  return list
end

-- Runs the program on inputs of one value each; all of its arguments.
local function ones(p, fill)
  local args = {}
  for i, x in ipairs(p:params()) do
    local value = fill[x.name] or fill[1]
    args[i] = x.role == "output" and ts.tensor(x.dtype, x.shape) or
              ts.tensor(x.dtype, x.shape, type(value) == "table" and value or
                        full(x, 1, value))
  end
  ts.build(p)(table.unpack(args))
  return args
end

local long = 4096
local rows = {
  -- name, options, what fills inputs, an element of the result, its value
  { "matmul", { m = 1, n = 1, k = long, bias = true }, { 1 }, { 0, 0 },
    long + 1 },
  { "dense", { m = 1, n = 1, k = long }, { 1 }, { 0, 0 }, long + 1 },
  { "gemm", { m = 1, n = 1, k = long }, { 1 }, { 0, 0 }, long + 1 },
  { "batch_matmul", { b = 1, m = 1, n = 1, k = long }, { 1 }, { 0, 0, 0 },
    long },
  { "transpose_batch_matmul", { b = 1, heads = 1, seq = 1, dim = long }, { 1 },
    { 0, 0, 0, 0 }, long },
  { "conv2d_nhwc", { n = 1, h = 1, w = 1, k = 1, ci = long, co = 1,
                     bias = true, act = "relu" }, { 1 }, { 0, 0, 0, 0 },
    long + 1 },
  { "conv2d_nchwc", { n = 1, h = 1, w = 1, k = 1, ci = long, co = 1,
                      bias = true }, { 1 }, { 0, 0, 0, 0, 0 }, long + 1 },
  { "conv2d_transpose_nchw", { n = 1, h = 1, w = 1, k = 1, ci = long, co = 1 },
    { 1 }, { 0, 0, 0, 0 }, long },
  { "depthwise_conv2d_nhwc", { n = 1, h = 64, w = 64, c = 1, k = 64 }, { 1 },
    { 0, 0, 0, 0 }, long },
  { "capsule_conv2d_nhwc", { n = 1, h = 1, w = 1, k = 1, ci = long, co = 1,
                             capsule = 1 }, { 1 }, { 0, 0, 0, 0, 0, 0 }, long },
  { "conv2d_winograd_nhwc", { n = 1, h = 3, w = 3, ci = long, co = 1,
                              tile = 2 }, { 0, U = 1 }, { 0, 0, 0, 0 }, 0 },
  { "spmv", { m = 1, n = 1, nnz = long },
    { 1, C = 0, R = { 0, long } }, { 0 }, long },
  { "layer_norm", { shape = { 1, long } }, { 1 }, { 0, 9 }, 1 },
  { "rms_norm", { shape = { 1, long } }, { 1 }, { 0, 9 }, 1 },
  { "group_norm", { n = 1, c = 2, l = long }, { 1 }, { 0, 0, 0 }, 1 },
  { "batch_norm", { shape = { 1, 1, long } }, { 1, variance = 4 },
    { 0, 0, 0 }, 1 },
  { "norm", { m = 64, n = 64 }, { 1 }, { 0 }, 64 },
  { "softmax", { shape = { long } }, { 1 }, { 9 }, 1 / long },
  { "softmax", { shape = { long }, online = true }, { 1 }, { 9 }, 1 / long },
  { "log_softmax", { shape = { long } }, { 1 }, { 9 }, -math.log(long) },
  { "avg_pool2d", { n = 1, c = 1, h = 64, w = 64, k = 64 }, { 1 },
    { 0, 0, 0, 0 }, 1 },
  { "global_pool2d", { n = 1, c = 1, h = 64, w = 64 }, { 1 }, { 0, 0, 0, 0 },
    1 },
  { "reduce", { op = "sum", shape = { long } }, { 1 }, {}, long },
  { "reduce", { op = "mean", shape = { long } }, { 1 }, {}, 1 },
  { "reduce", { op = "l1", shape = { long } }, { 1 }, {}, long },
  { "reduce", { op = "l2", shape = { long } }, { 1 }, {}, 64 },
  { "reduce", { op = "sum_square", shape = { long } }, { 1 }, {}, long },
  { "reduce", { op = "log_sum", shape = { long } }, { 1 }, {},
    math.log(long) },
  { "reduce", { op = "log_sum_exp", shape = { long } }, { 1 }, {},
    math.log(long) + 1 },
  { "cumsum", { shape = { long } }, { 1 }, { long - 1 }, long },
  { "cumsum", { shape = { long }, exclusive = true, reverse = true }, { 1 },
    { 0 }, long - 1 },
  { "attention", { b = 1, h = 1, m = 1, n = long, d = 1 }, { 1 },
    { 0, 0, 0, 0 }, 1 },
  { "attention", { b = 1, h = 1, m = 1, n = long, d = 1, mask = true,
                   online = true }, { 1 }, { 0, 0, 0, 0 }, 1 },
}
for k, dtype in ipairs { "float16", "bfloat16" } do
  local bits = dtype == "float16" and 2 ^ -10 or 2 ^ -7
  for i = 1, #rows do
    -- Of one type or the other in a checked build.
    if checks.checked and i % 2 ~= k % 2 then goto continue end
    local name, o, fill, at, want = table.unpack(rows[i], 1, 5)
    local given = { dtype = dtype }
    for k, v in pairs(o) do given[k] = v end
    local p = ops[name](given)
    local got = ones(p, fill)
    local x = p:params()[#got]
    assert(x.dtype == dtype, name)
    local found = got[#got]:get(table.unpack(at))
    if not (math.abs(found - want) <= bits * math.abs(want)) then
      error(("%s of %s: %g, not %g"):format(name, dtype, found, want), 0)
    end
    ::continue::
  end
end
-- Asked for, the sum stays narrow; of integers it may be wider.
assert(ops.matmul { m = 1, n = 1, k = 1, dtype = "float16", acc = "float16" }
       :params()[3].dtype == "float16")
do
  local p = ops.reduce { shape = { long }, dtype = "int8", acc = "int32" }
  assert(ones(p, { 100 })[2]:get() == 100 * long)
  p = ops.cumsum { shape = { 300 }, dtype = "uint8", acc = "int32" }
  assert(ones(p, { 255 })[2]:get(299) == 300 * 255)
end
