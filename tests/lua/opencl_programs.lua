-- SPDX-License-Identifier: Apache-2.0
-- Programs of several kernels for OpenCL devices, tensors in their memory, and
-- sizes that are known at the call: by PoCL, compared with the interpreter.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local fails = checks.fails
local opencl = dofile((arg[0]:gsub("[^/]*$", "../support/opencl.lua")))
local arguments = opencl.arguments
local agree = opencl.agree
local here = arg[0]:gsub("[^/]*$", "")

-- ---- host programs ---------------------------------------------------------

-- Two kernels, a buffer between them, and a block that is bound to nothing.
do
  local A = ts.placeholder("A", { 40, 24 })
  local k = ts.reduce_axis("k", 24)
  local B = ts.compute("B", { 40, 24 }, function(i, j) return A(i, j) * 2 end)
  local C = ts.compute("C", { 40 }, function(i) return ts.sum(B(i, k), k) end)
  local D = ts.compute("D", { 40 }, function(i) return ts.exp(-C(i)) end)
  local program = ts.program("stages", { A }, { D })
  local sch = ts.schedule(program)
  local i, j = sch:get_loops(sch:get_block "B")
  local blocks, threads = sch:split(sch:fuse(i, j), { ts.auto, 32 })
  sch:bind(blocks, "blockIdx.x")
  sch:bind(threads, "threadIdx.x")
  local rows, sum = sch:get_loops(sch:get_block "C")
  sch:bind(rows, "blockIdx.x")
  sch:bind(select(2, sch:split(sum, { ts.auto, 8 })), "threadIdx.x")
  local source = ts.build(sch, "opencl"):source "opencl"
  for n = 0, 2 do
    assert(source:find("void stages_kernel_" .. n .. "(", 1, true), source)
  end
  assert(source:find("barrier(CLK_LOCAL_MEM_FENCE)", 1, true), source)
  agree(sch, program)
  agree(program, program)
end

-- What the threads of a block share in global memory a fence of it orders.
do
  local A = ts.placeholder("A", { 8, 64 })
  local T = ts.compute("T", { 8, 64 }, function(i, j) return A(i, j) + 1 end)
  local program = ts.program("mirrored", { A }, {
    ts.compute("B", { 8, 64 }, function(i, j) return T(i, 63 - j) end) })
  local sch = ts.schedule(program)
  local i, j = sch:get_loops(sch:get_block "B")
  sch:bind(i, "blockIdx.x")
  sch:bind(j, "threadIdx.x")
  sch:compute_at(sch:get_block "T", i)
  sch:bind(select(2, sch:get_loops(sch:get_block "T")), "threadIdx.x")
  local source = ts.build(sch, "opencl"):source "opencl"
  assert(source:find("CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE", 1, true),
         source)
  agree(sch, program)
end

-- Sizes that are known when it is called, and a serial loop around a kernel.
do
  local n = ts.size "n"
  local A = ts.placeholder("A", { n, 16 })
  local B = ts.compute("B", { n, 16 }, function(i, j)
    return A(i, j) + ts.cast(i, "float32")
  end)
  local program = ts.program("rows", { A }, { B })
  local sch = ts.schedule(program)
  sch:bind(select(2, sch:get_loops(sch:get_block "B")), "threadIdx.x")
  local kernel = ts.build(sch, "opencl")
  for _, rows in ipairs { 1, 5 } do
    local a = ts.tensor("float32", { rows, 16 }, "integers", rows)
    local b = ts.tensor("float32", { rows, 16 })
    kernel(a, b)
    for i = 0, rows - 1 do
      assert(b:get(i, 3) == a:get(i, 3) + i)
    end
  end
end

-- Blocks of threads as many as they say, none included.
do
  local grids = dofile((arg[0]:gsub("[^/]*$", "../support/grids.lua")))
  for _, g in pairs(grids.all) do
    local sch, program = grids.scheduled(g)
    local kernel = ts.build(sch, "opencl")
    assert(kernel:source("opencl"):find("get_group_id", 1, true))
    checks.exact_by({ PoCL = function(args) kernel(table.unpack(args)) end },
                    sch, program, grids.arguments(g))
  end
end

-- More of them than a grid can have are an error of the call, and the kernel
-- can be called again.
do
  local n, m = ts.size "n", ts.size "m"
  local A = ts.placeholder("A", { n }, "int32")
  local B = ts.placeholder("B", { m }, "int32")
  local axes = { ts.reduce_axis("i", n), ts.reduce_axis("j", m) }
  local S = ts.compute("S", { 1 }, function()
    return ts.sum(A(axes[1]) * B(axes[2]), axes)
  end)
  local sch = ts.schedule(ts.program("all", { A, B }, { S }))
  local s = sch:get_block "S"
  sch:decompose_reduction(s, (sch:get_loops(s)))
  sch:bind(sch:fuse(sch:get_loops(s)), "blockIdx.x")
  local kernel = ts.build(sch, "opencl")
  local function call(size)
    local a = ts.tensor("int32", { size }, "integers", 1)
    local sum = ts.tensor("int32", { 1 })
    kernel(a, a, sum)
    local one = 0
    for i = 0, size - 1 do one = one + a:get(i) end
    assert(sum:get(0) == one * one)
  end
  call(5)
  fails("LAUNCH_ERROR", "a grid has 2147580964 blocks of threads along " ..
        "blockIdx.x, where 2147483647 are possible", call, 46342)
  call(7)
end

-- A thread's variable that only the first iteration of a loop stores to.
do
  local A = ts.placeholder("A", { 8, 1 })
  local function stage(name, of, f)
    return ts.compute(name, { 8, 1 }, function(i, j) return f(of(i, j)) end)
  end
  local B = stage("B", A, function(x) return x * 2 end)
  local C = stage("C", B, function(x) return x + 1 end)
  local D = stage("D", C, function(x) return x * 3 end)
  local p = ts.program("first", { A }, { D })
  local sch = ts.schedule(p)
  local b, c = sch:get_block "B", sch:get_block "C"
  local t = sch:get_loops(sch:get_block "D")
  sch:compute_at(c, t, { preserve_unit_loops = true })
  sch:set_scope(c, 0, "local")
  local loops = { sch:get_loops(c) }
  local j0 = sch:split(loops[#loops], { 5000, ts.auto })
  sch:compute_at(b, j0)
  sch:set_scope(b, 0, "local")
  sch:bind(t, "threadIdx.x")
  local source = ts.build(sch, "opencl"):source "opencl"
  assert(source:find "for %(" and source:find("float C[1] = {0};", 1, true),
         source)
  agree(sch, p)
end

-- Blocks of threads update sums, minima and maxima together.
do
  local atomics = dofile((arg[0]:gsub("[^/]*$", "../support/atomics.lua")))
  for _, schedule in ipairs { atomics.terms, atomics.parts } do
    for dtype, reduce in pairs { float32 = ts.sum, int32 = ts.reduce_min,
                                 uint32 = ts.reduce_max } do
      local p = atomics.rows(dtype, reduce)
      agree(schedule(p), p)
    end
  end
  local p = atomics.rows("float64", ts.sum)
  fails("BUILD_ERROR", "'S' is updated atomically, which OpenCL 1.2 has for " ..
        "32 bits", ts.build, atomics.terms(p), "opencl")
end

-- ---- tensors on the device -------------------------------------------------

-- Kernels take them as they are, mixed with tensors of this process.
do
  local A = ts.placeholder("A", { 64 })
  local B = ts.compute("B", { 64 }, function(i) return A(i) * 2 + 1 end)
  local program = ts.program("twice", { A }, { B })
  local sch = ts.schedule(program)
  sch:bind(sch:get_loops(sch:get_block "B"), "threadIdx.x")
  local kernel = ts.build(sch, "opencl")
  local values = ts.tensor("float32", { 64 }, "integers", 1)
  local a = ts.tensor("float32", { 64 }, "integers", 1, { device = "opencl:0" })
  local b = ts.tensor("float32", { 64 }, { device = "opencl" })
  local c = ts.tensor("float32", { 64 })
  assert(a:device() == "opencl:0" and c:device() == "cpu")
  assert(tostring(b) == "tensor float32, 64 on opencl:0", tostring(b))
  for _ = 1, 3 do
    kernel(a, b)
    kernel(b, a)
  end
  kernel(a, c)
  local want = values:get(7)
  for _ = 1, 7 do want = want * 2 + 1 end
  assert(c:get(7) == want and a:to "cpu":get(7) == (want - 1) / 2)
  b:copy_from(values)
  a:copy_from(b)
  c:copy_from(a:to "opencl:0")
  assert(c:compare(values) == 0)
  assert(kernel:time({ a, b }, { min_time = 0.001 }).median > 0)
  for _ = 1, 50 do kernel(values, values:to "opencl:0") end
  collectgarbage()
  local empty = ts.tensor("float32", { 0, 3 }, "zeros", { device = "opencl:0" })
  assert(#empty:to "cpu" == 0)

  fails("UNSUPPORTED", "access to an element needs a copy", a.get, a, 3)
  fails("UNSUPPORTED", "comparing needs a copy", a.compare, a, c)
  fails("UNSUPPORTED", "saving needs a copy", a.save, a, "nowhere.npy")
  fails("UNSUPPORTED", "runs in this process", ts.interpret, sch, { a, c })
  fails("UNSUPPORTED", "pass a copy (t:to \"cpu\")", ts.build(program, "llvm"),
        a, c)
  fails("INVALID", "share memory", kernel, a, a)
  fails("UNSUPPORTED", "there is no 'opencl:9'", c.to, c, "opencl:9")
  fails("INVALID", "'opencl:x' is no device", c.to, c, "opencl:x")
  fails("INVALID", "'tpu' is no device", c.to, c, "tpu")
  fails("INVALID", "no option 'on'", ts.tensor, "float32", { 4 }, "zeros", 1,
        { on = "opencl" })
end

-- Operands whose layout the schedule chose are converted by the host.
do
  local A = ts.placeholder("A", { 16, 32 })
  local B = ts.placeholder("B", { 32, 16 }, "float32",
                           { role = "layout_free" })
  local k = ts.reduce_axis("k", 32)
  local C = ts.compute("C", { 16, 16 }, function(i, j)
    return ts.sum(A(i, k) * B(k, j), k)
  end)
  local program = ts.program("free", { A, B }, { C })
  local sch = ts.schedule(program)
  local c = sch:get_block "C"
  sch:transform_layout(c, { "read", 1 }, function(i, j) return j, i end)
  sch:bind((sch:get_loops(c)), "threadIdx.x")
  local args = arguments(program)
  local here, there = args[3], args[3]:to "opencl:0"
  local kernel = ts.build(sch, "opencl")
  kernel(args[1], args[2], here)
  kernel(args[1]:to "opencl:0", args[2]:to "opencl:0", there)
  assert(there:to "cpu":compare(here) == 0)
end

-- ---- sizes known at the call -----------------------------------------------

-- Indices of sizes are printed as they are: they are assumed not to overflow.
do
  local n, m = ts.size "n", ts.size "m"
  local A, B = ts.placeholder("A", { n, m }), ts.placeholder("B", { m, n })
  local k = ts.reduce_axis("k", m)
  local C = ts.compute("C", { n, n }, function(i, j)
    return ts.sum(A(i, k) * B(k, j), k)
  end)
  local program = ts.program("open", { A, B }, { C })
  local sch = ts.schedule(program)
  local i, j = sch:get_loops(sch:get_block "C")
  local i0, i1 = sch:split(i, { ts.auto, 8 })
  local j0, j1 = sch:split(j, { ts.auto, 16 })
  sch:reorder(i0, j0, i1, j1)
  for l, axis in pairs { [i0] = "blockIdx.y", [j0] = "blockIdx.x",
                         [i1] = "threadIdx.y", [j1] = "threadIdx.x" } do
    sch:bind(l, axis)
  end
  local kernel = ts.build(sch, "opencl")
  local source = kernel:source "opencl"
  assert(not source:find "ulong" and
         source:find("bx * 16 + tx < n", 1, true), source)
  for _, s in ipairs { { 1, 1 }, { 17, 33 } } do
    local a = ts.tensor("float32", { s[1], s[2] }, "integers", 1)
    local b = ts.tensor("float32", { s[2], s[1] }, "integers", 2)
    local c = ts.tensor("float32", { s[1], s[1] })
    local d = ts.tensor("float32", { s[1], s[1] })
    kernel(a, b, c)
    ts.interpret(program, { a, b, d })
    assert(c:compare(d) == 0)
  end
end
