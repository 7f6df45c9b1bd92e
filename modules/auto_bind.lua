-- SPDX-License-Identifier: Apache-2.0
-- Binds the spatial loops of blocks that are not bound yet to blocks of
-- threads and threads (MetaSchedule's AutoBind, for GPUs).  They are fused,
-- and cut in two where `max_threadblocks` blocks suffice, or the sizes of the
-- call say how many there are, how long a piece is being sampled; else in
-- three, of which the first is a loop in each thread.
local ts = require "tessera"
local nests = require "tessera.steps.nests"
local sampling = require "tessera.steps.sampling"
local tiling = require "tessera.tiling"

-- The loops around the block, and whether they are bound to blocks of threads
-- and to threads.
local function bindings(sch, block)
  local loops, bound = { sch:get_loops(block) }, {}
  for _, loop in ipairs(loops) do
    local thread = sch:loop_info(loop).thread or ""
    bound[thread:match "^%a+" or ""] = true
  end
  return loops, bound
end

-- As many of the loops as can be, as one; without any, one of one iteration.
local function fused(sch, block, outer)
  return nests.fuse(sch, outer) or
         sch:add_unit_loop((sch:get_loops(block)) or block)
end

-- How many threads share a loop of this extent.
local function threads_of(sch, extent, p)
  local most, list = math.min(extent, p.max_threads), {}
  for _, n in ipairs(p.thread_extents) do
    if n <= most then list[#list + 1] = n end
  end
  return sampling.any(sch, list) or most
end

-- The lengths of vectors that divide the loop, if it is all of the nest; nil
-- where there are none but 1.
local function vectors_of(sch, block, loop, p)
  local extent, list = sch:extent(loop), {}
  local loops = { sch:get_loops(block) }
  if not extent or sch:loop_info(loops[#loops]).iter_type ~= "spatial" or
     #loops > 1 then
    return nil
  end
  for _, n in ipairs(p.vector_lens) do
    if extent % n == 0 and extent // n >= 32 then list[#list + 1] = n end
  end
  if #list < 2 then return nil end
  return sampling.evenly(sch, list), extent // list[#list]
end

local function bind_vectors(sch, loop, length, extent, p)
  local blocks, threads, vector = sch:split(loop, {
    ts.auto, threads_of(sch, extent, p), length })
  sch:bind(blocks, "blockIdx.x")
  sch:bind(threads, "threadIdx.x")
  sch:vectorize(vector)
end

local function bind(sch, block, loop, p)
  local length, least = vectors_of(sch, block, loop, p)
  if length then return bind_vectors(sch, loop, length, least, p) end
  local extent = sch:extent(loop)
  local open = not extent and sch:can("bind", loop, "blockIdx.x")
  extent = extent or math.huge
  if open or extent <= p.max_threadblocks * p.max_threads then
    local blocks, threads = sch:split(loop, { ts.auto,
                                              threads_of(sch, extent, p) })
    sch:bind(blocks, "blockIdx.x")
    sch:bind(threads, "threadIdx.x")
    return
  end
  local rest, blocks, threads = sch:split(loop, {
    ts.auto, p.max_threadblocks, p.max_threads })
  sch:reorder(blocks, threads, rest)
  sch:bind(blocks, "blockIdx.x")
  sch:bind(threads, "threadIdx.x")
end

return ts.module {
  name = "auto_bind",
  parameters = {
    { "max_threadblocks", 256, "how many blocks of threads suffice",
      least = 1 },
    { "max_threads", 1024, "the most threads of a block", least = 1 },
    { "thread_extents", { 32, 64, 128, 256, 512, 1024 }, "how many threads " ..
      "a block may have, one is sampled", least = 1 },
    { "vector_lens", { 1 }, "how many consecutive elements a thread may " ..
      "load and store at once, one is sampled, where all loops are spatial; " ..
      "blocks of threads are then as many as there are, without a loop in " ..
      "each thread", least = 1 },
  },
  apply = function(sch, block, p)
    if #{ sch:get_child_blocks(block) } > 0 then
      return nil, "it holds other blocks"
    end
    if tiling.is_nested(sch, block) then
      return nil, "it is in another block"
    end
    if sch:annotation(block, "tiling_structure") then
      return nil, "it is tiled"
    end
    local loops, bound = bindings(sch, block)
    if bound.blockIdx and bound.threadIdx then
      return nil, "it is bound"
    elseif bound.blockIdx then
      return nil, "it is bound to blocks of threads, but to no threads"
    end
    local outer = { table.unpack(loops, 1, nests.spatial_prefix(sch, loops)) }
    local loop = fused(sch, block, outer)
    if bound.threadIdx then sch:bind(loop, "blockIdx.x")
    else bind(sch, block, loop, p) end
    return sch
  end,
}
