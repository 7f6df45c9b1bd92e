-- SPDX-License-Identifier: Apache-2.0
-- Reductions split over blocks of the grid, whose results are updated
-- atomically: each term, or the sum of a block's part of them.
local ts = require "tessera"
local atomics = {}

-- The rows of a matrix by `reduce`: ts.sum, ts.reduce_min or ts.reduce_max.
function atomics.rows(dtype, reduce)
  local A = ts.placeholder("A", { 12, 50 }, dtype)
  local k = ts.reduce_axis("k", 50)
  local S = ts.compute("S", { 12 }, function(i)
    return reduce(A(i, k), k)
  end)
  return ts.program("rows_" .. dtype, { A }, { S })
end

-- The init in a kernel of its own, four parts of each row in as many blocks.
function atomics.terms(p)
  local sch = ts.schedule(p)
  local s = sch:get_block "S"
  local i, k = sch:get_loops(s)
  local k0 = sch:split(k, { 4, ts.auto })
  sch:bind((sch:get_loops(sch:decompose_reduction(s, i))), "threadIdx.x")
  sch:reorder(k0, i)
  sch:bind(k0, "blockIdx.y")
  sch:bind(i, "threadIdx.x")
  return sch
end

-- A block's part of a row is reduced by its threads.
function atomics.parts(p)
  local sch = ts.schedule(p)
  local s = sch:get_block "S"
  local rf = sch:rfactor((sch:split(select(2, sch:get_loops(s)),
                                    { 4, ts.auto })))
  local i, k0, k1 = sch:get_loops(rf)
  sch:reorder(k0, i)
  sch:set_scope(rf, 0, "local")
  sch:reverse_compute_at(s, i)
  sch:bind((sch:get_loops(sch:decompose_reduction(s, k0))), "threadIdx.x")
  sch:bind(k0, "blockIdx.x")
  sch:bind(i, "blockIdx.y")
  sch:bind(k1, "threadIdx.x")
  return sch
end

return atomics
