-- SPDX-License-Identifier: Apache-2.0
-- Convolutions of one, two and three dimensions, in layouts with channels
-- first, last and in blocks: padded input, then a sum over a window.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local layout = require "tessera.ops.layout"
local count, each, tensor = declare.count, declare.each, declare.tensor

local acc, out = declare.accumulation()
local letters, laid_out = layout.letters, layout.ordered

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

-- The tensors of a convolution of n dimensions.
local function tensors_of(n, first)
  local k = {}
  for i = 1, n do k[i] = "k." .. i end
  local function ci(o) return o.ci // o.groups end
  local w = { table.unpack(k) }
  if first then w = { "co", ci, table.unpack(k) }
  else w[n + 1], w[n + 2] = ci, "co" end
  return { tensor("X", laid_out(first, "n", "ci", letters[n])), tensor("W", w),
           kit.epilogue_tensors("co", true) }
end

local function conv(o, n, first, X, W, ...)
  local names, groups = letters[n], o.groups
  local sum_type, wide = kit.accumulator(o)
  local windows = kit.windows(o, lengths_of(o, n))
  local x_shape = laid_out(first, o.n, o.ci, lengths_of(o, n))
  local places = {}
  for i, w in ipairs(windows) do places[i] = w.out end
  local shape = laid_out(first, o.n, o.co, places)
  local P = kit.padded(X, x_shape, laid_out(first, "n", "c", names), windows,
                       first and 3 or 2, ts.const(0, o.dtype))
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
  return kit.epilogue(o, Y, shape, y_names, first and 2 or n + 2, sum_type, ...)
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

local function declare_conv(name, n, first, text, example)
  local list = options_of(n, { count("ci", "their channels"),
                               count("co", "channels of the result") })
  list[#list + 1] = count("groups", "parts that the channels fall into", "1")
  declare.operator {
    name = name,
    summary = ("A convolution of %s, layout %s."):format(
                n == 1 and "sequences" or n == 2 and "images" or "volumes",
                text),
    says = formula(n, first),
    options = with_epilogue(list),
    tensors = tensors_of(n, first),
    check = function(o) kit.check_groups(o, n) end,
    example = example,
    symbolic = { n = true },
    result = "conv",
    apply = function(o, ...) return conv(o, n, first, ...) end,
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

local in_blocks = { "n", "co", "h", "w", "ob" }

-- What follows a sum of that shape, in blocks; a bias has blocks, too.
local function blocked_epilogue(o, y, shape, sum_type, bias)
  if o.bn then declare.wrong(o.name, "'bn' is of the other layouts") end
  if bias then
    local of = y
    y = kit.compute("biased", shape, in_blocks, function(n, co, i, j, at)
      return of(n, co, i, j, at) + kit.as(bias(co, at), kit.beside(o), sum_type)
    end)
  end
  return kit.epilogue(o, y, shape, in_blocks, 2, sum_type)
end

local function blocks(channels, block)
  return function(o) return o[channels] // o[block] end
end

local function padded_blocks(o, X, channels, block, windows)
  return kit.padded(X, { o.n, channels // block, o.h, o.w, block },
                    { "n", "c", "h", "w", "b" }, windows, 3,
                    ts.const(0, o.dtype))
end

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
  tensors = {
    tensor("X", { "n", blocks("ci", "in_block"), "h", "w", "in_block" }),
    tensor("W", { blocks("co", "out_block"), blocks("ci", "in_block"), "k.1",
                  "k.2", "in_block", "out_block" }),
    tensor("bias", { blocks("co", "out_block"), "out_block" },
           { type = kit.beside, when = "bias" }),
  },
  infer = function(o, tensors)
    local x, w = tensors.X.shape, tensors.W.shape
    if #x == 5 and #w == 6 then
      o.ci, o.co = x[2] * x[5], w[1] * w[6]
    end
  end,
  check = function(o) kit.each(o, "k", 2) end,
  symbolic = { n = true },
  result = "conv",
  apply = function(o, X, W, bias)
    local ib, ob = o.in_block, o.out_block
    local sum_type, wide = kit.accumulator(o)
    if o.ci % ib ~= 0 or o.co % ob ~= 0 then
      declare.wrong(o.name, "blocks of %d and %d do not divide %d and %d " ..
                    "channels", ib, ob, o.ci, o.co)
    end
    local windows = kit.windows(o, { o.h, o.w })
    local P = padded_blocks(o, X, o.ci, ib, windows)
    local c, b = ts.reduce_axis("ci", o.ci // ib), ts.reduce_axis("ib", ib)
    local axes, where = window_axes(windows, letters[2])
    local shape = { o.n, o.co // ob, windows[1].out, windows[2].out, ob }
    local y = kit.compute("conv", shape, in_blocks, function(n, co, i, j, of)
      local at = where { i, j }
      return ts.sum(wide(P(n, c, at[1], at[2], b)) *
                    wide(W(co, c, axes[1], axes[2], b, of)),
                    { c, axes[1], axes[2], b })
    end)
    return blocked_epilogue(o, y, shape, sum_type, bias)
  end,
}

declare.operator {
  name = "depthwise_conv2d_nchwc",
  summary = "A convolution of each channel by itself, channels in blocks.",
  says = [[
Y[n, c/b, h, w, c%b] = act(sum over kh, kw of
  X[n, c/b, h*s + kh*d - p, w*s + kw*d - p, c%b] * W[c/b, kh, kw, c%b] + bias)
b: block, which divides c; X is zero outside; bias has the shape [c/b, b].]],
  options = with_epilogue(options_of(2, {
    count("c", "their channels"), count("block", "channels of a block", "1"),
  })),
  example = "{ n = 1, h = 3, w = 3, c = 2, k = 2, block = 2 }",
  tensors = {
    tensor("X", { "n", blocks("c", "block"), "h", "w", "block" }),
    tensor("W", { blocks("c", "block"), "k.1", "k.2", "block" }),
    tensor("bias", { blocks("c", "block"), "block" },
           { type = kit.beside, when = "bias" }),
  },
  infer = function(o, tensors)
    local x = tensors.X.shape
    if #x == 5 then o.c = x[2] * x[5] end
  end,
  check = function(o) kit.each(o, "k", 2) end,
  symbolic = { n = true },
  result = "conv",
  apply = function(o, X, W, bias)
    local sum_type, wide = kit.accumulator(o)
    if o.c % o.block ~= 0 then
      declare.wrong(o.name, "blocks of %d do not divide %d channels", o.block,
                    o.c)
    end
    local windows = kit.windows(o, { o.h, o.w })
    local P = padded_blocks(o, X, o.c, o.block, windows)
    local axes, where = window_axes(windows, letters[2])
    local shape = { o.n, o.c // o.block, windows[1].out, windows[2].out,
                    o.block }
    local y = kit.compute("conv", shape, in_blocks, function(n, c, i, j, b)
      local at = where { i, j }
      return ts.sum(wide(P(n, c, at[1], at[2], b)) *
                    wide(W(c, axes[1], axes[2], b)), axes)
    end)
    return blocked_epilogue(o, y, shape, sum_type, bias)
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
  tensors = { tensor("X", { "n", "h", "w", "c" }),
              tensor("W", { "k.1", "k.2", "c" }),
              kit.epilogue_tensors("c", true) },
  check = function(o) kit.each(o, "k", 2) end,
  symbolic = { n = true },
  result = "conv",
  apply = function(o, X, W, ...)
    local sum_type, wide = kit.accumulator(o)
    local windows = kit.windows(o, { o.h, o.w })
    local h, w = windows[1], windows[2]
    local names = { "n", "h", "w", "c" }
    local P = kit.padded(X, { o.n, o.h, o.w, o.c }, names, windows, 2,
                         ts.const(0, o.dtype))
    local axes, where = window_axes(windows, letters[2])
    local shape = { o.n, h.out, w.out, o.c }
    local Y = kit.compute("conv", shape, names, function(n, i, j, c)
      local at = where { i, j }
      return ts.sum(wide(P(n, at[1], at[2], c)) * wide(W(axes[1], axes[2], c)),
                    axes)
    end)
    return kit.epilogue(o, Y, shape, names, 4, sum_type, ...)
  end,
}

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
  tensors = {
    tensor("X", { "n", "h", "w", "capsule", "capsule", "ci" }),
    tensor("W", { "k.1", "k.2", "capsule", "capsule", "ci", "co" }),
  },
  check = function(o) kit.each(o, "k", 2) end,
  symbolic = { n = true },
  result = "conv",
  apply = function(o, X, W)
    local m, sum_type, wide = o.capsule, kit.accumulator(o)
    local windows = kit.windows(o, { o.h, o.w })
    local h, w = windows[1], windows[2]
    local P = kit.padded(X, { o.n, o.h, o.w, m, m, o.ci },
                         { "n", "h", "w", "i", "j", "c" }, windows, 2,
                         ts.const(0, o.dtype))
    local axes, where = window_axes(windows, letters[2])
    local k, ci = ts.reduce_axis("k", m), ts.reduce_axis("ci", o.ci)
    local shape = { o.n, h.out, w.out, m, m, o.co }
    local Y = kit.map("conv", shape, function(n, y, x, i, j, co)
      local at = where { y, x }
      return ts.sum(wide(P(n, at[1], at[2], i, k, ci)) *
                    wide(W(axes[1], axes[2], k, j, ci, co)),
                    { axes[1], axes[2], k, ci })
    end)
    return kit.epilogue(o, Y, shape, { "n", "y", "x", "i", "j", "co" }, 6,
                        sum_type)
  end,
}
