-- SPDX-License-Identifier: Apache-2.0
-- Under which loop of its consumer a block is computed: where it can be, how
-- often it is then, and why it is left alone.
local machine = require "tessera.steps.machine"
local placing = {}

-- Why it is not to be moved; nil: it is.
function placing.refusal(sch, block)
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

-- The loops of the consumer where the block can be, but not where it would be
-- computed more than p.again times, from the innermost out;
-- whether it is computed just once under the innermost; and whether there is
-- also work for all cores around that.
function placing.places(sch, block, p)
  local places, once, enough = {}, nil, nil
  local consumer = sch:get_consumers(block)
  local loops, cores = { sch:get_loops(consumer) }, machine.cores(sch)
  for n, loop in ipairs(loops) do
    if sch:loop_info(loop).iter_type ~= "spatial" then break end
    local again, iterations = times(sch, block, consumer, loops, n)
    if sch:can("compute_at", block, loop) and
       not (again and again > p.again) then
      table.insert(places, 1, loop)
      once = again and again <= 1
      enough = once and iterations >= 4 * cores
    end
  end
  return places, once, enough
end

-- Computes the block under that loop.
function placing.move(sch, block, loop)
  sch:compute_at(block, loop, { preserve_unit_loops = true })
end

return placing
