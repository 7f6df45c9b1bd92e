-- SPDX-License-Identifier: Apache-2.0
-- compute_at under tiles that read a halo, at symbolic sizes: each iteration
-- has a private copy of what it reads, clipped to the buffer, so tiles can run
-- in parallel.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

local function line(n)
  local A = ts.placeholder("A", { n + 2 })
  local B = ts.compute("B", { n + 2 }, function(i) return A(i) * 2 end)
  return { A }, ts.compute("C", { n }, function(i)
    return B(i) - B(i + 1) + B(i + 2)
  end)
end
local function window(n)
  local A = ts.placeholder("A", { n + 2 })
  local B = ts.compute("B", { n + 2 }, function(i) return A(i) * 2 end)
  local r = ts.reduce_axis("r", 3)
  return { A }, ts.compute("C", { n }, function(i)
    return ts.sum(B(i + r) * ts.cast(r, "float32"), r)
  end)
end
local function padded(n)
  local A = ts.placeholder("A", { n })
  local B = ts.compute("B", { n + 2 }, function(i)
    return ts.select(ts.all(ts.ge(i, 1), ts.lt(i, n + 1)), A(i - 1), 0.0)
  end)
  return { A }, ts.compute("C", { n }, function(i)
    return B(i) - B(i + 1) + B(i + 2)
  end)
end
local function blur(n, m)
  local A = ts.placeholder("A", { n + 2, m + 2 })
  local B = ts.compute("B", { n + 2, m }, function(i, j)
    return A(i, j) - A(i, j + 1) + A(i, j + 2)
  end)
  return { A }, ts.compute("C", { n, m }, function(i, j)
    return B(i, j) - B(i + 1, j) + B(i + 2, j)
  end)
end
local function product(n, m)
  local l = m + 3
  local A, B = ts.placeholder("A", { n, l }), ts.placeholder("B", { l, m })
  local k = ts.reduce_axis("k", l)
  return { A, B }, ts.compute("C", { n, m }, function(i, j)
    return ts.sum(A(i, k) * B(k, j), k)
  end)
end

local function check(make, f)
  local function program(...)
    local inputs, result = make(...)
    return ts.program("p", inputs, { result })
  end
  checks.at_sizes(program, f, { 9, 13 }, { 1, 1 }, { 2, 5 }, { 8, 4 },
                  { 17, 3 })
end

local function tile(s, axis, size)
  return s:split(select(axis, s:get_loops(s:get_block "C")),
                 { ts.auto, size })
end
for _, make in ipairs { line, window, padded, blur } do
  check(make, function(s)
    local outer = tile(s, 1, 4)
    s:compute_at(s:get_block "B", outer)
    s:parallel(outer)
  end)
  check(make, function(s)
    local outer = tile(s, 1, 4)
    s:parallel(outer)
    s:compute_at(s:get_block "B", outer)
  end)
  check(make, function(s)
    local outer, inner = tile(s, 1, 4)
    s:compute_at(s:get_block "B", inner)
    s:parallel(outer)
  end)
  check(make, function(s)
    local i = s:get_loops(s:get_block "C")
    s:compute_at(s:get_block "B", i)
    s:parallel(i)
  end)
end
-- Tiles of both sizes: also copies of what is read.
check(blur, function(s)
  local i0, i1 = tile(s, 1, 4)
  local j0, j1 = tile(s, 3, 3)
  s:reorder(i0, j0, i1, j1)
  s:compute_at(s:get_block "B", j0)
  s:parallel(s:fuse(i0, j0))
end)
for _, operand in ipairs { 0, 1 } do
  check(product, function(s)
    local i0, i1 = tile(s, 1, 4)
    local j0, j1 = tile(s, 3, 3)
    local k0, k1 = tile(s, 5, 2)
    s:reorder(i0, j0, k0, k1, i1, j1)
    local copy = s:cache_read(s:get_block "C", operand, "local")
    s:compute_at(copy, k0)
    s:parallel(i0)
  end)
end

-- Each iteration computes the elements of B that it reads, clipped to the
-- block's domain first .. last - 1, shifted by `shift`.  The first iteration
-- fills all of B before.
local function built(first, last, shift)
  local b, n, m = ts.builder("built"), ts.size "n", ts.size "m"
  local A, M = b:input("A", { n + 2 }), b:input("M", { m })
  local B, C = b:buffer("B", { n + 2 }), b:output("C", { n })
  b:loop("i", 0, n, function(i)
    b:loop("x", 0, n + 2, function(x)
      b:block("fill", { { "v", extent = n + 2, bind = x } },
              { where = ts.le(i, 0) },
              function(v) b:store(B, { v }, M(0)) end)
    end)
    b:loop("a", 0, 3, function(a)
      local at, to = i + a + shift, last(n, m)
      b:block("B", { { "v", lo = first, extent = to - first, bind = at } },
              { where = ts.all(ts.le(first, at), ts.lt(at, to)) },
              function(v) b:store(B, { v - shift }, A(v - shift) * 2) end)
    end)
    b:block("C", { { "v", extent = n, bind = i } }, function(v)
      b:store(C, { v }, B(v) - B(v + 1) + B(v + 2))
    end)
  end)
  return b:program()
end
local function upto(k) return function(n) return n + k end end
for _, case in ipairs {
  { 0, upto(2), 0 }, { 0, upto(3), 0 }, { 3, upto(5), 3 }, { 2, upto(6), 3 },
  -- An element at either end keeps the value of the first iteration,
  { 0, upto(1), 0, true }, { 1, upto(2), 0, true },
  { 4, upto(5), 3, true }, { 3, upto(4), 3, true },
  -- or may keep it, where the bound is another size.
  { 0, function(_, m) return m end, 0, true },
} do
  local p = built(table.unpack(case, 1, 3))
  local s = ts.schedule(p)
  local i = s:get_loops(s:get_block "C")
  if case[4] then
    checks.refused(s, "RACE_OTHER", "parallel", i)
  else
    s:parallel(i)
    for n = 1, 5 do
      checks.exact(s, p, { ts.tensor("float32", { n + 2 }, "integers", n),
                           ts.tensor("float32", { 3 }, "integers"),
                           ts.tensor("float32", { n }) })
    end
  end
end
