-- SPDX-License-Identifier: Apache-2.0
-- Running a graph node by node, each as an unscheduled program: the reference
-- that a model is compared with, and how constants fold.
local ts = require "tessera"
local category = require "tessera.graph.categories"
local program = require "tessera.graph.program"
local value = require "tessera.graph.value"

local invalid = debug.getregistry()["tessera.invalid"]

local plain = {}

-- As many operations take the interpreter as long as building a kernel.
local interpreted = 200000

local kernels = {} -- by what they compute

local function kernel_of(key, p)
  kernels[key] = kernels[key] or ts.build(p())
  return kernels[key]
end

-- Where the last extents differ from those of the result, they are 1.
local function sizes_of(v, result)
  local shape, skipped = {}, #result.shape - #v.shape
  for d, x in ipairs(v.shape) do
    shape[d] = x == 1 and 1 or "n" .. d + skipped
  end
  return shape
end

-- A node that computes element by element, for any extents: weights of many
-- shapes are converted and scaled by one kernel.  Its parameters are those of
-- program.of_node: a value is one, however often it is taken, and a constant of
-- one element none.
local function of_any_size(g, node)
  local s, args, known = ts.graph(), {}, { [0] = false }
  local result = value.of(g, node.outputs[1])
  for i, id in ipairs(node.inputs) do
    if known[id] == nil then
      local v = value.of(g, id)
      known[id] = v.kind == "constant" and program.size(v) == 1 and
                  s:constant("c" .. i, v:tensor()) or
                  s:input("x" .. i, sizes_of(v, result), v.dtype)
    end
    args[i] = known[id]
  end
  args[#args + 1] = node.attrs
  s[node.op](s, table.unpack(args))
  return s
end

-- Whether inputs broadcast as NumPy's do, and no option goes by shape.
local function is_pointwise(node)
  local kind = category.of(node.op)
  return kind == category.elementwise and #node.inputs == 1 or
         kind == category.broadcast and node.op ~= "broadcast" and
         node.op ~= "prelu"
end

local function run(g, node, p, tensors)
  local work = p:flops()
  for _, t in ipairs(tensors) do work = work and work + #t end
  if work and work <= interpreted then return ts.interpret(p, tensors) end
  local kernel
  if is_pointwise(node) then
    local s = of_any_size(g, node)
    kernel = kernel_of(tostring(s), function()
      return (program.of_node(s, s:nodes()[1]))
    end)
  else
    kernel = kernel_of(p:hash(), function() return p end)
  end
  kernel(table.unpack(tensors))
end

-- The tensors of a node's results; tensor(v) is that of a value.
function plain.node(g, node, tensor)
  local p, inputs, outputs = program.of_node(g, node)
  local tensors, results = {}, {}
  for i, v in ipairs(inputs) do tensors[i] = tensor(v) end
  for i, v in ipairs(outputs) do
    results[i] = ts.tensor(v.dtype, v.shape)
    tensors[#inputs + i] = results[i]
  end
  run(g, node, p, tensors)
  return results
end

-- Runs all nodes on the tensors of inputs; the tensors of outputs, and those of
-- all values by number.
function plain.run(g, inputs)
  local known = {}
  if type(inputs) ~= "table" then
    invalid "graph.run takes a graph and a table of its inputs"
  end
  for i, v in ipairs(g:inputs()) do
    known[v.id] = inputs[i] or inputs[v.name]
    if not known[v.id] then
      invalid(("graph %s needs its input %s"):format(g:name(), v.name))
    end
  end
  local function tensor(v)
    known[v.id] = known[v.id] or v:tensor()
    return known[v.id]
  end
  for _, n in ipairs(g:nodes()) do
    local results = plain.node(g, n, tensor)
    for i, id in ipairs(n.outputs) do known[id] = results[i] end
  end
  local outputs = {}
  for i, v in ipairs((g:outputs())) do outputs[i] = tensor(v) end
  return outputs, known
end

return plain
