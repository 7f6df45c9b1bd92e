-- SPDX-License-Identifier: Apache-2.0
-- Blocked LU in place, also where the tile does not divide the size: rows and
-- columns are cut at the end of the pivots' block, and the trailing update
-- leaves the loop over the pivots.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local same, refused = checks.same, checks.refused

-- The four parts of the update, each in a nest of its own; the pivots of a
-- block are a loop around them.
local function cut(p, T)
  local sch = ts.schedule(p)
  local k, i = sch:get_loops(sch:get_block "upd")
  local k0 = sch:split(k, { ts.auto, T })
  local function ends(x) return x * T + T end
  local above, below = sch:loop_partition(i, nil, true, { k0 }, ends)
  for _, name in ipairs { "upd", "upd_1" } do
    local loops = { sch:get_loops(sch:get_block(name)) }
    sch:loop_partition(loops[4], nil, true, { k0 }, ends)
  end
  sch:fission(above)
  sch:fission(below)
  return sch, select(2, sch:get_loops(sch:get_block "div"))
end

for _, size in ipairs { { 10, 4 }, { 12, 4 }, { 13, 5 }, { 7, 3 } } do
  local p = checks.lu(size[1])
  local sch, k1 = cut(p, size[2])
  sch:fission(k1, 4)
  same(sch, p)
  local _, kk, i, j = sch:get_loops(sch:get_block "upd_1_1_1")
  sch:reorder(i, j, kk)
  sch:parallel(i)
  same(sch, p)
end

-- What is decided does not grow with the sizes.
for _, size in ipairs { { 2000, 50 }, { 2000, 64 }, { 100000, 96 } } do
  local sch, k1 = cut(checks.lu(size[1]), size[2])
  sch:fission(k1, 4)
end

-- The blocks before the last one need their pivots one after the other.
do
  local sch, k1 = cut(checks.lu(10), 4)
  for at = 1, 2 do
    refused(sch, "FISSION_DEPENDS", "fission", k1, at)
  end
end
