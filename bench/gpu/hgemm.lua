-- SPDX-License-Identifier: Apache-2.0
-- Products of float16 matrices scheduled by hand for tensor cores: sums in
-- float32 by mma.sync or wmma, operands by asynchronous copies through shared
-- memory whose rows are padded, fragments loaded one step ahead.
local ts = require "tessera"
local tensor = require "tessera.tensor"
local hgemm = {}

-- C[m, n] = A[m, k] B, B[k, n] or, `trans`, [n, k]; float16 out, or float32;
-- `bias`: max(C + bias, 0) instead.
function hgemm.program(o)
  local A = ts.placeholder("A", { o.m, o.k }, "float16")
  local B = ts.placeholder("B", o.trans and { o.n, o.k } or { o.k, o.n },
                           "float16")
  local k = ts.reduce_axis("k", o.k)
  local C = ts.compute("C", { o.m, o.n }, function(i, j)
    local b = o.trans and B(j, k) or B(k, j)
    return ts.sum(ts.cast(A(i, k), "float32") * ts.cast(b, "float32"), k)
  end)
  local name = o.trans and "hgemm_trans" or "hgemm"
  if o.out == "float32" then return ts.program(name, { A, B }, { C }) end
  local bias = o.bias and ts.placeholder("bias", { o.n }, "float32")
  local D = ts.compute("D", { o.m, o.n }, function(i, j)
    if not bias then return ts.cast(C(i, j), "float16") end
    return ts.cast(ts.max(C(i, j) + bias(j), 0), "float16")
  end)
  return ts.program(name, { A, B, bias or nil }, { D })
end

-- A tile of an operand, by all threads of the block, 16 bytes each at a time.
local function fetch(sch, piece, operand, at, o, warps)
  local copy = sch:cache_read(piece, operand, "shared.dyn")
  sch:compute_at(copy, at)
  local loops = table.pack(sch:get_loops(copy))
  local f = sch:fuse(loops[#loops - 1], loops[#loops])
  local _, y, x, v = sch:split(f, { ts.auto, warps, 32, 8 })
  sch:vectorize(v)
  sch:bind(x, "threadIdx.x")
  sch:bind(y, "threadIdx.y")
  if o.pad > 0 then sch:storage_align(copy, 0, 0, 4 * o.pad, o.pad) end
  return copy
end

-- bm, bn, bk: of a block; wm, wn: of a warp; stages: tiles that are on their
-- way or in use; pad: elements between the rows of a tile; group: rows of
-- blocks that run side by side; ahead: fragments are loaded a step before they
-- are used, also across tiles.
function hgemm.schedule(program, o)
  local sch = ts.schedule(program)
  local c = sch:get_block "C"
  local back = o.out ~= "float32" and sch:get_block "D"
  local warps = o.bm // o.wm * (o.bn // o.wn)
  local i, j, k = sch:get_loops(c)
  local i0, i1, i2, i3 = sch:split(i, { ts.auto, o.bm // o.wm, o.wm // 16, 16 })
  local j0, j1, j2, j3 = sch:split(j, { ts.auto, o.bn // o.wn, o.wn // 16, 16 })
  local k0, k1, k3 = sch:split(k, { ts.auto, o.bk // 16, 16 })
  local ig, ir = sch:split(i0, { ts.auto, o.group })
  sch:reorder(ig, j0, ir, i1, j1, k0, k1, i2, j2, i3, j3, k3)
  local piece = sch:blockize(i3)
  sch:annotate(piece, "warp_execution", 1)
  sch:bind(sch:fuse(ig, j0, ir), "blockIdx.x")
  local warp = sch:fuse(i1, j1)
  sch:bind(warp, "threadIdx.y")
  local stored = sch:write_at(warp, piece, 0, "wmma.accumulator")
  if back then sch:reverse_compute_inline(back) end
  sch:annotate(stored, "vector_bytes", 16)
  for operand = 0, 1 do fetch(sch, piece, operand, k0, o, warps) end
  sch:read_at(k1, piece, 0, "wmma.matrix_a")
  sch:read_at(k1, piece, 1, "wmma.matrix_b")
  local last = o.stages - 1
  sch:annotate(k0, "software_pipeline_async_stages", { 0 })
  if o.ahead then
    sch:annotate(k1, "software_pipeline_stage", { 0, 0, 1 })
    sch:annotate(k1, "software_pipeline_order", { 0, 1, 2 })
    sch:annotate(k0, "software_pipeline_stage", { 0, 0, last - 1, last, last })
    sch:annotate(k0, "software_pipeline_order", { 1, 2, 3, 0, 4 })
  else
    sch:annotate(k0, "software_pipeline_stage", { 0, 0, last })
    sch:annotate(k0, "software_pipeline_order", { 0, 1, 2 })
  end
  sch:tensorize(sch:decompose_reduction(piece, k0),
                tensor.wmma "wmma_fill_16x16x16_f32")
  sch:tensorize(piece, tensor.wmma("wmma_sync_16x16x16_f16f16f32" ..
                                   (o.trans and "_trans" or "")))
  return sch
end

return hgemm
