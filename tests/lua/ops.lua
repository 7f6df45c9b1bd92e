-- SPDX-License-Identifier: Apache-2.0
-- Every operator computes what plain loops do (tests/naive), interpreted and
-- compiled, at small, odd and unit shapes; those of floats also what OpenBLAS
-- and oneDNN make of them, where they have the operator.
local ts = require "tessera"
local ops = require "tessera.ops"
local declare = require "tessera.ops.declare"
local here = arg[0]:gsub("[^/]*$", "")
local op_rows = dofile(here .. "../support/op_rows.lua")

local path = os.getenv "TESSERA_NAIVE" or
             arg[-1]:gsub("[^/]*$", "") .. "../tests/naive.so"
local naive = assert(package.loadlib(path, "luaopen_naive"))()

-- Relative to what is wanted, or to 1: some roundings of each type.
local tolerances = { float16 = 0.01, bfloat16 = 0.06, float32 = 2e-5,
                     float64 = 1e-12 }

local function copies(args)
  local own = {}
  for i, t in ipairs(args) do
    own[i] = ts.tensor(t:dtype(), t:shape())
    own[i]:copy_from(t)
  end
  return own
end

-- All tensors after a run are what the loops say, inputs included, or what a
-- library says that computes in the type `by`.
local function compare(row, want, got, who, by)
  for i, t in ipairs(got) do
    local tolerance = math.max(tolerances[t:dtype()] or 0, tolerances[by] or 0)
    if row.tolerance and tolerance > 0 then
      tolerance = math.max(tolerance, row.tolerance)
    end
    local at, wanted, found = naive.differ(want[i], t, tolerance)
    if at then
      error(("%s, %s: element %d of parameter %d is %.9g, not %.9g"):format(
            op_rows.told(row), who, at, i, found, wanted), 0)
    end
  end
end

-- What Winograd's U is of weights W: made by the operator for that.
local function winograd(row, args)
  local o = row.options
  local nchw = row.name:find "nchw" ~= nil
  local p = ops.winograd_weight { ci = o.ci, co = o.co, tile = o.tile,
    layout = nchw and "NCHW" or "NHWC", dtype = o.dtype }
  local x = p:params()[1]
  local W = ts.tensor(x.dtype, x.shape, "integers", 5)
  ts.interpret(p, { W, args[2] })
  return W
end

-- Libraries, and how many calls of which operators they were asked.
local libraries = {
  { name = "OpenBLAS", run = naive.openblas, by = "float64", calls = 0,
    did = {} },
  { name = "oneDNN", run = naive.onednn, by = "float32", calls = 0, did = {} },
}
local function compare_libraries(row, all, compiled)
  for _, library in ipairs(libraries) do
    local want = library.run and library.run(row.name, row.options, all)
    if want then
      compare(row, want, compiled, "against " .. library.name, library.by)
      library.calls, library.did[row.name] = library.calls + 1, true
    end
  end
end

-- A kernel's parameter has what the interpreter's has.
local function same_elements(row, want, got, parameter)
  local shape, at = want:shape(), {}
  local tolerance = tolerances[want:dtype()] or 0
  local function walk(d)
    if d > #shape then
      local x, y = want:get(table.unpack(at)), got:get(table.unpack(at))
      local near = x == y or x ~= x and y ~= y or type(x) == "number" and
                   math.abs(x - y) <= tolerance * math.max(1, math.abs(x))
      if near then return end
      error(("%s, compiled: [%s] of parameter %d is %s, not %s"):format(
            op_rows.told(row), table.concat(at, ", "), parameter, y, x), 0)
    end
    for i = 0, shape[d] - 1 do
      at[d] = i
      walk(d + 1)
    end
  end
  walk(1)
end

local seen = {}
local function check(row, program)
  local args = op_rows.arguments(row, program)
  local all = copies(args)
  if row.fill == "winograd" then
    local W = winograd(row, args)
    all = copies(args)
    all[#all + 1] = W
  end
  local interpreted, compiled = copies(args), copies(args)
  ts.interpret(program, interpreted)
  if row.alone then
    ts.build(program, "llvm")(table.unpack(compiled))
    for i, t in ipairs(interpreted) do
      same_elements(row, t, compiled[i], i)
    end
    seen[row.name] = true
    return
  end
  local want = naive.run(row.name, row.options, all)
  compare(row, want, interpreted, "interpreted")
  ts.build(program, "llvm")(table.unpack(compiled))
  compare(row, want, compiled, "compiled")
  if declare.is(args[1]:dtype(), "float") then
    compare_libraries(row, all, compiled)
  end
  seen[row.name] = true
end

for _, row in ipairs(op_rows.rows) do
  local ok, program = pcall(ops[row.name], row.options)
  if not ok then error(op_rows.told(row) .. ": " .. tostring(program), 0) end
  check(row, program)
end
-- PolyBench at its smallest size.
for _, name in ipairs { "3mm", "lu", "cholesky" } do
  local program = ops.polybench(name, "MINI")
  local row
  for _, r in ipairs(op_rows.rows) do row = r.name == name and r or row end
  check({ name = name, options = {}, fill = row and row.fill }, program)
end

-- A first score of -inf weighs nothing.
do
  local p = ops.softmax { shape = { 3 }, online = true }
  local X, Y = ts.tensor("float32", { 3 }, { -math.huge, 1, 1 }),
               ts.tensor("float32", { 3 })
  for _, run in ipairs { ts.interpret, function(q, args)
    ts.build(q)(table.unpack(args))
  end } do
    run(p, { X, Y })
    assert(Y:get(0) == 0 and math.abs(Y:get(1) - 0.5) < 1e-6)
    local a = ops.attention { b = 1, h = 1, m = 1, n = 3, d = 1, mask = true,
                              online = true }
    local args = {}
    for i, x in ipairs(a:params()) do
      args[i] = ts.tensor(x.dtype, x.shape, "integers", i)
    end
    args[4] = ts.tensor("float32", { 1, 3 }, { { -math.huge, 0, 0 } })
    args[1] = ts.tensor("float32", { 1, 1, 1, 1 })
    run(a, args)
    local V, O = args[3], args[5]
    assert(math.abs(O:get(0, 0, 0, 0) -
                    (V:get(0, 0, 1, 0) + V:get(0, 0, 2, 0)) / 2) < 1e-5)
  end
end

-- The suite has its names, indices and shapes.
local function refused(text, f, ...)
  local ok, e = pcall(f, ...)
  assert(not ok and e.code == "INVALID" and e.message:find(text, 1, true),
         tostring(e))
end
for _, name in ipairs(ops.suite_names()) do
  local n = name:find "WIN" and 1 or 4
  for i = 1, n do assert(ops.suite(name, i):verify()) end
  refused(("%s has no workload %d"):format(name, n + 1), ops.suite, name, n + 1)
end
-- The shape of each result, and of how many products an element is the sum.
for name, list in pairs {
  C1D = { { 3 * 64, 1, 128, 128 }, { 128, 1, 64, 256 }, { 5 * 256, 1, 64, 256 },
          { 3 * 512, 1, 32, 512 } },
  C2D = { { 49 * 3, 1, 112, 112, 64 }, { 64, 1, 56, 56, 64 },
          { 9 * 256, 1, 14, 14, 256 }, { 9 * 512, 1, 7, 7, 512 } },
  C3D = { { 343 * 3, 1, 8, 112, 112, 64 }, { 64, 1, 16, 56, 56, 64 },
          { 27 * 256, 1, 16, 14, 14, 256 }, { 27 * 512, 1, 16, 7, 7, 512 } },
  DIL = { { 49 * 3, 1, 109, 109, 64 }, { 64, 1, 56, 56, 64 },
          { 9 * 256, 1, 12, 12, 256 }, { 9 * 512, 1, 5, 5, 512 } },
  GRP = { { 9 * 16, 1, 28, 28, 128 }, { 16, 1, 56, 56, 64 },
          { 9 * 64, 1, 14, 14, 256 }, { 9 * 128, 1, 7, 7, 512 } },
  DEP = { { 9, 1, 112, 112, 32 }, { 9, 1, 56, 56, 64 }, { 9, 1, 7, 7, 512 },
          { 9, 1, 7, 7, 1024 } },
  T2D = { { 4 * 512, 1, 8, 8, 256 }, { 4 * 256, 1, 16, 16, 128 },
          { 4 * 128, 1, 32, 32, 64 }, { 4 * 64, 1, 64, 64, 3 } },
  CAP = { { 36 * 32, 1, 8, 8, 4, 4, 32 }, { 36 * 32, 1, 8, 8, 4, 4, 32 },
          { 36 * 8, 1, 8, 8, 4, 4, 16 }, { 36 * 16, 1, 8, 8, 4, 4, 16 } },
  GMM = { { 128, 1, 128, 128 }, { 512, 1, 512, 32 }, { 512, 1, 512, 512 },
          { 1024, 1, 1024, 1024 } },
  TBG = { { 64, 1, 12, 128, 128 }, { 64, 1, 16, 128, 128 },
          { 128, 1, 12, 64, 64 }, { 128, 1, 12, 128, 128 } },
  CBR = { { false, 1, 112, 112, 64 }, { false, 1, 28, 28, 128 },
          { false, 1, 14, 14, 256 }, { false, 1, 7, 7, 512 } },
  NRM = { { false, 1 }, { false, 1 }, { false, 1 }, { false, 1 } },
  SFM = { { false, 256, 256 }, { false, 512, 512 }, { false, 1024, 1024 },
          { false, 2048, 2048 } },
  C2D_WIN_NHWC = { { false, 1, 12, 12, 128 } },
  C2D_WIN_NCHW = { { false, 1, 64, 56, 56 } },
} do
  for i, row in ipairs(list) do
    local p = ops.suite(name, i)
    local results, flops = p:params(), row[1] and 2 * row[1]
    local shape = results[#results].shape
    assert(#shape == #row - 1, name)
    for d, n in ipairs(shape) do
      assert(n == row[d + 1], name)
      flops = flops and flops * n
    end
    assert(not flops or p:flops() == flops, name)
  end
end
assert(ops.suite("GMM", 4):flops() == 2 * 1024 ^ 3)
assert(ops.suite("T2D", 4):params()[3].shape[2] == 64)
assert(ops.polybench("3mm", "LARGE"):params()[5].shape[2] == 1100)
assert(ops.polybench("lu", "EXTRALARGE"):params()[1].shape[1] == 4000)
refused('there is no workload "GEMM"; there are C1D', ops.suite, "GEMM", 1)
refused('there is no kernel "2mm"', ops.polybench, "2mm", "MINI")
refused('there is no size "HUGE"', ops.polybench, "lu", "HUGE")

-- Options that do not fit, each with one line.
for _, c in ipairs {
  { "softmax", { shape = { 2 }, axis = 1 },
    "ops.softmax: 'axis' is 1, and there are 1 dimensions" },
  { "softmax", { shape = { 2, 0 } },
    "entry 2 of 'shape' is the number 0, not an integer from 1 on" },
  { "softmax", { shape = 3 }, "'shape' is the number 3, not a list" },
  { "reduce", { shape = { 2 }, axes = { 0, -1 } }, "'axes' has -1 twice" },
  { "reduce", { shape = { 2 }, op = "mean", dtype = "int8" },
    "mean is of floats, not of int8" },
  { "transpose", { shape = { 2, 3 }, perm = { 0, 0 } }, "is not an order" },
  { "reshape", { shape = { 2, 3 }, to = { 4 } }, "6 elements" },
  { "add", { shape = { 2 }, z_shape = { 3 } }, "extents 2 and 3" },
  { "conv2d_nhwc", { n = 1, h = 4, w = 4, ci = 1, co = 1, k = { 3 } },
    "'k' has 1 entries, and there are 2 dimensions" },
  { "matmul", { m = 1, n = 1, k = 1, act = "elu" }, '\'act\' is "elu"' },
  { "matmul", { m = 1, n = 1, k = 1, dtype = "int8", act = "gelu" },
    "gelu is of floats, not of int8" },
  { "fft", { n = 1 }, "'n' is 1, not from 2 to 2^20" },
  { "dft", { shape = { 4, 3 } }, "the last of 2 dimensions has 3 elements" },
  { "dft", { shape = { 4, 2 }, axis = 1 }, "'axis' is that of the parts" },
  { "stft", { b = 1, n = 4, step = 1, length = 5 },
    "'length' is 5, more than 4" },
  { "reduce", { shape = { 2 }, dtype = "bool" },
    "sum is of numbers, not of bool" },
  { "quantize", { shape = { 2 }, block = 2 },
    "'block' is given, and no 'axis'" },
  { "quantize", { shape = { 2 }, bits = 9 },
    "'bits' is 9, more than those of int8" },
  { "quantize", { shape = { 2 }, dtype = "int8" },
    '\'dtype\' is "int8", neither floats nor int32' },
  { "unpack_bits", { shape = { 2 }, bits = 3 }, "'bits' is 3, not 1, 2 or 4" },
  { "bit_cast", { shape = { 2 }, to = "int16" },
    "float32 and int16 have not as many bits" },
  { "max_unpool", { shape = { 2 }, to = { 4 }, of = { 5 } },
    "entry 1 of 'of' is 5, more than 4" },
  { "deform_conv2d", { n = 1, ci = 3, co = 1, h = 2, w = 2, k = 1,
                       offset_groups = 2 },
    "2 offset groups do not divide 3 channels" },
  { "cast", { shape = { 2 }, to = "float8e4m3fn" },
    '\'to\' is "float8e4m3fn", not one of float16' },
  { "slice", { shape = { 4 }, begin = { 3 }, stop = { 2 } }, "nothing of" },
  { "attention", { b = 1, h = 1, m = 3, n = 2, d = 1, causal = true },
    "of 3 causal queries" },
  { "reshape", { shape = { 2, nil, 3 }, to = { 6 } },
    "ops.reshape: 'shape' has no entry 2, but an entry 3" },
  { "softmax", { shape = { 2.5 } }, "entry 1 of 'shape' is the number 2.5" },
  { "matmul", { m = 1, n = 1, k = 1, acc = "float16" },
    '\'acc\' is "float16", which cannot hold float32' },
  { "matmul", { m = 1, n = 1, k = 1, dtype = "int16", acc = "int8" },
    "cannot hold int16" },
  { "softmax", { shape = { 2 }, dtype = "bfloat16", acc = "float16" },
    "cannot hold bfloat16" },
  { "reduce", { shape = { 2 }, dtype = "int8", acc = "uint8" },
    "cannot hold int8" },
  { "matmul", { m = 1, n = 1, k = 1, act = "gelu", relu = true },
    "ops.matmul: 'act' and 'relu' are both given" },
  { "clamp", { shape = { 2 }, low = 2 },
    "ops.clamp: 'low' is 2, more than 'high', 1" },
  { "clamp", { shape = { 2 }, low = -1, dtype = "uint8" },
    "ops.clamp: 'low' is -1, which uint8 does not have" },
  { "pad", { shape = { 2 }, before = { 1 }, value = -1, dtype = "uint8" },
    "ops.pad: 'value' is -1, which uint8 does not have" },
  { "one_hot", { shape = { 2 }, depth = 2, off = -1, dtype = "uint8" },
    "ops.one_hot: 'off' is -1, which uint8 does not have" },
  { "one_hot", { shape = { 2 }, depth = 2, on = 128, dtype = "int8" },
    "ops.one_hot: 'on' is 128, which int8 does not have" },
  { "pad", { shape = { 2 }, before = { 1 }, value = 3, dtype = "bool" },
    "ops.pad: 'value' is 3, which bool does not have" },
  { "layer_norm", { shape = { 2 }, eps = -1 },
    "ops.layer_norm: 'eps' is the number -1, not a number from 0 on" },
  { "rms_norm", { shape = { 2 }, eps = 0 / 0 }, "not a number from 0 on" },
  { "jacobi_2d", { n = 4, steps = 1 << 30 },
    "ops.jacobi_2d: 'steps' is 1073741824, more than 4096" },
  { "scatter_add", { shape = {}, n = 1 },
    "ops.scatter_add: 'shape' has no dimension" },
  { "fft", { n = 1 << 21 }, "ops.fft: 'n' is 2097152, not from 2 to 2^20" },
} do
  refused(c[3], ops[c[1]], c[2])
end

refused('GMM has no workload "1"; it has 1 to', ops.suite, "GMM", "1")
refused("ops.suite takes the name of a workload", ops.suite)
-- Floats of an integer's value are that; a list of parts may be long.
assert(tostring(ops.transpose { shape = { 2.0, 3 }, perm = { 1.0, 0 } }) ==
       tostring(ops.transpose { shape = { 2, 3 }, perm = { 1, 0 } }))
assert(ops.matmul { m = 2.0, n = 2, k = 2 }:params()[1].shape[1] == 2)
do
  local sizes = {}
  for i = 1, 20 do sizes[i] = 1 end
  assert(#ops.split { shape = { 20 }, sizes = sizes }:params() == 21)
  assert(#ops.concat { shape = { 1 }, sizes = sizes }:params() == 21)
end

-- Results have the names that the page says.
for _, name in ipairs { "arg_max", "arg_min" } do
  local says
  for _, row in ipairs(declare.list) do
    says = row.name == name and row.says or says
  end
  for i, x in ipairs(ops[name] { shape = { 2 } }:params()) do
    assert(i == 1 or says:find(x.name .. " =", 1, true), x.name)
  end
end

for _, row in ipairs(declare.list) do
  assert(seen[row.name], row.name .. " is not tested")
end
-- What each library was to be asked.
local asked = {
  OpenBLAS = "matmul batch_matmul gemm 3mm triangular_solve cholesky lu",
  oneDNN = "matmul batch_matmul dense transpose_batch_matmul conv1d_ncl " ..
    "conv1d_nlc conv2d_nchw conv2d_nhwc conv3d_ncdhw conv3d_ndhwc " ..
    "conv2d_winograd_nchw conv2d_winograd_nhwc depthwise_conv2d_nhwc " ..
    "conv2d_transpose_nchw conv2d_transpose_nhwc max_pool1d max_pool2d " ..
    "max_pool3d avg_pool1d avg_pool2d avg_pool3d global_pool1d " ..
    "global_pool2d global_pool3d resize2d layer_norm batch_norm softmax " ..
    "log_softmax " ..
    "reduce norm prelu abs neg square reciprocal sqrt rsqrt exp log tanh " ..
    "sigmoid round relu gelu gelu_tanh silu softplus mish hard_swish " ..
    "leaky_relu elu clamp add sub mul div minimum maximum equal not_equal " ..
    "less less_equal greater greater_equal",
}
print(("%d calls of %d operators"):format(#op_rows.rows, #declare.list))
for _, library in ipairs(libraries) do
  if library.run then
    for name in asked[library.name]:gmatch "%S+" do
      assert(library.did[name], ("%s: not against %s"):format(name,
                                                              library.name))
    end
    print(("%d of them also against %s"):format(library.calls, library.name))
  end
end
