-- SPDX-License-Identifier: Apache-2.0
-- Products and convolutions of integers with zero points, requantized or not,
-- and scales that are found from the data.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local count, tensor = declare.count, declare.tensor

local bytes = { "int8", "uint8" }
local sizes = { count("m", "rows of A"), count("n", "columns of B"),
                count("k", "columns of A and rows of B"),
                declare.list_of("batch", 1, "the dimensions of A in front",
                                "none"),
                declare.list_of("batch_b", 1, "those of B", "batch"),
                declare.word("a_type", bytes, "uint8", "the type of A"),
                declare.word("b_type", bytes, "int8", "the type of B") }

local function with(...)
  local list = table.move(sizes, 1, #sizes, 1, {})
  return table.move({ ... }, 1, select("#", ...), #list + 1, list)
end

local A = tensor("A", { "batch...", "m", "k" }, { type = "a_type" })
local B = tensor("B", function(o)
  return { o.batch_b and "batch_b..." or "batch...", "k", "n" }
end, { type = "b_type" })

local function infer_batch(o, tensors)
  local b = tensors.B.shape
  o.batch_b = table.move(b, 1, #b - 2, 1, {})
end

local function int(x) return ts.cast(x, "int32") end

-- The sum over k of (A - a) (B - b), in int32; a of a row, b of a column.
local function product(o, name, A, B, a, b)
  local ba, bb = o.batch or {}, o.batch_b or o.batch or {}
  local batch = kit.common(o, ba, bb, "batch", "batch_b")
  local n, k, shape = #batch, ts.reduce_axis("k", o.k), {}
  table.move(batch, 1, n, 1, shape)
  shape[n + 1], shape[n + 2] = o.m, o.n
  local C = kit.map(name, shape, function(...)
    local at = { ... }
    local i, j = at[n + 1], at[n + 2]
    local x = { kit.broadcast(ba, batch, at) }
    local y = { kit.broadcast(bb, batch, at) }
    x[#x + 1], x[#x + 2], y[#y + 1], y[#y + 2] = i, k, k, j
    local u, v = int(A(table.unpack(x))), int(B(table.unpack(y)))
    if a then u = u - int(a(i)) end
    if b then v = v - int(b(j)) end
    return ts.sum(u * v, k)
  end)
  return C, shape, n
end

-- A vector's element: of one for all, or one for each.
local function each(v, n)
  return v and function(i) return v(kit.same(n, 1) and 0 or i) end
end

local function zero(name, option, type)
  return tensor(name, { option }, { type = type, when = name })
end

declare.operator {
  name = "matmul_integer",
  summary = "A product of matrices of bytes, without their zero points.",
  says = [[
C[.., i, j] = sum over k of
  (A[.., i, k] - a_zero[i]) * (B[.., k, j] - b_zero[j])
in int32; zero points are of the types of A and B, one for all or one for each
row of A and column of B.]],
  tensors = { A, B, tensor("a_zero", { "rows..." }, { type = "a_type",
                                                   when = "a_zero" }),
              tensor("b_zero", { "columns..." }, { type = "b_type",
                                                 when = "b_zero" }) },
  options = with(declare.flag("a_zero", "there is a zero point of A"),
                 declare.flag("b_zero", "there is one of B"),
                 declare.list_of("rows", 1, "the shape of a_zero", "{}"),
                 declare.list_of("columns", 1, "that of b_zero", "{}")),
  infer = infer_batch,
  example = "{ m = 2, n = 2, k = 2 }",
  result = "C",
  apply = function(o, A, B, a, b)
    local function of(v, shape)
      if not v then return nil end
      return function(i)
        if not shape or #shape == 0 then return v() end
        return v(kit.same(shape[1], 1) and 0 or i)
      end
    end
    return (product(o, "C", A, B, of(a, o.rows), of(b, o.columns)))
  end,
}

-- A sum of products as an integer of the result: times `scale`, rounded with
-- halves to even, and its zero point added.
local function requantized(o, x, scale, y_zero)
  local wide = o.dtype == "float64" and "float64" or "float32"
  local q = ts.round(ts.cast(x, wide) * scale)
  return ts.cast(q + ts.cast(y_zero(0), wide), o.to)
end

-- The scale of a product by that of the result.
local function ratio(o, a, b, y)
  local wide = o.dtype == "float64" and "float64" or "float32"
  return ts.cast(a, wide) * ts.cast(b, wide) / ts.cast(y, wide)
end

declare.operator {
  name = "qlinear_matmul",
  summary = "A product of quantized matrices, quantized anew.",
  says = [[
Y = (sum over k of (A - a_zero) (B - b_zero)) a_scale b_scale / y_scale, rounded
with halves to even, + y_zero, within the range of `to`
scales are floats; each has one element, or, of A one for each row, of B one for
each column.]],
  tensors = { A, tensor("a_scale", { "rows" }),
              zero("a_zero", "rows", "a_type"), B,
              tensor("b_scale", { "columns" }),
              zero("b_zero", "columns", "b_type"),
              tensor("y_scale", { 1 }),
              tensor("y_zero", { 1 }, { type = "to" }) },
  options = with(count("rows", "scales of A: 1 or m", "1"),
                 count("columns", "scales of B: 1 or n", "1"),
                 { name = "a_zero", type = "boolean", default = "true",
                   help = "there are zero points of A" },
                 { name = "b_zero", type = "boolean", default = "true",
                   help = "there are some of B" },
                 declare.word("to", bytes, "uint8", "the type of Y"),
                 declare.dtype("float", "float32", "the type of scales")),
  infer = function(o, tensors)
    infer_batch(o, tensors)
    o.rows, o.columns = tensors.a_scale.shape[1], tensors.b_scale.shape[1]
  end,
  example = "{ m = 2, n = 2, k = 2 }",
  inputs = { a_scale = "{ 0.5 }", b_scale = "{ 0.25 }", y_scale = "{ 0.1 }" },
  apply = function(o, A, a_scale, a_zero, B, b_scale, b_zero, y_scale, y_zero)
    local C, shape, n = product(o, "product", A, B, each(a_zero, o.rows),
                                each(b_zero, o.columns))
    local sa, sb = each(a_scale, o.rows), each(b_scale, o.columns)
    return kit.map("Y", shape, function(...)
      local i, j = (select(n + 1, ...)), (select(n + 2, ...))
      return requantized(o, C(...), ratio(o, sa(i), sb(j), y_scale(0)), y_zero)
    end)
  end,
}

-- ---- convolutions ----------------------------------------------------------

local function convolution(...)
  local list = {
    count("n", "images"), count("ci", "their channels"),
    count("co", "channels of the result"),
    declare.list_of("size", 1, "their height, width, .."),
    declare.each("k", 1, "extent of the window, or a list"),
    declare.each("stride", 1, "the step of the window, or a list", "1"),
    declare.each("pad", 0, "places added on each side; a list: of each " ..
      "dimension, or those before all of them and then those behind", "0"),
    declare.each("dilation", 1, "the step inside of the window, or a list",
                 "1"),
    count("groups", "parts that the channels fall into", "1"),
    declare.word("x_type", bytes, "uint8", "the type of X"),
    declare.word("w_type", bytes, "int8", "the type of W"),
  }
  return table.move({ ... }, 1, select("#", ...), #list + 1, list)
end

local images = tensor("X", { "n", "ci", "size..." }, { type = "x_type" })
local filters = tensor("W", function(o)
  local list = { "co", function(p) return p.ci // p.groups end }
  for d = 1, #o.size do list[d + 2] = "k." .. d end
  return list
end, { type = "w_type" })

-- The sum over channels and windows of (X - x) (W - w), in int32; w of a
-- channel of the result.  What is added around X is its zero point, that is, 0.
local function windows_product(o, name, X, W, x, w)
  local rank, groups = #o.size, o.groups
  local windows, names = kit.windows(o, o.size), { "n", "c" }
  local results = { "n", "co" }
  local shape, axes = { o.n, o.co }, {}
  for d, window in ipairs(windows) do
    names[d + 2], results[d + 2] = "i" .. d, "i" .. d
    shape[d + 2] = window.out
    axes[d] = ts.reduce_axis("k" .. d, window.k)
  end
  local around = x and x(0) or ts.const(0, o.x_type)
  local P = kit.padded(X, { o.n, o.ci, table.unpack(o.size) }, names, windows,
                       3, around)
  local ci = ts.reduce_axis("ci", o.ci // groups)
  return kit.compute(name, shape, results, function(n, co, ...)
    local at = { ... }
    for d = 1, rank do
      at[d] = at[d] * windows[d].s + axes[d] * windows[d].d
    end
    local c = groups == 1 and ci or
              co // (o.co // groups) * (o.ci // groups) + ci
    local u, v = int(P(n, c, table.unpack(at))),
                 int(W(co, ci, table.unpack(axes)))
    if x then u = u - int(x(0)) end
    if w then v = v - int(w(co)) end
    return ts.sum(u * v, { ci, table.unpack(axes) })
  end), shape
end

local function check_convolution(o) kit.check_groups(o, #o.size) end

declare.operator {
  name = "conv_integer",
  summary = "A convolution of bytes, without their zero points.",
  says = [[
Y[n, co, i..] = sum over ci, k.. of (X[n, ci, i s + k t - p..] - x_zero) *
  (W[co, ci, k..] - w_zero[co])
in int32, of any dimensions, channels second; s: stride, t: dilation, p: pad;
zero points are of the types of X and W, that of W one for all or one for each
channel; X is its zero point outside.]],
  tensors = { images, filters,
              tensor("x_zero", { 1 }, { type = "x_type", when = "x_zero" }),
              tensor("w_zero", { "zeros" }, { type = "w_type",
                                           when = "w_zero" }) },
  options = convolution(declare.flag("x_zero", "there is a zero point of X"),
                        declare.flag("w_zero", "there is one of W"),
                        count("zeros", "zero points of W: 1 or co", "1")),
  check = check_convolution,
  example = "{ n = 1, ci = 1, co = 1, size = { 3, 3 }, k = 2 }",
  apply = function(o, X, W, x, w)
    return (windows_product(o, "Y", X, W, x, each(w, o.zeros)))
  end,
}

declare.operator {
  name = "qlinear_conv",
  summary = "A convolution of quantized images, quantized anew.",
  says = [[
Y = (sum of (X - x_zero) (W - w_zero) + bias) x_scale w_scale / y_scale, rounded
with halves to even, + y_zero, within the range of `to`
the sum is that of ops.conv_integer; scales are floats, that of W, and its zero
point, one for all or one for each channel; bias: int32, in units of x_scale
w_scale.]],
  tensors = { images, tensor("x_scale", { 1 }),
              tensor("x_zero", { 1 }, { type = "x_type", when = "x_zero" }),
              filters, tensor("w_scale", { "scales" }),
              tensor("w_zero", { "scales" }, { type = "w_type",
                                           when = "w_zero" }),
              tensor("y_scale", { 1 }),
              tensor("y_zero", { 1 }, { type = "to" }),
              tensor("bias", { "co" }, { type = "int32", when = "bias" }) },
  options = convolution(
    { name = "x_zero", type = "boolean", default = "true",
      help = "there is a zero point of X" },
    { name = "w_zero", type = "boolean", default = "true",
      help = "there is one of W" },
    declare.flag("bias", "add a number to each channel of the sum"),
    count("scales", "scales and zero points of W: 1 or co", "1"),
    declare.word("to", bytes, "uint8", "the type of Y"),
    declare.dtype("float", "float32", "the type of scales")),
  check = check_convolution,
  example = "{ n = 1, ci = 1, co = 1, size = { 3, 3 }, k = 2 }",
  inputs = { x_scale = "{ 0.5 }", w_scale = "{ 0.25 }", y_scale = "{ 0.1 }" },
  apply = function(o, X, x_scale, x, W, w_scale, w, y_scale, y_zero, bias)
    local sum, shape = windows_product(o, "product", X, W, x,
                                       each(w, o.scales))
    local sw = each(w_scale, o.scales)
    return kit.map("Y", shape, function(n, c, ...)
      local q = sum(n, c, ...)
      if bias then q = q + bias(c) end
      return requantized(o, q, ratio(o, x_scale(0), sw(c), y_scale(0)), y_zero)
    end)
  end,
}

-- ---- scales from the data --------------------------------------------------

declare.operator {
  name = "dynamic_quantize",
  summary = "Floats as uint8, by a scale that their range tells.",
  says = [[
scale = (max(X, 0) - min(X, 0)) / 255, zero = -min(X, 0) / scale, rounded
Y = X / scale, rounded with halves to even, + zero, in 0 .. 255; the results are
Y, scale and zero; of zeros alone the scale is 1.]],
  tensors = { tensor("X", { "shape..." }, { type = "float32" }) },
  options = { declare.list_of("shape", 1, "the shape of X") },
  example = "{ shape = { 4 } }",
  apply = function(o, X)
    local axes = {}
    for d, n in ipairs(o.shape) do axes[d] = ts.reduce_axis("r" .. d, n) end
    local function extreme(name, reduce)
      return kit.map(name, {}, function()
        return reduce(X(table.unpack(axes)), axes)
      end)
    end
    local high, low = extreme("high", ts.reduce_max),
                      extreme("low", ts.reduce_min)
    local scale = kit.map("scale", {}, function()
      local range = ts.max(high(), 0) - ts.min(low(), 0)
      return ts.select(ts.eq(range, 0), ts.const(1, "float32"), range / 255)
    end)
    local zero = kit.map("zero", {}, function()
      local z = ts.round(-ts.min(low(), 0) / scale())
      return ts.cast(ts.clamp(z, 0, 255), "uint8")
    end)
    local Y = kit.map("Y", o.shape, function(...)
      local q = ts.round(X(...) / scale()) + ts.cast(zero(), "float32")
      return ts.cast(q, "uint8")
    end)
    return Y, scale, zero
  end,
}
