-- SPDX-License-Identifier: Apache-2.0
-- Labels: slow
-- Small models of bench/models/export.py (tests/data/models: --small, and two
-- of --kinds) node by node, and some compiled, compared with what ONNX Runtime
-- gives.
local graph = require "tessera.graph"
local here = arg[0]:gsub("[^/]*$", "")
local check = dofile(here .. "../support/checks.lua")
package.path = here .. "../../bench/models/?.lua;" .. package.path
local support = require "support"
local folder = here .. "../data/models"

local compiled = { mobilenet_v2 = true, gpt2_step = true, lstm = true,
                   quantized = true, segmenter = true }

local function in_order(g, inputs)
  local list = {}
  for i, v in ipairs(g:inputs()) do list[i] = inputs[v.name] end
  return list
end

local function close(name, g, bounds, outputs)
  local d = support.apart(support.pairs_of(folder, name, g, bounds, outputs))
  assert(d.close, ("differs by %g, relatively %g"):format(d.abs, d.rel))
end

for path in assert(io.popen(("ls '%s'/*.onnx"):format(folder))):lines() do
  local name = path:match "([^/]*)%.onnx$"
  check.case(name, function()
    local g, inputs, bounds = support.read(folder, name)
    close(name, g, bounds, (graph.run(g, in_order(g, inputs))))
    if not compiled[name] then return end
    local m = graph.model(g, {})
    close(name, m.graph, bounds, { m:run(inputs) })
  end)
end
