-- SPDX-License-Identifier: Apache-2.0
-- Equivalence checks on programs that few inputs, or no random ones, tell
-- apart.
local ts = require "tessera"

-- Inputs that are part of an index expression take more values
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

-- A program that reads uninitialized elements differs from one that does
-- not; what it is to do itself has no answer.
do
  local function through(n)
    local b = ts.builder("through")
    local A, C = b:input("A", { 4 }), b:output("C", { 4 })
    local B = b:buffer("B", { 4 })
    b:loop("i", 0, n, function(i)
      b:block("first", { { "vi", "spatial", extent = n, bind = i } },
              function(vi) b:store(B, { vi }, A(vi)) end)
    end)
    b:loop("j", 0, 4, function(j)
      b:block("second", { { "vj", "spatial", extent = 4, bind = j } },
              function(vj) b:store(C, { vj }, B(vj)) end)
    end)
    return b:program()
  end
  local same, why = ts.equivalent(through(4), through(3))
  assert(same == false)
  assert(why:find("in the second program B[3] is read before it is written",
                  1, true), why)
  for _, q in ipairs { through(4), through(3) } do
    local ok, e = pcall(ts.equivalent, through(3), q)
    assert(not ok and e.code == "UNWRITTEN", e)
  end
end
