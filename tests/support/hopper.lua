-- SPDX-License-Identifier: Apache-2.0
-- Tensor intrinsics in the assembly of sm_90a, and programs that use them: a
-- product by wgmma, of what bulk copies (of TMA) bring to shared memory.
local ts = require "tessera"
local hopper = {}

local wgmma = dofile((arg[0]:gsub("[^/]*$", "../../bench/gpu/wgmma.lua")))
local describe = wgmma.describe

-- What one thread of a warp group, 4 warps, computes of 64 x 8n x 16: thread
-- 32 w + 4 r + q has rows 16 w + 8 h + r and columns 8 g + 2 q + c.  Operands
-- are in shared memory by core matrices of 8 x 8, those of a row side by side.
-- The assembly makes the matrices' descriptors out of the addresses of what
-- the thread itself reads.
function hopper.wgmma(n)
  local desc = describe("wgmma",
    { { "input", "A", { 1, 2, 2, 1, 8 }, "float16", "shared" },
      { "input", "B", { n, 2, 1, 2, 8 }, "float16", "shared" },
      { "inout", "C", { 1, 1, 1, n, 2, 2 }, "float32", "local" } },
    { { "spatial", n }, { "spatial", 2 }, { "spatial", 2 }, { "reduce", 2 },
      { "reduce", 8 } },
    function(b, p, g, h, c, kb, k)
      local A, B, C = table.unpack(p)
      b:store(C, { 0, 0, 0, g, h, c }, C(0, 0, 0, g, h, c) +
              ts.cast(A(0, h, kb, 0, k), "float32") *
              ts.cast(B(g, kb, 0, c, k), "float32"))
    end)
  local out, list = {}, {}
  for i = 1, 4 * n do out[i], list[i] = "$" .. i - 1, "=f" end
  for i = 1, 4 * n do list[#list + 1] = tostring(i - 1) end
  local ab = 8 * n -- where the addresses are
  local text = ([[{
.reg .b32 t, w, r, q, a, b;
.reg .b64 da, db;
mov.u32 t, %%tid.x;
shr.u32 w, t, 5;
bfe.u32 r, t, 2, 3;
and.b32 q, t, 3;
mad.lo.u32 a, w, -512, $%d;
mad.lo.u32 a, r, -16, a;
mad.lo.u32 b, q, -32, $%d;
bfe.u32 a, a, 4, 14;
bfe.u32 b, b, 4, 14;
or.b32 a, a, 0x80000;
or.b32 b, b, 0x80000;
mov.b64 da, {a, 16};
mov.b64 db, {b, 16};
fence.proxy.async;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n%dk16.f32.f16.f16 {%s}, da, db, 1, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
}]]):format(ab, ab + 1, 8 * n, table.concat(out, ", "))
  return ts.tensor_intrin{
    name = ("wgmma_64x%dx16"):format(8 * n), desc = desc, override = true,
    impl = ('C = asm("%s", "%s,r,r,~{memory}", C, int32(address(A)), ' ..
            'int32(address(B)))'):format(text, table.concat(list, ",")) }
end

-- A thread has a box of halves, all of them in a row on both sides, copied to
-- shared memory, and waits for them at a barrier of its own.
function hopper.bulk(shape)
  local iters, n = {}, 1
  for _, extent in ipairs(shape) do
    iters[#iters + 1], n = { "spatial", extent }, n * extent
  end
  table.insert(shape, 1, 1)
  local desc = describe("bulk",
    { { "input", "X", shape, "float16" },
      { "output", "Y", shape, "float16", "shared" } },
    iters,
    function(b, p, ...) b:store(p[2], { 0, ... }, p[1](0, ...)) end)
  local text = ([[{
.shared .align 8 .b64 arrived[128];
.reg .pred done;
.reg .b32 m;
mov.u32 m, arrived;
.reg .b32 t;
mov.u32 t, %%tid.x;
mad.lo.u32 m, t, 8, m;
mbarrier.init.shared.b64 [m], 1;
fence.proxy.async;
mbarrier.arrive.expect_tx.shared.b64 _, [m], %d;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
  [$0], [$1], %d, [m];
again:
mbarrier.try_wait.parity.shared.b64 done, [m], 0;
@!done bra again;
mbarrier.inval.shared.b64 [m];
}]]):format(2 * n, 2 * n)
  return ts.tensor_intrin{
    name = "bulk_" .. table.concat(shape, "x"), desc = desc, override = true,
    impl = ('asm("%s", "r,l,~{memory}", int32(address(Y)), address(X))')
           :format(text) }
end

-- C = A B of 64 x 8n * blocks x 16 * steps; operands in core matrices.
function hopper.product(n, blocks, steps)
  local A = ts.placeholder("A", { steps, 4, 2, 2, 8, 8 }, "float16")
  local B = ts.placeholder("B", { steps, n * blocks, 2, 4, 2, 8 }, "float16")
  local s = ts.reduce_axis("s", steps)
  local kb, k = ts.reduce_axis("kb", 2), ts.reduce_axis("k", 8)
  local C = ts.compute("C", { 4, 8, 4, n * blocks, 2, 2 },
                       function(w, r, q, g, h, c)
    return ts.sum(ts.cast(A(s, w, h, kb, r, k), "float32") *
                  ts.cast(B(s, g, kb, q, c, k), "float32"), { s, kb, k })
  end)
  return ts.program("product", { A, B }, { C })
end

-- Scheduled; `bulk`: copies by TMA, else by all threads.
function hopper.schedule(program, n, bulk)
  local sch = ts.schedule(program)
  local c = sch:get_block "C"
  local back = sch:cache_write(c, 0, "local")
  local w, r, q, g, h, cc, s, kb, k = sch:get_loops(c)
  local g0, g1 = sch:split(g, { ts.auto, n })
  sch:reorder(g0, w, r, q, s, g1, h, cc, kb, k)
  sch:bind(g0, "blockIdx.x")
  local t = sch:fuse(w, r, q)
  sch:bind(t, "threadIdx.x")
  sch:reverse_compute_at(back, t)
  for operand = 0, 1 do
    local copy = sch:cache_read(c, operand, "shared")
    sch:compute_at(copy, s)
    local loops = table.pack(sch:get_loops(copy))
    if bulk then
      sch:bind(loops[4], "threadIdx.x")
      sch:tensorize(loops[5], hopper.bulk(operand == 0 and { 2, 2, 8, 8 }
                                          or { 2, 4, 2, 8 }))
    else
      local f = sch:fuse(table.unpack(loops, 4))
      local _, x, v = sch:split(f, { ts.auto, 128, operand == 0 and 8 or 1 })
      sch:bind(x, "threadIdx.x")
      sch:vectorize(v)
    end
  end
  sch:decompose_reduction(c, s)
  sch:tensorize(g1, hopper.wgmma(n))
  return sch
end

return hopper
