-- SPDX-License-Identifier: Apache-2.0
-- Predicates over symbolic sizes that always hold are dropped.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local sized = dofile((arg[0]:gsub("[^/]*$", "../support/sized.lua")))
local program, check, fused = sized.program, sized.check, sized.fused
local rows, columns, both = sized.rows, sized.columns, sized.both

-- How many conditions are left, in the program and when it is lowered.
local function left(sch)
  local p, n = sch:program(), 0
  for _ in tostring(p):gmatch " where " do n = n + 1 end
  for _ in tostring(ts.lower(p)):gmatch "%f[%w]if " do n = n + 1 end
  return n
end

-- Where a tile overhangs the condition stays.
check(rows, function(s)
  local _, tile = s:split((s:get_loops(s:get_block "C")), { ts.auto, 2 })
  s:blockize(tile)
  assert(left(s) == 2)
end)

-- What always holds of a predicate goes, with sizes, too; and digits of a fused
-- loop are in their domains.
do
  local n, m, k = ts.size "n", ts.size "m", ts.size "k"
  local function guarded(where, bounds)
    local b = ts.builder "guarded"
    local X, Y = b:input("X", { n, m }), b:inout("Y", { n, m })
    b:loop("i", 0, bounds or n, function(i)
      b:loop("j", 0, m, function(j)
        b:block("y", { { "vi", extent = n, bind = i },
                       { "vj", extent = m, bind = j } },
                { where = where(i, j, X) }, function(vi, vj)
          b:store(Y, { vi, vj }, X(vi, vj))
        end)
      end)
    end)
    return tostring(b:program()):match("where ([^\n]*)")
  end
  assert(not guarded(function(i) return ts.lt(i, n) end))
  assert(not guarded(function(i, j)
    return ts.all(ts.lt(i, n), ts.lt(j, m))
  end))
  assert(not guarded(function(i) return ts.le(0, n - i) end))
  assert(guarded(function(i, j) return ts.all(ts.lt(i, n), ts.lt(j, 3)) end)
         == "j < 3")
  assert(guarded(function(i) return ts.lt(i, n) end, n + 1) == "i < n")
  assert(guarded(function(i) return ts.lt(i, n - 1) end) == "i < n - 1")
  assert(guarded(function(i, _, X) return ts.lt(X(i, 0), 3) end))

  local function fused(a, c, digits)
    local b = ts.builder "fused"
    local X, Y = b:input("X", { n, m, k }), b:output("Y", { n, m, k })
    b:loop("f", 0, n * m * k, function(f)
      b:block("y", { { "a", extent = n, bind = a(f) },
                     { "b", extent = m, bind = digits or f // k % m },
                     { "c", extent = k, bind = c(f) } }, function(x, y, z)
        b:store(Y, { x, y, z }, X(x, y, z) * 2)
      end)
    end)
    return b:program()
  end
  local function last(f) return f % k end
  for _, first in ipairs { function(f) return f // (m * k) end,
                           function(f) return f // k // m end } do
    local p = fused(first, last)
    local x = ts.tensor("float32", { 3, 4, 5 }, "random", 1)
    local y = ts.tensor("float32", { 3, 4, 5 })
    ts.build(p)(x, y)
    for a = 0, 2 do
      for c = 0, 4 do assert(y:get(a, 3, c) == x:get(a, 3, c) * 2) end
    end
  end
  checks.fails("INVALID", "is not proven to lie in its domain [0, n)", fused,
               function(f) return f // m end, last)
  checks.fails("INVALID", "is not proven to lie in its domain [0, k)", fused,
               function(f) return f // (m * k) end,
               function(f) return f % m end)
end

local function double(size)
  local n = size "n"
  return { n * 2, 8, n }
end
local function next_to(size)
  local n = size "n"
  return { n + 1, n }
end

local always = {
  function(s) s:compute_at(s:get_block "B", (s:get_loops(s:get_block "C"))) end,
  function(s)
    local _, j = s:get_loops(s:get_block "B")
    s:reverse_compute_at(s:get_block "C", j)
  end,
  function(s) s:compute_at(s:get_block "B", fused(s, "C")) end,
  function(s) s:reverse_compute_at(s:get_block "C", fused(s, "B")) end,
  function(s)
    local copy = s:cache_write(s:get_block "C", 0, "local")
    s:reverse_compute_at(copy, (s:get_loops(s:get_block "C")))
  end,
  function(s) s:reverse_compute_inline(s:get_block "C") end,
}
for i, f in ipairs(always) do
  for _, shape in ipairs { rows, columns, both, double, next_to } do
    check(shape, function(s)
      f(s)
      assert(left(s) == 0, i)
    end)
  end
end

-- Tiles that divide a size, and a digit of one.
for _, f in ipairs {
  function(s)
    local _, tile = s:split((s:get_loops(s:get_block "C")), { ts.auto, 2 })
    s:blockize(tile)
  end,
  function(s)
    local out = s:split((s:get_loops(s:get_block "B")), { ts.auto, 2 })
    s:reverse_compute_at(s:get_block "C", out)
  end,
  function(s)
    local out = s:split(fused(s, "C"), { ts.auto, 4 })
    s:compute_at(s:get_block "B", out)
  end,
} do
  check(double, function(s)
    f(s)
    assert(left(s) == 0)
  end)
end
