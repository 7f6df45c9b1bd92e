-- SPDX-License-Identifier: Apache-2.0
-- A model with its inputs and the outputs that ONNX Runtime gives, as
-- bench/models/export.py writes them: FOLDER/NAME.onnx, FOLDER/NAME/VALUE.npy;
-- and how far results are apart.
local ts = require "tessera"
local graph = require "tessera.graph"
local onnx = require "tessera.graph.onnx"
local fold = require "tessera.graph.onnx.fold"

local support = {}

local function tensor(folder, name, value)
  return ts.tensor(("%s/%s/%s.npy"):format(folder, name,
                                           (value:gsub("/", "_"))))
end

-- The inputs by name, and the shapes that they have.
local function inputs_of(folder, name)
  local raw = ts.read_onnx(("%s/%s.onnx"):format(folder, name))
  local inputs, shapes = {}, {}
  for _, id in ipairs(raw:input_values()) do
    local input = raw:value_info(id).name
    inputs[input] = tensor(folder, name, input)
    shapes[input] = inputs[input]:shape()
  end
  return inputs, shapes
end

-- The graph, with the shapes that the inputs have, the inputs by name, and the
-- dimensions of outputs whose extents the data decides.
function support.read(folder, name)
  local inputs, shapes = inputs_of(folder, name)
  local path = ("%s/%s.onnx"):format(folder, name)
  local g, bounds = onnx.read(path, { shapes = shapes })
  return g, inputs, bounds
end

-- What ONNX Runtime gives for the outputs of a graph, and what was got for
-- these, as much of it as counts.
function support.pairs_of(folder, name, g, bounds, got)
  local _, names = g:outputs()
  local by_name, kept, want = {}, {}, {}
  for k, output in ipairs(names) do by_name[output] = got[k] end
  for k, output in ipairs(names) do
    local bound, x = bounds[output], got[k]
    local counts = bounds[output:match "^(.*)%.count$" or ""]
    if bound then
      local n = fold.elements(by_name[output .. ".count"])[1]
      x = fold.first(x, bound.dim, n)
    end
    if not counts then
      kept[#kept + 1], want[#want + 1] = x, tensor(folder, name, output)
    end
  end
  return kept, want
end

-- ---- differences -----------------------------------------------------------

-- The tolerance, as numpy.allclose has it: |got - want| <= atol + rtol |want|
-- for each element.
support.rtol, support.atol = 1e-3, 1e-4

-- The greatest of |got - want| - rtol |want|.
local function excess_of(got, want)
  local g, kind, shape = graph.new "excess", want:dtype(), want:shape()
  local x, y = g:input("x", shape, kind), g:input("y", shape, kind)
  if kind ~= "float64" then
    x, y = g:cast(x, { to = "float64" }), g:cast(y, { to = "float64" })
  end
  local rtol = g:constant("rtol", ts.tensor("float64", {}, support.rtol))
  local over = g:sub(g:abs(g:sub(x, y)), g:mul(g:abs(y), rtol))
  g:output("excess", g:reduce(over, { op = "max" }))
  return graph.run(g, { got, want })[1]:get()
end

-- How far lists of tensors are apart, at most: { abs =, rel =, excess = }; they
-- are close where the excess is at most atol, or, of bytes, where they are a
-- step of the quantization apart.
function support.apart(got, want)
  local worst = { abs = 0, rel = 0, excess = -math.huge }
  for k, x in ipairs(got) do
    local abs, rel = x:compare(want[k])
    local excess = abs < math.huge and excess_of(x, want[k]) or math.huge
    worst.abs, worst.rel = math.max(worst.abs, abs), math.max(worst.rel, rel)
    if x:dtype():find "int8$" and abs <= 1 then excess = 0 end
    worst.excess = math.max(worst.excess, excess)
  end
  worst.close = worst.excess <= support.atol
  return worst
end

return support
