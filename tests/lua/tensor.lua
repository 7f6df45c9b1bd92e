-- SPDX-License-Identifier: Apache-2.0
-- Tensor intrinsics: declaration, use, replay, compilation, refusals.
local ts = require "tessera"
local ops = require "tessera.ops"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local fails, same, exact = checks.fails, checks.same, checks.exact
local tensor = require "tessera.tensor"

local function matmul(n)
  return ops.matmul { m = n, n = n, k = n }
end

local function tensorized(sch, m, n, k)
  local c = sch:get_block("C")
  local first = assert(tensor.tile(sch, c, { m, n, k }))
  local _, _, k0 = sch:get_loops(c)
  sch:decompose_reduction(c, k0)
  sch:tensorize(first, tensor.mma{ m = m, n = n, k = k })
  return sch
end

-- The whole way: the same computation, in every form a trace has, compiled.
do
  local p = matmul(32)
  local hash, text = p:hash(), tostring(p)
  local sch = tensorized(ts.schedule(p), 4, 16, 8)
  same(sch, p)
  assert(p:hash() == hash and tostring(p) == text)
  local i0 = sch:get_loops(sch:get_block("C_update_o"))
  sch:parallel(i0)
  local t, made = sch:trace(), sch:program():hash()
  assert(t:replay(p):program():hash() == made)
  assert(ts.trace.from_json(t:json(), p):replay():program():hash() == made)
  assert(ts.trace.from_lua(t:lua()):replay(p):program():hash() == made)
  local fresh = matmul(32)
  assert(t:replay(fresh):program():hash() == made)
  local s = t:stepper(fresh)
  while s:next() do end
  assert(s:program():hash() == made)
  exact(sch, p, checks.arguments(p, "integers"))
end

-- Searched: candidates are replayed and measured elsewhere.
do
  local r = ts.tune(matmul(64), {
    target = "llvm", trials = 4, seed = 1, strategy = "replay",
    cost_model = "random",
    space = function(sch)
      local c = sch:get_block("C")
      local i, j, k = sch:get_loops(c)
      local i0, i1 = sch:split(i, { sch:sample_perfect_tile(i, { n = 2,
        max_innermost_factor = 4 }) })
      local j0, j1 = sch:split(j, { ts.auto, 16 })
      local k0, k1 = sch:split(k, { ts.auto, 4 })
      sch:reorder(i0, j0, i1, k0, j1, k1)
      sch:decompose_reduction(c, k0)
      sch:tensorize(j1, tensor.mma{ n = 16, k = 4 })
    end,
  })
  assert(r.latency > 0 and r.failed == 0)
end

-- Eight bits: the dot products of sixteen rows.
do
  local A = ts.placeholder("A", { 8, 16 }, "uint8")
  local B = ts.placeholder("B", { 32, 16 }, "int8")
  local k = ts.reduce_axis("k", 16)
  local C = ts.compute("C", { 8, 32 }, function(i, j)
    return ts.sum(ts.cast(A(i, k), "int32") * ts.cast(B(j, k), "int32"), k)
  end)
  local p = ts.program("dots", { A, B }, { C })
  local sch = ts.schedule(p)
  local c = sch:get_block("C")
  local i, j, k = sch:get_loops(c)
  local j0, j1 = sch:split(j, { ts.auto, 16 })
  local k0, k1 = sch:split(k, { ts.auto, 4 })
  sch:reorder(j0, k0, j1, k1)
  sch:decompose_reduction(c, k0)
  -- As this machine can, and as every one can.
  for _, target in ipairs{ "llvm", "llvm -mcpu=x86-64" } do
    local way = sch:copy()
    local name = tensor.dot_16x4(target)
    local vnni = ts.target(target):has "avx512vnni"
    assert(name == (vnni and "dot_16x4_vnni" or "dot_16x4"))
    way:tensorize(j1, name)
    same(way, p)
    if vnni then
      assert(ts.build(way, "llvm"):source "asm":find "vpdpbusd")
    end
    exact(way, p, checks.arguments(p, "random"))
  end
  assert(ts.target "llvm -mcpu=x86-64 -mattr=+avx512vnni":has "avx512vnni")
  assert(not ts.target "llvm -mattr=+avx512vnni,-avx512vnni":has "avx512vnni")
end

-- What is declared is checked.
do
  local function desc(op)
    local b = ts.builder("rows")
    local X, Y = b:input("X", { 4 }), b:output("Y", { 4 })
    b:loop("i", 0, 4, function(i)
      b:block("Y", { { "vi", extent = 4, bind = i } }, function(vi)
        b:store(Y, { vi }, op(X(vi)))
      end)
    end)
    return b:program()
  end
  local twice = desc(function(x) return x + x end)
  fails(nil, "", ts.tensor_intrin, { name = "wrong", desc = twice,
        impl = desc(function(x) return x * 3 end) })
  fails(nil, "needs a name", ts.tensor_intrin, { desc = twice, impl = twice })
  fails(nil, "not UTF-8", ts.tensor_intrin,
        { name = "t\xff", desc = twice, impl = twice })
  assert(ts.tensor_intrin{ name = "twice", desc = twice,
         impl = desc(function(x) return x * 2 end) } == "twice")
  local sch = ts.schedule(matmul(16))
  local l = sch:get_loops(sch:get_block("C"))
  checks.refused(sch, "INTRIN_UNKNOWN", "tensorize", l, "wrong")
  local e = checks.refused(sch, "INTRIN_MISMATCH", "tensorize", l, "twice")
  assert(e.message:find('"twice": ', 1, true) and
         e.message:find(" in the description and ", 1, true), e.message)
end
