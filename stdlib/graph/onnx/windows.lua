-- SPDX-License-Identifier: Apache-2.0
-- ONNX's convolutions and pooling.
local node = require "tessera.graph.onnx.node"

local layout = { "ncl", "nchw", "ncdhw" }
local windows = {}

function windows.spatial(shape) return table.move(shape, 3, #shape, 1, {}) end
local spatial, filled = windows.spatial, node.filled

-- Stride, dilation and padding of windows k over extents.
function windows.options(n, k, extents)
  local rank = #k
  local o = { stride = n:attr("strides", filled(rank, 1)),
              dilation = n:attr("dilations", filled(rank, 1)),
              pad = n:attr("pads", filled(2 * rank, 0)) }
  local auto = n:attr("auto_pad", "NOTSET")
  if auto == "VALID" then o.pad = filled(2 * rank, 0) end
  if auto:find "^SAME" then
    o.pad = {}
    for d = 1, rank do
      local s, reach = o.stride[d], o.dilation[d] * (k[d] - 1) + 1
      local out = (extents[d] + s - 1) // s
      local total = math.max((out - 1) * s + reach - extents[d], 0)
      local less = total // 2
      o.pad[d] = auto == "SAME_UPPER" and less or total - less
      o.pad[d + rank] = total - o.pad[d]
    end
  end
  return o
end

-- The operator of a convolution of x by w, and its options.
function windows.conv(n, x, w, bias)
  local rank = #x.shape - 2
  if not layout[rank] then
    n:refuse("a convolution over %d dimensions", rank)
  end
  local o = windows.options(n, n:attr "kernel_shape" or spatial(w.shape),
                            spatial(x.shape))
  o.groups = n:attr("group", 1)
  o.bias = bias
  return n.ops[("conv%dd_%s"):format(rank, layout[rank])], o
end

-- A pooling operator; more: its further options.
local function pool(name, more)
  return function(n)
    local k, x = n:must "kernel_shape", n:needs(1)
    local o = windows.options(n, k, spatial(x.shape))
    o.k, o.ceil = k, n:flag "ceil_mode" or nil
    for key, v in pairs(more(n)) do o[key] = v end
    return n.ops[name:format(#k)](x, o)
  end
end

-- Padding of a transposed convolution that is to give a shape.
local function transposed_pad(n, o, k, extents)
  local rank = #k
  local auto, shape = n:attr("auto_pad", "NOTSET"), n:attr "output_shape"
  if not shape and not auto:find "^SAME" then return end
  o.pad = {}
  for d = 1, rank do
    local want = shape and shape[#shape - rank + d] or extents[d] * o.stride[d]
    local total = o.stride[d] * (extents[d] - 1) + o.out_pad[d] +
                  (k[d] - 1) * o.dilation[d] + 1 - want
    if total < 0 then o.out_pad[d], total = o.out_pad[d] - total, 0 end
    local less = total // 2
    o.pad[d] = auto == "SAME_UPPER" and less or total - less
    o.pad[d + rank] = total - o.pad[d]
  end
end

-- The shape that indices of MaxUnpool count in where another is asked for.
local function unpooled(n)
  local k, shape = n:must "kernel_shape", n:shape(1)
  local s = n:attr("strides", filled(#k, 1))
  local pads = n:attr("pads", filled(2 * #k, 0))
  local to = { shape[1], shape[2] }
  for d = 1, #k do
    to[d + 2] = (shape[d + 2] - 1) * s[d] - pads[d] - pads[d + #k] + k[d]
  end
  return to
end

function windows.families(of)
  function of.Conv(n)
    local x, w = n:needs(1), n:needs(2)
    local f, o = windows.conv(n, x, w, n:x(3))
    return f(x, w, o)
  end
  function of.ConvTranspose(n)
    local x, w = n:needs(1), n:needs(2)
    local rank = #x.shape - 2
    local k = n:attr "kernel_shape" or spatial(w.shape)
    local o = { stride = n:attr("strides", filled(rank, 1)),
                dilation = n:attr("dilations", filled(rank, 1)),
                out_pad = n:attr("output_padding", filled(rank, 0)),
                pad = n:attr("pads", filled(2 * rank, 0)),
                groups = n:attr("group", 1), bias = n:x(3) }
    if not layout[rank] then
      n:refuse("a convolution over %d dimensions", rank)
    end
    transposed_pad(n, o, k, spatial(x.shape))
    return n.ops[("conv%dd_transpose_%s"):format(rank, layout[rank])](x, w, o)
  end
  function of.DeformConv(n)
    local x, w = n:needs(1), n:needs(2)
    local o = windows.options(n, spatial(w.shape), spatial(x.shape))
    o.groups, o.offset_groups = n:attr("group", 1), n:attr("offset_group", 1)
    o.bias, o.mask = n:x(4), n:x(5)
    return n.ops.deform_conv2d(x, w, n:needs(3), o)
  end
  function of.Col2Im(n)
    local to = n:values(2)
    return n.ops.col2im(n:needs(1), {
      to = to, k = n:values(3), stride = n:attr("strides", filled(#to, 1)),
      dilation = n:attr("dilations", filled(#to, 1)),
      pad = n:attr("pads", filled(2 * #to, 0)) })
  end
  of.MaxPool = pool("max_pool%dd", function(n)
    return { indices = n:wants(2) or nil,
             column_major = n:flag "storage_order" or nil }
  end)
  of.AveragePool = pool("avg_pool%dd", function(n)
    return { count_include_pad = n:flag "count_include_pad" }
  end)
  of.LpPool = pool("lp_pool%dd", function(n) return { p = n:attr("p", 2) } end)
  local function global(op)
    return function(n)
      return n.ops[("global_pool%dd"):format(n:rank(1) - 2)](n:x(1),
                                                             { op = op })
    end
  end
  of.GlobalAveragePool, of.GlobalMaxPool = global "mean", global "max"
  function of.MaxUnpool(n)
    local natural = unpooled(n)
    return n.ops.max_unpool(n:needs(1), n:needs(2), {
      to = n:values(3) or natural, of = n:has(3) and natural or nil })
  end
  function of.RoiAlign(n)
    return n.ops.roi_align(n:needs(1), n:needs(2), n:needs(3), {
      oh = n:attr("output_height", 1), ow = n:attr("output_width", 1),
      samples = n:attr("sampling_ratio", 0),
      scale = n:attr("spatial_scale", 1.0),
      op = n:attr("mode", "avg"),
      half_pixel = n:attr("coordinate_transformation_mode",
                          n.opset >= 16 and "half_pixel" or
                          "output_half_pixel") == "half_pixel" })
  end
  function of.GridSample(n)
    local modes = { linear = "linear", bilinear = "linear", cubic = "cubic",
                    bicubic = "cubic", nearest = "nearest" }
    return n.ops.grid_sample(n:needs(1), n:needs(2), {
      mode = modes[n:attr("mode", "linear")],
      padding = n:attr("padding_mode", "zeros"),
      align_corners = n:flag "align_corners" })
  end
end

return windows
