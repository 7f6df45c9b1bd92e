-- SPDX-License-Identifier: Apache-2.0
-- Resizing: of images by index arithmetic, and of any tensor by tables of which
-- elements a result is made of, and their weights.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local layout = require "tessera.ops.layout"
local count, tensor = declare.count, declare.tensor
local laid_out, split = layout.laid_out, layout.split

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

-- The two elements around, and the weight of the second, of type `dtype`.
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
  tensors = { tensor("X", function(o)
    return laid_out(o, "n", "c", "h", "w")
  end) },
  symbolic = { n = true },
  result = "resize",
  options = {
    count("n", "images"), count("c", "their channels"),
    count("h", "their height"), count("w", "their width"),
    declare.word("layout", { "NCHW", "NHWC" }, "NCHW",
                 "the order of the dimensions"),
    count("oh", "height of the result"), count("ow", "width of the result"),
    declare.word("mode", { "nearest", "bilinear" }, "nearest",
                 "which elements"),
    declare.word("coordinates",
                 { "half_pixel", "align_corners", "asymmetric" }, "half_pixel",
                 "where elements of the result lie"),
    declare.dtype("float"),
  },
  example = "{ n = 1, c = 1, h = 2, w = 2, oh = 3, ow = 4, " ..
            "mode = \"bilinear\" }",
  apply = function(o, X)
    local wide, to_wide, narrow = kit.wide(o.dtype)
    local function at(n, c, y, x)
      return X(table.unpack(laid_out(o, n, c, y, x)))
    end
    local shape = laid_out(o, o.n, o.c, o.oh, o.ow)
    local names = laid_out(o, "n", "c", "h", "w")
    return kit.compute("resize", shape, names, function(...)
      local n, c, i, j = split(o, ...)
      if o.mode ~= "bilinear" then
        return at(n, c, nearest(o, i, o.h, o.oh), nearest(o, j, o.w, o.ow))
      end
      local y0, y1, v = around(o, i, o.h, o.oh, wide)
      local x0, x1, u = around(o, j, o.w, o.ow, wide)
      local function row(y)
        return to_wide(at(n, c, y, x0)) * (1 - u) + to_wide(at(n, c, y, x1)) * u
      end
      return narrow(row(y0) * (1 - v) + row(y1) * v)
    end)
  end,
}

-- ---- of any tensor ---------------------------------------------------------

-- Where result i of an axis lies among its elements.
local function coordinate(o, a, i)
  local n, out, whole = a.from, a.to, a.scale * a.from
  local mode = o.coordinates
  if mode == "align_corners" then
    return whole == 1 and 0.0 or i * (n - 1) / (whole - 1)
  elseif mode == "asymmetric" then
    return i / a.scale
  elseif mode == "tf_crop_and_resize" then
    local first, last = a.first, a.last
    if whole == 1 then
      return (last - first) * (n - 1) / 2 + first * (n - 1)
    end
    return i * (last - first) * (n - 1) / (whole - 1) + first * (n - 1)
  elseif mode == "pytorch_half_pixel" and whole == 1 then
    return -0.5
  elseif mode == "half_pixel_symmetric" then
    return n / 2 * (1 - out / whole) + (i + 0.5) / a.scale - 0.5
  end
  return (i + 0.5) / a.scale - 0.5
end

local function nearest_of(o, x)
  local low = math.floor(x)
  local part = x - low
  if part == 0 or o.nearest == "floor" then return low end
  if o.nearest == "ceil" then return low + 1 end
  if o.nearest == "round_prefer_ceil" then
    return part >= 0.5 and low + 1 or low
  end
  return part > 0.5 and low + 1 or low
end

-- How much an element at distance x counts.
local function weight_of(o, x)
  x = math.abs(x)
  if o.mode == "linear" then return math.max(1 - x, 0) end
  local a = o.cubic
  if x <= 1 then return ((a + 2) * x - (a + 3)) * x * x + 1 end
  return x < 2 and ((a * x - 5 * a) * x + 8 * a) * x - 4 * a or 0
end

-- The elements that result i of an axis is made of, and their weights.
local function taps(o, a, i)
  local x = coordinate(o, a, i)
  if o.mode == "nearest" then return { nearest_of(o, x) }, { 1 } end
  local shrink = o.antialias and math.min(a.scale, 1) or 1
  local reach = (o.mode == "linear" and 1 or 2) / shrink
  local at, weights, sum = {}, {}, 0
  local begin = math.ceil(x - reach)
  if begin == x - reach then begin = begin + 1 end
  for k = begin, math.ceil(x + reach) - 1 do
    local w = weight_of(o, (k - x) * shrink)
    if o.exclude_outside and (k < 0 or k >= a.from) then w = 0 end
    at[#at + 1], weights[#at + 1], sum = k, w, sum + w
  end
  if #at == 0 then return { math.floor(x) }, { 1 } end
  if o.antialias or o.exclude_outside then
    for t, w in ipairs(weights) do weights[t] = w / sum end
  end
  return at, weights
end

-- Elements of an axis for which tables are made.
local most_resized = 1 << 18

-- The tables of an axis: indices and weights of `n` taps for each result, and
-- whether it lies in the input; nil: all do.
local function tables(o, a)
  local at, weights, inside, n, all = {}, {}, {}, 1, true
  for i = 0, a.to - 1 do
    at[i], weights[i] = taps(o, a, i)
    n = math.max(n, #at[i])
    local x = coordinate(o, a, i)
    inside[i + 1] = o.coordinates ~= "tf_crop_and_resize" or
                    x >= 0 and x <= a.from - 1
    all = all and inside[i + 1]
  end
  local flat_at, flat = {}, {}
  for i = 0, a.to - 1 do
    for t = 1, n do
      local k = at[i][t] or 0
      flat_at[#flat_at + 1] = math.max(0, math.min(k, a.from - 1))
      flat[#flat + 1] = weights[i][t] or 0
    end
  end
  return flat_at, flat, n, not all and inside or nil
end

-- X resized along dimension d.
local function along(o, x, shape, d, a, acc, wide)
  local flat_at, flat, n, inside = tables(o, a)
  local to = kit.with(shape, d, a.to)
  local suffix = tostring(d - 1)
  local I = ts.constant("at" .. suffix, ts.tensor("int64", { #flat_at },
                                                  flat_at))
  local plain = n == 1
  local W = not plain and ts.constant("weights" .. suffix,
                                      ts.tensor(acc, { #flat }, flat))
  local B = inside and ts.constant("mask" .. suffix,
                                   ts.tensor("bool", { a.to }, inside))
  local t = ts.reduce_axis("t", n)
  local function element(i, ...)
    local k = ts.min(ts.max(I(i), 0), a.from - 1)
    return wide(x(table.unpack(kit.with({ ... }, d, k), 1, #shape)))
  end
  local y = kit.map("axis" .. suffix, to, function(...)
    local i = select(d, ...)
    if plain then return element(i, ...) end
    return ts.sum(element(i * n + t, ...) * W(i * n + t), t)
  end)
  if not B then return y, to end
  return kit.map("inside" .. suffix, to, function(...)
    return ts.select(B((select(d, ...))), y(...), ts.const(o.outside, acc))
  end), to
end

declare.operator {
  name = "resize",
  summary = "A tensor in another size, along any dimensions.",
  says = [[
Y: along each dimension, element i is made of those of X around x(i):
  the nearest, or the sum of those at distance d times 1 - |d| (linear) or
  Keys' cubic kernel of parameter `cubic` (cubic)
x(i) = (i + 1/2) / s - 1/2 (half_pixel), i / s (asymmetric), i (h - 1) /
(h s - 1) (align_corners), .., of ONNX's Resize; s: scales, else to / shape.
With `antialias` kernels are as wide as elements of Y where s < 1.]],
  tensors = { tensor("X", { "shape..." }) },
  options = {
    declare.list_of("shape", 1, "the shape of X"),
    declare.list_of("to", 1, "the shape of Y"),
    { name = "scales", type = "table", default = "to / shape",
      help = "how many times as large, for each dimension" },
    declare.word("mode", { "nearest", "linear", "cubic" }, "nearest",
                 "which elements"),
    declare.word("coordinates",
                 { "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                   "align_corners", "asymmetric", "tf_crop_and_resize" },
                 "half_pixel", "where elements of the result lie"),
    declare.word("nearest", { "round_prefer_floor", "round_prefer_ceil",
                              "floor", "ceil" }, "round_prefer_floor",
                 "which is the nearest"),
    declare.number("cubic", "the parameter of the cubic kernel", "-0.75"),
    declare.flag("antialias", "average where the result is smaller"),
    declare.flag("exclude_outside", "elements outside do not count"),
    { name = "crop", type = "table", default = "all of X",
      help = "of tf_crop_and_resize, where each dimension begins, then " ..
             "where each ends, by its length" },
    declare.number("outside", "what is outside of X, of tf_crop_and_resize",
                   "0"),
    declare.dtype("number"), declare.acc "number",
  },
  example = "{ shape = { 1, 2 }, to = { 1, 4 }, mode = \"linear\" }",
  check = function(o)
    local n = #o.shape
    if #o.to ~= n or o.scales and #o.scales ~= n or
       o.crop and #o.crop ~= 2 * n then
      declare.wrong(o.name, "'to', 'scales' and 'crop' do not fit %d " ..
                    "dimensions", n)
    end
    for d, scale in ipairs(o.scales or {}) do
      if type(scale) ~= "number" or not (scale > 0 and scale < math.huge) then
        declare.wrong(o.name, "'scales' is %s in dimension %d, and must be " ..
                      "a positive number", tostring(scale), d - 1)
      end
    end
    for d, to in ipairs(o.to) do
      local most = math.max(to, o.antialias and o.shape[d] or 0)
      if most > most_resized and to ~= o.shape[d] then
        declare.wrong(o.name, "dimension %d has %d elements, more than the " ..
                      "%d that are resized by tables", d - 1, most,
                      most_resized)
      end
    end
  end,
  apply = function(o, X)
    local dtype = o.dtype
    local whole = declare.is(dtype, "integer")
    local acc = whole and "float32" or kit.accumulator(o)
    local y, shape, of = X, o.shape, dtype
    for d, n in ipairs(o.shape) do
      local scale = o.scales and o.scales[d] or o.to[d] / n
      local a = { from = n, to = o.to[d], scale = scale,
                  first = o.crop and o.crop[d] or 0.0,
                  last = o.crop and o.crop[d + #o.shape] or 1.0 }
      if n ~= o.to[d] or scale ~= 1 or a.first ~= 0 or a.last ~= 1 then
        local was = of
        y, shape = along(o, y, shape, d, a, acc, function(x)
          return kit.as(x, was, acc)
        end)
        of = acc
      end
    end
    return kit.map("Y", o.to, function(...)
      local v = y(...)
      if of == dtype then return v end
      return ts.cast(whole and ts.round(v) or v, dtype)
    end)
  end,
}
