-- SPDX-License-Identifier: Apache-2.0
-- Dot products of bytes on AArch64: SDOT, UDOT and USDOT, and what NEON has
-- without them.
local kit = require "tessera.intrin.kit"

local function dot(a, b, acc)
  return function()
    return kit.product { n = 4, k = 4, dtype = a, dtype_b = b, acc = acc,
                         trans = true }
  end
end

for _, x in ipairs {
  { "s8s8", "dot_4x4_i8i8s32_sdot", "int8", "int8", "int32", "sdot",
    "dotprod" },
  { "u8u8", "dot_4x4_u8u8u32_udot", "uint8", "uint8", "uint32", "udot",
    "dotprod" },
  { "u8s8", "dot_4x4_u8i8s32_usdot", "uint8", "int8", "int32", "usdot",
    "i8mm" },
} do
  local types, name, a, b, acc, instruction, feature = table.unpack(x)
  kit.enter_dot(types, {
    name = name, family = "arm", kind = "llvm", needs = { feature },
    summary = ("%s[4] += %s[4] . %s[4, 4], by one %s"):format(
      acc, a, b, instruction:upper()),
    desc = dot(a, b, acc),
    -- USDOT takes the unsigned operand first.
    impl = function()
      return ("C = llvm.aarch64.neon.%s.v4i32.v16i8(C, int8(int32x4(A)), B)")
             :format(instruction)
    end,
  })
end

-- Products of 16 bits, of two rows at a time, and sums of neighbours, twice.
local function by_halves()
  local function half(k)
    return ("int32x4(llvm.aarch64.neon.saddlp.v4i32.v8i16(int16x8(" ..
            "llvm.aarch64.neon.smull.v8i16(int8x8(llvm.vector.extract.v8i8" ..
            ".v16i8(B, int64(%d))), int8(int32x2(A))))))"):format(k)
  end
  return ("C += int32x4(llvm.aarch64.neon.addp.v4i32(%s, %s))"):format(
    half(0), half(8))
end

kit.enter_dot("s8s8", {
  name = "dot_4x4_i8i8s32_neon", family = "arm", kind = "llvm",
  needs = { "neon" },
  summary = "int32[4] += int8[4] . int8[4, 4], by SMULL and sums of neighbours",
  desc = dot("int8", "int8", "int32"),
  impl = by_halves,
})
