-- SPDX-License-Identifier: Apache-2.0
-- Further normalization: over neighbouring channels, by norms of vectors, of
-- batches whose statistics are computed; the 1 of the greatest.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local list_of, tensor = declare.list_of, declare.tensor

local shape = list_of("shape", 1, "the shape of X")
local axis = declare.integer("axis", "the dimension, from 0; -1: the last",
                             "-1")
local X = tensor("X", { "shape..." })

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
    local set, axes, to, N = kit.axes(o, #o.shape, o.axes), {}, {}, 1
    for d, extent in ipairs(o.shape) do
      if set[d] then
        axes[#axes + 1], N = ts.reduce_axis("r" .. d, extent), N * extent
      else
        to[#to + 1] = extent
      end
    end
    local function element(...)
      local at, from, i, r = {}, { ... }, 0, 0
      for d = 1, #o.shape do
        if set[d] then r = r + 1 at[d] = axes[r]
        else i = i + 1 at[d] = from[i] end
      end
      return table.unpack(at)
    end
    local function result(...)
      local at, from = {}, { ... }
      for d = 1, #o.shape do
        if not set[d] then at[#at + 1] = from[d] end
      end
      return table.unpack(at)
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

-- The first of the greatest.
local first_greatest = ts.reducer(function(at, best, new_at, new)
  local stays = ts.any(ts.gt(best, new),
                       ts.all(ts.eq(best, new), ts.lt(at, new_at)))
  return ts.select(stays, at, new_at), ts.max(best, new)
end, { math.huge, -math.huge }, "arg_max")

declare.operator {
  name = "hardmax",
  summary = "1 where the greatest element along a dimension is, else 0.",
  says = "Y = 1 at the first of the greatest X along `axis`, else 0",
  tensors = { X },
  options = { shape, axis, declare.dtype("float") },
  example = "{ shape = { 2, 3 } }",
  symbolic = true,
  apply = function(o, x)
    local n, d = #o.shape, kit.axis(o, #o.shape, o.axis)
    local r = ts.reduce_axis("r", o.shape[d])
    local at = kit.map("greatest", kit.with(o.shape, d, nil), function(...)
      return first_greatest(ts.cast(r, "int64"), x(inserted(d, n, r, ...)), r)
    end)
    return kit.map("Y", o.shape, function(...)
      local here = ts.cast((select(d, ...)), "int64")
      return ts.select(ts.eq(here, at(with(d, n - 1, nil, ...))),
                       ts.const(1, o.dtype), ts.const(0, o.dtype))
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
