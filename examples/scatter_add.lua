-- SPDX-License-Identifier: Apache-2.0
-- Rows added to the rows of a table that an index tensor names, several to one
-- perhaps, as the gradient of an embedding is.  Described, scheduled, checked
-- and tuned, on random indices and on such as a user may have.
--   tessera examples/scatter_add.lua [TRIALS]
local ts = require "tessera"

local scatter = {}

-- N rows of D numbers into a table of R rows.
function scatter.program(R, N, D)
  R, N, D = R or 128, N or 512, D or 64
  local b = ts.builder "scatter_add"
  local I = b:input("I", { N }, "int32", { range = { 0, R } })
  local X, T = b:input("X", { N, D }), b:output("T", { R, D })
  b:loop("r", 0, R, function(r)
    b:loop("z", 0, D, function(z)
      b:block("zero", { { "vr", extent = R, bind = r },
                        { "vz", extent = D, bind = z } }, function(vr, vz)
        b:store(T, { vr, vz }, 0)
      end)
    end)
  end)
  b:loop("n", 0, N, function(n)
    b:loop("d", 0, D, function(d)
      b:block("add", { { "vn", "reduce", extent = N, bind = n },
                       { "vd", extent = D, bind = d } }, function(vn, vd)
        b:store(T, { I(vn), vd }, T(I(vn), vd) + X(vn, vd))
      end)
    end)
  end)
  return b:program()
end

-- Two rows may go to one place, so rows are added one after the other, and
-- strips of columns in parallel.
function scatter.schedule(sch)
  local n, d = sch:get_loops(sch:get_block "add")
  local r, z = sch:get_loops(sch:get_block "zero")
  local width = sch:sample_categorical({ 8, 16, 32 }, { 1 / 3, 1 / 3, 1 / 3 })
  local strip, lanes = sch:split(d, { ts.auto, width })
  sch:reorder(strip, n, lanes)
  sch:vectorize(lanes)
  sch:parallel(strip)
  local _, zeros = sch:split(z, { ts.auto, width })
  sch:vectorize(zeros)
  sch:parallel(r)
end

if arg and arg[0]:find "scatter_add" then
  local R, N, D = 128, 512, 64
  local p = scatter.program(R, N, D)
  local sch = ts.schedule(p)
  scatter.schedule(sch)
  assert(ts.equivalent(p, sch))
  local all_one = {}
  for n = 1, N do all_one[n] = 7 end
  for name, inputs in pairs {
    ["random indices"] = false,
    ["one row takes all"] = { ts.tensor("int32", { N }, all_one),
                              ts.tensor("float32", { N, D }, "random") } } do
    local result = ts.tune(p, { trials = tonumber(arg[1]) or 16,
                                space = scatter.schedule,
                                inputs = inputs or nil })
    print(("%s: %.1f us"):format(name, result.latency * 1e6))
  end
end

return scatter
