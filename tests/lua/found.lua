-- SPDX-License-Identifier: Apache-2.0
-- Regressions found by random testing (bench/fuzz) and minimized: each schedule
-- is refused for the right reason, or computes the same.
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

case("a loop of possibly zero iterations that no iter binds keeps its guard",
     function()
  local build = ts.builder("main")
  local x4 = ts.placeholder("x4", { 1, 1 })
  local x5 = ts.placeholder("x5", { 1 })
  local y = build:buffer("y", { 1 }, "float32")
  build:loop("a", 0, 1, function(a)
    build:block("first", { { "va", extent = 1, bind = a } }, function(va)
      build:store(y, { va }, x5(va))
    end)
  end)
  build:loop("i", 0, 1, function(i)
    build:loop("j", 0, i, function(j)
      build:block("sum", { { "va", extent = 1, bind = i },
                           { "vb", "reduce", extent = 1, bind = j } },
                  function(va, vb)
        build:init(function()
          build:store(y, { va }, ts.const(0, "float32"))
        end)
        build:store(y, { va }, y(va) - x4(va, vb))
      end)
    end)
  end)
  local program = ts.program("main", { x4, x5 }, { y })
  local sch = ts.schedule(program)
  local b = sch:get_block("sum")
  local i, j = sch:get_loops(b)
  sch:blockize(j)
  local copy = sch:cache_read(b, "x4", "global")
  local k, l = sch:get_loops(copy)
  sch:reverse_compute_at(b, l)
  assert(tostring(sch:program()):find("where", 1, true))
  same(sch, program)
end)

case("a nested block gets no copy of a buffer written partly outside of it",
     function()
  local x = ts.placeholder("x", { 4 })
  local build = ts.builder("main")
  local y = build:buffer("y", { 4 }, "float32")
  local z = build:buffer("z", { 4 }, "float32")
  local function copies(name, to, from, n)
    build:loop("i", 0, n, function(i)
      build:block(name, { { "vi", extent = n, bind = i } }, function(vi)
        build:store(to, { vi }, from(vi))
      end)
    end)
  end
  copies("all", y, x, 4)
  copies("part", y, x, 2)
  copies("reader", z, y, 4)
  local program = ts.program("main", { x }, { z })
  local sch = ts.schedule(program)
  sch:blockize({ sch:get_block("part"), sch:get_block("reader") })
  local reader = sch:get_block("reader")
  refused(sch, "BUFFER_LIVE_IN", "cache_read", reader, { "read", 0 }, "global")
  refused(sch, "BUFFER_LIVE_IN", "reindex", reader, { "read", 0 })
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

-- LLVM 19 pads other vectors and may select an instruction for the new lanes
-- that no processor with AVX-512 has.
case("gathers have a power of two of lanes", function()
  for _, n in ipairs { 3, 6, 24 } do
    local A = ts.placeholder("A", { 5 * n }, "int32")
    local X = ts.placeholder("X", { n })
    local p = ts.program("gather", { A, X }, {
      ts.compute("B", { n }, function(i)
        return ts.select(ts.lt(X(i), 2), A(5 * i), 1)
      end) })
    local s = ts.schedule(p)
    s:vectorize((s:get_loops(s:get_block "B")))
    local kernel = ts.build(s)
    for lanes in kernel:source("ir"):gmatch("masked%.gather%.v(%d+)") do
      local n = math.tointeger(lanes)
      assert(n & (n - 1) == 0, n)
    end
    local a = ts.tensor("int32", { 5 * n }, "integers", 3)
    local x = ts.tensor("float32", { n }, "integers", 4)
    local b, c = ts.tensor("int32", { n }), ts.tensor("int32", { n })
    kernel(a, x, b)
    ts.interpret(p, { a, x, c })
    for k = 0, n - 1 do assert(b:get(k) == c:get(k)) end
  end
end)

-- The inner intrinsic's buffer matches a part of the outer one's.
case("a block nested in a tensorized one can be tensorized itself", function()
  local function copy(name, n)
    local A = ts.placeholder(name .. "_in", { n })
    return ts.program(name, { A }, {
      ts.compute(name, { n }, function(i) return A(i) * 2 end) })
  end
  local eight = ts.tensor_intrin { name = "twice_8", desc = copy("twice", 8),
                                   impl = copy("twice", 8) }
  local four = ts.tensor_intrin { name = "twice_4", desc = copy("twice", 4),
                                  impl = copy("twice", 4) }
  local p = copy("B", 32)
  local s = ts.schedule(p)
  local _, inner = s:split(s:get_loops(s:get_block "B"), { ts.auto, 8 })
  s:tensorize(inner, eight)
  local _, part = s:split(s:get_loops(s:get_block "twice_1"), { ts.auto, 4 })
  s:tensorize(part, four)
  assert(tostring(s:program()):find("float32[4] = B_in_m[", 1, true))
  same(s, p)
  local a = ts.tensor("float32", { 32 }, "integers", 1)
  local b, c = ts.tensor("float32", { 32 }), ts.tensor("float32", { 32 })
  ts.build(s)(a, b)
  ts.interpret(p, { a, c })
  for k = 0, 31 do assert(b:get(k) == c:get(k)) end
end)

case("blocks under a false condition have empty regions and domains", function()
  local build = ts.builder("main")
  local x = ts.placeholder("x", { 15 })
  local y = build:buffer("y", { 15 }, "float32")
  build:loop("b", 0, 15, function(b)
    build:when(ts.lt(b, 2), function()
      build:block("n", { { "vb", extent = 15, bind = b } }, function(vb)
        build:store(y, { vb }, x(vb))
      end)
    end)
  end)
  local program = ts.program("main", { x }, { y })
  local sch = ts.schedule(program)
  sch:blockize(sch:get_loops(sch:get_block("n")))
  sch:loop_partition(sch:get_loops(sch:get_block("n")), { 3 })
  same(sch, program)

  local k = ts.reduce_axis("k", 16)
  local C = ts.compute("C", { 4 }, function(i)
    return ts.sum(x(0), k)
  end)
  program = ts.program("main", { x }, { C })
  sch = ts.schedule(program)
  local _, l = sch:get_loops(sch:get_block("C"))
  sch:loop_partition(l, { 1, 3 })
  _, l = sch:get_loops(sch:get_block("C"))
  sch:split(l, { 7, 3 }, { preserve_unit_iters = false })
  _, l = sch:get_loops(sch:get_block("C"))
  sch:loop_partition(l, { 4 })
  local never = sch:get_block("C_1_1")
  assert(tostring(sch:program()):find "where false")
  local _, outer = sch:get_loops(never)
  sch:blockize(outer)
  same(sch, program)
end)

-- The loops made would share a buffer that was private to each iteration.
case("fission re-checks the resulting parallel loops for races", function()
  local build = ts.builder("main")
  local x = ts.placeholder("x", { 4 })
  local t = build:buffer("t", { 2 }, "float32")
  local y = build:buffer("y", { 4, 3 }, "float32")
  build:loop("i", 0, 4, function(i)
    build:block("first", { { "v", extent = 4, bind = i } }, function(v)
      build:store(y, { v, 2 }, x(v))
    end)
    for k = 0, 1 do
      build:loop("j" .. k, 0, 1, function()
        build:block("make" .. k, { { "v", extent = 4, bind = i } }, function(v)
          build:store(t, { k }, x(v) * (k + 1))
        end)
        build:block("use" .. k, { { "v", extent = 4, bind = i } }, function(v)
          build:store(y, { v, k }, t(k))
        end)
      end)
    end
  end)
  local program = ts.program("main", { x }, { y })
  local sch = ts.schedule(program)
  sch:fission(sch:get_loops(sch:get_block("first")))
  same(sch, program)
  sch = ts.schedule(program)
  local i = sch:get_loops(sch:get_block("first"))
  sch:parallel(i)
  local e = refused(sch, "WOULD_RACE", "fission", i)
  assert(e.message:find("would conflict on buffer \"t\"", 1, true), e.message)
  same(sch, program)
end)

-- A parallel loop becomes a function of its own: what is known in the branch
-- around it holds neither there nor behind the branch.
case("facts of a branch do not leave it through an outlined parallel loop",
     function()
  local build = ts.builder("main")
  local x = ts.placeholder("x", { 6, 6 }, "int64")
  local t = build:buffer("t", { 2 }, "int64")
  local y = build:buffer("y", { 6 }, "int64")
  local z = build:buffer("z", { 6 }, "int64")
  build:loop("i", 0, 6, function(i)
    build:when(ts.lt(i, 3), function()
      build:loop("a", 0, 2, function(a)
        build:block("make", { { "v", extent = 2, bind = a } }, function(v)
          build:store(t, { v }, v * 2)
        end)
      end)
      build:block("use", { { "u", extent = 6, bind = i } }, function(u)
        build:store(y, { u }, x(u, 1) + t(1))
      end)
    end)
    build:block("rest", { { "u", extent = 6, bind = i } }, function(u)
      build:store(z, { u }, x(u, 1))
    end)
  end)
  local program = ts.program("main", { x }, { y, z })
  local sch = ts.schedule(program)
  local _, a = sch:get_loops(sch:get_block("make"))
  sch:parallel(a)
  same(sch, program)
  ts.build(sch, "llvm")
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

case("an access annotation is taken over by enclosing blocks", function()
  local x = ts.placeholder("x", { 9, 4 })
  local y = ts.compute("y", { 9, 4 }, function(i, j) return x(i, j) + 1 end)
  local program = ts.program("main", { x }, { y })
  local sch = ts.schedule(program)
  local _, j = sch:get_loops(sch:get_block "y")
  sch:blockize(j)
  sch:annotate_buffer_access(sch:get_block "y", { "read", 0 },
                             function(_) return 0, 9, 0, 4 end)
  same(sch, program)
  sch:blockize((sch:get_loops(sch:get_block "y_o")))
  same(sch, program)
end)

case("padding is decomposed in a part of a loop that is all padding", function()
  local x = ts.placeholder("x", { 6, 3 })
  local y = ts.compute("y", { 8, 3 }, function(i, j)
    return ts.select(ts.all(ts.le(1, i), ts.lt(i, 7)), x(i - 1, j), 0.5)
  end)
  local program = ts.program("main", { x }, { y })
  local sch = ts.schedule(program)
  sch:loop_partition((sch:get_loops(sch:get_block "y")), { 1 })
  sch:blockize((sch:get_loops(sch:get_block "y")))
  local _, j = sch:get_loops(sch:get_block "y")
  sch:decompose_padding(sch:get_block "y", j)
  same(sch, program)
end)

case("a partition point behind the end of an empty loop is refused", function()
  local b = ts.builder("main")
  local X, Y = b:input("X", { 4 }), b:output("Y", { 4 })
  b:loop("i", 0, 0, function(i)
    b:loop("j", 0, 4, function(j)
      b:block("Y", { { "vj", extent = 4, bind = j } }, function(vj)
        b:store(Y, { vj }, X(vj))
      end)
    end)
  end)
  local s = ts.schedule(b:program())
  local _, j = s:get_loops(s:get_block("Y"))
  refused(s, "PARTITION_EMPTY", "loop_partition",
          { loop = j, outer_loops = {}, points = "() -> (1000)" })
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

case("removing an access annotation restores the enclosing block's region",
     function()
  local A = ts.placeholder("A", { 20 })
  local I = ts.placeholder("I", { 8 }, "int32")
  local p = ts.program("p", { A, I }, {
    ts.compute("B", { 8 }, function(i) return A(I(i)) end) })
  local s = ts.schedule(p)
  local b = s:get_block "B"
  s:annotate_buffer_access(b, { "read", 0 }, function(_) return 0, 5 end)
  s:blockize((s:get_loops(b)))
  s:unannotate(b, "explicit_read_region")
  same(s, p)
end)

-- The proof succeeds for (2 * i + j) * 155 // 10 % 31, and not for
-- f * 155 // 10 % 31.
case("fuse is refused if a private buffer could not be proved private after it",
     function()
  local A = ts.placeholder("A", { 4, 31, 10 })
  local p = ts.program("flat", { A }, {
    ts.compute("C", { 8, 155 }, function(i, j)
      local at = i * 155 + j
      return A(at // 310, at // 10 % 31, at % 10)
    end) })
  local s = ts.schedule(p)
  local c = s:get_block "C"
  local copy = s:cache_read(c, 0, "local")
  s:reverse_compute_at(c, (s:get_loops(copy)))
  local _, _, j = s:get_loops(c)
  local j_0 = s:split(j, { 5, 31 })
  s:compute_at(copy, j_0)
  s:parallel(j_0)
  local i_0, i_1 = s:get_loops(c)
  refused(s, "WOULD_RACE", "fuse", i_0, i_1)
  same(s, p)
end)

case("the remainder of a negative value may exceed it", function()
  local b = ts.builder("below")
  local A = b:inout("A", { 8, 8 }, "int32")
  b:loop("i", -3, 8, function(i)
    b:block("B", { { "v", extent = 8, bind = i + 3 },
                   { "w", extent = 4, bind = i % 4 } },
            { where = ts.lt(i, 1) }, function(v, w)
      b:store(A, { v, w }, A((v + 1) % 8, w + 1) + 1)
    end)
  end)
  local s = ts.schedule(b:program())
  refused(s, "RACE", "parallel", (s:get_loops(s:get_block "B")))
end)

case("a hidden access stays hidden in a block that reduces", function()
  local A = ts.placeholder("A", { 4, 4 }, "int32")
  local k = ts.reduce_axis("k", 4)
  local p = ts.program("p", { A }, {
    ts.compute("C", { 4 }, function(i) return ts.sum(A(i, k), k) end) })
  local s = ts.schedule(p)
  s:unsafe_hide_buffer_access(s:get_block "C", "write", { 0 })
  same(s, p)
end)
case("a buffer whose accesses are hidden cannot be cached", function()
  local b = ts.builder "in_place"
  local X = b:inout("X", { 4 }, "int32")
  b:loop("i", 0, 4, function(i)
    for n, name in ipairs { "f", "g" } do
      b:block(name, { { "v", extent = 4, bind = i } }, function(v)
        b:store(X, { v }, X(v) + n)
      end)
    end
  end)
  local s = ts.schedule(b:program())
  s:unsafe_hide_buffer_access(s:get_block "f", "write", { 0 })
  refused(s, "BUFFER_HIDDEN", "cache_inplace", s:get_block "g", 0, "global")
  refused(s, "BUFFER_HIDDEN", "read_at", (s:get_loops(s:get_block "g")),
          s:get_block "g", 0, "global")
end)
case("an access is hidden by name, which must be unique", function()
  local b = ts.builder "namesakes"
  local C = b:output("C", { 4 })
  local X, Y = b:buffer("X", { 4 }), b:buffer("X", { 4 })
  b:loop("i", 0, 4, function(i)
    for n, buffer in ipairs { X, Y } do
      b:block("x" .. n, { { "v", extent = 4, bind = i } }, function(v)
        b:store(buffer, { v }, 1)
      end)
    end
    b:block("c", { { "v", extent = 4, bind = i } }, function(v)
      b:store(C, { v }, X(v) + Y(v))
    end)
  end)
  local s = ts.schedule(b:program())
  refused(s, "BUFFER_NAMES", "unsafe_hide_buffer_access", s:get_block "c",
          "read", { 0 })
end)

case("a refusal without a place names the primitive's argument", function()
  local A = ts.placeholder("A", { 4 })
  local s = ts.schedule(ts.program("p", { A }, {
    ts.compute("C", { 4 }, function(i) return A(i) + 1 end) }))
  local e = refused(s, "PARAMETER_FIXED", "set_scope", s:get_block "C", 0,
                    "shared")
  assert(e.message:find('set_scope of block "C": buffer "C"', 1, true),
         e.message)
  local _, again = pcall(s.set_scope, s, s:get_block "C", 0, "shared")
  assert(tostring(again):find "%^%-%- here", tostring(again))
end)

case("the buffers of an intrinsic's description are not the program's",
     function()
  local function twice(n)
    local A = ts.placeholder("A", { n })
    return ts.program("twice", { A }, {
      ts.compute("B", { n }, function(i) return A(i) * 2 end) })
  end
  ts.tensor_intrin { name = "twice of 8", desc = twice(8), impl = twice(8) }
  local A = ts.placeholder("A", { 16 })
  local p = ts.program("p", { A }, {
    ts.compute("C", { 16 }, function(i) return A(i) * 2 end),
    ts.compute("D", { 16 }, function(i) return A(i) + 1 end) })
  checks.legal(p, function(s)
    s:unsafe_hide_buffer_access(s:get_block "D", "read", { 0 })
    local _, tile = s:split(s:get_loops(s:get_block "C"), { 2, 8 })
    s:tensorize(tile, "twice of 8")
  end)
end)

case("an invalid decision is reported with its place", function()
  local A = ts.placeholder("A", { 16 })
  local s = ts.schedule(ts.program("p", { A }, {
    ts.compute("C", { 16 }, function(i) return A(i) + 1 end) }))
  local _, e = pcall(s.sample_perfect_tile, s, (s:get_loops(s:get_block "C")),
                     { n = 2, decision = { 0, 16 } })
  assert(tostring(e):find "%^%-%- here" and
         e.message:find("at `for i in range(16)`", 1, true), tostring(e))
end)
