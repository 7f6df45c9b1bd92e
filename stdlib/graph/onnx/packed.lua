-- SPDX-License-Identifier: Apache-2.0
-- Integers of fewer than 8 bits: in files, inputs and outputs several lie in a
-- byte; a graph computes with them as bytes, and knows which values they are.
local packed = {}

local types = {
  int4 = { bits = 4, to = "int8" }, uint4 = { bits = 4, to = "uint8" },
  int2 = { bits = 2, to = "int8" }, uint2 = { bits = 2, to = "uint8" },
}

-- { bits =, to = the type of their bytes } of such a type; nil of others.
function packed.of(dtype) return types[dtype] end

-- The type of a value that is one of them; nil of others.
function packed.type(state, x) return x and state.packed[x.id] end

-- The value, which is of that type from now on.
local function mark(state, x, dtype)
  state.packed[x.id] = dtype
  return x
end
packed.mark = mark

-- The integers of that shape in bytes.
function packed.unpack(state, bytes, dtype, shape)
  local t = types[dtype]
  return mark(state, state.ops.unpack_bits(bytes, {
    shape = shape, bits = t.bits, to = t.to }), dtype)
end

-- The bytes that the lowest bits of integers lie in.
local function pack(state, x, dtype)
  return state.ops.pack_bits(x, { bits = types[dtype].bits, from = x.dtype })
end
function packed.pack(state, x) return pack(state, x, state.packed[x.id]) end

-- The lowest bits of integers in bytes, as a value of that type.
function packed.narrow(state, x, dtype)
  return packed.unpack(state, pack(state, x, dtype), dtype, x.shape)
end

function packed.bytes(dtype, shape)
  local n = 1
  for _, extent in ipairs(shape) do n = n * extent end
  return (n * types[dtype].bits + 7) // 8
end

-- Operators whose first result has the elements of the first input.
packed.moves = {}
for name in ("Flatten Identity Pad Reshape Squeeze Transpose " ..
             "Unsqueeze"):gmatch "%S+" do
  packed.moves[name] = true
end

return packed
