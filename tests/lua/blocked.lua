-- SPDX-License-Identifier: Apache-2.0
-- LU in place, by blocks, also where the blocks do not divide it: rows and
-- columns are cut where the block of pivots ends, and the update of what is
-- behind it leaves the loop over the pivots.
local ts = require "tessera"

local function lu(N)
  local b = ts.builder("lu")
  local A = b:inout("A", { N, N })
  b:loop("k", 0, N, function(k)
    b:loop("i", k + 1, N - 1 - k, function(i)
      b:block("div", { { "vk", "opaque", extent = N, bind = k },
                       { "vi", extent = N, bind = i } }, function(vk, vi)
        b:store(A, { vi, vk }, A(vi, vk) / A(vk, vk))
      end)
    end)
    b:loop("i", k + 1, N - 1 - k, function(i)
      b:loop("j", k + 1, N - 1 - k, function(j)
        b:block("upd", { { "vk", "opaque", extent = N, bind = k },
                         { "vi", extent = N, bind = i },
                         { "vj", extent = N, bind = j } },
                function(vk, vi, vj)
          b:store(A, { vi, vj }, A(vi, vj) - A(vi, vk) * A(vk, vj))
        end)
      end)
    end)
  end)
  return b:program()
end

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
  local p = lu(size[1])
  local sch, k1 = cut(p, size[2])
  sch:fission(k1, 4)
  local ok, where = ts.equivalent(sch, p)
  assert(ok, tostring(where))
  local _, kk, i, j = sch:get_loops(sch:get_block "upd_1_1_1")
  sch:reorder(i, j, kk)
  sch:parallel(i)
  ok, where = ts.equivalent(sch, p)
  assert(ok, tostring(where))
end

-- What is decided does not grow with the sizes.
for _, size in ipairs { { 2000, 50 }, { 2000, 64 }, { 100000, 96 } } do
  local sch, k1 = cut(lu(size[1]), size[2])
  sch:fission(k1, 4)
end

-- The blocks before the last one need their pivots one after the other.
do
  local sch, k1 = cut(lu(10), 4)
  for at = 1, 2 do
    local ok, e = pcall(sch.fission, sch, k1, at)
    assert(not ok and e.reason == "FISSION_DEPENDS", tostring(ok or e))
  end
end
