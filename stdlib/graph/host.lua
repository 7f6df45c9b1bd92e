-- SPDX-License-Identifier: Apache-2.0
-- Whole models for hosts without Lua, which call these functions by
-- libtessera-spaces (lua/spaces/models.c).
local import = require "tessera.graph.onnx.import"
local model = require "tessera.graph.model"

local host = {}

-- The graph of what ts.read_onnx gave of a file; `given` has { name =, shape =,
-- value = } of inputs and sizes.
function host.import(from, file, given)
  local shapes, values = {}, {}
  for _, x in ipairs(given) do
    shapes[x.name] = x.shape or shapes[x.name]
    values[x.name] = x.value or values[x.name]
  end
  return (import.run(from, file, { shapes = shapes, values = values }))
end

-- The network of a graph, and the results of tune(programs, frozen) for its
-- kernels: measured, or frozen.
function host.compile(g, target, measured, tune)
  local m = model.made(g, { target = target }, measured, tune)
  return m.network, m.results
end

return host
