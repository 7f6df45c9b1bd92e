-- SPDX-License-Identifier: Apache-2.0
-- Affine quantization: floats as integers of 8 or 16 bits, and back.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"

local shape = declare.list_of("shape", 1, "the shape of X and Y")
local axis = declare.integer("axis", "the dimension along which each index " ..
  "has a scale and a zero point of its own", "none: one for all")
local words = { "int8", "uint8", "int16", "uint16" }

local function narrow(name, help)
  return declare.word(name, words, "int8", help)
end

-- What is computed in: floats of 16 bits have not all integers of as many.
local function wide_of(dtype)
  return dtype == "float64" and dtype or "float32"
end

-- Whether scale and zero point are one for each index along `axis`.
local function parameter(name, type)
  return declare.tensor(name, function(o)
    return { o.axis and o.shape[kit.axis(o, #o.shape, o.axis)] or 1 }
  end, { type = type })
end

-- The index that both are read at.
local function place(o)
  local d = o.axis and kit.axis(o, #o.shape, o.axis)
  return function(...) return d and (select(d, ...)) or 0 end
end

declare.operator {
  name = "quantize",
  summary = "Floats as small integers, by a scale and a zero point.",
  says = [[
Y = X / scale, rounded with halves to even, + zero, within the range of `to`
scale: of X's type, zero: of Y's; each of one element, or of one for each index
along `axis`.]],
  options = { shape, axis, declare.dtype("float", nil, "the type of X"),
              narrow("to", "the type of Y") },
  example = "{ shape = { 4 } }",
  inputs = { X = "{ 0.4, -1, 2.5, 900 }", scale = "{ 0.5 }", zero = "{ 3 }" },
  tensors = { declare.tensor("X", { "shape..." }),
              parameter("scale", "dtype"), parameter("zero", "to") },
  apply = function(o, X, scale, zero)
    local at, wide = place(o), wide_of(o.dtype)
    return kit.map("Y", o.shape, function(...)
      local i = at(...)
      local q = ts.cast(X(...), wide) / ts.cast(scale(i), wide)
      return ts.cast(ts.round(q) + ts.cast(zero(i), wide), o.to)
    end)
  end,
}

declare.operator {
  name = "dequantize",
  summary = "Small integers as floats, by a scale and a zero point.",
  says = [[
Y = (X - zero) scale
zero: of X's type, scale: of Y's; each of one element, or of one for each index
along `axis`.]],
  options = { shape, axis, narrow("from", "the type of X"),
              declare.dtype("float", nil, "the type of Y") },
  example = "{ shape = { 4 } }",
  inputs = { scale = "{ 0.5 }", zero = "{ 3 }" },
  tensors = { declare.tensor("X", { "shape..." }, { type = "from" }),
              parameter("scale", "dtype"), parameter("zero", "from") },
  apply = function(o, X, scale, zero)
    local at, dtype, wide = place(o), o.dtype, wide_of(o.dtype)
    return kit.map("Y", o.shape, function(...)
      local i = at(...)
      local x = ts.cast(X(...), "int32") - ts.cast(zero(i), "int32")
      return ts.cast(ts.cast(x, wide) * ts.cast(scale(i), wide), dtype)
    end)
  end,
}
