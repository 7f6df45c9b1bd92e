-- SPDX-License-Identifier: Apache-2.0
-- Sparse matrix times vector, the matrix in compressed sparse rows: row i has
-- the elements V[k] of columns J[k], k from P[i] up to but not including
-- P[i + 1].  Described, scheduled, checked and tuned.
--   tessera examples/csr_spmv.lua [TRIALS]
local ts = require "tessera"

local spmv = {}

-- N rows, M columns, NNZ elements.
function spmv.program(N, M, NNZ)
  N, M, NNZ = N or 512, M or 512, NNZ or 4096
  local b = ts.builder "csr_spmv"
  local P = b:input("P", { N + 1 }, "int32", { offsets_into = NNZ })
  local J = b:input("J", { NNZ }, "int32", { range = { 0, M } })
  local V, X = b:input("V", { NNZ }), b:input("X", { M })
  local Y = b:output("Y", { N })
  b:loop("i", 0, N, function(i)
    b:block("zero", { { "vi", extent = N, bind = i } }, function(vi)
      b:store(Y, { vi }, 0)
    end)
    local from, to = ts.cast(P(i), "int64"), ts.cast(P(i + 1), "int64")
    b:loop("k", from, to - from, function(k)
      b:block("row", { { "vi", extent = N, bind = i },
                       { "vk", "reduce", extent = NNZ, bind = k } },
              function(vi, vk)
        b:store(Y, { vi }, Y(vi) + V(vk) * X(J(vk)))
      end)
    end)
  end)
  return b:program()
end

-- Rows in chunks, the chunks in parallel: short rows make it a question how
-- many a chunk should have.
function spmv.schedule(sch)
  local i = sch:get_loops(sch:get_block "row")
  local chunk = sch:split(i, { sch:sample_perfect_tile(i, { n = 2 }) })
  sch:parallel(chunk)
end

if arg and arg[0]:find "csr_spmv" then
  local p = spmv.program(512, 512, 4096)
  local sch = ts.schedule(p)
  spmv.schedule(sch)
  assert(ts.equivalent(p, sch))
  local result = ts.tune(p, { trials = tonumber(arg[1]) or 16,
                              space = spmv.schedule })
  print(("%.1f us"):format(result.latency * 1e6))
end

return spmv
