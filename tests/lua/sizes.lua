-- SPDX-License-Identifier: Apache-2.0
-- Loops of symbolic size, fused, split and bound, agree with the interpreter at
-- every size.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local sized = dofile((arg[0]:gsub("[^/]*$", "../support/sized.lua")))
local program, sizes, check, rows =
  sized.program, sized.sizes, sized.check, sized.rows
local columns, both, between, fused =
  sized.columns, sized.both, sized.between, sized.fused

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
  check({ n + w }, "argument 1, 'A': extent 0, counted from 0, does not " ..
        "follow from the " ..
        "tensors: no extent is the size 'n', nor 'w'")
  check({ n, n + w * m }, "extent 1, counted from 0, does not follow from " ..
        "the tensors: no extent is the size 'w', nor 'm'")
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
