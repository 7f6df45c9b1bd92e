-- SPDX-License-Identifier: Apache-2.0
-- Edge cases of numbers: symbolic sizes, constants that fit no type, arithmetic
-- on sampled values.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local fails = checks.fails

-- Sizes: nothing is counted or tuned that depends on them, and they are 1 at
-- least, interpreted or compiled.
do
  local n = ts.size "n"
  local A = ts.placeholder("A", { 3, n })
  local k = ts.reduce_axis("k", n)
  local p = ts.program("sums", { A }, {
    ts.compute("B", { 3 }, function(i) return ts.sum(A(i, k), k) end) })
  assert(p:flops() == nil)
  fails("UNSUPPORTED", "size 'n'", ts.tune, p, { trials = 1 })
  local a = ts.tensor("float32", { 3, 0 })
  local b = ts.tensor("float32", { 3 }, { 7, 8, 9 })
  fails("INVALID", "size 'n'", ts.interpret, p, { a, b })
  fails("INVALID", "size 'n'", ts.build(p), a, b)
  assert(b:get(0) == 7)
end

-- Constants: infinity is a float, what would become it is not.
do
  fails("TYPE", "1e+300", ts.const, 1e300, "float32")
  fails("TYPE", "70000", ts.const, 70000, "float16")
  ts.const(math.huge, "float16")
  ts.const(65504, "float16")
  ts.const(1e300, "float64")
  local A = ts.placeholder("A", { 4 })
  fails("TYPE", "1e+300", function() return A(0) * 1e300 end)
end

-- What is counted: a value that is used several times is computed once, and
-- a choice costs its dearer side, beside what both need.
do
  local function flops(f)
    local A = ts.placeholder("A", { 8 })
    return ts.program("p", { A }, {
      ts.compute("B", { 8 }, function(i) return f(A(i)) end) }):flops() / 8
  end
  local function grow(x, n)
    for _ = 1, n do x = x * x + x end
    return x
  end
  assert(flops(function(x) return grow(x, 10) end) == 20)
  assert(flops(function(x) return grow(x, 60) end) == 120)
  local function choose(x, a, b) return ts.select(ts.lt(x, 1), a, b) end
  assert(flops(function(x) return choose(x, x + 2, x * 3 + 4) end) == 1 + 2)
  assert(flops(function(x) -- 9 * x by both
    return choose(x, x * 9, x * 9 + 3)
  end) == 1 + 1 + 1)
  assert(flops(function(x) -- x + 5 by one side, whatever is chosen there
    local y = x + 5
    local inner = ts.select(ts.lt(x, 3), y * 2, y * 3 + 1)
    return choose(x, inner, x * 2)
  end) == 1 + 1 + 1 + 2)
  assert(flops(function(x) -- and outside of it
    local y = x + 5
    return choose(x, y * 2, x * 2) + y
  end) == 1 + 1 + 1 + 1)
  assert(flops(function(x)
    for k = 1, 200 do x = choose(x, x + k, x * 2) end
    return x
  end) == 2 * 200)
end

-- Where data bounds a loop it decides the count: none is given, and no rate;
-- a cast of what is known is known.
do
  local function rows(from, extent)
    local b = ts.builder "rows"
    local P = b:input("P", { 5 }, "int32", { offsets_into = 9 })
    local X, Y = b:input("X", { 9 }), b:output("Y", { 4 })
    b:loop("i", 0, 4, function(i)
      b:block("zero", { { "vi", extent = 4, bind = i } }, function(vi)
        b:store(Y, { vi }, 0)
      end)
      local lo, n = from(i, P), extent(i, P)
      b:loop("k", lo, n, function(k)
        b:block("sum", { { "vi", extent = 4, bind = i },
                         { "vk", "reduce", extent = 9, bind = k } },
                function(vi, vk) b:store(Y, { vi }, Y(vi) + X(vk)) end)
      end)
    end)
    return b:program()
  end
  local function first(i, P) return ts.cast(P(i), "int64") end
  local sparse = rows(first, function(i, P)
    return ts.cast(P(i + 1), "int64") - ts.cast(P(i), "int64")
  end)
  assert(sparse:flops() == nil)
  assert(rows(function() return 0 end, function(i)
    return ts.cast(ts.cast(i, "int32"), "int64") + 1
  end):flops() == 1 + 2 + 3 + 4)
  local seen
  local r = ts.tune(sparse, { trials = 1, progress = function(p)
    assert(p.gflops == nil and not p.text:find "GFLOP")
    seen = true
  end })
  assert(seen and r.latency and r.gflops == nil)
  assert(tostring(r):find "^[%d.e-]+ ms after 1 trials", tostring(r))
end

-- Elements of tensors are values of their type; floats are rounded.
do
  local function refused(dtype, v)
    local text = math.type(v) and ("is %s, which is not a value of %s")
                                    :format(v, dtype)
    local t = ts.tensor(dtype, { 2, 1 })
    t:set(1, 0, 1)
    fails("TYPE", "element [1, 0] " .. text, ts.tensor, dtype, { 2, 1 },
          { { 1 }, { v } })
    fails("TYPE", "element [1, 0] " .. text, t.set, t, 1, 0, v)
    assert(t:get(1, 0) == 1)
    fails("TYPE", "element " .. text, ts.tensor(dtype, {}).set,
          ts.tensor(dtype, {}), v)
  end
  local wrong = {
    uint8 = { 300, -1, 2.5, 256.0, 0 / 0 }, int8 = { 128, -129, -128.5 },
    int32 = { 1 << 31, 2.0 ^ 31, 1 / 0 }, int64 = { 2 ^ 63, -1 / 0, 0.5 },
    uint64 = { 2 ^ 64, -1.0 }, bool = { 2, 0.5 }, float16 = { 70000, 7e4 },
    bfloat16 = { 3.4e38 }, float32 = { 1e39, -1e39 },
  }
  for dtype, values in pairs(wrong) do
    for _, v in ipairs(values) do refused(dtype, v) end
  end
  local right = {
    uint8 = { 0, 255, 255.0 }, int8 = { -128, 127 },
    int64 = { math.mininteger, math.maxinteger, -2 ^ 63 }, uint64 = { -1 },
    float16 = { 65504, 65519, 1 / 0 }, float32 = { 1 / 3, 16777217 },
    bool = { 0, 1, 1.0 }, float64 = { 1e300, math.maxinteger },
  }
  for dtype, values in pairs(right) do
    ts.tensor(dtype, { #values }, values)
  end
  assert(ts.tensor("uint64", { 1 }, { 2 ^ 63 }):get(0) == math.mininteger)
  assert(ts.tensor("bool", { 1 }, { true }):get(0) == 1)
  fails("INVALID", "path of a file that ends in .npy", ts.tensor, "float32",
        { 2 }, "/dev/zero")
end

-- Sampled integers.
do
  local A = ts.placeholder("A", { 8 })
  local p = ts.program("copy", { A }, {
    ts.compute("B", { 8 }, function(i) return A(i) end) })
  local sch = ts.schedule(p)
  local block = sch:get_block "B"
  local v = sch:sample_categorical({ 8 / 4 }, { 1 })
  local huge = sch:sample_categorical({ math.maxinteger }, { 1 })
  assert(sch:get(v) == 2 and sch:get(-v) == -2 and sch:get(v * 2.0) == 4)
  assert(sch:get(-v // 3) == -1 and sch:get(-v % 3) == 1)
  assert(sch:get(-huge - 1) == math.mininteger)
  fails("INVALID", "leaves 64 bits", sch.get, sch, huge + 1)
  fails("INVALID", "leaves 64 bits", sch.get, sch, (-huge - 1) // -1)
  fails("INVALID", "leaves 64 bits", sch.annotate, sch, block, "k", huge + 1)
  fails("INVALID", "divides by zero", sch.get, sch, v // 0)
  fails("TYPE", "arithmetic", function() return -block end)
  for _, make in ipairs { function(x) return x / 2 end,
                          function(x) return 2 / x end,
                          function(x) return x ^ 2 end,
                          function(x) return 2 ^ x end } do
    fails("TYPE", "are computed with by + - * // %, not by / or ^", make, v)
    for _, other in ipairs { 1, v } do
      fails(nil, "by + - * // % ts.min ts.max", sch.transform_layout, sch,
            block, "B", function(i) return make(i) + other end)
    end
  end
  local loop = sch:get_loops(block)
  local outer, inner = sch:split(loop, { 4.0, 8 / 4 })
  assert(sch:loop_info(outer).extent == 4 and sch:loop_info(inner).extent == 2)
  fails("TYPE", "factors", sch.split, sch, inner, { 1.5, ts.auto })
  sch:annotate(block, "negative", -v)
  local t = sch:trace()
  assert(ts.trace.from_json(t:json(), p) == t)
  assert(ts.trace.from_lua(t:lua(), p) == t)
end

-- What a program changes in place is shown so.
do
  local b = ts.builder "twice"
  local A = b:inout("A", { 8 })
  b:loop("i", 0, 8, function(i)
    b:block("a", { { "v", lo = 0, extent = 8, bind = i } }, function(v)
      b:store(A, { v }, A(v) * 2)
    end)
  end)
  assert(tostring(b:program()):find("A: inout float32[8]", 1, true))
end

-- Greatest and least of a constant and what fabs gives, and others, compiled:
-- what the interpreter computes, for numbers and not-a-number.
do
  local some = { -3, 2, -1, 0, -0.0, 0 / 0, math.huge, -math.huge, 1e-7, -0.5 }
  local forms = {
    function(x) return ts.max(0, ts.abs(x)) end,
    function(x) return ts.max(-0.0, ts.abs(x)) end,
    function(x) return ts.min(6, ts.max(0, ts.abs(x))) end,
    function(x) return ts.max(ts.abs(x), 0) end,
    function(x) return ts.min(0, -ts.abs(x)) end,
    function(x) return ts.max(0, x * x) end,
    function(x) return ts.max(x, -x) end,
  }
  for _, dtype in ipairs { "float16", "float32", "float64" } do
    local n = #some
    local X = ts.placeholder("X", { n }, dtype)
    local results = {}
    for k, form in ipairs(forms) do
      results[k] = ts.compute("Y" .. k, { n }, function(i)
        return form(X(i))
      end)
    end
    local p = ts.program("extremes", { X }, results)
    for _, vector in ipairs { false, true } do
      local sch = ts.schedule(p)
      for k = 1, vector and #forms or 0 do
        sch:vectorize((sch:get_loops(sch:get_block("Y" .. k))))
      end
      checks.exact(sch, p, checks.arguments(p, some))
    end
  end
end
