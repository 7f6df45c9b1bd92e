-- SPDX-License-Identifier: Apache-2.0
-- For those who step through a trace: forwards, back, another decision, and
-- what the program becomes.  `tessera step` does the same at a prompt.
local ts = require "tessera"
local ops = require "tessera.ops"

local program = ops.matmul { m = 64, n = 64, k = 64 }
local sch = ts.schedule(program, { seed = 1 })
local C = sch:get_block("C")
local i, j, k = sch:get_loops(C)
local i0, i1 = sch:split(i, { sch:sample_perfect_tile(i, { n = 2 }) })
sch:reorder(i0, j, k, i1)
sch:parallel(i0)

local s = sch:trace():stepper(program)
while s:next() do
  print(("-- %d: %s"):format(s:position(), s:instruction()))
  print(s:diff())
end

s:goto_(3)
print("the decision is {" .. table.concat(s:decision(), ", ") .. "}")
for n, a in ipairs((s:alternatives())) do
  print(n, "{" .. table.concat(a.decision, ", ") .. "}", a.probability)
end
assert(s:decide { 8, 8 })
s:goto_(s:size())
print(s:program())
assert(ts.equivalent(s:trace():replay(program), program))
