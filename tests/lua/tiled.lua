-- SPDX-License-Identifier: Apache-2.0
-- Several tile loops fused to one: producers and consumers of a tile agree on
-- which tile each number is.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local sizes = { { 9, 7, 5 }, { 1, 1, 1 }, { 4, 3, 2 }, { 8, 6, 4 },
                { 13, 2, 1 }, { 3, 17, 6 } }

local function sum(n, m, l)
  local A, B = ts.placeholder("A", { n, l }), ts.placeholder("B", { l, m })
  local k = ts.reduce_axis("k", l)
  return { A, B }, ts.compute("C", { n, m }, function(i, j)
    return ts.sum(A(i, k) * B(k, j), k)
  end)
end
local function sums(n, m, l)
  local A = ts.placeholder("A", { l, n, 6 })
  local B, k = ts.placeholder("B", { 6, m }), ts.reduce_axis("k", 6)
  return { A, B }, ts.compute("C", { l, n, m }, function(b, i, j)
    return ts.sum(A(b, i, k) * B(k, j), k)
  end)
end
local function plain(n, m)
  local A = ts.placeholder("A", { n, m })
  return { A }, ts.compute("C", { n, m }, function(i, j)
    return A(i, j) * 2
  end)
end
local all = { sum, sums, plain }

local function alone(make)
  return function(...)
    local inputs, C = make(...)
    return ts.program("p", inputs, { C })
  end
end
-- Block D reads C.
local function followed(make)
  return function(n, m, l)
    local inputs, C = make(n, m, l)
    local shape = make == sums and { l, n, m } or { n, m }
    return ts.program("p", inputs, {
      ts.compute("D", shape, function(...) return C(...) + 1 end)
    })
  end
end

-- Tiles of the last two spatial loops of C; what reduces is split, too.  All
-- loops around them are one.
local function tile(s)
  local l = { s:get_loops(s:get_block "C") }
  local outer, inner, last = {}, {}, nil
  local spatial = #l - (tostring(s):find("vk", 1, true) and 1 or 0)
  for k = 1, spatial - 2 do outer[k] = l[k] end
  for k, size in ipairs { 4, 3 } do
    outer[#outer + 1], inner[k] =
      s:split(l[spatial - 2 + k], { ts.auto, size })
  end
  local order = { table.unpack(outer) }
  if l[spatial + 1] then
    order[#order + 1], last = s:split(l[spatial + 1], { ts.auto, 2 })
  end
  order[#order + 1] = inner[1]
  order[#order + 1] = last
  order[#order + 1] = inner[2]
  s:reorder(table.unpack(order))
  return s:fuse(table.unpack(outer))
end

for _, make in ipairs(all) do
  local function check(program, f)
    checks.at_sizes(program, f, table.unpack(sizes))
  end
  -- A consumer goes into the tiles, which may then run at once, or do already.
  check(followed(make), function(s)
    local tiles = tile(s)
    s:reverse_compute_at(s:get_block "D", tiles)
    s:parallel(tiles)
  end)
  check(followed(make), function(s)
    local tiles = tile(s)
    s:parallel(tiles)
    s:reverse_compute_at(s:get_block "D", tiles)
  end)
  -- So does a copy of the result, made before the loops are cut or after.
  check(alone(make), function(s)
    local copy = s:cache_write(s:get_block "C", 0, "local")
    local tiles = tile(s)
    s:reverse_compute_at(copy, tiles)
    s:parallel(tiles)
  end)
  check(alone(make), function(s)
    local tiles = tile(s)
    local copy = s:cache_write(s:get_block "C", 0, "local")
    s:reverse_compute_at(copy, tiles)
    s:parallel(tiles)
  end)
end

-- Tiles that D reads beyond are not made by then.
do
  local function beyond(di, dj)
    local n, m = ts.size "n", ts.size "m"
    local inputs, C = plain(n + 1, m + 1)
    return ts.program("p", inputs, {
      ts.compute("D", { n, m }, function(i, j)
        return C(i, j) + C(i + di, j + dj)
      end)
    })
  end
  for _, d in ipairs { { 1, 0 }, { 0, 1 } } do
    checks.illegal(beyond(d[1], d[2]), "NOT_PARTITION", function(s)
      s:reverse_compute_at(s:get_block "D", (tile(s)))
    end)
  end
end

-- Block C is run for `count` tiles, of which each row has `row`, and D after
-- it.
local function numbered(count, row)
  local b, n, m = ts.builder("numbered"), ts.size "n", ts.size "m"
  local A, D = b:input("A", { n, m }), b:output("D", { n, m })
  local C, I, J = b:buffer("C", { n, m }), (n + 3) // 4, (m + 2) // 3
  b:loop("t", 0, count(I, J), function(t)
    b:loop("x", 0, 4, function(x)
      b:loop("y", 0, 3, function(y)
        local i, j = t // row(J) * 4 + x, t % row(J) * 3 + y
        b:block("C", { { "i", extent = n, bind = i },
                       { "j", extent = m, bind = j } },
                { where = ts.all(ts.lt(i, n), ts.lt(j, m)) },
                function(u, v) b:store(C, { u, v }, A(u, v) * 2) end)
      end)
    end)
  end)
  b:loop("i", 0, n, function(i)
    b:loop("j", 0, m, function(j)
      b:block("D", { { "i", extent = n, bind = i },
                     { "j", extent = m, bind = j } },
              function(u, v) b:store(D, { u, v }, C(u, v) + 1) end)
    end)
  end)
  return b:program()
end
local function each(J) return J end
for _, case in ipairs {
  { function(I, J) return I * J end, each },
  -- The last tile is left out, or that of each row.
  { function(I, J) return ts.max(I * J - 1, 1) end, each, true },
  { function(I, J) return I * ts.max(J - 1, 1) end, each, true },
  { function(I, J) return I * J end, function(J) return J + 1 end, true },
} do
  local p = numbered(case[1], case[2])
  local s = ts.schedule(p)
  local t = s:get_loops(s:get_block "C")
  if case[3] then
    checks.refused(s, "NOT_PARTITION", "reverse_compute_at",
                   s:get_block "D", t)
    checks.refused(s, "REGION_NOT_WHOLE", "cache_write", s:get_block "C", 0,
                   "local")
  else
    s:reverse_compute_at(s:get_block "D", t)
    s:parallel(t)
    checks.replays(s, p)
    for _, size in ipairs(sizes) do
      local n, m = size[1], size[2]
      checks.exact(s, p, { ts.tensor("float32", { n, m }, "integers"),
                           ts.tensor("float32", { n, m }) })
    end
  end
end

-- All elements are numbered, and that is cut: what is made is all of C.
for _, make in ipairs(all) do
  checks.at_sizes(alone(make), function(s)
    local l = { s:get_loops(s:get_block "C") }
    local n = make == plain and #l or #l - 1
    local part = s:split(s:fuse(table.unpack(l, 1, n)), { ts.auto, 4 })
    local copy = s:cache_write(s:get_block "C", 0, "global")
    s:parallel(part)
    s:parallel(s:fuse(s:get_loops(copy)))
  end, table.unpack(sizes))
end

-- Numbers below `last` are run, in so many parts of 4; none is left out, or
-- some may be.
for _, case in ipairs {
  { function(all) return all, (all + 3) // 4 end },
  { function(all) return all, all // 4 + 1 end },
  { function(all) return all - 1, (all + 3) // 4 end, true },
  { function(all) return all, all // 4 end, true },
  { function(_, n) return n, (n + 3) // 4 end, true },
  { function(all, n) return all, (n + 3) // 4 end, true },
} do
  local b, n, m = ts.builder("cut"), ts.size "n", ts.size "m"
  local A, C = b:input("A", { n, m }), b:output("C", { n, m })
  local last, parts = case[1](n * m, n)
  b:loop("t", 0, parts, function(t)
    b:loop("x", 0, 4, function(x)
      local i = t * 4 + x
      b:block("C", { { "i", extent = n, bind = i // m },
                     { "j", extent = m, bind = i % m } },
              { where = ts.all(ts.lt(i, last), ts.lt(i // m, n),
                               ts.lt(i % m, m)) },
              function(u, v) b:store(C, { u, v }, A(u, v) * 2) end)
    end)
  end)
  local p = b:program()
  local s = ts.schedule(p)
  if case[2] then
    checks.refused(s, "REGION_NOT_WHOLE", "cache_write", s:get_block "C", 0,
                   "local")
  else
    s:cache_write(s:get_block "C", 0, "local")
    checks.replays(s, p)
    for _, size in ipairs(sizes) do
      checks.exact(s, p, { ts.tensor("float32", { size[1], size[2] },
                                     "integers"),
                           ts.tensor("float32", { size[1], size[2] }) })
    end
  end
end

-- All of a nest is known to run, also where its loops were cut and numbered,
-- so that it may go elsewhere.
for _, make in ipairs(all) do
  checks.at_sizes(followed(make), function(s)
    tile(s)
    local i = s:get_loops(s:get_block "D")
    s:compute_at(s:get_block "C", i)
    s:parallel(i)
  end, table.unpack(sizes))
  checks.at_sizes(followed(make), function(s)
    s:split(s:fuse(s:get_loops(s:get_block "D")), { ts.auto, 4 })
    local i = s:get_loops(s:get_block "C")
    s:reverse_compute_at(s:get_block "D", i)
    s:parallel(i)
  end, table.unpack(sizes))
end

-- Not where some are left out.
for _, case in ipairs {
  { function(n, m) return n * m end },
  { function(n, m) return n * m - 1 end, "INSTANCES_UNKNOWN" },
  { function(n) return n end, "INSTANCES_UNKNOWN" },
} do
  local b, n, m = ts.builder("rows"), ts.size "n", ts.size "m"
  local A, C = b:input("A", { n, m }), b:output("C", { n, m })
  local S = b:buffer("S", { n })
  b:loop("i", 0, n, function(i)
    b:block("S", { { "i", extent = n, bind = i } },
            function(v) b:store(S, { v }, A(v, 0) * 2) end)
  end)
  b:loop("t", 0, case[1](n, m), function(t)
    b:block("C", { { "i", extent = n, bind = t // m },
                   { "j", extent = m, bind = t % m } },
            { where = ts.all(ts.lt(t // m, n), ts.lt(t % m, m)) },
            function(u, v) b:store(C, { u, v }, S(u) + A(u, v)) end)
  end)
  local p = b:program()
  local s = ts.schedule(p)
  local i = s:get_loops(s:get_block "S")
  if case[2] then
    checks.refused(s, case[2], "reverse_compute_at", s:get_block "C", i)
  else
    s:reverse_compute_at(s:get_block "C", i)
    s:parallel(i)
    checks.replays(s, p)
    for _, size in ipairs(sizes) do
      local shape = { size[1], size[2] }
      checks.exact(s, p, { ts.tensor("float32", shape, "integers"),
                           ts.tensor("float32", shape) })
    end
  end
end
