-- SPDX-License-Identifier: Apache-2.0
-- The example of Gauss-Seidel: skewed, a wavefront's points run in parallel,
-- and nothing else does.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local seidel = dofile((arg[0]:gsub("[^/]*$",
                                   "../../examples/gauss_seidel.lua")))

local rows, fronts = seidel.rows(12), seidel.fronts(12)
assert(ts.equivalent(rows, fronts))
for n, p in ipairs { rows, fronts } do
  for k = 1, 2 do
    local s = ts.schedule(p)
    local loop = select(k, s:get_loops(s:get_block "relax"))
    if n == 2 and k == 2 then
      s:parallel(loop)
      checks.same(s, p)
      assert(ts.equivalent(s, rows))
    else
      checks.refused(s, "RACE", "parallel", loop)
    end
  end
end
for seed = 1, 3 do
  local p = seidel.fronts(40)
  local s = ts.schedule(p, { seed = seed })
  seidel.schedule(s)
  checks.same(s, p)
  assert(ts.equivalent(s, seidel.rows(40)))
end
local r = ts.tune(fronts, { trials = 2, batch = 2, min_time = 0.002,
                            space = seidel.schedule, check = "all" })
assert(r.status == "OK" and r.failed == 0, r.funnel)
