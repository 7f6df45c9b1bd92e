-- SPDX-License-Identifier: Apache-2.0
-- A product for tensor cores by four warps of one block, without a loop over
-- blocks of threads: each computes 16 rows, operands through shared memory.
local ts = require "tessera"
local tensor = require "tessera.tensor"
local one_block = {}

function one_block.program()
  local A = ts.placeholder("A", { 64, 32 }, "float16")
  local B = ts.placeholder("B", { 32, 16 }, "float16")
  local k = ts.reduce_axis("k", 32)
  return ts.program("half", { A, B }, {
    ts.compute("C", { 64, 16 }, function(i, j)
      return ts.sum(ts.cast(A(i, k), "float32") * ts.cast(B(k, j), "float32"),
                    k)
    end) })
end

function one_block.schedule(program)
  local sch = ts.schedule(program)
  local c = sch:get_block "C"
  local stored = sch:cache_write(c, 0, "wmma.accumulator")
  local piece = assert(tensor.tile(sch, c, { 16, 16, 16 }))
  local rows, _, steps = sch:get_loops(c)
  sch:bind(rows, "threadIdx.y")
  sch:reverse_compute_at(stored, rows)
  for operand = 0, 1 do
    sch:read_at(steps, c, operand, "shared")
    sch:read_at(steps, c, operand,
                operand == 0 and "wmma.matrix_a" or "wmma.matrix_b")
  end
  local start = sch:decompose_reduction(c, steps)
  sch:tensorize(assert(tensor.tile(sch, start, { 16, 16 })),
                tensor.wmma "wmma_fill_16x16x16_f32")
  sch:tensorize(piece, tensor.wmma "wmma_sync_16x16x16_f16f16f32")
  sch:tensorize(assert(tensor.tile(sch, stored, { 16, 16 })),
                tensor.wmma "wmma_store_16x16x16_f32_global")
  return sch
end

return one_block
