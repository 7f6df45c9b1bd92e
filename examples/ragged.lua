-- SPDX-License-Identifier: Apache-2.0
-- Ragged rows: sequences of different lengths, one after the other in one
-- tensor, and the mean of each.  Described, scheduled, checked and tuned.
--   tessera examples/ragged.lua [TRIALS]
local ts = require "tessera"

local ragged = {}

-- B sequences of tokens 0 .. TOKENS - 1 of D numbers; sequence s begins at
-- token P[s] and ends before P[s + 1].  An empty one has a mean of 0.
function ragged.program(B, TOKENS, D)
  B, TOKENS, D = B or 32, TOKENS or 1024, D or 64
  local b = ts.builder "ragged_mean"
  local P = b:input("P", { B + 1 }, "int32", { offsets_into = TOKENS })
  local X = b:input("X", { TOKENS, D })
  local M = b:output("M", { B, D })
  b:loop("s", 0, B, function(s)
    local from, to = ts.cast(P(s), "int64"), ts.cast(P(s + 1), "int64")
    b:loop("z", 0, D, function(z)
      b:block("zero", { { "vs", extent = B, bind = s },
                        { "vd", extent = D, bind = z } }, function(vs, vd)
        b:store(M, { vs, vd }, 0)
      end)
    end)
    b:loop("t", from, to - from, function(t)
      b:loop("d", 0, D, function(d)
        b:block("sum", { { "vs", extent = B, bind = s },
                         { "vt", "reduce", extent = TOKENS, bind = t },
                         { "vd", extent = D, bind = d } },
                function(vs, vt, vd)
          b:store(M, { vs, vd }, M(vs, vd) + X(vt, vd))
        end)
      end)
    end)
    b:loop("e", 0, D, function(e)
      b:block("mean", { { "vs", extent = B, bind = s },
                        { "vd", extent = D, bind = e } }, function(vs, vd)
        local n = ts.max(P(vs + 1) - P(vs), 1)
        b:store(M, { vs, vd }, M(vs, vd) / ts.cast(n, "float32"))
      end)
    end)
  end)
  return b:program()
end

-- Sequences in parallel; each token's numbers in vectors.
function ragged.schedule(sch)
  local sum = sch:get_block "sum"
  local s, _, d = sch:get_loops(sum)
  local width = sch:sample_categorical({ 4, 8, 16 }, { 1 / 3, 1 / 3, 1 / 3 })
  local _, d1 = sch:split(d, { ts.auto, width })
  sch:vectorize(d1)
  sch:parallel(s)
end

if arg and arg[0]:find "ragged" then
  local p = ragged.program(32, 1024, 64)
  local sch = ts.schedule(p)
  ragged.schedule(sch)
  assert(ts.equivalent(p, sch))
  local result = ts.tune(p, { trials = tonumber(arg[1]) or 16,
                              space = ragged.schedule })
  print(("%.1f us"):format(result.latency * 1e6))
end

return ragged
