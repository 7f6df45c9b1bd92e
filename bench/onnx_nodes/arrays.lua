-- SPDX-License-Identifier: Apache-2.0
-- Nodes that move elements, choose them by indices, and make tensors.
local ops = require "tessera.ops"
local ts = require "tessera"

local function product(list)
  local p = 1
  for _, n in ipairs(list) do p = p * n end
  return p
end

local function reshaped(x, to) return ops.reshape(x, { to = to }) end

-- A tensor of these values; a constant cannot be a result.
local function made(dtype, shape, list)
  local c = ts.constant("c", ts.tensor(dtype, shape, list))
  return ts.compute("made", shape, function(...) return c(...) end)
end
local function shape_tensor(list) return made("int64", { #list }, list) end

local function axis_of(n, default)
  local a = n:attr("axis", default)
  return a < 0 and a + n:rank(1) or a
end

return function(of)
  function of.Transpose(n)
    return ops.transpose(n:x(1), { perm = n:attr "perm" })
  end
  function of.Reshape(n) return reshaped(n:x(1), n.case.outputs[1].shape) end
  of.Flatten, of.Squeeze, of.Unsqueeze = of.Reshape, of.Reshape, of.Reshape
  function of.Expand(n)
    return ops.broadcast(n:x(1), { to = n.case.outputs[1].shape })
  end
  function of.Tile(n) return ops.tile(n:x(1), { times = n:values(2) }) end
  function of.Concat(n)
    local list = {}
    for i = 1, #n.case.inputs do list[i] = n:x(i) end
    list[#list + 1] = { axis = n:attr("axis", 0) }
    return ops.concat(table.unpack(list))
  end
  function of.Split(n)
    local sizes, d = {}, axis_of(n, 0)
    for i, y in ipairs(n.case.outputs) do sizes[i] = y.shape[d + 1] end
    return ops.split(n:x(1), { sizes = sizes, axis = d })
  end
  function of.Slice(n)
    local shape = n:shape(1)
    local begin, stop, step = {}, {}, {}
    for d, extent in ipairs(shape) do
      begin[d], stop[d], step[d] = 0, extent, 1
    end
    local from, to = n:values(2), n:values(3)
    local axes, by = n:values(4), n:values(5)
    for i, b in ipairs(from) do
      local d = axes and axes[i] or i - 1
      d = (d < 0 and d + #shape or d) + 1
      local s, extent, e = by and by[i] or 1, shape[d], to[i]
      b = b < 0 and b + extent or b
      e = e < 0 and e + extent or e
      if s > 0 then
        b = math.max(0, math.min(b, extent))
        e = math.max(0, math.min(e, extent))
      else
        b = math.max(0, math.min(b, extent - 1))
        e = math.max(-1, math.min(e, extent - 1))
      end
      begin[d], stop[d], step[d] = b, e, s
    end
    return ops.slice(n:x(1), { begin = begin, stop = stop, step = step })
  end
  function of.Pad(n)
    local pads, value, rank = n:values(2), n:value(3), n:rank(1)
    local axes, before, after = n:values(4), {}, {}
    for d = 1, rank do before[d], after[d] = 0, 0 end
    for i = 1, #pads // 2 do
      local d = axes and axes[i] or i - 1
      d = (d < 0 and d + rank or d) + 1
      before[d], after[d] = pads[i], pads[i + #pads // 2]
    end
    return ops.pad(n:x(1), { before = before, after = after, value = value,
                             mode = n:attr("mode", "constant") })
  end
  function of.CenterCropPad(n)
    local to, rank = n.case.outputs[1].shape, n:rank(1)
    local x, before, after, begin, stop = n:x(1), {}, {}, {}, {}
    for d = 1, rank do
      local have, want = n:shape(1)[d], to[d]
      local cut, more = math.max(have - want, 0), math.max(want - have, 0)
      begin[d] = cut // 2
      stop[d] = begin[d] + have - cut
      before[d] = more // 2
      after[d] = more - before[d]
    end
    x = ops.slice(x, { begin = begin, stop = stop })
    return ops.pad(x, { before = before, after = after })
  end
  function of.Trilu(n)
    return ops.trilu(n:x(1), { upper = n:flag("upper", 1),
                               k = n:value(2) or 0 })
  end
  function of.SpaceToDepth(n)
    return ops.space_to_depth(n:x(1), { block = n:attr "blocksize",
                                        mode = n:attr("mode", "DCR") })
  end
  function of.DepthToSpace(n)
    return ops.depth_to_space(n:x(1), { block = n:attr "blocksize",
                                        mode = n:attr("mode", "DCR") })
  end
  function of.ReverseSequence(n)
    return ops.reverse_sequence(n:x(1), n:x(2),
                                { time_axis = n:attr("time_axis", 0),
                                  batch_axis = n:attr("batch_axis", 1) })
  end

  -- ---- tensors from nothing ------------------------------------------------
  function of.Shape(n)
    local s, list = n:shape(1), {}
    local rank = #s
    local from, to = n:attr("start", 0), n:attr("end", rank)
    from = math.max(0, math.min(from < 0 and from + rank or from, rank))
    to = math.max(0, math.min(to < 0 and to + rank or to, rank))
    for d = from + 1, to do list[#list + 1] = s[d] end
    return shape_tensor(list)
  end
  function of.Size(n)
    return made("int64", {}, product(n:shape(1)))
  end
  function of.Constant(n)
    local list, dtype, shape = n:attr_values "value"
    return reshaped(made(dtype, { #list }, list), shape)
  end
  function of.ConstantOfShape(n)
    local list, dtype = n:attr_values "value"
    return ops.constant_of_shape(nil, { shape = n:values(1),
                                        value = list and list[1] or 0,
                                        dtype = dtype or "float32" })
  end
  function of.EyeLike(n)
    local s = n:shape(1)
    return ops.eye(nil, { m = s[1], n = s[2], k = n:attr("k", 0),
                          dtype = n.case.outputs[1].dtype })
  end
  function of.Range(n)
    local dtype = n:dtype(1)
    return ops.range(n:x(1), n:x(3), { n = n.case.outputs[1].shape[1],
                                       dtype = dtype })
  end

  -- ---- by indices ----------------------------------------------------------
  function of.Gather(n)
    return ops.gather(n:x(1), n:x(2), { axis = n:attr("axis", 0) })
  end
  function of.GatherElements(n)
    return ops.gather_elements(n:x(1), n:x(2), { axis = n:attr("axis", 0) })
  end
  function of.GatherND(n)
    return ops.gather_nd(n:x(1), n:x(2),
                         { batch_dims = n:attr("batch_dims", 0) })
  end
  function of.ScatterElements(n)
    return ops.scatter_elements(n:x(1), n:x(2), n:x(3),
      { axis = n:attr("axis", 0), op = n:attr("reduction", "none") })
  end
  of.Scatter = of.ScatterElements
  function of.ScatterND(n)
    return ops.scatter_nd(n:x(1), n:x(2), n:x(3),
                          { op = n:attr("reduction", "none") })
  end
  function of.TensorScatter(n)
    return ops.tensor_scatter(n:x(1), n:x(2), n:x(3),
      { axis = n:attr("axis", -2), circular = n:attr "mode" == "circular" })
  end
  function of.ArrayFeatureExtractor(n)
    return ops.gather(n:x(1), n:x(2), { axis = -1 })
  end
  function of.OneHot(n)
    local values = n:values(3)
    local dtype = n.case.outputs[1].dtype
    local i = n:x(1)
    if i.dtype ~= "int32" and i.dtype ~= "int64" then
      i = ops.cast(i, { to = "int64" })
    end
    local a = n:attr("axis", -1)
    local rank = n:rank(1) + 1
    local y = ops.one_hot(i, { depth = math.tointeger(n:value(2)),
                               off = values[1], on = values[2],
                               dtype = dtype })
    a = a < 0 and a + rank or a
    if a == rank - 1 then return y end
    local perm = {}
    for d = 1, rank do
      perm[d] = d - 1 < a and d - 1 or d - 1 == a and rank - 1 or d - 2
    end
    return ops.transpose(y, { perm = perm })
  end
  function of.TopK(n)
    local k = n:value(2)
    return ops.top_k(n:x(1), { k = k, axis = n:attr("axis", -1),
                               largest = n:flag("largest", 1) })
  end
  function of.NonZero(n)
    local y, count = ops.nonzero(n:x(1))
    return { y, count = count, dim = 2 }
  end
  function of.Compress(n)
    local x, axis = n:x(1), n:attr "axis"
    if not axis then x = reshaped(x, { product(n:shape(1)) }) end
    local y, count = ops.compress(x, n:x(2), { axis = axis or 0 })
    return { y, count = count, dim = (axis or 0) % #x.shape + 1 }
  end
  function of.Unique(n)
    local x, axis = n:x(1), n:attr "axis"
    if not axis then x, axis = reshaped(x, { product(n:shape(1)) }), 0 end
    local y, first, inverse, counts, count =
      ops.unique(x, { axis = axis, sorted = n:flag("sorted", 1) })
    return { y, count = count, dim = axis % #x.shape + 1 },
           { first, count = count }, inverse, { counts, count = count }
  end
  function of.NonMaxSuppression(n)
    local function scalar(i, default)
      return n:has(i) and n:value(i) or default
    end
    local most = scalar(3, 0)
    local y, count = ops.non_max_suppression(n:x(1), n:x(2), {
      most = math.min(most, n:shape(1)[2]), iou = scalar(4, 0.0),
      score = n:has(5) and n:value(5) or nil,
      center = n:attr("center_point_box", 0) ~= 0 })
    return { y, count = count, dim = 1 }
  end
  function of.Einsum(n)
    local list = {}
    for i = 1, #n.case.inputs do list[i] = n:x(i) end
    list[#list + 1] = { equation = n:attr "equation" }
    return ops.einsum(table.unpack(list))
  end
end
