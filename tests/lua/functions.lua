-- SPDX-License-Identifier: Apache-2.0
-- Programs of several functions: one of them is worked on.
local ts = require "tessera"

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
assert(ts.equivalent(sch, q) and ts.equivalent(sch, square("square", 4)))
local t = sch:trace()
assert(t:replay(q):program():hash() == sch:program():hash())
assert(ts.trace.from_json(t:json(), q):replay():program():hash() ==
       sch:program():hash())
local a = ts.tensor("float32", { 4, 4 }, "integers")
local out = ts.tensor("float32", { 4, 4 }, "zeros")
local want = ts.tensor("float32", { 4, 4 }, "zeros")
ts.build(sch, "llvm")(a, out)
ts.interpret(q, { a, want })
assert(tostring(out) == tostring(want))
local first = ts.schedule(p)
assert(#table.pack(first:get_loops(first:get_block("C"))) == 1)

-- What is not there is said.
local ok, e = pcall(p.work_on, p, "none")
assert(not ok and e.code == "NOT_FOUND" and tostring(e):find "'none'")
ok, e = pcall(sch.get_block, sch, "C", { func_name = "twice" })
assert(not ok and tostring(e):find "not named", tostring(e))
