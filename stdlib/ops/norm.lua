-- SPDX-License-Identifier: Apache-2.0
-- Normalization: of layers, by root mean square, of batches, by groups, over
-- neighbouring channels, by norms of vectors, by mean and variance.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local reduced = require "tessera.ops.reduced"
local count, list_of, tensor = declare.count, declare.list_of, declare.tensor

local axis = declare.integer("axis", "the dimension, from 0; -1: the last",
                             "-1")
local shape = list_of("shape", 1, "the shape of X")
local eps = declare.number("eps", "what is added before the root", "1e-5")
eps.least = 0
local X = tensor("X", { "shape..." })

-- ---- over the last dimensions ----------------------------------------------

-- How X[outer.., inner..] is indexed: axes over the dimensions from `first` on,
-- and functions of the others' indices.
local function inner(o, first)
  local axes, n = {}, #o.shape
  for d = first, n do
    axes[#axes + 1] = ts.reduce_axis("r" .. d, o.shape[d])
  end
  local outer = table.move(o.shape, 1, first - 1, 1, {})
  local function at(...)
    local list = { ... }
    return table.unpack(table.move(axes, 1, #axes, first, list), 1, n)
  end
  return axes, outer, at
end

-- The first and the last of some indices.
local function head(n, ...) return table.unpack({ ... }, 1, n) end
local function tail(n, ...) return select(n, ...) end

-- The dimensions from `axis` on, those of weight and bias.
local function inner_shape(o)
  return table.move(o.shape, kit.axis(o, #o.shape, o.axis), #o.shape, 1, {})
end

-- The outer dimensions, and 1 for each inner one.
local function outer_with_ones(o, outer)
  local ones = table.move(outer, 1, #outer, 1, {})
  for d = #outer + 1, #o.shape do ones[d] = 1 end
  return ones
end

local function layer(o, center, x, weight, bias)
  local acc, wide, narrow = kit.accumulator(o)
  local first = kit.axis(o, #o.shape, o.axis)
  local axes, outer, at = inner(o, first)
  local N = kit.number(kit.product(o.shape, first), acc)
  local function centered(...) return wide(x(...)) end
  local S
  if center then
    S = kit.map("sum", outer, function(...)
      return ts.sum(wide(x(at(...))), axes)
    end)
    centered = kit.map("centered", o.shape, function(...)
      return wide(x(...)) - S(head(first - 1, ...)) / N
    end)
  end
  local Q = kit.map("squares", outer, function(...)
    return ts.sum(centered(at(...)) * centered(at(...)), axes)
  end)
  local R = kit.map("scale", outer, function(...)
    return ts.rsqrt(Q(...) / N + o.eps)
  end)
  local Y = kit.map("Y", o.shape, function(...)
    local y = centered(...) * R(head(first - 1, ...))
    if weight then y = y * wide(weight(tail(first, ...))) end
    if bias then y = y + wide(bias(tail(first, ...))) end
    return narrow(y)
  end)
  if not o.statistics then return Y end
  local ones = outer_with_ones(o, outer)
  return Y, kit.map("mean", ones, function(...)
    return S(head(first - 1, ...)) / N
  end), kit.map("inverse_deviation", ones, function(...)
    return R(head(first - 1, ...)) + 0
  end)
end

local weight = { name = "weight", type = "boolean", default = "true",
                 help = "multiply by a weight" }
local bias = { name = "bias", type = "boolean", default = "true",
               help = "add a bias" }

declare.operator {
  name = "layer_norm",
  summary = "Layer normalisation over the dimensions from `axis` on.",
  says = [[
Y = (X - mean) * (1 / sqrt(variance + eps)) * weight + bias
mean and variance (divided by the number of elements) are over the dimensions
from `axis` on, which are the shape of weight and bias.  With `statistics` the
mean and 1 / sqrt(variance + eps) are results, too, of the type `acc`, with
extents of 1 in these dimensions.]],
  options = { shape, axis, eps, weight, bias,
              declare.flag("statistics", "give the mean and the scale, too"),
              declare.dtype("float"), declare.acc() },
  tensors = { X, tensor("weight", inner_shape, { when = "weight" }),
              tensor("bias", inner_shape, { when = "bias" }) },
  symbolic = true,
  example = "{ shape = { 2, 4 } }",
  apply = function(o, ...) return layer(o, true, ...) end,
}

declare.operator {
  name = "rms_norm",
  summary = "Normalisation by the root mean square, over the dimensions " ..
            "from `axis` on.",
  says = [[
Y = X * (1 / sqrt(mean of X * X + eps)) * weight
the mean is over the dimensions from `axis` on, which are the shape of
weight.]],
  options = { shape, axis, eps, weight, declare.dtype("float"),
              declare.acc() },
  tensors = { X, tensor("weight", inner_shape, { when = "weight" }) },
  symbolic = true,
  example = "{ shape = { 2, 4 } }",
  apply = function(o, ...) return layer(o, false, ...) end,
}

-- ---- over channels ---------------------------------------------------------

-- Where the channel is in a layout.
local function channel_of(o)
  return o.layout == "channels_last" and #o.shape or 2
end

local function channels(o) return { o.shape[channel_of(o)] } end

local layout = declare.word("layout", { "channels_first", "channels_last" },
  "channels_first", "which dimension has the channels, the second or the last")

declare.operator {
  name = "batch_norm",
  summary = "Batch normalisation with statistics that are given.",
  says = [[
Y = (X - mean[c]) * (1 / sqrt(variance[c] + eps)) * weight[c] + bias[c]
c: the index of X's channel; X[n, c, ..], or X[n, .., c] with channels_last.]],
  options = { list_of("shape", 1, "the shape of X, of 2 or more dimensions"),
              layout, eps, declare.dtype("float"), declare.acc() },
  example = "{ shape = { 1, 2, 2 } }",
  inputs = { variance = "{ 4, 0.25 }" },
  tensors = { X, tensor("weight", channels), tensor("bias", channels),
              tensor("mean", channels), tensor("variance", channels) },
  symbolic = true,
  apply = function(o, x, weight, bias, mean, variance)
    local c = channel_of(o)
    if #o.shape < 2 then
      declare.wrong(o.name, "'shape' has no dimension of channels")
    end
    local _, wide, narrow = kit.accumulator(o)
    local R = kit.map("scale", { o.shape[c] }, function(i)
      return ts.rsqrt(wide(variance(i)) + o.eps) * wide(weight(i))
    end)
    return kit.map("Y", o.shape, function(...)
      local i = select(c, ...)
      return narrow((wide(x(...)) - wide(mean(i))) * R(i) + wide(bias(i)))
    end)
  end,
}

declare.operator {
  name = "group_norm",
  summary = "Normalisation of groups of channels of each image.",
  says = [[
Y = (X - mean) * (1 / sqrt(variance + eps)) * weight[c] + bias[c]
X[n, c, l], l: all that lies in a channel; mean and variance are over l and the
channels of a group.  One group for each channel is instance normalisation.]],
  options = {
    count("n", "images"), count("c", "their channels"),
    declare.each("l", 1, "elements of a channel, or their dimensions"),
    count("groups", "groups, which divide the channels", "1"), eps,
    declare.dtype("float"), declare.acc(),
  },
  example = "{ n = 1, c = 2, l = 3, groups = 2 }",
  tensors = { tensor("X", { "n", "c", "l..." }), tensor("weight", { "c" }),
              tensor("bias", { "c" }) },
  apply = function(o, x, weight, bias)
    local groups = o.groups
    if o.c % groups ~= 0 then
      declare.wrong(o.name, "%d groups do not divide %d channels", groups, o.c)
    end
    local _, wide, narrow = kit.accumulator(o)
    local g = o.c // groups
    local inside = type(o.l) == "table" and o.l or { o.l }
    local N, axes = g * kit.product(inside), { ts.reduce_axis("rc", g) }
    local c, names, shape = axes[1], { "n", "i" }, { o.n, o.c }
    for d, extent in ipairs(inside) do
      local suffix = #inside > 1 and tostring(d) or ""
      axes[d + 1], shape[d + 2] = ts.reduce_axis("rl" .. suffix, extent), extent
      names[d + 2] = "j" .. suffix
    end
    local function element(n, i)
      return n, i * g + c, table.unpack(axes, 2)
    end
    local S = kit.map("sum", { o.n, groups }, function(n, i)
      return ts.sum(wide(x(element(n, i))), axes)
    end)
    local D = kit.compute("centered", shape, names, function(n, i, ...)
      return wide(x(n, i, ...)) - S(n, i // g) / N
    end)
    local Q = kit.map("squares", { o.n, groups }, function(n, i)
      return ts.sum(D(element(n, i)) * D(element(n, i)), axes)
    end)
    local R = kit.map("scale", { o.n, groups }, function(n, i)
      return ts.rsqrt(Q(n, i) / N + o.eps)
    end)
    return kit.compute("Y", shape, names, function(n, i, ...)
      return narrow(D(n, i, ...) * R(n, i // g) * wide(weight(i)) +
                    wide(bias(i)))
    end)
  end,
}

-- ---- over neighbours, along dimensions -------------------------------------

-- Indices with i at place d, or without the one there.
local function with(d, n, i, ...)
  return table.unpack(kit.with({ ... }, d, i), 1, n)
end
local function inserted(d, n, i, ...)
  return table.unpack(kit.inserted({ ... }, d, i), 1, n)
end

declare.operator {
  name = "lrn",
  summary = "Local response normalization over neighbouring channels.",
  says = [[
Y[n, c, ..] = X[n, c, ..] / (bias + alpha / size * S)^beta
S: the sum of X^2 over `size` channels around c, those that there are: from
c - (size - 1) / 2, rounded down, to c + (size - 1) / 2, rounded up.]],
  tensors = { X },
  options = { shape, declare.count("size", "how many channels"),
              declare.number("alpha", "what the sum is scaled with", "1e-4"),
              declare.number("beta", "the exponent", "0.75"),
              declare.number("bias", "what is added", "1"),
              declare.dtype("float"), declare.acc() },
  example = "{ shape = { 1, 3, 2 }, size = 3 }",
  apply = function(o, x)
    local n, c = #o.shape, o.shape[2]
    if n < 2 then declare.wrong(o.name, "'shape' has no channels") end
    local _, wide, narrow = kit.accumulator(o)
    local before, k = (o.size - 1) // 2, ts.reduce_axis("k", o.size)
    local S = kit.map("squares", o.shape, function(...)
      local at = select(2, ...) + k - before
      local v = wide(x(with(2, n, at, ...)))
      return ts.sum(ts.select(ts.all(ts.ge(at, 0), ts.lt(at, c)), v * v, 0), k)
    end)
    return kit.map("Y", o.shape, function(...)
      local base = S(...) * (o.alpha / o.size) + o.bias
      return narrow(wide(x(...)) / ts.pow(base, o.beta))
    end)
  end,
}

declare.operator {
  name = "lp_norm",
  summary = "Vectors along a dimension divided by their norm.",
  says = [[
Y = X / (sum of |X|^p)^(1/p), along `axis`; p is 1 or 2
Y is 0 where all of a vector is 0.]],
  tensors = { X },
  options = { shape, axis, declare.count("p", "1 or 2", "2"),
              declare.dtype("float"), declare.acc() },
  example = "{ shape = { 2, 3 } }",
  symbolic = true,
  apply = function(o, x)
    if o.p > 2 then declare.wrong(o.name, "'p' is %d, not 1 or 2", o.p) end
    local acc, wide, narrow = kit.accumulator(o)
    local n, d = #o.shape, kit.axis(o, #o.shape, o.axis)
    local r = ts.reduce_axis("r", o.shape[d])
    local S = kit.map("sum", kit.with(o.shape, d, nil), function(...)
      local v = wide(x(inserted(d, n, r, ...)))
      return ts.sum(o.p == 1 and ts.abs(v) or v * v, r)
    end)
    return kit.map("Y", o.shape, function(...)
      local s = S(with(d, n - 1, nil, ...))
      local norm = o.p == 1 and s or ts.sqrt(s)
      return narrow(ts.select(ts.gt(s, 0), wide(x(...)) / norm,
                              ts.const(0, acc)))
    end)
  end,
}

declare.operator {
  name = "mean_variance_norm",
  summary = "Elements by how many deviations they lie from the mean.",
  says = [[
Y = (X - mean) / (sqrt(mean of (X - mean)^2) + eps), over `axes`]],
  tensors = { X },
  options = { shape, list_of("axes", -16, "dimensions, from 0", "all"),
              declare.number("eps", "what is added to the deviation", "1e-9"),
              declare.dtype("float"), declare.acc() },
  example = "{ shape = { 2, 3 }, axes = { 1 } }",
  apply = function(o, x)
    local acc, wide, narrow = kit.accumulator(o)
    local set, N = kit.axes(o, #o.shape, o.axes), 1
    local axes, to, element, result = reduced(o.shape, set)
    for d, extent in ipairs(o.shape) do
      if set[d] then N = N * extent end
    end
    local S = kit.map("sum", to, function(...)
      return ts.sum(wide(x(element(...))), axes)
    end)
    local D = kit.map("centered", o.shape, function(...)
      return wide(x(...)) - S(result(...)) / N
    end)
    local Q = kit.map("squares", to, function(...)
      return ts.sum(D(element(...)) * D(element(...)), axes)
    end)
    return kit.map("Y", o.shape, function(...)
      return narrow(D(...) / (ts.sqrt(Q(result(...)) / N) +
                              ts.const(o.eps, acc)))
    end)
  end,
}

local function channels(o) return { o.shape[2] } end

declare.operator {
  name = "batch_norm_training",
  summary = "Batch normalization by the statistics of the batch itself.",
  says = [[
Y = (X - m[c]) / sqrt(v[c] + eps) * weight[c] + bias[c]
m, v: mean and variance of channel c, the second dimension; running_mean and
running_variance are momentum * those given + (1 - momentum) * m or v.]],
  tensors = { X, tensor("weight", channels), tensor("bias", channels),
              tensor("mean", channels), tensor("variance", channels) },
  options = { shape, declare.number("eps", "what is added before the root",
                                    "1e-5"),
              declare.number("momentum", "how much of the given remains",
                             "0.9"),
              declare.dtype("float"), declare.acc() },
  example = "{ shape = { 2, 2, 3 } }",
  apply = function(o, x, weight, bias, mean, variance)
    local n = #o.shape
    if n < 2 then declare.wrong(o.name, "'shape' has no channels") end
    local _, wide, narrow = kit.accumulator(o)
    local axes, N, c = {}, 1, { o.shape[2] }
    for d, extent in ipairs(o.shape) do
      if d ~= 2 then
        axes[#axes + 1], N = ts.reduce_axis("r" .. d, extent), N * extent
      end
    end
    local function element(i)
      return table.unpack(kit.inserted(axes, 2, i), 1, n)
    end
    local S = kit.map("sum", c, function(i)
      return ts.sum(wide(x(element(i))), axes)
    end)
    local D = kit.map("centered", o.shape, function(...)
      return wide(x(...)) - S((select(2, ...))) / N
    end)
    local Q = kit.map("squares", c, function(i)
      return ts.sum(D(element(i)) * D(element(i)), axes)
    end)
    local Y = kit.map("Y", o.shape, function(...)
      local i = select(2, ...)
      return narrow(D(...) * ts.rsqrt(Q(i) / N + o.eps) * wide(weight(i)) +
                    wide(bias(i)))
    end)
    local function running(name, given, now)
      return kit.map(name, c, function(i)
        return narrow(wide(given(i)) * o.momentum +
                      now(i) / N * (1 - o.momentum))
      end)
    end
    return Y, running("running_mean", mean, S),
           running("running_variance", variance, Q)
  end,
}
