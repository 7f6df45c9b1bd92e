-- SPDX-License-Identifier: Apache-2.0
-- Chooses at which loop of its consumers a block is computed, for blocks that
-- no tiling placed (MetaSchedule's RandomComputeLocation).  Where a block's
-- reduction was split by rfactor, the partial results have a place of their
-- own.
local ts = require "tessera"
local placing = require "tessera.steps.placing"
local placing_together = require "tessera.steps.placing_together"

local function compute_somewhere(sch, block)
  sch:compute_at(block, sch:sample_compute_location(block),
                 { preserve_unit_loops = true })
end

-- The schedule, and a copy for each loop of the consumer where the block can
-- be.
local function compute_everywhere(sch, block, p)
  local places, _, enough = placing.places(sch, block, p)
  local list = { not (p.fuse and enough) and sch or nil }
  for i = 1, math.min(#places, p.most) do
    local copy = sch:copy()
    placing.move(copy, block, places[i])
    list[#list + 1] = copy
  end
  return list, #places
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
  parameters = {
    { "open", true, "the location is sampled, so that how many loops are " ..
      "around the block is not known afterwards: it must be the last module " ..
      "that looks at loops; else each location is a sketch of its own: " ..
      "where the block is, and under each spatial loop of its consumer, " ..
      "from the innermost out" },
    { "most", 1, "loops under which there are sketches", least = 1 },
    { "again", 2, "not where it would be computed more times than that",
      type = "number", least = 1 },
    { "fuse", false, "where it is computed just once, and the loops around " ..
      "it leave work for all cores, it is not left where it is" },
    { "together", false, "a sketch is a choice for all blocks of the " ..
      "program, made at the root: none moves, all do under the innermost " ..
      "loop that can have them, only those that make partial results, or " ..
      "only the others; `open` and `most` do not apply" },
    { "sums_from", 0, "with `together` and `fuse` blocks that add up a few " ..
      "partial results also move for sure where they are computed just " ..
      "once, in programs of work (`sch:work`) from this on", least = 0 },
  },
  apply = function(sch, block, p)
    if p.together then
      if sch:block_info(block).name ~= "root" then
        return nil, "it works on the root block"
      end
      return placing_together(sch, p)
    end
    local why = placing.refusal(sch, block)
    if why then return nil, why end
    if p.open then return move_open(sch, block) end
    local list, places = compute_everywhere(sch, block, p)
    if places == 0 then return nil, "no loop of its consumer can have it" end
    return list
  end,
}
