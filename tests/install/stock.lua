-- SPDX-License-Identifier: Apache-2.0
-- Run by stock lua5.4 and by the command: the module loads, sets no global,
-- and finds its Lua side and the schedule modules.
local before = {}
for name in pairs(_G) do before[name] = true end
local ts = require "tessera"
assert(type(ts) == "table", "require 'tessera' gives a table")
for name in pairs(_G) do
  assert(before[name], "require 'tessera' set the global " .. tostring(name))
end
for _, name in ipairs(arg) do require(name) end
