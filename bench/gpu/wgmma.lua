-- SPDX-License-Identifier: Apache-2.0
-- Products of float16 matrices scheduled by hand for wgmma of sm_90a: warp
-- groups of 128 threads compute 64 rows each, sums in float32 in registers,
-- operands by asynchronous copies in shared memory.  Rows of 8 elements of k
-- lie one after the other there, padded where the next 8 elements of k begin:
-- core matrices without swizzle, in distinct banks also when they are written.
local ts = require "tessera"
local wgmma = {}

-- ---- the instruction -------------------------------------------------------

-- One block over a tile: body(builder, parameters, iters...).
function wgmma.describe(name, params, iters, body)
  local b, p = ts.builder(name), {}
  for i, x in ipairs(params) do p[i] = b[x[1]](b, table.unpack(x, 2)) end
  local function nest(k, vars)
    if k > #iters then
      b:block("tile", vars, function(...) body(b, p, ...) end)
      return
    end
    b:loop("i" .. k, 0, iters[k][2], function(v)
      vars[k] = { "v" .. k, iters[k][1], extent = iters[k][2], bind = v }
      nest(k + 1, vars)
    end)
  end
  nest(1, {})
  return b:program()
end

local wait = "wgmma.wait_group.sync.aligned 0;"

-- 64 x bn x bk by a warp group, what one thread of it has: thread
-- 32 w + 4 r + q of the group has rows 16 w + 8 h + r and columns
-- 8 g + 2 q + c.  The operands' addresses are those of the first element that
-- the thread itself reads.  The descriptors' strides, in units of 16 bytes, are
-- 8 for 8 rows, and that of dimension 0 for 8 elements of k.  `lead`: it waits
-- for the group before, not for its own, so that copies are issued while it
-- runs; versions of tiles that are overwritten meanwhile must be two steps old,
-- and `wgmma.done` ends it.
function wgmma.intrinsic(o)
  local n, kb = o.bn // 8, o.bk // 8
  local desc = wgmma.describe("wgmma",
    { { "input", "A", { kb, 1, 2, 1, 8 }, "float16", "shared.dyn" },
      { "input", "B", { kb, n, 1, 2, 8 }, "float16", "shared.dyn" },
      { "inout", "C", { 1, 1, n, 2, 1, 2 }, "float32", "local" } },
    { { "spatial", n }, { "spatial", 2 }, { "spatial", 2 }, { "reduce", kb },
      { "reduce", 8 } },
    function(b, p, g, h, c, s, k)
      local A, B, C = table.unpack(p)
      b:store(C, { 0, 0, g, h, 0, c }, C(0, 0, g, h, 0, c) +
              ts.cast(A(s, 0, h, 0, k), "float32") *
              ts.cast(B(s, g, 0, c, k), "float32"))
    end)
  local out, list = {}, {}
  for i = 1, 4 * n do out[i], list[i] = "$" .. i - 1, "=f" end
  for i = 1, 4 * n do list[#list + 1] = tostring(i - 1) end
  local ab, acc = 8 * n, table.concat(out, ", ")
  local t = { ([[{
.reg .b32 t, w, r, q, a, b, s;
.reg .b64 da, db, sa, sb;
mov.u32 t, %%tid.x;
bfe.u32 w, t, 5, 2;
bfe.u32 r, t, 2, 3;
and.b32 q, t, 3;
mad.lo.u32 a, w, -256, $%d;
mad.lo.u32 a, r, -16, a;
mad.lo.u32 b, q, -32, $%d;
bfe.u32 a, a, 4, 14;
bfe.u32 b, b, 4, 14;
cvt.u32.u64 s, $%d;
shl.b32 s, s, 12;
or.b32 a, a, s;
cvt.u32.u64 s, $%d;
shl.b32 s, s, 12;
or.b32 b, b, s;
shr.u64 sa, $%d, 3;
shr.u64 sb, $%d, 3;
mov.b64 da, {a, 8};
mov.b64 db, {b, 8};
%s
fence.proxy.async.shared::cta;
wgmma.fence.sync.aligned;]]):format(ab, ab + 1, ab + 2, ab + 3, ab + 2, ab + 3,
                                    o.lead and wait or "") }
  for s = 1, o.bk // 16 do
    t[#t + 1] = ("wgmma.mma_async.sync.aligned.m64n%dk16.f32.f16.f16 " ..
                 "{%s}, da, db, 1, 1, 1, 0, 0;"):format(o.bn, acc)
    if s < o.bk // 16 then
      t[#t + 1] = "add.u64 da, da, sa;\nadd.u64 db, db, sb;"
    end
  end
  t[#t + 1] = "wgmma.commit_group.sync.aligned;"
  t[#t + 1] = (o.lead and "" or wait) .. "\n}"
  return ts.tensor_intrin{
    name = ("wgmma_64x%dx%d_of_%d"):format(o.bn, o.bk, o.bm), desc = desc,
    override = true,
    impl = ('C = asm("%s", "%s,r,r,l,l,~{memory}", C, int32(address(A)), ' ..
            'int32(address(B)), bytes(A, 0), bytes(B, 0))')
           :format(table.concat(t, "\n"), table.concat(list, ",")) }
end

-- What a thread has of the sum, once it is complete: the same registers.
function wgmma.done(o)
  local n, list = o.bn // 8, {}
  local shape = { 1, 1, n, 2, 1, 2 }
  local desc = wgmma.describe("wgmma",
    { { "input", "C", shape, "float32", "local" },
      { "output", "E", shape, "float32", "local" } },
    { { "spatial", n }, { "spatial", 2 }, { "spatial", 2 } },
    function(b, p, g, h, c)
      b:store(p[2], { 0, 0, g, h, 0, c }, p[1](0, 0, g, h, 0, c))
    end)
  for i = 1, 4 * n do list[i] = "=f" end
  for i = 1, 4 * n do list[#list + 1] = tostring(i - 1) end
  return ts.tensor_intrin{
    name = ("wgmma_done_%d"):format(o.bn), desc = desc, override = true,
    impl = ('E = asm("%s", "%s,~{memory}", C)')
           :format(wait, table.concat(list, ",")) }
end

-- ---- the schedule ----------------------------------------------------------

local function fetch(sch, c, operand, at, o)
  local copy = sch:cache_read(c, operand, "shared.dyn")
  sch:transform_layout(copy, { "write", 0 }, operand == 0 and
    function(i, k) return k // 8, i // 16, i // 8 % 2, i % 8, k % 8 end or
    function(j, k) return k // 8, j // 8, j // 2 % 4, j % 2, k % 8 end)
  return copy
end

local function place(sch, copy, at, o)
  sch:compute_at(copy, at)
  local loops = table.pack(sch:get_loops(copy))
  local f = sch:fuse(loops[#loops - 1], loops[#loops])
  local _, x, v = sch:split(f, { ts.auto, 2 * o.bm, 8 })
  sch:vectorize(v)
  sch:bind(x, "threadIdx.x")
  sch:storage_align(copy, 0, 0, 64, o.pad)
end

-- program: hgemm.program with trans; bm, bn, bk: of a block; stages: tiles on
-- their way or in use; pad: elements; group: rows of blocks side by side.
-- Where 16 bm does not divide bn bk only some threads copy the last elements,
-- and the tile in shared memory has room for what the others would copy.
function wgmma.schedule(program, o)
  local sch = ts.schedule(program)
  local c, d = sch:get_block "C", sch:get_block "D"
  local a, b = fetch(sch, c, 0), fetch(sch, c, 1)
  local back = sch:cache_write(c, 0, "local")
  sch:reverse_compute_inline(d)
  sch:transform_layout(c, { "write", 0 }, function(i, j)
    return i // 16, i % 8, j // 8, i // 8 % 2, j // 2 % 4, j % 2
  end)
  sch:transform_block_layout(c, function(i, j, k)
    return i // 16, i % 8, j // 8, i // 8 % 2, j // 2 % 4, j % 2, k // 8, k % 8
  end)
  sch:transform_block_layout(back, function(i, j)
    return i // 16, i % 8, j // 8, i // 8 % 2, j // 2 % 4, j % 2
  end)
  local i, r, g, h, q, cc, s, k = sch:get_loops(c)
  local i0, i1 = sch:split(i, { ts.auto, o.bm // 16 })
  local g0, g1 = sch:split(g, { ts.auto, o.bn // 8 })
  local s0, s1 = sch:split(s, { ts.auto, o.bk // 8 })
  local ig, ir = sch:split(i0, { ts.auto, o.group })
  sch:reorder(ig, g0, ir, i1, r, q, s0, g1, h, cc, s1, k)
  sch:bind(sch:fuse(ig, g0, ir), "blockIdx.x")
  local t = sch:fuse(i1, r, q)
  sch:bind(t, "threadIdx.x")
  sch:reverse_compute_at(back, t)
  local loops = table.pack(sch:get_loops(back))
  sch:vectorize(loops[#loops])
  if o.lead then
    local done = sch:cache_read(back, 0, "local")
    loops = table.pack(sch:get_loops(done))
    sch:fuse(loops[#loops - 1], loops[#loops])
    sch:tensorize(loops[#loops - 3], wgmma.done(o))
  end
  place(sch, a, s0, o)
  place(sch, b, s0, o)
  local last = o.stages - 1
  sch:annotate(s0, "software_pipeline_async_stages", { 0 })
  sch:annotate(s0, "software_pipeline_stage", { 0, 0, last })
  sch:annotate(s0, "software_pipeline_order",
               o.lead and { 1, 2, 0 } or { 0, 1, 2 })
  if o.lead then
    sch:annotate(s0, "software_pipeline_versions", o.stages + 1)
  end
  sch:decompose_reduction(c, s0)
  sch:tensorize(g1, wgmma.intrinsic(o))
  return sch
end

return wgmma
