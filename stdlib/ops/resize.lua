-- SPDX-License-Identifier: Apache-2.0
-- Resizing by index arithmetic.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local count, tensor = declare.count, declare.tensor

local function channels_last(o) return o.layout and o.layout:find "C$" end

-- A shape or a list of indices in the layout of `o`.
local function laid_out(o, n, c, ...)
  local list = { n, ... }
  table.insert(list, channels_last(o) and #list + 1 or 2, c)
  return list
end

-- Indices in the layout of `o`: the image, the channel, the places.
local function split(o, ...)
  local list = { ... }
  local c = table.remove(list, channels_last(o) and #list or 2)
  return list[1], c, table.unpack(list, 2)
end

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
