-- SPDX-License-Identifier: Apache-2.0
-- The fast Fourier transform of a power of two, a stage of butterflies each.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"

-- cos and sin of -+ 2 pi p / n for p < n / 2.
local function twiddles(s, n, inverse, dtype)
  local re, im = {}, {}
  for p = 0, n // 2 - 1 do
    local a = (inverse and 2 or -2) * math.pi * p / n
    re[p + 1], im[p + 1] = math.cos(a), math.sin(a)
  end
  return ts.constant("wr" .. s, ts.tensor(dtype, { n // 2 }, re)),
         ts.constant("wi" .. s, ts.tensor(dtype, { n // 2 }, im))
end

-- Stage s, of transforms of n = N / 2^s elements that lie m = 2^s apart: from
-- a = x[q + m p] and b = x[q + m (p + n/2)] come y[q + m 2p] = a + b and
-- y[q + m (2p + 1)] = (a - b) w^p.  So results come in their order.
local function stage(re, im, s, N, o, dtype)
  local n, m = N >> s, 1 << s
  local wr, wi = twiddles(s, n, o.inverse, dtype)
  local shape = { o.b or 1, N }
  local function parts(i)
    local q, r = i % m, i // m
    local p = r // 2
    return q + m * p, q + m * (p + n // 2), p, ts.eq(r % 2, 0)
  end
  local last = n == 2
  local yr = kit.map(last and "Yr" or "re" .. s, shape, function(k, i)
    local a, b, p, even = parts(i)
    local dr, di = re(k, a) - re(k, b), im(k, a) - im(k, b)
    return ts.select(even, re(k, a) + re(k, b), dr * wr(p) - di * wi(p))
  end)
  local yi = kit.map(last and "Yi" or "im" .. s, shape, function(k, i)
    local a, b, p, even = parts(i)
    local dr, di = re(k, a) - re(k, b), im(k, a) - im(k, b)
    return ts.select(even, im(k, a) + im(k, b), dr * wi(p) + di * wr(p))
  end)
  return yr, yi
end

declare.operator {
  name = "fft",
  summary = "The discrete Fourier transform of a power of two, by butterflies.",
  says = [[
Y[b, k] = sum over j of X[b, j] * e^(-2 pi i j k / n)
X = Xr + i Xi and Y = Yr + i Yi, each of shape [b, n]; with `inverse` the
exponent is positive, and nothing is divided by n.  Stockham's algorithm, of
radix 2: log2 n stages, each with its factors as a constant.]],
  options = {
    declare.count("n", "elements, a power of two from 2 to 2^20"),
    declare.count("b", "transforms", "1"),
    declare.flag("inverse", "transform back"), declare.dtype("float"),
  },
  example = "{ n = 4 }",
  tensors = { declare.tensor("Xr", { "b", "n" }),
              declare.tensor("Xi", { "b", "n" }) },
  result = "Yr",
  apply = function(o, Xr, Xi)
    local dtype, N = o.dtype, o.n
    if N < 2 or N & N - 1 ~= 0 then
      declare.wrong(o.name, "'n' is %d, not a power of two from 2 on", N)
    elseif N > 1 << 20 then
      declare.wrong(o.name, "'n' is %d, more than 2^20", N)
    end
    local re, im, s = Xr, Xi, 0
    while N >> s > 1 do
      re, im = stage(re, im, s, N, o, dtype)
      s = s + 1
    end
    return re, im
  end,
}
