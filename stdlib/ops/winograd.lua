-- SPDX-License-Identifier: Apache-2.0
-- Convolutions by Winograd's minimal filtering (Lavin and Gray, "Fast
-- algorithms for convolutional neural networks", 2016): windows of 3 x 3, tiles
-- of 2 x 2 or 4 x 4 results.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local count, tensor = declare.count, declare.tensor

-- With input tiles of a = t + 2: A^T [(G g) * (B^T d)] by the matrices of the
-- points 0, 1, -1 (, 2, -2) and infinity.
local matrices = {
  [2] = {
    G = { { 1, 0, 0 }, { 1 / 2, 1 / 2, 1 / 2 }, { 1 / 2, -1 / 2, 1 / 2 },
          { 0, 0, 1 } },
    B = { { 1, 0, 0, 0 }, { 0, 1, -1, 1 }, { -1, 1, 1, 0 }, { 0, 0, 0, -1 } },
    A = { { 1, 0 }, { 1, 1 }, { 1, -1 }, { 0, -1 } },
  },
  [4] = {
    G = { { 1 / 4, 0, 0 }, { -1 / 6, -1 / 6, -1 / 6 },
          { -1 / 6, 1 / 6, -1 / 6 }, { 1 / 24, 1 / 12, 1 / 6 },
          { 1 / 24, -1 / 12, 1 / 6 }, { 0, 0, 1 } },
    B = { { 4, 0, 0, 0, 0, 0 }, { 0, -4, 4, -2, 2, 4 },
          { -5, -4, -4, -1, -1, 0 }, { 0, 1, -1, 2, -2, -5 },
          { 1, 1, 1, 1, 1, 0 }, { 0, 0, 0, 0, 0, 1 } },
    A = { { 1, 0, 0, 0 }, { 1, 1, 1, 1 }, { 1, -1, 1, -1 }, { 1, 2, 4, 8 },
          { 1, -2, 4, -8 }, { 0, 0, 0, 1 } },
  },
}

local function constant(name, t, dtype)
  local rows = matrices[t][name]
  return ts.constant(name, ts.tensor(dtype, { #rows, #rows[1] }, rows))
end

local function tile_of(o)
  local t = math.tointeger(o.tile or 4)
  if not matrices[t] then declare.wrong(o.name, "'tile' is %d, not 2 or 4", t)
  end
  return t
end

local tile = count("tile", "rows and columns of a tile of results, 2 or 4", "4")

-- ---- weights ---------------------------------------------------------------

declare.operator {
  name = "winograd_weight",
  summary = "Transforms the weights of a 3 x 3 window for Winograd.",
  says = [[
U[i, j, ..] = sum over kh, kw of G[i, kh] * W[kh, kw, ci, co] * G[j, kw]
W[3, 3, ci, co] -> U[tile + 2, tile + 2, co, ci] for NHWC, [.., ci, co] for
NCHW, whose W is [co, ci, 3, 3].]],
  options = {
    count("ci", "channels of the input"),
    count("co", "channels of the result"), tile,
    declare.word("layout", { "NHWC", "NCHW" }, "NHWC", "that of the images"),
    declare.dtype("float"),
  },
  example = "{ ci = 1, co = 1, tile = 2 }",
  tensors = { tensor("W", function(o)
    return o.layout == "NCHW" and { "co", "ci", 3, 3 } or { 3, 3, "ci", "co" }
  end) },
  result = "U",
  apply = function(o, W)
    local dtype, t, first = o.dtype, tile_of(o), o.layout == "NCHW"
    local a, G = t + 2, constant("G", t, dtype)
    local kh, kw = ts.reduce_axis("kh", 3), ts.reduce_axis("kw", 3)
    local function sum(i, j, ci, co)
      local w = first and W(co, ci, kh, kw) or W(kh, kw, ci, co)
      return ts.sum(G(i, kh) * w * G(j, kw), { kh, kw })
    end
    return first
      and kit.map("U", { a, a, o.ci, o.co }, function(i, j, ci, co)
        return sum(i, j, ci, co)
      end)
      or kit.map("U", { a, a, o.co, o.ci }, function(i, j, co, ci)
        return sum(i, j, ci, co)
      end)
  end,
}

-- ---- convolution -----------------------------------------------------------

-- Tiles of the input that overlap by 2, in the domain where they are
-- multiplied; what the last ones reach beyond the input is zero.
local function tiles(X, o, t, p, th, tw, dtype, first)
  local a, P = t + 2, o.n * th * tw
  local B = constant("B", t, dtype)
  local D = kit.map("tiles", { a, a, P, o.ci }, function(i, j, b, c)
    local n = b // (th * tw)
    local h = b // tw % th * t + i - p
    local w = b % tw * t + j - p
    local x = first and X(n, c, h, w) or X(n, h, w, c)
    return ts.select(ts.all(ts.ge(h, 0), ts.lt(h, o.h), ts.ge(w, 0),
                            ts.lt(w, o.w)), x, ts.const(0, dtype))
  end)
  local r, s = ts.reduce_axis("r", a), ts.reduce_axis("s", a)
  return kit.map("data_pack", { a, a, P, o.ci }, function(i, j, b, c)
    return ts.sum(D(r, s, b, c) * B(r, i) * B(s, j), { r, s })
  end)
end

local function winograd(o, first, X, U)
  local dtype, t, p = o.dtype, tile_of(o), o.pad
  local a, H, V = t + 2, o.h + 2 * p - 2, o.w + 2 * p - 2
  if H < 1 or V < 1 then
    declare.wrong(o.name, "the window is larger than the padded input")
  end
  local th, tw = (H + t - 1) // t, (V + t - 1) // t
  local acc, wide, narrow = kit.accumulator(o)
  local D = tiles(X, o, t, p, th, tw, dtype, first)
  local ci = ts.reduce_axis("ci", o.ci)
  local M = kit.map("bgemm", { a, a, o.n * th * tw, o.co },
    function(i, j, b, co)
      local u = first and U(i, j, ci, co) or U(i, j, co, ci)
      return ts.sum(wide(D(i, j, b, ci)) * wide(u), ci)
    end)
  local A = constant("A", t, acc)
  local r, s = ts.reduce_axis("r", a), ts.reduce_axis("s", a)
  local I = kit.map("inverse", { t, t, o.n * th * tw, o.co },
    function(i, j, b, co)
      return ts.sum(M(r, s, b, co) * A(r, i) * A(s, j), { r, s })
    end)
  local function result(n, h, w, co)
    return narrow(I(h % t, w % t, (n * th + h // t) * tw + w // t, co))
  end
  return first
    and kit.map("conv", { o.n, o.co, H, V }, function(n, co, h, w)
      return result(n, h, w, co)
    end)
    or kit.map("conv", { o.n, H, V, o.co }, result)
end

-- Rows and columns of a tile of the input.
local function points(o) return o.tile + 2 end

for _, layout in ipairs { "nhwc", "nchw" } do
  local first = layout == "nchw"
  declare.operator {
    name = "conv2d_winograd_" .. layout,
    summary = "A convolution of 3 x 3 windows by Winograd, layout " ..
              layout:upper() .. ".",
    says = ([[
Y = the convolution of X with the W of which ops.winograd_weight made U:
%s
By tiles of tile x tile results: Y = A^T [U * (B^T d B)] A of tiles d of X, the
product summed over ci.]]):format(first and
      "X[n, ci, h, w], U[tile + 2, tile + 2, ci, co] -> Y[n, co, h', w']" or
      "X[n, h, w, ci], U[tile + 2, tile + 2, co, ci] -> Y[n, h', w', co]"),
    options = {
      count("n", "images"), count("h", "their height"),
      count("w", "their width"), count("ci", "their channels"),
      count("co", "channels of the result"),
      declare.natural("pad", "rows and columns of zeros on each side", "0"),
      tile, declare.dtype("float"), declare.acc(),
    },
    example = "{ n = 1, h = 4, w = 4, ci = 1, co = 1, tile = 2 }",
    tensors = {
      tensor("X", first and { "n", "ci", "h", "w" } or { "n", "h", "w", "ci" }),
      tensor("U", first and { points, points, "ci", "co" } or
                  { points, points, "co", "ci" }),
    },
    result = "conv",
    apply = function(o, ...) return winograd(o, first, ...) end,
  }
end
