-- SPDX-License-Identifier: Apache-2.0
-- Lays the operands of a tiled block out in the order in which its innermost
-- tiles walk them (the packing of K. Goto and R. van de Geijn, Anatomy of
-- High-Performance Matrix Multiplication, 2008): panels as wide as the tile,
-- each with consecutive memory, B[k, j] as B[j // w, k, j % w].  A constant or
-- layout-free operand gets that layout itself, once, beforehand; another is
-- copied, once for the whole block.
--
-- So does what a block computes for this one alone, in its place, in the order
-- of the new layout.
--
-- Sketches: packed, and, unless `must` is set, as it was.
local ts = require "tessera"
local tiling = require "tessera.tiling"

-- For each spatial iter the size of its innermost tile: what the loop was cut
-- by, of the last level of loops.
local function widths(sch, block)
  local loops, kinds = { sch:get_loops(block) }, sch:block_info(block).iters
  local spatial, sizes = {}, {}
  for i, kind in ipairs(kinds) do
    if kind == "spatial" then spatial[#spatial + 1] = i end
  end
  for n, i in ipairs(spatial) do
    local loop = loops[#loops - #spatial + n]
    sizes[i] = sch:factor(loop) or sch:extent(loop)
  end
  return sizes, spatial[#spatial]
end

-- Read buffers that some spatial iter does not index and one with a tile does,
-- alone in a dimension: { read =, dim =, width = } each.
local function operands(sch, block, p)
  local info, list = sch:block_info(block), {}
  local sizes, last = widths(sch, block)
  for r = 0, info.reads - 1 do
    local dims, used = sch:access_info(block, "read", r).dims,
                       sch:access(block, "read", r)
    local again, at = false, nil
    for i, kind in ipairs(info.iters) do
      if kind == "spatial" then again = again or not used[i] end
    end
    for d, i in ipairs(dims) do
      if i and sizes[i] and (i == last or p.operands == "all") then at = d end
    end
    if again and at then
      list[#list + 1] = { read = r, dim = at, width = sizes[dims[at]] }
    end
  end
  return list
end

-- Whether the layout of that buffer can be chosen without a copy: a constant
-- or layout-free parameter, and what a block computes for this one alone.
local function is_free(sch, block, r, map)
  local buffer = sch:access_info(block, "read", r).buffer
  for _, producer in ipairs { sch:get_producers(block) } do
    if sch:access_info(producer, "write", 0).buffer == buffer and
       #{ sch:get_consumers(producer) } > 1 then
      return false
    end
  end
  return sch:can("transform_layout", block, { "read", r }, map)
end

-- The block that computes that buffer, if its iters are the indices of what it
-- writes, in their order.
local function maker(sch, block, buffer)
  for _, producer in ipairs { sch:get_producers(block) } do
    local write = sch:access_info(producer, "write", 0)
    local loops = { sch:get_loops(producer) }
    local same = write.buffer == buffer and #write.dims == #loops and
                 #loops == #sch:block_info(producer).iters
    for d, i in ipairs(write.dims) do
      same = same and (i == d or not i and sch:extent(loops[d]) == 1)
    end
    if same then return producer end
  end
end

-- Gives the operand its layout, or that of a copy.
local function lay_out(sch, block, o, copies)
  local where, ndim = { "read", o.read },
                      #sch:access_info(block, "read", o.read).dims
  local map = tiling.panels(o.dim, o.width, ndim)
  if is_free(sch, block, o.read, map) then
    local producer = maker(sch, block,
                           sch:access_info(block, "read", o.read).buffer)
    sch:transform_layout(block, where, map)
    if producer and sch:can("transform_block_layout", producer, map) then
      sch:transform_block_layout(producer, map)
    end
    return
  elseif not copies then
    tiling.refuse "that would be a copy"
  end
  local copy = sch:cache_read(block, o.read, "global",
                              { consumer_blocks = { block } })
  sch:transform_layout(block, where, map)
  if o.dim == ndim then tiling.match_inner(sch, copy, o.width) end
end

return ts.module {
  name = "pack",
  parameters = {
    { "operands", "last", "those that the last spatial iter indexes, or all " ..
      "that the block reads again", words = { "last", "all" } },
    { "copies", true, "also those that need a copy" },
    { "must", false, "no sketch is the block as it was" },
  },
  apply = function(sch, block, p)
    if not sch:annotation(block, "tiling_structure") then
      return nil, "it is not tiled"
    end
    local list, packed, why = operands(sch, block, p), nil, nil
    for _, o in ipairs(list) do
      local next, no = tiling.attempt(packed or sch, lay_out, block, o,
                                      p.copies)
      packed, why = next or packed, not next and no or why
    end
    if not packed then return nil, why or "it reads nothing again" end
    return p.must and packed or { packed, sch }, why
  end,
}
