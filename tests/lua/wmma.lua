-- SPDX-License-Identifier: Apache-2.0
-- Matrix products by tensor-core intrinsics, executed warp by warp.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local fails, refused = checks.fails, checks.refused
local tensor = require "tessera.tensor"

local function product(n, trans, dtype, acc)
  local A = ts.placeholder("A", { n, n }, dtype)
  local B = ts.placeholder("B", { n, n }, dtype)
  local k = ts.reduce_axis("k", n)
  local C = ts.compute("C", { n, n }, function(i, j)
    local a, b = A(i, k), trans and B(j, k) or B(k, j)
    if acc ~= dtype then a, b = ts.cast(a, acc), ts.cast(b, acc) end
    return ts.sum(a * b, k)
  end)
  return ts.program("product", { A, B }, { C })
end

-- The last two loops of a block in tiles of 16 x 16; the outer of them.
local function by_tiles(sch, block, intrin)
  sch:tensorize(assert(tensor.tile(sch, block, { 16, 16 })), intrin)
end

-- A warp for each 32 x 32 piece of C, in fragments; operands through shared
-- memory, which all warps fill together.
local function schedule(program, trans, types, short)
  local scope = short == "shared_dyn" and "shared.dyn" or "shared"
  local a_type = types:match "^f16" or "s8"
  local acc = types:match "%a%d%d$"
  local sch = ts.schedule(program)
  local c = sch:get_block "C"
  local out = sch:cache_write(c, 0, "wmma.accumulator")
  local piece = assert(tensor.tile(sch, c, { 16, 16, 16 }))
  local i, j, k = sch:get_loops(c)
  local i0, i1 = sch:split(i, { ts.auto, 2 })
  local j0, j1 = sch:split(j, { ts.auto, 2 })
  sch:reorder(i0, j0, k, i1, j1)
  sch:bind(i0, "blockIdx.x")
  sch:bind(j0, "threadIdx.y")
  sch:reverse_compute_at(out, j0)
  local fragment = { "wmma.matrix_a", "wmma.matrix_b" }
  for operand = 0, 1 do
    local inner = sch:cache_read(c, operand, fragment[operand + 1])
    local outer = sch:cache_read(inner, 0, scope)
    sch:compute_at(inner, k)
    sch:compute_at(outer, k)
    local loops = table.pack(sch:get_loops(outer))
    local f = sch:fuse(loops[#loops - 1], loops[#loops])
    local _, y, x, v = sch:split(f, { ts.auto, 2, 32, 4 })
    sch:bind(y, "threadIdx.y")
    sch:bind(x, "threadIdx.x")
    sch:vectorize(v)
    by_tiles(sch, inner, tensor.wmma("wmma_load_16x16x16_" .. a_type .. "_" ..
      (operand == 0 and "a" or trans and "b_trans" or "b") .. "_" .. short))
  end
  local start = sch:decompose_reduction(c, k)
  by_tiles(sch, start, tensor.wmma("wmma_fill_16x16x16_" .. acc))
  sch:tensorize(piece, tensor.wmma("wmma_sync_16x16x16_" .. types ..
                                   (trans and "_trans" or "")))
  by_tiles(sch, out, tensor.wmma("wmma_store_16x16x16_" .. acc .. "_global"))
  return sch
end

local function count(text, what)
  local _, n = text:gsub(what, "")
  return n
end

for _, case in ipairs{
  { "float16", "float32", false, "f16f16f32", "shared" },
  { "float16", "float32", true, "f16f16f32", "shared_dyn" },
  { "float16", "float16", true, "f16f16f16", "shared" },
  { "int8", "int32", false, "s8s8s32", "shared_dyn" },
} do
  local dtype, acc, trans, types, short = table.unpack(case)
  local program = product(64, trans, dtype, acc)
  local sch = schedule(program, trans, types, short)
  checks.same(sch, program)
  local kernel = ts.lower(sch)
  local text = tostring(kernel)
  assert(text:find("in threadIdx.x(32)", 1, true), text)
  assert(count(text, "in warp%(1%)") == 5, text)
  assert(count(text, "barrier shared") == 3, text)
  assert(kernel:verify())
  local a = ts.tensor(dtype, { 64, 64 }, "integers", 1)
  local b = ts.tensor(dtype, { 64, 64 }, "integers", 2)
  local got = ts.tensor(acc, { 64, 64 }, "zeros")
  local want = ts.tensor(acc, { 64, 64 }, "zeros")
  ts.interpret(program, { a, b, want })
  ts.interpret(kernel, { a, b, got })
  assert(got:compare(want) == 0)
end

-- All of them can be declared; other names cannot.
local names = tensor.wmma_names()
assert(#names == 24 + 8 + 3 + 9)
for _, name in ipairs(names) do assert(tensor.wmma(name) == name) end
fails(nil, "no intrinsic 'wmma_load_8x8x32", tensor.wmma,
      "wmma_load_8x8x32_s4_a_shared")

-- What does not fit is refused: another scope, another type.
local program = product(64, false, "float16", "float32")
local sch = ts.schedule(program)
local c = sch:get_block "C"
local piece = assert(tensor.tile(sch, c, { 16, 16, 16 }))
local _, _, k = sch:get_loops(c)
sch:decompose_reduction(c, k)
local e = refused(sch, "INTRIN_MISMATCH", "tensorize", piece,
                  "wmma_sync_16x16x16_f16f16f32")
assert(e.message:find "the storage scope of a parameter is ", e.message)
refused(sch, "INTRIN_MISMATCH", "tensorize", piece,
        "wmma_sync_16x16x16_s8s8s32")
