-- SPDX-License-Identifier: Apache-2.0
-- Copies of tiles that are not whole: what lies outside of the buffer, and what
-- no step makes, is not copied.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local same, legal, illegal = checks.same, checks.legal, checks.illegal

-- Tiles of windows that a split makes more of than there are: those too many
-- make nothing, and where a part of one would lie in the buffer, above its
-- end or, read backwards, before its beginning, nothing of it may be copied.
do
  local function windows(n, wide, back)
    local A = ts.placeholder("A", { n + wide }, "int32")
    local C = ts.compute("C", { n }, function(i)
      local at = back and n - 1 - i or i
      return A(at) + A(at + wide)
    end)
    return ts.program("windows", { A }, { C })
  end
  local last = {
    cache_read = function(s, c) s:cache_read(c, 0, "local") end,
    read_at = function(s, c, at) s:read_at(at, c, 0, "local") end,
    cache_write = function(s, _, _, cp) s:cache_write(cp, 0, "local") end,
  }
  local function try(call, n, wide, back, tiles)
    local p = windows(n, wide, back)
    local s = ts.schedule(p)
    local c = s:get_block "C"
    local i = s:split((s:get_loops(c)), { ts.auto, 2 })
    local copy = s:read_at(i, c, 0, "global")
    local _, at = s:split(i, { ts.auto, tiles })
    local ok, e = pcall(call, s, c, at, copy)
    assert(ok or e.reason == "REGION_NOT_WHOLE" or e.reason == "NOT_COVERED",
           tostring(e))
    same(s, p)
    return ok
  end
  for _, call in pairs(last) do
    for _, back in ipairs { false, true } do
      for n = 3, 6 do
        for wide = 0, 3 do
          for tiles = 1, 6 do try(call, n, wide, back, tiles) end
        end
      end
      assert(not try(call, 5, 2, back, 5))
      assert(try(call, 6, 2, back, 3))
    end
    assert(try(call, 5, 0, true, 5))
  end
end

-- Rows of a triangle, of which the first has none: what is copied of them is
-- only what some step made, though the steps that there are all make the same
-- one.
do
  local function triangle(rows)
    local b = ts.builder("triangle")
    local A = b:input("A", { rows, 3 })
    local C, T = b:output("C", { rows, 3 }), b:buffer("T", { rows, rows, 3 })
    b:loop("r", 0, rows, function(r)
      b:loop("x", 0, 3, function(x)
        b:block("zero", { { "v", extent = rows, bind = r },
                          { "c", extent = 3, bind = x } }, function(v, c)
          b:store(C, { v, c }, 0)
        end)
      end)
      b:loop("t", 0, r, function(t)
        b:loop("x", 0, 3, function(x)
          b:block("make", { { "v", extent = rows, bind = r },
                            { "w", extent = rows, bind = t },
                            { "c", extent = 3, bind = x } },
                  function(v, w, c) b:store(T, { v, w, c }, A(w, c)) end)
        end)
        b:loop("x", 0, 3, function(x)
          b:block("take", { { "v", extent = rows, bind = r },
                            { "w", "opaque", extent = rows, bind = t },
                            { "c", extent = 3, bind = x } },
                  function(v, w, c)
            b:store(C, { v, c }, C(v, c) + T(v, w, 2 - c))
          end)
        end)
      end)
    end)
    return b:program()
  end
  local two = triangle(2)
  illegal(two, "REGION_NOT_WHOLE", function(s)
    local make = s:get_block "make"
    s:write_at((s:get_loops(make)), make, 0, "local")
  end)
  local calls = {
    function(s, make) s:cache_write(make, 0, "local") end,
    function(s, make)
      s:reindex_cache_write(make, 0, "local",
                            function(v, w, c) return v, w, c end)
    end,
    function(s) s:cache_inplace(s:get_block "take", 0, "local") end,
    function(s) s:cache_read(s:get_block "take", 1, "local") end,
    function(s, make) s:write_at(select(2, s:get_loops(make)), make, 0,
                                 "local") end,
    function(s, make) s:read_at((s:get_loops(make)), s:get_block "take", 1,
                                "local") end,
    function(s, make)
      s:reverse_compute_at(s:cache_write(make, 0, "local"),
                           (s:get_loops(make)))
    end,
    function(s, make)
      s:compute_at(s:cache_read(s:get_block "take", 1, "local"),
                   (s:get_loops(make)))
    end,
  }
  for rows = 1, 4 do
    local p = triangle(rows)
    for _, call in ipairs(calls) do
      local s = ts.schedule(p)
      local ok, e = pcall(call, s, s:get_block "make")
      assert(ok or type(e) ~= "string", tostring(e))
      same(s, p)
    end
  end
end

-- A block of which each run makes tiles of 3 elements, and which says that it
-- makes more, as many as its loops would without their guard.
do
  local A = ts.placeholder("A", { 1, 9 })
  local p = ts.program("tiles", { A }, {
    ts.compute("B", { 1, 9 }, function(i, j) return A(i, j) * 2 end) })
  local function tiles(s)
    local B = s:get_block "B"
    local i, j = s:get_loops(B)
    s:vectorize(i)
    local j0, j1 = s:split(j, { 3, 3 })
    s:blockize(j0)
    local outer = s:blockize(j1)
    s:split(j1, { ts.auto, 4 })
    s:write_at((s:get_loops(B)), B, 0, "local")
    return j0, outer
  end
  legal(p, tiles)
  illegal(p, "REGION_NOT_WHOLE", function(s)
    local at, block = tiles(s)
    s:write_at(at, block, 0, "global")
  end)
end

-- What a block changes it may read to decide whether it does, or where: one
-- element after the other, whatever the copy's annotations.
local at = ts.cast(0, "int64")
local bodies = {
  whether = function(b, A, S, i)
    b:when(ts.gt(S(i), 0), function() b:store(S, { i + 1 }, A(i)) end)
  end,
  where = function(b, A, S, i)
    local from = ts.cast(S(at), "int64") % 2
    b:store(S, { from + i }, A(i))
  end,
}
for _, body in pairs(bodies) do
  local b = ts.builder "told"
  local A, S = b:input("A", { 16 }, "int32"), b:inout("S", { 17 }, "int32")
  b:loop("g", 0, 1, function(g)
    b:block("copy", { { "v", "opaque", extent = 1, bind = g } }, function()
      b:loop("i", 0, 16, function(i) body(b, A, S, i) end)
    end)
  end)
  for _, key in ipairs { "vector_bytes", "local_stage" } do
    local p = b:program()
    local s = checks.legal(p, function(t)
      local copy = t:get_block "copy"
      t:annotate(copy, "auto_copy", 1)
      t:annotate(copy, key, key == "vector_bytes" and 16 or 1)
    end)
    checks.exact(s, p, checks.arguments(p, "integers"))
  end
end
