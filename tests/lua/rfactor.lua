-- SPDX-License-Identifier: Apache-2.0
-- rfactor for every kind of reducer, each place of the new dimension and each
-- loop of a split reduction: the same in the residue domain, and by compiled
-- code what the program computed before, exactly.
local ts = require "tessera"

local here = arg[0]:match("^(.*)/[^/]+$") or "."
local reducers = dofile(here .. "/../support/reducers.lua")

local N, K = reducers.N, 24
local arguments = reducers.arguments

local function same(x, y)
  for i = 2, #x do
    for n = 0, N - 1 do
      if x[i]:get(n) ~= y[i]:get(n) then return false end
    end
  end
  return true
end

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
          local done, e = pcall(sch.rfactor, sch, split[2], axis)
          assert(not done and e.reason == "REDUCER_ORDERED", name)
          goto next
        end
        local rf = sch:rfactor(split[which], axis)
        assert(sch:program():verify())
        local ok, where = ts.equivalent(sch, p)
        assert(ok, ("%s, axis %d: %s"):format(name, axis, tostring(where)))
        local a = ts.tensor("float32", { N, K },
                            name == "prod" and ones or values)
        local want, got = arguments(p, a), arguments(p, a)
        local built = arguments(p, a)
        ts.interpret(p, want)
        ts.interpret(sch, got)
        assert(same(want, got), name .. ": the oracle differs")
        ts.build(sch, "llvm")(table.unpack(built))
        assert(same(want, built), name .. ": compiled code differs")
        ::next::
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
    local ok, e = pcall(sch.rfactor, sch, kl, axis)
    assert(not ok and e.reason == "AXIS_OUTSIDE")
  end
end
