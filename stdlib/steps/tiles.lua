-- SPDX-License-Identifier: Apache-2.0
-- Cutting a nest into levels of tiles, and binding them to threads.
local ts = require "tessera"
local tiles = {}

-- How many tiles the structure, as "SSRSRS", cuts loops of each kind into.
function tiles.tiles_of(structure)
  return { S = select(2, structure:gsub("S", "")),
           R = select(2, structure:gsub("R", "")) }
end

-- "S" or "R" for each loop around the block: what its iter is, where each has
-- one, and otherwise what the loop drives.
function tiles.letters(sch, block, loops)
  local kinds, letters = sch:block_info(block).iters, {}
  for i, loop in ipairs(loops) do
    local kind = #kinds == #loops and kinds[i] or sch:loop_info(loop).iter_type
    letters[i] = kind == "reduce" and "R" or "S"
  end
  return letters
end

-- The name of a loop that would be cut and whose extent is no constant, so
-- that there are no tile sizes to draw; nil: there is none.  `open` (sch, loop,
-- letter): whether a loop can be cut all the same.
local function uncuttable(sch, block, structure, open)
  local loops, count = { sch:get_loops(block) }, tiles.tiles_of(structure)
  local letters = tiles.letters(sch, block, loops)
  for i, loop in ipairs(loops) do
    local info = sch:loop_info(loop)
    if count[letters[i]] > 1 and not info.extent and
       not (open and open(sch, loop, letters[i])) then
      return info.name
    end
  end
end

-- Whether each loop around the block is that of an iter, in their order.
local function follows_iters(sch, block)
  local loops = sch:block_info(block).loops
  for i, at in ipairs(loops) do if at ~= i then return false end end
  return #loops == #{ sch:get_loops(block) }
end

-- Why no tiling of a block would reuse what it reads; nil: some would.
function tiles.no_reuse(sch, block)
  if sch:needs_multi_level_tiling(block) then return nil end
  if sch:annotation(block, "tiling_structure") then
    return "it was tiled before"
  end
  if sch:is_reduction(block) and not follows_iters(sch, block) then
    return "its loops are not those of its iters, one each in their order: " ..
           "reorder the loops, or the iters by reorder_block_iter_var"
  end
  return "it has no reduction that could reuse what it reads"
end

-- Why a block has no tiles to draw by this structure; nil: it has.
function tiles.unfit(sch, block, structure, open)
  local why = tiles.no_reuse(sch, block)
  if why then return why end
  if not sch:copy():reuses_in_reduction(block) then
    return "what it reads again is the same throughout the reduction"
  end
  local name = uncuttable(sch:copy(), block, structure, open)
  return name and ("the extent of loop %s is not a constant"):format(name)
end

-- Cuts a loop into n tiles of sampled sizes; the sizes and the loops.
local function sampled(sch, loop, n, p)
  local sizes = { sch:sample_perfect_tile(loop, {
    n = n, max_innermost_factor = p.max_innermost_factor }) }
  return sizes, { sch:split(loop, sizes) }
end

-- Cuts a loop into n, the innermost of that size (nil: sampled, too), which
-- need not divide its extent; the sizes and the loops.
function tiles.cut_around(sch, loop, n, p, size)
  if not size or n == 1 then return sampled(sch, loop, n, p) end
  local outer, inner = sch:split(loop, { ts.auto, size })
  if n == 2 then return { ts.auto, size }, { outer, inner } end
  local sizes, loops = sampled(sch, outer, n - 1, p)
  sizes[n], loops[n] = size, inner
  return sizes, loops
end

-- Cuts a loop into n of which the first has all iterations; sizes and loops.
function tiles.leave_outermost(sch, loop, n)
  local sizes = { ts.auto }
  for i = 2, n do sizes[i] = 1 end
  return sizes, { sch:split(loop, sizes) }
end

-- Cuts the loops around the block as p.structure says, no tile of the innermost
-- level longer than p.max_innermost_factor, and orders the tiles by level.
-- `cut` (sch, loop, n, p, i) cuts loop i into n and gives the list of sizes and
-- that of loops; nil: sizes are sampled.  Loop `first`'s outermost tile comes
-- before those of loops from `after` on.  Gives
-- { [level] = { loops } } and a table with
--   inner: the size of the innermost tile of the last spatial loop, and
--   sizes: for each level those of its loops.
function tiles.tile(sch, block, p, cut, first, after)
  local loops, structure = { sch:get_loops(block) }, p.structure
  local letters, count = tiles.letters(sch, block, loops),
                         tiles.tiles_of(structure)
  local levels, facts, last = {}, { sizes = {} }, nil
  for level = 1, #structure do levels[level], facts.sizes[level] = {}, {} end
  for i, letter in ipairs(letters) do if letter == "S" then last = i end end
  for i, loop in ipairs(loops) do
    local letter, sizes, pieces = letters[i], nil, { loop }
    if count[letter] > 1 then
      sizes, pieces = (cut or sampled)(sch, loop, count[letter], p, i)
    end
    if i == last then facts.inner = sizes and sizes[#sizes] end
    local k = 0
    for level = 1, #structure do
      if structure:sub(level, level) == letter then
        k = k + 1
        local at = #levels[level] + 1
        if level == 1 and i == first then at = math.min(at, after) end
        table.insert(levels[level], at, pieces[k])
        table.insert(facts.sizes[level], at,
                     sizes and sizes[k] or sch:extent(loop))
      end
    end
  end
  local order = {}
  for _, level in ipairs(levels) do
    table.move(level, 1, #level, #order + 1, order)
  end
  sch:reorder(order)
  return levels, facts
end

-- The last loop of a level.
function tiles.last(levels, level) return levels[level][#levels[level]] end

-- The product of sampled sizes and numbers.
function tiles.product(sizes)
  local n
  for _, v in ipairs(sizes) do n = n and n * v or v end
  return n or 1
end

-- One loop of these.
function tiles.fuse(sch, loops)
  return #loops > 1 and sch:fuse(table.unpack(loops)) or loops[1]
end

-- Fuses the loops of the first levels and binds them to these axes; successive
-- levels with the same axis together, the first of which has none then.  Levels
-- without loops are left out.
function tiles.bind(sch, levels, axes)
  for level, axis in ipairs(axes) do
    local loops = levels[level]
    if axes[level + 1] == axis then
      levels[level] = {}
      levels[level + 1] = table.move(levels[level + 1], 1, #levels[level + 1],
                                     #loops + 1, loops)
    elseif #loops > 0 then
      local fused = tiles.fuse(sch, loops)
      sch:bind(fused, axis)
      levels[level] = { fused }
    end
  end
end

-- Whether the block is in another one than the root.
function tiles.is_nested(sch, block)
  local name = sch:block_info(block).name
  for _, child in ipairs { sch:get_child_blocks(sch:get_block "root") } do
    if sch:block_info(child).name == name then return false end
  end
  return name ~= "root"
end

return tiles
