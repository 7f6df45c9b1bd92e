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

-- A module that fails is told of on stderr, once.
local script = os.tmpname()
local f <close> = assert(io.open(script, "w"))
f:write [[
local ts = require "tessera"
local p = require "tessera.ops".matmul { m = 8, n = 8, k = 8 }
local bad = ts.module {
  name = "bad", apply = function() error("my mistake", 0) end }
for _ = 1, 2 do ts.space.sketches(ts.space.compose { bad {} }, p) end
]]
f:close()
local told <close> = assert(io.popen(("'%s' %s 2>&1"):format(arg[-1], script)))
local text = told:read "a"
os.remove(script)
assert(text == "tessera: warning: module bad failed at block root and is " ..
       "not used there: my mistake\n", text)
