-- SPDX-License-Identifier: Apache-2.0
-- Reductions that go over rows, with vectors of columns: which they are, that
-- all of their schedules compute the same, and that the default space has them.
local ts = require "tessera"
local ops = require "tessera.ops"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local columns = require "tessera.modules.column_vectors"
local place = require "tessera.modules.random_compute_location"
local vectors = require "tessera.modules.parallel_vectorize_unroll"

local function column_sums(rows, n, dtype)
  local A = ts.placeholder("A", { rows, n }, dtype)
  local k = ts.reduce_axis("k", rows)
  local S = ts.compute("S", { n }, function(j) return ts.sum(A(k, j), k) end)
  return ts.program("column_sums", { A }, { S })
end

local function explained(p, modules)
  return ts.space.explain(modules, p, "llvm", { all = true })
end

-- A strip of columns is innermost, in vectors, whatever the tiles.
for _, p in ipairs {
  column_sums(33, 50), column_sums(1, 16), column_sums(7, 13, "int8"),
  ops.reduce { shape = { 3, 9, 20 }, axes = { 1 }, op = "max" },
  ops.reduce { shape = { 3, 9, 20 }, axes = { 0, 1 }, op = "mean" },
  ops.global_pool2d { n = 2, c = 24, h = 3, w = 5, layout = "NHWC" },
  ops.max_pool2d { n = 1, c = 18, h = 9, w = 8, k = 3, stride = 2, pad = 1,
                   layout = "NHWC" },
  ops.lstm { t = 3, b = 2, input = 4, hidden = 20, trans_r = true },
} do
  local list = ts.space.sketches({ columns {}, place { open = false },
                                   vectors {} }, p, "llvm -num-cores=2")
  assert(#list > 0)
  for _, sketch in ipairs(list) do
    assert(sketch:lua():find('ann_val = "columns"', 1, true), sketch)
    for seed = 1, 6 do
      checks.same(sketch:replay(p, { resample = true, seed = seed }), p)
    end
  end
end

-- Not where what is read lies along the reduction, or has one column.
for _, p in ipairs { ops.reduce { shape = { 8, 40 }, axes = { 1 } },
                     column_sums(40, 1),
                     ops.global_pool2d { n = 1, c = 8, h = 4, w = 4 } } do
  local text = explained(p, { columns {} })
  assert(text:find("not applicable: no columns lie beside each", 1, true), text)
  assert(not text:find(": applied", 1, true), text)
end
checks.fails("INVALID", "'max_width' is '0': it is an integer from 1 on",
             columns, { max_width = 0 })

-- What an untuned kernel runs has vectors of columns, too.
local p = ops.global_pool2d { n = 1, c = 256, h = 7, w = 7, layout = "NHWC" }
local draft = ts.tune(p, { frozen = true })
assert(tostring(draft.trace):find('ann_val = "columns"', 1, true), draft.trace)
