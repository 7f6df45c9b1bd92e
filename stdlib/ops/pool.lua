-- SPDX-License-Identifier: Apache-2.0
-- Pooling of windows and of whole images, and resizing by index arithmetic.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local count, each = declare.count, declare.each

local layout = declare.word("layout", { "NCHW", "NHWC" }, "NCHW",
                            "the order of an image's dimensions")
local images = { count("n", "images"), count("c", "their channels"),
                 count("h", "their height"), count("w", "their width"), layout }

local function with(...)
  local list = table.move(images, 1, #images, 1, {})
  return table.move({ ... }, 1, select("#", ...), #list + 1, list)
end

-- A shape or a list of indices in the layout of `o`.
local function laid_out(o, n, c, h, w)
  if o.layout == "NHWC" then return { n, h, w, c } end
  return { n, c, h, w }
end

local function split(o, a, b, c, d)
  if o.layout == "NHWC" then return a, d, b, c end
  return a, b, c, d
end

-- ---- windows ---------------------------------------------------------------

local function same(x) return x end

-- How many places of a window that begins at `at` lie in the input.
local function inside(w, at)
  local n = 0
  for i = 0, w.k - 1 do
    local x = at * w.s + i * w.d - w.before
    n = n + ts.select(ts.all(ts.ge(x, 0), ts.lt(x, w.extent)), 1, 0)
  end
  return n
end

local function pool(o, reduce, least, finish)
  local _, wide, narrow = kit.accumulator(o)
  if not finish then wide, narrow = same, same end
  local dtype = o.dtype or "float32"
  local windows = kit.windows(o, { o.h, o.w })
  local h, w = windows[1], windows[2]
  for _, x in ipairs(windows) do
    if x.before >= x.d * (x.k - 1) + 1 or x.after >= x.d * (x.k - 1) + 1 then
      declare.wrong(o.name, "'pad' is not less than the window")
    end
  end
  local shape = laid_out(o, o.n, o.c, o.h, o.w)
  local X = ts.placeholder("X", shape, dtype)
  local names = laid_out(o, "n", "c", "h", "w")
  local P = kit.padded(X, shape, names, windows, o.layout == "NHWC" and 2 or 3,
                       least(dtype))
  local kh, kw = ts.reduce_axis("kh", h.k), ts.reduce_axis("kw", w.k)
  local to = laid_out(o, o.n, o.c, h.out, w.out)
  local Y = kit.compute("pool", to, names, function(...)
    local n, c, i, j = split(o, ...)
    local at = laid_out(o, n, c, i * h.s + kh * h.d, j * w.s + kw * w.d)
    return reduce(wide(P(table.unpack(at))), { kh, kw })
  end)
  if finish then Y = finish(Y, to, names, h, w, narrow) end
  return ts.program(o.name, { X }, { Y })
end

-- Of a type, the value that is no greater than any.
local function least(dtype)
  if declare.is(dtype, "float") then return ts.const(-math.huge, dtype) end
  if dtype:find "^u" then return ts.const(0, dtype) end
  return ts.const(-1 << (dtype:match "%d+" - 1), dtype)
end

local window = {
  each("k", 1, "extent of the window, one for both dimensions or a list"),
  each("stride", 1, "the step of the window, or a list", "1"),
  each("pad", 0, "rows and columns added on each side, or a list", "0"),
  each("dilation", 1, "the step inside of the window, or a list", "1"),
}

declare.operator {
  name = "max_pool2d",
  summary = "The greatest element of each window of an image.",
  says = [[
Y[n, c, h, w] = max over kh, kw of X[n, c, h*s + kh*d - p, w*s + kw*d - p]
s: stride, d: dilation, p: pad; what lies outside of X is left out.]],
  options = with(window[1], window[2], window[3], window[4],
                 declare.dtype("number")),
  example = "{ n = 1, c = 1, h = 4, w = 4, k = 2, stride = 2 }",
  make = function(o) return pool(o, ts.reduce_max, least) end,
}

declare.operator {
  name = "avg_pool2d",
  summary = "The mean of each window of an image.",
  says = [[
Y[n, c, h, w] = (sum over kh, kw of X[n, c, h*s + kh*d - p, w*s + kw*d - p]) / N
s: stride, d: dilation, p: pad; N: how many of them lie in X, or the size of the
window with count_include_pad, where the others are 0.]],
  options = with(window[1], window[2], window[3], window[4],
                 declare.flag("count_include_pad",
                              "divide by the size of the window"),
                 declare.dtype("float"), declare.acc()),
  example = "{ n = 1, c = 1, h = 4, w = 4, k = 2, stride = 2 }",
  make = function(o)
    local dtype = o.dtype or "float32"
    local acc = kit.accumulator(o)
    local function zero() return ts.const(0, dtype) end
    return pool(o, ts.sum, zero, function(S, shape, names, h, w, narrow)
      local all = h.before + h.after + w.before + w.after == 0
      return kit.compute("mean", shape, names, function(...)
        if all or o.count_include_pad then
          return narrow(S(...) / (h.k * w.k))
        end
        local _, _, i, j = split(o, ...)
        return narrow(S(...) / ts.cast(inside(h, i) * inside(w, j), acc))
      end)
    end)
  end,
}

declare.operator {
  name = "global_pool2d",
  summary = "The mean or the greatest element of each channel of an image.",
  says = [[
Y[n, c, 0, 0] = mean (or max) over h, w of X[n, c, h, w]
NCHW, or Y[n, 0, 0, c] and X[n, h, w, c].]],
  options = with(declare.word("op", { "mean", "max" }, "mean", "which of them"),
                 declare.dtype("float"), declare.acc()),
  example = "{ n = 1, c = 2, h = 2, w = 2 }",
  make = function(o)
    local X = ts.placeholder("X", laid_out(o, o.n, o.c, o.h, o.w),
                             o.dtype or "float32")
    local _, wide, narrow = kit.accumulator(o)
    if o.op == "max" then wide = same end
    local y, x = ts.reduce_axis("y", o.h), ts.reduce_axis("x", o.w)
    local shape = laid_out(o, o.n, o.c, 1, 1)
    local names = laid_out(o, "n", "c", "h", "w")
    local reduce = o.op == "max" and ts.reduce_max or ts.sum
    local S = kit.compute("pool", shape, names, function(...)
      local n, c, h, w = split(o, ...)
      local at = laid_out(o, n, c, h + y, w + x)
      return reduce(wide(X(table.unpack(at))), { y, x })
    end)
    if o.op ~= "max" then
      local of = S
      S = kit.compute("mean", shape, names, function(...)
        return narrow(of(...) / (o.h * o.w))
      end)
    end
    return ts.program("global_pool2d", { X }, { S })
  end,
}

-- ---- resizing --------------------------------------------------------------

-- Where result i of `to` lies among `from` elements: a numerator and the
-- denominator, so that indices are integer arithmetic.
local places = {
  half_pixel = function(i, from, to) return (2 * i + 1) * from - to, 2 * to end,
  align_corners = function(i, from, to)
    return i * (from - 1), math.max(to - 1, 1)
  end,
  asymmetric = function(i, from, to) return i * from, to end,
}

local function clamp(x, n) return ts.min(ts.max(x, 0), n - 1) end

-- The nearest element: half-way goes down, but asymmetric rounds down.
local function nearest(o, i, from, to)
  local mode = o.coordinates or "half_pixel"
  local num, den = places[mode](i, from, to)
  if mode == "asymmetric" then return clamp(num // den, from) end
  return clamp((2 * num + den - 1) // (2 * den), from)
end

-- The two elements around, and the weight of the second.
local function around(o, i, from, to, dtype)
  local num, den = places[o.coordinates or "half_pixel"](i, from, to)
  num = ts.min(ts.max(num, 0), (from - 1) * den)
  local lo = num // den
  return lo, ts.min(lo + 1, from - 1), ts.cast(num % den, dtype) / den
end

declare.operator {
  name = "resize2d",
  summary = "An image in another size, by the nearest element or bilinearly.",
  says = [[
Y[n, c, i, j] = X[n, c, nearest(y), nearest(x)], or the mean of the four
  elements around (y, x), weighted by how near they are (bilinear)
y = (i + 1/2) h / oh - 1/2 (half_pixel), i (h - 1) / (oh - 1) (align_corners) or
i h / oh (asymmetric), and x likewise; both stay in the image.  The nearest of
two that are as near is the first; with asymmetric, y and x are rounded down.]],
  options = with(count("oh", "height of the result"),
    count("ow", "width of the result"),
    declare.word("mode", { "nearest", "bilinear" }, "nearest",
                 "which elements"),
    declare.word("coordinates",
                 { "half_pixel", "align_corners", "asymmetric" }, "half_pixel",
                 "where elements of the result lie"),
    declare.dtype("float")),
  example = "{ n = 1, c = 1, h = 2, w = 2, oh = 3, ow = 4, " ..
            "mode = \"bilinear\" }",
  make = function(o)
    local dtype = o.dtype or "float32"
    local X = ts.placeholder("X", laid_out(o, o.n, o.c, o.h, o.w), dtype)
    local function at(n, c, y, x)
      return X(table.unpack(laid_out(o, n, c, y, x)))
    end
    local shape = laid_out(o, o.n, o.c, o.oh, o.ow)
    local names = laid_out(o, "n", "c", "h", "w")
    local Y = kit.compute("resize", shape, names, function(...)
      local n, c, i, j = split(o, ...)
      if o.mode ~= "bilinear" then
        return at(n, c, nearest(o, i, o.h, o.oh), nearest(o, j, o.w, o.ow))
      end
      local y0, y1, v = around(o, i, o.h, o.oh, dtype)
      local x0, x1, u = around(o, j, o.w, o.ow, dtype)
      local top = at(n, c, y0, x0) * (1 - u) + at(n, c, y0, x1) * u
      local bottom = at(n, c, y1, x0) * (1 - u) + at(n, c, y1, x1) * u
      return top * (1 - v) + bottom * v
    end)
    return ts.program("resize2d", { X }, { Y })
  end,
}
