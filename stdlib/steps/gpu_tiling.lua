-- SPDX-License-Identifier: Apache-2.0
-- Tile sizes for GPUs whose draws mostly fit: the threads of all loops are
-- drawn together, so that a block has as many as wanted, and the tiles of a
-- thread are short enough for its registers.
local ts = require "tessera"
local divisors = require "tessera.steps.divisors"
local sampling = require "tessera.steps.sampling"
local tiling = require "tessera.tiling"
local gpu = {}

local MOST_COMBINATIONS = 128

-- Which of the S levels is bound to an axis of this kind.
local function level_of(p, kind)
  for level, axis in ipairs(p.tile_binds) do
    if axis:find("^" .. kind) then return level end
  end
end

-- In place of the extent of a loop that is as long as the call says: its
-- divisors are powers of two.
local OPEN = 1 << 40

-- How often each spatial loop may be cut into threads: lists of a number for
-- each loop, whose product is from `least` to `most`; where none is so large,
-- the largest products.
local function combinations(extents, least, most)
  local list, fit = divisors.combinations(extents, most), {}
  least = math.min(least, divisors.greatest(list))
  for _, c in ipairs(list) do
    if c.product >= least then fit[#fit + 1] = c end
  end
  return fit
end

-- Evenly spread ones where there are too many; whole warps first.
local function thinned(list)
  if #list <= MOST_COMBINATIONS then return list end
  local warps, few = {}, {}
  for _, c in ipairs(list) do
    if c.product % 32 == 0 then warps[#warps + 1] = c end
  end
  if #warps > 0 then list = warps end
  if #list <= MOST_COMBINATIONS then return list end
  for i = 1, MOST_COMBINATIONS do
    few[i] = list[(i - 1) * #list // MOST_COMBINATIONS + 1]
  end
  return few
end

-- One of the lists of numbers, sampled: each number as a digit of the sampled
-- one.
function gpu.sample_digits(sch, list)
  if #list == 1 then return list[1] end
  local base, codes = 1, {}
  for _, c in ipairs(list) do
    for _, d in ipairs(c) do base = math.max(base, d + 1) end
  end
  for i, c in ipairs(list) do
    codes[i] = 0
    for _, d in ipairs(c) do codes[i] = codes[i] * base + d end
  end
  local code, count, digits = sampling.evenly(sch, codes), #list[1], {}
  for i = 1, count do
    local place = math.tointeger(base ^ (count - i))
    digits[i] = i == 1 and code // place or code // place % base
  end
  return digits
end

-- The loops that are longer than 1 among the spatial ones, and their extents.
local function long_loops(sch, block)
  local loops = { sch:get_loops(block) }
  local letters, at, extents = tiling.letters(sch, block, loops), {}, {}
  for i, letter in ipairs(letters) do
    local extent = sch:extent(loops[i]) or OPEN
    if letter == "S" and extent > 1 then
      at[i] = #extents + 1
      extents[#extents + 1] = extent
    end
  end
  return letters, at, extents
end

-- The greatest lengths of a thread's tiles, of its virtual threads and of
-- what is reduced in shared memory, where so many loops are cut.
local function caps_of(count)
  if count <= 1 then return { inner = 8, virtual = 4, reduce = 16 } end
  if count == 2 then return { inner = 4, virtual = 2, reduce = 16 } end
  return { inner = 2, virtual = 2, reduce = 16 }
end

-- The same of tiles of fragments, which a warp has for its 32 lanes.
gpu.warps = { inner = 2, virtual = 1, reduce = 4 }

local function tile(sch, loop, most)
  return { sch:sample_perfect_tile(loop, { n = 2,
                                           max_innermost_factor = most }) }
end

-- A spatial loop into n levels, of which one has that many threads.
local function cut_spatial(sch, loop, n, threads, caps, at)
  local sizes, pieces = { [at.thread] = threads }, {}
  local rest, bound = sch:split(loop, { ts.auto, threads })
  pieces[1] = bound
  for level = n, 2, -1 do
    local most = level == at.virtual and caps.virtual or
                 level > at.thread and caps.inner or -1
    if level ~= at.thread then
      local two = tile(sch, rest, most)
      local outer, inner = sch:split(rest, two)
      rest, sizes[level] = outer, two[2]
      table.insert(pieces, 1, inner)
    end
  end
  table.insert(pieces, 1, rest)
  sizes[1] = ts.auto
  return sizes, { sch:split(sch:fuse(table.unpack(pieces)), sizes) }
end

-- A loop that is as long as the call says, into n levels of which all but the
-- first have constant sizes: size(level), or one up to most(level).
local function cut_open(sch, loop, n, size, most)
  local sizes = { ts.auto }
  for level = 2, n do
    sizes[level] = size(level) or
                   sampling.any(sch, divisors.of(OPEN, most(level)))
  end
  return sizes, { sch:split(loop, sizes) }
end

local function cut_open_spatial(sch, loop, n, threads, caps, at)
  return cut_open(sch, loop, n, function(level)
    return level == at.thread and threads or nil
  end, function(level)
    return level == at.virtual and caps.virtual or
           level > at.thread and caps.inner or 1
  end)
end

-- A reduction loop into n levels, of which all but the first fit shared memory
-- together.
local function cut_reduction(sch, loop, n, most)
  if n == 1 then return { sch:extent(loop) or ts.auto }, { loop } end
  if not sch:extent(loop) then
    local each = math.floor(most ^ (1 / (n - 1)) + 0.01)
    return cut_open(sch, loop, n, function() end, function() return each end)
  end
  local two = tile(sch, loop, most)
  local outer, inner = sch:split(loop, two)
  if n == 2 then return two, { outer, inner } end
  local sizes = { sch:sample_perfect_tile(inner, {
    n = n - 1, max_innermost_factor = most }) }
  local loops = { sch:split(inner, sizes) }
  table.insert(sizes, 1, two[1])
  table.insert(loops, 1, outer)
  return sizes, loops
end

-- Whether gpu.cut cuts a loop whose extent is no constant (tiling.unfit); nil:
-- with these parameters it cuts none.
function gpu.opener(p)
  if #(p.threads_per_block or {}) == 0 or not level_of(p, "blockIdx") or
     not level_of(p, "threadIdx") then
    return nil
  end
  return function(sch, loop, letter)
    return letter == "R" or sch:can("bind", loop, "blockIdx.x")
  end
end

-- The function that cuts a loop, for tiling.tile, where p says how many threads
-- a block of them has; nil where it does not, or no level has threads.  `caps`:
-- other than usual.
function gpu.cut(sch, block, p, caps)
  local range = p.threads_per_block or {}
  local at = { thread = level_of(p, "threadIdx"),
               virtual = level_of(p, "vthread") }
  if #range == 0 or not at.thread then return nil end
  local letters, place, extents = long_loops(sch, block)
  local list = thinned(combinations(extents, range[1], range[2]))
  local threads = gpu.sample_digits(sch, list)
  caps = caps or caps_of(#extents)
  return function(on, loop, n, _, i)
    if letters[i] == "R" then return cut_reduction(on, loop, n, caps.reduce) end
    if not place[i] then
      local sizes, ones = {}, {}
      for level = 1, n do sizes[level] = 1 end
      ones = { on:split(loop, sizes) }
      return sizes, ones
    end
    local cut = on:extent(loop) and cut_spatial or cut_open_spatial
    return cut(on, loop, n, threads[place[i]], caps, at)
  end
end

return gpu
