-- SPDX-License-Identifier: Apache-2.0
-- Tensor intrinsics that are a call of a C function or of one of LLVM's
-- intrinsics.
local ts = require "tessera"
local ops = require "tessera.ops"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local fails = checks.fails

-- Here as workers do it: the functions of the shared object are the process's.
local externs = assert(os.getenv "TESSERA_EXTERNS")
assert(package.loadlib(externs, "*"))

-- One block over a tile: body(store, iters...) describes a step.
local function describe(params, iters, body)
  local b, p = ts.builder("intrinsic"), {}
  for i, x in ipairs(params) do p[i] = b[x[1]](b, x[2], x[3], x[4]) end
  local function nest(k, vars)
    if k <= #iters then
      b:loop("i" .. k, 0, iters[k][2], function(v)
        vars[k] = { "v" .. k, iters[k][1], extent = iters[k][2], bind = v }
        nest(k + 1, vars)
      end)
      return
    end
    b:block("tile", vars, function(...) body(b, p, ...) end)
  end
  nest(1, {})
  return b:program()
end

local gemm = describe(
  { { "input", "A", { 4, 4 } }, { "input", "B", { 4, 8 } },
    { "inout", "C", { 4, 8 } } },
  { { "spatial", 4 }, { "spatial", 8 }, { "reduce", 4 } },
  function(b, p, i, j, k)
    b:store(p[3], { i, j }, p[3](i, j) + p[1](i, k) * p[2](k, j))
  end)

local function matmul(n)
  return ops.matmul { m = n, n = n, k = n }
end

local tensor = require "tessera.tensor"
local function tiled(p, sizes, intrin, before, at)
  local sch = ts.schedule(p)
  local c = sch:get_block("C")
  local first = assert(tensor.tile(sch, c, sizes))
  local loops = table.pack(sch:get_loops(c))
  if before then before(sch, c, loops[1]) end
  sch:decompose_reduction(c, loops[at or #sizes])
  sch:tensorize(first, intrin)
  return sch
end

-- Compiled code and the interpreter agree with the description.
local function agree(sch, p)
  checks.same(sch, p)
  checks.exact(sch, p, checks.arguments(p, "integers"))
end

-- A C function, which gets addresses and strides.
do
  ts.tensor_intrin{ name = "gemm", desc = gemm, impl = "test_gemm(A, B, C)" }
  local p = matmul(16)
  local sch = tiled(p, { 4, 8, 4 }, "gemm")
  local o = sch:get_block("C_update_o")
  agree(sch, p)
  -- With whatever is done to the block afterwards.
  sch:parallel((sch:get_loops(o)))
  local _, j = sch:get_loops(o)
  sch:unroll(j)
  agree(sch, p)
  -- Operands in memory of another layout, rows with space between them.
  local packed = tiled(p, { 4, 8, 4 }, "gemm", function(s, c, i0)
    local copy = s:cache_read(c, 1, "global")
    s:compute_at(copy, i0)
    s:storage_align(copy, 0, 0, 32, 5)
    s:cache_write(c, 0, "local")
  end)
  agree(packed, p)
  -- The interpreter runs the description, and compiled code makes the call.
  ts.tensor_intrin{ name = "wrong", desc = gemm,
                    impl = "test_gemm_wrong(C, 3)" }
  local wrong = tiled(p, { 4, 8, 4 }, "wrong")
  assert(ts.equivalent(wrong, p))
  local C = ts.tensor("float32", { 16, 16 }, "zeros")
  local zero = ts.tensor("float32", { 16, 16 }, "zeros")
  ts.build(wrong, "llvm")(zero, zero, C)
  local all = ts.tensor("float32", { 16, 16 }, "zeros")
  ts.interpret(wrong, { zero, zero, all })
  assert(tostring(all) == tostring(zero))
  assert(C:get(0, 0) == 12 and C:get(15, 15) == 12)
end

-- A vectorised loop around a call is serialized.
do
  local row = describe(
    { { "input", "X", { 4 } }, { "output", "Y", { 4 } } },
    { { "spatial", 4 } },
    function(b, p, i) b:store(p[2], { i }, ts.min(p[1](i), 5)) end)
  ts.tensor_intrin{ name = "clip", desc = describe(
    { { "input", "X", { 4 }, "int32" }, { "input", "Z", { 4 }, "int32" },
      { "output", "Y", { 4 }, "int32" } },
    { { "spatial", 4 } },
    function(b, p, i) b:store(p[3], { i }, ts.min(p[1](i), p[2](i))) end),
    impl = "Y = llvm.smin.v4i32(X, Z)" }
  local A = ts.placeholder("A", { 8, 4 }, "int32")
  local B = ts.placeholder("B", { 8, 4 }, "int32")
  local C = ts.compute("C", { 8, 4 },
                       function(i, j) return ts.min(A(i, j), B(i, j)) end)
  local p = ts.program("least", { A, B }, { C })
  for _, kind in ipairs{ "vectorize", "parallel", "unroll" } do
    local sch = ts.schedule(p)
    local i, j = sch:get_loops(sch:get_block("C"))
    sch:tensorize(j, "clip")
    sch[kind](sch, i)
    local t = { 8, 4, dtype = "int32" }
    agree(sch, p)
  end
  assert(row)
end

-- LLVM's intrinsics: whole parameters as vectors, added to, one value in all
-- lanes, and rows that are not side by side.
do
  ts.tensor_intrin{ name = "total",
    impl = "Y += llvm.vector.reduce.add.v8i32(X)",
    desc = describe({ { "input", "X", { 2, 4 }, "int32" },
                      { "inout", "Y", { 1 }, "int32" } },
      { { "reduce", 2 }, { "reduce", 4 } },
      function(b, p, j, k) b:store(p[2], { 0 }, p[2](0) + p[1](j, k)) end) }
  local A = ts.placeholder("A", { 6, 4, 8 }, "int32")
  local x, y = ts.reduce_axis("j", 4), ts.reduce_axis("k", 8)
  local C = ts.compute("C", { 6 }, function(i)
    return ts.sum(A(i, x, y), { x, y })
  end)
  local p = ts.program("totals", { A }, { C })
  agree(tiled(p, { 2, 4 }, "total", nil, 2), p,
        { { 6, 4, 8, dtype = "int32" }, { 6, dtype = "int32" } })
  ts.tensor_intrin{ name = "axpy",
    impl = "C = llvm.fma.v8f32(float32x8(A), B, C)",
    desc = describe(
      { { "input", "A", { 1 } }, { "input", "B", { 8 } },
        { "inout", "C", { 8 } } },
      { { "spatial", 8 } },
      function(b, q, j) b:store(q[3], { j }, q[3](j) + q[1](0) * q[2](j)) end) }
  p = matmul(16)
  local sch = ts.schedule(p)
  local c = sch:get_block("C")
  local _, j, k = sch:get_loops(c)
  local j0, j1 = sch:split(j, { ts.auto, 8 })
  sch:reorder(j0, k, j1)
  sch:decompose_reduction(c, k)
  sch:tensorize(j1, "axpy")
  agree(sch, p)
end

-- Inline assembly: a register for each element, or for the bits of several; of
-- no instruction, so that any processor has it.
do
  local function declare(impl)
    return ts.tensor_intrin{ name = "moved", impl = impl, override = true,
      desc = describe({ { "input", "X", { 4 }, "int16" },
                        { "output", "Y", { 4 }, "int16" } },
        { { "spatial", 4 } },
        function(b, p, i) b:store(p[2], { i }, p[1](i)) end) }
  end
  -- A new program each time: one keeps those that it has used.
  local function copies(impl)
    local name = declare(impl)
    local A = ts.placeholder("A", { 6, 4 }, "int16")
    local B = ts.compute("B", { 6, 4 }, function(i, j) return A(i, j) end)
    local p = ts.program("copies", { A }, { B })
    local sch = ts.schedule(p)
    local i, j = sch:get_loops(sch:get_block "B")
    sch:tensorize(j, name)
    sch:parallel(i)
    return sch, p
  end
  for impl, code in pairs{
    ['Y = asm("", "=r,=r,=r,=r,0,1,2,3", X)'] = 'asm "", "=r,=r,=r,=r',
    ['int32(Y) = asm("", "=r,=r,0,1", int32(X))'] = 'asm "", "=r,=r,0,1"',
    ['int64(Y) = asm("", "=r,0,~{memory}", int64(X), )'] = false,
    ['int64(Y) = asm("", "=r,0,~{memory}", int64(X))'] = "asm sideeffect",
  } do
    if code then
      local sch, p = copies(impl)
      agree(sch, p)
      assert(ts.build(sch, "llvm"):source "llvm":find(code, 1, true), impl)
    else
      fails("INVALID", "a name is expected", declare, impl)
    end
  end
  for impl, why in pairs{
    ['Y = asm("", "=r")(X)'] = "text follows",
    ['Y = asm("", "=r,0", X)'] = "not one constraint for each register",
    ['Y = asm("", "=r,=r,=r,=r,0,1,2,4", X)'] = "the constraints are not",
    ['int64(Y) = asm("", "+r,r", int64(X))'] = "the constraints are not",
    ['int64(Y) = asm("", "=r,", int64(X))'] = "the constraints are not",
    ['int64(Y) = asm("", "=*m,0", int64(X))'] = "the constraints are not",
    ['Y = asm("nop, "=r", X)'] = "is missing",
    ['Y += asm("", "=r", X)'] = "does not add",
    ['int24(Y) = asm("", "=r,0", X)'] = "names no type",
    ['int64x2(Y) = asm("", "=r,0", X)'] = "cannot be divided into such",
    ['int64(X) = asm("", "=r,0", int64(Y))'] = "sets another parameter",
    ['asm("", "r", int8(address(X)))'] = "an address is an integer",
    ['int64(Y) = llvm.smax.v4i16(X, X)'] = "only assembly gives",
    ['Y = asm("", "=r,r", llvm.x(X))'] = "gets parameters, addresses",
    ['copy(address(X), Y)'] = "gets parameters and integers as they are",
  } do
    fails("INVALID", why, declare, impl)
  end
  -- What the processor has not got is an error of the build.
  fails("BUILD_ERROR", "LLVM", ts.build,
        (copies 'int64(Y) = asm("there is no such", "=r,0", int64(X))'), "llvm")
end

-- Workers make the calls, too; failures to compile or link are reported.
local function tune(p, intrin, sizes, on_error)
  return ts.tune(p, { target = "llvm", trials = 1, seed = 1,
    on_error = on_error, strategy = "replay", cost_model = "random",
    space = function(sch)
      local c = sch:get_block("C")
      local first = assert(tensor.tile(sch, c, sizes))
      local loops = table.pack(sch:get_loops(c))
      sch:decompose_reduction(c, loops[#sizes])
      sch:tensorize(first, intrin)
    end })
end
do
  local r = tune(matmul(16), "gemm", { 4, 8, 4 })
  assert(r.failed == 0 and r.latency > 0)
  r = tune(matmul(16), "wrong", { 4, 8, 4 })
  assert(r.failed == 1 and r.funnel:find "computed a wrong result", r.funnel)
  assert(r.status == "NOT_FOUND" and not r.message, r.status)
  -- It may end the run, which says why.
  r = tune(matmul(16), "wrong", { 4, 8, 4 }, "stop")
  assert(r.failed == 1 and r.status == "NOT_FOUND", r.status)
  assert(r.message:find("C[", 1, true), r.message)
end

-- What the target, or LLVM, has not got is an error of the build.
local function no_build(what, impl)
  ts.tensor_intrin{ name = "none", desc = gemm, impl = impl, override = true }
  local e = fails(nil, what, ts.build, tiled(matmul(16), { 4, 8, 4 }, "none"),
                   "llvm")
  return e.code
end
do
  assert(no_build("LLVM has no intrinsic", "C = llvm.there.is.none(A, B, C)")
         == "BUILD_ERROR")
  assert(no_build("verifier", "C = llvm.fma.v16f32(C, C, C)")
         == "BUILD_ERROR")
  -- This one is another processor's, and the compiler gives up on it.
  ts.tensor_intrin{ name = "none", impl = "C += llvm.amdgcn.rcp.f32(A)",
    override = true,
    desc = describe({ { "input", "A", { 1 } }, { "input", "B", { 4 } },
                      { "inout", "C", { 1 } } },
      { { "reduce", 4 } },
      function(b, p, k) b:store(p[3], { 0 }, p[3](0) + p[1](0) * p[2](k)) end) }
  local A, B = ts.placeholder("A", { 4 }), ts.placeholder("B", { 8 })
  local k = ts.reduce_axis("k", 8)
  local C = ts.compute("C", { 4 }, function(i)
    return ts.sum(A(i) * B(k), k)
  end)
  local sch = tiled(ts.program("outer", { A, B }, { C }), { 4 }, "none")
  assert(fails(nil, "LLVM", ts.build, sch, "llvm").code == "BUILD_ERROR")
  ts.tensor_intrin{ name = "none", desc = gemm, override = true,
                    impl = "test_no_such(A, B, C)" }
  fails(nil, "test_no_such", ts.build, tiled(matmul(16), { 4, 8, 4 }, "none"),
         "llvm")
end

-- The same again is fine, by a call and by a program; another one of the name
-- is not, unless it is said to be meant: those that used the old one keep it.
do
  local function scaled(by)
    return describe({ { "input", "X", { 4 } }, { "output", "Y", { 4 } } },
                    { { "spatial", 4 } }, function(b, p, i)
      b:store(p[2], { i }, p[1](i) * by)
    end)
  end
  local function declare(by, impl, override)
    return ts.tensor_intrin{ name = "scaled", desc = scaled(by),
                             impl = impl or scaled(by), override = override }
  end
  local function use(by)
    local A = ts.placeholder("A", { 4 })
    local p = ts.program("uses", { A }, {
      ts.compute("B", { 4 }, function(i) return A(i) * by end) })
    local s = ts.schedule(p)
    s:tensorize(s:get_loops(s:get_block "B"), "scaled")
    return s, p
  end
  local again = "tensor intrinsic 'scaled' is declared already"
  declare(2)
  declare(2)
  local s, p = use(2)
  assert(fails(nil, again, declare, 3).code == "INVALID")
  fails(nil, again, declare, 2, "test_scaled(X, Y)")
  fails(nil, again, declare, 3, nil, false)
  use(2)
  declare(3, nil, true)
  use(3)
  assert(s:trace():replay(p):program():hash() == s:program():hash())
  fails(nil, "", use, 2)
  declare(2, "test_scaled(X, Y)", true)
  declare(2, "test_scaled(X, Y)")
  fails(nil, again, declare, 2, "test_other(X, Y)")
  fails(nil, "override", declare, 2, nil, "yes")
end

-- Texts that are not calls; and no other primitive makes such a block.
do
  for text, what in pairs{
    ["test_gemm(A, B, D)"] = "names no parameter of the intrinsic",
    ["test_gemm(A, B, C"] = "a ',' or ')' is missing",
    ["test_gemm(A, B, C) D"] = "text follows the call",
    ["test_gemm"] = "a '(' is missing",
    [""] = "a name is expected",
    ["llvm.fma.v32f32(A, B, C)"] = "LLVM's intrinsics",
    ["C = test_gemm(A, B)"] = "LLVM's intrinsics",
    ["A = llvm.fma.v16f32(A, A, A)"] = "sets another parameter",
    ["test_gemm(int32(A))"] = "a C function gets parameters",
    ["C = llvm.x(int32x3(A))"] = "another number of bits",
    ["C = llvm.x(int(A))"] = "it names no type",
    ["C = llvm.x(%7)"] = "no parameter of that number",
    ["C = llvm.x(llvm.y(A)"] = "a ',' or ')' is missing",
    ["C = int8(llvm.y(A)"] = "a ')' is missing",
    ["llvm.x(address(A))"] = "get the address of what they set",
    ["C = llvm.x(bytes(A))"] = "a ',' is missing",
    ["C = llvm.x(bytes(A, 3))"] = "fewer dimensions",
    ["C = llvm.x(A) + f(B)"] = "it names no type",
    ["C = " .. ("llvm.x("):rep(300) .. "A" .. (")"):rep(300)] = "too many",
    ["C = llvm.x(" .. ("("):rep(300) .. "A" .. (")"):rep(301)] = "too many",
    ["C = llvm.x((A + B)"] = "a ',' or ')' is missing",
    ["C = llvm.x((A + B"] = "a ')' is missing",
    ["C = (f(A) + B)"] = "C functions do not",
    ["C = A - D"] = "it names no parameter",
    ["C = D - A"] = "it names no parameter",
    ["C = (llvm.x(A) + B"] = "a ')' is missing",
  } do
    fails(nil, what, ts.tensor_intrin,
          { name = "bad", desc = gemm, impl = text })
  end
  ts.tensor_intrin { name = "sum_first", desc = gemm,
                     impl = "C = (llvm.x(A) + B) + C" }
  local sch = ts.schedule(matmul(16))
  fails(nil, "tensorize", sch.annotate, sch, sch:get_block("C"), "tensor_call",
        "test_gemm(%0, %1, %2)")
end

-- Differences, also of what is in parentheses, of floats and of integers.
for dtype, first in pairs { float32 = "%0", int32 = "int32x4(%0)" } do
  local function y(a, b) return a - (b - a) - b end
  ts.tensor_intrin {
    name = "difference_" .. dtype,
    desc = describe({ { "input", "A", { 4 }, dtype },
                      { "input", "B", { 4 }, dtype },
                      { "output", "Y", { 4 }, dtype } }, { { "spatial", 4 } },
      function(b, p, i) b:store(p[3], { i }, y(p[1](i), p[2](i))) end),
    impl = ("Y = %s - (B - A) - B"):format(first),
  }
  local A = ts.placeholder("A", { 8 }, dtype)
  local B = ts.placeholder("B", { 8 }, dtype)
  local p = ts.program("differences", { A, B }, {
    ts.compute("Y", { 8 }, function(i) return y(A(i), B(i)) end) })
  local sch = ts.schedule(p)
  local _, inner = sch:split(sch:get_loops(sch:get_block "Y"), { ts.auto, 4 })
  sch:tensorize(inner, "difference_" .. dtype)
  assert(tostring(sch:program()):find(first .. " - (%1 - %0) - %1", 1, true))
  checks.exact(sch, p, checks.arguments(p, "integers"))
end

-- Blocks that an intrinsic brings do not take the names of those that they
-- stand in for.
do
  local b = ts.builder("copy")
  local A, B = b:input("A", { 4 }), b:output("B", { 4 })
  b:loop("i", 0, 4, function(i)
    b:block("step", { { "vi", extent = 4, bind = i } }, function(vi)
      b:store(B, { vi }, A(vi))
    end)
  end)
  local copy = b:program()
  ts.tensor_intrin{ name = "copy", desc = copy, impl = copy }
  local X = ts.placeholder("X", { 8 })
  local Y = ts.compute("Y", { 8 }, function(i) return X(i) end)
  local p = ts.program("main", { X }, { Y })
  local sch = ts.schedule(p)
  local _, i = sch:split((sch:get_loops(sch:get_block "Y")), { ts.auto, 4 })
  sch:tensorize(i, "copy")
  local step = sch:get_child_blocks(sch:get_block "Y_o")
  local name = tostring(step):match "^block ([%w_]+)"
  sch:tensorize((select(-1, sch:get_loops(step))), "copy")
  assert(not pcall(sch.get_block, sch, name), name)
  assert(tostring(step) == "a block that is gone")
  assert(sch:program():verify())
  checks.same(sch, p)
end
