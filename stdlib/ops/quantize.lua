-- SPDX-License-Identifier: Apache-2.0
-- Affine quantization: floats as integers of 16 bits or less, and back; and
-- integers of less than 8 bits in bytes.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local layout = require "tessera.ops.layout"

local shape = declare.list_of("shape", 1, "the shape of X and Y")
local axis = declare.integer("axis", "the dimension along which each index, " ..
  "or block, has a scale and a zero point of its own", "none: one for all")
local block = declare.count("block", "how many indices of `axis` share a " ..
  "scale; scale and zero then have all dimensions",
  "none: a scale for each index")
local words = { "int8", "uint8", "int16", "uint16" }

-- What is computed in: floats of 16 bits have not all integers of as many.
local function wide_of(dtype)
  return dtype == "float64" and dtype or "float32"
end

-- Of one element, of one for each index along `axis`, or of one for each block.
local function parameter(name, type)
  return declare.tensor(name, function(o)
    if not o.axis then return { 1 } end
    local d = kit.axis(o, #o.shape, o.axis)
    local n = o.shape[d]
    if not o.block then return { n } end
    return kit.with(o.shape, d, (n + o.block - 1) // o.block)
  end, { type = type })
end

-- The indices that both are read at.
local function place(o)
  local d = o.axis and kit.axis(o, #o.shape, o.axis)
  return function(...)
    if not d then return 0 end
    local i = (select(d, ...))
    if not o.block then return i end
    return table.unpack(kit.with({ ... }, d, i // o.block), 1, #o.shape)
  end
end

local function check_block(o)
  if o.block and not o.axis then
    declare.wrong(o.name, "'block' is given, and no 'axis'")
  end
end

local per = [[
scale and zero have one element, or with `axis` one for each index along it, or
with `block`, too, one for each block of so many indices.]]

-- Whether `bits` are as many as a type's.
local function check_bits(o, dtype)
  local most = math.tointeger(dtype:match "%d+$")
  if o.bits and o.bits > most then
    declare.wrong(o.name, "'bits' is %d, more than those of %s", o.bits, dtype)
  end
end

-- The least and the greatest integer of so many bits.
local function range_of(bits, dtype)
  if dtype:find "^u" then return 0, (1 << bits) - 1 end
  return -(1 << bits - 1), (1 << bits - 1) - 1
end

declare.operator {
  name = "quantize",
  summary = "Floats as small integers, by a scale and a zero point.",
  says = [[
Y = X / scale, rounded with halves to even, + zero, within the range of `to`, or
of so many `bits` of it
scale: of X's type, zero: of Y's.  ]] .. per,
  options = { shape, axis, block,
              declare.dtype("number", nil, "the type of X: floats, or int32"),
              declare.word("to", words, "int8", "the type of Y"),
              declare.count("bits", "how many bits Y has", "all of `to`"),
              declare.dtype("float", "dtype, float32 for integers",
                            "the type of scale", "scale_type") },
  example = "{ shape = { 4 } }",
  inputs = { X = "{ 0.4, -1, 2.5, 900 }", scale = "{ 0.5 }", zero = "{ 3 }" },
  tensors = { declare.tensor("X", { "shape..." }),
              parameter("scale", function(o)
                local x = o.dtype or "float32"
                return o.scale_type or declare.is(x, "float") and x or "float32"
              end), parameter("zero", "to") },
  infer = function(o, tensors)
    if tensors.scale then o.scale_type = tensors.scale.dtype end
  end,
  check = function(o)
    check_block(o)
    check_bits(o, o.to)
    if not declare.is(o.dtype, "float") and o.dtype ~= "int32" then
      declare.wrong(o.name, "'dtype' is %q, neither floats nor int32", o.dtype)
    end
  end,
  apply = function(o, X, scale, zero)
    local at, wide = place(o), wide_of(o.dtype)
    return kit.map("Y", o.shape, function(...)
      local q = ts.cast(X(...), wide) / ts.cast(scale(at(...)), wide)
      q = ts.round(q) + ts.cast(zero(at(...)), wide)
      if o.bits then q = ts.clamp(q, range_of(o.bits, o.to)) end
      return ts.cast(q, o.to)
    end)
  end,
}

declare.operator {
  name = "dequantize",
  summary = "Small integers as floats, by a scale and a zero point.",
  says = [[
Y = (X - zero) scale
zero: of X's type, scale: of Y's.  ]] .. per,
  options = { shape, axis, block,
              declare.word("from", { "int8", "uint8", "int16", "uint16",
                                     "int32" }, "int8", "the type of X"),
              declare.dtype("float", nil, "the type of Y") },
  example = "{ shape = { 4 } }",
  inputs = { scale = "{ 0.5 }", zero = "{ 3 }" },
  tensors = { declare.tensor("X", { "shape..." }, { type = "from" }),
              parameter("scale", "dtype"), parameter("zero", "from") },
  check = check_block,
  apply = function(o, X, scale, zero)
    local at, dtype, wide = place(o), o.dtype, wide_of(o.dtype)
    return kit.map("Y", o.shape, function(...)
      local x = ts.cast(X(...), "int32") - ts.cast(zero(at(...)), "int32")
      return ts.cast(ts.cast(x, wide) * ts.cast(scale(at(...)), wide), dtype)
    end)
  end,
}

-- ---- less than 8 bits ------------------------------------------------------

local bits = declare.count("bits", "bits of an integer: 1, 2 or 4", "4")
local bytes = { "int8", "uint8" }
local in_bytes = [[
in row-major order, the first integer of a byte in its lowest bits; bits that
are left are 0 (the layout of ONNX's int4, uint4, int2 and uint2).]]

-- How many bytes they are; 1 where the shape is not known, which is refused.
local function bytes_of(o)
  if not o.shape then return 1 end
  return (kit.product(o.shape) * (o.bits or 4) + 7) // 8
end

local function check_packed(o)
  if 8 % o.bits ~= 0 or o.bits == 8 then
    declare.wrong(o.name, "'bits' is %d, not 1, 2 or 4", o.bits)
  end
end

declare.operator {
  name = "unpack_bits",
  summary = "Integers of 1, 2 or 4 bits, several in a byte, as bytes.",
  says = "Y = the integers in the bytes X\n" .. in_bytes,
  options = { declare.list_of("shape", 1, "the shape of Y"), bits,
              declare.word("to", bytes, "int8", "the type of Y; int8: the " ..
                           "highest of the bits is the sign") },
  example = "{ shape = { 4 } }",
  inputs = { X = "{ 33, 240 }" },
  tensors = { declare.tensor("X", function(o) return { bytes_of(o) } end,
                             { type = "uint8" }) },
  check = check_packed,
  apply = function(o, X)
    local n, each = o.bits, 8 // o.bits
    local sign = 1 << n - 1
    return kit.map("Y", o.shape, function(...)
      local i = layout.flat(o.shape, { ... })
      local x = ts.shr(ts.cast(X(i // each), "int32"),
                       ts.cast(i % each * n, "int32"))
      x = ts.bitand(x, (1 << n) - 1)
      if o.to == "int8" then x = ts.bitxor(x, sign) - sign end
      return ts.cast(x, o.to)
    end)
  end,
}

declare.operator {
  name = "pack_bits",
  summary = "The lowest bits of integers, several in a byte.",
  says = "Y = bytes of the lowest bits of X\n" .. in_bytes,
  options = { declare.list_of("shape", 1, "the shape of X"), bits,
              declare.word("from", bytes, "int8", "the type of X") },
  example = "{ shape = { 4 } }",
  inputs = { X = "{ 1, 2, 0, -1 }" },
  tensors = { declare.tensor("X", { "shape..." }, { type = "from" }) },
  check = check_packed,
  apply = function(o, X)
    local n, each, total = o.bits, 8 // o.bits, kit.product(o.shape)
    return kit.map("Y", { bytes_of(o) }, function(i)
      local y
      for t = 0, each - 1 do
        local e = i * each + t
        local from = layout.unflattened(ts.min(e, total - 1), o.shape)
        local x = ts.bitand(ts.cast(X(table.unpack(from, 1, #o.shape)),
                                    "int32"), (1 << n) - 1)
        if total % each ~= 0 then x = ts.select(ts.lt(e, total), x, 0) end
        x = ts.shl(x, t * n)
        y = y and ts.bitor(y, x) or x
      end
      return ts.cast(y, "uint8")
    end)
  end,
}
