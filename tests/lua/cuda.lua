-- SPDX-License-Identifier: Apache-2.0
-- Kernels for CUDA devices: the PTX that is made of thread loops, for cards
-- that are not there, and what is refused.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local fails = checks.fails

local function has(text, what)
  assert(text:find(what, 1, true), what .. " is not in\n" .. text)
end
local function lacks(text, what)
  assert(not text:find(what, 1, true), what .. " is in\n" .. text)
end

local function product(n)
  local A, B = ts.placeholder("A", { n, n }), ts.placeholder("B", { n, n })
  local k = ts.reduce_axis("k", n)
  local C = ts.compute("C", { n, n }, function(i, j)
    return ts.sum(A(i, k) * B(k, j), k)
  end)
  return ts.program("product", { A, B }, { C })
end

-- Results in registers, operands through shared memory.
local function tiled(program, tile, threads, depth, async)
  local sch = ts.schedule(program)
  local c = sch:get_block "C"
  local back = sch:cache_write(c, 0, "local")
  local i, j, k = sch:get_loops(c)
  local i0, i1, i2 = sch:split(i, { ts.auto, threads, tile })
  local j0, j1, j2 = sch:split(j, { ts.auto, threads, tile })
  local k0, k1 = sch:split(k, { ts.auto, depth })
  sch:reorder(i0, j0, i1, j1, k0, k1, i2, j2)
  sch:bind(sch:fuse(i0, j0), "blockIdx.x")
  local t = sch:fuse(i1, j1)
  sch:bind(t, "threadIdx.x")
  sch:reverse_compute_at(back, t)
  for operand = 0, 1 do
    local copy = sch:cache_read(c, operand, "shared")
    sch:compute_at(copy, k0)
    local loops = table.pack(sch:get_loops(copy))
    local f = sch:fuse(loops[#loops - 1], loops[#loops])
    local _, y, v = sch:split(f, { ts.auto, threads * threads, 4 })
    sch:bind(y, "threadIdx.x")
    sch:vectorize(v)
  end
  if async then
    sch:annotate(k0, "software_pipeline_stage", { 0, 0, 1 })
    sch:annotate(k0, "software_pipeline_order", { 0, 1, 2 })
    sch:annotate(k0, "software_pipeline_async_stages", { 0 })
  end
  return sch
end

local archs = { "sm_70", "sm_72", "sm_75", "sm_80", "sm_86", "sm_87", "sm_89",
                "sm_90", "sm_90a" }
local program = product(64)
local sch = tiled(program, 2, 8, 16)
for _, arch in ipairs(archs) do
  local ptx = ts.build(sch, "cuda -arch=" .. arch):source "ptx"
  has(ptx, ".target " .. arch .. "\n")
  has(ptx, ".entry product_kernel0(")
  has(ptx, ".reqntid 64, 1, 1")
  has(ptx, "ld.global.nc.v4.f32")
  has(ptx, "st.shared.v4.f32")
  has(ptx, "bar.sync")
  has(ptx, "st.global.v2.f32")
  has(ptx, "fma.rn.f32")
  has(ptx, ".shared .align 128 .b8 shared[2048];")
  lacks(ptx, "shared1")          -- both operands are in one block
  lacks(ptx, ".local")           -- all of it is in registers
end

-- What a processor's code has, too: a bound, the intermediate text.
local kernel = ts.build(sch, "cuda -arch=sm_80 -max-registers=64")
has(kernel:source "ptx", ".maxnreg 64")
has(kernel:source "llvm", "addrspace(3)")
assert(kernel:source "llvm" == kernel:source "ir")
has(ts.build(sch, "cuda -arch=sm_80 -mattr=+ptx75"):source "ptx",
    ".version 7.5")
local plain = ts.build(sch, "cuda -arch=sm_80 -fp-contract=off"):source "ptx"
lacks(plain, "fma.rn")

-- Copies that overlap with computing: cp.async where the card has it.
sch = tiled(program, 2, 8, 16, true)
local ptx = ts.build(sch, "cuda -arch=sm_80"):source "ptx"
has(ptx, "cp.async.cg.shared.global")
local _, commits = ptx:gsub("cp.async.commit_group", "")
assert(commits == 4, commits)      -- two before the loop, and two in it
has(ptx, "cp.async.wait_group")
lacks(ts.build(sch, "cuda -arch=sm_75"):source "ptx", "cp.async")

-- Instructions of warp groups, by assembly: the interpreter checks what they
-- are said to do, and that versions suffice.
do
  local folder = arg[0]:gsub("[^/]*$", "../../bench/gpu/")
  local hgemm = dofile(folder .. "hgemm.lua")
  local wgmma = dofile(folder .. "wgmma.lua")
  for _, lead in ipairs { false, true } do
    local o = { m = 128, n = 16, k = 128, bm = 64, bn = 16, bk = 32, stages = 3,
                pad = 8, group = 2, trans = true, lead = lead }
    local p = hgemm.program(o)
    local s = wgmma.schedule(p, o)
    assert(ts.equivalent(s, p))
    assert(ts.equivalent(ts.lower(s), p))
    local text = ts.build(s, "cuda -arch=sm_90a"):source "ptx"
    has(text, "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16")
    has(text, "cp.async.cg.shared.global")
    lacks(text, ".local")
  end
  -- Where threads do not divide a copy, its tile has room for more rows (64 of
  -- 48), and 16 bytes of padding: the descriptor's stride follows the tile.
  local o = { m = 64, n = 96, k = 64, bm = 64, bn = 48, bk = 32, stages = 2,
              pad = 8, group = 1, trans = true }
  local p = hgemm.program(o)
  local s = wgmma.schedule(p, o)
  assert(ts.equivalent(s, p))
  has(tostring(ts.lower(s)), "B_shared.dyn: float16[2, 4, 8, 4, 2, 8]")
  local text = ts.build(s, "cuda -arch=sm_90a"):source "ptx"
  local to = text:match "cvt.u32.u64 s, %%rd%d+;.-cvt.u32.u64 s, (%%rd%d+);"
  assert(to, text)
  has(text, "mov.u64 \t" .. to .. ", 1040;")
end

-- Two kernels, for a stage in between lives in global memory.
do
  local A = ts.placeholder("A", { 128 })
  local B = ts.compute("B", { 128 }, function(i) return A(i) + 1 end)
  local C = ts.compute("C", { 128 }, function(i) return ts.exp(B(127 - i)) end)
  local s = ts.schedule(ts.program("two", { A }, { C }))
  for _, name in ipairs{ "B", "C" } do
    local x, y = s:split(s:get_loops(s:get_block(name)), { ts.auto, 32 })
    s:bind(x, "blockIdx.x")
    s:bind(y, "threadIdx.x")
  end
  local text = ts.build(s, "cuda -arch=sm_80"):source "ptx"
  has(text, ".entry two_kernel0(")
  has(text, ".entry two_kernel1(")
  local _, n = text:gsub("%.entry", "")
  assert(n == 2, n)
end

-- More shared memory than is static is asked for at launch; more than that
-- is refused.
local large = product(512)
sch = tiled(large, 4, 16, 128)           -- 64 KiB
ptx = ts.build(sch, "cuda -arch=sm_80"):source "ptx"
has(ptx, ".extern .shared .align 128 .b8 tess_dynamic_shared[]")
fails("BUILD_ERROR", "131072 bytes of shared memory, of which 'sm_75' allows "
      .. "65536", ts.build, tiled(large, 4, 16, 256), "cuda -arch=sm_75")

-- Blocks of threads update sums, minima and maxima together.
do
  local atomics = dofile((arg[0]:gsub("[^/]*$", "../support/atomics.lua")))
  for _, case in ipairs {
    { "float32", ts.sum, "add.f32" }, { "float64", ts.sum, "add.f64" },
    { "float16", ts.sum, "add.noftz.f16" }, { "int32", ts.sum, "add.u32" },
    { "int64", ts.sum, "add.u64" }, { "int32", ts.reduce_min, "min.s32" },
    { "uint64", ts.reduce_max, "max.u64" },
  } do
    local dtype, reduce, says = table.unpack(case)
    local p = atomics.rows(dtype, reduce)
    for _, schedule in ipairs { atomics.terms, atomics.parts } do
      local sch = schedule(p)
      checks.same(sch, p)
      has(ts.build(sch, "cuda -arch=sm_70"):source "ptx",
          "atom.global." .. says)
    end
  end
  has(tostring(ts.lower(atomics.terms(atomics.rows("int32", ts.sum)))),
      "atomic S[tx] = S[tx] + A[")
end

-- What is bound to no threads is run by one.
has(ts.build(program, "cuda -arch=sm_80"):source "ptx", ".reqntid 1, 1, 1")

-- What a device does not run.
fails("BUILD_ERROR", "a block has 4096 threads, of which 'sm_80' allows 1024",
      ts.build, tiled(large, 2, 64, 16), "cuda -arch=sm_80")
fails("NOT_FOUND", 'has the sources "ir" (or "llvm"), "ptx", not "asm"',
      kernel.source, kernel, "asm")

-- What an architecture has not, its targets refuse.
fails("INVALID", "-tensor-cores=mma is of sm_80 and later", ts.target,
      "cuda -arch=sm_75 -tensor-cores=mma")
fails("INVALID", "-shared-memory-per-block=100000 is more than a block of " ..
      "'sm_75' can have, 65536 bytes", ts.target,
      "cuda -arch=sm_75 -shared-memory-per-block=100000")
fails("INVALID", "-max-shared-memory-per-block=233000 is more than", ts.target,
      "cuda -model=h100 -max-shared-memory-per-block=233000")
assert(ts.target "cuda -arch=sm_75 -max-shared-memory-per-block=16384":get
       "shared-memory-per-block" == 16384)
do
  local old, new = ts.target "cuda -arch=sm_75", ts.target "cuda -arch=sm_90a"
  assert(old:has "sm_75" and not old:has "sm_80" and not old:has "sm_90a")
  assert(new:has "sm_80" and new:has "sm_90" and new:has "sm_90a")
  assert(not ts.target "llvm":has "sm_70")
end

-- Tensor cores without bfloat16 are not asked for it.
do
  local spaces = require "tessera.modules.spaces"
  local ops = require "tessera.ops"
  local half = ops.matmul { m = 64, n = 64, k = 64, dtype = "bfloat16",
                            acc = "float32" }
  for arch, cores in pairs { sm_75 = false, sm_80 = true } do
    local target, found = "cuda -arch=" .. arch, false
    for _, t in ipairs(ts.space.sketches(spaces.default(target), half, target,
                                         { postprocs = true })) do
      local fragments = tostring(t):find "wmma" ~= nil
      found = found or fragments
      for seed = 1, 20 do
        local ok, s = pcall(t.replay, t, half, { resample = true, seed = seed })
        if ok then
          has(ts.build(s, target):source "ptx", ".entry")
          break
        end
      end
    end
    assert(found == cores, arch)
  end
end

-- A program of one block has its shared memory there, too, where ldmatrix and
-- asynchronous copies find it.
do
  local one_block = dofile((arg[0]:gsub("[^/]*$", "../support/one_block.lua")))
  local s = one_block.schedule(one_block.program())
  for _, options in ipairs { "", " -tensor-cores=mma" } do
    local text = ts.build(s, "cuda -arch=sm_80" .. options):source "ptx"
    has(text, ".shared .align 128 .b8 shared[2560]")
    has(text, options == "" and "wmma.mma.sync" or
              "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16")
  end
end

-- Intrinsics in assembly: warp groups' products of what bulk copies bring.
do
  local hopper = dofile((arg[0]:gsub("[^/]*$", "../support/hopper.lua")))
  for _, bulk in ipairs{ false, true } do
    local p = hopper.product(2, 2, 3)
    local s = hopper.schedule(p, 2, bulk)
    checks.same(s, p)
    local text = ts.build(s, "cuda -arch=sm_90a"):source "ptx"
    has(text, "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%f")
    lacks(text, ".local")
    lacks(text, "st.global.v4.b32") -- what is copied is in shared memory
    local copies = select(2, text:gsub("cp%.async%.bulk%.shared", ""))
    assert(copies == (bulk and 2 or 0), copies)
  end
  -- A function of the host is none of the device.
  ts.tensor_intrin{ name = "host", impl = "test_gemm(X, Y)", desc = (function()
    local b = ts.builder("host")
    local X, Y = b:input("X", { 4 }), b:output("Y", { 4 })
    b:loop("i", 0, 4, function(i)
      b:block("Y", { { "v", extent = 4, bind = i } }, function(v)
        b:store(Y, { v }, X(v))
      end)
    end)
    return b:program()
  end)() }
  local A = ts.placeholder("A", { 8, 4 })
  local B = ts.compute("B", { 8, 4 }, function(i, j) return A(i, j) end)
  local s = ts.schedule(ts.program("host", { A }, { B }))
  local i, j = s:get_loops(s:get_block "B")
  s:bind(i, "threadIdx.x")
  s:tensorize(j, "host")
  fails("BUILD_ERROR", "a kernel cannot call the C function 'test_gemm'",
        ts.build, s, "cuda -arch=sm_80")
end

-- MetaSchedule's trace of a layer of BERT at its real size: products by wmma,
-- and two versions of what is copied to shared memory.
local example = assert(io.open((arg[0]:gsub("[^/]*$",
                                            "../../examples/bert_dense.lua"))))
local source = example:read "a":match "^(.-)%-%- At its real size"
example:close()
local dense, by_hand, tensorize =
  load(source .. "\nreturn dense, schedule, tensorize")()
sch = ts.schedule(dense(1024, 4096, 1024))
by_hand(sch, { i = { 8, 1, 2, 2, 2 }, j = { 1, 32, 4, 2, 1 },
               k = { 32, 2, 1 } })
tensorize(sch)
for _, how in ipairs{ "sm_70", "sm_80", "sm_90a" } do
  ptx = ts.build(sch, "cuda -arch=" .. how):source "ptx"
  has(ptx, "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16")
  has(ptx, "wmma.load.b.sync.aligned.col.m16n16k16.shared.f16")
  has(ptx, "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16")
  has(ptx, "wmma.store.d.sync.aligned.row.m16n16k16.shared.f16")
  has(ptx, "tess_dynamic_shared")
  has(ptx, ".reqntid 32, 8, 1")
  lacks(ptx, ".local")           -- fragments are in registers
end
local two = tostring(ts.lower(sch, { after = "form_kernels" }))
has(two, "X_reindex_shared.dyn: float16[2, 128, 32]")
ptx = ts.build(sch, "cuda -arch=sm_80 -tensor-cores=mma"):source "ptx"
has(ptx, "ldmatrix.sync.aligned.m8n8.x4.shared.b16")
has(ptx, "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16")
lacks(ptx, "wmma")

-- Tiles of a transposition: both sides walk memory by rows, and one barrier is
-- between them.
local rows = ts.placeholder("A", { 128, 256 })
local columns = ts.program("columns", { rows }, {
  ts.compute("B", { 256, 128 }, function(i, j) return rows(j, i) end) })
local staged = ts.space.sketches({
  require "tessera.modules.stage_transposed" { heights = { 8 } } }, columns,
  "cuda -arch=sm_80")[1]:replay(columns)
assert(ts.equivalent(staged, columns) and
       ts.equivalent(ts.lower(staged), columns))
local _, barriers = ts.build(staged, "cuda -arch=sm_80"):source "ptx"
                      :gsub("bar.sync", "")
assert(barriers == 1, barriers)

-- 64 threads fold their parts in two steps; each loads vectors.
local k = ts.reduce_axis("k", 1024)
local X = ts.placeholder("X", { 8, 1024 })
local sums = ts.program("sums", { X }, {
  ts.compute("S", { 8 }, function(i) return ts.sum(X(i, k), k) end) })
sch = ts.schedule(sums)
local i, r = sch:get_loops(sch:get_block "S")
sch:bind(i, "blockIdx.x")
local _, x = sch:split(r, { ts.auto, 64, 4 })
sch:bind(x, "threadIdx.x")
local text = tostring(ts.lower(sch, { after = "lower_cross_thread_reduction" }))
local _, folds = text:gsub("block S_fold", "")
assert(folds == 2, text)
assert(ts.equivalent(ts.lower(sch), sums))
has(ts.build(sch, "cuda -arch=sm_80"):source "ptx", "ld.global.nc.v4.f32")
