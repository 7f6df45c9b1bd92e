-- SPDX-License-Identifier: Apache-2.0
-- Programs that call functions of TESSERA_EXTERNS: tuned, used, saved, loaded.
local ts = require "tessera"
assert(os.getenv "TESSERA_EXTERNS")

local A = ts.placeholder("A", { 64 })
local B = ts.compute("B", { 64 }, function(i)
  return ts.call_extern("test_plus_one", "float32", A(i)) * 2
end)
local p = ts.program("calls", { A }, { B })
local a = ts.tensor("float32", { 64 }, "integers", 1)

local function check(kernel)
  local b = ts.tensor("float32", { 64 })
  kernel(a, b)
  for i = 0, 63 do assert(b:get(i) == (a:get(i) + 1) * 2, i) end
end

local r = ts.tune(p, { trials = 2, min_time = 0.001, progress = false })
assert(r.status == "OK", r.message)
check(r.kernel)
check(ts.build(r.schedule))

local base = os.tmpname()
ts.build(p):save(base .. ".kernel")
check(ts.load_kernel(base .. ".kernel"))
ts.build(p):save(base .. ".so")
for _, e in ipairs { "", ".kernel", ".so", ".h" } do os.remove(base .. e) end
