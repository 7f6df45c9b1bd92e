-- SPDX-License-Identifier: Apache-2.0
-- The space of MetaSchedule's rules: what its own tests expect of workloads of
-- the suite, on processors, are points of it.  A point is given by its
-- decisions, of tiles and of compute locations, and compared by its nests: the
-- extents of the loops around each block, without those of one iteration.  Two
-- things are ours: a block that takes a tile's result on has its innermost loop
-- cut as the tile's is, which counts as one loop here; and where partial
-- results are moved, their dimension is inside of what is reduced (`moved`).
local ts = require "tessera"
local ops = require "tessera.ops"
local spaces = require "tessera.modules.spaces"

local target = "llvm -num-cores=18 -vector-bytes=64"

-- Decisions: sizes of tiles, and locations; then the nests in program order.
local expected = {
  GMM = {
    { "1 1 1 1, 4 1 16 2, 2 8 1 8, 128 1", "",
      "4 2 8 128 16 2 8, 4 2 8 32 8" },
    { "1 1 1 1, 4 1 16 2, 2 8 1 8, 128 1", "",
      "4 2 8 128 16 2 8, 4 2 32 64" },
    { "1 1 1 1, 4 1 16 2, 2 8 1 8, 128 1", "", "4 2 8 128 16 2 8" },
  },
  C2D = {
    { "1 1 1 1, 7 1 2 8, 4 28 1 1, 2 8 1 4, 7 1, 7 1, 1 3", "6",
      "7 4 2 28 37 7 3, 7 4 2 28 8 7 7 2 3 8 4, 7 4 2 28 8 16 4" },
    { "1 1 1 1, 7 1 2 8, 4 28 1 1, 2 8 1 4, 7 1, 7 1, 1 3", "-1",
      "230 230 3, 7 4 2 28 8 7 7 2 3 8 4, 7 4 2 16 28 32" },
    { "1 1 1 1, 7 1 2 8, 4 28 1 1, 2 8 1 4, 7 1, 7 1, 1 3", "1",
      "7 37 229 3, 7 4 2 28 8 7 7 2 3 8 4" },
  },
  DEP = {
    { "1 1 1 1, 1 4 2 14, 1 4 7 4, 1 8 2 2, 1 3, 1 3", "-1",
      "114 114 32, 4 4 8 2 7 2 3 3 14 4 2, 4 4 8 28 28 4" },
    { "1 1 1 1, 1 4 2 14, 1 4 7 4, 1 8 2 2, 1 3, 1 3", "-1",
      "114 114 32, 4 4 8 2 7 2 3 3 14 4 2, 112 112 32" },
    { "1 1 1 1, 1 4 2 14, 1 4 7 4, 1 8 2 2, 1 3, 1 3", "5",
      "4 30 114 32, 4 4 8 2 7 2 3 3 14 4 2" },
  },
  CBR = {
    { "1 1 1 1, 2 2 1 28, 7 2 4 2, 1 32 1 2, 7 1, 7 1, 1 3", "-2",
      "2 7 2 2 32 7 7 4 3 28 2 2, 112 112 64" },
    { "1 1 1 1, 2 2 1 28, 7 2 4 2, 1 32 1 2, 7 1, 7 1, 1 3", "1",
      "2 117 229 3, 2 7 2 2 32 7 7 4 3 28 2 2, 2 7 2 2 32 28 8 2" },
    { "1 1 1 1, 2 2 1 28, 7 2 4 2, 1 32 1 2, 7 1, 7 1, 1 3", "1",
      "2 117 229 3, 2 7 2 2 32 7 7 4 3 28 2 2, 2 7 56 16 64" },
  },
  TBG = {
    { "1 1 1 1, 1 6 2 1, 1 2 2 32, 2 8 4 2, 1 64", "6 6",
      "2 6 2 2 64 64, 2 6 2 2 64 64, 2 6 2 8 2 2 4 64 32 2, 2 6 2 8 2 64 8" },
    { "1 1 1 1, 1 6 2 1, 1 2 2 32, 2 8 4 2, 1 64", "13 -1",
      "12 128 64, 2 6 2 8 2 2 4 64 2, 2 6 2 8 2 2 4 64 32 2, 2 12 128 64" },
    { "1 1 1 1, 1 6 2 1, 1 2 2 32, 2 8 4 2, 1 64", "7 -2",
      "2 6 2 8 2 64 8, 2 6 2 8 2 2 4 64 32 2" },
  },
  NRM = {
    { "32768 2", "-1 -1", "32768 2, 32768, " },
    { "32768 2", "-1 -1", "32768 2, 2, " },
    { "", "-1", "256 256, " },
  },
  SFM = {
    { "16 16, 4 64", "1 -1 -2 -1 -1",
      "256 4 64, 256 4, 256 16 16, 256 256 16, 256 256" },
    { "16 16, 4 64", "-1 -1 -1 1 0",
      "256 64 4, 256 256 64, 256 256, 256 16 16, 256 16, 256 256",
      moved = "256 64 4" },
    { "16 16", "-1 -1 -2 -1",
      "256 256, 256 16 16, 256 16, 256 256" },
    { "16 16, 256 1", "1 2 1 1 1",
      "256 256 256, 256 256 256, 256 256 256, 256 256 16 16, 256 256 16, " ..
      "256 256" },
    { "16 16, 256 1", "-1 -1 -1 -1 0",
      "256 256, 256, 256 256, 256 16 16, 256 16, 256 256" },
    { "16 16", "0 1 0 0",
      "256 256, 256 256, 256 16 16, 256 16, 256 256" },
    { "64 4", "-1 -2 -1 0",
      "256 64 4, 256 64, 256 256, 256 256" },
    { "64 4", "1 -2 -1 -1",
      "256 64 4, 256 4, 256 256 256, 256 256" },
    { "", "-1 -1 0", "256 256, 256 256, 256 256, 256 256" },
  },
}

local function numbers(text)
  local list = {}
  for n in text:gmatch "%-?%d+" do list[#list + 1] = math.tointeger(n) end
  return list
end

local function lists(text)
  local out = {}
  for part in text:gmatch "[^,]+" do out[#out + 1] = numbers(part) end
  return out
end

-- Where the sketch samples: tiles, and locations.
local function samples(sketch)
  local tiles, places = {}, {}
  for i = 1, #sketch do
    local name = sketch[i].name
    if name == "sample_perfect_tile" then tiles[#tiles + 1] = i end
    if name == "sample_compute_location" then places[#places + 1] = i end
  end
  return tiles, places
end

-- Calls f with the locations, in order, with as many -1, which leave a block
-- where it is, between them as there are more samples.
local function spread(places, n, f, at, made)
  at, made = at or 1, made or {}
  if #made == n then return at > #places and f(made) end
  local function take(place, next)
    made[#made + 1] = place
    local found = spread(places, n, f, next, made)
    made[#made] = nil
    return found
  end
  return at <= #places and take(places[at], at + 1) or
         n - #made > #places - at + 1 and take(-1, at)
end

local function nests(sch)
  local out = {}
  local function visit(scope)
    for _, b in ipairs { sch:get_child_blocks(scope) } do
      local extents, list = {}, {}
      for i, l in ipairs { sch:get_loops(b) } do extents[i] = sch:extent(l) end
      if sch:annotation(b, "tiled_like") and sch:is_spatial(b) then
        local n = table.remove(extents)
        extents[#extents] = extents[#extents] * n
      end
      for _, n in ipairs(extents) do
        if n ~= 1 then list[#list + 1] = n end
      end
      out[#out + 1] = table.concat(list, " ")
    end
  end
  visit(sch:get_block "root")
  return table.concat(out, ", ")
end

-- The schedule at that point of the sketch; nil where it has none.
local function replay(sketch, program, tiles, at_tiles, places, at_places)
  local ok, sch = pcall(function()
    local t = sketch
    for i, d in ipairs(tiles) do t = t:with_decision(at_tiles[i], d) end
    for i, d in ipairs(places) do t = t:with_decision(at_places[i], { d }) end
    return t:replay(program)
  end)
  return ok and sch or nil
end

-- Is it a point of the sketch?
local function has(sketch, program, tiles, places, wanted)
  local at_tiles, at_places = samples(sketch)
  if #at_tiles ~= #tiles or #at_places < #places then return false end
  return spread(places, #at_places, function(list)
    local sch = replay(sketch, program, tiles, at_tiles, list, at_places)
    return sch and nests(sch) == wanted
  end)
end

for workload, points in pairs(expected) do
  local program = ops.suite(workload, 1)
  local list = ts.space.sketches(ts.space.compose(spaces.metaschedule()),
                                 program, target)
  for n, point in ipairs(points) do
    local found, wanted = false, point[3]
    if point.moved then
      local a, b, c = point.moved:match "^(%d+) (%d+) (%d+)$"
      wanted = wanted:gsub(point.moved, ("%s %s %s"):format(a, c, b))
    end
    for _, sketch in ipairs(list) do
      found = found or has(sketch, program, lists(point[1]), numbers(point[2]),
                           wanted)
    end
    assert(found, workload .. ": point " .. n)
  end
end
