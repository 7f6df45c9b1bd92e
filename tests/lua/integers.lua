-- SPDX-License-Identifier: Apache-2.0
-- Products and convolutions of dequantized bytes become those of the bytes, and
-- give the same, but for the rounding of the last bits.
local ts = require "tessera"
local graph = require "tessera.graph"
local passes = require "tessera.graph.passes"
local here = arg[0]:gsub("[^/]*$", "")
local check = dofile(here .. "../support/checks.lua")

local function vector(g, dtype, ...)
  return g:constant("", ts.tensor(dtype, { select("#", ...) }, { ... }))
end

-- Bytes that a file has, dequantized with a scale for each index along `axis`.
local function weights(g, axis, ...)
  local shape, scales, zeros = { ... }, {}, {}
  for k = 1, shape[axis + 1] do scales[k], zeros[k] = 0.25 / k, k % 2 end
  local w = g:constant("w", ts.tensor("int8", shape, "integers", 3))
  return g:dequantize(w, vector(g, "float32", table.unpack(scales)),
                      vector(g, "int8", table.unpack(zeros)), { axis = axis })
end

-- As bytes of a scale and a zero point, and back.
local function bytes(g, x, zero, to)
  local scale, point = vector(g, "float32", 0.5), vector(g, to or "uint8", zero)
  local q = g:quantize(x, scale, point, { to = to or "uint8" })
  return g:dequantize(q, scale, point)
end

local function has(g)
  local set = {}
  for _, n in ipairs(g:nodes()) do set[n.op] = (set[n.op] or 0) + 1 end
  return set
end

-- The graph of an output after the passes, which keep what it gives.
local function passed(shape, build)
  local g = graph.new "integers"
  g:output("y", build(g, g:input("x", shape)))
  local x = ts.tensor("float32", shape, "random", 5)
  local want = graph.run(g, { x })[1]
  passes.run(g, {})
  assert(graph.run(g, { x })[1]:compare(want) <= 1e-5)
  return has(g)
end

check.case("a convolution with padding, bias and scales of channels", function()
  local ops = passed({ 1, 4, 5, 5 }, function(g, x)
    local y = g:conv2d_nchw(bytes(g, x, 7), weights(g, 0, 6, 2, 3, 3), {
      pad = 1, groups = 2, bias = vector(g, "float32", 1, 2, 3, 4, 5, 6) })
    return bytes(g, g:relu(y), 1)
  end)
  assert(ops.conv_integer == 1 and not ops.conv2d_nchw)
end)

check.case("products, of transposed weights and with what is added", function()
  local ops = passed({ 3, 4 }, function(g, x)
    local a = bytes(g, x, -3, "int8")
    local bias = vector(g, "float32", 1, 2, 3, 4)
    local y = g:matmul(a, g:transpose(weights(g, 0, 4, 4)))
    y = g:dense(bytes(g, y, 2), weights(g, 0, 4, 4), bias)
    return g:gemm(bytes(g, y, 0), weights(g, 1, 4, 4), bias,
                  { alpha = 0.5, beta = 2 })
  end)
  assert(ops.matmul_integer == 3 and not ops.gemm and not ops.dense)
end)

check.case("batches of products of what both were computed", function()
  local ops = passed({ 2, 3, 4 }, function(g, x)
    local a = bytes(g, x, 1)
    return g:matmul(a, bytes(g, g:relu(x), 4), { trans_b = true })
  end)
  assert(ops.matmul_integer == 1 and not ops.matmul)
end)

check.case("bytes are moved, and are what they were", function()
  local ops = passed({ 1, 2, 4, 4 }, function(g, x)
    local y = g:max_pool2d(bytes(g, x, 9), { k = 2, stride = 2 })
    y = g:reshape(g:transpose(y, { perm = { 0, 2, 3, 1 } }), { to = { 4, 2 } })
    return bytes(g, y, 9)
  end)
  assert(ops.quantize == 1 and ops.dequantize == 1)
end)

check.case("scales that the sum has no place for stay floats", function()
  local ops = passed({ 3, 4 }, function(g, x)
    return g:matmul(bytes(g, x, 1), weights(g, 0, 4, 5)) -- of rows of B
  end)
  assert(ops.matmul == 1 and not ops.matmul_integer)
end)

check.case("transposes go behind scales of a dimension", function()
  local ops = passed({ 2, 3, 4 }, function(g, x)
    local scale = vector(g, "float32", 0.5, 0.25, 0.125)
    local zero = vector(g, "uint8", 1, 2, 3)
    local y = g:transpose(g:relu(x), { perm = { 2, 0, 1 } })
    y = g:quantize(y, scale, zero, { to = "uint8", axis = -1 })
    y = g:dequantize(y, scale, zero, { axis = 2 })
    y = bytes(g, g:transpose(y, { perm = { 1, 2, 0 } }), 3)
    return g:add(g:transpose(y, { perm = { 2, 0, 1 } }), scale)
  end)
  assert(ops.quantize == 2)
end)
