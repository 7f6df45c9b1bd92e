-- SPDX-License-Identifier: Apache-2.0
-- The rows of the operator suite: a list of names, of each what makes its
-- program, and gives the operator with its options.  Weights are constants, for
-- peers as for us: what lays them out runs beforehand.
local ts = require "tessera"
local ops = require "tessera.ops"

local rows = {}
local function row(name, make)
  rows[#rows + 1] = { name = name, make = function()
    local placeholder = ts.placeholder
    function ts.placeholder(tensor, shape, dtype, options)
      if tensor == "W" and not options then
        options = { role = "layout_free" }
      end
      return placeholder(tensor, shape, dtype, options)
    end
    local program, operator, options = make()
    ts.placeholder = placeholder
    return program, operator, options
  end }
end

for _, name in ipairs(ops.suite_names()) do
  for i = 1, 4 do
    if pcall(ops.suite, name, i) then
      row(("%s-%d"):format(name, i), function() return ops.suite(name, i) end)
    end
  end
end
for _, n in ipairs { 512, 1024, 2048 } do
  row("sgemm-" .. n, function()
    local o = { m = n, n = n, k = n }
    return ops.matmul(o), "matmul", o
  end)
end
-- One row or a few times a matrix, as where a model ends, and a matrix times
-- one column.
for _, o in ipairs { { m = 1, n = 16, k = 1024 }, { m = 1, n = 1000, k = 2048 },
                     { m = 1, n = 1000, k = 2048, trans_b = true },
                     { m = 1000, n = 1, k = 2048 },
                     { m = 4, n = 1000, k = 2048 },
                     { m = 4, n = 1000, k = 2048, trans_b = true } } do
  local kind = (o.m == 1 or o.n == 1) and "sgemv" or "sgemm"
  local name = ("%s-%dx%dx%d"):format(kind, o.m, o.n, o.k)
  if o.trans_b then name = name .. "t" end
  row(name, function() return ops.matmul(o), "matmul", o end)
end
for _, shape in ipairs { { 1, 32000 }, { 12, 1024 } } do
  row(("softmax-%dx%d"):format(shape[1], shape[2]), function()
    return ops.softmax { shape = shape }, "softmax", { shape = shape }
  end)
end
-- Over the rows of a matrix.
for _, o in ipairs { { 49, 2048, "mean" }, { 512, 768, "mean" },
                     { 2048, 1000, "sum" }, { 64, 4096, "sum" } } do
  local height, columns, op = table.unpack(o)
  row(("%s-%dx%d"):format(op, height, columns), function()
    local options = { shape = { height, columns }, axes = { 0 }, op = op }
    return ops.reduce(options), "reduce", options
  end)
end
row("int8-gemm", function()
  local o = { m = 1024, n = 1024, k = 1024, dtype = "int8", acc = "int32" }
  return ops.matmul(o), "matmul_int8", o
end)
row("3mm", function() return ops.polybench("3mm", "LARGE"), "3mm", {} end)
for _, name in ipairs { "lu", "cholesky" } do
  row(name, function()
    return ops.polybench(name, "LARGE"), name, { n = 2000 }
  end)
end

return rows
