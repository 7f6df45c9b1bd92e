-- SPDX-License-Identifier: Apache-2.0
-- Placing copies of what a tiled block writes and reads under its loops.
local ts = require "tessera"
local attempts = require "tessera.steps.attempts"
local sampling = require "tessera.steps.sampling"
local tiles = require "tessera.steps.tiles"
local copies = {}

-- ---- what is written -------------------------------------------------------

-- The innermost loop of a block that was put beside the tiles, cut to the
-- size of the innermost tile, so that it can be vectorised like the tile.
function copies.match_inner(sch, block, inner)
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
function copies.is_elementwise(sch, block, buffer, all)
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
function copies.consumer(sch, block)
  local consumers = { sch:get_consumers(block) }
  local only, result = consumers[1], sch:access_info(block, "write", 0).buffer
  if #consumers == 1 and
     copies.is_elementwise(sch, only, result,
                           sch:footprint(block, "write", 0)) then
    return only
  end
end

-- The consumer takes the result to where it is wanted, under that loop, or,
-- when there is none, or as is said, a copy does.
local function write_under(sch, block, loop, inner, scope, copied)
  local out = not copied and copies.consumer(sch, block)
  local moved = out
  out = out or sch:cache_write(block, 0, scope)
  sch:reverse_compute_at(out, loop, { preserve_unit_loops = true })
  if moved and scope ~= "global" then sch:set_scope(block, 0, scope) end
  copies.match_inner(sch, out, inner)
  return out
end

-- A copy of the schedule in which what the block computes is kept in a buffer
-- of that scope, written back under the loop; and the block that does it.
function copies.write_back(sch, block, loop, inner, scope)
  local written, out = attempts.attempt(sch, write_under, block, loop, inner,
                                      scope, false)
  if written then return written, out end
  return attempts.attempt(sch, write_under, block, loop, inner, scope, true)
end

-- ---- what is read ----------------------------------------------------------

-- Positions of the read buffers that the last spatial variable and some
-- reduction variable index.
function copies.packable(sch, block)
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
function copies.panels(dim, width, ndim)
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
function copies.column_of(sch, block, r)
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
  local at, ndim = copies.column_of(sch, block, r)
  local copy = sch:cache_read(block, r, scope,
                              { consumer_blocks = readers })
  sch:compute_at(copy, loop, { preserve_unit_loops = true })
  if at and inner then
    sch:transform_layout(copy, { "write", 0 }, copies.panels(at, inner, ndim))
  end
  if not at or at == ndim then copies.match_inner(sch, copy, inner) end
end

-- The schedule with those operands packed that can be; nil where that is none.
-- left_out(what, why) is told of each that cannot be.
function copies.pack(sch, block, reads, loop, inner, scope, left_out)
  local packed
  for _, r in ipairs(reads) do
    local from = packed or sch
    local next, why = attempts.attempt(from, pack_under, block, r, loop, inner,
                                     scope)
    if not next then
      next, why = attempts.attempt(from, pack_under, block, r, loop, inner,
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
function copies.fetch_together(sch, copy, axis, threads, lengths)
  local count, loops = #sch:block_info(copy).iters,
                      { sch:get_loops(copy) }
  local fused = tiles.fuse(sch, table.move(loops, #loops - count + 1, #loops,
                                            1, {}))
  if #lengths == 0 then
    local _, together = sch:split(fused, { ts.auto, threads })
    sch:bind(together, axis)
    return
  end
  local _, together, vector = sch:split(fused, {
    ts.auto, threads, sampling.evenly(sch, lengths) })
  sch:bind(together, axis)
  sch:vectorize(vector)
end

-- The block is left to a tensor intrinsic, and what is in it not tiled again.
function copies.tensorize(sch, block, name)
  sch:tensorize(block, name)
  sch:annotate(block, "auto_tensorize", name)
  for _, inner in ipairs { sch:get_child_blocks(block) } do
    sch:annotate(inner, "tiling_structure", "tensorized")
  end
end

return copies
