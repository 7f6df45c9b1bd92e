-- SPDX-License-Identifier: Apache-2.0
-- Errors of slips say where they are, and what there is instead.
local ts, ops = require "tessera", require "tessera.ops"
local intrin = require "tessera.intrin"

local p = ops.matmul { m = 8, n = 8, k = 8 }

local function says(what, f, ...)
  local ok, e = pcall(f, ...)
  assert(not ok and tostring(e):find(what, 1, true), tostring(e))
end

-- Names that there are not.
local sch = ts.schedule(p)
says("a schedule has no method 'splitt'; did you mean 'split'?", function()
  sch:splitt()
end)
says("a schedule has no method 'quantum'\n", function()
  error((select(2, pcall(function() sch:quantum() end)).message .. "\n"))
end)
local graph = require "tessera.graph"
local g = graph.new "slips"
local x = g:input("x", { 2, 3 })
says("there is no operator 'matmull'; did you mean 'matmul'?", function()
  ops.matmull { m = 8 }
end)
says("there is no operator 'rellu'; did you mean 'relu'?", function()
  g:rellu(x)
end)
says("there is no operator 'outputt'; did you mean 'output'?", function()
  g:outputt("y", x)
end)
says("there is no operator 'rellu'; did you mean 'relu'?", function()
  graph.ops(g).rellu(x)
end)
says("a trace has no method 'reply'; did you mean 'replay'?", function()
  sch:trace():reply(p)
end)
says("a tensor has no method 'sett'; did you mean 'set'?", function()
  ts.tensor("float32", { 1 }):sett(0, 1)
end)
says('there is no block named "c": there are "C"', sch.get_block, sch, "c")
says("there is no intrinsic 'dot_16x4_vnnj'; did you mean 'dot_16x4_vnni'?",
     intrin.use, "dot_16x4_vnnj")

-- A module that forgets to return what it did, not one that did nothing.
local function module(name, apply)
  return ts.space.compose { ts.module { name = name, apply = apply } {} }
end
local forgets = module("forgets", function(s, block)
  s:annotate(block, "x", 1)
end)
assert(forgets:explain(p, "llvm"):find(
  "forgets at C: failed: .*scheduled the block and returned nothing"))
says("returned nothing: it ends with `return sch`", ts.tune, p,
     { trials = 1, space = forgets, on_error = "stop" })
local idle = module("idle", function() end):explain(p, "llvm")
assert(idle:find "idle at C: not applicable: no reason given", idle)
local declines = module("declines", function(s, block)
  s:annotate(block, "x", 1)
  return nil, "not this one"
end):explain(p, "llvm")
assert(declines:find "declines at C: not applicable: not this one", declines)

-- Where no frame of a script is left, the script is named.
local ok, e = coroutine.resume(coroutine.create(function()
  return ops.matmul { m = 8, n = 8, kk = 8 }
end))
assert(not ok and tostring(e):find(arg[0] .. ": unknown option 'kk'", 1, true),
       tostring(e))

-- A module of the user's that has the name of one of ours.
local base = os.tmpname()
os.remove(base)
assert(os.execute("mkdir -p " .. base .. "/modules"))
for _, name in ipairs { "pack", "mine" } do
  local path = ("%s/modules/%s.lua"):format(base, name)
  local file <close> = assert(io.open(path, "w"))
  file:write "return 'of the user'"
end
package.path = package.path .. ";" .. base .. "/?.lua"
says("/modules/pack.lua is hidden by Tessera's module", require, "modules.pack")
assert(require "modules.mine" == "of the user")
assert(require "tessera.modules.pack".name == "pack")
os.execute("rm -r " .. base)
