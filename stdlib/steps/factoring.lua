-- SPDX-License-Identifier: Apache-2.0
-- Blocking of eliminations pivot by pivot, by strip-mining, index set splitting
-- and distribution of loops: what is asked of the nest, and the steps.
local ts = require "tessera"
local tiling = require "tessera.tiling"
local factoring = {}

local refuse = tiling.refuse

-- The statements in a loop, number `depth` of those around its blocks: loops,
-- false for blocks.  And the last block.
local function statements(sch, loop, depth)
  local blocks, list, i = table.pack(sch:get_child_blocks(loop)), {}, 1
  while i <= blocks.n do
    local inner = table.pack(sch:get_loops(blocks[i]))[depth + 1] or false
    list[#list + 1] = inner
    i = i + (inner and select("#", sch:get_child_blocks(inner)) or 1)
  end
  return list, blocks[blocks.n]
end

-- Why the block is no update of what is behind a pivot; nil: it is.
function factoring.mismatch(sch, block)
  local loops, info = { sch:get_loops(block) }, sch:block_info(block)
  if #loops ~= 3 then return "it is not in three loops" end
  local n = sch:extent(loops[1])
  if not n then return "the extent of its outermost loop is not a constant" end
  if sch:extent(loops[2]) and sch:extent(loops[3]) then
    return "no bounds in it depend on a loop of pivots"
  end
  if sch:can("parallel", loops[1]) then
    return "its outermost loop carries no dependence"
  end
  local _, last = statements(sch, loops[1], 1)
  if sch:block_info(last).name ~= info.name then
    return "it is not the last statement of its outermost loop"
  end
  local write = sch:access_info(block, "write", 0)
  for r = 0, info.reads - 1 do
    local read = sch:access_info(block, "read", r)
    if read.buffer == write.buffer then return nil end
  end
  return "it does not update what it writes"
end

-- The loops of rows and columns below that of pivots, in order, and whether the
-- outer one goes along memory: what writes have last.
local function is_along(sch, block)
  local dims = sch:access_info(block, "write", 0).dims
  local loops = sch:block_info(block).loops
  local along = dims[#dims] and loops[dims[#dims]]
  if not along or along == 1 then refuse "it has no rows and columns" end
  return along == 2
end

-- The pivots' loop with the update a statement of its own there, none of whose
-- blocks later modules schedule:
-- { pivots, n, block, along }.  Where the outer of its loops does not depend on
-- the pivot the inner one does, and they change places; else if `swap` is set.
function factoring.distribute(sch, block, swap)
  local k = sch:get_loops(block)
  for _, b in ipairs { sch:get_child_blocks(k) } do
    sch:annotate(b, "schedule_rule", "None")
  end
  local list = statements(sch, k, 1)
  local inner = list[1] and statements(sch, list[1], 2)
  while #list == 1 and inner and #inner > 1 do
    sch:fission(list[1], #inner - 1)
    list = statements(sch, k, 1)
    inner = list[1] and statements(sch, list[1], 2)
  end
  local _, a, b = sch:get_loops(block)
  if sch:extent(a) or swap then
    sch:reorder(b, a)
  else
    a = b
  end
  local along = is_along(sch, block)
  return { pivots = k, n = sch:extent(k), block = block, along = along,
           columns = not along and sch:extent(a) or sch:extent(k) }
end

-- Pivots `size` at a time, and only then the update behind them, which begins
-- at behind(loops of blocks).
local function strip_mine(sch, k, outer, size, behind)
  local depth = #outer + 1
  local n = #statements(sch, k, depth)
  local ko, ki = sch:split(k, { ts.auto, size })
  local blocks = { table.unpack(outer) }
  blocks[depth] = ko
  local inside, right = sch:loop_partition(
    statements(sch, ki, depth + 1)[n], nil, true, blocks, behind)
  local _, rest = sch:fission(ki, n)
  return { blocks = blocks, behind = behind, depth = depth + 1, pivots = ki,
           inside = inside, rest = rest, right = right }
end

-- The last nest below the loop: the two innermost loops of its last block.
local function last_loops(sch, loop)
  local blocks = table.pack(sch:get_child_blocks(loop))
  local loops = table.pack(sch:get_loops(blocks[blocks.n]))
  return loops[loops.n - 1], loops[loops.n]
end

-- f as a function of n parameters, of which an index map has as many as loops.
local function of_loops(n, f)
  local names = {}
  for i = 1, n do names[i] = "i" .. i end
  local list = table.concat(names, ", ")
  return load(("local f = ... return function(%s) return f(%s) end")
              :format(list, list))(f)
end

-- The last of tiles of `size` elements, which may be partial, in a loop of its
-- own; the first begins at start(loops of blocks), elements end at n.
local function peel(sch, tiles, blocks, start, size, n)
  return sch:loop_partition(tiles, nil, true, blocks,
                            of_loops(#blocks, function(...)
    return (n - 1 - start(...)) // size
  end))
end

-- Columns in vectors, pivots inside.
local function substitute(sch, k, j, list, n)
  local jo, jv = sch:split(j, { ts.auto, n })
  sch:reorder(jo, k)
  local parts = #list > 1 and { sch:fission(jv) } or { jv }
  for i, part in ipairs(parts) do
    if list[i] then sch:reorder(list[i], part) end
    sch:vectorize(part)
  end
  return jo
end

-- The pivots k of a solve `size` at a time: what they do to the rows behind
-- them, but in the block, is a product in tiles of m rows.
local function block_solve(sch, x, k, rows, all, size, m)
  local ko, ki = sch:split(k, { ts.auto, size })
  local around = { table.unpack(x.blocks) }
  around[#around + 1] = ko
  local _, below = sch:loop_partition(rows, nil, true, around,
                                      of_loops(#around, function(...)
    local list = { ... }
    local last = table.remove(list)
    return x.behind(table.unpack(list)) - all + (last + 1) * size
  end))
  -- Around its block: .., ko, ki, the rows below, a vector.
  local loops = table.pack(sch:get_loops((sch:get_child_blocks(below))))
  local _, kb = sch:fission(ki, #statements(sch, ki, loops.n - 2) - 1)
  local io, iu = sch:split(below, { ts.auto, m })
  sch:reorder(io, kb, iu, loops[loops.n])
  sch:unroll(iu)
end

-- Behind the block: its rows, pivot by pivot, in tiles of columns.  Gives the
-- loops of pivots and of columns of the rest, whether the update is
-- triangular, and the loops of tiles of columns.
local function solve(sch, x, nest, sizes)
  local list = statements(sch, x.right, x.depth + 1)
  local rows, tiles = list[#list], {}
  if not rows then refuse "it is not in three loops" end
  local cut = not sch:extent(rows)
  local triangular = cut and
    not sch:can("loop_partition", rows, nil, true, x.blocks, x.behind)
  local k, j = x.rest, x.right
  if cut and not triangular then
    list[#list] = sch:loop_partition(rows, nil, true, x.blocks, x.behind)
    j = select(2, sch:fission(x.right, #list))
    k = select(2, sch:fission(x.rest, 1))
    if nest.along then
      local jo = substitute(sch, x.rest, x.right, list, sizes.columns)
      if sizes[x.level + 1] then
        block_solve(sch, x, x.rest, list[#list], sizes[x.level],
                    sizes[x.level + 1], sizes.rows)
      end
      tiles = x.exact and { jo } or
              { peel(sch, jo, x.blocks, x.behind, sizes.columns, nest.n) }
    end
  elseif #list > 1 then
    j = select(2, sch:fission(x.right, #list - 1))
    k = select(2, sch:fission(x.rest, 1))
  end
  return k, j, triangular, tiles
end

-- Tiles of rows x columns stay in registers while the pivots k go by; gives the
-- loops to run in parallel.  Outermost are tiles of columns, at the outer level
-- so many at a time; rows at the inner ones, where columns are few.  Of a
-- triangular update the tiles on the diagonal are in a loop of their own.
local function product(sch, x, k, j, triangular, nest, sizes)
  local a, b = last_loops(sch, j)
  local m, n = sizes.rows, sizes.columns
  local cols, rows = nest.along and a or b, nest.along and b or a
  local all = sch:extent(cols)
  local jo, jv = sch:split(cols, { ts.auto, n })
  sch:reorder(jo, rows, jv)
  local io, iu = sch:split(rows, { ts.auto, m })
  sch:reorder(jo, io, k, iu, jv)
  sch:vectorize(jv)
  sch:unroll(iu)
  local whole = not triangular and x.exact_rows
  if triangular then
    sch:loop_partition(io, nil, true, { x.blocks[1] },
                       function(_) return n // m end)
  elseif x.exact and x.level > 1 then
    sch:reorder(io, jo)
    return x.exact_rows and { io } or
           { peel(sch, io, x.blocks, x.behind, m, nest.n) }
  elseif not whole then
    peel(sch, io, x.blocks, x.behind, m, nest.n)
  end
  local strips = x.exact and { jo } or
    { peel(sch, jo, x.blocks, all and function() return 0 end or x.behind,
           n, all or nest.n) }
  if whole and x.level == 1 then
    local inner
    strips[1], inner = sch:split(jo, { ts.auto, sizes.strips })
    sch:reorder(io, inner)
  end
  return strips
end

-- Pivot by pivot, in vectors.
local function panel(sch, j, depth, along, n)
  local list = statements(sch, j, depth)
  if #list > 1 then j = select(2, sch:fission(j, #list - 1)) end
  local a, b = last_loops(sch, j)
  if along then sch:reorder(b, a) end
  local _, jv = sch:split(along and a or b, { ts.auto, n })
  sch:vectorize(jv)
end

-- The rows of a panel below its block, `m` at a time and in parallel: each goes
-- through all pivots of the block while it is in the cache, behind the block
-- itself.
local function split_rows(sch, x, m)
  local block, below, first = {}, {}
  for i, loop in ipairs(statements(sch, x.pivots, x.depth)) do
    if loop and sch:can("loop_partition", loop, nil, true, x.blocks,
                        x.behind) then
      first = first or i
      block[#block + 1], below[#below + 1] =
        sch:loop_partition(loop, nil, true, x.blocks, x.behind)
    elseif first then
      block[#block + 1] = loop or refuse "a block stands between rows"
    end
  end
  if not first then refuse "no rows are below the block" end
  if #block > 1 then
    for i, loop in ipairs(block) do block[i] = sch:add_unit_loop(loop) end
    sch:merge(table.unpack(block))
  end
  local rows = below[2] and sch:merge(table.unpack(below)) or below[1]
  local _, k = sch:fission(x.pivots, first)
  local io = sch:split(rows, { ts.auto, m })
  sch:reorder(io, k)
  sch:parallel(io)
end

-- What the rows of a tile read lies in the order in which tiles read it.
local function pack(sch, block, size)
  local info = sch:block_info(block)
  local write = sch:access_info(block, "write", 0)
  local column = write.dims[#write.dims]
  local function lay_out(s, r, dim, ndim)
    s:transform_layout(block, { "read", r }, tiling.panels(dim, size, ndim),
                       { assume_injective_transform = true })
  end
  for r = 0, info.reads - 1 do
    local read = sch:access_info(block, "read", r)
    for d, iter in ipairs(read.dims) do
      local is_row = iter and iter ~= column and
                     info.iters[iter] == "spatial" and
                     read.buffer ~= write.buffer
      sch = is_row and tiling.attempt(sch, lay_out, r, d, #read.dims) or sch
    end
  end
  return sch
end

-- Blocks the pivots of `nest`: sizes[1], sizes[2], ... at a time, tiles of
-- sizes.rows x sizes.columns.
function factoring.block(sch, nest, sizes)
  local along, m, n = nest.along, sizes.rows, sizes.columns
  local k, tail = sch:loop_partition(nest.pivots, {
    (nest.n - 1) // sizes[1] * sizes[1], ts.auto })
  local tail_list = statements(sch, tail, 1)
  panel(sch, tail_list[#tail_list], 2, along, sizes.lanes)
  local list, outer = {}, {}
  local big, small = sizes[1], sizes[2]
  local behind = { function(ko) return (ko + 1) * big end,
                   function(ko, ki) return ko * big + (ki + 1) * small end }
  for level, size in ipairs(sizes) do
    local x = strip_mine(sch, k, outer, size, behind[level])
    list[level], outer, k = x, x.blocks, x.pivots
  end
  for level, x in ipairs(list) do
    -- What is partitioned ends with a block around it, of whole tiles.
    x.level = level
    x.exact = sizes.exact or level > 1 and along
    x.exact_rows = sizes.exact_rows or level > 1 and not along
    local rest, j, triangular, tiles = solve(sch, x, nest, sizes)
    for _, o in ipairs(product(sch, x, rest, j, triangular, nest, sizes)) do
      tiles[#tiles + 1] = o
    end
    for _, o in ipairs(tiles) do sch:parallel(o) end
  end
  local last = list[#list]
  panel(sch, last.inside, last.depth + 1, along, n)
  if along then
    local made = tiling.attempt(sch, split_rows, last, m)
    sch = made or sch
  end
  return pack(sch, nest.block, m)
end

return factoring
