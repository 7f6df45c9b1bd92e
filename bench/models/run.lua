-- SPDX-License-Identifier: Apache-2.0
-- Models of a folder (bench/models/run makes it) against ONNX Runtime: nodes,
-- kernels, seconds to read the file, to make the model and to run it once, and
-- the greatest difference.
--   build/bin/tessera bench/models/run.lua FOLDER [NAME..]
local here = arg[0]:gsub("[^/]*$", "")
package.path = here .. "?.lua;" .. package.path
local graph = require "tessera.graph"
local support = require "support"

local folder, names = arg[1], { table.unpack(arg, 2) }
if not folder then
  io.stderr:write("usage: run.lua FOLDER [NAME..]\n")
  os.exit(2)
end
if #names == 0 then
  for path in assert(io.popen(("ls '%s'/*.onnx"):format(folder))):lines() do
    names[#names + 1] = path:match "([^/]*)%.onnx$"
  end
end

local MOST = 1e-3 -- in parts of the greatest element of an output

local function run(name)
  local start = os.time()
  local g, inputs = support.read(folder, name)
  local nodes, read = #g:nodes(), os.time()
  local m = graph.model(g, {})
  local made = os.time()
  local outputs = { m:run(inputs) }
  local differs = support.difference(folder, name, m.graph, outputs)
  local least = 0
  for _, t in ipairs(m:times(inputs, 3)) do least = least + t.seconds end
  print(("%-20s %5d %7d %6d %6d %9.2f  %.2g"):format(
    name, nodes, #m.kernels, read - start, made - read, least * 1e3, differs))
  return differs <= MOST
end

print "model                nodes kernels read s make s    run ms  differs by"
local passed = 0
for _, name in ipairs(names) do
  local ok, e = pcall(run, name)
  if ok and e then passed = passed + 1 end
  if not ok then
    print(("%-20s %s"):format(name, type(e) == "table" and e.message or e))
  end
  collectgarbage()
end
print(('{"figure": "onnx_models_passed", "value": %d, "of": %d, ' ..
       '"unit": "models"}'):format(passed, #names))
os.exit(passed == #names)
