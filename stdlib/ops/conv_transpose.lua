-- SPDX-License-Identifier: Apache-2.0
-- Transposed convolutions of one, two and three dimensions, with channels first
-- and last: each element of the input adds a window to the result.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local layout = require "tessera.ops.layout"
local count, each, tensor = declare.count, declare.each, declare.tensor

local acc, out = declare.accumulation()
local letters, laid_out = layout.letters, layout.ordered
local things = { "sequences", "images", "volumes" }
local layouts = { { "ncl", "nlc" }, { "nchw", "nhwc" }, { "ncdhw", "ndhwc" } }

-- ---- one dimension ---------------------------------------------------------

-- Of stride s, without dilation, result y gets, of the k elements of the
-- window, only those of its phase, the remainder of y + pad: every s-th, so
-- that none is multiplied with a zero between the inputs.
--   reach: how many;
--   where(y, t): the padded input's index, the window's, and a condition that
-- it is inside where s does not divide k.
local function phases(x)
  local k, s, pad = x.k, x.s, x.pad
  local reach = (k + s - 1) // s
  local before = reach - 1 - pad // s
  local padded = (x.out - 1 + pad) // s - pad // s + reach
  return {
    reach = reach, before = before, extent = x.extent, padded = padded,
    after = padded - before - x.extent,
    where = function(y, t)
      local q = y + pad
      local at = (reach - 1 - t) * s + q % s
      return q // s - pad // s + t, at, k % s ~= 0 and ts.lt(at, k) or nil
    end,
  }
end

-- With dilation, all elements of the window: those of which the input lies
-- between two, or outside, do not count.
local function all_elements(x)
  return {
    reach = x.k, before = 0, after = 0, extent = x.extent, padded = x.extent,
    where = function(y, t)
      local q = y + x.pad - t * x.t
      local at = q // x.s
      local inside = { ts.ge(q, 0), ts.lt(at, x.extent) }
      if x.s > 1 then inside[3] = ts.eq(q % x.s, 0) end
      return ts.max(ts.min(at, x.extent - 1), 0), t,
             ts.all(table.unpack(inside))
    end,
  }
end

local function dimensions(o, extents)
  local n, list = #extents, {}
  local k, s = kit.each(o, "k", n), kit.each(o, "stride", n, 1)
  local t, more = kit.each(o, "dilation", n, 1), kit.each(o, "out_pad", n, 0)
  local before, after = kit.both_pads(o, n)
  for i, extent in ipairs(extents) do
    local result = (extent - 1) * s[i] + t[i] * (k[i] - 1) + 1 + more[i] -
                   before[i] - after[i]
    if result < 1 then declare.wrong(o.name, "nothing is left of the result")
    end
    local x = { k = k[i], s = s[i], t = t[i], pad = before[i],
                extent = extent, out = result }
    local plain = x.t == 1 and x.pad < x.k
    list[i] = plain and phases(x) or all_elements(x)
    list[i].out = result
  end
  return list
end

-- ---- the sum ---------------------------------------------------------------

local function transposed(o, n, first, X, W, ...)
  local sum_type, wide = kit.accumulator(o)
  local names, extents, groups = letters[n], {}, o.groups
  for i, x in ipairs(names) do extents[i] = o[x] end
  local windows, places, axes = dimensions(o, extents), {}, {}
  for i, w in ipairs(windows) do
    places[i], axes[i] = w.out, ts.reduce_axis("k" .. names[i], w.reach)
  end
  local P = kit.padded(X, laid_out(first, o.n, o.ci, extents),
                       laid_out(first, "n", "c", names), windows,
                       first and 3 or 2, ts.const(0, o.dtype))
  local ci = ts.reduce_axis("ci", o.ci // groups)
  local shape = laid_out(first, o.n, o.co, places)
  local y_names = laid_out(first, "n", "co", names)
  local Y = kit.compute("conv", shape, y_names, function(image, ...)
    local at, from, window, whole = { ... }, {}, {}, {}
    local co = table.remove(at, first and 1 or n + 1)
    for i, w in ipairs(windows) do
      local inside
      from[i], window[i], inside = w.where(at[i], axes[i])
      whole[#whole + 1] = inside
    end
    local c, of = ci, co
    if groups > 1 then
      local part = o.co // groups
      c, of = co // part * (o.ci // groups) + ci, co % part
    end
    local w = first and { c, of, table.unpack(window) } or window
    if not first then w[n + 1], w[n + 2] = c, of end
    local factor = W(table.unpack(w))
    if #whole > 0 then
      factor = ts.select(ts.all(table.unpack(whole)), factor,
                         ts.const(0, o.dtype))
    end
    return ts.sum(wide(P(table.unpack(laid_out(first, image, c, from)))) *
                  wide(factor), kit.with(axes, n + 1, ci))
  end)
  return kit.epilogue(o, Y, shape, y_names, first and 2 or n + 2, sum_type, ...)
end

-- ---- declarations ----------------------------------------------------------

local lengths = { d = "their depth", h = "their height", w = "their width" }

local function options_of(n)
  local list = { count("n", things[n]) }
  for _, x in ipairs(letters[n]) do
    list[#list + 1] = count(x, n == 1 and "their length" or lengths[x])
  end
  return table.move({
    count("ci", "their channels"), count("co", "channels of the result"),
    each("k", 1, "extent of the window, one for all dimensions or a list"),
    each("stride", 1, "how far apart windows are, or a list", "1"),
    each("pad", 0, "places left out on each side; a list: of each " ..
         "dimension, or those before all of them and then those behind", "0"),
    each("out_pad", 0, "places more behind, or a list", "0"),
    each("dilation", 1, "the step inside of the window, or a list", "1"),
    count("groups", "parts that the channels fall into", "1"),
    declare.dtype("number", "float32", "the type of X and W"), acc, out,
    declare.flag("bn", "multiply each channel of the result by a scale, and " ..
                 "add a shift"),
    kit.epilogue_options(),
  }, 1, 15, #list + 1, list)
end

local function says(n, first)
  local at, k, to = letters[n], {}, {}
  for i, x in ipairs(at) do
    k[i] = "k" .. x
    to[i] = ("%s*s + k%s*t - p"):format(x, x)
  end
  local function index(c, list)
    return table.concat(laid_out(first, "n", c, list), ", ")
  end
  local window = table.concat(k, ", ")
  return ([[
Y = act(Z + bias), Z the sum of what each element of X adds: to
Z[%s] the product of
X[%s] and W[%s].
s: stride, t: dilation, p: pad.  Along a dimension there are (extent - 1) s -
2 p + t (k - 1) + 1 + out_pad results; what falls outside is left out.  Of
groups, each is one of its own part of the channels; W has co / groups.]])
    :format(index("co", to), index("ci", at),
            first and "ci, co, " .. window or window .. ", ci, co")
end

for n = 1, 3 do
  for i, name in ipairs(layouts[n]) do
    local first, k = i == 1, {}
    for d = 1, n do k[d] = "k." .. d end
    local function co(o) return o.co // o.groups end
    local w = first and { "ci", co, table.unpack(k) } or k
    if not first then w[n + 1], w[n + 2] = "ci", co end
    local example = {}
    for d, x in ipairs(letters[n]) do example[d] = x .. " = 2, " end
    declare.operator {
      name = ("conv%dd_transpose_%s"):format(n, name),
      summary = ("The transpose of a convolution of %s, layout %s."):format(
                  things[n], name:upper()),
      says = says(n, first),
      tensors = { tensor("X", laid_out(first, "n", "ci", letters[n])),
                  tensor("W", w), kit.epilogue_tensors("co", true) },
      infer = function(o, tensors)
        local shape = tensors.W.shape
        local part = shape[first and 2 or #shape]
        o.co = o.co or part and part * (o.groups or 1)
      end,
      check = function(o) kit.check_groups(o, n) end,
      options = options_of(n),
      example = ("{ n = 1, %sci = 1, co = 1, k = 2, stride = 2 }"):format(
                  table.concat(example)),
      symbolic = { n = true },
      result = "conv",
      apply = function(o, ...) return transposed(o, n, first, ...) end,
    }
  end
end
