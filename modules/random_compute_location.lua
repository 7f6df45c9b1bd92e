-- SPDX-License-Identifier: Apache-2.0
-- Chooses at which loop of its consumers a block is computed, for blocks that
-- no tiling placed (MetaSchedule's RandomComputeLocation).  Where a block's
-- reduction was split by rfactor, its producer, which makes the partial
-- results, follows it.
--
-- `open`: the location is sampled, so that how many loops are around the block
-- is not known afterwards: it must be the last module that looks at loops.
-- With false each location is a sketch of its own: where the block is, and
-- under each spatial loop of its consumer, from the innermost out, up to
-- `most` of them.
local ts = require "tessera"
local options = require "tessera.options"

local function compute_somewhere(sch, block)
  sch:compute_at(block, sch:sample_compute_location(block),
                 { preserve_unit_loops = true })
end

-- The schedule, and a copy for each loop of the consumer where the block can
-- be.
local function compute_everywhere(sch, block, most)
  local list, places = { sch }, {}
  local consumer = sch:get_consumers(block)
  for _, loop in ipairs { sch:get_loops(consumer) } do
    if sch:loop_info(loop).iter_type ~= "spatial" then break end
    if sch:can("compute_at", block, loop) then
      table.insert(places, 1, loop)
    end
  end
  for i = 1, math.min(#places, most) do
    local copy = sch:copy()
    copy:compute_at(block, places[i], { preserve_unit_loops = true })
    list[#list + 1] = copy
  end
  return list
end

-- Why it is not to be moved; nil: it is.
local function refusal(sch, block)
  local loops = { sch:get_loops(block) }
  if #loops == 0 then return "it has no loops" end
  if #{ sch:get_child_blocks(loops[1]) } > 1 then
    return "it shares its outermost loop with other blocks"
  end
  if sch:annotation(block, "tiling_structure") then return "it is tiled" end
  if #{ sch:get_consumers(block) } == 0 then return "nothing reads it" end
end

local function move_open(sch, block)
  local producer
  if sch:annotation(block, "random_compute_producer") then
    producer = sch:get_producers(block)
    sch:unannotate(block, "random_compute_producer")
  end
  compute_somewhere(sch, block)
  if producer then compute_somewhere(sch, producer) end
  return sch
end

return ts.module {
  name = "random_compute_location",
  defaults = { open = true, most = 1 },
  check = function(p)
    if type(p.open) ~= "boolean" then
      return options.unusable("open", p.open, "it is true or false")
    end
    return options.not_positive("most", p.most)
  end,
  apply = function(sch, block, p)
    local why = refusal(sch, block)
    if why then return nil, why end
    if p.open then return move_open(sch, block) end
    local list = compute_everywhere(sch, block, p.most)
    if #list == 1 then return nil, "no loop of its consumer can have it" end
    return list
  end,
}
