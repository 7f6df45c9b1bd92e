-- SPDX-License-Identifier: Apache-2.0
-- Attention: as products and a softmax, and as one pass over the keys.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local count = declare.count

local function tensors(o)
  local dtype = o.dtype or "float32"
  local dv = o.dv or o.d
  local scale = o.scale or 1 / math.sqrt(o.d)
  return dtype, dv, scale, { o.b, o.h, o.m, o.d }, { o.b, o.h, o.n, o.d },
         { o.b, o.h, o.n, dv }, { o.b, o.h, o.m, dv }
end

-- Key j is seen by query i: the last query sees all of them.
local function seen(o, i, j) return ts.le(j, i + (o.n - o.m)) end

-- ---- by softmax ------------------------------------------------------------

local function unfused(o)
  local dtype, dv, scale, q_shape, k_shape, v_shape, y_shape = tensors(o)
  local acc, wide, narrow = kit.accumulator(o)
  local Q = ts.placeholder("Q", q_shape, dtype)
  local K = ts.placeholder("K", k_shape, dtype)
  local V = ts.placeholder("V", v_shape, dtype)
  local inputs, scores = { Q, K, V }, { o.b, o.h, o.m, o.n }
  local d, r = ts.reduce_axis("d", o.d), ts.reduce_axis("r", o.n)
  local P = ts.compute("product", scores, function(b, h, i, j)
    return ts.sum(wide(Q(b, h, i, d)) * wide(K(b, h, j, d)), d)
  end)
  local mask = o.mask and ts.placeholder("mask", { o.m, o.n }, dtype)
  inputs[4] = mask or nil
  local S = ts.compute("scores", scores, function(b, h, i, j)
    local x = P(b, h, i, j) * scale
    if mask then x = x + wide(mask(i, j)) end
    if o.causal then x = ts.select(seen(o, i, j), x, -math.huge) end
    return x
  end)
  local rows = { o.b, o.h, o.m }
  local most = ts.compute("greatest", rows, function(b, h, i)
    return ts.reduce_max(S(b, h, i, r), r)
  end)
  local E = ts.compute("exp", scores, function(b, h, i, j)
    return ts.exp(S(b, h, i, j) - most(b, h, i))
  end)
  local sum = ts.compute("sum", rows, function(b, h, i)
    return ts.sum(E(b, h, i, r), r)
  end)
  local W = ts.compute("weights", scores, function(b, h, i, j)
    return E(b, h, i, j) / sum(b, h, i)
  end)
  local Y = ts.compute("Y", y_shape, function(b, h, i, v)
    return ts.sum(W(b, h, i, r) * wide(V(b, h, r, v)), r)
  end)
  if acc ~= dtype then
    local of = Y
    Y = ts.compute("converted", y_shape, function(b, h, i, v)
      return narrow(of(b, h, i, v))
    end)
  end
  return ts.program("attention", inputs, { Y })
end

-- ---- in one pass -----------------------------------------------------------

-- An iteration variable that goes in order.
local function ordered(name, n, bind)
  return { name, "opaque", extent = n, bind = bind }
end

-- What one query has seen so far: the greatest score, the sum of e^(score -
-- greatest), and that of the values so weighted; a greater score scales both.
local function one_pass(o)
  local dtype, dv, scale, q_shape, k_shape, v_shape, y_shape = tensors(o)
  local acc, wide, narrow = kit.accumulator(o)
  local b = ts.builder "attention_online"
  local Q, K = b:input("Q", q_shape, dtype), b:input("K", k_shape, dtype)
  local V = b:input("V", v_shape, dtype)
  local mask = o.mask and b:input("mask", { o.m, o.n }, dtype)
  local Y, rows = b:output("Y", y_shape, dtype), { o.b, o.h, o.m }
  local O = acc == dtype and Y or b:buffer("values", y_shape, acc)
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
  return b:program()
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
  make = function(o)
    if o.causal and o.m > o.n then
      declare.wrong(o.name, "of %d causal queries the first sees none of %d " ..
                    "keys", o.m, o.n)
    end
    return o.online and one_pass(o) or unfused(o)
  end,
}


