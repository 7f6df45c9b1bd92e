-- SPDX-License-Identifier: Apache-2.0
-- Kernels for OpenCL devices: the source of one as tests/golden has it, and
-- what PoCL, an OpenCL of processors, computes compared with the interpreter.
-- TESSERA_GOLDEN=write writes the source anew; look at the difference.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local fails = checks.fails
local here = arg[0]:gsub("[^/]*$", "")

local function product(m, n, k, dtype)
  local A = ts.placeholder("A", { m, k }, dtype)
  local B = ts.placeholder("B", { k, n }, dtype)
  local r = ts.reduce_axis("k", k)
  local C = ts.compute("C", { m, n }, function(i, j)
    return ts.sum(A(i, r) * B(r, j), r)
  end)
  return ts.program("product", { A, B }, { C })
end

-- Tiles of 16 x 16, four results a thread; operands through shared memory.
local function tiled(program)
  local sch = ts.schedule(program)
  local c = sch:get_block "C"
  local i, j, k = sch:get_loops(c)
  local i0, i1 = sch:split(i, { ts.auto, 16 })
  local j0, j1, j2 = sch:split(j, { ts.auto, 4, 4 })
  local k0, k1 = sch:split(k, { ts.auto, 8 })
  sch:reorder(i0, j0, i1, j1, k0, k1, j2)
  sch:bind(i0, "blockIdx.y")
  sch:bind(j0, "blockIdx.x")
  sch:bind(i1, "threadIdx.y")
  sch:bind(j1, "threadIdx.x")
  for operand = 0, 1 do
    local copy = sch:cache_read(c, operand, "shared")
    sch:compute_at(copy, k0)
    local loops = table.pack(sch:get_loops(copy))
    local fused = sch:fuse(loops[#loops - 1], loops[#loops])
    local _, y, x = sch:split(fused, { ts.auto, 16, 4 })
    sch:bind(y, "threadIdx.y")
    sch:bind(x, "threadIdx.x")
  end
  local acc = sch:cache_write(c, 0, "local")
  sch:reverse_compute_at(acc, j1)
  sch:vectorize((select(-1, sch:get_loops(c))))
  return sch
end

-- ---- arguments -------------------------------------------------------------

local function arguments(program)
  local args = {}
  for n, x in ipairs(program:params()) do
    args[n] = x.role == "output" and ts.tensor(x.dtype, x.shape) or
              ts.tensor(x.dtype, x.shape, "random", n)
  end
  return args
end

-- What the schedule's kernel for the target computes is what the interpreter
-- says of the program.
local function agree(sch, program, tolerance, target)
  local want, got = arguments(program), arguments(program)
  ts.interpret(program, want)
  ts.build(sch, target or "opencl")(table.unpack(got))
  for n, t in ipairs(got) do
    local _, error_ = t:compare(want[n])
    assert(error_ <= (tolerance or 1e-5),
           ("%s: parameter %d is off by %g"):format(program:name(), n, error_))
  end
end

-- ---- the source ------------------------------------------------------------

do
  local program = product(32, 32, 32)
  local sch = tiled(program)
  local kernel = ts.build(sch, "opencl")
  local source = kernel:source "opencl"
  local path = here .. "../golden/opencl_product.cl"
  if os.getenv "TESSERA_GOLDEN" == "write" then
    assert(io.open(path, "w")):write(source):close()
  end
  local file = assert(io.open(path))
  assert(file:read "a" == source, source)
  file:close()
  agree(sch, program)
  fails("NOT_FOUND", "has the sources \"opencl\"", kernel.source, kernel, "asm")
  local time = kernel:time(arguments(program), { min_time = 0.01 })
  assert(time.median > 0 and time.min <= time.median)
end

-- PoCL has the private memory of a work-group on a thread's stack: 9 MiB here.
do
  local A = ts.placeholder("A", { 512, 4608 })
  local j = ts.reduce_axis("j", 4608)
  local T = ts.compute("T", { 512, 4608 }, function(i, k)
    return A(i, k) + 1
  end)
  local C = ts.compute("C", { 512 }, function(i)
    return ts.sum(T(i, j) * A(511 - i, 0), j)
  end)
  local program = ts.program("private", { A }, { C })
  local sch = ts.schedule(program)
  local t, c = sch:get_block "T", sch:get_block "C"
  local i, k = sch:get_loops(c)
  local _, threads = sch:split(i, { 1, 512 })
  sch:bind(threads, "threadIdx.x")
  sch:split(k, { 2, ts.auto })
  sch:compute_at(t, threads)
  sch:set_scope(t, 0, "local")
  local a = ts.tensor("float32", { 512, 4608 }, "integers", 1)
  local got, want = ts.tensor("float32", { 512 }), ts.tensor("float32", { 512 })
  ts.build(sch, "opencl -max-threads-per-block=512")(a, got)
  ts.build(program, "llvm")(a, want)
  assert(got:compare(want) == 0)
end

-- ---- what is in shared memory ----------------------------------------------

-- A transposition by tiles of 16 x 16 in shared memory, whose rows the layout
-- rotates; the tile of a block, not the whole, is allocated there.
do
  local A = ts.placeholder("A", { 64, 48 })
  local B = ts.compute("B", { 48, 64 }, function(i, j) return A(j, i) end)
  local program = ts.program("transpose", { A }, { B })
  local function staged(of, under, layout, options)
    local sch = ts.schedule(of)
    local b = sch:get_block "B"
    local copy = sch:cache_read(b, 0, "shared")
    local i, j = sch:get_loops(b)
    local i0, i1 = sch:split(i, { ts.auto, 16 })
    local j0, j1 = sch:split(j, { ts.auto, 16 })
    sch:reorder(i0, j0, i1, j1)
    sch:bind(i0, "blockIdx.y")
    sch:bind(j0, "blockIdx.x")
    sch:bind(j1, "threadIdx.x")
    if under then sch:compute_at(copy, j0) end
    sch:bind(select(-1, sch:get_loops(copy)), "threadIdx.x")
    if layout then
      sch:transform_layout(copy, { "write", 0 }, layout, options)
    end
    return sch
  end
  for _, layout in ipairs {
    function(i, j) return i, j // 16, (i + j) % 16 end,
    function(i, j) return i, j // 16, (j - i) % 16 end,
    function(i, j) return j // 16, i, (3 * i + j + 1) % 16 end,
    -- Rows of four vectors of four, of which the vectors rotate.
    function(i, j) return i, j // 16, (i + j // 4) % 4 * 4 + j % 4 end,
  } do
    local sch = staged(program, true, layout)
    local source = ts.build(sch, "opencl"):source "opencl"
    assert(source:find("__local float A_shared[256];", 1, true), source)
    assert(ts.equivalent(sch, program))
    agree(sch, program, 0)
  end
  -- Tiles that do not divide the matrix.
  do
    local X = ts.placeholder("A", { 50, 70 })
    local odd = ts.program("odd", { X }, { ts.compute("B", { 70, 50 },
      function(i, j) return X(j, i) end) })
    local sch = staged(odd, true, function(i, j)
      return i, j // 16, (i + j) % 16
    end, { assume_injective_transform = true })
    assert(ts.build(sch, "opencl"):source "opencl":find("A_shared[256]", 1,
                                                        true))
    assert(ts.equivalent(sch, odd))
    agree(sch, odd, 0)
  end
  -- Two kernels use it: it is in global memory, and that is said.
  local said = {}
  ts.on_warning(function(text) said[#said + 1] = text end)
  local apart = staged(program, false)
  agree(apart, program, 0)
  ts.build(staged(program, true), "opencl")
  assert(#said == 1, table.concat(said, "\n"))
  assert(said[1]:find("program 'transpose': buffer A_shared was to be in " ..
                      "shared memory and is in global memory", 1, true))
  ts.on_warning(nil)
end

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

-- ---- types -----------------------------------------------------------------

-- Every cast, rounding and saturating as the interpreter does.
do
  local types = { "int8", "uint8", "int32", "uint32", "int64", "float16",
                  "bfloat16", "float32", "float64", "bool" }
  local values = { 0, 1, -1, 0.5, 1.5, -2.5, 100.7, 127, 128, 255, 256, -300,
                   32767, 65504, 65519, 65520, 1e-7, 6e-8, 2049, 16777217,
                   3e9, -3e9, 1e19, -1e19, 1e300, math.huge, -math.huge,
                   0 / 0 }
  local A = ts.placeholder("A", { #values }, "float64")
  for half = 0, 1 do
    local results = {}
    for n, from in ipairs(types) do
      for _, to in ipairs(n % 2 == half and types or {}) do
        results[#results + 1] = ts.compute(from .. "_to_" .. to, { #values },
          function(i)
            return ts.cast(ts.cast(ts.cast(A(i), from), to), "float64")
          end)
      end
    end
    local program = ts.program("casts", { A }, results)
    local want, got = arguments(program), arguments(program)
    for n, v in ipairs(values) do
      want[1]:set(n - 1, v)
      got[1]:set(n - 1, v)
    end
    ts.interpret(program, want)
    ts.build(program, "opencl")(table.unpack(got))
    for n, x in ipairs(program:params()) do
      for i = 0, #values - 1 do
        local a, b = want[n]:get(i), got[n]:get(i)
        assert(a == b or (a ~= a and b ~= b),
               ("%s of %g is %g, not %g"):format(x.name, values[i + 1], b, a))
      end
    end
  end
end

-- Vectors of any number of lanes, masked and strided, of floats and of bool.
for _, lanes in ipairs { 2, 3, 4, 7, 16, 24 } do
  local A = ts.placeholder("A", { 5, lanes })
  local B = ts.compute("B", { lanes, 5 }, function(j, i)
    return ts.select(ts.lt(A(i, j), 0.5), A(i, lanes - 1 - j),
                     ts.max(A(i, j), ts.cast(i, "float32")))
  end)
  local C = ts.compute("C", { 5, lanes }, function(i, j)
    return ts.cast(A(i, j) * 8, "int32") // 3 % 5
  end)
  local D = ts.compute("D", { 5, lanes }, function(i, j)
    return ts.all(ts.lt(A(i, j), 0.7), ts.ne(C(i, j), 1))
  end)
  local program = ts.program("lanes", { A }, { B, C, D })
  local sch = ts.schedule(program)
  for _, name in ipairs { "B", "C", "D" } do
    local x, y = sch:get_loops(sch:get_block(name))
    if name == "B" then x, y = y, x end
    if name == "B" then sch:reorder(x, y) end
    sch:bind(x, "threadIdx.x")
    if lanes % 8 == 7 then _, y = sch:split(y, { ts.auto, 4 }) end
    sch:vectorize(y)
  end
  agree(sch, program, 0)
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

-- ---- refusals --------------------------------------------------------------

do
  local program = product(32, 32, 32)
  fails("BUILD_ERROR",
        "product_kernel: it has blocks of 64 threads, the target at most 32",
        ts.build,
        tiled(program), "opencl -max-threads-per-block=32")
  fails("BUILD_ERROR",
        "product: a kernel needs 1024 bytes of shared memory, the target " ..
        "has 512",
        ts.build, tiled(program),
        "opencl -shared-memory-per-block=512")
  fails("INVALID",
        "there is no OpenCL device '-model=abacus'; there are generic",
        ts.target, "opencl -model=abacus")
  -- What OpenCL 1.2 has not: what a warp does, and copies on their way.
  local sch = tiled(program)
  local _, _, _, _, k0 = sch:get_loops(sch:get_block "C")
  sch:annotate(k0, "software_pipeline_stage", { 0, 0, 1 })
  sch:annotate(k0, "software_pipeline_order", { 0, 1, 2 })
  agree(sch, program)
  sch:annotate(k0, "software_pipeline_async_stages", { 0 })
  fails("BUILD_ERROR", "product_kernel: 'async_begin': the opencl backend " ..
        "has no asynchronous copies", ts.build, sch, "opencl")
  sch = ts.schedule(program)
  local i, j = sch:get_loops(sch:get_block "C")
  sch:bind(i, "blockIdx.x")
  sch:annotate(sch:blockize(j), "warp_execution", 1)
  fails("BUILD_ERROR", "has no warps", ts.build, sch, "opencl")
  local t = ts.target "opencl -model=nvidia"
  assert(t:get "max-threads-per-block" == 1024 and
         t:get "thread-warp-size" == 32)
end
