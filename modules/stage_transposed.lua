-- SPDX-License-Identifier: Apache-2.0
-- Stages what a block reads by columns and writes by rows in shared memory (for
-- GPUs): tiles are read as they lie, so that a warp's accesses are to one
-- stretch of memory, and written so, too.  Rows of a tile are padded, so that
-- columns are in different banks.
local ts = require "tessera"
local sampling = require "tessera.steps.sampling"
local tiling = require "tessera.tiling"

local size = { float64 = 8, int64 = 8, uint64 = 8, float32 = 4, int32 = 4,
               uint32 = 4, float16 = 2, bfloat16 = 2, int16 = 2, uint16 = 2,
               int8 = 1, uint8 = 1, bool = 1 }

-- The iter that the last dimension of an access is indexed by.
local function fastest(sch, block, kind, index)
  local info = sch:access_info(block, kind, index)
  return #info.dims > 0 and info.dims[#info.dims] or nil, info.dtype
end

-- The number of the read that is transposed, and the iters by which memory is
-- walked in it and in the result.
local function transposed(sch, block)
  local info = sch:block_info(block)
  if info.writes ~= 1 then return nil end
  local row = fastest(sch, block, "write", 0)
  for read = 0, row and info.reads - 1 or -1 do
    local column, dtype = fastest(sch, block, "read", read)
    if column and column ~= row then return read, column, row, dtype end
  end
end

-- The loops in order, with the two that are cut at the end.
local function cut(sch, loops, column, row, tile)
  local outer = {}
  local c0, c1 = sch:split(loops[column], { ts.auto, tile })
  local r0, r1 = sch:split(loops[row], { ts.auto, tile })
  for i, loop in ipairs(loops) do
    if i ~= column and i ~= row then outer[#outer + 1] = loop end
  end
  outer[#outer + 1] = c0
  outer[#outer + 1] = r0
  local order = { table.unpack(outer) }
  order[#order + 1] = c1
  order[#order + 1] = r1
  sch:reorder(table.unpack(order))
  return sch:fuse(table.unpack(outer)), c1, r1
end

-- A tile's rows to rows of threads, its columns to the threads of a row.
local function share(sch, rows, columns, height, width, vector)
  local _, y = sch:split(rows, { ts.auto, height })
  sch:bind(y, "threadIdx.y")
  if vector == 1 then
    sch:bind(columns, "threadIdx.x")
    return
  end
  local x, v = sch:split(columns, { width, vector })
  sch:bind(x, "threadIdx.x")
  sch:vectorize(v)
end

local function stage(sch, block, p)
  local read, column, row, dtype = transposed(sch, block)
  local loops = { sch:get_loops(block) }
  local vector = math.max(1, 4 // size[dtype])
  local tile = p.width * vector
  local list = {}
  for _, n in ipairs(p.heights) do
    if n * p.width <= p.max_threads then list[#list + 1] = n end
  end
  local height = sampling.evenly(sch, list)
  local copy = sch:cache_read(block, read, "shared")
  local blocks, columns, rows = cut(sch, loops, column, row, tile)
  sch:bind(blocks, "blockIdx.x")
  sch:compute_at(copy, blocks)
  share(sch, columns, rows, height, p.width, vector)
  local tiles = { sch:get_loops(copy) }
  share(sch, tiles[#tiles - 1], tiles[#tiles], height, p.width, vector)
  sch:storage_align(copy, 0, -2, 2 * vector, vector)
  return sch
end

return ts.module {
  name = "stage_transposed",
  parameters = {
    { "width", 32, "threads along a row of a tile; each has as many " ..
      "elements as are 4 bytes", least = 1 },
    { "heights", { 4, 8, 16, 32 }, "how many rows of threads there may be, " ..
      "one is sampled", least = 1 },
    { "max_threads", 1024, "the most threads of a block", least = 1 },
  },
  apply = function(sch, block, p)
    if #{ sch:get_child_blocks(block) } > 0 or
       tiling.is_nested(sch, block) then
      return nil, "it is in another block, or holds some"
    end
    if not sch:is_spatial(block) then return nil, "it is no spatial block" end
    local loops = { sch:get_loops(block) }
    for _, loop in ipairs(loops) do
      if sch:loop_info(loop).kind ~= "serial" then
        return nil, "its loops are bound"
      end
    end
    local read, column, row, dtype = transposed(sch, block)
    if not read then return nil, "it reads by rows what it writes by rows" end
    local tile = p.width * math.max(1, 4 // (size[dtype] or 8))
    if not loops[column] or not loops[row] or not size[dtype] or
       (sch:extent(loops[column]) or 0) % tile > 0 or
       (sch:extent(loops[row]) or 0) % tile > 0 then
      return nil, "it is smaller than a tile"
    end
    local staged = sch:copy()
    if not pcall(stage, staged, block, p) then
      return nil, "its tiles cannot be staged"
    end
    return { staged }
  end,
}
