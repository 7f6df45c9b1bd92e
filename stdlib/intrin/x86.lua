-- SPDX-License-Identifier: Apache-2.0
-- Products of bytes on x86: VNNI, which adds up four products, AVX-512 and
-- AVX2, which add up two of 16 bits, and the tiles of AMX.
--
-- VPMADDUBSW, which multiplies bytes, saturates its sums; so AVX2 and AVX-512
-- extend the even and the odd bytes to 16 bits and multiply those, exactly.
local kit = require "tessera.intrin.kit"

local full = { u8 = "uint8", s8 = "int8", bf16 = "bfloat16", f32 = "float32",
               s32 = "int32" }

local function dot(types, lanes)
  return function()
    return kit.product { n = lanes, k = 4, dtype = full[types:sub(1, 2)],
                         dtype_b = full[types:sub(3, 4)], acc = "int32",
                         trans = true }
  end
end

local function summary(types, lanes, how)
  return ("int32[%d] += %s[4] . %s[%d, 4], %s"):format(
    lanes, full[types:sub(1, 2)], full[types:sub(3, 4)], lanes, how)
end

for _, x in ipairs {
  { "dot_16x4_vnni", 16, { "avx512vnni" } },
  { "dot_8x4_vnni", 8, { "avx512vnni", "avx512vl" } },
  { "dot_8x4_avxvnni", 8, { "avxvnni" } },
} do
  local name, lanes, needs = table.unpack(x)
  kit.enter_dot("u8s8", {
    name = name, family = "x86", kind = "llvm", needs = needs,
    summary = summary("u8s8", lanes, "by one VPDPBUSD"),
    desc = dot("u8s8", lanes),
    impl = function()
      return ("C = llvm.x86.avx512.vpdpbusd.%d(C, int32x%d(A), int32(B))")
             :format(32 * lanes, lanes)
    end,
  })
end

-- The sums of the even and of the odd products: four bytes of A are in each
-- group of 32 bits.
local function by_pairs(isa, lanes, is_signed)
  local prefix = "llvm.x86." .. isa
  local size = isa == "avx512" and ".512" or ""
  local madd = isa == "avx512" and prefix .. ".pmaddw.d.512" or
               prefix .. ".pmadd.wd"
  local function shift(op, x)
    return ("%s.%s.w%s(%s, 8)"):format(prefix, op, size, x)
  end
  local a, b = ("int16(int32x%d(A))"):format(lanes), "int16(B)"
  local down = is_signed and "psrai" or "psrli"
  return ("C += %s(%s, %s) + %s(%s, %s)"):format(
    madd, shift(down, shift("pslli", a)), shift("psrai", shift("pslli", b)),
    madd, shift(down, a), shift("psrai", b))
end

for _, x in ipairs { { "avx512", 16, "avx512bw" }, { "avx2", 8, "avx2" } } do
  local isa, lanes, feature = table.unpack(x)
  for _, types in ipairs { "u8s8", "s8s8" } do
    kit.enter_dot(types, {
      name = ("dot_%dx4_%s%s"):format(lanes, isa,
                                      types == "s8s8" and "_s8s8s32" or ""),
      family = "x86", kind = "llvm", needs = { feature },
      summary = summary(types, lanes, "by two VPMADDWD"),
      desc = dot(types, lanes),
      impl = function() return by_pairs(isa, lanes, types == "s8s8") end,
    })
  end
end

-- Tiles of 16 rows of 64 bytes.  B holds `packed` rows side by side.
local function tile(name, types, acc, packed, instruction, feature)
  local k, a, b = 16 * packed, full[types[1]], full[types[2]]
  local function load(x)
    return ("llvm.x86.tileloadd64.internal(int16(16), int16(64), " ..
            "address(%s), bytes(%s, 0))"):format(x, x)
  end
  kit.enter {
    name = name, family = "x86", kind = "llvm",
    needs = { "amx-tile", feature },
    summary = ("%s[16, 16] += %s[16, %d] . %s[%d, 16, %d], by tiles of AMX")
              :format(acc, a, k, b, 16, packed),
    desc = function()
      return kit.product { m = 16, n = 16, k = k, dtype = a, dtype_b = b,
                           acc = acc, packed = packed }
    end,
    impl = function()
      return ("llvm.x86.tilestored64.internal(int16(16), int16(64), " ..
              "address(C), bytes(C, 0), llvm.x86.%s.internal(int16(16), " ..
              "int16(64), int16(64), %s, %s, %s))"):format(
              instruction, load "C", load "A", load "B")
    end,
  }
end

for types, x in pairs { ssd = { "s8", "s8" }, sud = { "s8", "u8" },
                        usd = { "u8", "s8" }, uud = { "u8", "u8" } } do
  tile(("amx_16x16x64_%s%ss32"):format(x[1], x[2]), x, "int32", 4,
       "tdpb" .. types, "amx-int8")
end
tile("amx_16x16x32_bf16bf16f32", { "bf16", "bf16" }, "float32", 2, "tdpbf16ps",
     "amx-bf16")
