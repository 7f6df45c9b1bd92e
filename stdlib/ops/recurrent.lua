-- SPDX-License-Identifier: Apache-2.0
-- Recurrent layers, as ONNX has them: LSTM, GRU and RNN, forward, reverse or
-- both.  What inputs add is a product of its own; the steps go in order.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local tensor = declare.tensor

local functions = {
  sigmoid = ts.sigmoid, tanh = ts.tanh,
  relu = function(x) return ts.max(x, 0) end,
}

local function directions(o) return o.direction == "bidirectional" and 2 or 1
end

-- ---- one direction ---------------------------------------------------------

-- A direction's builder, loops over its sequences and some parts of them.
local function new_nest(o, d)
  local b = kit.builder(o.name)
  local m = { b = b, o = o, d = d, suffix = d == 0 and "" or "_back" }
  function m.buffer(name, width)
    return b:buffer(name .. m.suffix, { o.b, width }, m.acc)
  end
  -- A block for each sequence and each of `width` parts; in step s, if given;
  -- with a sum over `inner`.
  function m.block(name, width, s, inner, f)
    b:loop("b", 0, o.b, function(i)
      b:loop("j", 0, width, function(j)
        local iters = { { "vb", extent = o.b, bind = i },
                        { "vj", extent = width, bind = j } }
        local body = f
        if s then
          table.insert(iters, 1, { "vs", "opaque", extent = o.t, bind = s })
          body = function(vs, vb, vj, vk) f(vb, vj, vs, vk) end
        end
        if not inner then
          b:block(name .. m.suffix, iters, body)
          return
        end
        b:loop("k", 0, inner, function(k)
          iters[4] = { "vk", "reduce", extent = inner, bind = k }
          b:block(name .. m.suffix, iters, body)
        end)
      end)
    end)
  end
  return m
end

-- Where step s of sequence i lies in time, and whether there is one.
local function time_of(m, i, s)
  local o = m.o
  if not m.lengths then return m.reverse and o.t - 1 - s or s end
  local n = ts.cast(m.lengths(i), "int64")
  local at = m.reverse and ts.min(ts.max(n - 1 - s, 0), o.t - 1) or s
  return at, ts.lt(s, n)
end

-- The sums over the state of the gates from `first` to `last`, in S.
local function sums(m, s, S, state, first, count)
  local o, b = m.o, m.b
  m.block(first == 0 and "recur" or "recur_hidden", count * o.hidden, s,
          o.hidden, function(i, j, _, k)
    local at = { i, j + first * o.hidden }
    b:init(function() b:store(S, at, 0) end)
    local r = o.trans_r and m.R(m.d, k, at[2]) or m.R(m.d, at[2], k)
    b:store(S, at, S(table.unpack(at)) + m.wide(r) * state(i, k))
  end)
end

-- What gate g adds up to for part j: of the input, the state and their biases.
local function gate(m, S, i, j, s, g, without_state)
  local o = m.o
  local at = j + g * o.hidden
  local x = m.P(m.d, (time_of(m, i, s)), i, at)
  if not without_state then
    x = x + S(i, at)
    if m.bias then
      x = x + m.wide(m.bias(m.d, at + m.gates * o.hidden))
    end
  end
  return x
end

local function clipped(o, x)
  return o.clip and ts.max(ts.min(x, o.clip), -o.clip) or x
end

local function act(m, n, x)
  local f = (m.o.activations or {})[m.d * #m.defaults + n] or m.defaults[n]
  return functions[f](clipped(m.o, x))
end

local cells = {}

function cells.rnn(m, S, H, s, update)
  sums(m, s, S, H, 0, 1)
  m.block("step", m.o.hidden, s, nil, function(i, j, vs)
    update(i, j, vs, act(m, 1, gate(m, S, i, j, vs, 0)))
  end)
end

-- Gates in the order input, output, forget, cell.
function cells.lstm(m, S, H, s, update)
  local o, C = m.o, m.C
  local function peep(n, i, j)
    if not m.peephole then return 0 end
    return m.wide(m.peephole(m.d, j + n * o.hidden)) * C(i, j)
  end
  sums(m, s, S, H, 0, 4)
  m.block("step", o.hidden, s, nil, function(i, j, vs)
    local b = m.b
    local _, there = time_of(m, i, vs)
    local input = act(m, 1, gate(m, S, i, j, vs, 0) + peep(0, i, j))
    local forget = act(m, 1, gate(m, S, i, j, vs, 2) + peep(2, i, j))
    local new = act(m, 2, gate(m, S, i, j, vs, 3))
    local next = forget * C(i, j) + input * new
    b:store(C, { i, j }, there and ts.select(there, next, C(i, j)) or next)
    local out = act(m, 1, gate(m, S, i, j, vs, 1) + peep(1, i, j))
    update(i, j, vs, out * act(m, 3, C(i, j)))
  end)
end

-- Gates in the order update, reset, hidden.
function cells.gru(m, S, H, s, update)
  local o = m.o
  local function z_of(i, j, vs) return act(m, 1, gate(m, S, i, j, vs, 0)) end
  local function r_of(i, j, vs) return act(m, 1, gate(m, S, i, j, vs, 1)) end
  local function bias_of(i)
    return m.bias and m.wide(m.bias(m.d, i + 5 * o.hidden)) or 0
  end
  if o.linear_before_reset then
    sums(m, s, S, H, 0, 3)
  else
    sums(m, s, S, H, 0, 2)
    m.block("reset", o.hidden, s, nil, function(i, j, vs)
      m.b:store(m.reset, { i, j }, r_of(i, j, vs) * H(i, j))
    end)
    sums(m, s, S, m.reset, 2, 1)
  end
  m.block("step", o.hidden, s, nil, function(i, j, vs)
    local hidden = S(i, j + 2 * o.hidden) + bias_of(j)
    if o.linear_before_reset then hidden = hidden * r_of(i, j, vs) end
    local new = act(m, 2, gate(m, S, i, j, vs, 2, true) + hidden)
    local z = z_of(i, j, vs)
    update(i, j, vs, (1 - z) * new + z * H(i, j))
  end)
end

-- The states of one direction, at each time and the last, and the last cells.
local function run(m, initial, cell)
  local o, b = m.o, m.b
  local H = m.buffer("state", o.hidden)
  local S = m.buffer("sums", m.gates * o.hidden)
  local function start(name, buffer, given)
    m.block(name, o.hidden, nil, nil, function(i, j)
      local at = o.batch_first and { i, m.d, j } or { m.d, i, j }
      b:store(buffer, { i, j }, given and m.wide(given(table.unpack(at))) or
                                ts.const(0, m.acc))
    end)
  end
  start("start", H, initial)
  if m.cell == "lstm" then
    m.C = m.buffer("cells", o.hidden)
    start("start_cells", m.C, cell)
  elseif m.cell == "gru" and not o.linear_before_reset then
    m.reset = m.buffer("reset", o.hidden)
  end
  local Y = b:buffer("steps" .. m.suffix, { o.t, o.b, o.hidden }, m.acc)
  if m.lengths then
    b:loop("s", 0, o.t, function(s)
      m.block("blank", o.hidden, s, nil, function(i, j, vs)
        b:store(Y, { vs, i, j }, ts.const(0, m.acc))
      end)
    end)
  end
  local function update(i, j, s, h)
    local at, there = time_of(m, i, s)
    b:let("h", h, function(new)
      if there then
        b:store(Y, { at, i, j }, ts.select(there, new, Y(at, i, j)))
        new = ts.select(there, new, H(i, j))
      else
        b:store(Y, { at, i, j }, new)
      end
      b:store(H, { i, j }, new)
    end)
  end
  b:loop("s", 0, o.t, function(s) cells[m.cell](m, S, H, s, update) end)
  return Y, H, m.C
end

-- ---- the layer -------------------------------------------------------------

local defaults = { rnn = { "tanh" }, gru = { "sigmoid", "tanh" },
                   lstm = { "sigmoid", "tanh", "tanh" } }
local gates = { rnn = 1, gru = 3, lstm = 4 }

local function layer(name, o, X, W, R, bias, lengths, initial, cell, peephole)
  local acc, wide, narrow = kit.accumulator(o)
  local n, h = directions(o), o.hidden
  local k = ts.reduce_axis("k", o.input)
  local width = gates[name] * h
  local P = kit.map("inputs", { n, o.t, o.b, width }, function(d, t, i, j)
    local x = o.batch_first and X(i, t, k) or X(t, i, k)
    return ts.sum(wide(x) * wide(W(d, j, k)), k)
  end)
  if bias then
    local of = P
    P = kit.map("biased", { n, o.t, o.b, width }, function(d, t, i, j)
      return of(d, t, i, j) + wide(bias(d, j))
    end)
  end
  local states, last, cells_of = {}, {}, {}
  for d = 0, n - 1 do
    local m = new_nest(o, d)
    m.cell, m.gates, m.defaults, m.acc = name, gates[name], defaults[name], acc
    m.wide, m.P, m.R, m.bias, m.lengths = wide, P, R, bias, lengths
    m.peephole = peephole
    m.reverse = o.direction == "reverse" or d == 1
    states[d], last[d], cells_of[d] = run(m, initial, cell)
  end
  local function either(list, d, ...)
    local x = list[0](...)
    return narrow(n == 2 and ts.select(ts.eq(d, 0), x, list[1](...)) or x)
  end
  local function final(what, list)
    if o.batch_first then
      return kit.map(what, { o.b, n, h }, function(i, d, j)
        return either(list, d, i, j)
      end)
    end
    return kit.map(what, { n, o.b, h }, function(d, i, j)
      return either(list, d, i, j)
    end)
  end
  local Y = o.batch_first
    and kit.map("Y", { o.b, o.t, n, h }, function(i, t, d, j)
      return either(states, d, t, i, j)
    end)
    or kit.map("Y", { o.t, n, o.b, h }, function(t, d, i, j)
      return either(states, d, t, i, j)
    end)
  if name == "lstm" then
    return Y, final("last", last), final("last_cells", cells_of)
  end
  return Y, final("last", last)
end

local function state_shape(o)
  if o.batch_first then return { "b", directions, "hidden" } end
  return { directions, "b", "hidden" }
end

local function times(n)
  return function(o) return n * o.hidden end
end

local texts = {
  rnn = "H' = f(W x + R H + biases)",
  gru = [[
z, r = f(W x + R H + biases); n = g(W x + R (r H) + biases)
H' = (1 - z) n + z H; with linear_before_reset
n = g(W x + r (R H + bias) + bias)]],
  lstm = [[
i, o, f = f(W x + R H + P C + biases); c = g(W x + R H + biases)
C' = f C + i c; H' = o h(C')]],
}
local words = { rnn = "A plain recurrent layer.",
                gru = "A layer of gated recurrent units.",
                lstm = "A layer of long short-term memory." }

for _, name in ipairs { "rnn", "gru", "lstm" } do
  local g = gates[name]
  local tensors = {
    tensor("X", function(o)
      return o.batch_first and { "b", "t", "input" } or { "t", "b", "input" }
    end),
    tensor("W", { directions, times(g), "input" }),
    tensor("R", function(o)
      if o.trans_r then return { directions, "hidden", times(g) } end
      return { directions, times(g), "hidden" }
    end),
    tensor("bias", { directions, times(2 * g) }, { when = "bias" }),
    tensor("lengths", { "b" }, { when = "lengths", type = "index" }),
    tensor("initial", state_shape, { when = "initial" }),
  }
  local options = {
    declare.count("t", "steps in time"), declare.count("b", "sequences"),
    declare.count("input", "numbers of an input"),
    declare.count("hidden", "numbers of a state"),
    declare.word("direction", { "forward", "reverse", "bidirectional" },
                 "forward", "how sequences are gone through"),
    declare.flag("batch_first", "sequences are the first dimension of X, " ..
                 "the states and Y, not time or the direction"),
    declare.flag("trans_r", "R is [dirs, hidden, gates hidden], whose " ..
                 "rows are what vectors of gates take"),
    declare.flag("bias", "biases of the inputs, then of the states"),
    declare.flag("lengths", "how long each sequence is"),
    declare.word("index", { "int32", "int64" }, "int32", "the type of lengths"),
    declare.flag("initial", "states to begin with, else 0"),
    { name = "activations", type = "table", default = "sigmoid and tanh",
      help = "a list of \"sigmoid\", \"tanh\", \"relu\" for each direction" },
    declare.number("clip", "what sums are kept within", "none"),
    declare.dtype("float"), declare.acc(),
  }
  if name == "lstm" then
    tensors[7] = tensor("cell", state_shape, { when = "cell" })
    tensors[8] = tensor("peephole", { directions, times(3) },
                        { when = "peephole" })
    table.insert(options, 12, declare.flag("cell", "cells to begin with"))
    table.insert(options, 13, declare.flag("peephole",
      "what cells add to the gates input, output, forget"))
  elseif name == "gru" then
    table.insert(options, 12, declare.flag("linear_before_reset",
      "multiply by the gate r after the product"))
  end
  declare.operator {
    name = name,
    summary = words[name],
    says = texts[name] .. [[

X[t, b, input], W[dirs, gates hidden, input], R[dirs, gates hidden, hidden],
gates in this order -> Y[t, dirs, b, hidden], the last states [dirs, b, hidden]
(and cells).  What is behind the end of a sequence is 0.]],
    tensors = tensors, options = options,
    check = function(o)
      for i, f in ipairs(o.activations or {}) do
        if not functions[f] then
          declare.wrong(o.name, "entry %d of 'activations' is %s", i, f)
        end
      end
    end,
    example = "{ t = 2, b = 1, input = 2, hidden = 2 }",
    apply = function(o, ...) return layer(name, o, ...) end,
  }
end
