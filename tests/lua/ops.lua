-- SPDX-License-Identifier: Apache-2.0
-- Every operator computes what plain loops do (tests/naive), interpreted and
-- compiled, at small, odd and unit shapes; products, factorisations and
-- triangular systems of floats also what OpenBLAS does.
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

-- All tensors after a run are what the loops say, inputs included.
local function compare(row, want, got, who)
  for i, t in ipairs(got) do
    local tolerance = tolerances[t:dtype()] or 0
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

local seen, peers = {}, 0
local function check(row, program)
  local args = op_rows.arguments(row, program)
  local all = copies(args)
  if row.fill == "winograd" then
    local W = winograd(row, args)
    all = copies(args)
    all[#all + 1] = W
  end
  local want = naive.run(row.name, row.options, all)
  local interpreted, compiled = copies(args), copies(args)
  ts.interpret(program, interpreted)
  compare(row, want, interpreted, "interpreted")
  ts.build(program, "llvm")(table.unpack(compiled))
  compare(row, want, compiled, "compiled")
  if declare.is(args[1]:dtype(), "float") then
    local by_peer = naive.peer(row.name, row.options, all)
    if by_peer then compare(row, by_peer, compiled, "against OpenBLAS") end
    peers = by_peer and peers + 1 or peers
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
  { "fft", { n = 6 }, "'n' is 6, not a power of two" },
  { "slice", { shape = { 4 }, begin = { 3 }, stop = { 2 } }, "nothing of" },
  { "attention", { b = 1, h = 1, m = 3, n = 2, d = 1, causal = true },
    "of 3 causal queries" },
} do
  refused(c[3], ops[c[1]], c[2])
end

for _, row in ipairs(declare.list) do
  assert(seen[row.name], row.name .. " is not tested")
end
print(("%d calls of %d operators, %d also against OpenBLAS"):format(
      #op_rows.rows, #declare.list, peers))
assert(peers > 20)
