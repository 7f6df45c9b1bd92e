-- SPDX-License-Identifier: Apache-2.0
-- Multi-level tiling (MetaSchedule's rule for CPUs).  Every spatial loop is
-- cut into as many tiles as `structure` has S, every reduction loop into as
-- many as it has R, and the tiles are ordered as it says: with "SSRSRS", a
-- matrix product becomes  i0 j0 i1 j1 k0 i2 j2 k1 i3 j3.
--
-- Sketches: the tiles alone; and for each level in `write_levels`, the same
-- with what is computed kept in a small buffer that is written back under
-- the last loop of that level, which is one of the S before the first R: of
-- the default, those that `structure` has so many S for.  With `pack`, the
-- last of these once more with the operands that the innermost spatial loop
-- walks copied, tile by tile, into a buffer of their own under the first
-- reduction level, so that the inner loops read consecutive memory.
--
-- The tiles alone are what there must be; a sketch of the others that is
-- refused is left out, and so is the copy of an operand that is.
local ts = require "tessera"
local options = require "tessera.options"

-- How many tiles the structure cuts loops of each kind into.
local function tiles_of(structure)
  return { S = select(2, structure:gsub("S", "")),
           R = select(2, structure:gsub("R", "")) }
end

local function letter_of(kind) return kind == "reduce" and "R" or "S" end

-- The name of a loop that would be cut and whose extent is no constant, so
-- that there are no tile sizes to draw; nil: there is none.
local function uncuttable(sch, block, structure)
  local kinds, count = sch:block_info(block).iters, tiles_of(structure)
  for i, loop in ipairs { sch:get_loops(block) } do
    local info = sch:loop_info(loop)
    if count[letter_of(kinds[i])] > 1 and not info.extent then
      return info.name
    end
  end
end

-- The loops of each level, outer first, and the tile sizes of the last
-- spatial loop.
local function tile(sch, block, p)
  local loops = { sch:get_loops(block) }
  local kinds = sch:block_info(block).iters
  local levels, count, inner = {}, tiles_of(p.structure), nil
  for level = 1, #p.structure do levels[level] = {} end
  for i, loop in ipairs(loops) do
    local letter = letter_of(kinds[i])
    local pieces, sizes = { loop }, nil
    if count[letter] > 1 then
      sizes = { sch:sample_perfect_tile(loop, {
        n = count[letter], max_innermost_factor = p.max_innermost_factor }) }
      pieces = { sch:split(loop, sizes) }
    end
    if letter == "S" then inner = sizes and sizes[#sizes] end
    local k = 0
    for level = 1, #p.structure do
      if p.structure:sub(level, level) == letter then
        k = k + 1
        table.insert(levels[level], pieces[k])
      end
    end
  end
  local order = {}
  for _, level in ipairs(levels) do
    for _, loop in ipairs(level) do order[#order + 1] = loop end
  end
  sch:reorder(order)
  sch:annotate(block, "tiling_structure", p.structure)
  return levels, inner
end

-- The innermost loop of a block that was put beside the tiles, cut to the
-- size of the innermost tile, so that it can be vectorised like the tile.
local function match_inner(sch, block, inner)
  if not inner then return end
  local loops = { sch:get_loops(block) }
  sch:split(loops[#loops], { ts.auto, inner })
  sch:annotate(block, "tiled_like", 1)
end

-- Whether the block reads the buffer at one place, each index of which is an
-- iter of its own, so that its tiles read what the buffer's tiles hold.
local function is_elementwise(sch, block, buffer)
  if not sch:is_spatial(block) then return false end
  for r = 0, sch:block_info(block).reads - 1 do
    local read, seen = sch:access_info(block, "read", r), {}
    if read.buffer == buffer then
      for _, iter in ipairs(read.dims) do
        if not iter or seen[iter] then return false end
        seen[iter] = true
      end
    end
  end
  return true
end

-- The only consumer of the result, when it is elementwise.
local function consumer(sch, block)
  local consumers = { sch:get_consumers(block) }
  local only, result = consumers[1], sch:access_info(block, "write", 0).buffer
  if #consumers == 1 and is_elementwise(sch, only, result) then
    return only
  end
end

-- Positions of the read buffers that the last spatial variable and some
-- reduction variable index.
local function packable(sch, block)
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

-- ---- sketches ----------------------------------------------------------

-- A copy of the schedule on which f has been, or nil and why something that
-- f does is refused.
local function attempt(sch, f, ...)
  local copy = sch:copy()
  local ok, e = pcall(f, copy, ...)
  if ok then return copy end
  if type(e) == "string" or e.code ~= "REFUSED" then error(e, 0) end
  return nil, e.message
end

-- The consumer takes the result to where it is wanted, under that loop, or,
-- when there is none, or as is said, a copy does.
local function write_under(sch, block, loop, inner, copied)
  local out = not copied and consumer(sch, block) or
              sch:cache_write(block, 0, "global")
  sch:reverse_compute_at(out, loop, { preserve_unit_loops = true })
  match_inner(sch, out, inner)
end

local function write_back(sch, block, loop, inner)
  local written = attempt(sch, write_under, block, loop, inner, false)
  if written then return written end
  return attempt(sch, write_under, block, loop, inner, true)
end

-- Copies a read buffer under that loop, for the blocks that are listed, or
-- for all that read it.
local function pack_under(sch, block, r, loop, inner, readers)
  local copy = sch:cache_read(block, r, "global",
                              { consumer_blocks = readers })
  sch:compute_at(copy, loop, { preserve_unit_loops = true })
  match_inner(sch, copy, inner)
end

-- The schedule with all operands packed that can be; nil where that is none.
local function pack(sch, block, loop, inner, left_out)
  local packed
  for _, r in ipairs(packable(sch, block)) do
    local from = packed or sch
    local next, why = attempt(from, pack_under, block, r, loop, inner)
    if not next then
      next, why = attempt(from, pack_under, block, r, loop, inner, { block })
    end
    packed = next or packed
    if why then
      left_out("packing of " .. sch:access_info(block, "read", r).buffer, why)
    end
  end
  return packed
end

-- All sketches, and a text of what is left out of them; nil: nothing is.
local function sketches(sch, block, p)
  local levels, inner = tile(sch, block, p)
  local list, out = { sch }, {}
  local function last_loop(level) return levels[level][#levels[level]] end
  local function left_out(what, why)
    out[#out + 1] = ("no %s: %s"):format(what, why)
  end
  for _, level in ipairs(p.write_levels) do
    local written, why = write_back(sch, block, last_loop(level), inner)
    list[#list + 1] = written
    if why then left_out("write level " .. level, why) end
  end
  if p.pack then
    local under = last_loop(p.structure:find("R", 1, true))
    list[#list + 1] = pack(list[#list], block, under, inner, left_out)
  end
  return list, #out > 0 and table.concat(out, "; ") or nil
end

-- ---- parameters ------------------------------------------------------------

local function wrong(name, value, possible)
  return ("parameter '%s' is %s: %s"):format(name, options.quoted(value),
                                             possible)
end

-- The number as an integer from 1 to `most`, as which 2.0 counts; nil: it is
-- none.
local function integer(v, most)
  local n = math.type(v) and math.tointeger(v)
  return n and n >= 1 and n <= most and n or nil
end

-- The write levels as integers; else the place of the first that is none.
local function levels_of(list, most)
  local levels = {}
  for i = 1, #list do
    levels[i] = integer(list[i], most)
    if not levels[i] then return nil, i end
  end
  return levels
end

local function write_levels_of(structure)
  local most = #structure:match "^S*"
  if most == 0 then
    return 0, ("none, since structure '%s' starts with no S"):format(structure)
  end
  return most, ("1 to %d, the S that structure '%s' starts with")
               :format(most, structure)
end

local function check(p, given)
  if type(p.structure) ~= "string" or not p.structure:find "^[SR]+$" then
    return wrong("structure", p.structure, "its letters are S, for tiles " ..
                 "of spatial loops, and R, for tiles of reduction loops")
  end
  local factor = integer(p.max_innermost_factor, math.maxinteger)
  if not factor then
    return wrong("max_innermost_factor", p.max_innermost_factor,
                 "it is an integer from 1 on")
  end
  p.max_innermost_factor = factor
  if type(p.pack) ~= "boolean" then
    return wrong("pack", p.pack, "it is true or false")
  end
  if p.pack and not p.structure:find "R" then
    return wrong("pack", p.pack, ("structure '%s' has no R for the " ..
                 "copies to go under"):format(p.structure))
  end
  local most, possible = write_levels_of(p.structure)
  if given.write_levels == nil then
    local fit = {}
    for _, level in ipairs(p.write_levels) do
      if level <= most then fit[#fit + 1] = level end
    end
    p.write_levels = fit
  elseif type(p.write_levels) ~= "table" then
    return wrong("write_levels", p.write_levels,
                 "it is a list of levels: " .. possible)
  end
  local levels, i = levels_of(p.write_levels, most)
  if not levels then
    return wrong(("write_levels[%d]"):format(i), p.write_levels[i],
                 "levels are " .. possible)
  end
  p.write_levels = levels
end

return ts.module {
  name = "multi_level_tiling",
  defaults = {
    structure = "SSRSRS",
    max_innermost_factor = 64,
    write_levels = { 1, 2 },
    pack = false,
  },
  check = check,
  apply = function(sch, block, p)
    if not sch:needs_multi_level_tiling(block) then
      return nil, "it has no reduction that could reuse what it reads"
    end
    local open = uncuttable(sch:copy(), block, p.structure)
    if open then
      return nil, ("the extent of loop %s is not a constant"):format(open)
    end
    return sketches(sch, block, p)
  end,
}
