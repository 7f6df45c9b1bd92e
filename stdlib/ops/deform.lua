-- SPDX-License-Identifier: Apache-2.0
-- Windows of images that are moved by data, and windows that are put back.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local taps = require "tessera.ops.taps"
local count, flag, tensor = declare.count, declare.flag, declare.tensor

-- How many channels have so many numbers for each place of a window, and how
-- many windows there are along dimension d.
local function moved(numbers)
  return function(o)
    return kit.product(kit.each(o, "k", 2)) * o.offset_groups * numbers
  end
end
local function results(d)
  return function(o) return kit.windows(o, { o.h, o.w })[d].out end
end

declare.operator {
  name = "deform_conv2d",
  summary = "A convolution whose windows' places are moved by data.",
  says = [[
Y[n, co, h, w] = sum over ci, kh, kw of
  W[co, ci, kh, kw] * mask[n, g, kh, kw, h, w] * X[n, ci] at
    (h s + kh t - p + D[n, g, kh, kw, 0, h, w],
     w s + kw t - p + D[n, g, kh, kw, 1, h, w]) + bias[co]
between the elements of X by how near they are, 0 outside; g: the part of
`offset_groups` that ci is in; dimensions g to 0 / 1 of D, and g to kw of
mask, are one, layout NCHW; s: stride, t: dilation, p: pad.]],
  options = {
    count("n", "images"), count("ci", "their channels"),
    count("co", "channels of the result"),
    count("h", "their height"), count("w", "their width"),
    declare.each("k", 1, "extent of the window, or a list"),
    declare.each("stride", 1, "the step of the window, or a list", "1"),
    declare.each("pad", 0, "zeros on each side; a list: of each dimension, " ..
      "or those before both and then those behind", "0"),
    declare.each("dilation", 1, "the step inside of the window, or a list",
                 "1"),
    count("groups", "parts that the channels fall into", "1"),
    count("offset_groups", "parts of the channels that move alike", "1"),
    flag("bias", "add a number to each channel of the result"),
    flag("mask", "there is a mask; else it is 1"),
    declare.dtype("float"), declare.acc(),
  },
  example = "{ n = 1, ci = 1, co = 1, h = 3, w = 3, k = 2 }",
  tensors = {
    tensor("X", { "n", "ci", "h", "w" }),
    tensor("W", { "co", function(o) return o.ci // o.groups end, "k.1",
                  "k.2" }),
    tensor("D", { "n", moved(2), results(1), results(2) }),
    tensor("bias", { "co" }, { when = "bias" }),
    tensor("mask", { "n", moved(1), results(1), results(2) },
           { when = "mask" }),
  },
  check = function(o)
    kit.check_groups(o, 2)
    if o.ci % o.offset_groups ~= 0 then
      declare.wrong(o.name, "%d offset groups do not divide %d channels",
                    o.offset_groups, o.ci)
    end
  end,
  result = "conv",
  apply = function(o, X, W, D, bias, mask)
    local acc, wide, narrow = kit.accumulator(o)
    local win = kit.windows(o, { o.h, o.w })
    local kh, kw, oh, ow = win[1].k, win[2].k, win[1].out, win[2].out
    local extents = { o.h, o.w }
    local t = { ts.reduce_axis("t1", 2), ts.reduce_axis("t2", 2) }
    local per_group = o.ci // o.offset_groups
    -- Each element of each window, so that the sum is one of products.
    local C = kit.compute("sampled", { o.n, o.ci, kh, kw, oh, ow },
                          { "n", "ci", "kh", "kw", "h", "w" },
                          function(n, c, y, x, i, j)
      local place = (c // per_group * kh + y) * kw + x
      local from, weights, inside = { n, c }, {}, {}
      for d, at in ipairs { { i, y }, { j, x } } do
        local w = win[d]
        local base = at[1] * w.s + at[2] * w.d - w.before
        local p = ts.cast(base, acc) + wide(D(n, place * 2 + (d - 1), i, j))
        local index
        index, weights[d] = taps.tap("linear", p, t[d])
        from[d + 2], inside[d] = taps.index("zeros", index, extents[d])
      end
      local v = ts.select(ts.all(table.unpack(inside)),
                          wide(X(table.unpack(from))), ts.const(0, acc))
      v = v * taps.product(weights)
      if mask then v = v * wide(mask(n, place, i, j)) end
      return ts.sum(v, t)
    end)
    local groups = o.groups
    local ci = ts.reduce_axis("ci", o.ci // groups)
    local ry, rx = ts.reduce_axis("kh", kh), ts.reduce_axis("kw", kw)
    local shape, names = { o.n, o.co, oh, ow }, { "n", "co", "h", "w" }
    local Y = kit.compute("conv", shape, names, function(n, co, i, j)
      local c = groups == 1 and ci or
                co // (o.co // groups) * (o.ci // groups) + ci
      return ts.sum(C(n, c, ry, rx, i, j) * wide(W(co, ci, ry, rx)),
                    { ci, ry, rx })
    end)
    if not bias and acc == o.dtype then return Y end
    return kit.compute("biased", shape, names, function(n, co, i, j)
      local y = Y(n, co, i, j)
      return narrow(bias and y + wide(bias(co)) or y)
    end)
  end,
}

-- ---- windows put back ------------------------------------------------------

declare.operator {
  name = "col2im",
  summary = "Windows of images put back, and added where they overlap.",
  says = [[
Y[n, c, i..] = sum over windows o.. and places k.. in them with
  i = o s + k t - p along each dimension of X[n, (c, k..), (o..)]
X[n, c * product of k, windows] -> Y[n, c, to..]; s: stride, t: dilation, p:
pad.]],
  options = {
    count("n", "images"), count("c", "their channels"),
    declare.list_of("to", 1, "their height, width, .."),
    declare.each("k", 1, "extent of the window, or a list"),
    declare.each("stride", 1, "the step of the window, or a list", "1"),
    declare.each("pad", 0, "places around; a list: of each dimension, or " ..
      "those before all of them and then those behind", "0"),
    declare.each("dilation", 1, "the step inside of the window, or a list",
                 "1"),
    declare.dtype("number"), declare.acc "number",
  },
  example = "{ n = 1, c = 1, to = { 3 }, k = 2 }",
  tensors = { tensor("X", { "n", function(o)
    return o.c * kit.product(kit.each(o, "k", #o.to))
  end, function(o)
    local windows = 1
    for _, w in ipairs(kit.windows(o, o.to)) do windows = windows * w.out end
    return windows
  end }) },
  infer = function(o, tensors)
    local x = tensors.X
    if not x or type(o.to) ~= "table" or o.c or not o.k then return end
    local each = kit.each({ name = "col2im", k = o.k }, "k", #o.to)
    o.c = math.type(x.shape[2]) and x.shape[2] // kit.product(each)
  end,
  apply = function(o, X)
    local windows, axes = kit.windows(o, o.to), {}
    local acc, wide, narrow = kit.accumulator(o)
    for d, w in ipairs(windows) do axes[d] = ts.reduce_axis("k" .. d, w.k) end
    local to = { o.n, o.c, table.unpack(o.to) }
    local S = kit.map(acc == o.dtype and "Y" or "sum", to, function(n, c, ...)
      local at, inside = { ... }, {}
      local channel, column = c, 0
      for d, w in ipairs(windows) do
        local i = at[d] + w.before - axes[d] * w.d
        local place = ts.clamp(i // w.s, 0, w.out - 1)
        inside[#inside + 1] = ts.eq(place * w.s, i)
        channel = channel * w.k + axes[d]
        column = column * w.out + place
      end
      return ts.sum(ts.select(ts.all(table.unpack(inside)),
                              wide(X(n, channel, column)), ts.const(0, acc)),
                    axes)
    end)
    if acc == o.dtype then return S end
    return kit.map("Y", to, function(...) return narrow(S(...)) end)
  end,
}
