-- SPDX-License-Identifier: Apache-2.0
-- The card of this machine against a preset, and an access out of bounds:
--   tessera bench/gpu/limits.lua [MODEL]
-- A kernel that faults loses the driver's context, so its worker ends; it is
-- the kernel's fault, and the next call has a worker of its own.
local ts = require "tessera"
local here = ts.target "cuda"
print(here)
if arg[1] then
  local preset = ts.target("cuda -model=" .. arg[1])
  for _, field in ipairs { "max-threads-per-block", "shared-memory-per-block",
                           "max-shared-memory-per-block",
                           "registers-per-block", "thread-warp-size",
                           "multiprocessors", "l2" } do
    local a, b = here:get(field), preset:get(field)
    print(("%-28s %10d %10d%s"):format(field, a, b, a == b and "" or " DIFFER"))
  end
end

local n = 1024
local A = ts.placeholder("A", { n })
local I = ts.placeholder("I", { n }, "int32", { range = { 0, n } })
local B = ts.compute("B", { n }, function(i) return A(I(i)) end)
local sch = ts.schedule(ts.program("gather", { A, I }, { B }))
local x, y = sch:split(sch:get_loops(sch:get_block "B"), { ts.auto, 128 })
sch:bind(x, "blockIdx.x")
sch:bind(y, "threadIdx.x")
local kernel = ts.build(sch, here)
local a = ts.tensor("float32", { n }, "random", 1)
local b = ts.tensor("float32", { n })
local good, bad = ts.tensor("int32", { n }), ts.tensor("int32", { n })
for i = 0, n - 1 do bad:set(i, 1 << 30) end
kernel(a, good, b)
assert(b:get(7) == a:get(0))
local ok, why = pcall(kernel, a, bad, b)
assert(not ok, "an access out of bounds was not noticed")
print(why)
kernel(a, good, b)
assert(b:get(9) == a:get(0))
print "the next call runs"
