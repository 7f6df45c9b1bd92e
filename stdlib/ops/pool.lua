-- SPDX-License-Identifier: Apache-2.0
-- Pooling of windows and of whole images.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local layout = require "tessera.ops.layout"
local arg_reducer = require "tessera.ops.arg_reducer"
local count, each, tensor = declare.count, declare.each, declare.tensor

local letters, channels_last = layout.letters, layout.channels_last
local laid_out, split = layout.laid_out, layout.split
local layouts = { { "NCL", "NLC" }, { "NCHW", "NHWC" }, { "NCDHW", "NDHWC" } }
local things = { "sequences", "images", "volumes" }
local lengths = { d = "their depth", h = "their height", w = "their width" }

-- The options of images of that rank, and others behind them.
local function with(rank, ...)
  local list = { count("n", things[rank]), count("c", "their channels") }
  for _, x in ipairs(letters[rank]) do
    list[#list + 1] = count(x, rank == 1 and "their length" or lengths[x])
  end
  list[#list + 1] = declare.word("layout", layouts[rank], layouts[rank][1],
                                 "the order of the dimensions")
  return table.move({ ... }, 1, select("#", ...), #list + 1, list)
end

-- What f gives of each of a list.
local function each_of(list, f)
  local to = {}
  for i, x in ipairs(list) do to[i] = f(x, i) end
  return to
end

local function extents_of(o, rank)
  return each_of(letters[rank], function(x) return o[x] end)
end

local function images(rank)
  return { tensor("X", function(o)
    return laid_out(o, "n", "c", table.unpack(letters[rank]))
  end) }
end

-- ---- windows ---------------------------------------------------------------

local function same(x) return x end

-- How many places of a window that begins at `at` lie in the input, or in what
-- is added around it, too.
local function inside(w, at, padded)
  local low = padded and -w.before or 0
  local high = w.extent + (padded and w.pad_after or 0)
  local before = w.before - at * w.s + w.d - 1
  return ts.min((before + high) // w.d, w.k) -
         ts.max((before + low) // w.d, 0)
end

-- The windows over X: their axes, the shape of what there is one of for each
-- and the names of its dimensions; `element` and `place` of the indices of one
-- are an element of it, and where in X that is.
local function windowed(o, X, rank, least)
  local extents = extents_of(o, rank)
  local windows = kit.windows(o, extents)
  for _, x in ipairs(windows) do
    local reach = x.d * (x.k - 1) + 1
    if x.before >= reach or x.pad_after >= reach then
      declare.wrong(o.name, "'pad' is not less than the window")
    end
  end
  local shape = laid_out(o, o.n, o.c, table.unpack(extents))
  local names = laid_out(o, "n", "c", table.unpack(letters[rank]))
  local P = kit.padded(X, shape, names, windows, channels_last(o) and 2 or 3,
                       least(o.dtype))
  local axes = each_of(windows, function(w, i)
    return ts.reduce_axis("k" .. letters[rank][i], w.k)
  end)
  -- f of the place in P of each dimension.
  local function at(f, ...)
    local list = { split(o, ...) }
    return list[1], list[2], table.unpack(each_of(windows, function(w, i)
      return f(list[i + 2] * w.s + axes[i] * w.d, w)
    end))
  end
  return {
    windows = windows, axes = axes, names = names,
    shape = laid_out(o, o.n, o.c, table.unpack(each_of(windows, function(w)
      return w.out
    end))),
    element = function(...)
      return P(table.unpack(laid_out(o, at(same, ...))))
    end,
    place = function(...)
      return at(function(i, w)
        return ts.clamp(i - w.before, 0, w.extent - 1)
      end, ...)
    end,
  }
end

local function pool(o, X, rank, reduce, least, finish)
  local _, wide, narrow = kit.accumulator(o)
  if not finish then wide, narrow = same, same end
  local w = windowed(o, X, rank, least)
  local Y = kit.compute("pool", w.shape, w.names, function(...)
    return reduce(wide(w.element(...)), w.axes)
  end)
  return finish and finish(Y, w.shape, w.names, w.windows, narrow) or Y
end

-- Of a type, the value that is no greater than any.
local function least(dtype)
  if declare.is(dtype, "float") then return ts.const(-math.huge, dtype) end
  if dtype:find "^u" then return ts.const(0, dtype) end
  return ts.const(-1 << (dtype:match "%d+" - 1), dtype)
end

local function reversed(list)
  return each_of(list, function(_, i) return list[#list + 1 - i] end)
end

-- The greatest elements, and where in X each is.
local function pool_with_indices(o, X, rank)
  local w = windowed(o, X, rank, least)
  local extents = extents_of(o, rank)
  local reduce = arg_reducer(true, false, o.dtype)
  local function flat(n, c, ...)
    local at, of = { ... }, extents
    if o.column_major then at, of = reversed(at), reversed(of) end
    return layout.flat(laid_out(o, o.n, o.c, table.unpack(of)),
                       laid_out(o, n, c, table.unpack(at)))
  end
  local I, Y = kit.compute("pool", w.shape, w.names, function(...)
    return reduce(ts.cast(flat(w.place(...)), "int64"), w.element(...), w.axes)
  end)
  return Y, I
end

-- The means of windows, of their sums S.
local function mean_of_windows(o, S, shape, names, windows, narrow)
  local acc = kit.accumulator(o)
  local padded, size = false, 1
  for _, w in ipairs(windows) do
    padded, size = padded or w.before + w.after > 0, size * w.k
  end
  return kit.compute("mean", shape, names, function(...)
    if not padded or o.count_include_pad and not o.ceil then
      return narrow(S(...) / size)
    end
    local places, n = { select(3, split(o, ...)) }, nil
    for i, w in ipairs(windows) do
      local here = inside(w, places[i], o.count_include_pad)
      n = n and n * here or here
    end
    return narrow(S(...) / ts.cast(n, acc))
  end)
end

-- "h*s + kh*t - p, w*s + kw*t - p", for the pages.
local function window_text(rank)
  return table.concat(each_of(letters[rank], function(x)
    return ("%s*s + k%s*t - p"):format(x, x)
  end), ", ")
end

local function list_text(rank, prefix)
  return table.concat(each_of(letters[rank], function(x)
    return prefix .. x
  end), ", ")
end

local window = {
  each("k", 1, "extent of the window, one for all dimensions or a list"),
  each("stride", 1, "the step of the window, or a list", "1"),
  each("pad", 0, "places added on each side, or a list", "0"),
  each("dilation", 1, "the step inside of the window, or a list", "1"),
  declare.flag("ceil", "the last window may reach behind the end"),
}

local function example_of(rank, of)
  local list = each_of(letters[rank], function(x) return x .. " = 4" end)
  return ("{ n = 1, c = 1, %s%s }"):format(table.concat(list, ", "), of)
end

for rank = 1, 3 do
  local places = list_text(rank, "")
  declare.operator {
    name = ("max_pool%dd"):format(rank),
    summary = ("The greatest element of each window of %s."):format(
                things[rank]),
    says = ([[
Y[n, c, %s] = max over %s of
  X[n, c, %s]
s: stride, t: dilation, p: pad; what lies outside of X is left out.  With
`indices` a second result, int64, says where in X, in row-major order, each
is.]])
      :format(places, list_text(rank, "k"), window_text(rank)),
    options = with(rank, window[1], window[2], window[3], window[4], window[5],
                   declare.flag("indices", "say where the elements are"),
                   declare.flag("column_major", "count indices of a channel " ..
                                "with the first of its dimensions fastest"),
                   declare.dtype("number")),
    example = example_of(rank, ", k = 2, stride = 2"),
    tensors = images(rank),
    symbolic = { n = true },
    result = "pool",
    apply = function(o, X)
      if o.indices then return pool_with_indices(o, X, rank) end
      return pool(o, X, rank, ts.reduce_max, least)
    end,
  }

  declare.operator {
    name = ("avg_pool%dd"):format(rank),
    summary = ("The mean of each window of %s."):format(things[rank]),
    says = ([[
Y[n, c, %s] = (sum over %s of
  X[n, c, %s]) / N
s: stride, t: dilation, p: pad; N: how many of them lie in X, or the size of the
window with count_include_pad, where the others are 0.]])
      :format(places, list_text(rank, "k"), window_text(rank)),
    options = with(rank, window[1], window[2], window[3], window[4], window[5],
                   declare.flag("count_include_pad",
                                "divide by the size of the window"),
                   declare.dtype("float"), declare.acc()),
    example = example_of(rank, ", k = 2, stride = 2"),
    tensors = images(rank),
    symbolic = { n = true },
    result = "mean",
    apply = function(o, X)
      local function zero() return ts.const(0, o.dtype) end
      return pool(o, X, rank, ts.sum, zero, function(...)
        return mean_of_windows(o, ...)
      end)
    end,
  }

  declare.operator {
    name = ("lp_pool%dd"):format(rank),
    summary = ("The norm of each window of %s."):format(things[rank]),
    says = ([[
Y[n, c, %s] = (sum over %s of
  |X[n, c, %s]|^p)^(1/p)
s: stride, t: dilation, p in the indices: pad; X is zero outside.]])
      :format(places, list_text(rank, "k"), window_text(rank)),
    options = with(rank, window[1], window[2], window[3], window[4], window[5],
                   count("p", "the exponent", "2"), declare.dtype("float"),
                   declare.acc()),
    example = example_of(rank, ", k = 2, stride = 2"),
    tensors = images(rank),
    symbolic = { n = true },
    result = "norm",
    apply = function(o, X)
      local function power(x)
        x = ts.abs(x)
        return o.p == 1 and x or o.p == 2 and x * x or ts.pow(x, o.p)
      end
      local function zero() return ts.const(0, o.dtype) end
      local function sum(x, axes) return ts.sum(power(x), axes) end
      return pool(o, X, rank, sum, zero, function(S, shape, names, _, narrow)
        return kit.compute("norm", shape, names, function(...)
          local s = S(...)
          return narrow(o.p == 1 and s or o.p == 2 and ts.sqrt(s) or
                        ts.pow(s, 1 / o.p))
        end)
      end)
    end,
  }

  declare.operator {
    name = ("global_pool%dd"):format(rank),
    summary = ("The mean or the greatest element of each channel of %s.")
              :format(things[rank]),
    says = ([[
Y[n, c, 0..] = mean (or max) over %s of X[n, c, %s]
the channel is the second dimension of X and Y, or the last.]])
      :format(places, places),
    options = with(rank, declare.word("op", { "mean", "max" }, "mean",
                                      "which of them"),
                   declare.dtype("float"), declare.acc()),
    example = example_of(rank, ""),
    tensors = images(rank),
    symbolic = { n = true },
    result = "pool",
    apply = function(o, X)
      local extents = extents_of(o, rank)
      local _, wide, narrow = kit.accumulator(o)
      if o.op == "max" then wide = same end
      local axes = each_of(extents, function(n, i)
        return ts.reduce_axis("r" .. letters[rank][i], n)
      end)
      local shape = laid_out(o, o.n, o.c, table.unpack(
        each_of(extents, function() return 1 end)))
      local names = laid_out(o, "n", "c", table.unpack(letters[rank]))
      local reduce = o.op == "max" and ts.reduce_max or ts.sum
      local S = kit.compute("pool", shape, names, function(...)
        local list = { split(o, ...) }
        local at = laid_out(o, list[1], list[2], table.unpack(
          each_of(axes, function(r, i) return list[i + 2] + r end)))
        return reduce(wide(X(table.unpack(at))), axes)
      end)
      if o.op ~= "max" then
        local of = S
        S = kit.compute("mean", shape, names, function(...)
          return narrow(of(...) / kit.product(extents))
        end)
      end
      return S
    end,
  }
end
