-- SPDX-License-Identifier: Apache-2.0
-- Errors about arguments name the method, however it was called.
local ts = require "tessera"

local A = ts.placeholder("A", { 4 })
local B = ts.compute("B", { 4 }, function(i) return A(i) + 1 end)
local sch = ts.schedule(ts.program("p", { A }, { B }))
local t = ts.tensor("float32", { 4 })

local function names(name, ...)
  local ok, e = pcall(...)
  assert(not ok and tostring(e):find("to '" .. name .. "'", 1, true),
         tostring(e))
end
names("tessera.Schedule.can", sch.can, sch)
names("tessera.Tensor.get", t.get, t, 0.5)
names("can", function() return sch:can() end)
