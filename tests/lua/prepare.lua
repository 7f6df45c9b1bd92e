-- SPDX-License-Identifier: Apache-2.0
-- Layout-free parameters: the schedule transforms their layout, and a
-- conversion runs before the kernel, transparently for its callers.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local same = checks.same

local M, N, K = 24, 20, 16

local function program()
  local A = ts.placeholder("A", { M, K })
  local B = ts.placeholder("B", { K, N }, "float32", { role = "layout_free" })
  local k = ts.reduce_axis("k", K)
  local C = ts.compute("C", { M, N }, function(i, j)
    return ts.sum(A(i, k) * B(k, j), k)
  end)
  return ts.program("matmul", { A, B }, { C })
end

local p = program()

local function blocked(sch)
  local b = sch:get_block("C")
  sch:transform_layout(b, "B", function(k, j) return j // 8, k, j % 8 end,
                       { pad_value = 0 })
  sch:parallel((sch:get_loops(b)))
  return sch
end

local sch = blocked(ts.schedule(p))
assert(tostring(sch):find("B_prepared[v1 // 8, v0, v1 % 8] = B[v0, v1]", 1,
                          true), tostring(sch))
assert(tostring(sch):find("block B_prepared_pad", 1, true))
same(sch, p)

local a = ts.tensor("float32", { M, K }, "random")
local b = ts.tensor("float32", { K, N }, "random")
local want = ts.tensor("float32", { M, N }, "zeros")
ts.build(p, "llvm")(a, b, want)

local function close(x, y)
  for i = 0, M - 1 do
    for j = 0, N - 1 do
      assert(math.abs(x:get(i, j) - y:get(i, j)) < 1e-4)
    end
  end
end

-- Built, run, timed, interpreted with the caller's tensors.
do
  local kernel = ts.build(sch, "llvm")
  local c = ts.tensor("float32", { M, N }, "zeros")
  kernel(a, b, c)
  close(c, want)
  assert(kernel:time({ a, b, c }, { min_time = 0.001 }).median > 0)
  close(c, want)
  local d = ts.tensor("float32", { M, N }, "zeros")
  ts.interpret(sch, { a, b, d })
  close(d, want)
  -- The kernel reads the converted tensor, at one place and the next.
  assert(not kernel:source("ir"):find("B_prepared_pad", 1, true))
end

-- One that is inlined again, and one with another reader, is no stage
-- before the kernel, and computes the same.
do
  local s = ts.schedule(p)
  local c = s:get_block("C")
  s:transform_layout(c, "B", function(k, j) return j, k end)
  s:compute_inline(s:get_block("B_prepared"))
  same(s, p)
  local x = ts.tensor("float32", { M, N }, "zeros")
  ts.build(s, "llvm")(a, b, x)
  close(x, want)
end
do
  local s = ts.schedule(p)
  local c = s:get_block("C")
  s:transform_layout(c, "B", function(k, j) return j, k end)
  s:compute_at(s:get_block("B_prepared"), (s:get_loops(c)))
  same(s, p)
  local x = ts.tensor("float32", { M, N }, "zeros")
  ts.build(s, "llvm")(a, b, x)
  close(x, want)
end

-- A second layout, of what was converted; and the stage scheduled itself.
do
  local s = blocked(ts.schedule(p))
  s:transform_layout(s:get_block("C"), "B_prepared",
                     function(x, y, z) return x, z, y end)
  s:parallel((s:get_loops(s:get_block("B_prepared"))))
  same(s, p)
  local x = ts.tensor("float32", { M, N }, "zeros")
  ts.build(s, "llvm")(a, b, x)
  close(x, want)
end

-- With padding that holds anything.
do
  local s = ts.schedule(p)
  s:transform_layout(s:get_block("C"), "B", function(k, j)
    return j // 8, k, j % 8
  end, { assume_injective_transform = true })
  assert(not tostring(s):find "B_prepared_pad")
  same(s, p)
  local x = ts.tensor("float32", { M, N }, "zeros")
  local kernel = ts.build(s, "llvm")
  kernel(a, b, x)
  close(x, want)
  assert(kernel:time({ a, b, x }, { min_time = 0.001 }).median > 0)
  ts.interpret(s, { a, b, x })
  close(x, want)
end

-- Searched.
do
  local r = ts.tune(p, { target = "llvm", trials = 3, seed = 1,
                         strategy = "replay", cost_model = "random",
                         space = function(s)
    local c = s:get_block("C")
    local u = s:sample_categorical({ 4, 5, 8 }, { 0.3, 0.3, 0.4 })
    s:transform_layout(c, "B", function(k, j) return j // u, k, j % u end,
                       { pad_value = 0 })
  end })
  assert(r.latency and r.latency > 0 and r.failed == 0)
  local x = ts.tensor("float32", { M, N }, "zeros")
  r.kernel(a, b, x)
  close(x, want)
end

-- What needs the program's sizes is no stage before the kernel, whatever is
-- noted at it.
do
  local n = ts.size "n"
  local W = ts.placeholder("W", { 6 }, "int32", { role = "layout_free" })
  local X = ts.placeholder("X", { n }, "int32")
  local T = ts.compute("T", { 8 }, function(i)
    return ts.select(ts.lt(i, n), W(ts.min(i, 5)), 0)
  end)
  local C = ts.compute("C", { n }, function(i)
    return T(ts.min(i, 7)) + X(i)
  end)
  local s = ts.schedule(ts.program("p", { W, X }, { C }))
  s:annotate(s:get_block "T", "layout_prepare", 1)
  for _, size in ipairs { 1, 5, 8 } do
    local w = ts.tensor("int32", { 6 }, { 1, 2, 3, 4, 5, 6 })
    local x = ts.tensor("int32", { size })
    local got = ts.tensor("int32", { size })
    ts.build(s, "llvm")(w, x, got)
    for i = 0, size - 1 do assert(got:get(i) == math.min(i, 5) + 1) end
  end
end
