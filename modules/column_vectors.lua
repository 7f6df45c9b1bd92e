-- SPDX-License-Identifier: Apache-2.0
-- Vectors of a reduction that goes over rows of what it reads, as the sum of
-- each column of a matrix, the mean of an image's channels where these lie
-- beside each other, or the mean of tokens: a strip of columns is innermost,
-- the reduction around it, and the other strips outermost.  How wide a strip is
-- is sampled: a narrow one is a few registers, a wide one reads whole rows as
-- they lie in memory, and has its sums in the cache.
local ts = require "tessera"
local reductions = require "tessera.steps.reductions"

local function find(sch, block)
  if not sch:is_reduction(block) then return nil, "it is no reduction" end
  if sch:annotation(block, "tiling_structure") or
     sch:annotation(block, "tiled_like") then
    return nil, "it is tiled"
  end
  local column = reductions.column(sch, block)
  if not column then return nil, "no columns lie beside each other" end
  return column
end

-- How many of the loops, from the outermost on, are around other blocks, too,
-- as the steps of a recurrent layer are.
local function count_shared(sch, loops)
  local n = 0
  while loops[n + 1] and #{ sch:get_child_blocks(loops[n + 1]) } > 1 do
    n = n + 1
  end
  return n
end

return ts.module {
  name = "column_vectors",
  parameters = {
    { "max_width", 1024, "a strip has at most so many columns", least = 1 },
  },
  apply = function(sch, block, p)
    local column, why = find(sch, block)
    if not column then return nil, why end
    local loops, kinds = { sch:get_loops(block) }, sch:block_info(block).iters
    local shared = count_shared(sch, loops)
    for i = 1, shared do
      if i == column or kinds[i] ~= "opaque" then
        return nil, "it shares loops that are to move with other blocks"
      end
    end
    local strip, lane = sch:split(loops[column], { sch:sample_perfect_tile(
      loops[column], { n = 2, max_innermost_factor = p.max_width }) })
    loops[column] = strip
    local order, inner = {}, {}
    for i = shared + 1, #loops do
      table.insert(kinds[i] == "reduce" and inner or order, loops[i])
    end
    inner[#inner + 1] = lane
    table.move(inner, 1, #inner, #order + 1, order)
    sch:reorder(order)
    sch:annotate(block, "tiling_structure", "columns")
    return sch
  end,
}
