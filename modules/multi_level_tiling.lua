-- SPDX-License-Identifier: Apache-2.0
-- Multi-level tiling (MetaSchedule's rule).  Every spatial loop is cut into as
-- many tiles as `structure` has S, every reduction loop into as many as it has
-- R, and the tiles are ordered as it says: with "SSRSRS", a matrix product
-- becomes  i0 j0 i1 j1 k0 i2 j2 k1 i3 j3.
--
-- With `tile_binds` the block is annotated with how many threads there may be,
-- at most `max_threads`.  With `threads_per_block` there are tiles also of
-- loops whose extents are known at the call: as many blocks of threads as these
-- need, of tiles of constant sizes with a guard.
--
-- Levels of `write_levels` are of the S before the first R: of the default,
-- those that `structure` has so many S for.  Where there are threads they copy
-- operands together, asynchronously in several `stages` where the target can.
--
-- With `pack`, the last of the sketches is there once more with operands in
-- buffers of their own under the first reduction level, so that the inner loops
-- read consecutive memory.
--
-- The tiles alone are what there must be; a sketch of the others that is
-- refused is left out, and so is the copy of an operand that is.
local ts = require "tessera"
local gpu_tiling = require "tessera.steps.gpu_tiling"
local tiling = require "tessera.tiling"
local tiling_parameters = require "tessera.steps.tiling_parameters"

return ts.module {
  name = "multi_level_tiling",
  parameters = tiling_parameters.of {
    structure = "SSRSRS", max_innermost_factor = 64,
    tile_binds = {}, max_threads = 1024,
    write_levels = { 1, 2 }, write_scope = "global", write_must = false,
    read_levels = {}, read_scope = "shared", read_must = true,
    vector_load_lens = {}, pack = false, pack_scope = "global",
    threads_per_block = {}, stages = {},
  },
  check = tiling_parameters.check,
  apply = function(sch, block, p)
    local unfit = tiling.unfit(sch, block, p.structure, gpu_tiling.opener(p))
    if unfit then return nil, unfit end
    if #p.tile_binds > 0 and tiling.is_nested(sch, block) then
      return nil, "it is in another block"
    end
    local cut = gpu_tiling.cut(sch, block, p)
    local tiled, why = tiling.attempt(sch, tiling.tile, block, p, cut)
    if not tiled then return nil, why end
    local list, left_out = tiling.sketches(sch, block, p, cut)
    return list, left_out
  end,
}
