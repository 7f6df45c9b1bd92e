-- SPDX-License-Identifier: Apache-2.0
-- Sampling of images at places that are data, and of regions of them.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local taps = require "tessera.ops.taps"
local count, flag, tensor = declare.count, declare.flag, declare.tensor
local list_of = declare.list_of

-- Axes over the taps along each dimension.
local function tap_axes(mode, rank)
  local axes = {}
  for d = 1, rank do axes[d] = ts.reduce_axis("t" .. d, taps.reach[mode]) end
  return axes
end

local corners = flag("align_corners",
  "-1 and 1 are the middles of the outermost elements, not their ends")

-- ---- grids -----------------------------------------------------------------

declare.operator {
  name = "affine_grid",
  summary = "The places that an affine map takes those of an image to.",
  says = [[
G[n, i.., k] = sum over j of T[n, k, j] * p[j] + T[n, k, rank]
T[n, rank, rank + 1]; G[n, size.., rank], for ops.grid_sample; p[j] is where the
index along dimension rank - 1 - j lies: the last dimension comes first, from -1
to 1.]],
  options = { count("n", "maps"), list_of("size", 1, "height, width, .."),
              corners, declare.dtype("float"), declare.acc() },
  example = "{ n = 1, size = { 2, 2 } }",
  inputs = { T = "{ { { 1, 0, 0.5 }, { 0, 1, 0 } } }" },
  tensors = { tensor("T", function(o)
    return { "n", #o.size, #o.size + 1 }
  end) },
  result = "G",
  check = function(o)
    if #o.size == 0 then declare.wrong(o.name, "'size' is empty") end
  end,
  apply = function(o, T)
    local rank = #o.size
    local acc, wide, narrow = kit.accumulator(o)
    -- Where index i of n lies from -1 to 1.
    local function place(i, n)
      if o.align_corners then
        if n == 1 then return ts.const(0, acc) end
        return ts.cast(2 * i - (n - 1), acc) / (n - 1)
      end
      return ts.cast(2 * i + 1 - n, acc) / n
    end
    local to = { o.n, table.unpack(o.size) }
    to[#to + 1] = rank
    return kit.map("G", to, function(...)
      local at = { ... }
      local n, k = at[1], at[rank + 2]
      local sum = wide(T(n, k, rank))
      for j = rank - 1, 0, -1 do
        local d = rank - j
        sum = wide(T(n, k, j)) * place(at[d + 1], o.size[d]) + sum
      end
      return narrow(sum)
    end)
  end,
}

declare.operator {
  name = "grid_sample",
  summary = "Elements of images at places that a tensor says.",
  says = [[
Y[n, c, i..] = X[n, c] at the place G[n, i..], the last dimension first, from -1
to 1: the nearest element, or the sum of those around times 1 - |d| (linear) or
Keys' kernel of -0.75 (cubic), d: how far they are along each dimension
outside of X there are zeros, the nearest element (border) or X in a mirror
(reflection).]],
  options = { count("n", "images"), count("c", "their channels"),
              list_of("size", 1, "their height, width, .."),
              list_of("out", 1, "the dimensions of the grid"),
              declare.word("mode", { "linear", "nearest", "cubic" }, "linear",
                           "which elements"),
              declare.word("padding", { "zeros", "border", "reflection" },
                           "zeros", "what is outside"),
              corners, declare.dtype("float"), declare.acc() },
  example = "{ n = 1, c = 1, size = { 2, 2 }, out = { 1, 2 } }",
  inputs = { G = "{ { { { 0, 0 }, { 0.5, -0.5 } } } }" },
  tensors = { tensor("X", { "n", "c", "size..." }),
              tensor("G", function(o) return { "n", "out...", #o.size } end) },
  result = "Y",
  apply = function(o, X, G)
    local rank, mode = #o.size, o.mode
    local acc, wide, narrow = kit.accumulator(o)
    local shape = { o.n, table.unpack(o.out) }
    shape[#shape + 1] = rank
    -- Along dimension d of X, whose places stand in G from behind.
    local function place(x, n)
      x = x + 1
      x = o.align_corners and x * ((n - 1) / 2) or (x * n - 1) / 2
      if mode == "nearest" then x = ts.round(x) end
      return taps.inside(o.padding, x, n, o.align_corners)
    end
    local P = kit.map("places", shape, function(...)
      local at, y = { ... }, nil
      local k = at[#at]
      local x = wide(G(...))
      for d = 1, rank do
        local p = place(x, o.size[d])
        y = y and ts.select(ts.eq(k, rank - d), p, y) or p
      end
      return y
    end)
    local axes = tap_axes(mode, rank)
    local function sampled(n, c, ...)
      local from, weights, inside = { n, c }, {}, {}
      for d = 1, rank do
        local at = { n, ... }
        at[#at + 1] = rank - d
        local i, w = taps.tap(mode, P(table.unpack(at)), axes[d])
        local ok
        from[d + 2], ok = taps.index(o.padding, i, o.size[d], o.align_corners)
        weights[#weights + 1], inside[#inside + 1] = w, ok
      end
      local x, w = wide(X(table.unpack(from))), taps.product(weights)
      if #inside > 0 then
        x = ts.select(ts.all(table.unpack(inside)), x, ts.const(0, acc))
      end
      return w and x * w or x
    end
    local to = { o.n, o.c, table.unpack(o.out) }
    if mode == "nearest" then
      return kit.map("Y", to, function(...) return narrow(sampled(...)) end)
    end
    local S = kit.map(acc == o.dtype and "Y" or "sum", to, function(...)
      return ts.sum(sampled(...), axes)
    end)
    if acc == o.dtype then return S end
    return kit.map("Y", to, function(...) return narrow(S(...)) end)
  end,
}

-- ---- regions ---------------------------------------------------------------

-- Of region r along a dimension of n elements and `out` results: where it
-- begins, how long a result of it is, and how many samples that has.
local function region(o, R, wide, first, acc)
  local shift = o.half_pixel and 0.5 or 0.0
  local function edge(r, k) return wide(R(r, k)) * o.scale - shift end
  return function(r, out, most)
    local length = edge(r, first + 2) - edge(r, first)
    if not o.half_pixel then length = ts.max(length, ts.const(1, acc)) end
    local bin = length / out
    local samples = o.samples > 0 and ts.const(o.samples, acc) or
                    ts.clamp(ts.ceil(bin), 0, most)
    return edge(r, first), bin, samples
  end
end

-- A sample's tap k along n elements: its index and weight, which is 0 where the
-- sample is more than one element outside.
local function sample_tap(x, n, k)
  local inside = ts.all(ts.ge(x, -1), ts.le(x, n))
  local i, w = taps.tap("linear", ts.clamp(x, 0, n - 1), k)
  return ts.clamp(i, 0, n - 1), ts.select(inside, w, w * 0)
end

declare.operator {
  name = "roi_align",
  summary = "Regions of images, each in as many means of samples.",
  says = [[
Y[r, c, i, j] = mean (or max) over samples of X[B[r], c] at the sample's place,
between the elements around by how near they are (max: each by itself)
X[n, c, h, w]; R[r, 4]: x1, y1, x2, y2 of regions, times `scale`; each is cut
into oh by ow parts of samples by samples places (0: one for each element, at
most h / oh and w / ow, rounded up).]],
  options = { count("n", "images"), count("c", "their channels"),
              count("h", "their height"), count("w", "their width"),
              count("r", "regions"),
              count("oh", "rows of a result", "1"),
              count("ow", "its columns", "1"),
              declare.natural("samples", "samples along a dimension", "0"),
              declare.number("scale", "what coordinates are multiplied with",
                             "1"),
              declare.word("op", { "avg", "max" }, "avg", "which of them"),
              { name = "half_pixel", type = "boolean", default = "true",
                help = "elements lie at half numbers" },
              declare.word("index", { "int32", "int64" }, "int64",
                           "the type of B"),
              declare.dtype("float"), declare.acc() },
  example = "{ n = 1, c = 1, h = 4, w = 4, r = 1, oh = 2, ow = 2 }",
  inputs = { R = "{ { 0, 0, 4, 4 } }", B = "{ 0 }" },
  tensors = { tensor("X", { "n", "c", "h", "w" }), tensor("R", { "r", 4 }),
              tensor("B", { "r" }, { type = "index" }) },
  apply = function(o, X, R, B)
    local acc, wide, narrow = kit.accumulator(o)
    local function most(n, out)
      return o.samples > 0 and o.samples or (n + out - 1) // out
    end
    local my, mx = most(o.h, o.oh), most(o.w, o.ow)
    local along_y, along_x = region(o, R, wide, 1, acc),
                             region(o, R, wide, 0, acc)
    local sy, sx = ts.reduce_axis("sy", my), ts.reduce_axis("sx", mx)
    local ty, tx = ts.reduce_axis("ty", 2), ts.reduce_axis("tx", 2)
    local average = o.op == "avg"
    local none = ts.const(average and 0 or kit.lowest(acc), acc)
    local to = { o.r, o.c, o.oh, o.ow }
    -- The index and the weight of a tap, and whether there is the sample.
    local function tap(r, i, s, t, n, out, limit, along)
      local begin, bin, samples = along(r, out, limit)
      local place = begin + bin * ts.cast(i, acc) +
                    (ts.cast(s, acc) + 0.5) * bin / samples
      local at, w = sample_tap(place, n, t)
      return at, w, ts.lt(ts.cast(s, acc), samples)
    end
    local S = kit.map("samples", to, function(r, c, i, j)
      local y, wy, iny = tap(r, i, sy, ty, o.h, o.oh, my, along_y)
      local x, wx, inx = tap(r, j, sx, tx, o.w, o.ow, mx, along_x)
      local image = ts.clamp(ts.cast(B(r), "int64"), 0, o.n - 1)
      local v = ts.select(ts.all(iny, inx), wide(X(image, c, y, x)) * wy * wx,
                          none)
      return (average and ts.sum or ts.reduce_max)(v, { sy, sx, ty, tx })
    end)
    return kit.map("Y", to, function(r, ...)
      local _, _, ny = along_y(r, o.oh, my)
      local _, _, nx = along_x(r, o.ow, mx)
      local s = S(r, ...)
      if average then return narrow(s / ts.max(ny * nx, ts.const(1, acc))) end
      return narrow(ts.select(ts.gt(ny * nx, 0), s, ts.const(0, acc)))
    end)
  end,
}
