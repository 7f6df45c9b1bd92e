-- SPDX-License-Identifier: Apache-2.0
-- Multi-level tiling (MetaSchedule's rule).  Every spatial loop is cut into as
-- many tiles as `structure` has S, every reduction loop into as many as it has
-- R, and the tiles are ordered as it says: with "SSRSRS", a matrix product
-- becomes  i0 j0 i1 j1 k0 i2 j2 k1 i3 j3.  Innermost tiles are at most
-- `max_innermost_factor` long.
--
-- `tile_binds`: axes, as "blockIdx.x", "vthread.x" and "threadIdx.x", that the
-- loops of the first levels are fused and bound to; the block is annotated
-- with how many threads there may be, at most `max_threads`.  With
-- `threads_per_block`, the least and the most, the tiles of the level bound to
-- threads are drawn together, so that there are so many, and those of a thread
-- are short; else all tiles are drawn one loop after the other.  Then there
-- are tiles also of loops whose extents are known at the call: as many blocks
-- of threads as these need, of tiles of constant sizes with a guard.
--
-- `write_levels`: for each a sketch in which what is computed is kept in a
-- small buffer of `write_scope` that is written back under the last loop of
-- that level, which is one of the S before the first R: of the default, those
-- that `structure` has so many S for.  The tiles alone are a sketch, too,
-- unless `write_must` is set and there is another.
--
-- `read_levels`: under the last loop of each of these levels all operands are
-- copied to buffers of `read_scope`; where there are threads they copy them
-- together, some elements at a time each, as many as is sampled of
-- `vector_load_lens`.  With `read_must` unset the program without these copies
-- is a sketch, too.  With `stages` there is one more with them, where the level
-- is an R: copies are on their way, asynchronously where the target can, while
-- those before are used, in as many buffers as is sampled of `stages`.
--
-- With `pack`, the last of the sketches is there once more with the operands
-- that the innermost spatial loop walks copied, tile by tile, into a buffer of
-- their own under the first reduction level, so that the inner loops read
-- consecutive memory; `pack_scope`: the scope of that buffer.
--
-- The tiles alone are what there must be; a sketch of the others that is
-- refused is left out, and so is the copy of an operand that is.
local ts = require "tessera"
local gpu_tiling = require "tessera.steps.gpu_tiling"
local tiling = require "tessera.tiling"
local parameters = require "tessera.steps.tiling_parameters"

return ts.module {
  name = "multi_level_tiling",
  defaults = {
    structure = "SSRSRS", max_innermost_factor = 64,
    tile_binds = {}, max_threads = 1024,
    write_levels = { 1, 2 }, write_scope = "global", write_must = false,
    read_levels = {}, read_scope = "shared", read_must = true,
    vector_load_lens = {}, pack = false, pack_scope = "global",
    threads_per_block = {}, stages = {},
  },
  check = parameters.check,
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
