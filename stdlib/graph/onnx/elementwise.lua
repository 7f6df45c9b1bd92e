-- SPDX-License-Identifier: Apache-2.0
-- ONNX's operators of each element, and conversions.
local packed = require "tessera.graph.onnx.packed"

-- Of one tensor: our name, and our options by ONNX's attributes.
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
  Swish = { "swish", { alpha = "alpha" } },
  IsInf = { "is_inf", { detect_negative = "negative",
                        detect_positive = "positive" } },
}

local binary = {
  Add = "add", Sub = "sub", Mul = "mul", Div = "div", PRelu = "prelu",
  Equal = "equal", Greater = "greater", GreaterOrEqual = "greater_equal",
  Less = "less", LessOrEqual = "less_equal", And = "logical_and",
  Or = "logical_or", Xor = "logical_xor", BitwiseAnd = "bit_and",
  BitwiseOr = "bit_or", BitwiseXor = "bit_xor",
}

-- Our options by ONNX's attributes.
local function options(n, names, defaults)
  local o = {}
  for key, x in pairs(defaults or {}) do o[key] = x end
  for theirs, ours in pairs(names or {}) do
    local x = n:attr(theirs)
    if x ~= nil then o[ours] = x end
  end
  for _, key in ipairs { "negative", "positive" } do
    if o[key] ~= nil then o[key] = o[key] ~= 0 end
  end
  return o
end

-- All inputs, one after another.
local function folded(name)
  return function(n)
    local y = n:needs(1)
    for i = 2, n:nin() do y = n.ops[name](y, n:needs(i)) end
    return y
  end
end

return function(of)
  for theirs, row in pairs(unary) do
    of[theirs] = function(n)
      return n.ops[row[1]](n:needs(1), options(n, row[2], row[3]))
    end
  end
  for theirs, ours in pairs(binary) do
    of[theirs] = function(n) return n.ops[ours](n:needs(1), n:needs(2)) end
  end
  -- Of other constants: elu and a product.
  function of.Selu(n)
    local x, gamma = n:needs(1), n:attr("gamma", 1.05070102214813)
    local y = n.ops.elu(x, { alpha = n:attr("alpha", 1.67326319217681) })
    return n.ops.mul(y, n:constant(x.dtype, {}, gamma))
  end
  -- Of other types than floats of one type by that of float64, which is exact
  -- below 2^53.
  function of.Pow(n)
    local ops, x, z = n.ops, n:needs(1), n:needs(2)
    if x.dtype == z.dtype and x.dtype:find "float" then return ops.pow(x, z) end
    local y = ops.pow(ops.cast(x, { to = "float64" }),
                      ops.cast(z, { to = "float64" }))
    return ops.cast(y, { to = x.dtype })
  end
  function of.Mod(n)
    return n.ops[n:flag "fmod" and "fmod" or "mod"](n:needs(1), n:needs(2))
  end
  function of.BitShift(n)
    local left = n:must "direction" == "LEFT"
    return n.ops[left and "shift_left" or "shift_right"](n:needs(1),
                                                         n:needs(2))
  end
  of.Sum, of.Max, of.Min = folded "add", folded "maximum", folded "minimum"
  function of.Mean(n)
    local y = of.Sum(n)
    return n.ops.div(y, n:constant(y.dtype, {}, n:nin()))
  end
  function of.Gelu(n)
    local tanh = n:attr "approximate" == "tanh"
    return n.ops[tanh and "gelu_tanh" or "gelu"](n:needs(1))
  end
  -- Bounds were attributes until set 11.
  function of.Clip(n)
    local y = n:needs(1)
    local least, most = n:x(2), n:x(3)
    if n.opset < 11 then
      least = n:attr "min" and n:constant(y.dtype, {}, n:attr "min")
      most = n:attr "max" and n:constant(y.dtype, {}, n:attr "max")
    end
    if least then y = n.ops.maximum(y, least) end
    if most then y = n.ops.minimum(y, most) end
    return y
  end
  -- Integers of few bits are the lowest bits of others.
  local function cast(n, type)
    local x, few = n:needs(1), packed.of(type)
    if n:type(1) == type then return x end
    local y = n.ops.cast(x, { to = few and "int8" or type })
    return few and packed.narrow(n.import, y, type) or y
  end
  function of.Cast(n) return cast(n, n:attr_type "to") end
  function of.CastLike(n) return cast(n, n:type(2)) end
  function of.BitCast(n)
    return n.ops.bit_cast(n:needs(1), { to = n:attr_dtype "to" })
  end
  function of.Identity(n) return n:needs(1) end
  function of.Where(n)
    return n.ops.where(n:needs(1), n:needs(2), n:needs(3))
  end
  function of.Binarizer(n)
    local x = n:needs(1)
    local above = n.ops.greater(x, n:constant(x.dtype, {},
                                              n:attr("threshold", 0)))
    return n.ops.cast(above, { to = x.dtype })
  end
  -- Training was said by an input from set 12 on, before by nothing.
  function of.Dropout(n)
    if n:has(3) and n:value(3) and (not n:has(2) or n:value(2) ~= 0) then
      n:refuse "random elements are dropped"
    end
    local x = n:needs(1)
    return x, n:wants(2) and n.ops.constant_of_shape(nil, {
      shape = x.shape, value = 1, dtype = n.opset < 10 and x.dtype or "bool" })
  end
end
