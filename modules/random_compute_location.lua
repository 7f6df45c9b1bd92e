-- SPDX-License-Identifier: Apache-2.0
-- Chooses at which loop of its consumers a block is computed, for blocks that
-- no tiling placed (MetaSchedule's RandomComputeLocation).  Where a block's
-- reduction was split by rfactor, the partial results have a place of their
-- own.
--
-- `open`: the location is sampled, so that how many loops are around the block
-- is not known afterwards: it must be the last module that looks at loops.
-- With false each location is a sketch of its own: where the block is, and
-- under each spatial loop of its consumer, from the innermost out, up to
-- `most` of them; but not where it would be computed more than `again` times.
-- `fuse`: where it is computed just once there, and the loops around it leave
-- work for all cores, it is not left where it is.
local ts = require "tessera"
local options = require "tessera.options"

local function compute_somewhere(sch, block)
  sch:compute_at(block, sch:sample_compute_location(block),
                 { preserve_unit_loops = true })
end

-- How many times each element that the consumer reads of the block is computed
-- when the block is under loop number n of the consumer; nil: not known.
local function times(sch, block, consumer, loops, n)
  local buffer, iterations = sch:access_info(block, "write", 0).buffer, 1
  for i = 1, n do
    iterations = iterations * (sch:extent(loops[i]) or 1)
  end
  for r = 0, sch:block_info(consumer).reads - 1 do
    if sch:access_info(consumer, "read", r).buffer == buffer then
      local part = sch:footprint(consumer, "read", r, loops[n])
      local all = sch:footprint(block, "write", 0)
      return part and all and part * iterations / all, iterations
    end
  end
end

-- The schedule, and a copy for each loop of the consumer where the block can
-- be.
local function compute_everywhere(sch, block, p)
  local places, once = {}, nil
  local consumer = sch:get_consumers(block)
  local loops, target = { sch:get_loops(consumer) }, sch:target()
  local cores = target and target:get "num-cores" or 1
  for n, loop in ipairs(loops) do
    if sch:loop_info(loop).iter_type ~= "spatial" then break end
    local again, iterations = times(sch, block, consumer, loops, n)
    if sch:can("compute_at", block, loop) and
       not (again and again > p.again) then
      table.insert(places, 1, loop)
      once = again and again <= 1 and iterations >= 4 * cores
    end
  end
  local list = { not (p.fuse and once) and sch or nil }
  for i = 1, math.min(#places, p.most) do
    local copy = sch:copy()
    copy:compute_at(block, places[i], { preserve_unit_loops = true })
    list[#list + 1] = copy
  end
  return list, #places
end

-- Why it is not to be moved; nil: it is.
local function refusal(sch, block)
  local loops = { sch:get_loops(block) }
  if #loops == 0 then return "it has no loops" end
  if #{ sch:get_child_blocks(loops[1]) } > 1 then
    return "it shares its outermost loop with other blocks"
  end
  if sch:annotation(block, "tiling_structure") then return "it is tiled" end
  if sch:annotation(block, "layout_prepare") then
    return "it lays a parameter out, beforehand"
  end
  if #{ sch:get_consumers(block) } == 0 then return "nothing reads it" end
end

-- The partial results of a split reduction are a block of their own, for which
-- the module is called, too.
local function move_open(sch, block)
  if sch:annotation(block, "random_compute_producer") then
    sch:unannotate(block, "random_compute_producer")
  end
  compute_somewhere(sch, block)
  return sch
end

return ts.module {
  name = "random_compute_location",
  defaults = { open = true, most = 1, again = 2, fuse = false },
  check = function(p)
    for _, name in ipairs { "open", "fuse" } do
      if type(p[name]) ~= "boolean" then
        return options.unusable(name, p[name], "it is true or false")
      end
    end
    if type(p.again) ~= "number" or p.again < 1 then
      return options.unusable("again", p.again, "it is a number from 1 on")
    end
    return options.not_positive("most", p.most)
  end,
  apply = function(sch, block, p)
    local why = refusal(sch, block)
    if why then return nil, why end
    if p.open then return move_open(sch, block) end
    local list, places = compute_everywhere(sch, block, p)
    if places == 0 then return nil, "no loop of its consumer can have it" end
    return list
  end,
}
