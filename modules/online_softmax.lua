-- SPDX-License-Identifier: Apache-2.0
-- Fuses two dependent reductions of a row, as a softmax has: the maximum, and
-- a sum of e^(x - maximum), which is scaled when the maximum changes
-- (rolling_update; Milakov and Gimelshein, "Online normalizer calculation for
-- softmax", 2018).  Rows are gone through tile by tile; of a tile the maximum
-- and the sum are made by vectors.  What is done to the row in the end moves
-- under its loop.
--
-- In no default space: it saves a pass over the row and its exponentials in
-- memory, and computes them twice, which pays where a row does not stay in the
-- cache.  Put it in front of their modules to have it tried.
--
-- Sketches: the fused loop, and the program as it was.
local ts = require "tessera"
local reductions = require "tessera.steps.reductions"
local machine = require "tessera.steps.machine"
local tiling = require "tessera.tiling"

-- What reads the block: blocks without a reduction, and reductions.
local function readers(sch, block)
  local maps, sums = {}, {}
  for _, c in ipairs { sch:get_consumers(block) } do
    table.insert(sch:is_spatial(c) and maps or sums, c)
  end
  return maps, sums
end

-- The one sum that depends on the maximum, through a block that is inlined
-- where there is one, and the blocks that use the maximum in the end.
local function find_sum(sch, block)
  local maps, sums = readers(sch, block)
  for _, exp in ipairs(#sums == 0 and maps or {}) do
    local _, users = readers(sch, exp)
    if #users > 0 then sch:compute_inline(exp) end
  end
  maps, sums = readers(sch, block)
  if #sums ~= 1 then return nil, "not one sum depends on it" end
  return sums[1], maps
end

-- Makes the block's reduction one over tiles, each by lanes: returns the loop
-- of the rows and that of the tiles.
local function by_tiles(sch, block, outer, sizes)
  local tile = sch:split(outer, sizes)
  local part = sch:rfactor(tile, -1)
  local lanes = sch:rfactor(select(-1, sch:get_loops(part)), -1)
  reductions.order_iters(sch, part, 1)
  reductions.order_iters(sch, lanes, 2)
  sch:annotate(lanes, "tiled_like", 1)
  local loops = { sch:get_loops(block) }
  local over = loops[#loops]
  for _, b in ipairs { part, lanes } do
    sch:compute_at(b, over, { preserve_unit_loops = true })
  end
  return loops[#loops - 1], over
end

local function fuse(sch, block, p, lanes)
  local sum, maps = find_sum(sch, block)
  if not sum then return nil, maps end
  local k, r = reductions.loop(sch, block), reductions.loop(sch, sum)
  if sch:extent(k) ~= sch:extent(r) then
    return nil, "the reductions differ in length"
  end
  k = sch:split(k, { ts.auto, lanes })
  r = sch:split(r, { ts.auto, lanes })
  local sizes = { sch:sample_perfect_tile(k, {
    n = 2, max_innermost_factor = p.max_tile }) }
  local rows, over = by_tiles(sch, block, k, sizes)
  local rows_of_sum, over_sum = by_tiles(sch, sum, r, sizes)
  local row = sch:merge(rows, rows_of_sum)
  sch:rolling_update(over, over_sum)
  for _, map in ipairs(maps) do
    if sch:can("reverse_compute_at", map, row) then
      sch:reverse_compute_at(map, row, { preserve_unit_loops = true })
    end
  end
  return sch
end

return ts.module {
  name = "online_softmax",
  parameters = {
    { "lanes", 0, "partial results of a tile that lie beside each other; 0: " ..
      "twice as many as a vector of the target holds", least = 0 },
    { "max_tile", 64, "a tile is at most as many times that long", least = 1 },
    { "min_row", 256, "shorter rows are left alone", least = 1 },
  },
  apply = function(sch, block, p)
    if not sch:is_reduction(block) then return nil, "it is no reduction" end
    local lanes = p.lanes > 0 and p.lanes or
                  math.max(1, machine.vector_bytes(sch) // 2)
    local loops = { sch:get_loops(block) }
    local length = #loops > 1 and sch:extent(loops[#loops])
    if not length or length < p.min_row or length % lanes ~= 0 then
      return nil, ("it has no rows of at least %d elements that %d lanes " ..
                   "divide"):format(p.min_row, lanes)
    end
    local why
    local copy, no = tiling.attempt(sch, function(s)
      local made, reason = fuse(s, block, p, lanes)
      why = reason
      return made
    end)
    if why then return nil, why end
    if not copy then return nil, no end
    return { copy, sch }
  end,
}
