-- SPDX-License-Identifier: Apache-2.0
-- Programs of several functions: one of them is scheduled.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local fails, same = checks.fails, checks.same

local function twice(name, n)
  local A = ts.placeholder("A", { n })
  return ts.program(name, { A }, { ts.compute("C", { n }, function(i)
    return A(i) + A(i)
  end) })
end

local function square(name, n)
  local A = ts.placeholder("A", { n, n })
  return ts.program(name, { A }, { ts.compute("C", { n, n },
    function(i, j) return A(i, j) * A(i, j) end) })
end

local p = twice("twice", 8):add(square("square", 4))
local q = p:work_on "square"
assert(p:name() == "twice" and q:name() == "square")
assert(p:hash() ~= q:hash() and p:work_on "twice":hash() == p:hash())
assert(#p:params() == 2 and #p:params()[1].shape == 1)
assert(#q:params()[1].shape == 2)

-- Each is scheduled, replayed, compared and built by itself.
local sch = ts.schedule(q, { seed = 1 })
local c = sch:get_block("C", { func_name = "square" })
local i, j = sch:get_loops(c)
sch:parallel(i)
sch:vectorize(j)
same(sch, q)
assert(ts.equivalent(sch, square("square", 4)))
local t = sch:trace()
assert(ts.trace.from_json(t:json(), q):replay():program():hash() ==
       sch:program():hash())
checks.exact(sch, q, checks.arguments(q, "integers"))
local first = ts.schedule(p)
assert(#table.pack(first:get_loops(first:get_block("C"))) == 1)

-- What is not there is said.
fails("NOT_FOUND", "'none'", p.work_on, p, "none")
fails(nil, "not named", sch.get_block, sch, "C", { func_name = "twice" })
