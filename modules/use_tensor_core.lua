-- SPDX-License-Identifier: Apache-2.0
-- Multi-level tiling of products for tensor cores (MetaSchedule's rule
-- MultiLevelTilingTensorCore).  A block that one of the `groups` of intrinsics
-- can do, also a convolution (im2col), is cut into pieces of an intrinsic's
-- size, padded where they do not divide it; the pieces are tiled over blocks
-- of threads and warps, operands staged through shared memory into fragments
-- while the ones before are multiplied, and the result is copied out of its
-- fragments, together with what is computed of it next.
local ts = require "tessera"
local gpu = require "tessera.steps.gpu_tiling"
local tiling = require "tessera.tiling"
local tiling_parameters = require "tessera.steps.tiling_parameters"
local warps = require "tessera.steps.warp_tiling"

-- Copies an operand to shared memory, by way of registers where they overlap.
local function fetch(sch, piece, operand, outer, p)
  local copy = sch:read_at(outer, piece, operand, "shared.dyn")
  warps.sample_bytes(sch, copy, p)
  if p.pipeline then
    sch:annotate(copy, "local_stage", 1)
    sch:annotate(copy, "double_buffer_scope", 0)
  end
end

local function pipeline(sch, outer, inner)
  sch:annotate(inner, "software_pipeline_stage", { 0, 0, 1 })
  sch:annotate(inner, "software_pipeline_order", { 0, 1, 2 })
  sch:annotate(outer, "software_pipeline_stage", { 0, 0, 0, 0, 0, 1, 1 })
  sch:annotate(outer, "software_pipeline_order", { 0, 3, 1, 4, 5, 2, 6 })
end

local function schedule(sch, block, group, p)
  local piece = warps.pieces(sch, block, group, p.structure)
  local levels = tiling.tile(sch, piece, p, gpu.cut(sch, piece, p, gpu.warps))
  tiling.bind(sch, levels, p.tile_binds)
  sch:annotate(piece, "thread_extent_low_inclusive", 32)
  sch:annotate(piece, "thread_extent_high_inclusive", p.max_threads)
  local outer, inner = tiling.fuse(sch, levels[4]), tiling.fuse(sch, levels[5])
  warps.stage(sch, piece, levels[3][1], outer, inner, p, fetch)
  if p.tensorize then warps.tensorize(sch, piece, group, outer) end
  if p.pipeline then pipeline(sch, outer, inner) end
end

return ts.module {
  name = "use_tensor_core",
  parameters = tiling_parameters.of({
    structure = "SSSRRSRS", max_innermost_factor = 4, max_threads = 1024,
    tile_binds = { "blockIdx.x", "blockIdx.y", "threadIdx.y" },
    vector_bytes = { 4, 8, 16 }, threads_per_block = {},
  }, {
    { "groups", warps.groups, "the types of A, B and the sum, as " ..
      "\"f16f16f32\", and \"_trans\" behind where B is indexed [j, k]: " ..
      "those of tensor.wmma" },
    { "pipeline", true, "copies overlap with products" },
    { "tensorize", false, "the pieces are replaced by the intrinsics here; " ..
      "else they are only annotated by family, for the postprocessors " ..
      "rewrite_reduction_block and, behind it, rewrite_tensorize" },
  }),
  check = tiling_parameters.check,
  apply = function(sch, block, p)
    return warps.each_group(sch, block, p, schedule)
  end,
}
