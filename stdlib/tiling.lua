-- SPDX-License-Identifier: Apache-2.0
-- Steps that schedule modules share: cutting a nest into levels of tiles,
-- placing copies of what it writes and reads under them, binding them to
-- threads.
local ts = require "tessera"
local divisors = require "tessera.steps.divisors"
local sampling = require "tessera.steps.sampling"
local tiling = {}

-- ---- levels ----------------------------------------------------------------

-- How many tiles the structure, as "SSRSRS", cuts loops of each kind into.
function tiling.tiles_of(structure)
  return { S = select(2, structure:gsub("S", "")),
           R = select(2, structure:gsub("R", "")) }
end

-- "S" or "R" for each loop around the block: what its iter is, where each has
-- one, and otherwise what the loop drives.
function tiling.letters(sch, block, loops)
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
  local loops, count = { sch:get_loops(block) }, tiling.tiles_of(structure)
  local letters = tiling.letters(sch, block, loops)
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
function tiling.no_reuse(sch, block)
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
function tiling.unfit(sch, block, structure, open)
  local why = tiling.no_reuse(sch, block)
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
function tiling.cut_around(sch, loop, n, p, size)
  if not size or n == 1 then return sampled(sch, loop, n, p) end
  local outer, inner = sch:split(loop, { ts.auto, size })
  if n == 2 then return { ts.auto, size }, { outer, inner } end
  local sizes, loops = sampled(sch, outer, n - 1, p)
  sizes[n], loops[n] = size, inner
  return sizes, loops
end

-- Cuts a loop into n of which the first has all iterations; sizes and loops.
function tiling.leave_outermost(sch, loop, n)
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
function tiling.tile(sch, block, p, cut, first, after)
  local loops, structure = { sch:get_loops(block) }, p.structure
  local letters, count = tiling.letters(sch, block, loops),
                         tiling.tiles_of(structure)
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
function tiling.last(levels, level) return levels[level][#levels[level]] end

-- The product of sampled sizes and numbers.
function tiling.product(sizes)
  local n
  for _, v in ipairs(sizes) do n = n and n * v or v end
  return n or 1
end

-- One loop of these.
function tiling.fuse(sch, loops)
  return #loops > 1 and sch:fuse(table.unpack(loops)) or loops[1]
end

-- Fuses the loops of the first levels and binds them to these axes; successive
-- levels with the same axis together, the first of which has none then.  Levels
-- without loops are left out.
function tiling.bind(sch, levels, axes)
  for level, axis in ipairs(axes) do
    local loops = levels[level]
    if axes[level + 1] == axis then
      levels[level] = {}
      levels[level + 1] = table.move(levels[level + 1], 1, #levels[level + 1],
                                     #loops + 1, loops)
    elseif #loops > 0 then
      local fused = tiling.fuse(sch, loops)
      sch:bind(fused, axis)
      levels[level] = { fused }
    end
  end
end

-- Whether the block is in another one than the root.
function tiling.is_nested(sch, block)
  local name = sch:block_info(block).name
  for _, child in ipairs { sch:get_child_blocks(sch:get_block "root") } do
    if sch:block_info(child).name == name then return false end
  end
  return name ~= "root"
end

-- ---- copies ----------------------------------------------------------------

-- A copy of the schedule on which f has been, and what it gave; or nil and why
-- something that f does is refused.
function tiling.attempt(sch, f, ...)
  local copy = sch:copy()
  local ok, e = pcall(f, copy, ...)
  if ok then return copy, e end
  if type(e) == "string" or e.code ~= "REFUSED" then error(e, 0) end
  return nil, e.message
end

-- The innermost loop of a block that was put beside the tiles, cut to the
-- size of the innermost tile, so that it can be vectorised like the tile.
function tiling.match_inner(sch, block, inner)
  if not inner then return end
  local loops = { sch:get_loops(block) }
  sch:split(loops[#loops], { ts.auto, inner })
  sch:annotate(block, "tiled_like", 1)
end

-- Whether each index of the access is an iter of its own, or, in a dimension
-- of one element, a constant: `all` is how many elements the buffer has.
local function is_one_to_one(sch, block, r, all)
  local seen, constant = {}, false
  for _, iter in ipairs(sch:access_info(block, "read", r).dims) do
    if iter and seen[iter] then return false end
    if iter then seen[iter] = true else constant = true end
  end
  if not constant then return true end
  for iter, used in ipairs(sch:access(block, "read", r)) do
    if used and not seen[iter] then return false end
  end
  return all and sch:footprint(block, "read", r) == all
end

-- Whether the block reads the buffer, of `all` elements, at one place, so that
-- its tiles read what the buffer's tiles hold.
function tiling.is_elementwise(sch, block, buffer, all)
  if not sch:is_spatial(block) then return false end
  for r = 0, sch:block_info(block).reads - 1 do
    if sch:access_info(block, "read", r).buffer == buffer and
       not is_one_to_one(sch, block, r, all) then
      return false
    end
  end
  return true
end

-- The only consumer of the result, when it is elementwise.
function tiling.consumer(sch, block)
  local consumers = { sch:get_consumers(block) }
  local only, result = consumers[1], sch:access_info(block, "write", 0).buffer
  if #consumers == 1 and
     tiling.is_elementwise(sch, only, result,
                           sch:footprint(block, "write", 0)) then
    return only
  end
end

-- The consumer takes the result to where it is wanted, under that loop, or,
-- when there is none, or as is said, a copy does.
local function write_under(sch, block, loop, inner, scope, copied)
  local out = not copied and tiling.consumer(sch, block)
  local moved = out
  out = out or sch:cache_write(block, 0, scope)
  sch:reverse_compute_at(out, loop, { preserve_unit_loops = true })
  if moved and scope ~= "global" then sch:set_scope(block, 0, scope) end
  tiling.match_inner(sch, out, inner)
  return out
end

-- A copy of the schedule in which what the block computes is kept in a buffer
-- of that scope, written back under the loop; and the block that does it.
function tiling.write_back(sch, block, loop, inner, scope)
  local written, out = tiling.attempt(sch, write_under, block, loop, inner,
                                      scope, false)
  if written then return written, out end
  return tiling.attempt(sch, write_under, block, loop, inner, scope, true)
end

-- ---- what is read ----------------------------------------------------------

-- Positions of the read buffers that the last spatial variable and some
-- reduction variable index.
function tiling.packable(sch, block)
  local info, list = sch:block_info(block), {}
  local last
  for i, kind in ipairs(info.iters) do
    if kind == "spatial" then last = i end
  end
  for r = 0, info.reads - 1 do
    local used, reduced, missing = sch:access(block, "read", r), false, false
    for i, kind in ipairs(info.iters) do
      if kind == "reduce" then reduced = reduced or used[i]
      else missing = missing or not used[i] end
    end
    if last and used[last] and reduced and missing then list[#list + 1] = r end
  end
  return list
end

-- A map to panels of that width along dimension `dim` of ndim, each with
-- consecutive memory: B[k, j] goes to B[j // w, k, j % w].
function tiling.panels(dim, width, ndim)
  local names = {}
  for d = 1, ndim do names[d] = "i" .. d end
  local list = table.concat(names, ", ")
  local function map(...)
    local at, out = table.pack(...), {}
    out[1] = at[dim] // width
    for d = 1, ndim do if d ~= dim then out[#out + 1] = at[d] end end
    out[#out + 1] = at[dim] % width
    return table.unpack(out)
  end
  -- A map's parameters have names; a function with any number has none.
  return load(("local f = ... return function(%s) return f(%s) end")
              :format(list, list))(map)
end

-- The dimension of a read buffer that the last spatial iter indexes alone, and
-- how many there are.
function tiling.column_of(sch, block, r)
  local dims, last, at = sch:access_info(block, "read", r).dims, nil, nil
  for i, kind in ipairs(sch:block_info(block).iters) do
    if kind == "spatial" then last = i end
  end
  for d, i in ipairs(dims) do if i == last then at = d end end
  return at, #dims
end

-- Copies a read buffer under that loop, for the blocks that are listed, or
-- for all that read it, in panels as wide as the innermost tile.
local function pack_under(sch, block, r, loop, inner, scope, readers)
  local at, ndim = tiling.column_of(sch, block, r)
  local copy = sch:cache_read(block, r, scope,
                              { consumer_blocks = readers })
  sch:compute_at(copy, loop, { preserve_unit_loops = true })
  if at and inner then
    sch:transform_layout(copy, { "write", 0 }, tiling.panels(at, inner, ndim))
  end
  if not at or at == ndim then tiling.match_inner(sch, copy, inner) end
end

-- The schedule with those operands packed that can be; nil where that is none.
-- left_out(what, why) is told of each that cannot be.
function tiling.pack(sch, block, reads, loop, inner, scope, left_out)
  local packed
  for _, r in ipairs(reads) do
    local from = packed or sch
    local next, why = tiling.attempt(from, pack_under, block, r, loop, inner,
                                     scope)
    if not next then
      next, why = tiling.attempt(from, pack_under, block, r, loop, inner,
                                 scope, { block })
    end
    packed = next or packed
    if not next then
      left_out("packing of " .. sch:access_info(block, "read", r).buffer, why)
    end
  end
  return packed
end

-- The loops of a copy inside `loop`, fused and cut, so that `threads` threads
-- of that axis copy it together, some elements at a time each, of which one
-- of `lengths` is sampled.
function tiling.fetch_together(sch, copy, axis, threads, lengths)
  local count, loops = #sch:block_info(copy).iters,
                      { sch:get_loops(copy) }
  local fused = tiling.fuse(sch, table.move(loops, #loops - count + 1, #loops,
                                            1, {}))
  if #lengths == 0 then
    local _, together = sch:split(fused, { ts.auto, threads })
    sch:bind(together, axis)
    return
  end
  local even = {}
  for i = 1, #lengths do even[i] = 1 / #lengths end
  local _, together, vector = sch:split(fused, {
    ts.auto, threads, sch:sample_categorical(lengths, even) })
  sch:bind(together, axis)
  sch:vectorize(vector)
end

-- The block is left to a tensor intrinsic, and what is in it not tiled again.
function tiling.tensorize(sch, block, name)
  sch:tensorize(block, name)
  sch:annotate(block, "auto_tensorize", name)
  for _, inner in ipairs { sch:get_child_blocks(block) } do
    sch:annotate(inner, "tiling_structure", "tensorized")
  end
end

-- ---- sketches --------------------------------------------------------------

-- The threads of each level that is bound to some, and their number.
local function threads_of(p, facts)
  for level, axis in ipairs(p.tile_binds) do
    if axis:find "^threadIdx" then
      return axis, tiling.product(facts.sizes[level])
    end
  end
end

local function annotate_threads(sch, block, p)
  local spatial, extents = 1, {}
  for _, loop in ipairs { sch:get_loops(block) } do
    local info = sch:loop_info(loop)
    if info.iter_type == "spatial" then
      extents[#extents + 1] = info.extent or 1
      spatial = spatial * (info.extent or 1)
    end
  end
  local range = p.threads_per_block or {}
  local most = divisors.greatest(divisors.combinations(
    extents, range[2] or p.max_threads))
  local least = math.min(32, most)
  sch:annotate(block, "thread_extent_low_inclusive",
               spatial > 64 and least or 1)
  sch:annotate(block, "thread_extent_high_inclusive", p.max_threads)
end

-- Bytes of an element that the copy writes.
local function element_bytes(sch, copy)
  local dtype = sch:access_info(copy, "write", 0).dtype
  return (tonumber(dtype:match "%d+") or 8) // 8
end

-- Those of the lengths of vectors that a thread loads at once of the copy.
local function fitting(sch, copy, lengths)
  local bytes, list = element_bytes(sch, copy), {}
  for _, n in ipairs(lengths) do
    if n * bytes <= 16 then list[#list + 1] = n end
  end
  return list
end

-- How many elements of the copy are so many bytes, one at least.
function tiling.vectors(sch, copy, sizes)
  local bytes, list = element_bytes(sch, copy), {}
  for i, n in ipairs(sizes) do list[i] = math.max(1, n // bytes) end
  return list
end

-- Copies all that the block reads and does not write, under that loop.
local function copy_reads(sch, block, p, loop, facts)
  local result = sch:access_info(block, "write", 0).buffer
  local axis, threads = threads_of(p, facts)
  for r = 0, sch:block_info(block).reads - 1 do
    if sch:access_info(block, "read", r).buffer ~= result then
      local copy = sch:cache_read(block, r, p.read_scope,
                                  { consumer_blocks = { block } })
      sch:compute_at(copy, loop, { preserve_unit_loops = true })
      if axis then
        tiling.fetch_together(sch, copy, axis, threads,
                              fitting(sch, copy, p.vector_load_lens))
      end
    end
  end
end

-- Whether there is a sketch in which what is copied under this level is on its
-- way some iterations ahead.
local function runs_ahead(p, level)
  return p.stages and #p.stages > 0 and p.structure:sub(level, level) == "R"
end

-- The loops of the level, fused, copy as many iterations ahead as there are
-- buffers, of whose numbers in p.stages one is sampled.
local function run_ahead(sch, loops, p)
  local loop = tiling.fuse(sch, loops)
  local last, stage, order = sampling.any(sch, p.stages) - 1, {}, {}
  for i = 1, #{ sch:get_child_blocks(loop) } do
    stage[i], order[i] = 0, i - 1
  end
  stage[#stage] = last
  sch:annotate(loop, "software_pipeline_stage", stage)
  sch:annotate(loop, "software_pipeline_order", order)
  sch:annotate(loop, "software_pipeline_async_stages", { 0 })
end

-- All sketches of multi-level tiling with the parameters of the module of that
-- name, and a text of what is left out of them (nil: nothing is), and
-- the loops of each level.
function tiling.sketches(sch, block, p, cut, first, after)
  if #p.tile_binds > 0 then annotate_threads(sch, block, p) end
  local levels, facts = tiling.tile(sch, block, p, cut, first, after)
  sch:annotate(block, "tiling_structure", p.structure)
  tiling.bind(sch, levels, p.tile_binds)
  local list, out = { sch }, {}
  local function left_out(what, why)
    out[#out + 1] = ("no %s: %s"):format(what, why)
  end
  for _, level in ipairs(p.write_levels) do
    local written, why = tiling.write_back(
      sch, block, tiling.last(levels, level), facts.inner, p.write_scope)
    list[#list + 1] = written
    if not written then left_out("write level " .. level, why) end
  end
  if p.write_must and #list > 1 then table.remove(list, 1) end
  for n = 1, #list do
    for _, level in ipairs(p.read_levels) do
      local read, why = tiling.attempt(list[n], copy_reads, block, p,
                                       tiling.last(levels, level), facts)
      if read and p.read_must == false then table.insert(list, read)
      else list[n] = read or list[n] end
      if not read then left_out("read level " .. level, why) end
      local ahead = read and runs_ahead(p, level) and tiling.attempt(
        read, run_ahead, levels[level], p)
      if ahead then table.insert(list, ahead) end
    end
  end
  if p.pack then
    local under = tiling.last(levels, p.structure:find("R", 1, true))
    local last = list[#list]
    list[#list + 1] = tiling.pack(last, block, tiling.packable(last, block),
                                  under, facts.inner, p.pack_scope or "global",
                                  left_out)
  end
  return list, #out > 0 and table.concat(out, "; ") or nil, levels
end

return tiling
