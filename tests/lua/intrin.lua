-- SPDX-License-Identifier: Apache-2.0
-- The tensor intrinsics that come along: each tensorizes a product of its own
-- form, which the interpreter finds unchanged, and becomes the instruction that
-- it is named after, for a target that has it; on this machine, if it has.
local ts = require "tessera"
local intrin = require "tessera.intrin"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local fails = checks.fails

-- A program whose innermost loops are just those of the description, `more`
-- times in each of its dimensions.
local function around(name, more)
  local desc = ts.schedule(intrin.description(name))
  local inside = desc:get_block "C"
  local sizes = {}
  for i, l in ipairs { desc:get_loops(inside) } do sizes[i] = desc:extent(l) end
  local type_of = {}
  for n = 0, desc:block_info(inside).reads - 1 do
    local read = desc:access_info(inside, "read", n)
    type_of[read.buffer] = read.dtype
  end
  local a, b, c = type_of.A, type_of.B, type_of.C
  local has_rows = #sizes == 3
  local m, n, k = table.unpack(has_rows and sizes or { 1, sizes[1], sizes[2] })
  m, n, k = m * more, n * more, k * more
  local packed = name:find "^amx" and (name:find "bf16" and 2 or 4) or
                 name:find "^dot_%d+x16" and 4
  local A = ts.placeholder("A", { m, k }, a)
  local B = ts.placeholder("B", packed and { k // packed, n, packed } or
                           { n, k }, b)
  local r = ts.reduce_axis("k", k)
  local C = ts.compute("C", { m, n }, function(i, j)
    local w = packed and B(r // packed, j, r % packed) or B(j, r)
    return ts.sum(ts.cast(A(i, r), c) * ts.cast(w, c), r)
  end)
  local p = ts.program("around", { A, B }, { C })
  return p, has_rows and sizes or { sizes[1], sizes[2] }
end

local tensor = require "tessera.tensor"
local function tensorized(name, more)
  local p, sizes = around(name, more)
  local sch = ts.schedule(p)
  local c = sch:get_block "C"
  local first = assert(tensor.tile(sch, c, sizes))
  local loops = { sch:get_loops(c) }
  sch:decompose_reduction(c, loops[#loops - #sizes])
  sch:tensorize(first, intrin.use(name))
  return sch, p
end

local arm = "llvm -mtriple=aarch64-linux-gnu -mattr=+%s"
for _, x in ipairs {
  { "dot_16x4", "llvm" },
  { "dot_16x4_vnni", "llvm -mattr=+avx512vnni", "vpdpbusd" },
  { "dot_8x4_vnni", "llvm -mattr=+avx512vnni,+avx512vl", "vpdpbusd" },
  { "dot_8x4_avxvnni", "llvm -mcpu=x86-64 -mattr=+avxvnni",
    "{vex}%s+vpdpbusd" },
  { "dot_16x4_vnni_s8s8s32", "llvm -mattr=+avx512bw,+avx512vnni",
    "vpdpbusd.*zmm" },
  { "dot_16x16_vnni_s8s8s32", "llvm -mattr=+avx512bw,+avx512vnni",
    "vpdpbusd.*zmm" },
  { "dot_8x4_avxvnni_s8s8s32", "llvm -mcpu=x86-64 -mattr=+avx2,+avxvnni",
    "vpdpbusd.*ymm" },
  { "dot_8x16_avxvnni_s8s8s32", "llvm -mcpu=x86-64 -mattr=+avx2,+avxvnni",
    "vpdpbusd.*ymm" },
  { "dot_16x4_avx512", "llvm -mattr=+avx512bw", "vpmaddwd.*zmm" },
  { "dot_16x4_avx512_s8s8s32", "llvm -mattr=+avx512bw", "vpmaddwd.*zmm" },
  { "dot_8x4_avx2", "llvm -mcpu=x86-64 -mattr=+avx2", "vpmaddwd.*ymm" },
  { "dot_8x4_avx2_s8s8s32", "llvm -mcpu=x86-64 -mattr=+avx2",
    "vpmaddwd.*ymm" },
  { "amx_16x16x64_u8s8s32", "llvm -mattr=+amx-tile,+amx-int8", "tdpbusd" },
  { "amx_16x16x64_s8s8s32", "llvm -mattr=+amx-tile,+amx-int8", "tdpbssd" },
  { "amx_16x16x64_s8u8s32", "llvm -mattr=+amx-tile,+amx-int8", "tdpbsud" },
  { "amx_16x16x64_u8u8s32", "llvm -mattr=+amx-tile,+amx-int8", "tdpbuud" },
  { "amx_16x16x32_bf16bf16f32", "llvm -mattr=+amx-tile,+amx-bf16",
    "tdpbf16ps" },
  { "amx_acc_16x16x64_u8s8s32", "llvm -mattr=+amx-tile,+amx-int8", "tdpbusd" },
  { "amx_acc_16x16x64_s8s8s32", "llvm -mattr=+amx-tile,+amx-int8", "tdpbssd" },
  { "amx_acc_16x16x64_s8u8s32", "llvm -mattr=+amx-tile,+amx-int8", "tdpbsud" },
  { "amx_acc_16x16x64_u8u8s32", "llvm -mattr=+amx-tile,+amx-int8", "tdpbuud" },
  { "amx_acc_16x16x32_bf16bf16f32", "llvm -mattr=+amx-tile,+amx-bf16",
    "tdpbf16ps" },
  { "dot_4x4_i8i8s32_neon", arm:format "neon", "smull" },
  { "dot_4x4_i8i8s32_sdot", arm:format "dotprod", "sdot" },
  { "dot_4x4_u8u8u32_udot", arm:format "dotprod", "udot" },
  { "dot_4x4_u8i8s32_usdot", arm:format "i8mm", "usdot" },
} do
  local name, target, instruction = table.unpack(x)
  assert(intrin.has(name, target), name)
  local sch, p = tensorized(name, 2)
  checks.same(sch, p)
  local ok, kernel = pcall(ts.build, sch, target)
  assert(ok, name .. ": " .. tostring(kernel))
  if instruction then
    assert(kernel:source "asm":find(instruction), name)
  end
  if intrin.has(name) then
    checks.exact(sch, p, checks.arguments(
      p, name:find "bf16" and "integers" or "random"))
  end
end

-- ---- tensor cores ----------------------------------------------------------

-- A warp for each 16 rows of C: operands through shared memory.
local function by_warps(n, dtype, acc, k, name)
  local A = ts.placeholder("A", { n, n }, dtype)
  local B = ts.placeholder("B", { n, n }, dtype)
  local r = ts.reduce_axis("k", n)
  local trans = name.product:find "_trans"
  local C = ts.compute("C", { n, n }, function(i, j)
    local b = trans and B(j, r) or B(r, j)
    return ts.sum(ts.cast(A(i, r), acc) * ts.cast(b, acc), r)
  end)
  local p = ts.program("warps", { A, B }, { C })
  local sch = ts.schedule(p)
  local c = sch:get_block "C"
  local out = sch:cache_write(c, 0, "wmma.accumulator")
  local piece = assert(tensor.tile(sch, c, { 16, 16, k }))
  local i, j, steps = sch:get_loops(c)
  sch:bind(i, "blockIdx.x")
  sch:bind(j, "threadIdx.y")
  sch:reverse_compute_at(out, j)
  for operand = 0, 1 do
    local is_a = operand == 0
    local inner = sch:cache_read(c, operand,
                                 is_a and "wmma.matrix_a" or "wmma.matrix_b")
    local outer = sch:cache_read(inner, 0, "shared")
    sch:compute_at(inner, steps)
    sch:compute_at(outer, steps)
    local l = { sch:get_loops(outer) }
    local _, x, v = sch:split(sch:fuse(l[#l - 1], l[#l]), { ts.auto, 32, 4 })
    sch:bind(x, "threadIdx.x")
    sch:vectorize(v)
    local sizes = (is_a or trans) and { 16, k } or { k, 16 }
    sch:tensorize(assert(tensor.tile(sch, inner, sizes)),
                  intrin.use(is_a and name.a or name.b))
  end
  sch:tensorize(assert(tensor.tile(sch, sch:decompose_reduction(c, steps),
                                   { 16, 16 })), intrin.use(name.fill))
  sch:tensorize(piece, intrin.use(name.product))
  sch:tensorize(assert(tensor.tile(sch, out, { 16, 16 })),
                intrin.use(name.store))
  return sch, p
end

for _, x in ipairs {
  { "float16", "float32", 16, "f16", "f32", "f16f16f32" },
  { "bfloat16", "float32", 16, "bf16", "f32", "bf16bf16f32" },
  { "int8", "int32", 32, "i8", "i32", "i8i8i32" },
} do
  local dtype, acc, k, t, sum, kind = table.unpack(x)
  for _, trans in ipairs { "", "_trans_b" } do
    local b_trans = trans ~= "" and "_trans" or ""
    local sch, p = by_warps(64, dtype, acc, k, {
      a = "mma_ldmatrix_" .. t .. "_a",
      b = "mma_ldmatrix_" .. t .. "_b" .. b_trans,
      fill = "mma_fill_16x16_" .. sum, product = "mma_" .. kind .. trans,
      store = "mma_store_16x16_" .. sum .. "_global_" })
    checks.same(sch, p)
    local ptx = ts.build(sch, "cuda -arch=sm_80 -tensor-cores=mma")
                  :source "ptx"
    assert(ptx:find "mma%.sync%.aligned%.m16n8k%d+", kind)
    assert(t == "i8" or ptx:find "ldmatrix%.sync", kind)
  end
end

-- Four products of bytes by a single thread; four bytes are one load.
for _, x in ipairs { { "int8", "int8", "int32", "dp4a_s8s8s32", "s32.s32" },
                     { "int8", "uint8", "int32", "dp4a_s8u8s32", "s32.u32" },
                     { "uint8", "int8", "int32", "dp4a_u8s8s32", "u32.s32" },
                     { "uint8", "uint8", "uint32", "dp4a_u8u8u32",
                       "u32.u32" } } do
  local a, b, acc, name, types = table.unpack(x)
  local A, B = ts.placeholder("A", { 8, 32 }, a), ts.placeholder("B", { 4, 32 },
                                                                 b)
  local k = ts.reduce_axis("k", 32)
  local C = ts.compute("C", { 8, 4 }, function(i, j)
    return ts.sum(ts.cast(A(i, k), acc) * ts.cast(B(j, k), acc), k)
  end)
  local sch = ts.schedule(ts.program("bytes", { A, B }, { C }))
  local c = sch:get_block "C"
  local i, j, kk = sch:get_loops(c)
  local k0, k1 = sch:split(kk, { ts.auto, 4 })
  sch:bind(i, "blockIdx.x")
  sch:bind(j, "threadIdx.x")
  sch:decompose_reduction(c, k0)
  sch:tensorize(k1, intrin.use(name))
  checks.same(sch, ts.program("bytes", { A, B }, { C }))
  local ptx = ts.build(sch, "cuda -arch=sm_70"):source "ptx"
  assert(ptx:find("dp4a." .. types, 1, true) and
         select(2, ptx:gsub("ld%.global%.nc%.[ub]32", "")) == 2 and
         not ptx:find "ld%.global%.nc%.u8", ptx)
end

-- ---- which there are -------------------------------------------------------

local all = intrin.names()
for _, name in ipairs(all) do assert(intrin.use(name) == name) end
local many = 36
for _, family in ipairs { "wmma", "mma", "dp4a", "dae" } do
  many = many + #intrin.names(family)
end
assert(#all == many and #intrin.names "dp4a" == 4)
assert(#intrin.names "wmma" == 44 and #intrin.names "mma" == 38)
for name, first in pairs { wmma_sync_16x16x16_f16f16f32 = "sm_70",
                           wmma_sync_16x16x16_s8s8s32 = "sm_72",
                           mma_i8i8i32 = "sm_72",
                           wmma_sync_16x16x16_bf16bf16f32 = "sm_80" } do
  for _, arch in ipairs { "sm_70", "sm_72", "sm_75", "sm_80", "sm_90a" } do
    assert(intrin.has(name, "cuda -arch=" .. arch) == (arch >= first), name)
  end
  assert(intrin.info(name).needs[1] == first)
end
local info = intrin.info "dot_16x4_vnni"
assert(info.family == "x86" and info.needs[1] == "avx512vnni")
assert(not intrin.has("dot_4x4_i8i8s32_sdot", "llvm"))
assert(not intrin.has("mma_f16f16f32", "llvm"))
assert(intrin.has("mma_f16f16f32", "cuda -arch=sm_80"))
assert(intrin.dot(arm:format "dotprod", "s8s8") == "dot_4x4_i8i8s32_sdot")
assert(intrin.dot(arm:format "neon", "s8s8") == "dot_4x4_i8i8s32_neon")
local none, why = intrin.dot("llvm -mcpu=x86-64", "u8u8")
assert(not none and why:find "no dot products")
fails("INVALID", "no intrinsic 'dot'", intrin.use, "dot")
fails("INVALID", "no dot products of 'f16'", intrin.dot, "llvm", "f16")

-- Each has a page.
local reference = require "tessera.reference.pages"
assert(reference.page "dot_8x4_avx2":find("llvm.x86.avx2.pmadd.wd", 1, true))
assert(reference.index():find("tensor intrinsics", 1, true))
