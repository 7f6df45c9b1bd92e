-- SPDX-License-Identifier: Apache-2.0
-- Reductions under conditions that hold where the loops start: what is no sum
-- of loop variables, or one of several that may hold; and those that start
-- later than their count.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

local function under(condition)
  local b = ts.builder "c"
  local A, B = b:input("A", { 8, 8 }), b:output("B", { 8 })
  b:loop("i", 0, 8, function(i)
    b:loop("k", 0, 8, function(k)
      b:block("B", { { "vi", extent = 8, bind = i },
                     { "vk", "reduce", extent = 8, bind = k } },
              { where = condition(i, k) }, function(vi, vk)
        b:init(function() b:store(B, { vi }, 0) end)
        b:store(B, { vi }, B(vi) + A(vi, vk))
      end)
    end)
  end)
  return b:program()
end
local function decompose(s)
  local B = s:get_block "B"
  s:decompose_reduction(B, (select(2, s:get_loops(B))))
end
for _, condition in ipairs {
  function(_, k) return ts.eq(k % 2, 0) end,
  function(i, k) return ts.any(ts.lt(i, 3), ts.lt(k, 5)) end,
  function(i, k) return ts.all(ts.lt(i, 3), ts.eq(k % 3, 0)) end,
} do
  checks.legal(under(condition), decompose)
end
-- Some row has no first iteration, so that nothing initialises it.
checks.illegal(under(function(_, k) return ts.eq(k % 2, 1) end), "INIT_START",
               decompose)
checks.illegal(under(function(i, k)
  return ts.any(ts.lt(i, 3), ts.lt(2, k))
end), "INIT_START", decompose)

-- Tiles of two loops that do not divide, fused, and their partial sums.
local function sums()
  local A = ts.placeholder("A", { 10, 7, 9 })
  local k, l = ts.reduce_axis("k", 7), ts.reduce_axis("l", 9)
  return ts.program("sums", { A }, { ts.compute("B", { 10 }, function(i)
    return ts.sum(A(i, k, l), { k, l })
  end) })
end
for place = 0, 1 do
  checks.legal(sums(), function(s)
    local _, k, l = s:get_loops(s:get_block "B")
    local ko, ki = s:split(k, { ts.auto, 2 })
    local lo, li = s:split(l, { ts.auto, 4 })
    s:reorder(ko, lo, ki, li)
    s:rfactor(s:fuse(ki, li), place)
  end)
end

-- A split of a split that does not divide: its tail is the tile's, not the
-- loop's.
local function chain()
  local A = ts.placeholder("A", { 96 })
  local B = ts.compute("B", { 96 }, function(i) return A(i) * 2 end)
  local C = ts.compute("C", { 96 }, function(i) return B(i) + 1 end)
  return ts.program("p", { A }, { C })
end
local function tile(s, block)
  local _, inner = s:split((s:get_loops(s:get_block(block))), { ts.auto, 48 })
  return (s:split(inner, { ts.auto, 32 }))
end
local moved = checks.legal(chain(), function(s)
  s:reverse_compute_at(s:get_block "C", tile(s, "B"))
end)
assert(not tostring(moved):find("range(96)", 1, true), moved)
moved = checks.legal(chain(), function(s)
  s:compute_at(s:get_block "B", tile(s, "C"))
end)
assert(not tostring(moved):find("range(96)", 1, true), moved)

-- What is computed there ends at the tile's tail, too: 96 elements, not 128,
-- in a buffer of a tile's size.
do
  local text = tostring(moved)
  local guard = text:match "block B.-where ([^\n]*)"
  assert(guard == "i_1_0 * 32 + ax0 < 48", text)
  assert(tostring(ts.lower(moved)):find("allocate B: float32[32]", 1, true))
end

-- In two dimensions, below loops that run in parallel, and of a reduction.
do
  local A = ts.placeholder("A", { 24, 22, 3 })
  local k = ts.reduce_axis("k", 3)
  local B = ts.compute("B", { 24, 22 }, function(i, j)
    return ts.sum(A(i, j, k), k)
  end)
  local C = ts.compute("C", { 24, 22 }, function(i, j) return B(i, j) + 1 end)
  local s = checks.legal(ts.program("p", { A }, { C }), function(s)
    local i, j = s:get_loops(s:get_block "C")
    local i0, i1 = s:split(i, { ts.auto, 12 })
    local i10, i11 = s:split(i1, { ts.auto, 8 })
    local j0, j1 = s:split(j, { ts.auto, 9 })
    local j10, j11 = s:split(j1, { ts.auto, 4 })
    s:reorder(i0, j0, i10, j10, i11, j11)
    s:compute_at(s:get_block "B", j10)
    s:parallel(i0)
    s:parallel(j10)
    s:vectorize(j11)
  end)
  local text = tostring(s)
  assert(text:find("i_1_0 * 8 + ax0 < 12 && j_1_0 * 4 + ax1 < 9", 1, true),
         text)
  assert(tostring(ts.lower(s)):find("allocate B: float32[8, 4]", 1, true))
end

-- Where a row's sum starts later than the count of its reduction it is never
-- initialised, and split that is so, too.
do
  local b = ts.builder "main"
  local A, x = b:input("A", { 2, 9 }), b:input("x", { 2 })
  local y = b:output("y", { 2 })
  b:loop("a", 0, 2, function(a)
    b:block("x", { { "v", extent = 2, bind = a } },
            function(v) b:store(y, { v }, x(v)) end)
  end)
  b:loop("r", 0, 3, function(r)
    b:loop("i", 0, 2, function(i)
      b:loop("k", i, 3 - i, function(k)
        b:block("y", { { "v", extent = 2, bind = i },
                       { "w", "reduce", extent = 9, bind = r * 3 + k } },
                function(v, w)
                  b:init(function() b:store(y, { v }, 0) end)
                  b:store(y, { v }, y(v) + A(v, w))
                end)
      end)
    end)
  end)
  local p = b:program()
  local s = ts.schedule(p)
  local r, _, k = s:get_loops(s:get_block "y")
  s:split(k, { ts.auto, 4, 3 })
  checks.refused(s, "INIT_LATE", "decompose_reduction", s:get_block "y", r)
  checks.same(s, p)
end

-- So of a count that leaves numbers out where a loop further out tells how long
-- its own are: 4 is the first of 3 .. 5.
do
  local b = ts.builder "main"
  local A, y = b:input("A", { 9 }), b:output("y", { 2, 3 })
  b:loop("x", 0, 2, function(x)
    b:loop("o", 0, 2, function(o)
      b:loop("k", 0, 3 + x, function(k)
        b:block("y", { { "u", extent = 2, bind = x },
                       { "v", extent = 3, bind = (o * 4 + k) // 3 },
                       { "w", "reduce", extent = 3, bind = (o * 4 + k) % 3 } },
                function(u, v, w)
                  b:init(function() b:store(y, { u, v }, 0) end)
                  b:store(y, { u, v }, y(u, v) + A(v * 3 + w))
                end)
      end)
    end)
  end)
  local s = ts.schedule(b:program())
  local _, o = s:get_loops(s:get_block "y")
  checks.refused(s, "INIT_LATE", "decompose_reduction", s:get_block "y", o)
end
