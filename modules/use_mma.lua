-- SPDX-License-Identifier: Apache-2.0
-- Tiling of products for tensor cores by mma.sync, with operands that are on
-- their way several stages ahead (sm_80 and up).  A block that one of the
-- `groups` of intrinsics can do (see use_tensor_core) is cut into pieces of an
-- intrinsic's size, which are tiled over blocks of threads, warps and the
-- fragments that a warp keeps.  Operands come by asynchronous copies to shared
-- memory, whose rows are padded to distinct banks, and from there a step ahead
-- to fragments, also across stages; rows of blocks run side by side, as those
-- read the same columns, which then are in the L2 cache.
local ts = require "tessera"
local sampling = require "tessera.steps.sampling"
local tiling = require "tessera.tiling"
local warps = require "tessera.steps.warp_tiling"

-- Copies as many stages ahead of the products as there are buffers, fragments a
-- step.
local function pipeline(sch, outer, inner, p)
  local last = sampling.evenly(sch, p.stages)
  sch:annotate(inner, "software_pipeline_stage", { 0, 0, 1 })
  sch:annotate(inner, "software_pipeline_order", { 0, 1, 2 })
  sch:annotate(outer, "software_pipeline_async_stages", { 0 })
  sch:annotate(outer, "software_pipeline_stage",
               { 0, 0, last - 1, last, last })
  sch:annotate(outer, "software_pipeline_order", { 1, 2, 3, 0, 4 })
end

local function schedule(sch, block, group, p)
  local structure = "SSSRRS"
  local piece = warps.pieces(sch, block, group, structure)
  sch:annotate(sch:get_block "root", "tensor_cores", "mma")
  local bytes = group:find "^s8" and 1 or 2
  local levels = tiling.tile(sch, piece, { structure = structure }, warps.cut(
    sch, piece, p, bytes, group:find "trans" ~= nil))
  tiling.bind(sch, levels, { "blockIdx.x", "blockIdx.x", "threadIdx.y" })
  local outer, inner = tiling.fuse(sch, levels[4]), tiling.fuse(sch, levels[5])
  warps.stage(sch, piece, levels[3][1], outer, inner, p, warps.fetch)
  warps.tensorize(sch, piece, group, outer)
  pipeline(sch, outer, inner, p)
end

return ts.module {
  name = "use_mma",
  parameters = {
    { "groups", warps.groups, "the types of A, B and the sum" },
    { "warps", { 4, 8 }, "the least and the most of a block", type = "range" },
    { "fragments", { 4, 16 }, "the least and the most of a warp",
      type = "range" },
    { "side", 4, "the most fragments along a side", least = 1 },
    { "depths", { 2, 4 }, "how many fragments a stage adds up, one is sampled",
      least = 1 },
    { "stages", { 2, 3, 4 }, "how many are in shared memory, in use or on " ..
      "their way, one is sampled", least = 1 },
    { "group", 16, "the most rows of blocks side by side", least = 1 },
    { "vector_bytes", { 16 }, "how much a thread copies at a time, one is " ..
      "sampled", least = 1 },
    { "must", true, "no sketch is the block as it is" },
  },
  apply = function(sch, block, p)
    return warps.each_group(sch, block, p, schedule, "sm_80")
  end,
}
