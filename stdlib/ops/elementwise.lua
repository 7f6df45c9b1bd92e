-- SPDX-License-Identifier: Apache-2.0
-- Functions of each element of a tensor, or of those of two.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local list_of, number, tensor = declare.list_of, declare.number, declare.tensor

local shape = list_of("shape", 1, "the shape of X and Y")
local X = tensor("X", { "shape..." })

-- What the inputs of an example hold where small integers show nothing.
local inputs_of = {
  is_nan = { X = "{ 1, 0 / 0, 2, -1 }" },
  is_inf = { X = "{ 1, 1 / 0, 2, -1 }" },
  mod = { Z = "{ 3, -3 }" }, fmod = { Z = "{ 3, -3 }" },
  floor_div = { Z = "{ 3, -3 }" },
  div = { Z = "{ 2, -4 }" }, pow = { Z = "{ 2, 0.5 }" },
}

-- ---- of one tensor ---------------------------------------------------------

-- name, class of types, what Y is, the function of an element and the options;
-- the last the type of Y, where that is another one.
local function unary(name, class, text, f, more, out)
  local row = { shape, table.unpack(more or {}) }
  row[#row + 1] = declare.dtype(class, class == "integer" and "int32" or nil)
  declare.operator {
    name = name,
    summary = ("Y = %s, of each element."):format(text),
    says = ("Y = %s\nX and Y are of `shape`%s."):format(text,
             out and "; Y is " .. out or ""),
    options = row,
    example = "{ shape = { 4 } }",
    inputs = inputs_of[name],
    tensors = { X },
    symbolic = true,
    apply = function(o, x)
      return kit.map("Y", o.shape, function(...)
        return f(x(...), o, o.dtype)
      end)
    end,
  }
end

-- A function of several steps, which floats of 16 bits take in float32.
local function smooth(name, text, f, more)
  unary(name, "float", text, kit.in_steps(f), more)
end

local function sign(x, _, dtype)
  local one = ts.const(1, dtype)
  local below = dtype:find "^u" and x or ts.select(ts.lt(x, 0), -one, x)
  return ts.select(ts.gt(x, 0), one, below)
end

-- log(1 + e^x) without overflow: of e^-|x| at most 1.
local function softplus(x)
  return ts.max(x, 0) + ts.log1p(ts.exp(-ts.abs(x)))
end

-- alpha (x + beta / alpha), which keeps its digits where it is nearly 0.
local function hard_sigmoid(x, o)
  local alpha, beta = o.alpha or 1 / 6, o.beta or 0.5
  local line = (x + beta / alpha) * alpha
  if alpha == 0 then line = x * 0 + beta end
  return ts.min(ts.max(line, 0), 1)
end

-- The fixed point of "self-normalizing" layers (Klambauer et al., 2017).
local selu_alpha, selu_scale = 1.6732632423543772, 1.0507009873554805

unary("abs", "number", "|X|", ts.abs)
unary("neg", "number", "-X", function(x) return -x end)
unary("sign", "number", "1, 0 or -1 as X is above, at or below 0", sign)
unary("square", "number", "X^2", function(x) return x * x end)
unary("reciprocal", "float", "1 / X", function(x) return 1 / x end)
unary("sqrt", "float", "the square root of X", ts.sqrt)
unary("rsqrt", "float", "1 / sqrt(X)", ts.rsqrt)
unary("exp", "float", "e^X", ts.exp)
unary("expm1", "float", "e^X - 1, with the digits of small X", ts.expm1)
unary("log", "float", "the natural logarithm of X", ts.log)
unary("log1p", "float", "log(1 + X), with the digits of small X", ts.log1p)
unary("sin", "float", "sin X, X in radians", ts.sin)
unary("cos", "float", "cos X, X in radians", ts.cos)
unary("tan", "float", "tan X, X in radians", ts.tan)
unary("asin", "float", "the angle in radians whose sine is X", ts.asin)
unary("acos", "float", "the angle in radians whose cosine is X", ts.acos)
unary("atan", "float", "the angle in radians whose tangent is X", ts.atan)
unary("sinh", "float", "(e^X - e^-X) / 2", ts.sinh)
unary("cosh", "float", "(e^X + e^-X) / 2", ts.cosh)
unary("tanh", "float", "the hyperbolic tangent of X", ts.tanh)
unary("asinh", "float", "what sinh makes X", ts.asinh)
unary("acosh", "float", "what, not below 0, cosh makes X", ts.acosh)
unary("atanh", "float", "what tanh makes X", ts.atanh)
unary("sigmoid", "float", "1 / (1 + e^-X)", ts.sigmoid)
unary("erf", "float", "the error function of X", ts.erf)
unary("erfc", "float", "1 - erf(X), with the digits where that is small",
      ts.erfc)
unary("floor", "float", "the greatest integer not above X", ts.floor)
unary("ceil", "float", "the least integer not below X", ts.ceil)
unary("round", "float", "the nearest integer to X, halves to even", ts.round)
unary("relu", "number", "max(X, 0)", kit.activation.relu)
unary("gelu", "float", "X (1 + erf(X / sqrt 2)) / 2", kit.activation.gelu)
unary("gelu_tanh", "float",
      "X (1 + tanh(sqrt(2 / pi) (X + 0.044715 X^3))) / 2",
      kit.activation.gelu_tanh)
unary("silu", "float", "X / (1 + e^-X)", kit.activation.silu)
smooth("softplus", "log(1 + e^X)", softplus)
smooth("mish", "X tanh(log(1 + e^X))",
       function(x) return x * ts.tanh(softplus(x)) end)
smooth("hard_sigmoid", "alpha X + beta, between 0 and 1", hard_sigmoid,
       { number("alpha", "the slope", "1/6"),
         number("beta", "what X = 0 becomes", "0.5") })
smooth("hard_swish", "X times X / 6 + 1/2, that between 0 and 1",
       function(x) return x * hard_sigmoid(x, {}) end)
smooth("softsign", "X / (1 + |X|)",
       function(x) return x / (ts.abs(x) + 1) end)
smooth("leaky_relu", "X, but alpha X below 0", function(x, o)
  return ts.select(ts.lt(x, 0), x * (o.alpha or 0.01), x)
end, { number("alpha", "the slope below 0", "0.01") })
smooth("elu", "X, but alpha (e^X - 1) below 0", function(x, o)
  return ts.select(ts.lt(x, 0), ts.expm1(x) * (o.alpha or 1), x)
end, { number("alpha", "minus the least value", "1") })
smooth("celu", "max(X, 0) + min(alpha (e^(X / alpha) - 1), 0)",
       function(x, o)
         local alpha = o.alpha or 1
         if alpha == 0 then declare.wrong(o.name, "'alpha' is 0") end
         return ts.max(x, 0) +
                ts.min(ts.expm1(ts.min(x * (1 / alpha), 0)) * alpha, 0)
       end, { number("alpha", "minus the least value, not 0", "1") })
smooth("selu", "scale max(X, 0) + scale alpha min(e^X - 1, 0), " ..
       "alpha 1.67326.., scale 1.05070..", function(x)
  return ts.select(ts.lt(x, 0), ts.expm1(x) * (selu_alpha * selu_scale),
                   x * selu_scale)
end)
unary("thresholded_relu", "float", "X above alpha, else 0", function(x, o)
  return ts.select(ts.gt(x, o.alpha or 1), x, 0)
end, { number("alpha", "the threshold", "1") })
smooth("shrink", "X + bias below -lambda, X - bias above lambda, else 0",
       function(x, o)
         local lambda, bias = o.lambda or 0.5, o.bias or 0
         local low = ts.select(ts.lt(x, -lambda), x + bias, 0)
         return ts.select(ts.gt(x, lambda), x - bias, low)
       end,
       { number("lambda", "how far from 0 values become 0", "0.5"),
         number("bias", "how much nearer to 0 the others come", "0") })
unary("clamp", "number", "X, but at least `low` and at most `high`",
      function(x, o)
        local low, high = o.low or 0, o.high or 1
        if low > high then
          declare.wrong(o.name, "'low' is %s, more than 'high', %s", low, high)
        end
        return ts.clamp(x, kit.constant(o, "low", 0),
                        kit.constant(o, "high", 1))
      end,
      { number("low", "the least value", "0"),
        number("high", "the greatest value", "1") })
unary("is_nan", "float", "whether X is not a number",
      function(x) return ts.ne(x, x) end, nil, "bool")
unary("is_inf", "float", "whether X is infinite", function(x, o)
  if o.positive and o.negative then return ts.eq(ts.abs(x), math.huge) end
  if o.positive == o.negative then return ts.const(false, "bool") end
  return ts.eq(x, o.positive and math.huge or -math.huge)
end, { { name = "positive", type = "boolean", default = "true",
         help = "whether infinity counts" },
       { name = "negative", type = "boolean", default = "true",
         help = "whether minus infinity counts" } }, "bool")
unary("bit_not", "integer", "the bits that X has not", ts.bitnot)

declare.operator {
  name = "cast",
  summary = "Each element as another type.",
  says = "Y = X as `to`\nintegers saturate, fractions are cut off.",
  options = { shape, declare.dtype("any", "float32", "the type of X"),
              declare.dtype("any", "float32", "the type of Y", "to") },
  example = "{ shape = { 4 }, to = \"int8\" }",
  tensors = { X },
  symbolic = true,
  apply = function(o, x)
    return kit.map("Y", o.shape, function(...) return ts.cast(x(...), o.to) end)
  end,
}

-- Bool is a byte that is 0 or 1.
declare.operator {
  name = "bit_cast",
  summary = "The bits of each element as a number of another type.",
  says = "Y = the bits of X as `to`, a type of as many bits\nbool is a " ..
         "byte: 0 or 1; as bool a byte is whether it is not 0.",
  options = { shape, declare.dtype("any", "float32", "the type of X"),
              declare.dtype("any", "int32", "the type of Y", "to") },
  example = "{ shape = { 4 } }",
  tensors = { X },
  symbolic = true,
  check = function(o)
    local function bits(x) return x == "bool" and "8" or x:match "%d+$" end
    if bits(o.dtype) ~= bits(o.to) then
      declare.wrong(o.name, "%s and %s have not as many bits", o.dtype, o.to)
    end
  end,
  apply = function(o, x)
    return kit.map("Y", o.shape, function(...)
      local y, from = x(...), o.dtype
      if from == o.to then return y end
      if from == "bool" then y, from = ts.cast(y, "uint8"), "uint8" end
      if o.to == "bool" then return ts.ne(y, ts.const(0, from)) end
      return from == o.to and y or ts.bit_cast(y, o.to)
    end)
  end,
}

declare.operator {
  name = "logical_not",
  summary = "Y = not X, of each element.",
  says = "Y = not X\nX and Y are bool, of `shape`.",
  options = { shape },
  example = "{ shape = { 4 } }",
  tensors = { tensor("X", { "shape..." }, { type = "bool" }) },
  symbolic = true,
  apply = function(o, x)
    return kit.map("Y", o.shape, function(...) return ts.lnot(x(...)) end)
  end,
}

-- ---- of two tensors --------------------------------------------------------

-- The second is of the first one's shape where no other is given.
local function z_shape_of(o)
  return { o.z_shape and "z_shape..." or "shape..." }
end

local function binary(name, class, text, f, out)
  local default = class == "integer" and "int32" or
                  class == "bool" and "bool" or nil
  local row = {
    list_of("shape", 1, "the shape of X"),
    list_of("z_shape", 1, "the shape of Z", "shape"),
  }
  if class ~= "bool" then
    row[3] = declare.dtype(class, default, "the type of X and Z")
  end
  local of = { type = class == "bool" and "bool" or nil }
  declare.operator {
    name = name,
    infer = function(o, tensors) o.z_shape = tensors.Z.shape end,
    summary = ("Y = %s, of each pair of elements."):format(text),
    says = ("Y = %s\nX of `shape` and Z of `z_shape` are broadcast to one " ..
            "shape, as by ops.broadcast%s."):format(text,
             out and "; Y is " .. out or ""),
    options = row,
    example = "{ shape = { 2, 2 }, z_shape = { 2 } }",
    inputs = inputs_of[name],
    tensors = { tensor("X", { "shape..." }, of),
                tensor("Z", z_shape_of, of) },
    symbolic = true,
    apply = function(o, x, z)
      local z_shape = o.z_shape or o.shape
      local to = kit.common(o, o.shape, z_shape, "shape", "z_shape")
      return kit.map("Y", to, function(...)
        local at = { ... }
        return f(x(kit.broadcast(o.shape, to, at)),
                 z(kit.broadcast(z_shape, to, at)))
      end)
    end,
  }
end

binary("add", "number", "X + Z", function(x, z) return x + z end)
binary("sub", "number", "X - Z", function(x, z) return x - z end)
binary("mul", "number", "X * Z", function(x, z) return x * z end)
-- Of integers cut off: rounded towards 0.
local function quotient(x, z)
  if declare.is(x:dtype(), "float") then return x / z end
  local q, r = x // z, x % z
  if x:dtype():find "^u" then return q end
  local up = ts.all(ts.ne(r, 0), ts.ne(z, 0), ts.ne(ts.lt(x, 0), ts.lt(z, 0)))
  return ts.select(up, q + 1, q)
end

binary("div", "number", "X / Z; of integers cut off, by 0 it is 0", quotient)
binary("floor_div", "number", "X / Z, rounded down; integers by 0 give 0",
       function(x, z) return x // z end)
binary("mod", "number",
       "X - Z floor(X / Z), of Z's sign; integers by 0 give 0",
       function(x, z) return x % z end)
-- Of floats |X| % |Z| is exact, and 0 has X's sign; |X| of the least integer is
-- none of its type.
local function remainder(x, z)
  local dtype = x:dtype()
  if declare.is(dtype, "float") then
    local r = ts.abs(x) % ts.abs(z)
    return ts.select(ts.lt(x, 0), -r, ts.select(ts.eq(x, 0), x - r, r))
  end
  local r = x % z
  if dtype:find "^u" then return r end
  return ts.select(ts.all(ts.ne(r, 0), ts.ne(ts.lt(x, 0), ts.lt(z, 0))), r - z,
                   r)
end

binary("fmod", "number",
       "X - Z trunc(X / Z), of X's sign; integers by 0 give 0", remainder)
-- Of integers in float64, whose powers of whole numbers are exact up to 2^53.
local function power(x, z)
  local dtype = x:dtype()
  if declare.is(dtype, "float") then return ts.pow(x, z) end
  return ts.cast(ts.pow(ts.cast(x, "float64"), ts.cast(z, "float64")), dtype)
end

binary("pow", "number", "X to the power of Z; of integers cut off, exact up " ..
       "to 2^53", power)
binary("minimum", "number", "the lesser of X and Z", ts.min)
binary("maximum", "number", "the greater of X and Z", ts.max)
binary("prelu", "float", "X, but Z X below 0", function(x, z)
  return ts.select(ts.lt(x, 0), x * z, x)
end)
binary("equal", "any", "whether X is Z", ts.eq, "bool")
binary("not_equal", "any", "whether X is not Z", ts.ne, "bool")
binary("less", "number", "whether X < Z", ts.lt, "bool")
binary("less_equal", "number", "whether X <= Z", ts.le, "bool")
binary("greater", "number", "whether X > Z", ts.gt, "bool")
binary("greater_equal", "number", "whether X >= Z", ts.ge, "bool")
binary("logical_and", "bool", "X and Z", ts.all)
binary("logical_or", "bool", "X or Z", ts.any)
binary("logical_xor", "bool", "X or Z, but not both", ts.ne)
binary("bit_and", "integer", "the bits that X and Z have", ts.bitand)
binary("bit_or", "integer", "the bits that X or Z has", ts.bitor)
binary("bit_xor", "integer", "the bits that one of X and Z has", ts.bitxor)
binary("shift_left", "integer", "X 2^Z, wrapping; 0 where Z is not in 0 .. " ..
       "bits - 1", ts.shl)
binary("shift_right", "integer", "X / 2^Z, rounded down; where Z is not in " ..
       "0 .. bits - 1, 0 or -1, as X's sign is", ts.shr)
