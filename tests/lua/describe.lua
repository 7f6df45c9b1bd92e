-- SPDX-License-Identifier: Apache-2.0
-- Describing: every name of the language of expressions, computed by the
-- oracle and by compiled code, against Lua's own arithmetic; reductions,
-- tuples, imperative blocks; and what is refused.
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

-- Computes f over x (and y) by the oracle and by compiled code.
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
  local erf = { [0.5] = 0.5204998778, [1.25] = 0.9229001283,
                [2] = 0.9953222650, [3] = 0.9999779095 }
  check("erf", ts.erf, function(a) return erf[a] end, nil, x)
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

-- In place, triangular and ordered: the Cholesky factor of A, by columns.
do
  local N = 6
  local b = ts.builder("cholesky")
  local A = b:inout("A", { N, N }, "float64")
  local once = { lo = 0, extent = N }
  local function iter(name, bind)
    return { name, "opaque", lo = once.lo, extent = once.extent, bind = bind }
  end
  b:loop("j", 0, N, function(j)
    b:loop("k", 0, j, function(k)
      b:loop("i", j, N - j, function(i)
        b:block("update", { iter("vi", i), iter("vj", j), iter("vk", k) },
                function(vi, vj, vk)
          b:store(A, { vi, vj }, A(vi, vj) - A(vi, vk) * A(vj, vk))
        end)
      end)
    end)
    b:block("root_of", { iter("vj", j) }, function(vj)
      b:store(A, { vj, vj }, ts.sqrt(A(vj, vj)))
    end)
    b:loop("i", j + 1, N - j - 1, function(i)
      b:block("scale", { iter("vi", i), iter("vj", j) }, function(vi, vj)
        b:store(A, { vi, vj }, A(vi, vj) / A(vj, vj))
      end)
    end)
  end)
  local p = b:program()
  assert(p:verify())
  -- A = L * L^T with a known L.
  local L, rows = {}, {}
  for i = 1, N do
    L[i] = {}
    for j = 1, N do L[i][j] = i > j and 1 / (i + j) or i == j and i or 0 end
  end
  for i = 1, N do
    rows[i] = {}
    for j = 1, N do
      local sum = 0
      for k = 1, N do sum = sum + L[i][k] * L[j][k] end
      rows[i][j] = sum
    end
  end
  for _, run in ipairs { function(t) ts.interpret(p, { t }) end,
                         function(t) ts.build(p)(t) end } do
    local t = ts.tensor("float64", rows)
    run(t)
    for i = 1, N do
      for j = 1, i do assert(near(t:get(i - 1, j - 1), L[i][j])) end
    end
  end
  -- It is scheduled like any other: what is independent may run in parallel,
  -- and what is not is refused.
  local sch = ts.schedule(p)
  local j = sch:get_loops(sch:get_block("root_of"))
  checks.refused(sch, "ITER_NOT_SPATIAL", "parallel", j)
end

-- The rest of the builder: outputs, local buffers, let, when, init.
do
  local N = 8
  local b = ts.builder("pieces")
  local A, S = b:input("A", { N }), b:output("S", { 1 })
  local T = b:buffer("T", { N }, "float32")
  b:loop("i", 0, N, function(i)
    b:block("twice", { { "vi", extent = N, bind = i } }, function(vi)
      b:let("x", A(vi) * 2, function(x)
        b:when(ts.lt(vi, 4), function() b:store(T, { vi }, x) end,
               function() b:store(T, { vi }, -x) end)
      end)
    end)
  end)
  b:loop("k", 0, N, function(k)
    b:block("total", { { "vk", "reduce", extent = N, bind = k } }, function(vk)
      b:init(function() b:store(S, { 0 }, 0) end)
      b:store(S, { 0 }, S(0) + T(vk))
    end)
  end)
  local p = b:program()
  assert(p:verify())
  local a = ts.tensor("float32", { N }, { 1, 2, 3, 4, 5, 6, 7, 8 })
  local s, u = ts.tensor("float32", { 1 }), ts.tensor("float32", { 1 })
  ts.interpret(p, { a, s })
  ts.build(p)(a, u)
  assert(s:get(0) == 2 * (10 - 26) and u:get(0) == s:get(0))
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

-- Programs say what they are.
do
  local ops = require "tessera.ops"
  local p = ops.matmul { m = 4, n = 5, k = 6 }
  local q = ops.matmul { m = 4, n = 5, k = 6 }
  assert(p:flops() == 2 * 4 * 5 * 6)
  assert(p:hash() == q:hash() and p:equal(q) and p:verify())
  assert(p:hash() ~= ops.matmul { m = 5, n = 5, k = 6 }:hash())
  assert(p:name() == "matmul" and tostring(p):find("block C", 1, true))
  local d = p:params()[2]
  assert(d.name == "B" and d.role == "input" and d.shape[1] == 6 and
         d.shape[2] == 5)
  local path = os.tmpname()
  p:save(path)
  assert(ts.load_program(path):equal(p))
  os.remove(path)
  assert(ops.matmul { m = 4, n = 4, k = 4, bias = true, relu = true }:verify())
  assert(ops.conv2d_nhwc { n = 1, h = 6, w = 6, ci = 2, co = 3, k = 3,
                           pad = 1 }:verify())
end

-- What is wrong is an error with a code, and names the line that is wrong.
do
  local A = ts.placeholder("A", { 4 })
  fails("TYPE", "compare", function() return A(0) < 1 end)
  fails("TYPE", "float33", ts.placeholder, "X", { 4 }, "float33")
  fails("TYPE", "an expression or a number is expected, not string",
        ts.placeholder, "X", { "x" })
  fails("TYPE", "must be a table, not number", ts.placeholder, "X", 7)
  fails("TYPE", "the name must be a string, not table", ts.placeholder, {})
  fails("TYPE", "a data type must be a string", ts.placeholder, "X", { 4 }, 7)
  fails("TYPE", "is expected, not string", ts.compute, "C", { 4 },
        function() return "x" end)
  fails("TYPE", "is expected, not table", ts.exp, {})
  fails("TYPE", "a list of parameters must be a table", ts.program, "p", A, A)
  fails("TYPE", "an element must be a number, not string", ts.tensor,
        "float32", { 1 }, { "x" })
  local e = fails("INVALID", "index", function() return A(0, 0) end)
  assert(tostring(e):find("describe.lua:%d+: ") and
         tostring(e):find("tests/lua", 1, true), tostring(e))
  local matmul = require "tessera.ops".matmul
  e = fails("INVALID", "ops.matmul: 'm' is the number 0, not an integer " ..
            "from 1 on", function() matmul { m = 0, n = 1, k = 1 } end)
  assert(e.message and e.place:find("describe.lua:", 1, true), e.place)
  fails("INVALID", "ops.matmul takes one table, not a nil", matmul)
  fails("INVALID", "ops.matmul: 'n' is missing, not an integer", matmul,
        { m = 1, k = 1 })
  fails("INVALID", "'bias' is the number 1, not a boolean", matmul,
        { m = 1, n = 1, k = 1, bias = 1 })
  fails("INVALID", "unknown option 'bais' of ops.matmul, which has m, n, k, " ..
        "dtype, bias, relu", matmul, { m = 1, bais = true })
  local conv = require "tessera.ops".conv2d_nhwc
  local function window(stride, pad)
    return { n = 1, h = 2, w = 2, ci = 1, co = 1, k = 3, stride = stride,
             pad = pad }
  end
  fails("INVALID", "the window is larger than the padded input", conv, window())
  fails("INVALID", "'stride' is the number 0, not an integer from 1", conv,
        window(0))
  fails("INVALID", '\'stride\' is "1", not an integer', conv, window("1"))
  fails("INVALID", "'pad' is the number -1, not an integer from 0", conv,
        window(1, -1))
  assert(conv(window(2, 1)):verify())
  local tensor = require "tessera.tensor"
  fails("INVALID", "there is no intrinsic 'none'", tensor.wmma, "none")
  fails("INVALID", "tensor.mma takes one table, not a nil", tensor.mma)
  fails("INVALID", "'n' is missing, not an integer", tensor.mma, { k = 4 })
  fails("INVALID", "'m' is the number 0, not an integer", tensor.mma,
        { m = 0, n = 4, k = 4 })
  fails("INVALID", "unknown option 'dtpye' of tensor.mma", tensor.mma,
        { n = 4, k = 4, dtpye = "int8" })
  fails("INVALID", "there is no default space for target 'cuda'",
        ts.space.default, "cuda -mcpu=sm_80")
  local p = matmul { m = 2, n = 2, k = 2 }
  fails("TYPE", "a program is expected, not a schedule", ts.schedule,
        ts.schedule(p))
  fails("TYPE", "a target is expected, not a number", ts.schedule, p,
        { target = 7 })
end

-- A builder that is used wrongly says so, and can be used on.
do
  local function fill(b, name, value)
    local y = b:output(name, { 4 }, "int32")
    b:loop("i", 0, 4, function(i)
      b:block(name, { { "v", extent = 4, bind = i } }, function(v)
        b:store(y, { v }, value)
      end)
    end)
    return y
  end
  local outer, inner = ts.builder("outer"), ts.builder("inner")
  local both = "builder 'inner' is used inside of a statement of builder " ..
               "'outer', which is open"
  local y = inner:output("y", { 4 }, "int32")
  for _, use in ipairs {
    function() fill(inner, "z", 1) end,
    function() inner:loop("i", 0, 4, function() end) end,
    function() inner:store(y, { 0 }, 1) end,
    function() inner:program() end,
  } do
    fails(nil, both, outer.loop, outer, "i", 0, 4, use)
  end
  fails(nil, "compute 'c' is described inside of loop 'i', which is open",
        outer.loop, outer, "i", 0, 4, function()
          ts.compute("c", { 4 }, function(k) return k end)
        end)
  fails(nil, "loop 'i' is still open", outer.loop, outer, "i", 0, 4,
        function() outer:program() end)

  -- What describes cannot yield, and so not stop in the middle.
  local x = ts.placeholder("x", { 4 })
  local function stops(describe)
    local co = coroutine.create(describe)
    local ok, e = coroutine.resume(co)
    assert(not ok and tostring(e):find("attempt to yield", 1, true),
           tostring(e))
    assert(not coroutine.close(co))
  end
  local yield = coroutine.yield
  stops(function() ts.compute("C", { 4 }, yield) end)
  stops(function() outer:loop("i", 0, 4, yield) end)
  stops(function() outer:let("l", 1, yield) end)
  stops(function() outer:when(true, yield) end)
  stops(function()
    outer:when(true, function() end, yield)
  end)
  stops(function()
    outer:block("b", { { "v", extent = 4, bind = 0 } }, yield)
  end)
  stops(function()
    outer:block("b", { { "v", "reduce", extent = 4, bind = 0 } },
                function() outer:init(yield) end)
  end)
  stops(function()
    local k = ts.reduce_axis("k", 4)
    ts.compute("C", { 1 }, function()
      return ts.reducer(yield, 0)(x(k), k)
    end)
  end)
  assert(ts.program("p", { x }, { ts.compute("C", { 4 }, function(i)
    -- A coroutine of its own is its affair.
    local each = coroutine.wrap(function() yield(x(i)) yield(1) end)
    return each() + each()
  end) }):verify())
  inner = ts.builder("inner")
  fill(inner, "z", 1)
  assert(inner:program():verify())

  local b = ts.builder("b")
  local x = b:input("x", { 4, 4 }, "int32")
  local nothing = function() end
  fails(nil, "input 'x' cannot be stored to", b.store, b, x, { 0, 0 }, 1)
  fails(nil, "buffer 'x' has 2 dimensions but is indexed by 1", x, 0)
  fails(nil, "a buffer is expected, not number", b.store, b, 5, { 0 }, 1)
  fails(nil, "is of kind 'red'; it must be spatial, reduce or opaque", b.block,
        b, "s", { { "v", "red", extent = 4, bind = 0 } }, nothing)
  fails(nil, "iteration 1 of block 's' must be a table", b.block, b, "s",
        { "v" }, nothing)
  fails(nil, "block 's' needs a list of its iterations", b.block, b, "s", nil,
        nothing)
  fails(nil, "block 's' needs a function", b.block, b, "s", {})
  fails(nil, "loop 'i' needs a function", b.loop, b, "i", 0, nothing)
  fails(nil, "an if needs a function", b.when, b, true)
  fails(nil, "called with a colon", b.loop, "i", 0, 4, nothing)
  fails(nil, "the name of a builder must be a string, not nil", ts.builder)
  fails(nil, "the body of compute 'c' must be a function", ts.compute, "c",
        { 4 })
  fails(nil, "the shape of compute 'c' must be a list", ts.compute, "c", 4,
        nothing)
  local kept
  b:loop("i", 0, 4, function(i) kept = i end)
  fails(nil, "variable 'i' is not known in the extent of 'j'", b.loop, b, "j",
        0, kept, nothing)
  local function deep(n)
    b:loop("i", 0, 1, function() if n > 0 then deep(n - 1) end end)
  end
  fails(nil, "statements nest deeper than 256", deep, 300)

  -- Extents that are none, or too large to be counted.
  local half = 1 << 30
  for _, case in ipairs {
    { 4.5, "is 4.5, which is not a value of int64" },
    { 4.0, "is 4.0, a real number" },
    { -1, "is -1; it must be at least 1" },
    { 0, "is 0; it must be at least 1" },
    { 1 / 0, "is inf, which is not" },
  } do
    fails(nil, case[2], ts.placeholder, "x", { case[1] })
  end
  fails(nil, "has 2^60 elements or more", ts.placeholder, "x", { half, half })
  fails(nil, "has 2^60 elements or more", ts.placeholder, "x",
        { math.maxinteger, math.maxinteger })
  fails(nil, "has 2^60 elements or more", ts.compute, "x", { half, half },
        function(i) return i end)
  assert(ts.placeholder("x", { half, half - 1 }))

  -- A buffer is filled by the builder that made it.
  for _, make in ipairs { b.inout, b.output, b.buffer } do
    local theirs = make(b, "theirs", { 4 }, "int32")
    fails(nil,
          "is a buffer of builder 'b', and builder 'inner' cannot store to it",
          inner.store, inner, theirs, { 0 }, 1)
  end
  b = ts.builder("b")
  assert(fill(b, "y", 2) and b:program():verify())
end

-- The values of a block's variables are proven to lie in their domains, from
-- the loops, conditions and predicates around; what is not is refused.
do
  local n = ts.size "n"
  -- One block whose variable has the domain [lo, lo + extent).
  local function program(o)
    local b = ts.builder "bound"
    local N = b:input("N", { 2 }, "int64")
    local A = b:output("A", { o.sized and n or 8 })
    if o.sized then b:input("S", { n }) end
    local function block(i, j)
      local v = { "v", lo = o.lo, extent = o.extent, bind = o.bind(i, j, N) }
      b:block("o", { v },
              { where = o.where and o.where(i, j, N) }, function(v)
        b:store(A, { v }, 1)
      end)
    end
    b:loop("i", o.from or 0, o.to, function(i)
      b:loop("j", 0, o.inner and o.inner(i, N) or 1, function(j)
        if o.when then
          b:when(o.when(i, j), function() block(i, j) end,
                 o.other and function() block(i, j) end)
        else
          block(i, j)
        end
      end)
    end)
    return b:program()
  end
  local function first(i) return i end
  local function second(_, j) return j end
  local function sum(i, j) return i + j end
  for k, o in ipairs {
    { to = 8, extent = 8, bind = first },
    { to = 4, extent = 8, bind = first },
    { to = 4, from = 4, lo = 4, extent = 4, bind = first },
    { to = 8, extent = 4, bind = function(i) return i // 2 end },
    { to = 100, extent = 8, bind = first,
      where = function(i) return ts.lt(i, 8) end },
    { to = 100, extent = 8, bind = first,
      when = function(i) return ts.lt(i, 8) end },
    { to = 12, extent = 8, bind = function(i) return i - 4 end,
      where = function(i) return ts.all(ts.ge(i, 4), ts.lt(i, 12)) end },
    { to = 3, inner = function() return 3 end, extent = 8,
      bind = function(i, j) return i * 3 + j end,
      where = function(i, j) return ts.lt(i * 3 + j, 8) end },
    { to = 8, inner = function(i) return 8 - i end, extent = 8, bind = sum },
    { to = 8, inner = function(i) return i end, extent = 8, bind = second },
    { to = 4, inner = function(_, N) return N(0) end, extent = 8, bind = sum,
      where = function(i, j) return ts.lt(i + j, 8) end },
    { sized = true, to = n, extent = n, bind = first },
    { sized = true, to = n, inner = function(i) return n - i - 1 end,
      extent = n, bind = function(i, j) return i + j + 1 end },
    { sized = true, to = n, inner = function(i) return i + 1 end, extent = n,
      bind = second },
  } do
    local ok, p = pcall(program, o)
    assert(ok, ("case %d: %s"):format(k, tostring(p)))
    assert(p:verify())
  end
  for _, o in ipairs {
    { "the value of 'v' of block 'o', `i`, which is in [0, 7], is not " ..
      "proven to lie in its domain [0, 4)", to = 8, extent = 4, bind = first },
    { "`i * 2`, which is in [0, 14]", to = 8, extent = 8,
      bind = function(i) return i * 2 end },
    { "`i - 4`, which is in [-4, 3]", to = 8, extent = 8,
      bind = function(i) return i - 4 end },
    { "its domain [4, 8)", to = 4, lo = 4, extent = 4, bind = first },
    { "not proven", to = 8, extent = 4, bind = first,
      where = function(i) return ts.lt(i, 5) end },
    { "not proven", to = 8, extent = 4, bind = first, other = true,
      when = function(i) return ts.lt(i, 4) end },
    { "not proven", to = 8, extent = 4, bind = first,
      where = function(_, _, N) return ts.lt(N(0), 4) end },
    { "`j`, is not proven", to = 4, inner = function(_, N) return N(0) end,
      extent = 8, bind = second },
    { "its domain [0, n)", sized = true, to = n, extent = n, bind = sum,
      inner = function(i) return i + 1 end },
    { "the value of 'v' of block 'o' reads buffer 'N'", to = 8, extent = 8,
      bind = function(_, _, N) return N(0) end },
  } do
    fails("INVALID", o[1], program, o)
  end
  local b = ts.builder "late"
  local N = b:input("N", { 1 }, "int64")
  fails(nil, "the extent of 'v' of block 'o' reads buffer 'N'", b.block, b, "o",
        { { "v", extent = N(0), bind = 0 } }, function() end)
end

-- A call for what it does stays, whatever it is near, and is made as often.
do
  local function program(times)
    local b = ts.builder("effects")
    local A, B = b:input("A", { 4 }), b:output("B", { 4 })
    local unused = b:buffer("unused", { 4 })
    b:evaluate(ts.call_extern("begin", "int32"))
    b:loop("i", 0, 4, function(i)
      b:block("tells", { { "vi", "opaque", extent = 4, bind = i } },
        function(v) b:evaluate(ts.call_extern("note", "int32", v)) end)
    end)
    b:loop("i", 0, 4, function(i)
      b:loop("r", 0, times, function(r)
        b:block("both", { { "vi", extent = 4, bind = i } }, function(v)
          b:evaluate(ts.call_extern("note", "int32", A(v)))
          b:store(unused, { v }, A(v))
        end)
      end)
    end)
    b:loop("i", 0, 4, function(i)
      b:block("B", { { "vi", extent = 4, bind = i } }, function(v)
        b:store(B, { v }, A(v))
      end)
    end)
    return b:program()
  end
  local p = program(2)
  local text = tostring(p)
  for _, what in ipairs { "block tells", "block both", 'extern "begin"' } do
    assert(text:find(what, 1, true), text)
  end
  local s = ts.schedule(p)
  s:split(s:get_loops(s:get_block "both"), { 2, 2 })
  s:vectorize((s:get_loops(s:get_block "B")))
  assert(ts.equivalent(s, p))
  local ok, why = ts.equivalent(p, program(3))
  assert(not ok and tostring(why):find "another number of times", why)
end
