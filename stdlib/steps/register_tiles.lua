-- SPDX-License-Identifier: Apache-2.0
-- What a register tile is made of: its size for a target, the loops that it
-- tiles, and the order of the others.
local machine = require "tessera.steps.machine"
local register_tiles = {}

-- How many elements are read of the operands that columns index, and of the
-- others.
local function sizes_read(sch, block, column)
  local with, without = 0, 0
  for r = 0, sch:block_info(block).reads - 1 do
    local size = sch:footprint(block, "read", r) or 0
    if sch:access(block, "read", r)[column] then with = with + size
    else without = without + size end
  end
  return with, without
end

-- Whether each vector of columns that is read serves all iterations of a loop.
local function reuses_columns(sch, block, column, i)
  for r = 0, sch:block_info(block).reads - 1 do
    local by = sch:access(block, "read", r)
    if by[column] and by[i] then return false end
  end
  return true
end

-- Operands so many times as large as those of columns, as the weights of a
-- convolution of 7 x 7 images, are read in order, not a row of each at once.
local STREAMED = 20

-- The loops of columns, which are the last index of the result, and of rows:
-- the innermost other spatial one of more than one iteration, of those along
-- which vectors of columns are reused if there are any.
local function tile_loops(sch, block)
  local loops, dims = { sch:get_loops(block) },
                      sch:access_info(block, "write", 0).dims
  local kinds, column = sch:block_info(block).iters, dims[#dims]
  local row, reused
  for i = 1, #loops do
    if kinds[i] == "spatial" and i ~= column and sch:extent(loops[i]) > 1 then
      row = i
      if column and reuses_columns(sch, block, column, i) then reused = i end
    end
  end
  if not reused or reused == row then return loops, column, row end
  local with, without = sizes_read(sch, block, column)
  return loops, column, without > STREAMED * with and row or reused
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

-- With no more rows padding, which copies the columns, costs more than vectors
-- of half the length.
local FEW = 8

-- How many rows there are in all.
local function count_rows(sch, block, loops, column)
  local kinds, n = sch:block_info(block).iters, 1
  for i, loop in ipairs(loops) do
    if kinds[i] == "spatial" and i ~= column then n = n * sch:extent(loop) end
  end
  return n
end

-- The size of tiles of columns: of few rows the largest of whole half vectors
-- that divides them, where there is none of whole vectors.
local function columns_of(extent, most, lanes, rows)
  local size, half = size_of(extent, most, lanes), lanes // 2
  if extent % size == 0 or rows > FEW or half < 2 then return size end
  for some = most // half * half, lanes, -half do
    if extent % some == 0 then return some end
  end
  return size
end

-- The size of each loop's innermost tile, by position; nil: there are no rows.
function register_tiles.shape(sch, block, vectors, wanted)
  local lanes = machine.lanes(sch, block, machine.vector_bytes(sch))
  local loops, column, row = tile_loops(sch, block)
  local rows = (machine.registers(sch, wanted) - vectors - 1) // vectors
  if not column or not row or rows < 1 then return nil end
  local all = count_rows(sch, block, loops, column)
  return { [column] = columns_of(sch:extent(loops[column]), vectors * lanes,
                                 lanes, all),
           [row] = size_of(sch:extent(loops[row]), rows, 1) }, column
end

-- Of these numbers of vectors those that need no padding of columns, where few
-- rows would not make up for it; all of them where each needs it.
function register_tiles.without_copies(sch, block, numbers, wanted)
  local copy <close> = sch:copy()
  local loops, column = tile_loops(copy, block)
  if not column or count_rows(copy, block, loops, column) > FEW then
    return numbers
  end
  local list = {}
  for _, vectors in ipairs(numbers) do
    local sizes = register_tiles.shape(copy, block, vectors, wanted)
    if sizes and copy:extent(loops[column]) % sizes[column] == 0 then
      list[#list + 1] = vectors
    end
  end
  return list[1] and list or numbers
end

-- Whether each loop's iter, none of the tile's, indexes all buffers, as that of
-- a batch does: nothing is reused along it, so all of it stays outermost.
function register_tiles.batch(sch, block, sizes)
  local info, batch = sch:block_info(block), {}
  for i, kind in ipairs(info.iters) do
    batch[i] = kind == "spatial" and not sizes[i]
    for r = 0, info.reads - 1 do
      batch[i] = batch[i] and sch:access(block, "read", r)[i]
    end
  end
  return batch
end

-- Where the operands that columns index are twice as large as the others, as
-- the weights of a convolution of small images, their outermost tiles come
-- first, after those of a batch, so that they are read once: the loop of
-- columns, and the position that it gets.
function register_tiles.columns_first(sch, block, column, batch)
  local with, without = sizes_read(sch, block, column)
  local after = 1
  while batch[after] do after = after + 1 end
  if with > 2 * without then return column, after end
end

return register_tiles
