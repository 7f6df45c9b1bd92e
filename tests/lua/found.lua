-- SPDX-License-Identifier: Apache-2.0
-- Small cases that bench/fuzz found and made small: what they do must be
-- refused, or right.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local same, refused = checks.same, checks.refused

-- A block that chooses what it reads may declare more than anybody wrote: in
-- a scope of its own it gets no copy of that.
do
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
end

-- A loop that may have no iteration, and that no binding follows.
do
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
end

-- A block inside another one gets no copy of a buffer of which only a part is
-- made beside it.
do
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
  refused(sch, "CONTENTS_OUTER", "cache_read", reader, { "read", 0 }, "global")
  refused(sch, "CONTENTS_OUTER", "reindex", reader, { "read", 0 })
  same(sch, program)
end

-- Rows of a triangle: what is copied back of a row is written, or what its
-- end was when it was copied.
do
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
end

-- Elements gathered by a number of lanes that is no power of two: LLVM 19 may
-- give the lanes that it adds an instruction that no processor with AVX-512
-- takes, so it has none to add.
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

-- A block inside a tensorized one is tensorized itself: it matches a part of
-- what is matched.
do
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
end

-- What a condition that is never true keeps from running accesses nothing
-- outside of what is declared, and its variables leave no domain.
do
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
end

-- Cut apart, the iterations of a loop that run at once would share what each
-- had for its own: the loops made are asked, too.
do
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
  assert(e.message:find("would meet at buffer \"t\"", 1, true), e.message)
  same(sch, program)
end

-- A parallel loop in a branch becomes a function of its own: what is known
-- in the branch around it is known neither there nor behind the branch.
do
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
end

-- What a block writes that never runs may lie outside of its buffer: there is
-- nothing to be copied back, in a scope that holds just that block, too.
do
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
end

-- What a block inside reads of a buffer may come from around, before another
-- block inside writes it: a copy made after that one holds less.
do
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
  for _, block in ipairs { "use", "again" } do
    refused(sch, "CONTENTS_OUTER", "reindex_cache_read", sch:get_block(block),
            0, "local", map)
  end
end

-- What is said of a block's accesses holds of the blocks around it, too.
do
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
end

-- A part of a loop in which everything is padding.
do
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
end

-- A loop over no iterations leaves a point behind the end one that makes a
-- part of nothing.
do
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
end

-- No access is in a region outside of the buffer, wherever it is.
do
  local x = ts.placeholder("x", { 1 })
  local at = ts.placeholder("at", { 8 }, "int32")
  local y = ts.compute("y", { 8 }, function(i)
    return x(ts.cast(at(i), "int64"))
  end)
  local s = ts.schedule(ts.program("main", { x, at }, { y }))
  refused(s, "REGION_MISSES", "annotate_buffer_access", s:get_block("y"), "x",
          function(i) return 1, 2 end)
end

-- A reduction that reaches its init late goes on from what is there before,
-- which a copy must hold, too.
do
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
end

-- What a guard keeps outside of the buffer is never written, in whichever
-- iteration around: nothing of it can be copied back.
do
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
end

-- Inputs that stand in an index with something around them take more values
-- than 0: what limits them is seen to.
do
  local function gather(dtype, index)
    local A = ts.placeholder("A", { 18 })
    local I = ts.placeholder("I", { 4 }, dtype)
    local C = ts.compute("C", { 4 }, function(i)
      return A(ts.cast(index(I(i), i), "int64"))
    end)
    return ts.program("gather", { A, I }, { C })
  end
  local function clamp(hi)
    return function(x) return ts.min(ts.max(x, 0), hi) end
  end
  local pairs_of = {
    { clamp(17), clamp(0) }, { clamp(17), clamp(16) },
    { function(x) return x % 18 end, function(x) return x % 17 end },
    { function(x) return 17 - ts.min(ts.max(x, 0), 17) end,
      function() return 17 end },
    { function(x) return ts.min(x % 4 + 3, 6) end, function() return 3 end },
    { function(x)
        return ts.select(ts.all(ts.le(0, x), ts.lt(x, 18)), x, 0)
      end,
      function(x)
        return ts.select(ts.all(ts.le(0, x), ts.lt(x, 17)), x, 0)
      end },
  }
  for _, dtype in ipairs { "int64", "int32", "uint8" } do
    for k, f in ipairs(pairs_of) do
      local a, b = gather(dtype, f[1]), gather(dtype, f[2])
      assert(ts.equivalent(a, a), k)
      assert(not ts.equivalent(a, b), dtype .. " " .. k)
    end
  end
  -- Parts that are shared many times over are not looked at as often.
  local shared = gather("int64", function(x)
    for k = 1, 60 do x = ts.min(ts.max(x, k % 3), 17 - ts.max(x, 1)) end
    return ts.min(ts.max(x, 0), 17)
  end)
  assert(ts.equivalent(shared, shared))
  -- Where something is stored.
  local function scatter(hi)
    local b = ts.builder("scatter")
    local I, S = b:input("I", { 4 }, "int64"), b:inout("S", { 18 })
    b:loop("i", 0, 4, function(i)
      b:block("w", { { "vi", "opaque", extent = 4, bind = i } }, function(vi)
        local x = ts.min(ts.max(I(vi), 0), hi)
        b:store(S, { x }, S(x) + 1)
      end)
    end)
    return b:program()
  end
  assert(ts.equivalent(scatter(17), scatter(17)))
  assert(not ts.equivalent(scatter(17), scatter(16)))
end

-- A value that a maximum or minimum forgets is seen wherever it stands, and so
-- are the ends of integer types.
do
  local function rows(reduce, dtype, n, lo, extent, across)
    local A = ts.placeholder("A", across and { n, 3 } or { 3, n }, dtype)
    local k = ts.reduce_axis("k", { lo, extent })
    local C = ts.compute("C", { 3 }, function(i)
      return reduce(across and A(k, i) or A(i, k), k)
    end)
    return ts.program("rows", { A }, { C })
  end
  for _, dtype in ipairs { "float32", "int32", "uint8" } do
    for _, reduce in ipairs { ts.reduce_max, ts.reduce_min } do
      for _, n in ipairs { 2, 64, 300 } do
        for _, across in ipairs { false, true } do
          local all = rows(reduce, dtype, n, 0, n, across)
          assert(ts.equivalent(all, rows(reduce, dtype, n, 0, n, across)))
          for _, part in ipairs { { 0, n - 1 }, { 1, n - 1 } } do
            assert(not ts.equivalent(all, rows(reduce, dtype, n, part[1],
                                               part[2], across)))
          end
        end
      end
    end
  end
  -- Each of few is looked at, those in the middle too.
  for left = 0, 15 do
    local function pick(n, f)
      local A = ts.placeholder("A", { n })
      return ts.program("pick", { A }, { ts.compute("C", { 1 }, function()
        return f(A)
      end) })
    end
    local function greatest(without)
      return pick(16, function(A)
        local m = -math.huge
        for k = 0, 15 do if k ~= without then m = ts.max(m, A(k)) end end
        return m
      end)
    end
    assert(not ts.equivalent(greatest(), greatest(left)), left)
  end
  local function ends(dtype, f)
    local A = ts.placeholder("A", { 8 }, dtype)
    return ts.program("ends", { A }, { ts.compute("C", { 8 }, function(i)
      return f(A(i))
    end) })
  end
  for _, dtype in ipairs { "int8", "int32", "int64" } do
    local plain = ends(dtype, function(a) return a end)
    for _, f in ipairs {
      function(a) return ts.select(ts.gt(a + 1, a), a, a - 1) end,
      function(a) return ts.select(ts.ge(ts.abs(a), 0), a, a - 1) end,
    } do
      assert(not ts.equivalent(ends(dtype, f), plain), dtype)
    end
  end
  -- So is what a maximum or minimum starts from, or takes for what is left
  -- out, where all values are beyond it.
  local function from(dtype, combine, start)
    local A = ts.placeholder("A", { 4, 24 }, dtype)
    local k = ts.reduce_axis("k", 24)
    local reducer = ts.reducer(combine, start, "from")
    local C = ts.compute("C", { 4 }, function(i) return reducer(A(i, k), k) end)
    return ts.program("from", { A }, { C })
  end
  for _, o in ipairs {
    { "float32", ts.max, -math.huge, 0, -100 },
    { "float16", ts.min, math.huge, 0, 100 },
    { "int8", ts.max, -128, 0, -100 }, { "int8", ts.min, 127, 0, 100 },
    { "int32", ts.min, math.huge, 0, 100 },
    { "uint8", ts.min, 255, 127, 254 }, { "uint8", ts.max, 0, 1, 64 },
  } do
    local dtype, combine, start = table.unpack(o)
    for k = 4, 5 do
      assert(not ts.equivalent(from(dtype, combine, start),
                               from(dtype, combine, o[k])), dtype .. " " .. k)
    end
  end
  local function masked(other, mean)
    local A, M = ts.placeholder("A", { 4, 16 }),
                 ts.placeholder("M", { 4, 16 }, "bool")
    local k, n = ts.reduce_axis("k", 16), ts.reduce_axis("n", 16)
    local zero, one = ts.const(0, "float32"), ts.const(1, "float32")
    local C = ts.compute("C", { 4 }, function(i)
      return (mean and ts.sum or ts.reduce_max)(
        ts.select(M(i, k), A(i, k), mean and zero or other), k)
    end)
    if not mean then return ts.program("masked", { A, M }, { C }) end
    local N = ts.compute("N", { 4 }, function(i)
      return ts.sum(ts.select(M(i, n), one, zero), n)
    end)
    return ts.program("masked", { A, M }, { ts.compute("D", { 4 }, function(i)
      local d = C(i) / N(i)
      return other and ts.select(ts.gt(N(i), 0), d, other) or d
    end) })
  end
  assert(not ts.equivalent(masked(-math.huge), masked(0)))
  assert(not ts.equivalent(masked(-1, true), masked(nil, true)))
  -- What an index is clamped to, and which rows are left out.
  local function rows_of(index)
    local I, A = ts.placeholder("I", { 6 }, "int32"),
                 ts.placeholder("A", { 500, 2 })
    return ts.program("rows_of", { I, A }, {
      ts.compute("C", { 6, 2 }, function(i, j)
        return index(I(i), function(x) return A(ts.cast(x, "int64"), j) end)
      end) })
  end
  local function all(x, row) return row(x) end
  for _, f in ipairs {
    function(x, row) return ts.select(ts.eq(x, 0), 0, row(x)) end,
    function(x, row) return row(ts.min(x, 498)) end,
  } do
    assert(not ts.equivalent(rows_of(all), rows_of(f)))
  end
  assert(not ts.equivalent(
    rows_of(function(x, row) return row(ts.min(ts.max(x, 0), 499)) end),
    rows_of(function(x, row) return row(ts.min(ts.abs(x), 499)) end)))
  -- Sums of integers that a smaller type does not hold.
  local function sum_in(dtype)
    local A, k = ts.placeholder("A", { 2, 300 }, "uint8"),
                 ts.reduce_axis("k", 300)
    local C = ts.compute("C", { 2 }, function(i)
      return ts.sum(ts.cast(A(i, k), dtype), k)
    end)
    return ts.program("sum_in", { A }, {
      ts.compute("D", { 2 }, function(i) return ts.cast(C(i), "int64") end) })
  end
  assert(not ts.equivalent(sum_in "int32", sum_in "uint16"))
  -- An absolute value is the greater of a value and its negative.
  local function absolute(f)
    local A = ts.placeholder("A", { 8 })
    return ts.program("absolute", { A }, {
      ts.compute("C", { 8 }, function(i) return f(A(i)) end) })
  end
  assert(ts.equivalent(absolute(ts.abs),
                       absolute(function(a) return ts.max(a, -a) end)))
  -- A reduction of bools, or of conditions, that forgets one.
  local any = ts.reducer(function(a, b) return ts.any(a, b) end, 0, "any")
  local all = ts.reducer(function(a, b) return ts.all(a, b) end, 1, "all")
  local function first(n, reduce, dtype, source)
    local A, k = ts.placeholder("A", { 3, 40 }, dtype), ts.reduce_axis("k", n)
    return ts.program("first", { A }, { ts.compute("B", { 3 }, function(i)
      return reduce(source(A(i, k)), k)
    end) })
  end
  local function itself(x) return x end
  local function above_100(x) return ts.gt(x, 100) end
  local function not_0(x) return ts.ne(x, 0) end
  local function one_or_0(x) return ts.select(ts.gt(x, 100), 1, 0) end
  for _, n in ipairs { 2, 5, 16, 40 } do
    for _, way in ipairs {
      { any, "bool", itself }, { all, "bool", itself },
      { ts.reduce_max, "bool", itself }, { ts.reduce_min, "bool", itself },
      { any, "float32", above_100 }, { all, "float32", above_100 },
      { any, "int32", above_100 }, { all, "int8", above_100 },
      { any, "uint8", not_0 }, { any, "float32", not_0 },
      { ts.reduce_max, "float32", one_or_0 },
      { ts.reduce_min, "int32", one_or_0 },
    } do
      assert(not ts.equivalent(first(n, table.unpack(way)),
                               first(n - 1, table.unpack(way))))
    end
  end
  -- Where a threshold is, behind arithmetic.
  local function above(n, arithmetic)
    return function(limit, strict)
      local A = ts.placeholder("A", { n })
      local B = ts.compute("B", { n }, function(i) return arithmetic(A(i)) end)
      return ts.program("above", { A }, {
        ts.compute("C", { n }, function(i)
          local gt = strict and ts.ge or ts.gt
          return ts.select(gt(B(i), limit), A(i), 0)
        end) })
    end
  end
  for _, n in ipairs { 1, 8, 700 } do
    for _, f in ipairs {
      function(a) return a * 0.125 end,
      function(a) return a * 0.3 end,
      function(a) return a / 8 + 3 end,
      function(a) return 100 - 4 * a end,
      function(a) return ts.abs(a) * 0.25 - 90 end,
      function(a) return ts.max(a * 64, 1) end,
      function(a) return a * 100.3 end,
      function(a) return a * a end,
      function(a) return a * a * a - 3 end,
      function(a) return ts.select(ts.lt(a, 1), a, a * 0.0625) end,
    } do
      local program = above(n, f)
      assert(not ts.equivalent(program(4), program(5)))
      assert(ts.equivalent(program(4), program(4)))
    end
    for _, f in ipairs {
      function(a) return a * a end, function(a) return a * a * a * 12 end,
    } do
      local function but(limit)
        local A = ts.placeholder("A", { n })
        return ts.program("but", { A }, {
          ts.compute("C", { n }, function(i)
            return ts.select(ts.eq(f(A(i)), limit), 0, A(i))
          end) })
      end
      assert(not ts.equivalent(but(20736), but(20737)))
    end
    local eighth = above(n, function(a) return a * 0.125 end)
    assert(not ts.equivalent(eighth(4), eighth(4, true)))
  end
  -- Squares of squares, which have more factors than anybody counts.
  do
    local A = ts.placeholder("A", { 4 })
    local squares = ts.program("squares", { A }, {
      ts.compute("B", { 4 }, function(i)
        local e = A(i)
        for _ = 1, 40 do e = e * e end
        return ts.select(ts.gt(e, 5), e, 0)
      end) })
    assert(ts.equivalent(squares, squares))
  end
  -- Parameters of other shapes are others.
  local function doubled(shape)
    local A = ts.placeholder("A", shape)
    return ts.program("doubled", { A }, {
      ts.compute("B", shape, function(...) return A(...) * 2 end) })
  end
  local ok, e = pcall(ts.equivalent, doubled { 4, 16 }, doubled { 16, 4 })
  assert(not ok and e.message:find("another role, type or shape", 1, true))
  -- How far two values lie apart that are compared, and a threshold of many
  -- bits.
  local function apart(dtype, condition)
    local A, B = ts.placeholder("A", { 16 }, dtype),
                 ts.placeholder("B", { 16 }, dtype)
    return ts.program("apart", { A, B }, {
      ts.compute("C", { 16 }, function(i)
        return ts.select(condition(A(i), B(i)), A(i), 0)
      end) })
  end
  for _, dtype in ipairs { "float32", "int32" } do
    for _, f in ipairs {
      function(by) return function(a, b) return ts.lt(a, b + by) end end,
      function(by) return function(a, b) return ts.lt(a + by, b) end end,
      function(by) return function(a, b) return ts.eq(a, b - by) end end,
      function(by) return function(a, b)
        return ts.all(ts.le(b, a), ts.lt(a, b + by))
      end end,
    } do
      for _, other in ipairs { 8, 10, 100, 9000000 } do
        assert(not ts.equivalent(apart(dtype, f(9)), apart(dtype, f(other))))
      end
    end
  end
  for _, c in ipairs { 0.1, 0.3, 1e-5, 3.14159 } do
    assert(not ts.equivalent(
      apart("float32", function(a) return ts.lt(a, c) end),
      apart("float32", function(a) return ts.le(a, c) end)))
  end
  local function sum_above(limit)
    local A, B = ts.placeholder("A", { 64 }), ts.placeholder("B", { 64 })
    local k = ts.reduce_axis("k", 64)
    local S = ts.compute("S", { 1 }, function()
      return ts.sum(A(k) * B(k), k)
    end)
    return ts.program("sum_above", { A, B }, {
      ts.compute("C", { 1 }, function(i)
        return ts.select(ts.gt(S(i), limit), S(i), 0)
      end) })
  end
  assert(not ts.equivalent(sum_above(4), sum_above(5)))
  assert(not ts.equivalent(sum_above(400.5), sum_above(401)))
  -- So an implementation that forgets one is refused.
  local function row(n)
    local b = ts.builder("row")
    local A, C = b:input("A", { 64 }), b:inout("C", { 1 })
    b:loop("k", 0, n, function(k)
      b:block("m", { { "vk", "reduce", extent = 64, bind = k } }, function(vk)
        b:store(C, { 0 }, ts.max(C(0), A(vk)))
      end)
    end)
    return b:program()
  end
  assert(not pcall(ts.tensor_intrin,
                   { name = "row_63", desc = row(64), impl = row(63) }))
  ts.tensor_intrin { name = "row_64", desc = row(64), impl = row(64) }
end
