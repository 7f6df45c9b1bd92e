-- SPDX-License-Identifier: Apache-2.0
-- Computes what is done to a tiled block's result, as bias, activation or
-- residual, tile by tile, while the tile is in the cache: an elementwise block
-- moves under the last loop of one of its producer's levels of tiles.
--
-- In no default space, whose tilings take such a block along themselves
-- (`write_levels`): it is for tiles that are cut otherwise, and for what should
-- become the start of the reduction.
local ts = require "tessera"
local tiling = require "tessera.tiling"

-- The tiled block whose result this one reads, and its structure.
local function tiled_producer(sch, block)
  for _, producer in ipairs { sch:get_producers(block) } do
    local structure = sch:annotation(producer, "tiling_structure")
    if structure then return producer, structure:match '^"(.*)"$' end
  end
end

-- The last loop of a level, counted from 1.  Levels before it may have been
-- fused to one loop each.
local function last_of(sch, producer, structure, level)
  local loops, count = { sch:get_loops(producer) }, tiling.tiles_of(structure)
  local kinds, total, spatial = sch:block_info(producer).iters, 0, 0
  for _, kind in ipairs(kinds) do
    total = total + count[kind == "reduce" and "R" or "S"]
    spatial = spatial + (kind == "spatial" and 1 or 0)
  end
  if level > #structure:match "^S*" then return nil end
  local fused = (total - #loops) // math.max(1, spatial - 1)
  local n = math.min(level, fused) + math.max(0, level - fused) * spatial
  return loops[n]
end

local function move_under(sch, block, loop, inner)
  sch:reverse_compute_at(block, loop, { preserve_unit_loops = true })
  tiling.match_inner(sch, block, inner)
end

return ts.module {
  name = "fuse_epilogue",
  parameters = {
    { "levels", { 1, 2 }, "a sketch for each of these levels, which are of " ..
      "the S before the first R", least = 1 },
    { "fold", true, "where the operations commute with the reduction, as an " ..
      "added bias, they become its start (fuse_reduction_epilogue) in one " ..
      "more sketch" },
    { "must", false, "no sketch is the program as it was" },
  },
  apply = function(sch, block, p)
    if not sch:is_spatial(block) then return nil, "it is a reduction" end
    local producer, structure = tiled_producer(sch, block)
    if not producer then return nil, "it reads nothing that is tiled" end
    local result = sch:access_info(producer, "write", 0).buffer
    if not tiling.is_elementwise(sch, block, result,
                                 sch:footprint(producer, "write", 0)) then
      return nil, "it is not elementwise"
    end
    local inner, list, why = nil, {}, nil
    local loops = { sch:get_loops(producer) }
    inner = sch:factor(loops[#loops])
    for _, level in ipairs(p.levels) do
      local loop = last_of(sch, producer, structure, level)
      local made, no = nil, "structure " .. structure .. " has no such level"
      if loop then
        made, no = tiling.attempt(sch, move_under, block, loop, inner)
      end
      list[#list + 1] = made
      why = not made and ("no level %d: %s"):format(level, no) or why
    end
    if p.fold and sch:can("fuse_reduction_epilogue", producer, block) then
      local copy = sch:copy()
      copy:fuse_reduction_epilogue(producer, block)
      list[#list + 1] = copy
    end
    if not p.must and #list > 0 then list[#list + 1] = sch end
    return list, why
  end,
}
