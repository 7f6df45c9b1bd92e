-- SPDX-License-Identifier: Apache-2.0
-- Kernels for OpenCL devices: the source of one as tests/golden has it, and
-- what PoCL, an OpenCL of processors, computes compared with the interpreter.
-- TESSERA_GOLDEN=write writes the source anew; look at the difference.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local fails = checks.fails
local opencl = dofile((arg[0]:gsub("[^/]*$", "../support/opencl.lua")))
local product = opencl.product
local tiled = opencl.tiled
local arguments = opencl.arguments
local agree = opencl.agree
local here = arg[0]:gsub("[^/]*$", "")

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
