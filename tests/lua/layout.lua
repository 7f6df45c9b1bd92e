-- SPDX-License-Identifier: Apache-2.0
-- Kernels of programs whose buffers have transformed layouts, alignment or
-- types agree with the interpreter.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local ops = require "tessera.ops"

local M, N, K = 37, 29, 12
local p = ops.matmul { m = M, n = N, k = K, relu = true }

local function check(f, inexact)
  local sch = ts.schedule(p)
  f(sch, sch:get_block("C"))
  if inexact then checks.replays(sch, p) else checks.same(sch, p) end
  local a = ts.tensor("float32", { M, K }, "random")
  local b = ts.tensor("float32", { K, N }, "random")
  local c = ts.tensor("float32", { M, N }, "zeros")
  local d = ts.tensor("float32", { M, N }, "zeros")
  ts.build(sch, "llvm")(a, b, c)
  ts.interpret(sch, { a, b, d })
  for i = 0, M - 1 do
    for j = 0, N - 1 do
      assert(math.abs(c:get(i, j) - d:get(i, j)) < 1e-4)
    end
  end
end

check(function(s, b) s:storage_align(b, 0, -2, 32, 8) end)
check(function(s, b)
  s:set_scope(b, 0, "local")
  s:storage_align(b, "C", 0, 8, 3)
  s:vectorize((select(2, s:get_loops(b))))
end)
check(function(s, b)
  s:transform_layout(b, "C", function(i, j) return j // 8, i, j % 8 end,
                     { pad_value = 1 })
  s:transform_block_layout(b, function(i, j, k) return j, i, k // 4, k % 4 end)
end)
-- Rows that a layout, or a block's iterations, rotate.
check(function(s, b)
  s:transform_layout(b, "C", function(i, j) return i, (j - 2 * i + 3) % N end)
  s:transform_block_layout(b, function(i, j, k) return (i + j) % M, j, k end)
end)
-- New elements that hold anything.
check(function(s, b)
  s:transform_layout(b, "C", function(i, j) return j // 8, i, j % 8 end,
                     { assume_injective_transform = true })
  assert(not tostring(s):find "C_pad")
  s:vectorize((select(2, s:get_loops(s:get_consumers(b)))))
end)
check(function(s, b) s:unsafe_set_dtype(b, 0, "float64") end, true)
check(function(s, b)
  s:unsafe_hide_buffer_access(b, "read", { 0 })
  s:annotate_buffer_access(b, "B", function(i, j, k)
    return { 0, K }, { j, j + 1 }
  end)
end)
