-- SPDX-License-Identifier: Apache-2.0
-- Attention: as products and a softmax, and as one pass over the keys.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local count, tensor = declare.count, declare.tensor

-- The numbers of a value, what products are multiplied with, and the result's
-- shape.
local function facts(o)
  local dv = o.dv or o.d
  return dv, o.scale or 1 / math.sqrt(o.d), { o.b, o.h, o.m, dv }
end

-- Key j is seen by query i: the last query sees all of them.
local function seen(o, i, j) return ts.le(j, i + (o.n - o.m)) end

-- ---- by softmax ------------------------------------------------------------

local function unfused(o, Q, K, V, mask)
  local _, scale, y_shape = facts(o)
  local acc, wide, narrow = kit.accumulator(o)
  local scores = { o.b, o.h, o.m, o.n }
  local d, r = ts.reduce_axis("d", o.d), ts.reduce_axis("r", o.n)
  local P = kit.map("product", scores, function(b, h, i, j)
    return ts.sum(wide(Q(b, h, i, d)) * wide(K(b, h, j, d)), d)
  end)
  local S = kit.map("scores", scores, function(b, h, i, j)
    local x = P(b, h, i, j) * scale
    if mask then x = x + wide(mask(i, j)) end
    if o.causal then x = ts.select(seen(o, i, j), x, -math.huge) end
    return x
  end)
  local rows = { o.b, o.h, o.m }
  local most = kit.map("greatest", rows, function(b, h, i)
    return ts.reduce_max(S(b, h, i, r), r)
  end)
  local E = kit.map("exp", scores, function(b, h, i, j)
    return ts.exp(S(b, h, i, j) - most(b, h, i))
  end)
  local sum = kit.map("sum", rows, function(b, h, i)
    return ts.sum(E(b, h, i, r), r)
  end)
  local W = kit.map("weights", scores, function(b, h, i, j)
    return E(b, h, i, j) / sum(b, h, i)
  end)
  local Y = kit.map("Y", y_shape, function(b, h, i, v)
    return ts.sum(W(b, h, i, r) * wide(V(b, h, r, v)), r)
  end)
  if acc == o.dtype then return Y end
  return kit.map("converted", y_shape, function(b, h, i, v)
    return narrow(Y(b, h, i, v))
  end)
end

-- ---- in one pass -----------------------------------------------------------

-- An iteration variable that goes in order.
local function ordered(name, n, bind)
  return { name, "opaque", extent = n, bind = bind }
end

-- What one query has seen so far: the greatest score, the sum of e^(score -
-- greatest), and that of the values so weighted; a greater score scales both.
local function one_pass(o, Q, K, V, mask)
  local dv, scale, y_shape = facts(o)
  local acc, wide, narrow = kit.accumulator(o)
  local b = kit.builder "attention_online"
  local Y, rows = b:buffer("Y", y_shape, o.dtype), { o.b, o.h, o.m }
  local O = acc == o.dtype and Y or b:buffer("values", y_shape, acc)
  local S = b:buffer("score", rows, acc)
  local M, L = b:buffer("greatest", rows, acc), b:buffer("sum", rows, acc)
  local C, P = b:buffer("scale", rows, acc), b:buffer("weight", rows, acc)
  local function row(list)
    local names = { "b", "h", "i" }
    local iters = {}
    for x = 1, 3 do
      iters[x] = { "v" .. names[x], extent = rows[x], bind = list[x] }
    end
    return iters
  end
  local function with(list, ...)
    local iters = row(list)
    table.move({ ... }, 1, select("#", ...), 4, iters)
    return iters
  end
  local function values(v) return { "vv", extent = dv, bind = v } end

  local function start(at)
    b:block("start", row(at), function(...)
      b:store(M, { ... }, kit.lowest(acc))
      b:store(L, { ... }, 0)
    end)
    b:loop("v", 0, dv, function(v)
      b:block("zero", with(at, values(v)), function(...)
        b:store(O, { ... }, 0)
      end)
    end)
  end

  local function score(at, j)
    b:loop("d", 0, o.d, function(d)
      b:block("product", with(at, ordered("vj", o.n, j),
                              { "vd", "reduce", extent = o.d, bind = d }),
              function(vb, vh, vi, vj, vd)
        b:init(function() b:store(S, { vb, vh, vi }, 0) end)
        b:store(S, { vb, vh, vi }, S(vb, vh, vi) +
                                   wide(Q(vb, vh, vi, vd)) *
                                   wide(K(vb, vh, vj, vd)))
      end)
    end)
  end

  -- The greatest score is the least finite number at first: a score of -inf
  -- then weighs 0, and -inf - -inf never comes up.
  local function update(at, j)
    b:block("update", with(at, ordered("vj", o.n, j)), function(vb, vh, vi, vj)
      local here, x = { vb, vh, vi }, S(vb, vh, vi) * scale
      if mask then x = x + wide(mask(vi, vj)) end
      if o.causal then x = ts.select(seen(o, vi, vj), x, -math.huge) end
      b:let("x", x, function(x)
        b:let("m", ts.max(M(vb, vh, vi), x), function(m)
          b:let("c", ts.exp(M(vb, vh, vi) - m), function(c)
            b:let("p", ts.exp(x - m), function(p)
              b:store(C, here, c)
              b:store(P, here, p)
              b:store(L, here, L(vb, vh, vi) * c + p)
              b:store(M, here, m)
            end)
          end)
        end)
      end)
    end)
  end

  local function gather(at, j)
    b:loop("v", 0, dv, function(v)
      b:block("values", with(at, ordered("vj", o.n, j), values(v)),
              function(vb, vh, vi, vj, vv)
        b:store(O, { vb, vh, vi, vv }, O(vb, vh, vi, vv) * C(vb, vh, vi) +
                                       P(vb, vh, vi) * wide(V(vb, vh, vj, vv)))
      end)
    end)
  end

  b:loop("b", 0, o.b, function(x)
    b:loop("h", 0, o.h, function(h)
      b:loop("i", 0, o.m, function(i)
        local at = { x, h, i }
        start(at)
        b:loop("j", 0, o.n, function(j)
          score(at, j)
          update(at, j)
          gather(at, j)
        end)
        b:loop("v", 0, dv, function(v)
          b:block("divide", with(at, values(v)), function(vb, vh, vi, vv)
            b:store(Y, { vb, vh, vi, vv },
                    narrow(O(vb, vh, vi, vv) / L(vb, vh, vi)))
          end)
        end)
      end)
    end)
  end)
  return Y
end

declare.operator {
  name = "attention",
  summary = "Scaled dot-product attention.",
  says = [[
Y[b, h, i, v] = sum over j of softmax over j (scale * sum over d of
  Q[b, h, i, d] * K[b, h, j, d] + mask[i, j]) * V[b, h, j, v]
Q[b, h, m, d], K[b, h, n, d], V[b, h, n, dv], mask[m, n] -> Y[b, h, m, dv].
causal: query i sees the keys up to i + n - m.  With `online` the keys are gone
through once, and no scores are kept: the softmax is that of ops.softmax with
`online`, its sum carrying the values along (Dao et al., "FlashAttention",
2022).  In a row of scores one has to be finite.]],
  options = {
    count("b", "sequences"), count("h", "heads"), count("m", "queries"),
    count("n", "keys and values"), count("d", "numbers of a query and a key"),
    count("dv", "numbers of a value", "d"),
    declare.number("scale", "what products are multiplied with",
                   "1 / sqrt(d)"),
    declare.flag("mask", "add a matrix to the scores of each head"),
    declare.flag("causal", "see no keys of later places; m is at most n"),
    declare.flag("online", "go through the keys once"),
    declare.dtype("float"), declare.acc(),
  },
  example = "{ b = 1, h = 1, m = 2, n = 3, d = 2 }",
  tensors = {
    tensor("Q", { "b", "h", "m", "d" }), tensor("K", { "b", "h", "n", "d" }),
    tensor("V", function(o) return { "b", "h", "n", o.dv and "dv" or "d" }
    end),
    tensor("mask", { "m", "n" }, { when = "mask" }),
  },
  symbolic = { b = true, h = true, m = true, n = true },
  infer = function(o, tensors) o.dv = tensors.V.shape[4] end,
  program = function(o) return o.online and "attention_online" or "attention"
  end,
  apply = function(o, ...)
    if o.causal and kit.above(o.m, o.n) then
      declare.wrong(o.name, "of %d causal queries the first sees none of %d " ..
                    "keys", o.m, o.n)
    end
    return o.online and one_pass(o, ...) or unfused(o, ...)
  end,
}


