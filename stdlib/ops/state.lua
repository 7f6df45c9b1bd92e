-- SPDX-License-Identifier: Apache-2.0
-- Layers that keep a state from one call to the next: linear attention, and
-- convolutions of what came before.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local count, flag, tensor = declare.count, declare.flag, declare.tensor

declare.operator {
  name = "causal_conv1d",
  summary = "A convolution of each channel over what came before.",
  says = [[
Y[b, c, i] = act(sum over t < k of P[b, c, i + t] * W[c, t] + bias[c])
P: the k - 1 elements of `past`, or zeros, and then X[b, c, l]; the second
result, where k > 1, has the last k - 1 elements of P, the past of a next
call.]],
  tensors = { tensor("X", { "b", "c", "l" }), tensor("W", { "c", "k" }),
              tensor("bias", { "c" }, { when = "bias" }),
              tensor("past", { "b", "c", function(o) return o.k - 1 end },
                     { when = "past" }) },
  options = { count("b", "sequences"), count("c", "their channels"),
              count("l", "their length"), count("k", "elements of a window"),
              flag("past", "there are elements before"),
              declare.dtype("float"), declare.acc(), kit.epilogue_options() },
  example = "{ b = 1, c = 1, l = 4, k = 2 }",
  result = "conv",
  check = function(o)
    if o.past and o.k == 1 then
      declare.wrong(o.name, "a window of one element has no past")
    end
  end,
  apply = function(o, X, W, bias, past)
    local acc, wide = kit.accumulator(o)
    local before, shape = o.k - 1, { o.b, o.c, o.l }
    local names = { "b", "c", "i" }
    local P = before == 0 and X or
              kit.compute("padded", { o.b, o.c, o.l + before }, names,
                          function(b, c, i)
      local was = past and past(b, c, ts.min(i, before - 1)) or
                  ts.const(0, o.dtype)
      return ts.select(ts.lt(i, before), was, X(b, c, ts.max(i - before, 0)))
    end)
    local t = ts.reduce_axis("t", o.k)
    local Y = kit.compute("conv", shape, names, function(b, c, i)
      return ts.sum(wide(P(b, c, i + t)) * wide(W(c, t)), t)
    end)
    Y = kit.epilogue(o, Y, shape, names, 2, acc, bias)
    if before == 0 then return Y end
    return Y, kit.compute("present", { o.b, o.c, before }, names,
                          function(b, c, i) return P(b, c, i + o.l) end)
  end,
}

-- ---- linear attention ------------------------------------------------------

-- Iteration variables of a block: of a batch and a group, and of others.
local function iters(fixed, ...)
  local list = { table.unpack(fixed) }
  for i, x in ipairs { ... } do
    list[#list + 1] = { "v" .. x[1], x[4] or "spatial", extent = x[2],
                        bind = x[3] }
  end
  return list
end

-- The blocks of a step t: the state S decays, what it holds of the key is put
-- right (delta), and it gets the product of key and value; queries read it.
local function step(o, b, x, S, R, Y, at, t)
  local d, dv, per = o.d, o.dv, o.h // o.groups
  local acc, wide, narrow = kit.accumulator(o)
  local time = { "t", o.t, t, "opaque" }
  local function decayed(n, g, i, j, k)
    local s = S(n, g, i, j)
    if not x.decay then return s end
    return s * ts.exp(wide(x.decay(n, g, k, o.rates == 1 and 0 or i)))
  end
  if x.beta then
    b:loop("j", 0, dv, function(j)
      b:loop("i", 0, d, function(i)
        b:block("held", iters(at, time, { "j", dv, j },
                              { "i", d, i, "reduce" }),
                function(n, g, k, vj, vi)
          b:init(function() b:store(R, { n, g, vj }, 0) end)
          b:store(R, { n, g, vj }, R(n, g, vj) + decayed(n, g, vi, vj, k) *
                                   wide(x.K(n, g, k, vi)))
        end)
      end)
    end)
  end
  b:loop("i", 0, d, function(i)
    b:loop("j", 0, dv, function(j)
      b:block("write", iters(at, time, { "i", d, i }, { "j", dv, j }),
              function(n, g, k, vi, vj)
        local v = wide(x.V(n, g, k, vj))
        if x.beta then
          v = wide(x.beta(n, o.betas == 1 and 0 or g, k)) * (v - R(n, g, vj))
        end
        b:store(S, { n, g, vi, vj },
                decayed(n, g, vi, vj, k) + wide(x.K(n, g, k, vi)) * v)
      end)
    end)
  end)
  b:loop("h", 0, per, function(h)
    b:loop("j", 0, dv, function(j)
      b:loop("i", 0, d, function(i)
        b:block("read", iters(at, { "h", per, h }, time, { "j", dv, j },
                              { "i", d, i, "reduce" }),
                function(n, g, q, k, vj, vi)
          local place = { n, g * per + q, k, vj }
          b:init(function() b:store(Y, place, 0) end)
          b:store(Y, place, Y(table.unpack(place)) +
                  wide(x.Q(n, g * per + q, k, vi)) * S(n, g, vi, vj))
        end)
      end)
    end)
  end)
end

declare.operator {
  name = "linear_attention",
  summary = "Attention whose past is a matrix for each head.",
  says = [[
for each t: S = e^decay[t] S, V' = beta[t] (V[t] - S^T K[t]) or V[t],
  S = S + K[t] V'^T, Y[t] = scale S^T Q[t]
Q[b, h, t, d], K[b, groups, t, d], V[b, groups, t, dv]; query head i sees group
i / (h / groups); decay[b, groups, t, rates], a rate for each of d or for all;
beta[b, betas, t], one for each group or for all; S begins as past[b, groups, d,
dv], or as 0; the second result is what it is in the end.]],
  tensors = {
    tensor("Q", { "b", "h", "t", "d" }),
    tensor("K", { "b", "groups", "t", "d" }),
    tensor("V", { "b", "groups", "t", "dv" }),
    tensor("past", { "b", "groups", "d", "dv" }, { when = "past" }),
    tensor("decay", { "b", "groups", "t", "rates" }, { when = "decay" }),
    tensor("beta", { "b", "betas", "t" }, { when = "beta" }),
  },
  options = {
    count("b", "sequences"), count("h", "heads of queries"),
    count("groups", "heads of keys and values"), count("t", "steps"),
    count("d", "numbers of a key"), count("dv", "numbers of a value"),
    declare.number("scale", "what Y is multiplied with", "1 / sqrt(d)"),
    flag("past", "the state does not begin as 0"),
    flag("decay", "the state decays"), flag("beta", "the delta rule"),
    count("rates", "rates of decay: 1 or d", "1"),
    count("betas", "1, or groups", "1"),
    declare.dtype("float"), declare.acc(),
  },
  example = "{ b = 1, h = 1, groups = 1, t = 2, d = 2, dv = 1 }",
  check = function(o)
    if o.h % o.groups ~= 0 then
      declare.wrong(o.name, "%d groups do not divide %d heads", o.groups, o.h)
    elseif o.rates ~= 1 and o.rates ~= o.d then
      declare.wrong(o.name, "'rates' is %d, neither 1 nor %d", o.rates, o.d)
    elseif o.betas ~= 1 and o.betas ~= o.groups then
      declare.wrong(o.name, "'betas' is %d, neither 1 nor %d", o.betas,
                    o.groups)
    end
  end,
  apply = function(o, Q, K, V, past, decay, beta)
    local acc, wide, narrow = kit.accumulator(o)
    local b = kit.builder "linear_attention"
    local shape = { o.b, o.groups, o.d, o.dv }
    local S = b:buffer("state", shape, acc)
    local R = beta and b:buffer("held", { o.b, o.groups, o.dv }, acc)
    local Y = b:buffer("sums", { o.b, o.h, o.t, o.dv }, acc)
    kit.block(b, "begin", shape, { "n", "g", "i", "j" }, function(...)
      b:store(S, { ... }, past and wide(past(...)) or ts.const(0, acc))
    end)
    local x = { Q = Q, K = K, V = V, decay = decay, beta = beta }
    b:loop("n", 0, o.b, function(n)
      b:loop("g", 0, o.groups, function(g)
        local at = { { "vn", extent = o.b, bind = n },
                     { "vg", extent = o.groups, bind = g } }
        b:loop("t", 0, o.t, function(t) step(o, b, x, S, R, Y, at, t) end)
      end)
    end)
    local scale = o.scale or 1 / math.sqrt(o.d)
    return kit.map("Y", { o.b, o.h, o.t, o.dv }, function(...)
      return narrow(Y(...) * scale)
    end), kit.map("present", shape, function(...) return narrow(S(...)) end)
  end,
}
