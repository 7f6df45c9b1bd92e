-- SPDX-License-Identifier: Apache-2.0
-- ONNX files as graphs of tessera.ops.
local ts = require "tessera"
local import = require "tessera.graph.onnx.import"

local onnx = {}

-- onnx.read(path [, { shapes = { x = { 1, 3, 224, 224 } }, values =
-- { to = tensor } }]): the graph of a file.  `shapes` fixes inputs whose
-- dimensions are sizes; `values` are contents of inputs: those of them that
-- decide shapes or options become constants.  Also gives, of outputs whose
-- extent the data decides, which dimension that is: { NAME = { dim = 1 } }; the
-- output NAME.count says how many there are.
function onnx.read(path, o)
  return import.run(ts.read_onnx(path), path, o or {})
end

-- The names of ONNX's operators that are supported, sorted.
function onnx.operators()
  local list = {}
  for name in pairs(import.of) do list[#list + 1] = name end
  table.sort(list)
  return list
end

return onnx
