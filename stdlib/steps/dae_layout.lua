-- SPDX-License-Identifier: Apache-2.0
-- Products in the layout of a decoupled access-execute machine: which iters the
-- lanes of its matrix unit are, blocks whose last iters are lanes, and operands
-- whose last dimensions are, by copies that the host makes where they are not.
local layout = {}

-- ---- which iters -----------------------------------------------------------

-- The dimension that the iter alone indexes; nil: none is.
local function dimension_of(access, iter)
  for d, at in ipairs(access.dims) do if at == iter then return d end end
end

-- What is asked about a block once: iters, their extents, accesses.
local function survey(sch, block)
  local info = sch:block_info(block)
  if info.reads ~= 2 then return nil, "it does not read two buffers" end
  local x = { kinds = info.iters, extent = {}, read = {}, used = {} }
  for i, l in ipairs { sch:get_loops(block) } do
    x.extent[i] = sch:loop_info(l).extent
  end
  for r = 0, 1 do
    x.read[r] = sch:access_info(block, "read", r)
    x.used[r] = sch:access(block, "read", r)
    if x.read[r].dtype ~= "int8" then return nil, "it multiplies no int8" end
  end
  x.write = sch:access_info(block, "write", 0)
  if x.write.dtype ~= "int32" then return nil, "its sums are no int32" end
  return x
end

-- Whether the access ends in these iters, of which the extents are multiples of
-- the sizes; the first must be of that size.
local function ends_in(x, access, iters, sizes)
  local first = #access.dims - #iters
  for i, iter in ipairs(iters) do
    local extent = x.extent[iter]
    if access.dims[first + i] ~= iter or extent % sizes[i] ~= 0 or
       #iters > 1 and extent ~= sizes[i] then
      return false
    end
  end
  return true
end

-- Elements of operands that have to be laid out anew, where `wgt` is read by
-- columns j and steps k, and `inp` by steps k.
local function cost(sch, block, x, c, m)
  local n = 0
  if not ends_in(x, x.read[c.wgt], { c.j, c.k }, { m.n, m.k }) then
    n = n + (sch:footprint(block, "read", c.wgt) or math.huge)
  end
  if not ends_in(x, x.read[c.inp], { c.k }, { m.k }) then
    n = n + (sch:footprint(block, "read", c.inp) or math.huge)
  end
  if not ends_in(x, x.write, { c.j }, { m.n }) then
    n = n + (sch:footprint(block, "write", 0) or math.huge)
  end
  return n, (x.extent[c.k] + m.k - 1) // m.k * m.k / x.extent[c.k]
end

local function is_column(x, j, inp, wgt)
  return x.kinds[j] == "spatial" and not x.used[inp][j] and
         dimension_of(x.read[wgt], j) and dimension_of(x.write, j)
end

local function is_step(x, k, inp, wgt)
  return x.kinds[k] == "reduce" and dimension_of(x.read[inp], k) and
         dimension_of(x.read[wgt], k)
end

-- Calls f with each choice of operands, columns and steps.
local function each_choice(x, f)
  for inp = 0, 1 do
    for j in ipairs(x.kinds) do
      for k in ipairs(x.kinds) do
        if is_column(x, j, inp, 1 - inp) and is_step(x, k, inp, 1 - inp) then
          f { inp = inp, wgt = 1 - inp, j = j, k = k }
        end
      end
    end
  end
end

-- The choice of operands (numbers of what is read) and of iters for the lanes
-- of the matrix unit that pads and moves least; nil and why there is none.
function layout.choose(sch, block, m)
  local x, why = survey(sch, block)
  if not x then return nil, why end
  local best
  each_choice(x, function(c)
    local columns = x.extent[c.j]
    if columns % m.n ~= 0 then
      why = why or ("its %d columns are no multiple of the matrix unit's %d")
                   :format(columns, m.n)
      return
    end
    c.moved, c.padded = cost(sch, block, x, c, m)
    if not best or c.padded < best.padded or
       c.padded == best.padded and c.moved < best.moved then
      best = c
    end
  end)
  if best then return best end
  return nil, why or
         "no iter of its own indexes the sums and one operand, as columns do"
end

-- ---- maps ------------------------------------------------------------------

-- A map of ndim indices, those of `cut` (a list of { index, size }) cut in two,
-- their lanes last.
local function lanes_last(ndim, cut)
  local from, to, last, size = {}, {}, {}, {}
  for _, c in ipairs(cut) do
    size[c[1]] = c[2]
    last[#last + 1] = ("i%d %% %d"):format(c[1], c[2])
  end
  for d = 1, ndim do
    from[d] = "i" .. d
    to[d] = size[d] and ("i%d // %d"):format(d, size[d]) or from[d]
  end
  table.move(last, 1, #last, #to + 1, to)
  return ("(%s) -> (%s)"):format(table.concat(from, ", "),
                                 table.concat(to, ", "))
end

local function is_last_of_kind(kinds, i)
  for k = i + 1, #kinds do if kinds[k] == kinds[i] then return false end end
  return true
end

-- The iters that are cut become two, the lanes last; unless those are the last
-- of their kinds already.
local function block_lanes(sch, block, cut)
  local loops, kinds = { sch:get_loops(block) }, sch:block_info(block).iters
  local there = true
  for _, c in ipairs(cut) do
    there = there and is_last_of_kind(kinds, c[1]) and
            sch:extent(loops[c[1]]) == c[2]
  end
  if not there then
    sch:transform_block_layout(block, lanes_last(#loops, cut))
  end
end

local function maker(sch, block, buffer)
  for _, b in ipairs { sch:get_producers(block) } do
    if sch:access_info(b, "write", 0).buffer == buffer then return b end
  end
end

-- The numbers of the dimensions that those iters index, with the sizes.
local function cuts(access, iters, sizes)
  local list = {}
  for i, iter in ipairs(iters) do
    list[i] = { dimension_of(access, iter), sizes[i] }
  end
  return list
end

-- What the block reads there is laid out with the lanes of these iters last: a
-- constant or a layout-free input beforehand, what is padded for it as it is
-- made, another by a copy.
local function lay_out_read(sch, block, r, iters, sizes)
  local access = sch:access_info(block, "read", r)
  local map = lanes_last(#access.dims, cuts(access, iters, sizes))
  local where = { "read", r }
  local made = maker(sch, block, access.buffer)
  if made and sch:block_info(made).has_select and
     #{ sch:get_consumers(made) } == 1 then
    sch:transform_layout(block, where, map)
    sch:transform_block_layout(made, map)
  elseif made or not sch:can("transform_layout", block, where, map) then
    local copy = sch:cache_read(block, r, "global",
                                { consumer_blocks = { block } })
    sch:transform_layout(block, where, map)
    sch:transform_block_layout(copy, map)
  else
    sch:transform_layout(block, where, map)
  end
end

-- What pads the operand reads it in the layout, too, so that it can be the copy
-- to the chip.
local function lay_out_padding(sch, pad, buffer, block, r, iters, sizes)
  local access = sch:access_info(block, "read", r)
  local map = lanes_last(#access.dims, cuts(access, iters, sizes))
  local copy = sch:cache_read(pad, 0, "global", { consumer_blocks = { pad } })
  sch:transform_layout(pad, { "read", 0 }, map)
  sch:transform_block_layout(copy, map)
  sch:transform_layout(block, { "read", r }, map)
  sch:transform_block_layout(pad, map)
end

-- The block that pads what is read, and leaves its dimension d (nil: the last),
-- which the lanes are of, alone.
function layout.padding(sch, block, r, d)
  local access = sch:access_info(block, "read", r)
  local made = maker(sch, block, access.buffer)
  if not made then return nil end
  local info = sch:block_info(made)
  if not info.has_select or info.reads ~= 1 then return nil end
  local from = sch:access_info(made, "read", 0)
  d = d or #access.dims
  if #from.dims == #access.dims and from.shape[d] == access.shape[d] then
    return made, access.buffer
  end
end

-- ---- the product -----------------------------------------------------------

-- Steps that fill no lanes are padded, by the host.
local function pad_steps(sch, block, c, m)
  local loops, by = { sch:get_loops(block) }, {}
  if sch:extent(loops[c.k]) % m.k == 0 then return end
  for i in ipairs(loops) do by[i] = i == c.k and m.k or 1 end
  sch:pad_einsum(block, by)
  for r = 0, 1 do
    local pad = maker(sch, block, sch:access_info(block, "read", r).buffer)
    local inner = sch:get_producers(pad)
    if inner and sch:can("compute_inline", inner) then
      sch:compute_inline(inner)
    end
  end
end

-- The block's operands and sums have lanes last, and its own lanes are its last
-- spatial and its last iter.
function layout.product(sch, block, c, m)
  pad_steps(sch, block, c, m)
  local x = survey(sch, block)
  if not ends_in(x, x.read[c.wgt], { c.j, c.k }, { m.n, m.k }) then
    lay_out_read(sch, block, c.wgt, { c.j, c.k }, { m.n, m.k })
  end
  if not ends_in(x, x.read[c.inp], { c.k }, { m.k }) then
    local pad, buffer = layout.padding(
      sch, block, c.inp, dimension_of(x.read[c.inp], c.k))
    if pad then
      lay_out_padding(sch, pad, buffer, block, c.inp, { c.k }, { m.k })
    else
      lay_out_read(sch, block, c.inp, { c.k }, { m.k })
    end
  end
  if not ends_in(x, x.write, { c.j }, { m.n }) then
    sch:transform_layout(block, { "write", 0 },
                         lanes_last(#x.write.dims,
                                    cuts(x.write, { c.j }, { m.n })))
  end
  block_lanes(sch, block, { { c.j, m.n }, { c.k, m.k } })
end

-- ---- what is skipped -------------------------------------------------------

-- The iters that index the buffer, in the order of its dimensions, as far as
-- each has one; all others where the first one is that has not.
local function iters_in_order(access, used)
  local alone, list = {}, {}
  for _, iter in ipairs(access.dims) do if iter then alone[iter] = true end end
  local others = {}
  for iter, is in ipairs(used) do
    if is and not alone[iter] then others[#others + 1] = iter end
  end
  for _, iter in ipairs(access.dims) do
    if iter then
      list[#list + 1] = iter
    else
      table.move(others, 1, #others, #list + 1, list)
      others = {}
    end
  end
  return list
end

-- Where the block skips so much of what it reads, as in steps of two, that a
-- copy indexed by its iters is smaller than the box around: the map of that.
function layout.sparse(sch, block, r)
  local used = sch:access(block, "read", r)
  local box, iters = sch:footprint(block, "read", r), 1
  for i, l in ipairs { sch:get_loops(block) } do
    if used[i] then iters = iters * sch:extent(l) end
  end
  if not box or iters >= box then return nil end
  local from, to = {}, iters_in_order(sch:access_info(block, "read", r), used)
  for i in ipairs(used) do from[i] = "i" .. i end
  for n, iter in ipairs(to) do to[n] = "i" .. iter end
  local map = ("(%s) -> (%s)"):format(table.concat(from, ", "),
                                      table.concat(to, ", "))
  return sch:can("reindex_cache_read", block, r, "global", map) and map or nil
end

-- ---- what follows ----------------------------------------------------------

-- What the block stores and reads beside `sums` has lanes of iter j last, and
-- the lanes are its last iter.
function layout.epilogue(sch, block, sums, j, n)
  for r = 0, sch:block_info(block).reads - 1 do
    local access = sch:access_info(block, "read", r)
    if access.buffer ~= sums and access.dims[#access.dims] ~= j then
      lay_out_read(sch, block, r, { j }, { n })
    end
  end
  local write = sch:access_info(block, "write", 0)
  if write.dims[#write.dims] ~= j then
    sch:cache_write(block, 0, "global")
    sch:transform_layout(block, { "write", 0 },
                         lanes_last(#write.dims, cuts(write, { j }, { n })))
  end
  block_lanes(sch, block, { { j, n } })
end

-- The iter of a block that indexes dimension d of a buffer that it reads.
function layout.iter_of(sch, block, buffer, d)
  for r = 0, sch:block_info(block).reads - 1 do
    local access = sch:access_info(block, "read", r)
    if access.buffer == buffer then return access.dims[d] end
  end
end

-- The dimension of the sums that the columns index.
function layout.column(sch, block, c)
  return dimension_of(sch:access_info(block, "write", 0), c.j)
end

layout.dimension_of = dimension_of
return layout
