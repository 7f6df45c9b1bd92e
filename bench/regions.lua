-- SPDX-License-Identifier: Apache-2.0
-- What the end of a parallel loop costs: a kernel of ten small ones, one
-- after the other.
--
--   build/bin/tessera bench/regions.lua
--   OMP_WAIT_POLICY=passive build/bin/tessera bench/regions.lua
local ts = require "tessera"

local REGIONS, N = 10, 4096
local A = ts.placeholder("A", { N })
local last = A
for r = 1, REGIONS do
  local of = last
  last = ts.compute("B" .. r, { N }, function(i) return of(i) * 1.5 + 0.25 end)
end
local p = ts.program("regions", { A }, { last })

local a, b = ts.tensor("float32", { N }, "random"), ts.tensor("float32", { N })
for _, parallel in ipairs { false, true } do
  local sch = ts.schedule(p)
  for r = 1, parallel and REGIONS or 0 do
    sch:parallel((sch:get_loops(sch:get_block("B" .. r))))
  end
  local time = ts.build(sch):time({ a, b }, { min_time = 1 })
  for _, statistic in ipairs { "median", "mean" } do
    print(('{"figure": "regions_us", "value": %.1f, "unit": "us", ' ..
           '"parallel": %s, "statistic": "%s"}'):format(
           1e6 * time[statistic], parallel, statistic))
  end
end
