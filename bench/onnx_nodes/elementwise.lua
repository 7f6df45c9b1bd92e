-- SPDX-License-Identifier: Apache-2.0
-- Nodes that compute each element, reductions and norms over axes.
local ops = require "tessera.ops"
local ts = require "tessera"

-- Of one tensor: ONNX's name, ours, and our options by ONNX's attributes.
local unary = {
  Abs = { "abs" }, Neg = { "neg" }, Sign = { "sign" }, Sqrt = { "sqrt" },
  Reciprocal = { "reciprocal" }, Exp = { "exp" }, Log = { "log" },
  Sin = { "sin" }, Cos = { "cos" }, Tan = { "tan" }, Sinh = { "sinh" },
  Cosh = { "cosh" }, Tanh = { "tanh" }, Asin = { "asin" }, Acos = { "acos" },
  Atan = { "atan" }, Asinh = { "asinh" }, Acosh = { "acosh" },
  Atanh = { "atanh" }, Sigmoid = { "sigmoid" }, Erf = { "erf" },
  Floor = { "floor" }, Ceil = { "ceil" }, Round = { "round" },
  Relu = { "relu" }, Softplus = { "softplus" }, Softsign = { "softsign" },
  Mish = { "mish" }, HardSwish = { "hard_swish" }, IsNaN = { "is_nan" },
  BitwiseNot = { "bit_not" }, Not = { "logical_not" },
  Elu = { "elu", { alpha = "alpha" } }, Celu = { "celu", { alpha = "alpha" } },
  LeakyRelu = { "leaky_relu", { alpha = "alpha" } },
  ThresholdedRelu = { "thresholded_relu", { alpha = "alpha" } },
  HardSigmoid = { "hard_sigmoid", { alpha = "alpha", beta = "beta" },
                  { alpha = 0.2, beta = 0.5 } },
  Shrink = { "shrink", { lambd = "lambda", bias = "bias" } },
  Selu = { "selu" },
  Swish = { "swish", { alpha = "alpha" } },
  IsInf = { "is_inf", { detect_negative = "negative",
                        detect_positive = "positive" } },
}

local binary = {
  Add = "add", Sub = "sub", Mul = "mul", Pow = "pow", PRelu = "prelu",
  Equal = "equal", Greater = "greater", GreaterOrEqual = "greater_equal",
  Less = "less", LessOrEqual = "less_equal", And = "logical_and",
  Or = "logical_or", Xor = "logical_xor", BitwiseAnd = "bit_and",
  BitwiseOr = "bit_or", BitwiseXor = "bit_xor",
}

local reduce = {
  ReduceSum = "sum", ReduceMean = "mean", ReduceProd = "prod",
  ReduceMax = "max", ReduceMin = "min", ReduceL1 = "l1", ReduceL2 = "l2",
  ReduceSumSquare = "sum_square", ReduceLogSum = "log_sum",
  ReduceLogSumExp = "log_sum_exp",
}

-- Options of ours by ONNX's attributes.
local function options(n, names, defaults)
  local o = {}
  for key, x in pairs(defaults or {}) do o[key] = x end
  for theirs, ours in pairs(names or {}) do
    local x = n:attr(theirs)
    if x ~= nil then o[ours] = x end
  end
  return o
end

-- All inputs, one after another.
local function folded(name)
  return function(n)
    local y = n:x(1)
    for i = 2, #n.case.inputs do y = ops[name](y, n:x(i)) end
    return y
  end
end

local function constant_of(n, value, dtype)
  return ts.constant("c", ts.tensor(dtype, {}, value))
end

return function(of)
  for theirs, row in pairs(unary) do
    of[theirs] = function(n)
      local o = options(n, row[2], row[3])
      for _, key in ipairs { "negative", "positive" } do
        if o[key] ~= nil then o[key] = o[key] ~= 0 end
      end
      return ops[row[1]](n:x(1), o)
    end
  end
  -- Of other constants: elu and a product.
  function of.Selu(n)
    local x, gamma = n:x(1), n:attr("gamma", 1.05070102214813)
    local y = ops.elu(x, { alpha = n:attr("alpha", 1.67326319217681) })
    return ops.mul(y, constant_of(n, gamma, x.dtype))
  end
  for theirs, ours in pairs(binary) do
    of[theirs] = function(n)
      local x, z = n:x(1), n:x(2)
      if theirs == "Pow" and x.dtype ~= z.dtype then
        return ops.cast(ops.pow(ops.cast(x, { to = "float64" }),
                                ops.cast(z, { to = "float64" })),
                        { to = x.dtype })
      end
      return ops[ours](x, z)
    end
  end
  function of.Div(n)
    return ops.div(n:x(1), n:x(2))
  end
  function of.Mod(n)
    return ops[n:flag "fmod" and "fmod" or "mod"](n:x(1), n:x(2))
  end
  function of.BitShift(n)
    local left = n:attr "direction" == "LEFT"
    return ops[left and "shift_left" or "shift_right"](n:x(1), n:x(2))
  end
  of.Sum, of.Max, of.Min = folded "add", folded "maximum", folded "minimum"
  function of.Mean(n)
    local y = of.Sum(n)
    return ops.div(y, constant_of(n, #n.case.inputs, y.dtype))
  end
  function of.Gelu(n)
    local tanh = n:attr "approximate" == "tanh"
    return ops[tanh and "gelu_tanh" or "gelu"](n:x(1))
  end
  function of.Clip(n)
    local y = n:x(1)
    if n:has(2) then y = ops.maximum(y, n:x(2)) end
    if n:has(3) then y = ops.minimum(y, n:x(3)) end
    return y
  end
  function of.Cast(n)
    -- To integers of few bits floats wrap.
    local packed = n.case.outputs[1].bits
    return ops.cast(n:x(1), { to = packed and "int8" or n:out_dtype() })
  end
  of.CastLike = of.Cast
  function of.BitCast(n)
    return ops.bit_cast(n:x(1), { to = n.case.outputs[1].dtype })
  end
  function of.Identity(n) return n:x(1) end
  function of.Where(n) return ops.where(n:x(1), n:x(2), n:x(3)) end
  function of.Binarizer(n)
    return ops.cast(ops.greater(n:x(1), constant_of(n, n:attr("threshold", 0),
                                                    n:dtype(1))),
                    { to = n:dtype(1) })
  end
  function of.Dropout(n)
    if n:has(3) and n:value(3) and (not n:has(2) or n:value(2) ~= 0) then
      n:refuse "random"
    end
    local x = n:x(1)
    return x, ops.constant_of_shape(nil, { shape = n:shape(1), value = 1,
                                           dtype = "bool" })
  end

  -- ---- reductions ----------------------------------------------------------
  for theirs, ours in pairs(reduce) do
    of[theirs] = function(n)
      local axes = n:has(2) and n:values(2) or n:attr "axes"
      if axes and #axes == 0 then axes = nil end
      if not axes and n:flag "noop_with_empty_axes" then
        return ops.reduce(n:x(1), { op = ours, axes = {} })
      end
      return ops.reduce(n:x(1), { op = ours, axes = axes,
                                  keep = n:flag("keepdims", 1) })
    end
  end
  for theirs, ours in pairs { ArgMax = "arg_max", ArgMin = "arg_min" } do
    of[theirs] = function(n)
      return (ops[ours](n:x(1), { axis = n:attr("axis", 0),
                                  keep = n:flag("keepdims", 1),
                                  last = n:flag "select_last_index" }))
    end
  end
  for theirs, ours in pairs { CumSum = "cumsum", CumProd = "cumprod" } do
    of[theirs] = function(n)
      return ops[ours](n:x(1), { axis = n:value(2),
                                 exclusive = n:flag "exclusive",
                                 reverse = n:flag "reverse" })
    end
  end
  local function axis_of(n)
    return n:attr("axis", n.case.opset >= 13 and -1 or 1)
  end
  function of.Softmax(n) return ops.softmax(n:x(1), { axis = axis_of(n) }) end
  function of.LogSoftmax(n)
    return ops.log_softmax(n:x(1), { axis = axis_of(n) })
  end
  function of.Hardmax(n) return ops.hardmax(n:x(1), { axis = axis_of(n) }) end
  function of.LpNormalization(n)
    return ops.lp_norm(n:x(1), { axis = n:attr("axis", -1),
                                 p = n:attr("p", 2) })
  end
  function of.MeanVarianceNormalization(n)
    return ops.mean_variance_norm(n:x(1), { axes = n:attr("axes",
                                                          { 0, 2, 3 }) })
  end
end
