-- SPDX-License-Identifier: Apache-2.0
-- loop_partition: parts whose inner loops are empty, and reductions that
-- continue over several parts.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local same, legal, illegal = checks.same, checks.legal, checks.illegal

local N = 13

-- The last pivot has nothing below it.
for _, parts in ipairs { { 12 }, { 4, 4, ts.auto }, { 4, 8 }, { 1, 11 } } do
  local p = checks.lu(N)
  local sch = ts.schedule(p)
  sch:loop_partition((sch:get_loops(sch:get_block "upd")), parts)
  same(sch, p)
end

local function square()
  local A = ts.placeholder("A", { N, N })
  local C = ts.compute("C", { N, N }, function(i, j) return A(i, j) + 1 end)
  return ts.program("square", { A }, { C })
end

-- Parts of parts: where the first one has all there is the second has none.
local lines = {
  { function(i) return 2 * i end, { 6 }, { 7 }, { 8 }, { 12 }, { 3, 8 } },
  { function(i) return i end, { 1 }, { 12 } },
  { function(i) return i + 1 end, { 1 }, { 12 } },
  { function(i) return 3 * i - 9 end, { 3 }, { 4, 3, ts.auto } },
}
for _, line in ipairs(lines) do
  for k = 2, #line do
    local p = square()
    local sch = ts.schedule(p)
    local i, j = sch:get_loops(sch:get_block "C")
    sch:loop_partition(j, nil, true, { i }, line[1])
    sch:loop_partition(i, line[k])
    same(sch, p)
    sch = ts.schedule(p)
    i, j = sch:get_loops(sch:get_block "C")
    sch:loop_partition(j, nil, true, { i }, line[1])
    sch:loop_partition(i, nil, true, {}, function() return line[k][1] end)
    same(sch, p)
  end
end

-- The loops of a triangle, whose own bounds follow one another.
do
  local b = ts.builder("steps")
  local A, C = b:input("A", { N, N }), b:inout("C", { N, N })
  b:loop("i", 0, N, function(i)
    b:loop("j", i + 1, N - 1 - i, function(j)
      b:loop("k", j + 1, N - 1 - j, function(k)
        b:block("w", { { "vi", extent = N, bind = i },
                       { "vj", extent = N, bind = j },
                       { "vk", "opaque", extent = N, bind = k } },
                function(vi, vj, vk)
          b:store(C, { vi, vj }, C(vi, vj) * A(vk, vj) + A(vi, vk))
        end)
      end)
    end)
  end)
  local p = b:program()
  for _, parts in ipairs { { 12 }, { 11 }, { 5, 6, 1 } } do
    local sch = ts.schedule(p)
    local i, j = sch:get_loops(sch:get_block "w")
    sch:loop_partition(i, parts)
    same(sch, p)
    sch:loop_partition(j, nil, true, { (sch:get_loops(sch:get_block "w")) },
                       function(x) return x + 3 end)
    same(sch, p)
    sch:parallel((sch:get_loops(sch:get_block "w_1")))
    same(sch, p)
  end
end

-- A reduction over the loop begins in the first part, which has an iteration
-- wherever there is one at all.
do
  local M, K = 6, 10
  local A = ts.placeholder("A", { M, K })
  local k = ts.reduce_axis("k", K)
  local C = ts.compute("C", { M }, function(i) return ts.sum(A(i, k), k) end)
  local p = ts.program("sums", { A }, { C })
  local function partition(sch, points)
    local i, l = sch:get_loops(sch:get_block "C")
    sch:loop_partition(l, nil, true, { i }, points)
    return i
  end
  local function cut(points) return legal(p, partition, points) end
  cut(function(i) return i + 1 end)
  cut(function(i) return 2 * i + 1, 2 * i + 5 end)
  cut(function(i) return ts.max(i - 1, 1) end)
  cut(function(i) return (i + 2) // 2 end)
  cut(function(_) return 4 end)
  legal(p, function(sch)
    local i = partition(sch, function(i) return i + 1 end)
    sch:decompose_reduction(sch:get_block "C",
                            (select(2, sch:get_loops(sch:get_block "C"))))
    sch:parallel(i)
  end)
  illegal(p, "PARTITION_INIT", partition, function(i) return i end)
  illegal(p, "PARTITION_INIT", partition, function(i) return i - 1, i + 1 end)
end

-- So, too, one of whose loops all but the first are past the start.
do
  local M, K = 6, 12
  local A = ts.placeholder("A", { M, K })
  local k = ts.reduce_axis("k", K)
  local C = ts.compute("C", { M }, function(i) return ts.sum(A(i, k), k) end)
  local p = ts.program("sums", { A }, { C })
  local sch = ts.schedule(p)
  local i, l = sch:get_loops(sch:get_block "C")
  local l0, l1 = sch:split(l, { 3, 4 })
  local first = sch:loop_partition(l1, nil, true, { i },
                                   function(x) return x // 2 + 1 end)
  same(sch, p)
  assert(first == l1 or #{ sch:get_loops(sch:get_block "C_1") } == 3)
  sch = ts.schedule(p)
  i, l = sch:get_loops(sch:get_block "C")
  l0, l1 = sch:split(l, { 3, 4 })
  sch:loop_partition(l0, nil, true, { i }, function(x) return x // 4 + 1 end)
  same(sch, p)
end

-- A point that counts on a reduction which starts late: the loop's own first
-- iteration is what it starts in.
do
  local b = ts.builder("late")
  local A, C = b:input("A", { N, N }), b:output("C", { N })
  b:loop("i", 0, N, function(i)
    b:loop("k", 0, i + 1, function(k)
      b:block("s", { { "vi", extent = N, bind = i },
                     { "vk", "reduce", extent = N, bind = k } },
              function(vi, vk)
        b:init(function() b:store(C, { vi }, 0) end)
        b:store(C, { vi }, C(vi) + A(vi, vk))
      end)
    end)
  end)
  local p = b:program()
  local sch = ts.schedule(p)
  local i, k = sch:get_loops(sch:get_block "s")
  sch:loop_partition(k, nil, true, { i }, function(x) return x // 2 + 1 end)
  same(sch, p)
  sch:loop_partition((sch:get_loops(sch:get_block "s")), { 1, 6 })
  same(sch, p)
end

-- A block around parts that are empty in some iterations of the loop around
-- them, where they would begin at the end of the buffer.
for _, more in ipairs { 1, 2, 3 } do
  local b = ts.builder("steps")
  local A = b:inout("A", { 3, 4 }, "int64")
  b:loop("t", 0, 3, function(t)
    b:loop("i", 0, 4, function(i)
      b:block("S", { { "v", "opaque", extent = 3, bind = t },
                     { "u", extent = 4, bind = i } }, function(v, u)
        b:store(A, { 2, u }, A(v, u) + 1)
      end)
    end)
  end)
  legal(b:program(), function(s)
    local t, i = s:get_loops(s:get_block "S")
    local _, rest = s:loop_partition(i, nil, true, { t }, function(row)
      return row + more
    end)
    s:blockize(rest)
    s:blockize(t)
  end)
end

-- A block around parts, one of which copies what overhangs its buffer: what the
-- block declares begins before the buffer, by its iter, and ends with it.
do
  local A = ts.placeholder("A", { 2, 31 })
  local p = ts.program("twice", { A }, {
    ts.compute("C", { 2, 62 }, function(i, j)
      return ts.select(ts.lt(j, 31), A(i, j), A(i, j - 31))
    end) })
  legal(p, function(s)
    local c = s:get_block "C"
    local i, j = s:get_loops(c)
    local i_0, i_1 = s:split(i, { 2, 1 })
    local outer = s:blockize { target = { c } }
    s:loop_partition(j, nil, true, { i_0, i_1 }, function(row, _)
      return 12, row * 2 + 27
    end)
    s:cache_read(c, 0, "global")
    s:blockize((select(2, s:get_loops(outer))))
  end)
end
