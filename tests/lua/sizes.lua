-- SPDX-License-Identifier: Apache-2.0
-- Loops and buffers of symbolic size: fused, transformed and padded they agree
-- with the interpreter at every size.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

-- C = A * 2 + 1 by two blocks, of the shape that shape(size) gives.
local function program(shape)
  local dims = shape(function(name) return ts.size(name) end)
  local A = ts.placeholder("A", dims)
  local B = ts.compute("B", dims, function(...) return A(...) * 2 end)
  return ts.program("p", { A }, {
    ts.compute("C", dims, function(...) return B(...) + 1 end),
  })
end

local sizes = { n = { 1, 2, 3, 4, 7, 8, 13 }, m = { 5, 1, 8, 3, 2, 6, 4 } }

local function check(shape, f)
  local p, args = program(shape), {}
  for i = 1, #sizes.n do
    local dims = shape(function(name) return sizes[name][i] end)
    args[i] = { ts.tensor("float32", dims, "random", i),
                ts.tensor("float32", dims) }
  end
  local sch = ts.schedule(p)
  f(sch)
  checks.replays(sch, p)
  checks.exact(sch, p, table.unpack(args))
end

local function refused(shape, reason, f)
  checks.illegal(program(shape), reason, f)
end

local function rows(size) return { size "n", 8 } end
local function columns(size) return { 8, size "n" } end
local function both(size) return { size "m", size "n" } end
local function between(size) return { 4, size "n", 6 } end

local function fused(s, name) return s:fuse(s:get_loops(s:get_block(name))) end

for _, shape in ipairs { rows, columns, both, between } do
  check(shape, function(s)
    s:parallel(fused(s, "B"))
    fused(s, "C")
  end)
  check(shape, function(s)
    local _, inner = s:split(fused(s, "C"), { ts.auto, 4 })
    local copy = s:cache_read(s:get_block "C", 0, "local")
    s:compute_at(copy, inner)
  end)
  check(shape, function(s)
    fused(s, "C")
    s:compute_inline(s:get_block "B")
  end)
  check(shape, function(s)
    local l = { s:get_loops(s:get_block "C") }
    local a, b = s:split(l[1], { ts.auto, 3 })
    s:parallel(s:fuse(a, b, table.unpack(l, 2)))
  end)
end
-- What fusing made comes undone: what an iteration wants of B is known.
for _, shape in ipairs { rows, columns, both, between } do
  check(shape, function(s)
    local outer = s:split(fused(s, "C"), { ts.auto, 4 })
    s:compute_at(s:get_block "B", outer)
    s:parallel(outer)
  end)
  check(shape, function(s)
    fused(s, "B")
    s:reverse_compute_inline(s:get_block "C")
  end)
  check(shape, function(s)
    local loop = fused(s, "C")
    s:compute_at(s:get_block "B", loop)
    s:parallel(loop)
  end)
  check(shape, function(s)
    local loop = fused(s, "C")
    local copy = s:cache_write(s:get_block "C", 0, "local")
    s:parallel(loop)
    s:parallel(s:fuse(s:get_loops(copy)))
  end)
end
for _, shape in ipairs { rows, columns, both, between } do
  check(shape, function(s)
    local outer, _, lanes = s:split(fused(s, "C"), { ts.auto, 4, 2 })
    s:parallel(outer)
    s:vectorize(lanes)
  end)
  check(shape, function(s)
    local l = { s:get_loops(s:get_block "C") }
    local _, lanes = s:split(s:fuse(l[1], l[2]), { ts.auto, 4 })
    s:vectorize(#l == 2 and lanes or s:fuse(lanes, l[3]))
  end)
end
-- Tiles of both sizes, numbered in one loop, run at once.
check(both, function(s)
  local i, j = s:get_loops(s:get_block "C")
  local i0, i1 = s:split(i, { ts.auto, 4 })
  local j0, j1 = s:split(j, { ts.auto, 3 })
  s:reorder(i0, j0, i1, j1)
  s:parallel(s:fuse(i0, j0))
  s:vectorize(j1)
end)

-- Layouts: {map, shapes for which it leaves no holes}
local maps = {
  { function(i, j) return j, i end, rows, columns, both },
  { function(i, j) return i // 4, i % 4, j end, columns },
  { function(i, j) return i, j // 4, j % 4 end, rows },
  { function(i, j) return i // 3, j // 4, i % 3, j % 4 end },
  { function(i, j) return (i + 1) // 4, (i + 1) % 4, j end },
  { function(i, j) return i, (j + 3) // 4, (j + 3) % 4 end },
  { function(i, j) return i + 2, j end },
  { function(i, j) return i, i + j end },
  { function(i, j) return i * 2, j end },
}
for _, m in ipairs(maps) do
  for _, shape in ipairs { rows, columns, both } do
    local whole = false
    for k = 2, #m do whole = whole or m[k] == shape end
    local function bare(s)
      s:transform_layout(s:get_block "B", { "write", 0 }, m[1])
    end
    local function block(s)
      s:transform_block_layout(s:get_block "C", m[1])
    end
    if whole then
      check(shape, bare)
      check(shape, block)
    else
      refused(shape, "PAD_MISSING_SOME", bare)
      refused(shape, "MAP_SURJECTIVE_UNPROVEN", block)
    end
    check(shape, function(s)
      s:transform_layout(s:get_block "B", { "write", 0 }, m[1],
                         { pad_value = 7 })
      s:parallel(fused(s, "C"))
    end)
    check(shape, function(s)
      s:transform_layout(s:get_block "B", { "write", 0 }, m[1],
                         { assume_injective_transform = true })
      assert(not tostring(s):find "B_pad")
      s:parallel(fused(s, "C"))
    end)
  end
end
for _, meets in ipairs {
  function(i, j) return i + j end, function(i, j) return i // 2, j end,
} do
  refused(both, "MAP_INJECTIVE_UNPROVEN", function(s)
    s:transform_layout(s:get_block "B", { "write", 0 }, meets)
  end)
  refused(both, "PAD_MISSING_SOME", function(s)
    s:transform_layout(s:get_block "B", { "write", 0 }, meets,
                       { assume_injective_transform = true })
  end)
end

-- Copies that are indexed by iters, and by maps of them.
for _, shape in ipairs { rows, columns, both } do
  check(shape, function(s)
    local c = s:get_block "C"
    s:reindex(c, { "read", 0 })
    s:reindex(c, { "write", 0 })
    s:reindex(s:get_block "B", { "write", 0 })
    s:parallel(fused(s, "B_reindex"))
  end)
  check(shape, function(s)
    local c = s:get_block "C"
    s:compute_at(s:reindex(c, { "read", 0 }), (s:get_loops(c)))
    s:reindex(s:get_block "B", { "read", 0 })
    s:compute_inline(s:get_block "A_reindex")
  end)
  for _, m in ipairs(maps) do
    check(shape, function(s)
      s:reindex_cache_read(s:get_block "C", 0, "global", m[1])
      s:reindex_cache_read(s:get_block "B", 0, "local", m[1])
      s:parallel(fused(s, "A_local"))
    end)
    check(shape, function(s)
      s:reindex_cache_write(s:get_block "C", 0, "global", m[1])
      s:reindex_cache_write(s:get_block "B", 0, "local", m[1])
      s:vectorize((select(2, s:split(fused(s, "B"), { ts.auto, 4 }))))
    end)
  end
  refused(shape, "MAP_NOT_INJECTIVE", function(s)
    s:reindex_cache_read(s:get_block "C", 0, "global",
                         function(i, j) return i + j end)
  end)
  refused(shape, "MAP_NEGATIVE", function(s)
    s:reindex_cache_write(s:get_block "C", 0, "global",
                          function(i, j) return i, j - 1 end)
  end)
  refused(shape, "MAP_LARGE", function(s)
    s:reindex_cache_write(s:get_block "C", 0, "global",
                          function(i, j) return i + (1 << 60), j end)
  end)
end

-- Of a product, with what overlaps.
do
  local n, m = ts.size "n", ts.size "m"
  local A, W = ts.placeholder("A", { n + 2 }), ts.placeholder("W", { 3, m })
  local r = ts.reduce_axis("r", 3)
  local p = ts.program("rows", { A, W }, {
    ts.compute("C", { n, m }, function(i, j)
      return ts.sum(A(i + r) * W(r, j), r)
    end),
  })
  local s = ts.schedule(p)
  local c = s:get_block "C"
  s:reindex(c, "A")
  s:reindex_cache_read(c, 1, "global", function(i, j, k)
    return j // 4, k, j % 4
  end)
  s:reindex_cache_write(c, 0, "local", function(i, j, k) return j, i end)
  assert(not tostring(s):find "where", s)
  s:split((s:get_loops(c)), { ts.auto, 4 })
  assert(tostring(s):find("alloc A_reindex: float32[n, 3]", 1, true), s)
  checks.replays(s, p)
  for i = 1, #sizes.n do
    local x, y = sizes.n[i], sizes.m[i]
    checks.exact(s, p, { ts.tensor("float32", { x + 2 }, "integers", i),
                         ts.tensor("float32", { 3, y }, "integers", i + 9),
                         ts.tensor("float32", { x, y }) })
  end
end

-- Not where the domain depends on another loop.
do
  local b = ts.builder("stairs")
  local A, C = b:input("A", { 8 }), b:output("C", { 8, 8 })
  b:loop("i", 0, 8, function(i)
    b:loop("j", 0, i + 1, function(j)
      b:block("C", { { "vi", extent = 8, bind = i },
                     { "vj", extent = i + 1, bind = j } }, function(vi, vj)
        b:store(C, { vi, vj }, A(vj) * 2)
      end)
    end)
  end)
  local s = ts.schedule(b:program())
  local c = s:get_block "C"
  checks.refused(s, "NOT_STATIC", "reindex", c, { "read", 0 })
  checks.refused(s, "NOT_STATIC", "reindex_cache_read", c, 0, "global",
                 "(i, j) -> (j)")
  checks.refused(s, "NOT_STATIC", "reindex_cache_write", c, 0, "global",
                 "(i, j) -> (j, i)")
end

-- Padding what is constant beside what is not.
for shape, padding in pairs {
  [rows] = { 1, 3 }, [columns] = { 3, 1 }, [between] = { 3, 1, 5 },
} do
  check(shape, function(s)
    s:pad_einsum(s:get_block "C", padding)
    s:pad_einsum(s:get_block "B", padding)
  end)
end
check(rows, function(s) s:pad_einsum(s:get_block "C", { 3, 1 }) end)
check(rows, function(s) s:pad_einsum(s:get_block "B", { 4, 3 }) end)
check(both, function(s)
  s:pad_einsum(s:get_block "C", { 4, 3 })
  local i, j = s:get_loops(s:get_block "C")
  local _, i1 = s:split(i, { ts.auto, 4 })
  s:vectorize((select(2, s:split(j, { ts.auto, 3 }))))
end)

-- Sums and maxima of sizes, in tiles that need no condition.
for _, how in ipairs { "sum", "reduce_max" } do
  local n, m, l = ts.size "n", ts.size "m", ts.size "l"
  local A, B = ts.placeholder("A", { n, l }), ts.placeholder("B", { l, m })
  local k = ts.reduce_axis("k", l)
  local p = ts.program("product", { A, B }, {
    ts.compute("C", { n, m }, function(i, j)
      return ts[how](how == "sum" and A(i, k) * B(k, j) or A(i, k), k)
    end),
  })
  local s = ts.schedule(p)
  local c = s:get_block "C"
  s:pad_einsum(c, { 4, how == "sum" and 3 or 1, 2 })
  checks.replays(s, p)
  local loops = { s:get_loops(c) }
  s:split(loops[1], { ts.auto, 4 })
  s:split(loops[3], { ts.auto, 2 })
  local text = tostring(s)
  assert(text:find("C_pad: float32[(n - 1) // 4 * 4 + 4,", 1, true), text)
  local nest = text:match("block C%(.-\n%s+init")
  assert(nest and not nest:find("where", 1, true), text)
  for i = 1, 7 do
    local x, y, z = sizes.n[i], sizes.m[i], i
    checks.exact(s, p, { ts.tensor("float32", { x, z }, "integers", i),
                         ts.tensor("float32", { z, y }, "integers", i + 9),
                         ts.tensor("float32", { x, y }) })
  end
end

-- Not where the length is another loop's, or that of a part.
do
  local b = ts.builder("parts")
  local n = ts.size "n"
  local A, C = b:input("A", { 8, n }), b:output("C", { 8, n })
  b:loop("i", 0, 8, function(i)
    b:block("rows", { { "i", extent = 8, bind = i } }, function(vi)
      b:loop("j", 0, n, function(j)
        b:block("C", { { "j", extent = n, bind = j } }, function(vj)
          b:store(C, { vi, vj }, A(vi, vj) * 2)
        end)
      end)
    end)
  end)
  checks.illegal(b:program(), "NOT_STATIC", function(s)
    s:pad_einsum(s:get_block "C", { 4 })
  end)
end

-- A reduction whose spatial loops of sizes are one is still seen to reach each
-- point once.
do
  local n = ts.size "n"
  local A, k = ts.placeholder("A", { 4, n, 16 }, "int32"),
               ts.reduce_axis("k", 16)
  local p = ts.program("rows", { A }, {
    ts.compute("C", { 4, n }, function(i, j) return ts.sum(A(i, j, k), k) end),
  })
  local s = ts.schedule(p)
  local i, j, r = s:get_loops(s:get_block "C")
  local loop = s:fuse(i, j)
  local _, inner = s:split(r, { ts.auto, 4 })
  s:rfactor(inner, 0)
  s:parallel(loop)
  for _, size in ipairs { 1, 3, 8 } do
    checks.exact(s, p, { ts.tensor("int32", { 4, size, 16 }, "integers", 1),
                         ts.tensor("int32", { 4, size }) })
  end
end

-- More than memory can hold is refused, not only what is left of the number
-- of bytes when that does not fit.
do
  local n = ts.size "n"
  local A = ts.placeholder("A", { n })
  local B = ts.compute("B", { n, n, n }, function(i) return A(i) * 2 end)
  local p = ts.program("cube", { A }, {
    ts.compute("C", { n }, function(i) return B(i, i, i) end),
  })
  local kernel = ts.build(p)
  for _, size in ipairs { 1 << 21, 1 << 22 } do -- 2^65, 2^68 bytes
    local a, c = ts.tensor("float32", { size }), ts.tensor("float32", { size })
    local ok, e = pcall(kernel, a, c)
    assert(not ok and tostring(e):find "memory", e)
    ok, e = pcall(ts.interpret, p, { a, c })
    assert(not ok and tostring(e):find "limit", e)
  end
end
for _, map in ipairs {
  function(i, j) return i + (1 << 61), j end,
  function(i, j) return i + (1 << 58), j + (1 << 3) end,
} do
  checks.illegal(program(rows), "MAP_LARGE", function(s)
    s:transform_layout(s:get_block "B", { "write", 0 }, map,
                       { pad_value = 0 })
  end)
end

-- The variable of the first loop is a quotient by a size, of which no end can
-- be told: domains below that have one are given it, and others stay plain.
do
  local function steps(extent, bound)
    local b = ts.builder("steps")
    local n = ts.size "n"
    local A, C = b:input("A", { 9, n, 17 }), b:output("C", { 9, n, 17 })
    b:loop("i", 0, extent(n), function(i)
      b:loop("j", 0, n, function(j)
        b:loop("k", 0, bound(i, j, n), function(k)
          b:block("C", { { "i", extent = 9, bind = i },
                         { "j", extent = n, bind = j },
                         { "k", extent = bound(i, j, n), bind = k } },
                  function(...) b:store(C, { ... }, A(...) * 2) end)
        end)
      end)
    end)
    return b:program()
  end
  local function nine() return 9 end
  local function upto(n) return ts.min(n, 9) end
  local function both(i, j) return ts.min(i, j) * 2 + 1 end
  for _, case in ipairs {
    { nine, function(i) return i * 2 end, "min(i_j_fused // n, 8)" },
    { nine, both, ", 8) * 2" },
    { upto, function(i) return i + 8 end,
      "min(i_j_fused // n, min(n, 9) - 1)" },
    { nine, function(_, j) return ts.min(j, 17) end },
  } do
    local p = steps(case[1], case[2])
    local s = ts.schedule(p)
    local i, j = s:get_loops(s:get_block "C")
    local loop = s:fuse(i, j)
    local text = tostring(s)
    if case[3] then
      assert(text:find(case[3], 1, true), text)
    else
      assert(not text:find("8", 1, true), text)
    end
    s:split(loop, { ts.auto, 4 })
    checks.replays(s, p)
    for _, n in ipairs(sizes.n) do
      checks.exact(s, p, { ts.tensor("float32", { 9, n, 17 }, "random", n),
                           ts.tensor("float32", { 9, n, 17 }) })
    end
  end
end

-- What never runs, whatever the size, may be bound to anything: the third row
-- and those after it, of which there are none where all is in the buffer.
do
  local n = ts.size "n"
  local A = ts.placeholder("A", { 3, n })
  local B = ts.compute("B", { n, 1 }, function(i, j)
    return A(i + 1, (0 - j) * 2)
  end)
  local p = ts.program("p", { A }, { B })
  local s = ts.schedule(p)
  local i = s:get_loops(s:get_block "B")
  local _, rows = s:split(i, { ts.auto, 5 })
  local _, rest = s:loop_partition(rows, { 3 })
  local last = s:get_block "B_1"
  local copy = s:cache_read(last, 0, "local", { last })
  s:compute_at(copy, rest, true)
  s:reindex_cache_read(last, 0, "shared", function(x, y) return x end)
  checks.replays(s, p)
  for size = 1, 2 do
    checks.exact(s, p, { ts.tensor("float32", { 3, size }, "random", size),
                         ts.tensor("float32", { size, 1 }) })
  end
end

-- A size that no extent is by itself does not follow from the tensors, and is
-- named; those that follow are not.
do
  local n, w, m = ts.size "n", ts.size "w", ts.size "m"
  local function check(shape, why)
    local A = ts.placeholder("A", shape)
    local p = ts.program("p", { A }, {
      ts.compute("B", shape, function(...) return A(...) + 1 end),
    })
    local given = {}
    for i = 1, #shape do given[i] = 4 end
    local a, b = ts.tensor("float32", given), ts.tensor("float32", given)
    checks.fails("UNSUPPORTED", why, ts.interpret, p, { a, b })
    checks.fails("UNSUPPORTED", why, ts.build(p, "llvm"), a, b)
  end
  check({ n + w }, "argument 1, 'A': extent 0 does not follow from the " ..
        "tensors: no extent is the size 'n', nor 'w'")
  check({ n, n + w * m }, "extent 1 does not follow from the tensors: no " ..
        "extent is the size 'w', nor 'm'")
  check({ w, (n + w) * 2 }, "no extent is the size 'n'")
end

-- Loops of one iteration have no digit in what they are fused to, or it would
-- not be seen that each iteration around fills what it reads.
do
  local n, m = ts.size "n", ts.size "m"
  local A = ts.placeholder("A", { n, m, 1 }, "uint32")
  local B = ts.compute("B", { 6, 1 }, function(i, l)
    local j, k = ts.reduce_axis("j", n), ts.reduce_axis("k", m)
    return ts.sum(A(j, k, l) * ts.cast(i, "uint32"), { j, k })
  end)
  local p = ts.program("p", { A }, { B })
  local s = ts.schedule(p)
  local b = s:get_block "B"
  local copy = s:reindex_cache_read(b, { "read", 0 }, "local",
                                    function(_, _, j, k) return j, k end)
  s:reindex(copy, { "read", 0 })
  local i = s:get_loops(b)
  s:compute_at(copy, i, true)
  local _, one, rows, columns = s:get_loops(copy)
  local points = s:fuse(rows, columns)
  s:parallel(i)
  s:fuse(one, points)
  checks.replays(s, p)
  checks.exact(s, p, { ts.tensor("uint32", { 4, 5, 1 }, "random"),
                       ts.tensor("uint32", { 6, 1 }) })
end

-- Of what is no constant no tile is sampled: the first factor is left open.
do
  local n, m = ts.size "n", ts.size "m"
  local A = ts.placeholder("A", { n, m }, "int32")
  local p = ts.program("p", { A }, {
    ts.compute("B", { n, m }, function(i, j) return A(i, j) + 1 end) })
  local s = ts.schedule(p, { seed = 3 })
  local i, j = s:get_loops(s:get_block "B")
  local tiles = { s:sample_perfect_tile(i, 4) }
  assert(s:get(tiles[1]) == -1 and s:get(tiles[4]) == 1)
  s:split(i, tiles)
  s:split(j, { s:sample_partitioned_tile(j, 3, 1, 4) })
  local t = s:trace()
  for _, again in ipairs {
    t, t:replay(p, { resample = true, seed = 9 }):trace(),
    ts.trace.from_json(t:json(), p), ts.trace.from_lua(t:lua(), p),
    ts.trace.from_tvm_json(t:to_tvm_json(), p) } do
    assert(again == t and again:replay(p):program():equal(s:program()))
  end
  assert(not pcall(t.mutate, t, { seed = 1 }))
  local _, e = pcall(function()
    return t:with_decision(3, { 1, 1, 1, 1 }):replay(p)
  end)
  assert(tostring(e):find("must be -1", 1, true), tostring(e))
  local a = ts.tensor("int32", { 3, 5 }, "integers", 1)
  local b, c = ts.tensor("int32", { 3, 5 }), ts.tensor("int32", { 3, 5 })
  ts.interpret(p, { a, b })
  ts.build(s, "llvm")(a, c)
  for x = 0, 2 do
    for y = 0, 4 do assert(b:get(x, y) == c:get(x, y)) end
  end
end

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

-- A loop over a size is split with the open factor anywhere.
do
  local n = ts.size "n"
  local A = ts.placeholder("A", { n })
  local p = ts.program("twice", { A }, {
    ts.compute("B", { n }, function(i) return A(i) * 2 end) })
  for _, factors in ipairs { { 10, ts.auto }, { 3, ts.auto, 4 },
                             { ts.auto, 4, 2 }, { 1, ts.auto, 4 } } do
    local s = ts.schedule(p)
    local loops = { s:split(s:get_loops(s:get_block "B"), factors) }
    if factors[1] == ts.auto then
      s:parallel(loops[1])
      s:vectorize(loops[#loops])
    else
      s:unroll(loops[1])
    end
    local kernel = ts.build(s)
    for _, size in ipairs { 1, 7, 10, 12, 35 } do
      local a = ts.tensor("float32", { size }, "random", size)
      local b = ts.tensor("float32", { size })
      kernel(a, b)
      for at = 0, size - 1 do assert(b:get(at) == 2 * a:get(at)) end
    end
  end
  local s = ts.schedule(p)
  local i = s:get_loops(s:get_block "B")
  checks.refused(s, "NOT_STATIC", "split", i, { 4, 32 })
  checks.refused(s, "FACTORS_SEVERAL_OPEN", "split", i, { ts.auto, 2, ts.auto })
end

-- ---- predicates that always hold -------------------------------------------

-- How many conditions are left, in the program and when it is lowered.
local function left(sch)
  local p, n = sch:program(), 0
  for _ in tostring(p):gmatch " where " do n = n + 1 end
  for _ in tostring(ts.lower(p)):gmatch "%f[%w]if " do n = n + 1 end
  return n
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

-- Where a tile overhangs the condition stays.
check(rows, function(s)
  local _, tile = s:split((s:get_loops(s:get_block "C")), { ts.auto, 2 })
  s:blockize(tile)
  assert(left(s) == 2)
end)
