-- SPDX-License-Identifier: Apache-2.0
-- How far operators of several steps are from what they say: of 16 bits half of
-- the last digit, for all arguments; of float32 what docs/operators.md says,
-- for samples of all magnitudes.  Against float64.
local ts, ops = require "tessera", require "tessera.ops"

-- Digits of the significand, the exponent of the least number, or, of float32,
-- of 128 of them, and the greatest number.
local formats = { float16 = { 11, -24, 65504 },
                  bfloat16 = { 8, -133, 0x1.fep127 },
                  float32 = { 24, -149 + 7, 0x1.fffffep127 } }

local function exponent_of(x)
  local e = math.floor(math.log(x, 2))
  if 2.0 ^ (e + 1) <= x then return e + 1 end
  return 2.0 ^ e > x and e - 1 or e
end

-- Distance in units of the last place of x, a result of float64.
local function ulp(dtype, got, x)
  local digits, least, most = table.unpack(formats[dtype])
  if got == x or got ~= got and x ~= x then return 0 end
  if math.abs(got) == math.huge then got = got < 0 and -2 * most or 2 * most end
  if math.abs(x) > most and math.abs(got) > most then return 0 end
  local e = x == 0 and least or exponent_of(math.abs(x)) - digits + 1
  return math.abs(got - x) / 2.0 ^ math.max(e, least)
end

-- float32's bounds; gelu's grow with X^2, that of gelu_tanh with |X|^3.
local function constant(bound) return function() return bound end end
local rows = {
  { "elu", constant(1) }, { "selu", constant(2) }, { "celu", constant(2.5) },
  { "celu", constant(2.5), { alpha = 3 } },
  { "softplus", constant(1.7) }, { "mish", constant(3) },
  { "silu", constant(3) }, { "softsign", constant(1.5) },
  { "hard_sigmoid", constant(1.5) }, { "hard_swish", constant(2.5) },
  { "leaky_relu", constant(1) }, { "shrink", constant(0.51) },
  { "gelu", function(x) return 5 + 1.5 * x * x end },
  { "gelu_tanh", function(x) return 3 + 2 * math.abs(x) ^ 3 end },
}

-- Bits of a 16-bit type that are a number, as that.
local function value16(dtype, bits)
  local sign = bits >= 0x8000 and -1.0 or 1.0
  local width = dtype == "float16" and 10 or 7
  local e = (bits & 0x7fff) >> width
  local f = bits & (1 << width) - 1
  local top = dtype == "float16" and 31 or 255
  local bias = dtype == "float16" and 15 or 127
  if e == top then return f == 0 and sign * math.huge or nil end
  if e == 0 then return sign * f * 2.0 ^ (1 - bias - width) end
  return sign * (f + (1 << width)) * 2.0 ^ (e - bias - width)
end

local function all_of(dtype)
  local list = {}
  for bits = 0, 65535 do list[#list + 1] = value16(dtype, bits) end
  return list
end

-- Of each sign, of all magnitudes from 2^-40 to 2^40, most of them around 1.
local function samples()
  local list = {}
  for i = 1, 20000 do
    local turn = i * 0.61803398874989485 % 1
    local e = i % 4 == 0 and 80 * turn - 40 or 12 * turn - 8
    list[#list + 1] = string.unpack("f", string.pack("f", 2.0 ^ e))
    list[#list + 1] = -list[#list]
  end
  return list
end

local function results(name, dtype, o, list)
  local given = { shape = { #list }, dtype = dtype }
  for k, v in pairs(o or {}) do given[k] = v end
  local x, y = ts.tensor(dtype, { #list }, list), ts.tensor(dtype, { #list })
  ts.build(ops[name](given))(x, y)
  return y
end

local function check(row, dtype, list, bound)
  local name, o = row[1], row[3]
  local y = results(name, dtype, o, list)
  local ref = results(name, "float64", o, list)
  local worst, at = 0, nil
  for i, x in ipairs(list) do
    local e = ulp(dtype, y:get(i - 1), ref:get(i - 1)) / bound(x)
    if e > worst then worst, at = e, x end
  end
  assert(worst <= 1, ("%s(%a) of %s is %s times its bound off"):format(
         name, at or 0, dtype, worst))
end

local of = { float16 = all_of "float16", bfloat16 = all_of "bfloat16" }
for _, row in ipairs(rows) do
  check(row, "float16", of.float16, constant(0.51))
  check(row, "bfloat16", of.bfloat16, constant(0.51))
  check(row, "float32", samples(), row[2])
end

-- ---- edges -----------------------------------------------------------------

local inf, nan = math.huge, 0 / 0

local function same(a, b)
  return a == b and 1 / a == 1 / b or a ~= a and b ~= b
end

-- What the operator makes of lists, each a tensor.
local function check_values(name, o, inputs, want)
  local program, args = ops[name](o), {}
  for i, x in ipairs(program:params()) do
    args[i] = ts.tensor(x.dtype, x.shape, inputs[i])
  end
  for _, run in ipairs { ts.build(program),
                         function(...) ts.interpret(program, { ... }) end } do
    run(table.unpack(args))
    for k, list in ipairs(want) do
      for i, v in ipairs(list) do
        local got = args[#inputs + k]:get(i - 1)
        assert(same(got, v), ("%s: %s, not %s at %d"):format(name, got, v, i))
      end
    end
  end
end

for _, dtype in ipairs { "float32", "float16" } do
  check_values("fmod", { shape = { 5 }, dtype = dtype },
               { { -0.0, -6.0, 0.0, 6.0, -7.5 }, { 1, 3, 1, -3, 2 } },
               { { -0.0, -0.0, 0.0, 0.0, -1.5 } })
end
check_values("reduce", { op = "log_sum_exp", shape = { 4, 2 }, axes = { 1 } },
             { { { -inf, -inf }, { inf, 0 }, { -inf, 0 }, { nan, 1 } } },
             { { -inf, inf, 0, nan } })
do
  local rows = { { 1, nan, 3, nan }, { 1, 2, 3, 0 }, { nan, nan, nan, nan },
                 { 5, 5, 4, 4 } }
  for _, c in ipairs { { "arg_max", false, { 1, 2, 0, 0 }, { nan, 3, nan, 5 } },
                       { "arg_max", true, { 3, 2, 3, 1 }, { nan, 3, nan, 5 } },
                       { "arg_min", false, { 1, 3, 0, 2 }, { nan, 0, nan, 4 } },
                       { "arg_min", true, { 3, 3, 3, 3 }, { nan, 0, nan, 4 } }
                     } do
    local name, last, at, value = table.unpack(c)
    check_values(name, { shape = { 4, 4 }, last = last }, { rows },
                 { at, value })
  end
end
do
  local x = ts.tensor("float32", { 2 }, { 89, 89.4159 })
  local y = ts.tensor("float32", { 2 })
  for _, f in ipairs { "sinh", "cosh" } do
    ts.build(ops[f] { shape = { 2 } })(x, y)
    assert(math.abs(y:get(0) / (math.exp(89) / 2) - 1) < 1e-6 and
           y:get(1) < inf, f)
  end
end
-- The weight of an element is no number of float16 itself.
ops.resize2d { n = 1, c = 1, h = 1, w = 8, oh = 1, ow = 32760,
               mode = "bilinear", dtype = "float16" }
