-- SPDX-License-Identifier: Apache-2.0
-- Softmax, log-softmax and hardmax.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local list_of, tensor = declare.list_of, declare.tensor

local shape = list_of("shape", 1, "the shape of X")
local axis = declare.integer("axis", "the dimension, from 0; -1: the last",
                             "-1")
local X = tensor("X", { "shape..." })

-- Indices with i at place d, or without the one there.
local function inserted(o, d, i, ...)
  return table.unpack(kit.inserted({ ... }, d, i), 1, #o.shape)
end
local function without(o, d, ...)
  return table.unpack(kit.with({ ... }, d, nil), 1, #o.shape - 1)
end

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
  local outer = kit.with(o.shape, d, nil)
  local r = ts.reduce_axis("r", o.shape[d])
  if one_pass then
    local reduce = online(acc)
    local most, sum = kit.map("rows", outer, function(...)
      return reduce(x(inserted(o, d, r, ...)), ts.const(1, acc), r)
    end)
    return most, sum
  end
  local most = kit.map("greatest", outer, function(...)
    return ts.reduce_max(x(inserted(o, d, r, ...)), r)
  end)
  local E = kit.map("exp", o.shape, function(...)
    return ts.exp(x(...) - most(without(o, d, ...)))
  end)
  local sum = kit.map("sum", outer, function(...)
    return ts.sum(E(inserted(o, d, r, ...)), r)
  end)
  return most, sum, E
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
    local most, sum, E = rows(o, x, d, o.online, acc)
    return kit.map("softmax", o.shape, function(...)
      local e = E and E(...) or ts.exp(x(...) - most(without(o, d, ...)))
      -- One division for a row, which compilers take out of its loop.
      return narrow(e * (1 / sum(without(o, d, ...))))
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
    local most, sum = rows(o, x, d, o.online, acc)
    return kit.map("log_softmax", o.shape, function(...)
      return narrow(x(...) - most(without(o, d, ...)) -
                    ts.log(sum(without(o, d, ...))))
    end)
  end,
}

-- ---- hardmax ---------------------------------------------------------------

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
    local d = kit.axis(o, #o.shape, o.axis)
    local r = ts.reduce_axis("r", o.shape[d])
    local at = kit.map("greatest", kit.with(o.shape, d, nil), function(...)
      return first_greatest(ts.cast(r, "int64"), x(inserted(o, d, r, ...)), r)
    end)
    return kit.map("Y", o.shape, function(...)
      local here = ts.cast((select(d, ...)), "int64")
      return ts.select(ts.eq(here, at(without(o, d, ...))),
                       ts.const(1, o.dtype), ts.const(0, o.dtype))
    end)
  end,
}
