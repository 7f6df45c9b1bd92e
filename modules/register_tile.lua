-- SPDX-License-Identifier: Apache-2.0
-- Multi-level tiling whose innermost tiles fill the target's vector registers:
-- as many rows by vectors of columns as there are registers for the sums, one
-- row of vectors and one element of the other operand, as 6 x 16 float32 on
-- AVX2 and 14 x 32 on AVX-512 (K. Goto and R. van de Geijn, Anatomy of
-- High-Performance Matrix Multiplication, 2008).  Only the tiles around them
-- are sampled, of the other loops one iteration is in the tile, and loops along
-- which nothing is reused, as of a batch, are outermost.
--
-- `vectors`: how many vectors of columns; a list makes a sketch of each.
-- `registers`: how many vector registers there are; 0: the target's.  Where
-- the tile does not divide an extent, a smaller one down to half that does is
-- taken, and where there is none the block is padded, if `pad_extents` is set.
-- `must`: with false the block as it was is a sketch, too.  `few_from`: of a
-- program with so many blocks to tile only the last sketch is made for each,
-- since the numbers multiply (0: never).  The other parameters are those of
-- multi_level_tiling.
local ts = require "tessera"
local nests = require "tessera.nests"
local options = require "tessera.options"
local tiling = require "tessera.tiling"
local parameters = require "tessera.tiling_parameters"

-- Lanes of a vector of what is computed, and how many vector registers there
-- are.  AVX-512 and NEON have 32, SSE and AVX 16.
local function facts_of(sch, block, p)
  local target, registers = sch:target(), p.registers
  local bytes = target and target:get "vector-bytes" or 32
  local dtype = sch:access_info(block, "write", 0).dtype
  if registers == 0 then
    local arm = target and tostring(target):find "aarch64"
    registers = (bytes >= 64 or arm) and 32 or 16
  end
  return math.max(1, bytes * 8 // (tonumber(dtype:match "%d+") or 8)), registers
end

-- The loops of columns, which are the last index of the result, and of rows:
-- the innermost other spatial one of more than one iteration.
local function tile_loops(sch, block)
  local loops, dims = { sch:get_loops(block) },
                      sch:access_info(block, "write", 0).dims
  local kinds, column, row = sch:block_info(block).iters, dims[#dims], nil
  for i = 1, #loops do
    local many = sch:extent(loops[i]) > 1
    if kinds[i] == "spatial" and i ~= column and many then row = i end
  end
  return loops, column, row
end

-- The size of tiles of at most that size: the largest one, not less than half
-- of it, that divides the extent, else that by which it is padded least.
local function size_of(extent, most, step)
  if extent < step and 2 * extent <= step then return extent end
  most = math.min(most, (extent + step - 1) // step * step)
  local best, least = most, math.huge
  for size = most, math.max(step, most // 2), -step do
    local padded = (extent + size - 1) // size * size
    if padded < least then best, least = size, padded end
  end
  return best
end

-- The size of each loop's innermost tile, by position; nil: there are no rows.
local function shape(sch, block, vectors, p)
  local lanes, registers = facts_of(sch, block, p)
  local loops, column, row = tile_loops(sch, block)
  local rows = (registers - vectors - 1) // vectors
  if not column or not row or rows < 1 then return nil end
  return { [column] = size_of(sch:extent(loops[column]), vectors * lanes,
                              lanes),
           [row] = size_of(sch:extent(loops[row]), rows, 1) }
end

local function refuse(why) error({ code = "REFUSED", message = why }, 0) end

-- Whether each loop's iter, none of the tile's, indexes all buffers, as that of a
-- batch does: nothing is reused along it, so all of it stays outermost.
local function batch_loops(sch, block, sizes)
  local info, batch = sch:block_info(block), {}
  for i, kind in ipairs(info.iters) do
    batch[i] = kind == "spatial" and not sizes[i]
    for r = 0, info.reads - 1 do
      batch[i] = batch[i] and sch:access(block, "read", r)[i]
    end
  end
  return batch
end

-- Pads the block where tiles do not divide its extents.
local function pad(sch, block, sizes, p)
  local by, needed = {}, false
  for i, loop in ipairs { sch:get_loops(block) } do
    by[i] = sizes[i] or 1
    needed = needed or sch:extent(loop) % by[i] ~= 0
  end
  if needed and not p.pad_extents then
    refuse "tiles do not divide its extents"
  end
  if needed then sch:pad_einsum(block, by) end
end

local function schedule(sch, block, vectors, p)
  local sizes = shape(sch, block, vectors, p)
  if not sizes then refuse "it has no rows and columns" end
  pad(sch, block, sizes, p)
  local batch = batch_loops(sch, block, sizes)
  local kinds = sch:block_info(block).iters
  return { tiling.sketches(sch, block, p, function(_, loop, n, _, i)
    if batch[i] then return tiling.leave_outermost(sch, loop, n) end
    local size = sizes[i] or kinds[i] == "spatial" and 1
    return tiling.cut_around(sch, loop, n, p, size or nil)
  end) }
end

-- How many blocks of the program are tiled or are to be.
local function tiled_blocks(sch)
  local n = 0
  for _, leaf in ipairs(nests.leaves(sch, sch:get_block "root")) do
    if sch:annotation(leaf, "tiling_structure") or
       sch:needs_multi_level_tiling(leaf) then
      n = n + 1
    end
  end
  return n
end

return ts.module {
  name = "register_tile",
  defaults = {
    vectors = { 2 }, registers = 0, pad_extents = true,
    structure = "SSRSRS", max_innermost_factor = 64,
    tile_binds = {}, max_threads = 1024,
    write_levels = { 1, 2 }, write_scope = "global", write_must = false,
    read_levels = {}, read_scope = "shared", vector_load_lens = {},
    pack = false, must = true, few_from = 0,
  },
  check = function(p, given)
    if not math.tointeger(p.few_from) or p.few_from < 0 then
      return options.unusable("few_from", p.few_from,
                              "it is a number of blocks")
    end
    local n = p.registers
    return options.not_extents("vectors", p.vectors) or n ~= 0 and
           options.not_positive("registers", n) or parameters.check(p, given)
  end,
  apply = function(sch, block, p)
    if not sch:needs_multi_level_tiling(block) then
      return nil, "it has no reduction that could reuse what it reads"
    end
    local open = tiling.uncuttable(sch:copy(), block, p.structure)
    if open then
      return nil, ("the extent of loop %s is not a constant"):format(open)
    end
    local all, whys = {}, {}
    local few = p.few_from > 0 and tiled_blocks(sch:copy()) >= p.few_from
    for _, vectors in ipairs(p.vectors) do
      local made, list = tiling.attempt(sch, schedule, block, vectors, p)
      if made then
        table.move(list[1], 1, #list[1], #all + 1, all)
        list = list[2]
      end
      whys[#whys + 1] = list
      if few and #all > 0 then return all[#all], table.concat(whys, "; ") end
    end
    if #all == 0 then return nil, table.concat(whys, "; ") end
    if not p.must then all[#all + 1] = sch:copy() end
    return all, table.concat(whys, "; ")
  end,
}
