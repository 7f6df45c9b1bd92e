-- SPDX-License-Identifier: Apache-2.0
-- ONNX's operators that choose elements by indices, by order or by conditions.
-- Results whose extent the data decides are { value, count =, dim = }: `count`
-- is the value that says how many there are along dimension `dim`, from 1.
local node = require "tessera.graph.onnx.node"

return function(of)
  function of.Gather(n)
    return n.ops.gather(n:needs(1), n:needs(2), { axis = n:attr("axis", 0) })
  end
  function of.GatherElements(n)
    return n.ops.gather_elements(n:needs(1), n:needs(2),
                                 { axis = n:attr("axis", 0) })
  end
  function of.GatherND(n)
    return n.ops.gather_nd(n:needs(1), n:needs(2),
                           { batch_dims = n:attr("batch_dims", 0) })
  end
  function of.ScatterElements(n)
    return n.ops.scatter_elements(n:needs(1), n:needs(2), n:needs(3),
      { axis = n:attr("axis", 0), op = n:attr("reduction", "none") })
  end
  of.Scatter = of.ScatterElements
  function of.ScatterND(n)
    return n.ops.scatter_nd(n:needs(1), n:needs(2), n:needs(3),
                            { op = n:attr("reduction", "none") })
  end
  function of.TensorScatter(n)
    return n.ops.tensor_scatter(n:needs(1), n:needs(2), n:x(3),
      { axis = n:attr("axis", -2), circular = n:attr "mode" == "circular" })
  end
  function of.ArrayFeatureExtractor(n)
    return n.ops.gather(n:needs(1), n:needs(2), { axis = -1 })
  end
  -- How many was an attribute until set 10.
  function of.TopK(n)
    local k = n.opset < 10 and n:must "k" or n:value(2)
    return n.ops.top_k(n:needs(1), { k = k, axis = n:attr("axis", -1),
                                     largest = n:flag("largest", 1) })
  end
  function of.NonZero(n)
    local y, count = n.ops.nonzero(n:needs(1))
    return { y, count = count, dim = 2 }
  end
  function of.Compress(n)
    local x, axis = n:needs(1), n:attr "axis"
    if not axis then x = n:reshape(x, { node.product(x.shape) }) end
    local y, count = n.ops.compress(x, n:needs(2), { axis = axis or 0 })
    return { y, count = count, dim = (axis or 0) % #x.shape + 1 }
  end
  function of.Unique(n)
    local x, axis = n:needs(1), n:attr "axis"
    if not axis then
      x, axis = n:reshape(x, { node.product(x.shape) }), 0
    end
    local y, first, inverse, counts, count =
      n.ops.unique(x, { axis = axis, sorted = n:flag("sorted", 1) })
    return { y, count = count, dim = axis % #x.shape + 1 },
           { first, count = count, dim = 1 }, inverse,
           { counts, count = count, dim = 1 }
  end
  function of.NonMaxSuppression(n)
    local function scalar(i, default)
      return n:has(i) and n:value(i) or default
    end
    local y, count = n.ops.non_max_suppression(n:needs(1), n:needs(2), {
      most = math.min(scalar(3, 0), n:shape(1)[2]), iou = scalar(4, 0.0),
      score = n:has(5) and n:value(5) or nil,
      center = n:attr("center_point_box", 0) ~= 0 })
    return { y, count = count, dim = 1 }
  end
end
