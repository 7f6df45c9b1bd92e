-- SPDX-License-Identifier: Apache-2.0
-- Lets the threads of a block of threads share a reduction that has few
-- spatial iterations (MetaSchedule's CrossThreadReduction, for GPUs).  The
-- reduction loops are fused and cut, the inner part bound to threadIdx.x; a
-- block that reads the result, and that tiling does not suit, is bound to the
-- same threads, and the reduction computed in shared memory where it is
-- wanted.
--
-- Sketches: the threads sharing the reduction, with `parts` also blocks of
-- them, where updates can be atomic, and the program as it was.
local ts = require "tessera"
local reductions = require "tessera.steps.reductions"
local sampling = require "tessera.steps.sampling"
local tiling = require "tessera.tiling"

local axis = "threadIdx.x"

local function share_reduction(sch, block, threads, vector)
  local fused = reductions.fuse(sch, block)
  local _, shared = sch:split(fused, { ts.auto, threads, vector })
  sch:bind(shared, axis)
end

-- Those of the lengths that divide all reductions of the block, and leave each
-- thread of a warp some.
local function vectors_of(sch, block, p)
  local list, extent = {}, 1
  for _, loop in ipairs { sch:get_loops(block) } do
    if sch:loop_info(loop).iter_type == "reduce" then
      extent = sch:extent(loop) or 1
    end
  end
  for _, n in ipairs(p.vector_lens) do
    if n == 1 or extent % n == 0 and extent >= 32 * n then
      list[#list + 1] = n
    end
  end
  return list[1] and list or { 1 }
end

local WIDTH = 32

-- Whether what is read lies along the innermost spatial loop, which is long
-- enough for a row of threads.
local function reads_along_spatial(sch, block)
  local spatial, inner = 0, nil
  for i, loop in ipairs { sch:get_loops(block) } do
    if sch:loop_info(loop).iter_type == "spatial" then
      spatial, inner = i, loop
    end
  end
  if not inner or (sch:extent(inner) or 0) % WIDTH > 0 then return false end
  local dims = sch:access_info(block, "read", 0).dims
  return #dims > 0 and dims[#dims] == spatial
end

local function share_columns(sch, block, p)
  local height = sampling.any(sch, p.rows)
  local fused, inner = reductions.fuse(sch, block)
  local _, columns = sch:split(inner, { ts.auto, WIDTH })
  sch:bind(columns, axis)
  local _, rows = sch:split(fused, { ts.auto, height })
  sch:bind(rows, "threadIdx.y")
  return sch
end

local function shared(sch, block, p)
  local threads = sampling.any(sch, p.thread_extents)
  local vector = sampling.any(sch, vectors_of(sch, block, p))
  local joined = sch:copy()
  local ok, count = pcall(reductions.join_consumer, joined, block, threads,
                          vector)
  if ok then
    ok = pcall(share_reduction, joined, block, count, vector)
    if ok then return joined end
  end
  share_reduction(sch, block, threads, vector)
  return sch
end

-- OpenCL 1.2 updates 32 bits atomically; CUDA also 64, and float16.
local function check_atomics(sch, block)
  local target, written = sch:target(), sch:access_info(block, "write", 0)
  if not target or not tostring(target):find "^opencl%f[%s\0]" or
     written.dtype:match "%d+$" == "32" then
    return
  end
  tiling.refuse("%s is %s, and the target 'opencl' updates elements of 32 " ..
                "bits atomically", written.buffer, written.dtype)
end

-- Each block of threads reduces a part of a result to a value of its own, and
-- adds it to the result.
local function share_parts(sch, block, p)
  check_atomics(sch, block)
  local threads = sampling.any(sch, p.thread_extents)
  local fused = reductions.fuse(sch, block)
  local part = sch:rfactor((sch:split(fused, { sampling.any(sch, p.parts),
                                               ts.auto })))
  local loops = { sch:get_loops(part) }
  local inner, outer = table.remove(loops), table.remove(loops)
  local result = #loops > 1 and sch:fuse(table.unpack(loops)) or loops[1] or
                 sch:add_unit_loop(outer)
  sch:reorder(outer, result)
  sch:set_scope(part, 0, "local")
  sch:reverse_compute_at(block, result)
  sch:decompose_reduction(block, outer)
  sch:bind(outer, "blockIdx.y")
  sch:bind(result, "blockIdx.x")
  sch:bind(select(2, sch:split(inner, { ts.auto, threads })), axis)
end

return ts.module {
  name = "cross_thread_reduction",
  parameters = {
    { "thread_extents", { 4, 8, 16, 32, 64, 128, 256, 512 }, "how many " ..
      "threads there may be, one is sampled", least = 1 },
    { "vector_lens", { 1 }, "how many consecutive elements a thread takes " ..
      "at a time, one is sampled", least = 1 },
    { "rows", {}, "how many threads may share a reduction along another " ..
      "dimension than the fastest one of what is read; a row of 32 threads " ..
      "then has neighbouring results, so that their accesses are to one " ..
      "stretch of memory; empty: they are shared as all others", least = 1 },
    { "parts", {}, "how many blocks of threads may share a long reduction, " ..
      "whose results they update atomically in global memory after a kernel " ..
      "that initializes them: sums of floats then round in any order, from " ..
      "run to run; empty: none do", least = 1 },
    { "max_threads", 1024, "the most threads of a block; with more spatial " ..
      "iterations a reduction that multi-level tiling suits is left to it",
      least = 1 },
  },
  apply = function(sch, block, p)
    if not sch:needs_rfactor(block, p.max_threads) then
      return nil, "it is no reduction, has enough spatial iterations, or " ..
                  "how many it has is not a constant"
    end
    local as_it_was, list, why = sch:copy(), {}, nil
    if #p.parts > 0 then
      list[1], why = tiling.attempt(sch, share_parts, block, p)
      why = why and "no parts: " .. why
    end
    local by_threads = #p.rows > 0 and reads_along_spatial(sch, block) and
                       share_columns or shared
    table.insert(list, 1, by_threads(sch, block, p))
    list[#list + 1] = as_it_was
    return list, why
  end,
}
