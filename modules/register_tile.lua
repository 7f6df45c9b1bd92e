-- SPDX-License-Identifier: Apache-2.0
-- Multi-level tiling whose innermost tiles fill the target's vector registers:
-- as many rows by vectors of columns as there are registers for the sums, one
-- row of vectors and one element of the other operand, as 6 x 16 float32 on
-- AVX2 and 14 x 32 on AVX-512 (K. Goto and R. van de Geijn, Anatomy of
-- High-Performance Matrix Multiplication, 2008).  Rows are such along which
-- vectors of columns are reused.  Only the tiles around them are sampled, of
-- the other loops one iteration is in the tile, and loops along which nothing
-- is reused, as of a batch, are outermost.  Where the tile does not divide an
-- extent, a smaller one down to half that does is taken, and where there is
-- none the block is padded.
local ts = require "tessera"
local machine = require "tessera.steps.machine"
local nests = require "tessera.steps.nests"
local reductions = require "tessera.steps.reductions"
local register_tiles = require "tessera.steps.register_tiles"
local tiling = require "tessera.tiling"
local tiling_parameters = require "tessera.steps.tiling_parameters"

-- Loops of no more iterations are unrolled, whatever a schedule says: rows must
-- be, for the sums to be in registers.
local SHORT = 16

-- What only a padded copy reads, as an image with a border, is computed there.
local function inline_into_copies(sch, block)
  for _, copy in ipairs { sch:get_producers(block) } do
    for _, producer in ipairs { sch:get_producers(copy) } do
      if #{ sch:get_consumers(producer) } == 1 and
         sch:can("compute_inline", producer) then
        sch:compute_inline(producer)
      end
    end
  end
end

-- Pads the block where tiles do not divide its extents.
local function pad(sch, block, sizes, p)
  local by, needed = {}, false
  for i, loop in ipairs { sch:get_loops(block) } do
    by[i] = sizes[i] or 1
    needed = needed or sch:extent(loop) % by[i] ~= 0
  end
  if needed and not p.pad_extents then
    tiling.refuse "tiles do not divide its extents"
  end
  if not needed then return end
  sch:pad_einsum(block, by)
  inline_into_copies(sch, block)
end

-- What reads zeros around another buffer for the block alone.
local function paddings(sch, block)
  local list = {}
  for _, producer in ipairs { sch:get_producers(block) } do
    if sch:block_info(producer).has_select and sch:is_spatial(producer) and
       #{ sch:get_consumers(producer) } == 1 then
      list[#list + 1] = producer
    end
  end
  return list
end

-- Whether zeros are a tenth or more of it: guards around few of them cost more
-- than they save.
local function has_many_zeros(sch, padding)
  local read = sch:footprint(padding, "read", 0)
  local made = sch:footprint(padding, "write", 0)
  return read and made and 10 * read <= 9 * made
end

-- Leaves out products of the zeros around what the block reads.  Where a tile
-- has all of its rows, they are folded into it: each step of the window has
-- those rows that it meets.  Else they stay a copy, and steps of the window are
-- left out that meet no row, where there are many.
local function skip_padding(sch, block, sizes, column, folds)
  for i, loop in ipairs { sch:get_loops(block) } do
    if folds and sizes[i] and i ~= column and sizes[i] ~= sch:extent(loop) then
      tiling.refuse "a tile has not all of its rows"
    end
  end
  local any = false
  for _, producer in ipairs(paddings(sch, block)) do
    if not folds then
      any = any or has_many_zeros(sch, producer)
    elseif sch:can("compute_inline", producer) then
      sch:compute_inline(producer)
      any = true
    end
  end
  if any then sch:annotate(block, "skip_zeros", 1) end
  if folds and not any then tiling.refuse "it reads no padding" end
end

local function schedule(sch, block, vectors, p, folds)
  local sizes, column = register_tiles.shape(sch, block, vectors, p.registers)
  if not sizes then tiling.refuse "it has no rows and columns" end
  skip_padding(sch, block, sizes, column, folds)
  pad(sch, block, sizes, p)
  local batch = register_tiles.batch(sch, block, sizes)
  local kinds = sch:block_info(block).iters
  return { tiling.sketches(sch, block, p, function(_, loop, n, _, i)
    if batch[i] then return tiling.leave_outermost(sch, loop, n) end
    local size = sizes[i] or kinds[i] == "spatial" and 1
    local factors, loops = tiling.cut_around(sch, loop, n, p, size or nil)
    if sizes[i] and i ~= column and size > SHORT then
      sch:unroll(loops[#loops])
    end
    return factors, loops
  end, register_tiles.columns_first(sch, block, column, batch)) }
end

-- Whether padding can be folded into tiles of so many vectors.
local function can_fold(sch, block, vectors, p)
  local sizes, column = register_tiles.shape(sch, block, vectors, p.registers)
  return sizes and tiling.attempt(sch, skip_padding, block, sizes, column,
                                  true)
end

-- Whether columns of the result are such of what it reads, as in a depthwise
-- convolution, of which rows are read a few times only.
local function has_columns(sch, block)
  local dims = sch:access_info(block, "write", 0).dims
  for r = 0, sch:block_info(block).reads - 1 do
    local read = sch:access_info(block, "read", r)
    if read.dims[#read.dims] ~= dims[#dims] then return false end
  end
  return true
end

-- The numbers of vectors that there are sketches of.
local function numbers_of_vectors(sch, block, p)
  if #paddings(sch, block) == 0 or has_columns(sch, block) then
    return register_tiles.without_copies(sch, block, p.vectors, p.registers)
  end
  for _, vectors in ipairs(p.vectors) do
    if can_fold(sch, block, vectors, p) then return p.vectors end
  end
  if not can_fold(sch, block, 1, p) then return p.vectors end
  return { 1, table.unpack(p.vectors) }
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

-- Whether add_rfactor has a sketch in which it makes partial results.
local function is_split(sch, block)
  return reductions.needs_parts(sch, block, 16 * machine.cores(sch), true)
end

return ts.module {
  name = "register_tile",
  parameters = tiling_parameters.of({
    structure = "SSRSRS", max_innermost_factor = 64,
    tile_binds = {}, max_threads = 1024,
    write_levels = { 1, 2 }, write_scope = "global", write_must = false,
    read_levels = {}, read_scope = "shared", vector_load_lens = {},
    pack = false, pack_scope = "global",
  }, {
    { "vectors", { 2 }, "how many vectors of columns, a sketch of each",
      least = 1 },
    { "registers", 0, "how many vector registers there are; 0: the target's",
      least = 0 },
    { "pad_extents", true, "a block whose extents no tile divides is padded" },
    { "must", true, "no sketch is the block as it was" },
    { "few_from", 0, "of a program with so many blocks to tile only the " ..
      "last sketch is made for each, since the numbers multiply (0: never); " ..
      "then of a reduction that add_rfactor splits there are but the last " ..
      "sketch and the block as it was", least = 0 },
  }),
  check = tiling_parameters.check,
  apply = function(sch, block, p)
    local unfit = tiling.unfit(sch, block, p.structure)
    if unfit then return nil, unfit end
    if reductions.makes_partials(sch, block) then
      return nil, "it makes partial results, as many as are drawn"
    end
    local all, whys = {}, {}
    local few = p.few_from > 0 and tiled_blocks(sch:copy()) >= p.few_from
    local split = p.few_from > 0 and is_split(sch, block)
    for _, vectors in ipairs(numbers_of_vectors(sch, block, p)) do
      local made, list = tiling.attempt(sch, schedule, block, vectors, p, true)
      if not made then
        made, list = tiling.attempt(sch, schedule, block, vectors, p, false)
      end
      if made then
        table.move(list[1], 1, #list[1], #all + 1, all)
        list = list[2]
      end
      whys[#whys + 1] = list
      if few and #all > 0 then return all[#all], table.concat(whys, "; ") end
    end
    if #all == 0 then return nil, table.concat(whys, "; ") end
    if split then all = { all[#all] } end
    if not p.must then all[#all + 1] = sch:copy() end
    return all, table.concat(whys, "; ")
  end,
}
