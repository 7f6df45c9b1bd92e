-- SPDX-License-Identifier: Apache-2.0
-- Multi-level tiling whose innermost tile of the last dimension of the result
-- is one vector of `vector_bits` (MetaSchedule's MultiLevelTilingWideVector):
-- only the tiles around it are sampled.  Where the extent is no longer than
-- that, all of it is the tile; where it is longer and no multiple, the last
-- vectors are guarded.
--
-- In no default space, where register_tile fills the vectors of the target: it
-- is for vectors of a length that the target does not tell.
local ts = require "tessera"
local machine = require "tessera.steps.machine"
local tiling = require "tessera.tiling"
local tiling_parameters = require "tessera.steps.tiling_parameters"

-- How many elements of the result are a vector.
local function lanes_of(sch, block, p)
  local target, bits = sch:target(), p.vector_bits
  if bits == 0 then
    bits = target and (target:get "vector-bytes" or 0) * 8 or 0
    if bits == 0 then bits = 1024 end
  end
  return machine.lanes(sch, block, bits // 8)
end

-- The position of the loop that walks the last dimension of the result.
local function last_loop(sch, block)
  local dims = sch:access_info(block, "write", 0).dims
  return dims[#dims] and ({ sch:get_loops(block) })[dims[#dims]]
end

-- Only the loop that is wide has innermost tiles of a given size.
local function cut_wide(lanes, wide)
  return function(sch, loop, n, p)
    local size = loop == wide and math.min(lanes, sch:extent(loop)) or nil
    return tiling.cut_around(sch, loop, n, p, size)
  end
end

return ts.module {
  name = "multi_level_tiling_wide_vector",
  parameters = tiling_parameters.of({
    structure = "SRSRS", max_innermost_factor = 128,
    tile_binds = {}, max_threads = 1024,
    write_levels = { 1 }, write_scope = "global", write_must = false,
    read_levels = {}, read_scope = "shared", vector_load_lens = {},
    pack = false,
  }, {
    { "vector_bits", 1024, "0: vectors are as long as the target's, and of " ..
      "1024 bits where no target is given", least = 0 },
  }),
  check = tiling_parameters.check,
  apply = function(sch, block, p)
    local unfit = tiling.unfit(sch, block, p.structure)
    if unfit then return nil, unfit end
    local wide = last_loop(sch, block)
    if not wide then
      return nil, "no iter is the last index of what it computes"
    end
    local list, left_out = tiling.sketches(
      sch, block, p, cut_wide(lanes_of(sch, block, p), wide))
    return list, left_out
  end,
}
