-- SPDX-License-Identifier: Apache-2.0
-- ONNX's reductions, and norms over axes.
local node = require "tessera.graph.onnx.node"

local reduce = {
  ReduceSum = "sum", ReduceMean = "mean", ReduceProd = "prod",
  ReduceMax = "max", ReduceMin = "min", ReduceL1 = "l1", ReduceL2 = "l2",
  ReduceSumSquare = "sum_square", ReduceLogSum = "log_sum",
  ReduceLogSumExp = "log_sum_exp",
}

return function(of)
  -- Axes were an attribute until set 13 (of sums) or 18.
  for theirs, ours in pairs(reduce) do
    of[theirs] = function(n)
      local axes = n:attr "axes" or n:values(2)
      if axes and #axes == 0 then axes = nil end
      if not axes and n:flag "noop_with_empty_axes" then
        return n.ops.reduce(n:needs(1), { op = ours, axes = {} })
      end
      return n.ops.reduce(n:needs(1), { op = ours, axes = axes,
                                        keep = n:flag("keepdims", 1) })
    end
  end
  for theirs, ours in pairs { ArgMax = "arg_max", ArgMin = "arg_min" } do
    of[theirs] = function(n)
      return (n.ops[ours](n:needs(1), { axis = n:attr("axis", 0),
                                        keep = n:flag("keepdims", 1),
                                        last = n:flag "select_last_index" }))
    end
  end
  for theirs, ours in pairs { CumSum = "cumsum", CumProd = "cumprod" } do
    of[theirs] = function(n)
      return n.ops[ours](n:needs(1), { axis = n:value(2),
                                       exclusive = n:flag "exclusive",
                                       reverse = n:flag "reverse" })
    end
  end
  -- Until set 13 the dimensions from the axis on were one.
  for theirs, ours in pairs { Softmax = "softmax", LogSoftmax = "log_softmax",
                              Hardmax = "hardmax" } do
    of[theirs] = function(n)
      local x = n:needs(1)
      local rank = #x.shape
      local axis = n:axis(n:attr("axis", n.opset >= 13 and -1 or 1), rank)
      if n.opset >= 13 or axis == rank - 1 then
        return n.ops[ours](x, { axis = axis })
      end
      local flat = n:reshape(x, { node.product(x.shape, 1, axis),
                                  node.product(x.shape, axis + 1) })
      return n:reshape(n.ops[ours](flat, { axis = -1 }), x.shape)
    end
  end
  function of.LpNormalization(n)
    return n.ops.lp_norm(n:needs(1), { axis = n:attr("axis", -1),
                                       p = n:attr("p", 2) })
  end
  function of.MeanVarianceNormalization(n)
    return n.ops.mean_variance_norm(n:needs(1), {
      axes = n:attr("axes", { 0, 2, 3 }) })
  end
end
