-- SPDX-License-Identifier: Apache-2.0
-- The expression language: every name, evaluated by the interpreter and by
-- compiled code, against Lua's own arithmetic; reductions, tuples; refusals.
-- (Loops and blocks: builder.lua.)
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local fails = checks.fails

local function near(a, b)
  return a == b or math.abs(a - b) <= 1e-5 * math.max(1, math.abs(b))
end

-- The elements of a tensor of one dimension.
local function list(t)
  local out = {}
  for i = 0, #t - 1 do out[i + 1] = t:get(i) end
  return out
end

-- Computes f over x (and y) in the interpreter and compiled.
local function elementwise(name, f, dtype, x, y)
  local A = ts.placeholder("A", { #x }, dtype)
  local B = ts.placeholder("B", { #x }, dtype)
  local C = ts.compute("C", { #x }, function(i) return f(A(i), B(i)) end)
  local p = ts.program(name, { A, B }, { C })
  assert(p:verify())
  local a = ts.tensor(dtype, { #x }, x)
  local b = ts.tensor(dtype, { #x }, y or x)
  local out = p:params()[3].dtype
  local c, d = ts.tensor(out, { #x }), ts.tensor(out, { #x })
  ts.interpret(p, { a, b, c })
  ts.build(p, "llvm")(a, b, d)
  return list(c), list(d)
end

local function check(name, f, want, dtype, x, y)
  local c, d = elementwise(name, f, dtype or "float32", x, y)
  for i = 1, #x do
    local w = want(x[i], (y or x)[i])
    assert(near(c[i], w), ("%s(%g): the oracle says %g, not %g"):format(name,
           x[i], c[i], w))
    assert(near(d[i], w), ("%s(%g): compiled code says %g, not %g"):format(
           name, x[i], d[i], w))
  end
end

-- The bits of a number as another one.
do
  local A = ts.placeholder("A", { 3 })
  local I = ts.compute("I", { 3 }, function(i)
    return ts.bit_cast(A(i), "int32")
  end)
  local B = ts.compute("B", { 3 }, function(i)
    return ts.bit_cast(I(i) + (1 << 23), "float32")
  end)
  local p = ts.program("bits", { A }, { I, B })
  local a = ts.tensor("float32", { 3 }, { 1, -2, 0.5 })
  for _, run in ipairs { function(...) ts.interpret(p, { ... }) end,
                         ts.build(p) } do
    local bits = ts.tensor("int32", { 3 })
    local b = ts.tensor("float32", { 3 })
    run(a, bits, b)
    assert(bits:get(0) == 0x3f800000 and bits:get(1) == -0x40000000)
    assert(b:get(0) == 2 and b:get(1) == -4 and b:get(2) == 1)
  end
  assert(ts.parse(tostring(p)):hash() == p:hash())
  fails("TYPE", "a bit cast of float32 to int64: they are not numbers of as " ..
        "many bits", ts.bit_cast, A(0), "int64")
  fails("TYPE", "a bit cast of bool to int8", ts.bit_cast, ts.lt(A(0), 1),
        "int8")
end

-- Operators and functions.
do
  local x, y = { 0.5, 1.25, 2, 3 }, { 2, 0.5, 4, 1.5 }
  check("add", function(a, b) return a + b end, function(a, b) return a + b end,
        nil, x, y)
  check("sub", function(a, b) return a - b end, function(a, b) return a - b end,
        nil, x, y)
  check("mul", function(a, b) return a * b end, function(a, b) return a * b end,
        nil, x, y)
  check("div", function(a, b) return a / b end, function(a, b) return a / b end,
        nil, x, y)
  check("hat", function(a, b) return a ^ b end, function(a, b) return a ^ b end,
        nil, x, y)
  check("pow", ts.pow, function(a, b) return a ^ b end, nil, x, y)
  check("neg", function(a) return -a end, function(a) return -a end, nil, x)
  check("numbers", function(a) return 2 * a + 1 - a / 4 end,
        function(a) return 2 * a + 1 - a / 4 end, nil, x)
  check("min", ts.min, math.min, nil, x, y)
  check("max", ts.max, math.max, nil, x, y)
  check("abs", ts.abs, math.abs, nil, { -1.5, 0, 2 })
  check("exp", ts.exp, math.exp, nil, x)
  check("log", ts.log, function(a) return math.log(a) end, nil, x)
  check("sqrt", ts.sqrt, math.sqrt, nil, x)
  check("rsqrt", ts.rsqrt, function(a) return 1 / math.sqrt(a) end, nil, x)
  check("tanh", ts.tanh, function(a)
    return (math.exp(a) - math.exp(-a)) / (math.exp(a) + math.exp(-a))
  end, nil, x)
  check("sigmoid", ts.sigmoid, function(a) return 1 / (1 + math.exp(-a)) end,
        nil, x)
  local exp, ln = math.exp, math.log
  check("sinh", ts.sinh, function(a) return (exp(a) - exp(-a)) / 2 end, nil, x)
  check("cosh", ts.cosh, function(a) return (exp(a) + exp(-a)) / 2 end, nil, x)
  check("asinh", ts.asinh, function(a) return ln(a + (a * a + 1) ^ 0.5) end,
        nil, x)
  local part = { -0.5, 0.25, 0.75 }
  check("asin", ts.asin, math.asin, nil, part)
  check("acos", ts.acos, math.acos, nil, part)
  check("atanh", ts.atanh, function(a) return ln((1 + a) / (1 - a)) / 2 end,
        nil, part)
  check("acosh", ts.acosh, function(a) return ln(a + (a * a - 1) ^ 0.5) end,
        nil, { 1.25, 2, 3 })
  check("expm1", ts.expm1, function(a) return a + a * a / 2 + a ^ 3 / 6 end,
        nil, { 1e-8, -1e-3, 1e-20 })
  check("log1p", ts.log1p, function(a) return a - a * a / 2 + a ^ 3 / 3 end,
        nil, { 1e-8, -1e-3, 1e-20 })
  local erf = { [0.5] = 0.5204998778, [1.25] = 0.9229001283,
                [2] = 0.9953222650, [3] = 0.9999779095 }
  check("erf", ts.erf, function(a) return erf[a] end, nil, x)
  check("erfc", ts.erfc, function(a) return 1 - erf[a] end, nil, x)
  local z = { -1.5, -0.25, 0.75, 2.5 }
  check("floor", ts.floor, math.floor, nil, z)
  check("ceil", ts.ceil, math.ceil, nil, z)
  local round = { [-1.5] = -2, [-0.25] = 0, [0.75] = 1, [2.5] = 2 }
  check("round", ts.round, function(a) return round[a] end, nil, z)
end

-- Integers: floor division and modulo, by Lua's own rule; zero gives zero.
do
  local x, y = { 7, -7, 7, -7, 5 }, { 2, 2, -2, -2, 0 }
  check("idiv", function(a, b) return a // b end,
        function(a, b) return b == 0 and 0 or a // b end, "int32", x, y)
  check("mod", function(a, b) return a % b end,
        function(a, b) return b == 0 and 0 or a % b end, "int32", x, y)
end

-- Sine, cosine, clamping; bits, also by Lua's operators.  Shifts by other than
-- 0 .. bits - 1 give 0, or the sign.
do
  local x = { -1e5, -0.5, 0, 2, 1e9 }
  check("sin", ts.sin, math.sin, nil, x)
  check("cos", ts.cos, math.cos, nil, x)
  check("tan", ts.tan, math.tan, nil, x)
  check("atan", ts.atan, function(a) return math.atan(a) end, nil, x)
  check("clamp", function(a) return ts.clamp(a, -1, 2) end, function(a)
    return math.max(-1, math.min(2, a))
  end, nil, x)
  local a, b = { 7, -7, 100, -128, -1, 64 }, { 1, 2, 7, 8, -1, 0 }
  local function wrap(v) return (v + 128) % 256 - 128 end
  local function shl(v, n) return n >= 0 and n < 8 and wrap(v << n) or 0 end
  local function shr(v, n)
    return n >= 0 and n < 8 and v // (1 << n) or (v < 0 and -1 or 0)
  end
  check("shl", ts.shl, shl, "int8", a, b)
  check("shr", ts.shr, shr, "int8", a, b)
  check("operators", function(v, n)
    return (v << n) + (v >> n) * 3 - ((v & n) ~ (v | n)) + ~v
  end, function(v, n)
    return wrap(shl(v, n) + shr(v, n) * 3 - ((v & n) ~ (v | n)) + ~v)
  end, "int8", a, b)
  for _, f in ipairs { "and", "or", "xor" } do
    check("bit" .. f, ts["bit" .. f], load("return function(v, n) return v " ..
          ({ ["and"] = "&", ["or"] = "|", xor = "~" })[f] .. " n end")(),
          "int8", a, b)
  end
  check("bitnot", ts.bitnot, function(v) return ~v end, "int8", a)
  check("unsigned", function(v) return ts.shr(~v, 1) end,
        function(v) return (255 - v) >> 1 end, "uint8", { 0, 255, 77 })
  local A = ts.placeholder("A", { 4 })
  for _, f in ipairs { "shl", "shr", "bitand", "bitor", "bitxor" } do
    fails("TYPE", f .. " does not work on float32 (cast it)", ts.compute, "B",
          { 4 }, function(i) return ts[f](A(i), 1) end)
  end
end

-- Comparisons, logic, select, cast, const.
do
  local x, y = { 1, 2, 3, 4 }, { 2, 2, 2, 5 }
  local function flag(c) return c and 1 or 0 end
  local function as_number(cond)
    return function(a, b)
      return ts.select(cond(a, b), ts.const(1, "float32"), 0)
    end
  end
  local cases = {
    lt = { ts.lt, function(a, b) return a < b end },
    le = { ts.le, function(a, b) return a <= b end },
    gt = { ts.gt, function(a, b) return a > b end },
    ge = { ts.ge, function(a, b) return a >= b end },
    eq = { ts.eq, function(a, b) return a == b end },
    ne = { ts.ne, function(a, b) return a ~= b end },
    all = { function(a, b)
              return ts.all(ts.gt(a, 1), ts.gt(b, 2), ts.ge(a, 1))
            end,
            function(a, b) return a > 1 and b > 2 end },
    any = { function(a, b)
              return ts.any(ts.gt(a, 3), ts.gt(b, 2), ts.eq(a, 1))
            end,
            function(a, b) return a > 3 or b > 2 or a == 1 end },
    land = { function(a, b) return ts.land(ts.gt(a, 1), ts.gt(b, 2)) end,
             function(a, b) return a > 1 and b > 2 end },
    lor = { function(a, b) return ts.lor(ts.gt(a, 3), ts.gt(b, 2)) end,
            function(a, b) return a > 3 or b > 2 end },
    lnot = { function(a) return ts.lnot(ts.gt(a, 2)) end,
             function(a) return not (a > 2) end },
  }
  for name, case in pairs(cases) do
    check(name, as_number(case[1]),
          function(a, b) return flag(case[2](a, b)) end,
          nil, x, y)
  end
  check("cast", function(a) return ts.cast(a, "int32") end,
        function(a) return math.floor(a) end, nil, { 1.5, 2.75, 3.25 })
end

-- Data types; one that is left out is float32.
for _, dtype in ipairs { "float16", "bfloat16", "float32", "float64", "int8",
                         "int16", "int32", "int64", "uint8" } do
  check(dtype, function(a, b) return a + b end, function(a, b) return a + b end,
        dtype, { 1, 2, 3 }, { 4, 5, 6 })
end
do
  local A = ts.placeholder("A", { 2 })
  local C = ts.compute("C", { 2 }, function(i) return A(i) end)
  assert(ts.program("p", { A }, { C }):params()[1].dtype == "float32")
end

-- Reductions over one axis, over a list, over one that starts elsewhere.
do
  local x = ts.tensor("float32", { { 1, 2, 3 }, { 4, 5, 6 } })
  local function reduced(f)
    local A = ts.placeholder("A", { 2, 3 })
    local C = ts.compute("C", { 1 }, function() return f(A) end)
    local p = ts.program("reduced", { A }, { C })
    local c, d = ts.tensor("float32", { 1 }), ts.tensor("float32", { 1 })
    ts.interpret(p, { x, c })
    ts.build(p)(x, d)
    assert(c:get(0) == d:get(0))
    return c:get(0)
  end
  local function over(reduce)
    return reduced(function(A)
      local i, j = ts.reduce_axis("ri", 2), ts.reduce_axis("rj", 3)
      return reduce(A(i, j), { i, j })
    end)
  end
  assert(over(ts.sum) == 21 and over(ts.prod) == 720)
  assert(over(ts.reduce_max) == 6 and over(ts.reduce_min) == 1)
  assert(reduced(function(A)
    local j = ts.reduce_axis("rj", { 1, 2 })
    return ts.sum(A(1, j), j)
  end) == 11)
  local hypot = ts.reducer(function(a, b) return ts.sqrt(a * a + b * b) end, 0)
  assert(near(reduced(function(A)
    local j = ts.reduce_axis("rj", 3)
    return hypot(A(0, j), j)
  end), math.sqrt(14)))
end

-- A tuple reduction with two outputs: the greatest and where it stands.
do
  local N, K = 4, 9
  local A = ts.placeholder("A", { N, K })
  local k = ts.reduce_axis("k", K)
  local arg_max = ts.reducer(function(at, best, new_at, new)
    return ts.select(ts.ge(best, new), at, new_at), ts.max(best, new)
  end, { -1, -math.huge }, "arg_max")
  local at, best = ts.compute("M", { N }, function(i)
    return arg_max(ts.cast(k, "int64"), A(i, k), k)
  end)
  local p = ts.program("arg_max", { A }, { at, best })
  local a = ts.tensor("float32", { N, K }, "random", 3)
  local i1, v1 = ts.tensor("int64", { N }), ts.tensor("float32", { N })
  local i2, v2 = ts.tensor("int64", { N }), ts.tensor("float32", { N })
  ts.interpret(p, { a, i1, v1 })
  ts.build(p)(a, i2, v2)
  for n = 0, N - 1 do
    local where, top = -1, -math.huge
    for c = 0, K - 1 do
      if a:get(n, c) > top then where, top = c, a:get(n, c) end
    end
    assert(i1:get(n) == where and v1:get(n) == top)
    assert(i2:get(n) == where and v2:get(n) == top)
  end
end

-- Integers wrap, unsigned ones too, so each has a negative; a constant is a
-- value of its type.
do
  for dtype, want in pairs { uint8 = 251, uint16 = 65531, int8 = -5,
                             uint32 = (1 << 32) - 5, uint64 = -5 } do
    local A = ts.placeholder("A", { 1 }, dtype)
    local N = ts.compute("N", { 1 }, function(i) return -A(i) end)
    local p = ts.program("negative", { A }, { N })
    local a, n = ts.tensor(dtype, { 1 }, { 5 }), ts.tensor(dtype, { 1 })
    ts.interpret(p, { a, n })
    assert(n:get(0) == want, dtype)
    n = ts.tensor(dtype, { 1 })
    ts.build(p)(a, n)
    assert(n:get(0) == want, dtype)
  end
  local B = ts.placeholder("B", { 1 }, "bool")
  fails(nil, "'-' does not work on bool", function() return -B(0) end)
  for _, c in ipairs { { 300, "int8" }, { -129, "int8" }, { -1, "uint8" },
                       { 256, "uint8" }, { 1 << 31, "int32" }, { 2, "bool" },
                       { 1 << 32, "uint32" } } do
    fails("TYPE", ("a constant is %d, which is not a value of %s"):format(
            c[1], c[2]), ts.const, c[1], c[2])
  end
  for _, c in ipairs { { 127, "int8" }, { -128, "int8" }, { 255, "uint8" },
                       { math.mininteger, "int64" }, { -1, "uint64" },
                       { 1, "bool" } } do
    assert(ts.const(c[1], c[2]))
  end
end

-- Integers of 64 bits are exact all the way.
do
  local odd = (1 << 53) + 1
  local values = { odd, -odd, math.maxinteger, math.mininteger, -1, 0 }
  local unsigned = { uint642 = "18437736874454810623",
                     uint644 = "9223372036854775808",
                     uint645 = "18446744073709551615" }
  for _, dtype in ipairs { "int64", "uint64" } do
    local t = ts.tensor(dtype, { 6 }, values)
    local u = ts.tensor(dtype, { 6 })
    local path = os.tmpname()
    for i, v in ipairs(values) do u:set(i - 1, v) end
    t:save(path .. ".npy")
    local w = ts.tensor(path .. ".npy")
    os.remove(path)
    os.remove(path .. ".npy")
    for i, v in ipairs(values) do
      assert(t:get(i - 1) == v and u:get(i - 1) == v and w:get(i - 1) == v)
      local text = v < 0 and unsigned[dtype .. i] or tostring(v)
      assert(tostring(t):find(text, 1, true), tostring(t))
    end
    assert(t:compare(u) == 0)
    u:set(0, odd - 1)
    assert(t:compare(u) == 1)
    u:set(0, odd + 1)
    assert(t:compare(u) == 1)
  end
  local real = ts.tensor("float32", { 1 }, { odd })
  assert(real:get(0) == 2.0 ^ 53)
  -- As many indices as dimensions.
  local m = ts.tensor("int8", { 2, 3 })
  for _, f in ipairs { function() return m:get(1, 1, 1) end,
                       function() return m:get(1) end,
                       function() return m:get() end,
                       function() return m:set(1, 1, 1, 5) end,
                       function() return m:set(1, 5) end } do
    local ok, e = pcall(f)
    assert(not ok and tostring(e):find("the tensor has 2 dimensions but is " ..
                                       "indexed by %d"), tostring(e))
  end
  assert(not pcall(m.set, m, 1, 1, "x") and not pcall(m.get, m, 1, 1.5))
  local deep = ts.tensor("int8", { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 })
  deep:set(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7)
  assert(deep:get(0, 0, 0, 0, 0, 0, 0, 0, 0, 0) == 7)
end
