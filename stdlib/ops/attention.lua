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

-- The keys and values that head h sees are those of its group.
local function group_of(o, h)
  if not o.kv_heads or o.kv_heads == o.h then return h end
  return h // (o.h // o.kv_heads)
end

-- ---- masks -----------------------------------------------------------------

-- Which key query i would see last if it saw none of later places: the last
-- query sees all of them, or `offset` says what the first one sees; of those of
-- a batch that are there.
local function last_seen(o, i, b, lengths)
  if lengths then return i + (ts.cast(lengths(b), "int64") - o.m) end
  return i + (o.offset or o.n - o.m)
end

-- Whether key j is seen by query i of batch b; nil: always.
local function seen(o, b, i, j, lengths)
  local list = {}
  if o.causal then list[1] = ts.le(j, last_seen(o, i, b, lengths)) end
  if o.left >= 0 then
    list[#list + 1] = ts.ge(j, last_seen(o, i, b, lengths) - o.left)
  end
  if o.right >= 0 then
    list[#list + 1] = ts.le(j, last_seen(o, i, b, lengths) + o.right)
  end
  if lengths then
    list[#list + 1] = ts.lt(j, ts.cast(lengths(b), "int64"))
  end
  return #list > 0 and ts.all(table.unpack(list)) or nil
end

-- Steps of a score: of a product with the scale, with what caps it, and with
-- what masks it.
local function capped(o, x)
  if o.softcap == 0 then return x end
  return ts.tanh(x / o.softcap) * o.softcap
end

local function masked(o, x, at, mask, lengths, wide)
  local b, _, i, j = table.unpack(at)
  if mask then
    local of = o.mask_shape or { o.m, o.n }
    local m = mask(kit.broadcast(of, { o.b, o.h, o.m, o.n }, at))
    if o.mask_dtype == "bool" then x = ts.select(m, x, -math.huge)
    else x = x + wide(m) end
  end
  local sees = seen(o, b, i, j, lengths)
  return sees and ts.select(sees, x, -math.huge) or x
end

-- ---- by softmax ------------------------------------------------------------

-- The tensor of scores that `scores` asks for, as one of the operator's type.
local function scores_as(o, list, narrow)
  local of = list[o.scores]
  return kit.map("scores_out", { o.b, o.h, o.m, o.n }, function(...)
    return narrow(of(...))
  end)
end

local function unfused(o, Q, K, V, mask, lengths)
  local _, scale, y_shape = facts(o)
  local acc, wide, narrow = kit.accumulator(o)
  local scores = { o.b, o.h, o.m, o.n }
  local d, r = ts.reduce_axis("d", o.d), ts.reduce_axis("r", o.n)
  local P = kit.map("product", scores, function(b, h, i, j)
    return ts.sum(wide(Q(b, h, i, d)) * wide(K(b, group_of(o, h), j, d)), d)
  end)
  local S = kit.map("scores", scores, function(b, h, i, j)
    return masked(o, capped(o, P(b, h, i, j) * scale), { b, h, i, j }, mask,
                  lengths, wide)
  end)
  local rows = { o.b, o.h, o.m }
  local most = kit.map("greatest", rows, function(b, h, i)
    return ts.reduce_max(S(b, h, i, r), r)
  end)
  -- Of a row that is masked whole -inf - -inf would be none.
  local function from(x)
    return o.zero_masked and ts.max(x, kit.lowest(acc)) or x
  end
  local E = kit.map("exp", scores, function(b, h, i, j)
    return ts.exp(S(b, h, i, j) - from(most(b, h, i)))
  end)
  local sum = kit.map("sum", rows, function(b, h, i)
    return ts.sum(E(b, h, i, r), r)
  end)
  local W = kit.map("weights", scores, function(b, h, i, j)
    local w = E(b, h, i, j) / sum(b, h, i)
    return o.zero_masked and ts.select(ts.gt(sum(b, h, i), 0), w, 0) or w
  end)
  local Y = kit.map("Y", y_shape, function(b, h, i, v)
    return ts.sum(W(b, h, i, r) * wide(V(b, group_of(o, h), r, v)), r)
  end)
  if acc ~= o.dtype then
    local of = Y
    Y = kit.map("converted", y_shape, function(b, h, i, v)
      return narrow(of(b, h, i, v))
    end)
  end
  if not o.scores then return Y end
  local function product(b, h, i, j) return P(b, h, i, j) * scale end
  return Y, scores_as(o, {
    products = product, masked = S, weights = W,
    capped = function(...) return capped(o, product(...)) end }, narrow)
end

-- ---- in one pass -----------------------------------------------------------

-- An iteration variable that goes in order.
local function ordered(name, n, bind)
  return { name, "opaque", extent = n, bind = bind }
end

-- What one query has seen so far: the greatest score, the sum of e^(score -
-- greatest), and that of the values so weighted; a greater score scales both.
local function one_pass(o, Q, K, V, mask, lengths)
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
                                   wide(K(vb, group_of(o, vh), vj, vd)))
      end)
    end)
  end

  -- The greatest score is the least finite number at first: a score of -inf
  -- then weighs 0, and -inf - -inf never comes up.
  local function update(at, j)
    b:block("update", with(at, ordered("vj", o.n, j)), function(vb, vh, vi, vj)
      local here = { vb, vh, vi }
      local x = masked(o, capped(o, S(vb, vh, vi) * scale),
                       { vb, vh, vi, vj }, mask, lengths, wide)
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
                                       P(vb, vh, vi) *
                                       wide(V(vb, group_of(o, vh), vj, vv)))
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
            local y = O(vb, vh, vi, vv) / L(vb, vh, vi)
            if o.zero_masked then
              y = ts.select(ts.gt(L(vb, vh, vi), 0), y, 0)
            end
            b:store(Y, { vb, vh, vi, vv }, narrow(y))
          end)
        end)
      end)
    end)
  end)
  return Y
end

-- ---- the operator ----------------------------------------------------------

-- Keys or values of earlier calls, and those of this one behind them.
local function present(o, name, past, x, width)
  local shape = { o.b, o.kv_heads or o.h, o.n, width }
  return kit.map(name, shape, function(b, h, j, d)
    local new = x(b, h, j - o.past_n, d)
    return ts.select(ts.lt(j, o.past_n), past(b, h, j, d), new)
  end)
end

local function attention(o, Q, K, V, mask, lengths, past_k, past_v)
  local f = o.online and one_pass or unfused
  if not past_k then return f(o, Q, K, V, mask, lengths) end
  local keys = present(o, "present_k", past_k, K, o.d)
  local values = present(o, "present_v", past_v, V, o.dv or o.d)
  local Y, scores = f(o, Q, keys, values, mask, lengths)
  return Y, keys, values, scores
end

-- Keys of this call.
local function new_keys(o)
  return o.past and o.n - o.past_n or o.n
end

local function check(o)
  if o.causal and not o.offset and kit.above(o.m, o.n) then
    declare.wrong(o.name, "of %d causal queries the first sees none of %d " ..
                  "keys", o.m, o.n)
  elseif o.kv_heads and o.h % o.kv_heads ~= 0 then
    declare.wrong(o.name, "%d heads are no groups of %d", o.h, o.kv_heads)
  elseif o.online and o.scores then
    declare.wrong(o.name, "'online' keeps no scores")
  elseif o.past and kit.above(o.past_n, o.n) then
    declare.wrong(o.name, "'past_n' is %d, and there are %d keys", o.past_n,
                  o.n)
  elseif o.mask then
    kit.check_broadcast(o, o.mask_shape or { o.m, o.n },
                        { o.b, o.h, o.m, o.n }, "mask_shape")
  end
end

declare.operator {
  name = "attention",
  summary = "Scaled dot-product attention.",
  says = [[
Y[b, h, i, v] = sum over j of softmax over j (cap(scale * sum over d of
  Q[b, h, i, d] * K[b, g, j, d]) + mask[.., i, j]) * V[b, g, j, v]
Q[b, h, m, d], K[b, kv_heads, n, d], V[b, kv_heads, n, dv] -> Y[b, h, m, dv]; g:
the group of head h, of as many heads as there are for one of K.  mask is
broadcast to [b, h, m, n]; of bool it says which keys are seen.  causal: query i
sees the keys up to i + offset, or, with `lengths`, up to i + lengths[b] - m;
left and right: how many keys around that one it sees.  cap(x): softcap *
tanh(x / softcap).  With `past` the first past_n keys and values are past_k and
past_v, K and V the others, and all of them are results.  With `scores` those
are the last result: the products with the scale, what caps or masks them, or
the weights.  With `online` the keys are gone through once, and no scores are
kept: the softmax is that of ops.softmax with `online`, its sum carrying the
values along (Dao et al., "FlashAttention", 2022).  In a row of scores one has
to be finite; with `zero_masked` the others give 0.]],
  options = {
    count("b", "sequences"), count("h", "heads"), count("m", "queries"),
    count("n", "keys and values"), count("d", "numbers of a query and a key"),
    count("dv", "numbers of a value", "d"),
    count("kv_heads", "heads of keys and values", "h"),
    declare.number("scale", "what products are multiplied with",
                   "1 / sqrt(d)"),
    declare.number("softcap", "what scores stay below, 0: anything", "0"),
    declare.flag("mask", "add a mask to the scores"),
    declare.list_of("mask_shape", 1, "its shape", "m, n"),
    declare.dtype("any", "dtype", "its type, `dtype` or bool", "mask_dtype"),
    declare.flag("causal", "see no keys of later places"),
    declare.integer("offset", "the last key that the first query sees",
                    "n - m"),
    declare.integer("left", "earlier keys that are seen, -1: all", "-1"),
    declare.integer("right", "later keys that are seen, -1: all", "-1"),
    declare.flag("lengths", "how many keys each sequence has"),
    declare.word("index", { "int32", "int64" }, "int64", "the type of lengths"),
    declare.flag("past", "keys and values of earlier calls"),
    declare.natural("past_n", "how many of n those are", "0"),
    declare.word("scores", { "products", "capped", "masked", "weights" },
                 "none", "which scores are a result, too"),
    declare.flag("zero_masked", "rows that are masked whole give 0"),
    declare.flag("online", "go through the keys once"),
    declare.dtype("float"), declare.acc(),
  },
  tensors = {
    tensor("Q", { "b", "h", "m", "d" }),
    tensor("K", function(o)
      return { "b", o.kv_heads and "kv_heads" or "h", new_keys, "d" }
    end),
    tensor("V", function(o)
      return { "b", o.kv_heads and "kv_heads" or "h", new_keys,
               o.dv and "dv" or "d" }
    end),
    tensor("mask", function(o)
      return o.mask_shape and { "mask_shape..." } or { "m", "n" }
    end, { when = "mask", type = function(o) return o.mask_dtype or o.dtype
    end }),
    tensor("lengths", { "b" }, { when = "lengths", type = "index" }),
    tensor("past_k", function(o)
      return { "b", o.kv_heads and "kv_heads" or "h", "past_n", "d" }
    end, { when = "past" }),
    tensor("past_v", function(o)
      return { "b", o.kv_heads and "kv_heads" or "h", "past_n",
               o.dv and "dv" or "d" }
    end, { when = "past" }),
  },
  symbolic = { b = true, h = true, m = true, n = true, past_n = true },
  infer = function(o, tensors)
    local q, k, v = tensors.Q.shape, tensors.K.shape, tensors.V.shape
    if #q ~= 4 or #k ~= 4 or #v ~= 4 then return end
    o.dv, o.n = v[4], k[3]
    if not kit.same(k[2], q[2]) then o.kv_heads = k[2] end
    if tensors.past_k then
      o.past_n = tensors.past_k.shape[3]
      o.n = o.n + o.past_n
    end
    if tensors.mask then
      o.mask_shape = tensors.mask.shape
      if tensors.mask.dtype == "bool" then o.mask_dtype = "bool" end
    end
  end,
  check = check,
  example = "{ b = 1, h = 1, m = 2, n = 3, d = 2 }",
  program = function(o) return o.online and "attention_online" or "attention"
  end,
  apply = attention,
}
