-- SPDX-License-Identifier: Apache-2.0
-- Products of bytes on x86: VNNI, which adds up four products, AVX-512 and
-- AVX2, which add up two of 16 bits, and the tiles of AMX.
--
-- VPMADDUBSW, which multiplies bytes, saturates its sums; so AVX2 and AVX-512
-- extend the even and the odd bytes to 16 bits and multiply those, exactly.
local kit = require "tessera.intrin.kit"

local full = { u8 = "uint8", s8 = "int8", bf16 = "bfloat16", f32 = "float32",
               s32 = "int32" }

local function dot(types, lanes, k)
  k = k or 4
  return function()
    return kit.product { n = lanes, k = k, dtype = full[types:sub(1, 2)],
                         dtype_b = full[types:sub(3, 4)], acc = "int32",
                         trans = k == 4, packed = k > 4 and 4 or nil }
  end
end

local function summary(types, lanes, how, k)
  k = k or 4
  local rows = k > 4 and ("%d, "):format(k // 4) or ""
  return ("int32[%d] += %s[%d] . %s[%s%d, 4], %s"):format(
    lanes, full[types:sub(1, 2)], k, full[types:sub(3, 4)], rows, lanes,
    how)
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

-- The even and the odd bytes of x, extended to 16 bits.
local function halves(isa, x, is_signed)
  local prefix = "llvm.x86." .. isa
  local size = isa == "avx512" and ".512" or ""
  local function shift(op, v)
    return ("%s.%s.w%s(%s, 8)"):format(prefix, op, size, v)
  end
  local down = is_signed and "psrai" or "psrli"
  return shift(down, shift("pslli", x)), shift(down, x)
end

-- The sums of the even and of the odd products: four bytes of A are in each
-- group of 32 bits.
local function by_pairs(isa, lanes, is_signed)
  local madd = isa == "avx512" and "llvm.x86.avx512.pmaddw.d.512" or
               "llvm.x86.avx2.pmadd.wd"
  local a, a1 = halves(isa, ("int16(int32x%d(A))"):format(lanes), is_signed)
  local b, b1 = halves(isa, "int16(B)", true)
  return ("C += %s(%s, %s) + %s(%s, %s)"):format(madd, a, b, madd, a1, b1)
end

-- VPDPBUSD takes an unsigned operand.  Of two signed ones
--   A . B = (A + 128) . B - 128 . B
-- of which all rows share what is subtracted: it is computed once for a vector
-- of B where rows are unrolled, and subtracted once from the sum of k products.
-- A is broadcast as it is loaded and flipped after that; LLVM would do it
-- before, which takes two instructions more, if it saw that the bits are
-- constant.
local function by_offset(lanes, k)
  local int32 = "int32x" .. lanes
  local function vpdpbusd(c, a, b)
    return ("llvm.x86.avx512.vpdpbusd.%d(%s, %s, %s)"):format(32 * lanes, c, a,
                                                               b)
  end
  local function splat(v) return ("%s(%d)"):format(int32, v) end
  local function part(x, type, n, i)
    if k == 4 then return x end
    return ("llvm.vector.extract.v%d%s.v%d%s(%s, int64(%d))"):format(
      n, type, n * k // 4, type, x, n * i)
  end
  local offsets = splat(-0x7f7f7f80)
  local unseen = vpdpbusd(offsets, splat(0), splat(0))
  local sum, shared = "C", splat(0)
  for i = 0, k // 4 - 1 do
    local a = ("%s(int8x4(%s))"):format(int32, part("A", "i8", 4, i))
    local b = ("%s(%s)"):format(int32, part("int32(B)", "i32", lanes, i))
    sum = vpdpbusd(sum, ("int32((int8(%s) + int8(%s)))"):format(a, unseen), b)
    shared = vpdpbusd(shared, offsets, b)
  end
  return ("C = %s - %s"):format(sum, shared)
end

for _, x in ipairs {
  { "dot_16x%d_vnni_s8s8s32", 16, { "avx512vnni", "avx512bw" } },
  { "dot_8x%d_avxvnni_s8s8s32", 8, { "avxvnni", "avx2" } },
} do
  local name, lanes, needs = table.unpack(x)
  for _, k in ipairs { 4, 16 } do
    kit.enter_dot("s8s8", {
      name = name:format(k), family = "x86", kind = "llvm", needs = needs,
      k = k, summary = summary("s8s8", lanes, "by VPDPBUSD", k),
      desc = dot("s8s8", lanes, k),
      impl = function() return by_offset(lanes, k) end,
    })
  end
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

-- Tiles of 16 rows of 64 bytes.  B holds `packed` rows side by side.  Each
-- product comes in two forms: of a C in memory, and, its name beginning with
-- amx_acc, of a C of consecutive elements, which a loop of products keeps in a
-- tile register: 0 at first, by amx_fill, and stored afterwards, by amx_store.
local function load(x)
  return ("llvm.x86.tileloadd64.internal(int16(16), int16(64), " ..
          "address(%s), bytes(%s, 0))"):format(x, x)
end

local function stored(value)
  return ("llvm.x86.tilestored64.internal(int16(16), int16(64), " ..
          "address(C), bytes(C, 0), %s)"):format(value)
end

local function as_tile(acc, x)
  return ("llvm.x86.cast.vector.to.tile.v256%s(%s)"):format(
    acc == "int32" and "i32" or "f32", x)
end

local function tile(name, types, acc, packed, instruction, feature)
  local k, a, b = 16 * packed, full[types[1]], full[types[2]]
  local function product(c)
    return ("llvm.x86.%s.internal(int16(16), int16(64), int16(64), " ..
            "%s, %s, %s)"):format(instruction, c, load "A", load "B")
  end
  local function enter(form, how, impl)
    kit.enter {
      name = form .. name, family = "x86", kind = "llvm",
      needs = { "amx-tile", feature },
      summary = ("%s[16, 16] += %s[16, %d] . %s[%d, 16, %d], by tiles of " ..
                 "AMX%s"):format(acc, a, k, b, 16, packed, how),
      desc = function()
        return kit.product { m = 16, n = 16, k = k, dtype = a, dtype_b = b,
                             acc = acc, packed = packed }
      end,
      impl = function() return impl end,
    }
  end
  enter("amx_", "", stored(product(load "C")))
  enter("amx_acc_", ", in a tile register",
        ("C = %sx256(llvm.x86.cast.tile.to.vector.v256%s(%s))"):format(
        acc, acc == "int32" and "i32" or "f32", product(as_tile(acc, "C"))))
end

for types, x in pairs { ssd = { "s8", "s8" }, sud = { "s8", "u8" },
                        usd = { "u8", "s8" }, uud = { "u8", "u8" } } do
  tile(("16x16x64_%s%ss32"):format(x[1], x[2]), x, "int32", 4,
       "tdpb" .. types, "amx-int8")
end
tile("16x16x32_bf16bf16f32", { "bf16", "bf16" }, "float32", 2, "tdpbf16ps",
     "amx-bf16")

for _, t in ipairs { "s32", "f32" } do
  local acc = full[t]
  kit.enter {
    name = "amx_fill_16x16_" .. t, family = "x86", kind = "llvm",
    needs = { "amx-tile" },
    summary = ("%s[16, 16] = 0, in a tile register"):format(acc),
    desc = function() return kit.copy(acc, 16, 16, nil, "global") end,
    impl = function() return ("C = %sx256(0)"):format(acc) end,
  }
  kit.enter {
    name = "amx_store_16x16_" .. t, family = "x86", kind = "llvm",
    needs = { "amx-tile" },
    summary = ("%s[16, 16] out of a tile register"):format(acc),
    desc = function() return kit.copy(acc, 16, 16, "global", "global") end,
    impl = function() return stored(as_tile(acc, "A")) end,
  }
end
