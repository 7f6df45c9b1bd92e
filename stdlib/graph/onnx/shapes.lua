-- SPDX-License-Identifier: Apache-2.0
-- ONNX's operators that give a tensor another shape, or cut and join tensors.
local node = require "tessera.graph.onnx.node"

-- Axes of an attribute or, from set 13 on, of input 2; nil where left out.
local function axes_of(n)
  return n.opset < 13 and n:attr "axes" or n:values(2)
end

return function(of)
  function of.Transpose(n)
    return n.ops.transpose(n:needs(1), { perm = n:attr "perm" })
  end
  function of.Reshape(n)
    local x, to = n:needs(1), n:values(2)
    local rest, known = nil, 1
    for d, extent in ipairs(to) do
      if extent == 0 and not n:flag "allowzero" then to[d] = x.shape[d] end
      if extent == -1 then rest = d else known = known * to[d] end
    end
    if rest then to[rest] = node.product(x.shape) // math.max(known, 1) end
    return n:reshape(x, to)
  end
  function of.Flatten(n)
    local x = n:needs(1)
    local a = n:attr("axis", 1)
    a = a < 0 and a + #x.shape or a
    return n:reshape(x, { node.product(x.shape, 1, a),
                          node.product(x.shape, a + 1) })
  end
  function of.Squeeze(n)
    local x, axes, to, gone = n:needs(1), axes_of(n), {}, {}
    for _, a in ipairs(axes or {}) do gone[n:axis(a, #x.shape) + 1] = true end
    for d, extent in ipairs(x.shape) do
      if not gone[d] and (axes or extent ~= 1) then to[#to + 1] = extent end
    end
    return n:reshape(x, to)
  end
  function of.Unsqueeze(n)
    local x, axes = n:needs(1), axes_of(n)
    local rank, new, to, from = #x.shape + #axes, {}, {}, 1
    for _, a in ipairs(axes) do new[n:axis(a, rank) + 1] = true end
    for d = 1, rank do
      to[d] = new[d] and 1 or x.shape[from]
      from = from + (new[d] and 0 or 1)
    end
    return n:reshape(x, to)
  end
  -- The shape that both broadcast to.
  function of.Expand(n)
    local x, to = n:needs(1), n:values(2)
    local s, all = x.shape, {}
    local rank = math.max(#s, #to)
    for d = 1, rank do
      local have, want = s[d - rank + #s] or 1, to[d - rank + #to] or 1
      all[d] = want == 1 and have or want
    end
    return n.ops.broadcast(x, { to = all })
  end
  function of.Tile(n)
    return n.ops.tile(n:needs(1), { times = n:values(2) })
  end
  -- What is empty, as a slice of a shape may be, adds nothing.
  function of.Concat(n)
    local list = {}
    for i = 1, n:nin() do
      local x = n:needs(i)
      if node.product(x.shape) > 0 then list[#list + 1] = x end
    end
    if #list <= 1 then return list[1] or n:needs(1) end
    list[#list + 1] = { axis = n:attr("axis", 0) }
    return n.ops.concat(table.unpack(list))
  end

  -- Sizes were an attribute until set 13; else all are alike, but for the last.
  local function split_sizes(n, extent)
    local sizes = n.opset < 13 and n:attr "split" or n.opset >= 13 and
                  n:values(2)
    if sizes then return sizes end
    local parts = n:attr("num_outputs", n.nout)
    local each = (extent + parts - 1) // parts
    sizes = node.filled(parts, each)
    sizes[parts] = extent - each * (parts - 1)
    return sizes
  end
  function of.Split(n)
    local x = n:needs(1)
    local axis = n:axis(n:attr("axis", 0), #x.shape)
    local sizes = split_sizes(n, x.shape[axis + 1])
    if #sizes == 1 then return x end
    return n.ops.split(x, { sizes = sizes, axis = axis })
  end

  -- Where a slice of a dimension begins and ends, as ONNX clamps it.
  local function clamped(b, e, s, extent)
    b = b < 0 and b + extent or b
    e = e < 0 and e + extent or e
    if s > 0 then
      return math.max(0, math.min(b, extent)), math.max(0, math.min(e, extent))
    end
    return math.max(0, math.min(b, extent - 1)),
           math.max(-1, math.min(e, extent - 1))
  end
  -- All were attributes until set 10.
  function of.Slice(n)
    local x = n:needs(1)
    local shape, old = x.shape, n.opset < 10
    local from = old and n:must "starts" or n:values(2)
    local to = old and n:must "ends" or n:values(3)
    local axes = old and n:attr "axes" or not old and n:values(4)
    local by = not old and n:values(5)
    local begin, stop, step = {}, {}, {}
    for d, extent in ipairs(shape) do
      begin[d], stop[d], step[d] = 0, extent, 1
    end
    for i, b in ipairs(from) do
      local d = n:axis(axes and axes[i] or i - 1, #shape) + 1
      local s = by and by[i] or 1
      begin[d], stop[d] = clamped(b, to[i], s, shape[d])
      step[d] = s
    end
    local to_shape = {}
    for d, s in ipairs(step) do
      to_shape[d] = math.max(0, (stop[d] - begin[d] + s - (s > 0 and 1 or -1))
                                // s)
    end
    if node.product(to_shape) == 0 then
      return n:constant(x.dtype, to_shape, {})
    end
    return n.ops.slice(x, { begin = begin, stop = stop, step = step })
  end
  -- Negative padding cuts.
  local function cut_and_pad(n, x, before, after, value, mode)
    local begin, stop, cuts = {}, {}, false
    for d, extent in ipairs(x.shape) do
      begin[d] = math.max(-before[d], 0)
      stop[d] = extent - math.max(-after[d], 0)
      cuts = cuts or before[d] < 0 or after[d] < 0
      before[d], after[d] = math.max(before[d], 0), math.max(after[d], 0)
    end
    if cuts then x = n.ops.slice(x, { begin = begin, stop = stop }) end
    return n.ops.pad(x, { before = before, after = after, value = value,
                          mode = mode })
  end
  function of.Pad(n)
    local x, old = n:needs(1), n.opset < 11
    local pads = old and n:must "pads" or n:values(2)
    local value = old and n:attr("value", 0.0) or not old and n:value(3) or nil
    local axes = not old and n:values(4)
    local before, after = node.filled(#x.shape, 0), node.filled(#x.shape, 0)
    for i = 1, #pads // 2 do
      local d = n:axis(axes and axes[i] or i - 1, #x.shape) + 1
      before[d], after[d] = pads[i], pads[i + #pads // 2]
    end
    return cut_and_pad(n, x, before, after, value, n:attr("mode", "constant"))
  end
  function of.CenterCropPad(n)
    local x, want, axes = n:needs(1), n:values(2), n:attr "axes"
    local before, after = node.filled(#x.shape, 0), node.filled(#x.shape, 0)
    for i, extent in ipairs(want) do
      local d = n:axis(axes and axes[i] or i - 1, #x.shape) + 1
      local have = x.shape[d]
      local cut, more = math.max(have - extent, 0), math.max(extent - have, 0)
      before[d] = more // 2 - cut // 2
      after[d] = extent - have - before[d]
    end
    return cut_and_pad(n, x, before, after)
  end
  function of.Trilu(n)
    return n.ops.trilu(n:needs(1), { upper = n:flag("upper", 1),
                                     k = n:value(2) or 0 })
  end
  function of.SpaceToDepth(n)
    return n.ops.space_to_depth(n:needs(1), { block = n:must "blocksize",
                                              mode = n:attr("mode", "DCR") })
  end
  function of.DepthToSpace(n)
    return n.ops.depth_to_space(n:needs(1), { block = n:must "blocksize",
                                              mode = n:attr("mode", "DCR") })
  end
  function of.ReverseSequence(n)
    return n.ops.reverse_sequence(n:needs(1), n:needs(2),
                                  { time_axis = n:attr("time_axis", 0),
                                    batch_axis = n:attr("batch_axis", 1) })
  end
end
