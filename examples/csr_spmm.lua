-- SPDX-License-Identifier: Apache-2.0
-- Sparse matrix times dense matrix, the sparse one in compressed sparse rows:
-- row i has the elements V[k] of columns J[k], k from P[i] up to but not
-- including P[i + 1].  Described, scheduled, checked and tuned.
--   tessera examples/csr_spmm.lua [TRIALS]
local ts = require "tessera"

local spmm = {}

-- N rows, M columns, NNZ elements; the dense matrix has D columns.
function spmm.program(N, M, NNZ, D)
  N, M, NNZ, D = N or 256, M or 256, NNZ or 4096, D or 64
  local b = ts.builder "csr_spmm"
  local P = b:input("P", { N + 1 }, "int32", { offsets_into = NNZ })
  local J = b:input("J", { NNZ }, "int32", { range = { 0, M } })
  local V, X = b:input("V", { NNZ }), b:input("X", { M, D })
  local Y = b:output("Y", { N, D })
  b:loop("i", 0, N, function(i)
    b:loop("z", 0, D, function(z)
      b:block("zero", { { "vi", extent = N, bind = i },
                        { "vd", extent = D, bind = z } }, function(vi, vd)
        b:store(Y, { vi, vd }, 0)
      end)
    end)
    local from, to = ts.cast(P(i), "int64"), ts.cast(P(i + 1), "int64")
    b:loop("k", from, to - from, function(k)
      b:loop("d", 0, D, function(d)
        b:block("row", { { "vi", extent = N, bind = i },
                         { "vk", "reduce", extent = NNZ, bind = k },
                         { "vd", extent = D, bind = d } },
                function(vi, vk, vd)
          b:store(Y, { vi, vd }, Y(vi, vd) + V(vk) * X(J(vk), vd))
        end)
      end)
    end)
  end)
  return b:program()
end

-- Chunks of rows in parallel; of each row strips of columns, which stay in
-- registers while the row's elements go by, those in groups that are unrolled.
function spmm.schedule(sch)
  local i, k, d = sch:get_loops(sch:get_block "row")
  local _, z = sch:get_loops(sch:get_block "zero")
  local third = { 1 / 3, 1 / 3, 1 / 3 }
  local width = sch:sample_categorical({ 8, 16, 32 }, third)
  local group = sch:sample_categorical({ 1, 2, 4 }, third)
  local strip, lanes = sch:split(d, { ts.auto, width })
  local groups, one = sch:split(k, { ts.auto, group })
  sch:reorder(strip, groups, one, lanes)
  sch:vectorize(lanes)
  sch:unroll(one)
  local _, zeros = sch:split(z, { ts.auto, width })
  sch:vectorize(zeros)
  sch:parallel((sch:split(i, { sch:sample_perfect_tile(i, { n = 2 }) })))
end

if arg and arg[0]:find "csr_spmm" then
  local p = spmm.program(256, 256, 4096, 64)
  local sch = ts.schedule(p)
  spmm.schedule(sch)
  local small = spmm.program(16, 12, 40, 64)
  local other = ts.schedule(small)
  spmm.schedule(other)
  assert(ts.equivalent(small, other))
  local result = ts.tune(p, { trials = tonumber(arg[1]) or 16,
                              space = spmm.schedule })
  print(("%.1f us"):format(result.latency * 1e6))
end

return spmm
