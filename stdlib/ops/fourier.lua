-- SPDX-License-Identifier: Apache-2.0
-- Discrete Fourier transforms of any length, in stages: one for each prime
-- factor of the length.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local layout = require "tessera.ops.layout"
local count, flag, tensor = declare.count, declare.flag, declare.tensor

local most = 1 << 20

-- ---- stages ----------------------------------------------------------------

-- cos and sin of -+ 2 pi p / n for p < count, as constants.
local function twiddles(suffix, n, count_of, inverse, dtype)
  local re, im = {}, {}
  for p = 0, count_of - 1 do
    local a = (inverse and 2 or -2) * math.pi * p / n
    re[p + 1], im[p + 1] = math.cos(a), math.sin(a)
  end
  return ts.constant("wr" .. suffix, ts.tensor(dtype, { count_of }, re)),
         ts.constant("wi" .. suffix, ts.tensor(dtype, { count_of }, im))
end

-- A stage of transforms of n elements that lie m apart, of radix 2: of
-- a = x[q + m p] and b = x[q + m (p + n/2)] come y[q + m 2p] = a + b and
-- y[q + m (2p + 1)] = (a - b) w^p.  So results come in their order.
local function butterflies(s, x, m)
  local n = s.n
  local wr, wi = twiddles(s.number, n, n // 2, s.inverse, s.dtype)
  local function parts(i)
    local q, r = i % m, i // m
    local p = r // 2
    return q + m * p, q + m * (p + n // 2), p, ts.eq(r % 2, 0)
  end
  local re, im = x.re, x.im
  return function(k, i)
    local a, b, p, even = parts(i)
    local dr, di = re(k, a) - re(k, b), im(k, a) - im(k, b)
    return ts.select(even, re(k, a) + re(k, b), dr * wr(p) - di * wi(p))
  end, function(k, i)
    local a, b, p, even = parts(i)
    local dr, di = re(k, a) - re(k, b), im(k, a) - im(k, b)
    return ts.select(even, im(k, a) + im(k, b), dr * wi(p) + di * wr(p))
  end
end

-- The same of radix r, a sum each: y[q + m (r p + t)] = sum over u < r of
-- x[q + m (p + u n/r)] w^(t (p + u n/r)).
local function sums(s, x, m)
  local n, r = s.n, s.radix
  local wr, wi = twiddles(s.number, n, n, s.inverse, s.dtype)
  local u = ts.reduce_axis("u", r)
  local function parts(i)
    local q, rest = i % m, i // m
    local from = rest // r + u * (n // r)
    return q + m * from, rest % r * from % n
  end
  return function(k, i)
    local a, w = parts(i)
    return ts.sum(x.re(k, a) * wr(w) - x.im(k, a) * wi(w), u)
  end, function(k, i)
    local a, w = parts(i)
    return ts.sum(x.re(k, a) * wi(w) + x.im(k, a) * wr(w), u)
  end
end

-- The least prime factor.
local function factor(n)
  local r = 2
  while r * r <= n do
    if n % r == 0 then return r end
    r = r + 1
  end
  return n
end

-- The transform of rows of N elements in the type `acc`; `yr` and `yi` are what
-- its parts are called.
local function transform(o, acc, re, im, shape, yr, yi)
  local N = shape[2]
  local n, s, x = N, 0, { re = re, im = im }
  while n > 1 do
    local radix = factor(n)
    local stage = { n = n, radix = radix, number = s, inverse = o.inverse,
                    dtype = acc }
    local f, g = (radix == 2 and butterflies or sums)(stage, x, N // n)
    local last = n == radix
    x = { re = kit.map(last and yr or "re" .. s, shape, f),
          im = kit.map(last and yi or "im" .. s, shape, g) }
    n, s = n // radix, s + 1
  end
  return x.re, x.im
end

local cost = [[
In a stage for each prime factor p of the length, by Stockham's algorithm, the
factors e^.. as constants: so many times p operations, few for powers of two.]]

declare.operator {
  name = "fft",
  summary = "The discrete Fourier transform of rows of complex numbers.",
  says = [[
Y[b, k] = sum over j of X[b, j] * e^(-2 pi i j k / n)
X = Xr + i Xi and Y = Yr + i Yi, each of shape [b, n]; with `inverse` the
exponent is positive, and nothing is divided by n.
]] .. cost,
  options = {
    count("n", "elements, from 2 to 2^20"), count("b", "transforms", "1"),
    flag("inverse", "transform back"), declare.dtype("float"), declare.acc(),
  },
  example = "{ n = 4 }",
  tensors = { tensor("Xr", { "b", "n" }), tensor("Xi", { "b", "n" }) },
  result = "Yr",
  check = function(o)
    if o.n < 2 or o.n > most then
      declare.wrong(o.name, "'n' is %d, not from 2 to 2^20", o.n)
    end
  end,
  apply = function(o, Xr, Xi)
    local acc, wide, narrow = kit.accumulator(o)
    local shape = { o.b or 1, o.n }
    if acc == o.dtype then
      return transform(o, acc, Xr, Xi, shape, "Yr", "Yi")
    end
    local function as(X) return function(...) return wide(X(...)) end end
    local re, im = transform(o, acc, as(Xr), as(Xi), shape, "re", "im")
    return kit.map("Yr", shape, function(...) return narrow(re(...)) end),
           kit.map("Yi", shape, function(...) return narrow(im(...)) end)
  end,
}

-- ---- along a dimension -----------------------------------------------------

-- X, with parts in its last dimension, as rows along dimension d, and back.
local function rows_of(shape, d)
  local outer = kit.with(kit.with(shape, #shape, nil), d, nil)
  return kit.product(outer), function(row, i)
    return kit.inserted(layout.unflattened(row, outer), d, i)
  end, function(...)
    return layout.flat(outer, kit.with({ ... }, d, nil))
  end
end

local function length_of(o, n)
  if o.length then return o.length end
  return o.inverse and o.onesided and 2 * (n - 1) or n
end

-- The real or the imaginary part of the rows, with zeros behind; of one side of
-- what is symmetric (`half`) the other is made of it.
local function part(o, X, name, p, rows, N, have, element)
  local complex = o.shape[#o.shape] == 2
  local acc, wide = kit.accumulator(o)
  local zero = ts.const(0, acc)
  local half = o.inverse and o.onesided
  return kit.map(name, { rows, N }, function(row, i)
    if p == 1 and not complex then return zero end
    local j = half and ts.min(i, N - i) or i
    local at = element(row, ts.min(j, have - 1))
    at[#at + 1] = p
    local x = wide(X(table.unpack(at)))
    if half and p == 1 then
      -- The first and the middle one are real.
      x = ts.select(ts.lt(i * 2, N), x, -x)
      x = ts.select(ts.any(ts.eq(i, 0), ts.eq(i * 2, N)), zero, x)
    end
    return have < N and ts.select(ts.lt(j, have), x, zero) or x
  end)
end

declare.operator {
  name = "dft",
  summary = "The discrete Fourier transform along a dimension, of any length.",
  says = [[
Y[.., k, ..] = sum over j of X[.., j, ..] * e^(-2 pi i j k / n)
n: `length`, to which X is cut off or extended by zeros; the last dimension has
the real and the imaginary part, or of a real X the first alone.  With `inverse`
the exponent is positive, and it is divided by n.  With `onesided` Y has the
first n / 2 + 1 alone, of a real X all there is to know; inverse, X has those,
and Y is real.
]] .. cost,
  options = {
    declare.list_of("shape", 1, "the shape of X"),
    declare.integer("axis", "the dimension, from 0 or the end", "-2"),
    count("length", "elements of a transform, to 2^20",
          "those of X; of one side twice as many, less 2"),
    flag("inverse", "transform back"),
    flag("onesided", "one half, where the other follows from it"),
    declare.dtype("float"), declare.acc(),
  },
  example = "{ shape = { 6, 1 }, onesided = true }",
  tensors = { tensor("X", { "shape..." }) },
  check = function(o)
    local rank = #o.shape
    local parts = o.shape[rank]
    if rank < 2 or parts > 2 then
      declare.wrong(o.name, "the last of %d dimensions has %s elements, not " ..
                    "1 or 2 parts of a number", rank, parts or 0)
    end
    local d = kit.axis(o, rank, o.axis)
    if d == rank then declare.wrong(o.name, "'axis' is that of the parts") end
    local n = length_of(o, o.shape[d])
    if n < 1 or n > most then
      declare.wrong(o.name, "%d elements, not from 1 to 2^20", n)
    end
  end,
  apply = function(o, X)
    local rank, d = #o.shape, kit.axis(o, #o.shape, o.axis)
    local N, have = length_of(o, o.shape[d]), o.shape[d]
    local rows, element, row_of = rows_of(o.shape, d)
    local re = part(o, X, "real", 0, rows, N, have, element)
    local im = part(o, X, "imaginary", 1, rows, N, have, element)
    local acc, _, narrow = kit.accumulator(o)
    re, im = transform(o, acc, re, im, { rows, N }, "re", "im")
    local real = o.inverse and o.onesided
    local to = kit.with(o.shape, d, o.onesided and not o.inverse and
                        N // 2 + 1 or N)
    to[rank] = real and 1 or 2
    return kit.map("Y", to, function(...)
      local at = { ... }
      local p = table.remove(at)
      local row, i = row_of(table.unpack(at)), at[d]
      local y = real and re(row, i) or
                ts.select(ts.eq(p, 0), re(row, i), im(row, i))
      return narrow(o.inverse and y / N or y)
    end)
  end,
}

declare.operator {
  name = "stft",
  summary = "The Fourier transforms of windows of a signal.",
  says = [[
Y[b, f, k] = sum over j of X[b, f step + j] * window[j] * e^(-2 pi i j k / n)
n: `length`; X[b, .., parts]: the real and the imaginary part, or the first
alone; the window, if there is one, of `length`; Y[b, frames, bins, 2] of
length / 2 + 1 bins with `onesided`, of `length` without.]],
  options = {
    count("b", "signals"), count("n", "their elements"),
    count("parts", "1 or 2", "1"), count("step", "elements between frames"),
    count("length", "elements of a frame"),
    flag("window", "there is a window"),
    { name = "onesided", type = "boolean", default = "true",
      help = "one half, where the other follows from it" },
    declare.dtype("float"), declare.acc(),
  },
  example = "{ b = 1, n = 8, step = 4, length = 4 }",
  tensors = { tensor("X", { "b", "n", "parts" }),
              tensor("window", { "length" },
                                               { when = "window" }) },
  check = function(o)
    if o.parts > 2 then
      declare.wrong(o.name, "'parts' is %d, not 1 or 2", o.parts)
    elseif o.length > o.n or o.length > most then
      declare.wrong(o.name, "'length' is %d, more than %d", o.length,
                    math.min(o.n, most))
    end
  end,
  apply = function(o, X, window)
    local N = o.length
    local frames = (o.n - N) // o.step + 1
    local acc, wide, narrow = kit.accumulator(o)
    local function frame(name, p)
      return kit.map(name, { o.b * frames, N }, function(row, j)
        if p == 1 and o.parts == 1 then return ts.const(0, acc) end
        local x = wide(X(row // frames, row % frames * o.step + j, p))
        return window and x * wide(window(j)) or x
      end)
    end
    local re, im = transform(o, acc, frame("real", 0), frame("imaginary", 1),
                             { o.b * frames, N }, "re", "im")
    local bins = o.onesided and N // 2 + 1 or N
    return kit.map("Y", { o.b, frames, bins, 2 }, function(b, f, k, p)
      local row = b * frames + f
      return narrow(ts.select(ts.eq(p, 0), re(row, k), im(row, k)))
    end)
  end,
}
