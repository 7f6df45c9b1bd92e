-- SPDX-License-Identifier: Apache-2.0
-- ONNX files as graphs of tessera.ops.
local ts = require "tessera"
local import = require "tessera.graph.onnx.import"

local invalid = debug.getregistry()["tessera.invalid"]

local onnx = {}

-- onnx.read(path [, { shapes = { x = { 1, 3, 224, 224 } }, values =
-- { to = { 1, 64 } } }]): the graph of a file.  `shapes` fixes inputs whose
-- dimensions are sizes; `values` are contents, tensors or lists of numbers, of
-- inputs that become constants.  Also gives, of outputs whose extent the data
-- decides, which dimension that is: { NAME = { dim = 1 } }; the output
-- NAME.count says how many there are.
function onnx.read(path, o)
  o = o or {}
  if type(path) ~= "string" or type(o) ~= "table" then
    invalid "onnx.read takes the name of a file, and a table of options"
  end
  for k in pairs(o) do
    if k ~= "shapes" and k ~= "values" then
      invalid(("unknown option '%s' of onnx.read, which has shapes, values")
              :format(tostring(k)))
    end
  end
  return import.run(ts.read_onnx(path), path, o)
end

-- The names of ONNX's operators that are supported, sorted.
function onnx.operators()
  local list = {}
  for name in pairs(import.of) do list[#list + 1] = name end
  table.sort(list)
  return list
end

return onnx
