-- SPDX-License-Identifier: Apache-2.0
-- A model with its inputs and the outputs that ONNX Runtime gives, as
-- bench/models/export.py writes them: FOLDER/NAME.onnx, FOLDER/NAME/VALUE.npy.
local ts = require "tessera"
local onnx = require "tessera.graph.onnx"

local support = {}

local function tensor(folder, name, value)
  return ts.tensor(("%s/%s/%s.npy"):format(folder, name,
                                           (value:gsub("/", "_"))))
end

-- The graph, with the shapes that the inputs have, and the inputs by name.
function support.read(folder, name)
  local path = ("%s/%s.onnx"):format(folder, name)
  local raw, inputs, shapes = ts.read_onnx(path), {}, {}
  for _, id in ipairs(raw:input_values()) do
    local input = raw:value_info(id).name
    inputs[input] = tensor(folder, name, input)
    shapes[input] = inputs[input]:shape()
  end
  return onnx.read(path, { shapes = shapes }), inputs
end

-- The greatest difference of outputs from those of ONNX Runtime, in parts of
-- the greatest element of each.
function support.difference(folder, name, g, outputs)
  local _, names = g:outputs()
  local worst = 0
  for k, got in ipairs(outputs) do
    local want = tensor(folder, name, names[k])
    local greatest = want:compare(ts.tensor(want:dtype(), want:shape()))
    worst = math.max(worst, (got:compare(want)) / math.max(greatest, 1e-30))
  end
  return worst
end

return support
