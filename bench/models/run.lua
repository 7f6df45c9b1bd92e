-- SPDX-License-Identifier: Apache-2.0
-- Models of a folder (bench/models/run makes it): how many nodes and kernels
-- they have, how long it takes to read the file, to make the model without
-- tuning and to run it, and the greatest absolute and relative differences of
--   compiled: the outputs of the compiled model from ONNX Runtime's,
--   by node: those of the file's nodes, one by one and unscheduled, from ONNX
--     Runtime's,
--   by layer: what each kernel gives from what the nodes of its group give.
-- All have to be close, as support.lua says; else the status is 1.
--   build/bin/tessera bench/models/run.lua FOLDER [NAME..]
local here = arg[0]:gsub("[^/]*$", "")
package.path = here .. "?.lua;" .. package.path
local ts = require "tessera"
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

-- ---- one model -------------------------------------------------------------

local function in_order(g, inputs)
  local list = {}
  for i, v in ipairs(g:inputs()) do list[i] = inputs[v.name] end
  return list
end

local function quantizes(g)
  for _, n in ipairs(g:nodes()) do
    if n.op == "quantize" then return true end
  end
  return false
end

-- What each kernel of a model gives, from the same kernels in a network of
-- which all their results are outputs; and what the nodes of the model's graph
-- give.  Where values are quantized bytes may be a step apart, and floats that
-- are made of them as far as a step is; so only bytes are compared.
local function by_layer(m, inputs)
  local g, tensors, got, want = m.graph, in_order(m.graph, inputs), {}, {}
  local _, known = graph.run(g, tensors)
  for _, k in ipairs(m.kernels) do
    for _, v in ipairs(k.results) do g:output("layer", v) end
  end
  local only_bytes = quantizes(g)
  for _, v in ipairs((g:outputs())) do
    local result = ts.tensor(v.dtype, v.shape)
    tensors[#tensors + 1] = result
    if not only_bytes or v.dtype:find "int8$" then
      got[#got + 1], want[#want + 1] = result, known[v.id] or v:tensor()
    end
  end
  g:make_network(m.steps):run(tensors)
  return got, want
end

local function columns(d)
  return ("%8.1e %8.1e%s"):format(d.abs, d.rel, d.close and " " or "!")
end

local function run(name)
  local start = os.time()
  local g, inputs, bounds = support.read(folder, name)
  local nodes, read = #g:nodes(), os.time()
  local function difference(got)
    return support.apart(support.pairs_of(folder, name, g, bounds, got))
  end
  local plain = difference(graph.run(g, in_order(g, inputs)))
  local before = os.time()
  local m = graph.model(g, {})
  local made, least = os.time(), 0
  local compiled = difference { m:run(inputs) }
  for _, t in ipairs(m:times(inputs, 3)) do least = least + t.seconds end
  local layers = support.apart(by_layer(m, inputs))
  print(("%-20s %5d %7d %6d %6d %9.2f  %s %s %s"):format(
    name, nodes, #m.kernels, read - start, made - before, least * 1e3,
    columns(compiled), columns(plain), columns(layers)))
  return compiled.close and plain.close and layers.close
end

print(("%-47s %-18s  %-18s  %s"):format("", "compiled", "by node", "by layer"))
print("model                nodes kernels read s make s    run ms  " ..
      ("%8s %8s  "):rep(3):format("abs", "rel", "abs", "rel", "abs", "rel"))
local passed = 0
for _, name in ipairs(names) do
  local ok, e = pcall(run, name)
  if ok and e then passed = passed + 1 end
  if not ok then
    print(("%-20s %s"):format(name, type(e) == "table" and e.message or e))
  end
  io.stdout:flush()
  collectgarbage()
end
print(('{"figure": "onnx_models_passed", "value": %d, "of": %d, ' ..
       '"unit": "models", "rtol": %g, "atol": %g}'):format(
       passed, #names, support.rtol, support.atol))
os.exit(passed == #names)
