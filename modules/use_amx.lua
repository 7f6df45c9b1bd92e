-- SPDX-License-Identifier: Apache-2.0
-- Multi-level tiling of products for the tiles of AMX.  A block that they can
-- do, also a convolution (im2col), is cut into pieces of 16 x 16 x 64 bytes,
-- padded where they do not divide it.  Several sums at a time stay in tile
-- registers throughout the reduction.  The operand that columns index is laid
-- out with the rows side by side that an instruction adds up, a piece of it
-- consecutive: a constant or layout-free one beforehand, another by a copy.
-- The last level of `structure` is in registers; results are stored at the one
-- that `write_levels` has.
local ts = require "tessera"
local amx = require "tessera.steps.amx_tiling"
local intrin = require "tessera.intrin"
local tiling_parameters = require "tessera.steps.tiling_parameters"
local tiling = require "tessera.tiling"

-- Tiles of pieces: the loops of each level.
local function tile(sch, piece, p)
  local loops, sizes = { sch:get_loops(piece) }, {}
  local n = #loops
  sizes[n - 2] = amx.part(sch:extent(loops[n - 2]), p.rows)
  sizes[n - 1] = amx.part(sch:extent(loops[n - 1]), p.columns)
  return tiling.tile(sch, piece, p, function(_, loop, count, _, i)
    if i < n - 2 then return tiling.leave_outermost(sch, loop, count) end
    return tiling.cut_around(sch, loop, count, p, sizes[i])
  end)
end

local steps = {
  choose = amx.choose, stage = amx.stage, tile = tile,
  store = function(sch, _, loop, x, out, next)
    amx.store(sch, out, next, loop, x.acc)
  end,
  fill = function(x) return intrin.use("amx_fill_16x16_" .. x.acc) end,
  instruction = function(x) return intrin.use(x.name) end,
}

return ts.module {
  name = "use_amx",
  parameters = tiling_parameters.of({
    structure = "SSRS", max_innermost_factor = 1024, write_levels = { 2 },
    tile_binds = {}, max_threads = 1024,
  }, {
    { "types", { "s8s8s32", "u8s8s32", "s8u8s32", "u8u8s32", "bf16bf16f32" },
      "those of A, B and the sum" },
    { "rows", 2, "how many sums at a time, at most", least = 1 },
    { "columns", 2, "how many sums at a time, at most", least = 1 },
    { "least", 8, "a block with fewer rows or columns, or with fewer " ..
      "products to add up than that many times 32 bits hold, would mostly " ..
      "be padding, and is left alone", least = 1 },
  }),
  check = tiling_parameters.check,
  apply = function(sch, block, p) return amx.apply(sch, block, p, steps) end,
}
