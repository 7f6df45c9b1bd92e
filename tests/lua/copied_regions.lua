-- SPDX-License-Identifier: Apache-2.0
-- What a copy holds, and what it writes back, where accesses are guarded,
-- triangular or outside of the buffer.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local same, refused, case = checks.same, checks.refused, checks.case

-- In a scope of the block alone a copy would have to hold elements that no
-- block writes.
case("a guarded stage that reads more than is written gets no scoped copy",
     function()
  local x = ts.placeholder("x", { 1 })
  local p = ts.compute("p", { 4 }, function(i)
    return ts.select(ts.all(ts.le(2, i), ts.lt(i, 3)), x(i - 2), -0.5)
  end)
  local program = ts.program("main", { x }, { p })
  local sch = ts.schedule(program)
  sch:reindex(sch:get_block("p"), "x")
  sch:blockize({ sch:get_block("p") })
  refused(sch, "REGION_NOT_WHOLE", "cache_read", sch:get_block("p"),
          { "read", 0 }, "global")
  refused(sch, "REGION_NOT_WHOLE", "reindex", sch:get_block("p"),
          { "read", 0 })
  local unit = sch:add_unit_loop(sch:get_block("p"))
  refused(sch, "REGION_NOT_WHOLE", "read_at", unit,
          sch:get_block("p"), 0, "global")
  same(sch, program)
end)

case("an in-place copy of triangular rows holds all that it writes back",
     function()
  local function rows(from)
    local build = ts.builder("main")
    local y = build:inout("y", { 8, 8 }, "int32")
    build:loop("i", 0, 8, function(i)
      build:block("row", { { "vi", extent = 8, bind = i } }, function(vi)
        build:loop("j", 0, vi + 1, function(j)
          build:block("add", { { "vj", extent = 8, bind = j } }, function(vj)
            build:store(y, { vi, vj }, y(vi, from(vj)) + 1)
          end)
        end)
      end)
    end)
    return build:program()
  end
  local part = ts.schedule(rows(function() return 0 end))
  refused(part, "REGION_NOT_WHOLE", "cache_inplace", part:get_block("add"),
          "y", "local")
  local whole = rows(function(vj) return vj end)
  local sch = ts.schedule(whole)
  sch:cache_inplace(sch:get_block("add"), "y", "local")
  same(sch, whole)
end)

case("a block that never runs has no region to copy back", function()
  local build = ts.builder("main")
  local x = ts.placeholder("x", { 4 })
  local z = build:buffer("z", { 8 }, "float32")
  build:loop("i", 0, 4, function(i)
    build:block("never", { { "v", extent = 4, bind = i } },
                { where = ts.lt(i, 0) }, function(v)
      build:store(z, { v + 8 }, x(v))
    end)
  end)
  local program = ts.program("main", { x }, { z })
  local sch = ts.schedule(program)
  sch:blockize(sch:get_loops(sch:get_block "never"))
  refused(sch, "REGION_NOT_WHOLE", "cache_write", sch:get_block "never", "z",
          "global")
  same(sch, program)
end)

-- The block may read what was there before the scope: a later copy holds less.
case("a copy of a nested block's reads must not follow a write of its scope",
     function()
  local build = ts.builder("main")
  local x = ts.placeholder("x", { 4, 8 })
  local t = build:buffer("t", { 4, 8 }, "float32")
  local y = build:buffer("y", { 4, 8 }, "float32")
  local function stage(name, i, to, of)
    build:loop("j", 0, 8, function(j)
      build:block(name, {
        { "a", extent = 4, bind = i }, { "b", extent = 8, bind = j },
      }, function(a, b)
        build:store(to, { a, b }, of(a, b))
      end)
    end)
  end
  build:loop("i", 0, 4, function(i)
    stage("first", i, t, x)
  end)
  build:loop("i", 0, 4, function(i)
    stage("use", i, y, function(a, b) return t(a, b) + 1 end)
    stage("again", i, t, function(a, b) return y(a, b) * 2 end)
  end)
  build:loop("i", 0, 4, function(i)
    stage("last", i, y, t)
  end)
  local program = ts.program("main", { x }, { y })
  local sch = ts.schedule(program)
  sch:blockize({ sch:get_block("use"), sch:get_block("again") })
  local map = function(b) return 7 - b end
  refused(sch, "BUFFER_LIVE_IN", "reindex_cache_read", sch:get_block "use",
          0, "local", map)
  -- What is read was written before in the scope.
  sch:reindex_cache_read(sch:get_block "again", 0, "local", map)
  same(sch, program)
end)

case("an annotated region outside of the buffer misses every access", function()
  local x = ts.placeholder("x", { 1 })
  local at = ts.placeholder("at", { 8 }, "int32")
  local y = ts.compute("y", { 8 }, function(i)
    return x(ts.cast(at(i), "int64"))
  end)
  local s = ts.schedule(ts.program("main", { x, at }, { y }))
  refused(s, "REGION_TOO_SMALL", "annotate_buffer_access", s:get_block("y"),
          "x", function(i) return 1, 2 end)
end)

-- A reduction that reaches its init late accumulates onto the old contents.
case("a copy holds the old contents that a late init leaves in use", function()
  local b = ts.builder("main")
  local A, Q = b:input("A", { 5, 11 }), b:output("Q", { 3 })
  local Y = b:buffer("Y", { 5 })
  b:loop("i", 0, 5, function(i)
    b:block("first", { { "vi", extent = 5, bind = i } }, function(vi)
      b:store(Y, { vi }, A(vi, 0))
    end)
  end)
  b:loop("i", 0, 5, function(i)
    b:loop("k", 0, 11, function(k)
      b:block("sum", { { "vi", extent = 5, bind = i },
                       { "vk", "reduce", extent = 11, bind = 10 - k } },
        function(vi, vk)
          b:init(function() b:store(Y, { vi }, 0) end)
          b:store(Y, { vi }, Y(vi) + A(vi, vk))
        end)
    end)
  end)
  b:loop("i", 0, 3, function(i)
    b:block("Q", { { "vi", extent = 3, bind = i } }, function(vi)
      b:store(Q, { vi }, Y(vi + 2))
    end)
  end)
  local p = b:program()
  local s = ts.schedule(p)
  local outer = s:blockize({ s:get_block "sum", s:get_block "Q" })
  s:cache_inplace(outer, "Y", "local")
  same(s, p)
end)

case("a guard outside of the buffer leaves nothing to copy back", function()
  local b = ts.builder("main")
  local A, B = b:input("A", { 4, 9 }), b:output("B", { 4, 9 })
  local T = b:buffer("T", { 4, 9 })
  local function copy(name, from, to)
    b:loop("i", 0, 4, function(i)
      b:loop("j", 0, 9, function(j)
        b:block(name, { { "vi", extent = 4, bind = i },
                        { "vj", extent = 9, bind = j } }, function(vi, vj)
          b:store(to, { vi, vj }, from(vi, vj))
        end)
      end)
    end)
  end
  copy("T", A, T)
  copy("B", T, B)
  local p = b:program()
  local s = ts.schedule(p)
  local last = s:get_block("B")
  local _, j = s:get_loops(last)
  local j0, j1 = s:split(j, { 4, 4, 7 })
  s:read_at(j1, last, 0, "global")
  s:loop_partition((select(3, s:get_loops(last))), { factors = { 2 } })
  s:blockize((select(3, s:get_loops(s:get_block("B_1")))), false)
  refused(s, "REGION_NOT_WHOLE", "cache_write", s:get_block("T_global_1"),
          { "write", 0 }, "global")
  same(s, p)
end)

-- Rows that a layout splits leave gaps between the elements of their inits, so
-- it cannot be proved any more that the copy is private to an iteration.
case("a layout whose init leaves gaps does not break the privacy of a copy",
     function()
  local A = ts.placeholder("A", { 31, 24 })
  local W = ts.compute("W", { 30, 23 }, function(i, j)
    local r, q = ts.reduce_axis("r", 2), ts.reduce_axis("q", 2)
    return ts.prod(A(29 - i + r, j + 1 - q), { r, q })
  end)
  local H = ts.compute("H", { 29, 23 }, function(i, j)
    return W(i, j) + W(i + 1, j)
  end)
  local p = ts.program("p", { A }, { H })
  local function rows(taken_apart)
    local s = ts.schedule(p)
    local w = s:get_block "W"
    s:compute_at(w, (select(2, s:get_loops(s:get_block "H"))))
    s:parallel((s:get_loops(w)))
    local copy = s:cache_write(w, 0, "global")
    s:reverse_compute_at(copy, (select(3, s:get_loops(w))))
    if taken_apart then
      s:transform_layout(w, { "write", 0 },
                         function(i, j) return i // 5, i % 5, j end, 0)
    end
    same(s, p)
    return s, w, { s:get_loops(w) }
  end
  for _, taken_apart in ipairs { true, false } do
    for at = 2, 4 do
      local s, w, loops = rows(taken_apart)
      if taken_apart and at < 4 then
        refused(s, "WOULD_RACE", "decompose_reduction", w, loops[at])
      else
        s:decompose_reduction(w, loops[at])
        same(s, p)
      end
    end
  end
end)
