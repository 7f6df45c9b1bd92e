-- SPDX-License-Identifier: Apache-2.0
-- rfactor for every kind of reducer, each place of the new dimension and each
-- loop of a split reduction: the same in the residue domain, and by compiled
-- code what the program computed before, exactly.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local reducers = dofile((arg[0]:gsub("[^/]*$", "../support/reducers.lua")))
local same, refused = checks.same, checks.refused

local N, K = reducers.N, 24

-- Some numbers are the greatest of their row more than once.
local values = {}
for n = 1, N do
  values[n] = {}
  for k = 1, K do values[n][k] = (k * 7 + n * 5) % 11 + 1 end
end
local ones = {}
for n = 1, N do
  ones[n] = {}
  for k = 1, K do ones[n][k] = (k + n) % 5 == 0 and 2 or 1 end
end

for name, make in pairs(reducers.by_name) do
  for _, factors in ipairs { { 4, 6 }, { 5, 5 } } do
    for which = 1, 2 do
      for axis = -2, 1 do
        local A = ts.placeholder("A", { N, K })
        local k = ts.reduce_axis("k", K)
        local p = ts.program(name, { A }, { make(A, k) })
        local sch = ts.schedule(p)
        local _, kl = sch:get_loops(sch:get_block("C"))
        local split = { sch:split(kl, factors) }
        if which == 2 and reducers.in_order[name] then
          refused(sch, "REDUCER_ORDERED", "rfactor", split[2], axis)
        else
          sch:rfactor(split[which], axis)
          same(sch, p)
          local a = ts.tensor("float32", { N, K },
                              name == "prod" and ones or values)
          checks.exact(sch, p, reducers.arguments(p, a))
        end
      end
    end
  end
end

-- A place that is none.
do
  local A = ts.placeholder("A", { N, K })
  local k = ts.reduce_axis("k", K)
  local p = ts.program("sum", { A }, { reducers.by_name.sum(A, k) })
  local sch = ts.schedule(p)
  local _, kl = sch:get_loops(sch:get_block("C"))
  for _, axis in ipairs { -3, 2 } do
    refused(sch, "AXIS_OUTSIDE", "rfactor", kl, axis)
  end
end
