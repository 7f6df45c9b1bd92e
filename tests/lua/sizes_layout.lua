-- SPDX-License-Identifier: Apache-2.0
-- Buffers of symbolic size, transformed, padded and copied, agree with the
-- interpreter at every size.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local sized = dofile((arg[0]:gsub("[^/]*$", "../support/sized.lua")))
local program, sizes, check, refused, rows =
  sized.program, sized.sizes, sized.check, sized.refused, sized.rows
local columns, both, between, fused =
  sized.columns, sized.both, sized.between, sized.fused

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
