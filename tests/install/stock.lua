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

-- A folder tessera/modules/ of the user's does not shadow the library's; one of
-- modules/ is found under its own name.
local folder = os.tmpname()
os.remove(folder)
assert(os.execute(("mkdir -p %s/tessera/modules %s/modules"):format(folder,
                                                                    folder)))
for _, name in ipairs { "tessera/modules/auto_inline", "modules/mine" } do
  local file <close> = assert(io.open(folder .. "/" .. name .. ".lua", "w"))
  file:write "return 'mine'"
end
local program = [[
package.path = "./?.lua;" .. package.path
require "tessera"
assert(require "tessera.modules.auto_inline" ~= "mine")
assert(require "modules.mine" == "mine")
io.write "not shadowed"]]
local file <close> = assert(io.open(folder .. "/p.lua", "w"))
file:write(program):flush()
local said <close> = assert(io.popen(("cd %s && '%s' p.lua 2>&1"):format(
                                     folder, arg[-1])))
local words = said:read "a"
os.execute("rm -r " .. folder)
assert(words == "not shadowed", words)
