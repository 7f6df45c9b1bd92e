-- SPDX-License-Identifier: Apache-2.0
-- ONNX files as graphs of operators (tests/data/onnx, by make.py).
local ts = require "tessera"
local graph = require "tessera.graph"
local fold = require "tessera.graph.onnx.fold"
local onnx = require "tessera.graph.onnx"
local import = require "tessera.graph.onnx.import"
local here = arg[0]:gsub("[^/]*$", "")
local check = dofile(here .. "../support/checks.lua")
local data = here .. "../data/onnx/"

local function ops_of(g)
  local list = {}
  for i, n in ipairs(g:nodes()) do list[i] = n.op end
  return table.concat(list, " ")
end

check.case("functions, branches and shapes", function()
  local g = onnx.read(data .. "parts.onnx", { shapes = { x = { 2, 3, 4, 4 } } })
  assert(ops_of(g) == "conv2d_nchw relu mul reshape", ops_of(g))
  local outputs, names = g:outputs()
  assert(names[1] == "y" and outputs[1].shape[2] == 32)
  assert(g:nodes()[1].name == "conv")
  g:verify()
end)

check.case("weights beside the file", function()
  local g = onnx.read(data .. "beside.onnx")
  assert(ops_of(g) == "matmul")
end)

local function refused(pattern, ...)
  local ok, e = pcall(onnx.read, ...)
  assert(not ok and e.message:find(pattern, 1, true),
         ok and "not refused" or tostring(e))
end

check.case("what is not said is asked for", function()
  local file = data .. "parts.onnx"
  refused("input 'x' is of shape batchx3x4x4: say what 'batch' is, as " ..
          "shapes = { x = { 1, 3, 4, 4 } }, or shapes = { batch = 1 }", file)
  for _, batch in ipairs { 2, { 2 } } do
    local g = onnx.read(file, { shapes = { batch = batch } })
    assert(g:inputs()[1].shape[1] == 2)
  end
  local ok, e = pcall(ts.model, file, {})
  assert(not ok and tostring(e):find "^[^:]*onnx%.lua:%d+: input 'x' is of")
  ok, e = pcall(import.run, ts.read_onnx(file), file, { flags = true })
  assert(not ok and e.message:find("as --shape x=1x3x4x4, or --shape batch=1",
                                   1, true))
  local open = data .. "open.onnx"
  refused("input 'x' is of shape batchxn, and 1 more leaves sizes open: say " ..
          "what 'batch', 'n', 'm' are, as shapes = { batch = 1, n = 1, m = 1 }",
          open)
  refused("say what 'batch' is, as shapes = { batch = 1 }", open,
          { shapes = { n = { 3 }, m = { 3 } } })
  refused("input 'past' is of shape batchxm: say what 'm' is, as shapes " ..
          "= { past = { 2, 1 } }, or shapes = { m = 1 }", open,
          { shapes = { x = { 2, 3 } } })
  local unnamed = data .. "unnamed.onnx"
  refused("input 'past' is of shape ?x?: say what '?' is, as shapes = " ..
          "{ past = { 1, 1 } }", unnamed, { shapes = { x = { 2, 3 } } })
  refused("there is no input or size '?'", unnamed,
          { shapes = { ["?"] = { 1 } } })
  local both = onnx.read(unnamed, { shapes = { x = { 2, 3 },
                                               past = { 5, 3 } } })
  assert(both:outputs()[1].shape[1] == 7)
  for _, given in ipairs { { 1, 2 }, { 0 }, 0, 1.5, "1" } do
    refused("size 'batch' is one number, from 1 on", file,
            { shapes = { batch = given } })
  end
  refused("there is no input or size 'z'", file, { shapes = { z = { 1 } } })
  refused("has 4 dimensions, and 1 are given", file, { shapes = { x = { 1 } } })
  refused("dimension 1 of input 'x' is 3, and 4 is given", file,
          { shapes = { x = { 1, 4, 4, 4 } } })
end)

check.case("contents of inputs that decide something are given", function()
  local file = data .. "decided.onnx"
  local g = onnx.read(file, { values = { use_past = { 1 }, to = { 3, 2 } } })
  assert(ops_of(g) == "neg reshape" and #g:inputs() == 1, ops_of(g))
  local to = ts.tensor("int64", { 2 }, { 6, 1 })
  g = onnx.read(file, { values = { use_past = { 0 }, to = to } })
  local outputs = g:outputs()
  assert(ops_of(g) == "relu reshape" and outputs[1].shape[1] == 6, ops_of(g))
  local function wrong(pattern, values)
    refused(pattern, file, { values = values, shapes = { to = { 2 } } })
  end
  wrong("node 'flat' (Reshape): input 2, 'to', must be a constant: it " ..
        "decides a shape or an option (values = { to = .. })",
        { use_past = { 1 } })
  wrong("node 'choice' (If): input 1, '%4', must be a constant: it decides " ..
        "a shape or an option (values = { use_past = .. })", { to = { 3, 2 } })
  wrong("values: there is no input 'n'", { n = { 1 } })
  wrong("input 'x' has 2 dimensions: a list of 1 numbers", { x = { 1 } })
  wrong("input 'use_past' has 0 dimensions", { use_past = { 1, 2 } })
  wrong("input 'to' of int64: element [0] is 1.5", { to = { 1.5, 2 } })
  wrong("input 'x' is of float32, and its contents of int64",
        { x = ts.tensor("int64", { 2, 3 }) })
  wrong("dimension 1 of input 'x' is 3, and 4 is given",
        { x = ts.tensor("float32", { 2, 4 }) })
  wrong("the contents of input 'to' are a tensor or a list", { to = 3 })
end)

check.case("all that is not supported is named", function()
  refused("refused.onnx: not supported: node 'a' (Multinomial): there is no " ..
          "such operator here; node 'b' (Fused): there is no such operator " ..
          "of domain 'other' here; node 'd' (Reshape): input 2, 'to', must " ..
          "be a constant",
          data .. "refused.onnx")
end)

check.case("what the data counts may be cast and named", function()
  local g, bounds = onnx.read(data .. "counted.onnx")
  local x = ts.tensor("float32", { 2, 3 })
  for i = 0, 5 do x:set(i // 3, i % 3, i % 2) end
  local y, count = table.unpack((graph.run(g, { x })))
  assert(y:dtype() == "int32" and bounds.y.dim == 2)
  assert(fold.elements(count)[1] == 3)
  assert(y:get(0, 0) == 0 and y:get(1, 0) == 1)
  assert(y:get(0, 2) == 1 and y:get(1, 2) == 2)
end)

check.case("nodes take what the data counts, element by element", function()
  local g, bounds = onnx.read(data .. "counted_rows.onnx")
  local x = ts.tensor("float32", { 2, 3 })
  x:set(0, 1, 0.25)
  x:set(1, 2, 2)
  local y, kept, z, count = table.unpack((graph.run(g, { x })))
  assert(bounds.y.dim == 2 and bounds.kept.dim == 1 and bounds.z.dim == 1)
  assert(#fold.elements(count) == 1 and fold.elements(count)[1] == 2)
  local function equal(t, dim, want)
    local got = fold.elements(fold.first(t, dim, 2))
    assert(table.concat(got, " ") == want, table.concat(got, " "))
  end
  equal(y, 2, "23.0 25.0 45.0 200.0")
  equal(kept, 1, "0.5 2.0")
  equal(z, 1, "2.0 0.25 4.0 2.0")
end)

check.case("nodes that need to know the count are refused", function()
  local ok, e = pcall(onnx.read, data .. "counted_refused.onnx")
  assert(not ok)
  for _, name in ipairs { "sum", "few", "turned", "first", "both", "added",
                          "shape", "dot", "flat" } do
    local text = ("node '%s' ("):format(name)
    local op = { few = "Slice", turned = "Slice" }
    assert(e.message:find(text, 1, true) or op[name], e.message)
  end
  local _, n = e.message:gsub("the data decides how many elements it takes", "")
  assert(n == 8, e.message)
end)

check.case("loops of known length", function()
  local g = onnx.read(data .. "loop.onnx")
  assert(ops_of(g) == "add add add reshape reshape reshape concat", ops_of(g))
  local outputs = g:outputs()
  assert(outputs[2].shape[1] == 3 and outputs[2].shape[2] == 4)
end)

check.case("bytes, sampling, signals and states", function()
  local g = onnx.read(data .. "layers.onnx")
  local have = {}
  for _, n in ipairs(g:nodes()) do have[n.op] = true end
  for name in ("conv_integer qlinear_conv affine_grid grid_sample reduce " ..
               "stft causal_conv1d linear_attention"):gmatch "%S+" do
    assert(have[name], name)
  end
  g:verify()
  local shapes = {}
  for i, y in ipairs { g:outputs() } do
    for k, x in ipairs(y) do
      if i == 1 then shapes[k] = table.concat(x.shape, "x") end
    end
  end
  assert(table.concat(shapes, " ") == "1x3x4 1x3x4 1x2x2x2 1x2x3x4 1x2x3x2 " ..
         "1x2x5 1x2x2 1x3x4 1x2x2x2", table.concat(shapes, " "))
end)

check.case("a list of one scale", function()
  local y = graph.run(onnx.read(data .. "one_scale.onnx"),
                      { ts.tensor("float32", { 3 }, { 1, 2.3, -9 }) })[1]
  assert(table.concat(fold.elements(y), " ") == "1.0 2.5 -0.5")
end)

check.case("integers of few bits", function()
  local g = onnx.read(data .. "bits.onnx")
  local x = ts.tensor("float32", { 3, 3 }, { { 0, 0, 0 }, { 0.5, 9, -9 },
                                             { -1, 1, 0 } })
  local y, zero, t, q = table.unpack((graph.run(g, { x })))
  local function list(tensor)
    return table.concat(fold.elements(tensor), " ")
  end
  assert(list(y) == "-4.0 -0.5 0.0 1.0 12.5 -8.0 -2.5 3.0 2.5", list(y))
  assert(list(zero) == ("0.0 "):rep(9):sub(1, -2), list(zero))
  -- 0 3 1 2 2 1, four in a byte, and 0 0 0 1 7 -8 -2 2 0, two in one
  assert(t:dtype() == "uint8" and list(t) == "156 6", list(t))
  assert(q:dtype() == "uint8" and list(q) == "0 16 135 46 0", list(q))
end)

check.case("a list without elements", function()
  local g = onnx.read(data .. "empty.onnx")
  local shape = g:outputs()[1].shape
  assert(#shape == 3 and shape[2] == 3 and shape[3] == 1)
end)

check.case("a layer of weights that are bytes is that of floats", function()
  local g = onnx.read(data .. "lstm_bytes.onnx")
  local y = graph.run(g, { ts.tensor("float32", { 5, 2, 3 }, "random", 1) })
  assert(y[1]:compare(y[2]) < 1e-6)
end)

-- What is no option, no shape or no table of inputs is said.
do
  local path = data .. "parts.onnx"
  local fails = check.fails
  fails("INVALID", "unknown option 'shape' of onnx.read", onnx.read, path,
        { shape = {} })
  fails("INVALID", "onnx.read takes the name of a file", onnx.read)
  for _, shape in ipairs { 3, { 2, "a", 4, 4 }, { 2, 3, 4, 0 } } do
    fails("INVALID", "the shape of input 'x' must be a list of positive",
          onnx.read, path, { shapes = { x = shape } })
  end
  fails("INVALID", "shapes and values are tables", onnx.read, path,
        { shapes = 4 })
  local g = onnx.read(path, { shapes = { x = { 2, 3, 4, 4 } } })
  fails("INVALID", "needs its input x", graph.run, g, {})
  fails("INVALID", "takes a graph and a table of its inputs", graph.run, g)
  fails("INVALID", "a model is made of a graph", graph.model, 5)
end

check.case("the documentation lists what there is", function()
  local f <close> = assert(io.open(here .. "../../docs/models.md"))
  local text = f:read "a":match "\n### Operators\n(.-)\n\nIntegers of 4"
  local of, documented = require "tessera.graph.onnx.import".of, {}
  for op in text:gsub("^.-\n|", ""):gmatch "`([%w.]*%u%w*)`" do
    documented[op] = true
    assert(of[op], op)
  end
  for op in pairs(of) do assert(documented[op], op) end
end)
