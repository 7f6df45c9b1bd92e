-- SPDX-License-Identifier: Apache-2.0
-- ONNX's operators that make tensors, of nothing or of a shape.
local node = require "tessera.graph.onnx.node"

return function(of)
  function of.Shape(n)
    local s, list = n:shape(1), {}
    local rank = #s
    local from, to = n:attr("start", 0), n:attr("end", rank)
    from = math.max(0, math.min(from < 0 and from + rank or from, rank))
    to = math.max(0, math.min(to < 0 and to + rank or to, rank))
    for d = from + 1, to do list[#list + 1] = s[d] end
    return n:list(list)
  end
  function of.Size(n)
    return n:constant("int64", {}, node.product(n:shape(1)))
  end
  function of.Constant(n)
    local c = n:attr_constant "value"
    if c then return c end
    for _, name in ipairs { "value_float", "value_floats", "value_int",
                            "value_ints" } do
      local x = n:attr(name)
      if x ~= nil then
        local dtype = name:find "float" and "float32" or "int64"
        local shape = type(x) == "table" and { #x } or {}
        return n:constant(dtype, shape, x)
      end
    end
    n:refuse "its value is no tensor of numbers"
  end
  function of.ConstantOfShape(n)
    local t, shape = n:attr_tensor "value", n:values(1)
    local dtype = t and t:dtype() or "float32"
    if node.product(shape) == 0 then return n:constant(dtype, shape, {}) end
    return n.ops.constant_of_shape(nil, {
      shape = shape, dtype = dtype,
      value = t and t:get(table.unpack(node.filled(#t:shape(), 0))) or 0 })
  end
  function of.EyeLike(n)
    local x = n:needs(1)
    return n.ops.eye(nil, { m = x.shape[1], n = x.shape[2], k = n:attr("k", 0),
                            dtype = n:attr_dtype("dtype", x.dtype) })
  end
  function of.Range(n)
    local from, to, by = n:value(1), n:value(2), n:value(3)
    local count = math.max(math.ceil((to - from) / by), 0)
    return n.ops.range(n:x(1), n:x(3), { n = math.tointeger(count),
                                         dtype = n:dtype(1) })
  end
  function of.OneHot(n)
    local ops, i, values = n.ops, n:needs(1), n:values(3)
    local rank = #i.shape + 1
    if i.dtype ~= "int32" and i.dtype ~= "int64" then
      i = ops.cast(i, { to = "int64" })
    end
    local a = n:axis(n:attr("axis", -1), rank)
    local y = ops.one_hot(i, { depth = math.tointeger(n:value(2)),
                               off = values[1], on = values[2],
                               dtype = n:dtype(3) })
    if a == rank - 1 then return y end
    local perm = {}
    for d = 1, rank do
      perm[d] = d - 1 < a and d - 1 or d - 1 == a and rank - 1 or d - 2
    end
    return ops.transpose(y, { perm = perm })
  end
  local function window(coefficients)
    return function(n)
      return n.ops.cosine_window(nil, {
        n = n:value(1), periodic = n:flag("periodic", 1),
        coefficients = coefficients })
    end
  end
  of.HannWindow = window { 0.5, 0.5, 0.0 }
  of.HammingWindow = window { 25 / 46, 21 / 46, 0.0 }
  of.BlackmanWindow = window { 0.42, 0.5, 0.08 }
end
