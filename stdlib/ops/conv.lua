-- SPDX-License-Identifier: Apache-2.0
-- Convolutions of one, two and three dimensions, in layouts with channels
-- first, last and in blocks: padded input, then a sum over a window.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local count, each = declare.count, declare.each

local acc, out = declare.accumulation()
local letters = { { "w" }, { "h", "w" }, { "d", "h", "w" } }

-- ---- options ---------------------------------------------------------------

local lengths = { d = "their depth", h = "their height", w = "their width" }

local function options_of(n, more)
  local list = { count("n", "images") }
  for _, x in ipairs(letters[n]) do
    list[#list + 1] = count(x, n == 1 and "their length" or lengths[x])
  end
  table.move(more, 1, #more, #list + 1, list)
  local tail = {
    each("k", 1, "extent of the window, one for all dimensions or a list"),
    each("stride", 1, "the step of the window, or a list", "1"),
    each("pad", 0, "zeros on each side; a list: of each dimension, or those " ..
         "before all of them and then those behind", "0"),
    each("dilation", 1, "the step inside of the window, or a list", "1"),
  }
  table.move(tail, 1, #tail, #list + 1, list)
  return list
end

local function with_epilogue(list)
  local tail = { declare.dtype("number", "float32", "the type of X and W"),
                 acc, out, kit.epilogue_options() }
  table.insert(tail, { name = "bn", type = "boolean", default = "false",
    help = "multiply each channel of the result by a scale, and add a shift" })
  table.move(tail, 1, #tail, #list + 1, list)
  return list
end

-- ---- the sum ---------------------------------------------------------------

local function lengths_of(o, n)
  local list = {}
  for i, x in ipairs(letters[n]) do list[i] = o[x] end
  return list
end

-- Axes over the windows, and where a window's element lies for outputs `at`.
local function window_axes(windows, names)
  local axes = {}
  for i, w in ipairs(windows) do
    axes[i] = ts.reduce_axis("k" .. names[i], w.k)
  end
  local function where(at)
    local list = {}
    for i, w in ipairs(windows) do
      list[i] = at[i] * w.s + axes[i] * w.d
    end
    return list
  end
  return axes, where
end

-- What is listed once in this order: n, channel and places, as a layout has
-- them.
local function laid_out(first, n, channel, places)
  if first then return { n, channel, table.unpack(places) } end
  local list = { n, table.unpack(places) }
  list[#list + 1] = channel
  return list
end

local function weight_shape(first, windows, ci, co)
  local k = {}
  for i, w in ipairs(windows) do k[i] = w.k end
  if first then return { co, ci, table.unpack(k) } end
  k[#k + 1], k[#k + 2] = ci, co
  return k
end

local function conv(o, n, first)
  local dtype, names = o.dtype or "float32", letters[n]
  local groups, sum_type, wide = o.groups or 1, kit.accumulator(o)
  if o.ci % groups ~= 0 or o.co % groups ~= 0 then
    declare.wrong(o.name, "%d groups do not divide %d and %d channels", groups,
                  o.ci, o.co)
  end
  local windows = kit.windows(o, lengths_of(o, n))
  local x_shape = laid_out(first, o.n, o.ci, lengths_of(o, n))
  local X = ts.placeholder("X", x_shape, dtype)
  local W = ts.placeholder("W", weight_shape(first, windows, o.ci // groups,
                                             o.co), dtype)
  local places = {}
  for i, w in ipairs(windows) do places[i] = w.out end
  local shape = laid_out(first, o.n, o.co, places)
  local P = kit.padded(X, x_shape, laid_out(first, "n", "c", names), windows,
                       first and 3 or 2, ts.const(0, dtype))
  local axes, where = window_axes(windows, names)
  local ci = ts.reduce_axis("ci", o.ci // groups)
  local order = first and { ci, table.unpack(axes) } or kit.with(axes, n + 1,
                                                                 ci)
  local y_names = laid_out(first, "n", "co", names)
  local Y = kit.compute("conv", shape, y_names, function(image, ...)
    local at = { ... }
    local co = table.remove(at, first and 1 or n + 1)
    local c = groups == 1 and ci or
              co // (o.co // groups) * (o.ci // groups) + ci
    local w = first and { co, ci, table.unpack(axes) } or kit.with(order, n + 2,
                                                                   co)
    return ts.sum(
      wide(P(table.unpack(laid_out(first, image, c, where(at))))) *
      wide(W(table.unpack(w))), order)
  end)
  local inputs = { X, W }
  local y = kit.epilogue(o, Y, shape, y_names, first and 2 or n + 2, inputs,
                         sum_type)
  return ts.program(o.name, inputs, { y })
end

-- The formula of a layout, for its page.
local function formula(n, first)
  local function index(c, places)
    return table.concat(laid_out(first, "n", c, places), ", ")
  end
  local at, k, from = letters[n], {}, {}
  for i, x in ipairs(at) do
    k[i] = "k" .. x
    from[i] = ("%s*s + %s*t - p"):format(x, k[i])
  end
  local w = first and ("co, ci, " .. table.concat(k, ", ")) or
            (table.concat(k, ", ") .. ", ci, co")
  return ([[
Y[%s] = act(sum over %s, ci of
  X[%s] * W[%s] + bias[co])
s: stride, t: dilation, p: pad; X is zero outside.  Along each dimension there
are (extent + 2 p - t (k - 1) - 1) / s + 1 results.  Of groups, each is a
convolution of its own part of the channels; W has ci / groups channels.]])
    :format(index("co", at), table.concat(k, ", "), index("ci", from), w)
end

local function declare_conv(name, n, first, layout, example)
  local list = options_of(n, { count("ci", "their channels"),
                               count("co", "channels of the result") })
  list[#list + 1] = count("groups", "parts that the channels fall into", "1")
  declare.operator {
    name = name,
    summary = ("A convolution of %s, layout %s."):format(
                n == 1 and "sequences" or n == 2 and "images" or "volumes",
                layout),
    says = formula(n, first),
    options = with_epilogue(list),
    example = example,
    make = function(o) return conv(o, n, first) end,
  }
end

declare_conv("conv1d_nlc", 1, false, "NLC",
             "{ n = 1, w = 4, ci = 2, co = 1, k = 3, pad = 1 }")
declare_conv("conv1d_ncl", 1, true, "NCL",
             "{ n = 1, w = 4, ci = 2, co = 1, k = 3, pad = 1 }")
declare_conv("conv2d_nhwc", 2, false, "NHWC",
             "{ n = 1, h = 4, w = 4, ci = 1, co = 1, k = 3 }")
declare_conv("conv2d_nchw", 2, true, "NCHW",
             "{ n = 1, h = 4, w = 4, ci = 1, co = 1, k = 3 }")
declare_conv("conv3d_ndhwc", 3, false, "NDHWC",
             "{ n = 1, d = 2, h = 2, w = 2, ci = 2, co = 1, k = 2 }")
declare_conv("conv3d_ncdhw", 3, true, "NCDHW",
             "{ n = 1, d = 2, h = 2, w = 2, ci = 2, co = 1, k = 2 }")

-- ---- blocks of channels ----------------------------------------------------

declare.operator {
  name = "conv2d_nchwc",
  summary = "A convolution of images, channels in blocks, layout NCHW[c]c.",
  says = [[
Y[n, co/ob, h, w, co%ob] = act(sum over ci, kh, kw of
  X[n, ci/ib, h*s + kh*d - p, w*s + kw*d - p, ci%ib] *
  W[co/ob, ci/ib, kh, kw, ci%ib, co%ob] + bias)
ib, ob: in_block and out_block, which divide ci and co; X is zero outside; bias
has the shape [co/ob, ob].]],
  options = with_epilogue(options_of(2, {
    count("ci", "their channels"), count("co", "channels of the result"),
    count("in_block", "channels of a block of the input", "1"),
    count("out_block", "channels of a block of the result", "1"),
  })),
  example = "{ n = 1, h = 2, w = 2, ci = 2, co = 2, k = 1, in_block = 2, " ..
            "out_block = 2 }",
  make = function(o)
    local dtype = o.dtype or "float32"
    local ib, ob = o.in_block or 1, o.out_block or 1
    local sum_type, wide = kit.accumulator(o)
    if o.ci % ib ~= 0 or o.co % ob ~= 0 then
      declare.wrong(o.name, "blocks of %d and %d do not divide %d and %d " ..
                    "channels", ib, ob, o.ci, o.co)
    end
    if o.bn then declare.wrong(o.name, "'bn' is of the other layouts") end
    local windows = kit.windows(o, { o.h, o.w })
    local h, w = windows[1], windows[2]
    local x_shape = { o.n, o.ci // ib, o.h, o.w, ib }
    local X = ts.placeholder("X", x_shape, dtype)
    local W = ts.placeholder("W", { o.co // ob, o.ci // ib, h.k, w.k, ib, ob },
                             dtype)
    local P = kit.padded(X, x_shape, { "n", "c", "h", "w", "b" }, windows, 3,
                         ts.const(0, dtype))
    local c, b = ts.reduce_axis("ci", o.ci // ib), ts.reduce_axis("ib", ib)
    local axes, where = window_axes(windows, letters[2])
    local shape = { o.n, o.co // ob, h.out, w.out, ob }
    local names = { "n", "co", "h", "w", "ob" }
    local y = kit.compute("conv", shape, names, function(n, co, i, j, of)
      local at = where { i, j }
      return ts.sum(wide(P(n, c, at[1], at[2], b)) *
                    wide(W(co, c, axes[1], axes[2], b, of)),
                    { c, axes[1], axes[2], b })
    end)
    local inputs = { X, W }
    if o.bias then
      local bias, of = ts.placeholder("bias", { o.co // ob, ob },
                                      kit.beside(o)), y
      inputs[3] = bias
      y = kit.compute("biased", shape, names, function(n, co, i, j, at)
        return of(n, co, i, j, at) +
               kit.as(bias(co, at), kit.beside(o), sum_type)
      end)
    end
    local rest = { name = o.name, act = o.act, relu = o.relu,
                   out = o.out, acc = o.acc, dtype = o.dtype }
    y = kit.epilogue(rest, y, shape, names, 2, inputs, sum_type)
    return ts.program("conv2d_nchwc", inputs, { y })
  end,
}

-- ---- one channel at a time -------------------------------------------------

declare.operator {
  name = "depthwise_conv2d_nhwc",
  summary = "A convolution of each channel by itself, layout NHWC.",
  says = [[
Y[n, h, w, c] = act(sum over kh, kw of
  X[n, h*s + kh*d - p, w*s + kw*d - p, c] * W[kh, kw, c] + bias[c])
X is zero outside.]],
  options = with_epilogue(options_of(2, { count("c", "their channels") })),
  example = "{ n = 1, h = 3, w = 3, c = 2, k = 2 }",
  make = function(o)
    local dtype, sum_type, wide = o.dtype or "float32", kit.accumulator(o)
    local windows = kit.windows(o, { o.h, o.w })
    local h, w = windows[1], windows[2]
    local X = ts.placeholder("X", { o.n, o.h, o.w, o.c }, dtype)
    local W = ts.placeholder("W", { h.k, w.k, o.c }, dtype)
    local names = { "n", "h", "w", "c" }
    local P = kit.padded(X, { o.n, o.h, o.w, o.c }, names, windows, 2,
                         ts.const(0, dtype))
    local axes, where = window_axes(windows, letters[2])
    local shape = { o.n, h.out, w.out, o.c }
    local Y = kit.compute("conv", shape, names, function(n, i, j, c)
      local at = where { i, j }
      return ts.sum(wide(P(n, at[1], at[2], c)) * wide(W(axes[1], axes[2], c)),
                    axes)
    end)
    local inputs = { X, W }
    local y = kit.epilogue(o, Y, shape, names, 4, inputs, sum_type)
    return ts.program("depthwise_conv2d_nhwc", inputs, { y })
  end,
}

-- ---- transposed ------------------------------------------------------------

-- Along a dimension of stride s result y gets, of the k elements of the window,
-- only those of its phase, the remainder of y + pad: every s-th, so that none
-- is multiplied with a zero between the inputs.
--   reach: how many;
--   where(y, t): the padded input's index, the window's, and a condition that
-- it is inside where s does not divide k.
local function phases(k, s, pad, extent, out)
  local reach = (k + s - 1) // s
  local before = reach - 1 - pad // s
  local padded = (out - 1 + pad) // s - pad // s + reach
  return {
    reach = reach, before = before, extent = extent, padded = padded,
    after = padded - before - extent,
    where = function(y, t)
      local q = y + pad
      local at = (reach - 1 - t) * s + q % s
      return q // s - pad // s + t, at, k % s ~= 0 and ts.lt(at, k) or nil
    end,
  }
end

local function transposed(o, first)
  local dtype, sum_type, wide = o.dtype or "float32", kit.accumulator(o)
  local k, s = kit.each(o, "k", 2), kit.each(o, "stride", 2, 1)
  local pad, more = kit.each(o, "pad", 2, 0), kit.each(o, "out_pad", 2, 0)
  local windows, places = {}, {}
  for i, extent in ipairs { o.h, o.w } do
    local out = (extent - 1) * s[i] - 2 * pad[i] + k[i] + more[i]
    if pad[i] >= k[i] then
      declare.wrong(o.name, "'pad' is %d, not less than the window of %d",
                    pad[i], k[i])
    elseif out < 1 then
      declare.wrong(o.name, "nothing is left of the result")
    end
    windows[i] = phases(k[i], s[i], pad[i], extent, out)
    places[i] = out
  end
  local x_shape = laid_out(first, o.n, o.ci, { o.h, o.w })
  local X = ts.placeholder("X", x_shape, dtype)
  local W = ts.placeholder("W", first and { o.ci, o.co, k[1], k[2] } or
                                { k[1], k[2], o.ci, o.co }, dtype)
  local P = kit.padded(X, x_shape, laid_out(first, "n", "c", { "h", "w" }),
                       windows, first and 3 or 2, ts.const(0, dtype))
  local kh = ts.reduce_axis("kh", windows[1].reach)
  local kw = ts.reduce_axis("kw", windows[2].reach)
  local ci = ts.reduce_axis("ci", o.ci)
  local shape = laid_out(first, o.n, o.co, places)
  local names = laid_out(first, "n", "co", { "h", "w" })
  local Y = kit.compute("conv", shape, names, function(n, ...)
    local at = { ... }
    local co = table.remove(at, first and 1 or 3)
    local h, i, whole_h = windows[1].where(at[1], kh)
    local w, j, whole_w = windows[2].where(at[2], kw)
    local factor = first and W(ci, co, i, j) or W(i, j, ci, co)
    if whole_h or whole_w then
      local inside = whole_h and whole_w and ts.all(whole_h, whole_w)
      factor = ts.select(inside or whole_h or whole_w, factor,
                         ts.const(0, dtype))
    end
    return ts.sum(wide(P(table.unpack(laid_out(first, n, ci, { h, w })))) *
                  wide(factor), { kh, kw, ci })
  end)
  local inputs = { X, W }
  local y = kit.epilogue(o, Y, shape, names, first and 2 or 4, inputs, sum_type)
  return ts.program(o.name, inputs, { y })
end

for _, layout in ipairs { "nhwc", "nchw" } do
  local first = layout == "nchw"
  declare.operator {
    name = "conv2d_transpose_" .. layout,
    summary = "The transpose of a convolution of images, layout " ..
              layout:upper() .. ".",
    says = ([[
Y = act(Z + bias), Z the sum of what each element of X adds: to
%s the product of
%s.
Along a dimension there are (extent - 1) s - 2 p + k + out_pad results; what
falls outside is left out.]]):format(
      first and "Z[n, co, h*s + kh - p, w*s + kw - p]" or
      "Z[n, h*s + kh - p, w*s + kw - p, co]",
      first and "X[n, ci, h, w] and W[ci, co, kh, kw]" or
      "X[n, h, w, ci] and W[kh, kw, ci, co]"),
    options = with_epilogue {
      count("n", "images"), count("h", "their height"),
      count("w", "their width"), count("ci", "their channels"),
      count("co", "channels of the result"),
      each("k", 1, "extent of the window, one for both dimensions or a list"),
      each("stride", 1, "how far apart windows are, or a list", "1"),
      each("pad", 0, "rows and columns left out on each side, or a list", "0"),
      each("out_pad", 0, "rows and columns more behind, or a list", "0"),
    },
    example = "{ n = 1, h = 2, w = 2, ci = 1, co = 1, k = 2, stride = 2 }",
    make = function(o) return transposed(o, first) end,
  }
end

-- ---- capsules --------------------------------------------------------------

declare.operator {
  name = "capsule_conv2d_nhwc",
  summary = "A convolution of images whose elements are small matrices.",
  says = [[
Y[n, h, w, i, j, co] = sum over kh, kw, k, ci of
  X[n, h*s + kh - p, w*s + kw - p, i, k, ci] * W[kh, kw, k, j, ci, co]
X is zero outside; i, j and k run over `capsule`.]],
  options = {
    count("n", "images"), count("h", "their height"), count("w", "their width"),
    count("ci", "their channels"), count("co", "channels of the result"),
    each("k", 1, "extent of the window, one for both dimensions or a list"),
    each("stride", 1, "the step of the window, or a list", "1"),
    each("pad", 0, "zeros on each side, or a list", "0"),
    count("capsule", "rows and columns of the matrices", "4"),
    declare.dtype("number"), acc, out,
  },
  example = "{ n = 1, h = 2, w = 2, ci = 1, co = 1, k = 2, capsule = 2 }",
  make = function(o)
    local dtype, m = o.dtype or "float32", o.capsule or 4
    local sum_type, wide = kit.accumulator(o)
    local windows = kit.windows(o, { o.h, o.w })
    local h, w = windows[1], windows[2]
    local x_shape = { o.n, o.h, o.w, m, m, o.ci }
    local X = ts.placeholder("X", x_shape, dtype)
    local W = ts.placeholder("W", { h.k, w.k, m, m, o.ci, o.co }, dtype)
    local P = kit.padded(X, x_shape, { "n", "h", "w", "i", "j", "c" }, windows,
                         2, ts.const(0, dtype))
    local axes, where = window_axes(windows, letters[2])
    local k, ci = ts.reduce_axis("k", m), ts.reduce_axis("ci", o.ci)
    local Y = ts.compute("conv", { o.n, h.out, w.out, m, m, o.co },
      function(n, y, x, i, j, co)
        local at = where { y, x }
        return ts.sum(wide(P(n, at[1], at[2], i, k, ci)) *
                      wide(W(axes[1], axes[2], k, j, ci, co)),
                      { axes[1], axes[2], k, ci })
      end)
    Y = kit.epilogue({ name = o.name, dtype = o.dtype, acc = o.acc,
                       out = o.out }, Y, { o.n, h.out, w.out, m, m, o.co },
                     { "n", "y", "x", "i", "j", "co" }, 6, {}, sum_type)
    return ts.program("capsule_conv2d_nhwc", { X, W }, { Y })
  end,
}
