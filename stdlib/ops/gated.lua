-- SPDX-License-Identifier: Apache-2.0
-- Of transformers' layers: gated activations and rotated positions.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local count, tensor = declare.count, declare.tensor

local shape = declare.list_of("shape", 1, "the shape of all")
local X = tensor("X", { "shape..." })
local alpha = declare.number("alpha", "what X is scaled with in the gate", "1")

-- x by the sigmoid of alpha x.
local function swish(o, x) return x * ts.sigmoid(x * o.alpha) end

declare.operator {
  name = "swish",
  summary = "Y = X / (1 + e^(-alpha X)), of each element.",
  says = "Y = X / (1 + e^(-alpha X)); with alpha = 1 it is ops.silu",
  tensors = { X },
  options = { shape, alpha, declare.dtype("float"), declare.acc() },
  symbolic = true,
  example = "{ shape = { 4 } }",
  apply = function(o, x)
    local _, wide, narrow = kit.accumulator(o)
    return kit.map("Y", o.shape, function(...)
      return narrow(swish(o, wide(x(...))))
    end)
  end,
}

declare.operator {
  name = "swiglu",
  summary = "One tensor gated by the swish of another.",
  says = "Y = X / (1 + e^(-alpha X)) * Z (Shazeer, \"GLU variants\", 2020)",
  tensors = { X, tensor("Z", { "shape..." }) },
  options = { shape, alpha, declare.dtype("float"), declare.acc() },
  symbolic = true,
  example = "{ shape = { 4 } }",
  apply = function(o, x, z)
    local _, wide, narrow = kit.accumulator(o)
    return kit.map("Y", o.shape, function(...)
      return narrow(swish(o, wide(x(...))) * wide(z(...)))
    end)
  end,
}

-- Rows of the tables: of positions, or of each sequence.
local function table_shape(o)
  local half = function(p) return (p.dim or p.d) // 2 end
  if o.ids then return { "positions", half } end
  return { "b", "s", half }
end

declare.operator {
  name = "rotary_embedding",
  summary = "Pairs of numbers of each head rotated by their position.",
  says = [[
Y[.., p] = X[.., p] c - X[.., q] s, Y[.., q] = X[.., p] s + X[.., q] c
X[b, h, s, d]; pairs (p, q) of the first `dim` numbers are (i, i + dim / 2), or
(2 i, 2 i + 1) if interleaved; c and s: cos[t, i] and sin[t, i], t = I[b, s], or
without `ids` cos[b, s, i] and sin[b, s, i] (Su et al., "RoFormer", 2021).]],
  tensors = { tensor("X", { "b", "h", "s", "d" }), tensor("cos", table_shape),
              tensor("sin", table_shape),
              tensor("I", { "b", "s" }, { when = "ids", type = "index" }) },
  options = { count("b", "sequences"), count("h", "heads"),
              count("s", "their length"), count("d", "numbers of a head"),
              count("dim", "how many of them are rotated", "d"),
              count("positions", "rows of the tables, with `ids`", "s"),
              declare.flag("interleaved", "pairs are next to each other"),
              declare.flag("ids", "positions are given"),
              declare.word("index", { "int32", "int64" }, "int64",
                           "the type of I"), declare.dtype("float"),
              declare.acc() },
  symbolic = { b = true, h = true, s = true },
  infer = function(o, tensors)
    o.ids = tensors.I ~= nil
    if o.ids then o.positions = tensors.cos.shape[1] end
  end,
  check = function(o)
    local dim = o.dim or o.d
    if dim % 2 ~= 0 or dim > o.d then
      declare.wrong(o.name, "%d of %d numbers are no pairs", dim, o.d)
    end
    o.positions = o.positions or o.s
  end,
  example = "{ b = 1, h = 1, s = 2, d = 4 }",
  apply = function(o, X, cos, sin, I)
    local _, wide, narrow = kit.accumulator(o)
    local dim = o.dim or o.d
    local half = dim // 2
    return kit.map("Y", { o.b, o.h, o.s, o.d }, function(b, h, s, d)
      local i = o.interleaved and d // 2 or d % half
      i = ts.min(i, half - 1)
      local second = o.interleaved and ts.eq(d % 2, 1) or ts.ge(d, half)
      local p = o.interleaved and 2 * i or i
      local q = o.interleaved and 2 * i + 1 or i + half
      local function at(t)
        if not I then return wide(t(b, s, i)) end
        return wide(t(kit.index(I(b, s), o.positions), i))
      end
      local x, y = wide(X(b, h, s, p)), wide(X(b, h, s, q))
      local turned = ts.select(second, x * at(sin) + y * at(cos),
                               x * at(cos) - y * at(sin))
      if dim == o.d then return narrow(turned) end
      return ts.select(ts.lt(d, dim), narrow(turned), X(b, h, s, d))
    end)
  end,
}
