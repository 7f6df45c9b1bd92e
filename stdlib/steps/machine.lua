-- SPDX-License-Identifier: Apache-2.0
-- What modules ask of the target, and what they take where none is given.
local machine = {}

-- Its cores; 1.
function machine.cores(sch)
  local target = sch:target()
  return target and target:get "num-cores" or 1
end

-- Bytes of a vector; 32.
function machine.vector_bytes(sch)
  local target = sch:target()
  return target and target:get "vector-bytes" or 32
end

-- How many vector registers there are, where `given` is 0.  AVX-512 and NEON
-- have 32, SSE and AVX 16.
function machine.registers(sch, given)
  if given ~= 0 then return given end
  local target = sch:target()
  local arm = target and tostring(target):find "aarch64"
  return (machine.vector_bytes(sch) >= 64 or arm) and 32 or 16
end

-- Bits of an element, as of a boolean 8.
function machine.bits(dtype) return tonumber(dtype:match "%d+") or 8 end

-- Elements of the result of a block in so many bytes, one at least.
function machine.lanes(sch, block, bytes)
  local dtype = sch:access_info(block, "write", 0).dtype
  return math.max(1, bytes * 8 // machine.bits(dtype))
end

return machine
