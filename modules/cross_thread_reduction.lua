-- SPDX-License-Identifier: Apache-2.0
-- Lets the threads of a block of threads share a reduction that has few
-- spatial iterations (MetaSchedule's CrossThreadReduction, for GPUs).  The
-- reduction loops are fused and cut, the inner part bound to threadIdx.x; a
-- block that reads the result, and that tiling does not suit, is bound to the
-- same threads, and the reduction computed in shared memory where it is
-- wanted.
--
-- `thread_extents`: how many threads there may be, one of which is sampled.
-- `max_threads`: the most that a block of threads has; a reduction that
-- multi-level tiling suits is left to it when it has more spatial iterations.
--
-- Sketches: the threads sharing the reduction, and the program as it was.
local ts = require "tessera"
local options = require "tessera.options"

local axis = "threadIdx.x"

-- The loop around the block that is bound to that axis; nil: none is.
local function thread_loop(sch, loops)
  for _, loop in ipairs(loops) do
    if sch:loop_info(loop).thread == axis then return loop end
  end
end

-- The innermost loop around the consumer under which the block can be: spatial
-- ones stand around it, and other consumers are under it, too.
local function place(sch, block, loops)
  local found
  for _, loop in ipairs(loops) do
    if sch:loop_info(loop).iter_type ~= "spatial" or
       not sch:can("compute_at", block, loop) then
      break
    end
    found = loop
  end
  return found
end

-- How many loops stand outermost in a nest that spatial iters alone drive.
local function spatial_loops(sch, block)
  local n = 0
  for _, loop in ipairs { sch:get_loops(block) } do
    if sch:loop_info(loop).iter_type ~= "spatial" then break end
    n = n + 1
  end
  return n
end

-- Moves the block under its consumer, whose innermost loop the threads share;
-- how many threads there are: as sampled, or as the consumer has.
local function join_consumer(sch, block, threads)
  local consumer = sch:get_consumers(block)
  if not consumer or sch:block_info(block).writes ~= 1 or
     sch:needs_multi_level_tiling(consumer) then
    return threads
  end
  local loops = { sch:get_loops(consumer) }
  local bound = thread_loop(sch, loops)
  local last = math.min(#loops, spatial_loops(sch, block))
  local under = place(sch, block, { table.unpack(loops, 1, last) })
  if not under then return threads end
  if bound then
    local count = sch:factor(bound)
    if not count or sch:annotation(under, "thread") then return threads end
    threads = count
  else
    local inner = loops[#loops]
    local outer, shared = sch:split(inner, { ts.auto, threads })
    if under == inner then under = outer end
    sch:bind(shared, axis)
  end
  sch:compute_at(block, under, { preserve_unit_loops = true })
  sch:set_scope(block, 0, "shared")
  return threads
end

-- The loops of reduce iters moved inside, fused, and shared by the threads.
local function share_reduction(sch, block, threads)
  local outer, reduce = {}, {}
  for _, loop in ipairs { sch:get_loops(block) } do
    local list = sch:loop_info(loop).iter_type == "reduce" and reduce or outer
    list[#list + 1] = loop
  end
  local first = outer[#outer]
  if #reduce > 1 or first then sch:reorder(reduce) end
  local fused = #reduce > 1 and sch:fuse(table.unpack(reduce)) or reduce[1]
  local _, shared = sch:split(fused, { ts.auto, threads })
  sch:bind(shared, axis)
end

local function shared(sch, block, p)
  local even = {}
  for i = 1, #p.thread_extents do even[i] = 1 / #p.thread_extents end
  local threads = sch:sample_categorical(p.thread_extents, even)
  local joined = sch:copy()
  local ok, count = pcall(join_consumer, joined, block, threads)
  if ok then
    ok = pcall(share_reduction, joined, block, count)
    if ok then return joined end
  end
  share_reduction(sch, block, threads)
  return sch
end

return ts.module {
  name = "cross_thread_reduction",
  defaults = { thread_extents = { 4, 8, 16, 32, 64, 128, 256, 512 },
               max_threads = 1024 },
  check = function(p)
    return options.not_positive("max_threads", p.max_threads) or
           options.not_extents("thread_extents", p.thread_extents)
  end,
  apply = function(sch, block, p)
    if not sch:needs_rfactor(block, p.max_threads) then
      return nil, "it is no reduction, or has enough spatial iterations"
    end
    local as_it_was = sch:copy()
    return { shared(sch, block, p), as_it_was }
  end,
}
