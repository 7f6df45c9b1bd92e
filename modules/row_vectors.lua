-- SPDX-License-Identifier: Apache-2.0
-- Vectors of a product of a few rows with a matrix whose rows lie along the
-- reduction, as the weights of a linear layer do.  Vectors of columns of the
-- result would gather, and to pack is to copy a matrix that is read once.
-- Here a tile is the few rows by some of the matrix's; each of its sums is a
-- vector along the reduction, in a register, the elements of which are added up
-- by a block of its own.
--
-- Sketches: these tiles, in place of the block.
local ts = require "tessera"
local divisors = require "tessera.steps.divisors"
local machine = require "tessera.steps.machine"
local reductions = require "tessera.steps.reductions"
local tiling = require "tessera.tiling"

local function largest(extent, most)
  local list = divisors.of(extent, math.max(most, 1))
  return list[#list]
end

-- How many rows of the matrix a tile has, beside registers for a vector of each
-- row that is read again and one of the matrix, and elements of a vector.
local function sizes(sch, block, found, p)
  local copy <close> = sch:copy()
  local loops = { copy:get_loops(block) }
  local lanes = machine.lanes(sch, block, machine.vector_bytes(sch))
  local length = largest(copy:extent(loops[found.along]), lanes)
  if 2 * length < lanes or length == 1 then
    return nil, "no vectors divide the reduction"
  end
  local free = machine.registers(sch, p.registers) - found.again - 1
  return largest(copy:extent(loops[found.row]), free // found.again), length
end

-- Reorders the loops: those of level 1, then 2, and so on.
local function by_level(sch, loops, levels)
  local order = {}
  for level = 1, 4 do
    for i, loop in ipairs(loops) do
      if levels[i] == level then order[#order + 1] = loop end
    end
  end
  sch:reorder(order)
end

-- Cuts the matrix's rows into tiles, which become outermost: the innermost loop
-- around a tile, and how many there are.  Adding up a vector is innermost.
local function cut_rows(sch, block, found, kinds, rows)
  local loops, levels, around = { sch:get_loops(block) }, {}, 0
  for i, kind in ipairs(kinds) do
    levels[i] = kind == "reduce" and 4 or found.few[i] and 2 or 1
    around = around + (levels[i] == 1 and 1 or 0)
  end
  loops[found.row], loops[#loops + 1] = sch:split(loops[found.row],
                                                  { ts.auto, rows })
  levels[#loops] = 3
  by_level(sch, loops, levels)
  return select(around, sch:get_loops(block)), around
end

-- The sums of a tile are made where the elements of their vectors are added up:
-- around them the reduction, and a vector innermost.
local function schedule(sch, block, found, rows, length)
  local kinds = sch:block_info(block).iters
  local _, lane = sch:split((select(found.along, sch:get_loops(block))),
                            { ts.auto, length })
  local partial = sch:rfactor(lane, -1)
  local strip, around = cut_rows(sch, block, found, kinds, rows)
  sch:compute_at(partial, strip, { preserve_unit_loops = true })
  -- A loop for each iter, of which that of the vector is the first.
  local loops, levels = { select(around + 1, sch:get_loops(partial)) }, { 4 }
  for i, kind in ipairs(kinds) do
    levels[i + 1] = (found.few[i] or i == found.row) and 3 or
                    kind == "reduce" and 2 or 1
  end
  by_level(sch, loops, levels)
  for _, b in ipairs { partial, block } do
    sch:annotate(b, "tiling_structure", "rows")
  end
  sch:annotate(block, "innermost_reduces", 1)
end

return ts.module {
  name = "row_vectors",
  parameters = {
    { "most", 8, "rows that the matrix is multiplied by, at most", least = 2 },
    { "registers", 0, "how many vector registers there are; 0: the target's",
      least = 0 },
  },
  apply = function(sch, block, p)
    if not sch:needs_multi_level_tiling(block) then
      return nil, "it is tiled, or is no reduction that reads again"
    end
    local found = reductions.few_rows(sch, block, p.most)
    if not found then
      return nil, "no few rows are multiplied by such that lie along it"
    end
    local rows, length = sizes(sch, block, found, p)
    if not rows then return nil, length end
    local tiled, why = tiling.attempt(sch, schedule, block, found, rows, length)
    if not tiled then return nil, why end
    return { tiled }
  end,
}
