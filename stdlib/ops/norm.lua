-- SPDX-License-Identifier: Apache-2.0
-- Normalisation: of layers, by root mean square, of batches, by groups; softmax
-- and its logarithm; the norm of matrices.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
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

-- ---- softmax ---------------------------------------------------------------

-- It starts at the least finite number, as -inf - -inf is none.
local function online(dtype)
  return ts.reducer(function(most, sum, new_most, new_sum)
    local m = ts.max(most, new_most)
    return m, sum * ts.exp(most - m) + new_sum * ts.exp(new_most - m)
  end, { kit.lowest(dtype), 0 }, "online_softmax")
end

-- The greatest of each row, and the sum of e^(x - greatest); by one pass where
-- `one_pass`.  x gives an element as it is computed with, of type `acc`.
local function rows(o, x, d, one_pass, acc)
  local n = #o.shape
  local outer = kit.with(o.shape, d, nil)
  local r = ts.reduce_axis("r", o.shape[d])
  local function at(i, ...)
    return table.unpack(kit.inserted({ ... }, d, i), 1, n)
  end
  local function without(...)
    return table.unpack(kit.with({ ... }, d, nil), 1, n - 1)
  end
  if one_pass then
    local reduce = online(acc)
    local most, sum = kit.map("rows", outer, function(...)
      return reduce(x(at(r, ...)), ts.const(1, acc), r)
    end)
    return most, sum, without
  end
  local most = kit.map("greatest", outer, function(...)
    return ts.reduce_max(x(at(r, ...)), r)
  end)
  local E = kit.map("exp", o.shape, function(...)
    return ts.exp(x(...) - most(without(...)))
  end)
  local sum = kit.map("sum", outer, function(...)
    return ts.sum(E(at(r, ...)), r)
  end)
  return most, sum, without, E
end

local one_pass = declare.flag("online",
  "find the greatest element and the sum in one pass")

declare.operator {
  name = "softmax",
  summary = "Softmax along a dimension.",
  says = [[
Y = e^(X - m) / sum of e^(X - m), m: the greatest X
both along `axis`.  With `online` m and the sum are one reduction, of the pairs
(m, s): (a, s) and (b, t) make (c, s e^(a - c) + t e^(b - c)), c = max(a, b)
(Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018).
One X of each row has to be finite.]],
  options = { shape, axis, one_pass, declare.dtype("float"), declare.acc() },
  example = "{ shape = { 2, 3 } }",
  tensors = { X },
  symbolic = true,
  apply = function(o, X)
    local d = kit.axis(o, #o.shape, o.axis)
    local acc, wide, narrow = kit.accumulator(o)
    local function x(...) return wide(X(...)) end
    local most, sum, without, E = rows(o, x, d, o.online, acc)
    return kit.map("softmax", o.shape, function(...)
      local e = E and E(...) or ts.exp(x(...) - most(without(...)))
      return narrow(e / sum(without(...)))
    end)
  end,
}

declare.operator {
  name = "log_softmax",
  summary = "The logarithm of softmax along a dimension.",
  says = [[
Y = X - m - log(sum of e^(X - m)), m: the greatest X
both along `axis`; `online` as of ops.softmax.]],
  options = { shape, axis, one_pass, declare.dtype("float"), declare.acc() },
  example = "{ shape = { 2, 3 } }",
  tensors = { X },
  symbolic = true,
  apply = function(o, X)
    local d = kit.axis(o, #o.shape, o.axis)
    local acc, wide, narrow = kit.accumulator(o)
    local function x(...) return wide(X(...)) end
    local most, sum, without = rows(o, x, d, o.online, acc)
    return kit.map("log_softmax", o.shape, function(...)
      return narrow(x(...) - most(without(...)) -
                    ts.log(sum(without(...))))
    end)
  end,
}

-- ---- norm ------------------------------------------------------------------

declare.operator {
  name = "norm",
  summary = "The Frobenius norm of each matrix of a batch.",
  says = [[
Y[b] = sqrt(sum over i, j of X[b, i, j]^2)
X[b, m, n] -> Y[b].]],
  options = { count("b", "matrices", "1"), count("m", "their rows"),
              count("n", "their columns"), declare.dtype("float"),
              declare.acc() },
  example = "{ m = 2, n = 2 }",
  tensors = { tensor("X", { "b", "m", "n" }) },
  symbolic = true,
  apply = function(o, X)
    local _, wide, narrow = kit.accumulator(o)
    local i, j = ts.reduce_axis("i", o.m), ts.reduce_axis("j", o.n)
    local S = kit.map("squares", { o.b }, function(n)
      return ts.sum(wide(X(n, i, j)) * wide(X(n, i, j)), { i, j })
    end)
    return kit.map("norm", { o.b }, function(n)
      return narrow(ts.sqrt(S(n)))
    end)
  end,
}
