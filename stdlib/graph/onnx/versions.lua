-- SPDX-License-Identifier: Apache-2.0
-- Versions of ONNX's operators and numbers of its types.
local versions = {}

-- The version of the operator set in which the operator of set 7 began, of
-- those that were others before: what ended before set 7 is refused.
local since = {}
for version, names in pairs {
  [2] = "GlobalLpPool LpPool Pad Split",
  [4] = "Concat",
  [5] = "Reshape",
  [6] = "Abs Cast Ceil Clip Elu Exp Floor HardSigmoid InstanceNormalization " ..
        "LeakyRelu Log Max Mean Min Neg Reciprocal Relu Selu Sigmoid Sqrt " ..
        "Sum Tanh Tile",
  [7] = "Acos Add And Asin Atan AveragePool BatchNormalization Cos Div " ..
        "Dropout Equal GRU Gemm Greater LSTM Less Mul Multinomial Or PRelu " ..
        "Pow RNN Sin Sub Tan Upsample Xor",
} do
  for name in names:gmatch "%S+" do since[name] = version end
end

-- The newest operator set that is known here.
versions.newest = 28

-- Why an operator is not supported in that version of its set; nil: it is.
function versions.refusal(op, opset)
  if opset < 1 then return "the file does not say its operator set" end
  if opset > versions.newest then
    return ("operator set %d is newer than %d, the newest known here"):format(
      opset, versions.newest)
  end
  if opset < (since[op] or 1) then
    return ("%s of operator set %d ended before set 7"):format(op, opset)
  end
end

local dtypes = {
  "float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "string",
  "bool", "float16", "float64", "uint32", "uint64", "complex64", "complex128",
  "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
  "float8e5m2fnuz", "uint4", "int4", "float4e2m1", "float8e8m0", "uint2",
  "int2", "float6e2m3", "float6e3m2",
}
local none = {}
for name in ("string complex64 complex128 float8e4m3fn float8e4m3fnuz " ..
             "float8e5m2 float8e5m2fnuz float4e2m1 float8e8m0 float6e2m3 " ..
             "float6e3m2"):gmatch "%S+" do
  none[name] = true
end

-- The type of a TensorProto.DataType, "int4" and the like, too; nil and its
-- name where there is none.
function versions.dtype(number)
  local name = dtypes[number]
  if not name or none[name] then
    return nil, name or "type " .. tostring(number)
  end
  return name
end

return versions
