-- SPDX-License-Identifier: Apache-2.0
-- Products of a few rows with a matrix whose rows lie along the reduction:
-- which they are, that their tiles compute the same, and that the default space
-- has them.
local ts = require "tessera"
local ops = require "tessera.ops"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local rows = require "tessera.modules.row_vectors"
local vectors = require "tessera.modules.parallel_vectorize_unroll"

local target = ts.target "llvm -mcpu=x86-64-v3 -num-cores=2"

local function product(m, n, k, more)
  local o = { m = m, n = n, k = k, trans_b = true }
  for name, v in pairs(more or {}) do o[name] = v end
  return ops.matmul(o)
end

-- The matrix's rows in a tile, and the elements of a vector.
local function tile(p)
  local list = ts.space.sketches({ rows {}, vectors {} }, p, target)
  assert(list[1]:lua():find('ann_val = "rows"', 1, true), list[1])
  local sch = list[1]:replay(p)
  local loops = { sch:get_loops((sch:get_block "C_rf_update")) }
  checks.same(sch, p)
  assert(sch:loop_info(loops[#loops]).kind == "vectorized")
  return sch:extent(loops[#loops - 1]), sch:extent(loops[#loops])
end

-- As many sums as there are registers beside what is read, of whole rows.
for _, c in ipairs {
  { 2, 8, product(4, 40, 32) }, { 6, 8, product(2, 30, 32) },
  { 1, 8, product(8, 9, 24) }, { 3, 6, product(3, 15, 30) },
  { 3, 8, product(2, 9, 16, { batch = { 2 } }) },
  { 4, 8, product(3, 12, 16, { bias = true, relu = true }) },
  { 3, 8, product(2, 9, 16, { dtype = "int8", acc = "int32" }) },
} do
  local n, lanes = tile(c[3])
  assert(n == c[1] and lanes == c[2], ("%d x %d"):format(n, lanes))
end

-- Not over two loops of a reduction.
do
  local A = ts.placeholder("A", { 2, 3, 16 })
  local B = ts.placeholder("B", { 9, 3, 16 })
  local k, q = ts.reduce_axis("k", 3), ts.reduce_axis("q", 16)
  local C = ts.compute("C", { 2, 9 }, function(i, j)
    return ts.sum(A(i, k, q) * B(j, k, q), { k, q })
  end)
  assert(ts.space.explain({ rows {} }, ts.program("two", { A, B }, { C }),
                          target):find "C: not applicable: no few rows")
end

-- Not for one row, nor many, nor where columns lie beside each other in one of
-- the factors, nor where no vectors divide the reduction.
for p, why in pairs {
  [product(1, 9, 16)] = "no few rows", [product(9, 20, 16)] = "no few rows",
  [ops.matmul { m = 2, n = 9, k = 16 }] = "no few rows",
  [product(2, 9, 16, { trans_a = true })] = "no few rows",
  [product(2, 9, 3)] = "no vectors divide",
} do
  local text = ts.space.explain({ rows {} }, p, target)
  assert(text:find("row_vectors at C: not applicable: " .. why, 1, true), text)
end
assert(ts.space.explain({ rows { most = 9 } }, product(9, 20, 16), target)
       :find "row_vectors at C: applied, 1 schedule")
checks.fails("INVALID", "'most' is '1': it is an integer from 2 on", rows,
             { most = 1 })

-- Where whole vectors do not divide columns, tiles of few rows are of half ones
-- in place of a padded copy; else there is one.
do
  local tiles = require "tessera.modules.register_tile"
  local module = tiles { structure = "SRSRS", vectors = { 2, 4 } }
  for _, c in ipairs { { 4, 20, false }, { 16, 20, true }, { 4, 21, true } } do
    local p, padded = ops.matmul { m = c[1], n = c[2], k = 12 }, false
    for _, sketch in ipairs(ts.space.sketches({ module, vectors {} }, p,
                                              target)) do
      padded = padded or sketch:lua():find("pad_einsum", 1, true) ~= nil
      checks.same(sketch:replay(p, { resample = true, seed = 1 }), p)
    end
    assert(padded == c[3], p)
  end
end

-- What an untuned kernel runs has them, too.
local draft = ts.tune(product(4, 100, 256), { frozen = true, target = target })
assert(tostring(draft.trace):find('ann_val = "rows"', 1, true), draft.trace)
