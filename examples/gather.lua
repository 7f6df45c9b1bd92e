-- SPDX-License-Identifier: Apache-2.0
-- Rows of a table, gathered by an index tensor, as in an embedding, and added
-- to what is there.  Described, scheduled, checked and tuned.
--   tessera examples/gather.lua [TRIALS]
local ts = require "tessera"

local gather = {}

-- N rows of D numbers from a table of R rows.
function gather.program(R, N, D)
  R, N, D = R or 1000, N or 256, D or 64
  local table = ts.placeholder("T", { R, D })
  local index = ts.placeholder("I", { N }, "int32", { range = { 0, R } })
  local bias = ts.placeholder("bias", { D })
  local rows = ts.compute("rows", { N, D }, function(i, j)
    return table(index(i), j)
  end)
  local out = ts.compute("out", { N, D }, function(i, j)
    return rows(i, j) + bias(j)
  end)
  return ts.program("gather", { table, index, bias }, { out })
end

-- The gathered rows go into the sum, the indices of a tile into a buffer of
-- their own, and a row is read in vectors.
function gather.schedule(sch)
  sch:compute_inline(sch:get_block "rows")
  local out = sch:get_block "out"
  local i, j = sch:get_loops(out)
  local i0 = sch:split(i, { sch:sample_perfect_tile(i, { n = 2 }) })
  local _, j1 = sch:split(j, { ts.auto, 8 })
  sch:vectorize(j1)
  sch:parallel(i0)
  sch:compute_at(sch:cache_read(out, 1, "local"), i0)
end

if arg and arg[0]:find "gather" then
  local p = gather.program(1000, 256, 64)
  local sch = ts.schedule(p)
  gather.schedule(sch)
  assert(ts.equivalent(p, sch) and ts.equivalent(sch, p))
  local result = ts.tune(p, { trials = tonumber(arg[1]) or 16,
                              space = gather.schedule })
  print(("%.1f us"):format(result.latency * 1e6))
end

return gather
