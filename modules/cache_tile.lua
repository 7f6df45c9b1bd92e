-- SPDX-License-Identifier: Apache-2.0
-- Multi-level tiling whose tiles fit the target's caches, so that the search
-- draws no others (K. Goto and R. van de Geijn, Anatomy of High-Performance
-- Matrix Multiplication, 2008): a reduction tile is so long that a panel of one
-- operand, as long as it and two vectors wide, fills no more than a `share` of
-- the first cache; a spatial tile inside of the first reduction level so long
-- that a block of it by the longest such reduction tile fills no more than
-- that share of the second.
--
-- In no default space, which let the search find out what fits: it is for
-- spaces by hand, in place of multi_level_tiling, whose few trials should not
-- go to tiles that cannot fit the caches.
local ts = require "tessera"
local machine = require "tessera.steps.machine"
local tiling = require "tessera.tiling"
local tiling_parameters = require "tessera.steps.tiling_parameters"

local function field(target, name, given, otherwise)
  if given > 0 then return given end
  local n = target and target:get(name) or 0
  return n > 0 and n or otherwise
end

-- The longest reduction and spatial tile.
local function limits(sch, block, p)
  local target, bytes = sch:target(), 1
  for r = 0, sch:block_info(block).reads - 1 do
    local dtype = sch:access_info(block, "read", r).dtype
    bytes = math.max(bytes, machine.bits(dtype) // 8)
  end
  local vector = machine.vector_bytes(sch)
  local l1 = field(target, "l1", p.l1, 32 << 10)
  local l2 = field(target, "l2", p.l2, 512 << 10)
  local reduce = math.max(1, math.floor(l1 * p.share) // (2 * vector))
  return reduce, math.max(1, math.floor(l2 * p.share) // (reduce * bytes))
end

-- Cuts a loop into n tiles, of which the innermost is at most that long (-1: of
-- any length); appends their sizes and the loops.
local function sampled(sch, loop, n, most, sizes, loops)
  if n == 0 then return end
  local made = n == 1 and { sch:extent(loop) } or
    { sch:sample_perfect_tile(loop, { n = n, max_innermost_factor = most }) }
  local pieces = n == 1 and { loop } or { sch:split(loop, made) }
  table.move(made, 1, n, #sizes + 1, sizes)
  table.move(pieces, 1, n, #loops + 1, loops)
end

-- Cuts off a block of at most that length, and both parts further: `outer` and
-- `inner` tiles.
local function cut_block(sch, loop, outer, inner, most, innermost)
  local sizes, loops = {}, {}
  if outer == 0 or inner == 0 then
    sampled(sch, loop, outer + inner, math.min(most, innermost), sizes, loops)
    return sizes, loops
  end
  local around, block = sch:sample_perfect_tile(loop, {
    n = 2, max_innermost_factor = most })
  local rest, part = sch:split(loop, { around, block })
  sampled(sch, rest, outer, -1, sizes, loops)
  if outer == 1 then sizes[1] = around end
  sampled(sch, part, inner, innermost, sizes, loops)
  if inner == 1 then sizes[#sizes] = block end
  return sizes, loops
end

return ts.module {
  name = "cache_tile",
  parameters = tiling_parameters.of({
    structure = "SSRSRS", max_innermost_factor = 64,
    tile_binds = {}, max_threads = 1024,
    write_levels = { 1, 2 }, write_scope = "global", write_must = false,
    read_levels = {}, read_scope = "shared", vector_load_lens = {},
    pack = false,
  }, {
    { "share", 0.5, "of a cache that tiles fill", type = "any",
      takes = "a number above 0, at most 1", fits = function(v)
        return type(v) == "number" and v > 0 and v <= 1
      end },
    { "l1", 0, "bytes of the first cache; 0: the target's, and 32 KiB where " ..
      "it does not tell", least = 0 },
    { "l2", 0, "bytes of the second; 0: the target's, and 512 KiB", least = 0 },
  }),
  check = tiling_parameters.check,
  apply = function(sch, block, p)
    local unfit = tiling.unfit(sch, block, p.structure)
    if unfit then return nil, unfit end
    local letters = tiling.letters(sch, block, { sch:get_loops(block) })
    local first = #p.structure:match "^S*"
    local reduce, spatial = limits(sch, block, p)
    local list, left_out = tiling.sketches(sch, block, p,
      function(s, loop, n, _, i)
        if letters[i] == "R" then
          return cut_block(s, loop, 1, n - 1, reduce, -1)
        end
        return cut_block(s, loop, math.min(first, n), n - math.min(first, n),
                         spatial, p.max_innermost_factor)
      end)
    return list, left_out
  end,
}
