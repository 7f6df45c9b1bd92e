-- SPDX-License-Identifier: Apache-2.0
-- Tensors, kernels, targets and the interpreter, as scripts use them.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local fails = checks.fails

-- tensors
local t = ts.tensor("float32", { { 1, 2, 3 }, { 4, 5, 6 } })
assert(#t == 6 and t:dtype() == "float32")
assert(t:get(1, 2) == 6)
t:set(0, 0, -1.5)
assert(t:get(0, 0) == -1.5)
assert(tostring(t):find("tensor float32, 2x3", 1, true), tostring(t))
fails("BOUNDS", "", t.get, t, 2, 0)
fails("INVALID", "a tensor has no [1]: t:get(i, j) gives an element",
      function() return t[1] end)
local path = os.tmpname()
os.remove(path)
path = path .. ".npy"
t:save(path)
local u = ts.tensor(path)
assert(u:dtype() == "float32" and u:get(1, 2) == 6)
assert(ts.tensor("float32", { 2, 3 }, path):get(1, 2) == 6)
fails("TYPE", "", ts.tensor, "int32", { 2, 3 }, path)
fails("INVALID", "", ts.tensor, "float32", { 3, 2 }, path)
fails("INVALID", "", ts.tensor, "float32", { 6 }, path)
local abs, rel = t:compare(u)
assert(abs == 0 and rel == 0)
os.remove(path)
fails("NOT_FOUND", "", ts.tensor, path)

-- a product, compiled and interpreted, plain and scheduled
local N = 32
local A = ts.placeholder("A", { N, N })
local B = ts.placeholder("B", { N, N })
local k = ts.reduce_axis("k", N)
local C = ts.compute("C", { N, N }, function(i, j)
  return ts.sum(A(i, k) * B(k, j), k)
end)
local program = ts.program("matmul", { A, B }, { C })
local a = ts.tensor("float32", { N, N }, "integers", 1)
local b = ts.tensor("float32", { N, N }, "integers", 2)
local c = ts.tensor("float32", { N, N }, "zeros")
local d = ts.tensor("float32", { N, N }, "zeros")
ts.build(program)(a, b, c)
ts.interpret(program, { a, b, d })
assert(c:compare(d) == 0)

local sch = ts.schedule(program, { seed = 1 })
local i, j = sch:get_loops(sch:get_block "C")
local _, j1 = sch:split(j, { ts.auto, 8 })
sch:parallel(i)
local kernel = ts.build(sch, "llvm -num-cores=2")
d = ts.tensor("float32", { N, N }, "zeros")
kernel(a, b, d)
assert(c:compare(d) == 0)
assert(ts.equivalent(sch, program))

-- constants: interpreted in both domains, compiled, cached, loaded again
do
  local n = 24
  local X = ts.placeholder("X", { n })
  local W = ts.constant("W", ts.tensor("float32", { n }, "random", 7))
  local V = ts.constant("V", ts.tensor("int32", { 2 }, { 3, 5 }))
  local T = ts.compute("T", { n }, function(v) return X(v) * W(v) end)
  local Y = ts.compute("Y", { n }, function(v)
    return T(v) + ts.cast(V(v % 2), "float32")
  end)
  local p = ts.program("weighted", { X }, { Y })
  local x = ts.tensor("float32", { n }, "random", 1)
  local w = ts.tensor("float32", { n }, "random", 7)
  local function agrees(q)
    local y, z = ts.tensor("float32", { n }), ts.tensor("float32", { n })
    ts.interpret(q, { x, y })
    ts.build(q)(x, z)
    for v = 0, n - 1 do
      local want = x:get(v) * w:get(v) + (v % 2 == 0 and 3 or 5)
      assert(math.abs(y:get(v) - want) < 1e-5, v)
      assert(math.abs(z:get(v) - want) < 1e-5, v)
    end
    assert(ts.equivalent(q, p))
  end
  agrees(p)
  local s = ts.schedule(p)
  local cached = s:cache_read(s:get_block "T", 1, "local")
  local v = s:get_loops(s:get_block "Y")
  local o = s:split(v, { ts.auto, 8 })
  s:parallel(o)
  s:compute_at(s:get_block "T", o)
  s:compute_at(cached, o)
  agrees(s)
  local name = os.tmpname()
  p:save(name)
  agrees(ts.load_program(name))
  os.remove(name)
  -- Other contents are another computation.
  local U = ts.constant("W", ts.tensor("float32", { n }, "random", 8))
  local T2 = ts.compute("T", { n }, function(v) return X(v) * U(v) end)
  local Y2 = ts.compute("Y", { n }, function(v)
    return T2(v) + ts.cast(V(v % 2), "float32")
  end)
  assert(not ts.equivalent(ts.program("weighted", { X }, { Y2 }), p))
end

-- what a condition, a bound or a binding was computed from is loaded again
-- once that has changed
do
  local b = ts.builder("changes")
  local E = b:inout("E", { 4 }, "int32")
  local F = b:output("F", { 4 }, "int32")
  local function set(i, v)
    b:store(E, { i }, v)
    b:store(F, { i }, E(i))
  end
  b:block("C", {}, {}, function()
    b:when(ts.gt(E(0), 0), function() set(0, 5) end)
    local n = ts.min(ts.max(ts.cast(E(1), "int64"), 1), 2)
    b:loop("i", 0, n, function() set(1, 6) end)
    b:let("h", E(2) + 1, function(h)
      set(2, 7)
      b:store(F, { 2 }, E(2) * 10 + h)
    end)
    b:store(F, { 3 }, E(3))
  end)
  local p = b:program()
  for _, run in ipairs {
    function(e, f) ts.interpret(p, { e, f }) end, ts.build(p),
  } do
    local e = ts.tensor("int32", { 4 }, { 1, 2, 3, 4 })
    local f = ts.tensor("int32", { 4 })
    run(e, f)
    assert(f:get(0) == 5 and f:get(1) == 6 and f:get(2) == 74)
    assert(f:get(3) == 4 and e:get(2) == 7)
  end
end

-- a nest deeper than a program may be
do
  local deep = ts.schedule(program)
  local l = deep:get_loops(deep:get_block "C")
  fails(nil, "split: statements would nest deeper than", function()
    for _ = 1, 600 do l = deep:split(l, { ts.auto, 1 }) end
  end)
end

-- what is written may not share memory
fails("INVALID", "", kernel, a, b, a)
fails("INVALID", "", ts.interpret, program, { a, b, b })
kernel(a, a, d)
kernel(a, b, d)
fails("INVALID", "", kernel.time, kernel, { a, b, d }, { min_time = 0 / 0 })
fails("INVALID", "", kernel.time, kernel, { a, b, d }, { min_time = -1 })

local r = kernel:time({ a, b, d }, { min_time = 0.001 })
assert(r.min > 0 and r.min <= r.median and r.runs >= r.repeats)
assert(kernel:source "ir":find("define", 1, true))
assert(#kernel:source "asm" > 0)
fails("TYPE", "", kernel, a, b)

-- targets
local target = ts.target "llvm -num-cores=3"
assert(target:get "num-cores" == 3 and target:get "num_cores" == 3)
assert(target:get "max-threads-per-block" == nil) -- of other kinds
fails("NOT_FOUND", "no field 'num-coers'; did you mean 'num-cores'?",
      target.get, target, "num-coers")
fails("NOT_FOUND", "no field 'no-such-field'", target.get, target,
      "no-such-field")
fails("INVALID", "'mcpu' is a text", target.get, target, "mcpu")
assert(target:has "neon" ~= target:has "sse2" and not target:has "sm_80")
fails("NOT_FOUND", "no feature 'avx51f'; did you mean 'avx512f'?", target.has,
      target, "avx51f")
fails("NOT_FOUND", "no feature ''", target.has, target, "")
fails("NOT_FOUND", "did you mean -registers-per-block?", ts.target,
      "cuda -arch=sm_80 -registers=-1")
fails("INVALID", "'-registers-per-block=-1' is not a number from 1 to ",
      ts.target, "cuda -arch=sm_80 -registers-per-block=-1")
fails("NOT_FOUND", "", ts.target, "no-such-backend")
