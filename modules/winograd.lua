-- SPDX-License-Identifier: Apache-2.0
-- Schedules the transforms of Winograd convolutions (MetaSchedule's custom
-- rules conv2d_nhwc_winograd_data_pack and _inverse): blocks that multiply
-- small tiles by constant matrices from both sides, as those of
-- ops.conv2d_winograd_nhwc do.  Tiles become the inner loops, channels the
-- innermost one, whose length is sampled, and what the tiles are copied from is
-- computed where one is transformed.
local ts = require "tessera"

-- The only read that some outer iter indexes: of tiles; others are of matrices.
-- nil: there is none, or several.
local function read_of_tiles(sch, block, info)
  local found
  for r = 0, info.reads - 1 do
    if #sch:access_info(block, "read", r).dims > 2 then
      if found then return nil end
      found = r
    end
  end
  return found and info.reads > 1 and sch:access(block, "read", found)
end

-- For each loop around the block: "reduce", "tile" where it is a row or column
-- of the result, which the tiles read do not have, or "outer".  nil and why,
-- where the block is no transform.
local function kinds_of(sch, block, p)
  local info, loops = sch:block_info(block), { sch:get_loops(block) }
  if #loops ~= #info.iters then return nil, "its loops are not its iters" end
  local used = read_of_tiles(sch, block, info)
  if not used then return nil, "it does not multiply tiles by matrices" end
  local kinds, count = {}, { reduce = 0, tile = 0, outer = 0 }
  for i, kind in ipairs(info.iters) do
    local extent = sch:extent(loops[i])
    kinds[i] = kind == "reduce" and kind or
               (used[i] or extent == 1) and "outer" or "tile"
    count[kinds[i]] = count[kinds[i]] + 1
    if not extent then return nil, "an extent is not a constant" end
    if kinds[i] ~= "outer" and extent > p.max_tile then
      return nil, ("rows of a tile are at most %d long, not %d")
                  :format(p.max_tile, extent)
    end
    if kind == "reduce" and not used[i] then
      return nil, "a reduction does not run over tiles"
    end
  end
  if count.tile ~= 2 or count.reduce ~= 2 then
    return nil, "its tiles are not transformed from both sides"
  end
  return kinds, loops
end

-- The loops of one kind, in their order.
local function of_kind(kinds, loops, kind)
  local list = {}
  for i, k in ipairs(kinds) do
    if k == kind then list[#list + 1] = loops[i] end
  end
  return list
end

-- What is copied into tiles, where nothing else reads them, under that loop.
local function place_producers(sch, block, loop)
  for _, producer in ipairs { sch:get_producers(block) } do
    if sch:is_spatial(producer) and #{ sch:get_consumers(producer) } == 1 and
       sch:can("compute_at", producer, loop) then
      sch:compute_at(producer, loop, { preserve_unit_loops = true })
    end
  end
end

return ts.module {
  name = "winograd",
  parameters = {
    { "max_tile", 8, "the longest row of a tile", least = 1 },
    { "max_vector", 16, "the longest innermost loop", least = 1 },
    { "unroll", false, "tiles and sums are unrolled, as MetaSchedule's are; " ..
      "LLVM then takes far longer, and what it makes is not faster" },
  },
  apply = function(sch, block, p)
    if not sch:is_reduction(block) then return nil, "it is no reduction" end
    local kinds, loops = kinds_of(sch, block, p)
    if not kinds then return nil, loops end
    local outer = of_kind(kinds, loops, "outer")
    if #outer == 0 then return nil, "it transforms one tile alone" end
    local tile, sums = of_kind(kinds, loops, "tile"),
                       of_kind(kinds, loops, "reduce")
    local last = table.remove(outer)
    local sizes = { sch:sample_perfect_tile(last, {
      n = 2, max_innermost_factor = p.max_vector }) }
    local channels, vector = sch:split(last, sizes)
    outer[#outer + 1] = channels
    local order = table.move(tile, 1, #tile, #outer + 1,
                             table.move(outer, 1, #outer, 1, {}))
    table.move(sums, 1, #sums, #order + 1, order)
    order[#order + 1] = vector
    sch:reorder(order)
    for _, list in ipairs(p.unroll and { tile, sums } or {}) do
      for _, loop in ipairs(list) do sch:unroll(loop) end
    end
    place_producers(sch, block, channels)
    return sch
  end,
}
