-- SPDX-License-Identifier: Apache-2.0
-- What a warp does with fragments of matrices, under TVM's names: wmma, and
-- ldmatrix with mma.sync.  Both are described on the same fragments, and the
-- target's -tensor-cores says which instructions are generated.
local ts = require "tessera"
local kit = require "tessera.intrin.kit"

local types = { f16 = "float16", bf16 = "bfloat16", f32 = "float32",
                s8 = "int8", s32 = "int32", i8 = "int8", i32 = "int32" }
local memory = { shared = "shared", shared_dyn = "shared.dyn",
                 global = "global" }
local fragment = { a = "wmma.matrix_a", b = "wmma.matrix_b",
                   acc = "wmma.accumulator" }

-- All lanes of a warp do together what is described.
local function by_warp(desc)
  local sch = ts.schedule(desc)
  sch:annotate(sch:get_block("root"), "warp_execution", 1)
  return sch:program()
end

-- The first architecture whose tensor cores multiply these types.
local first = { f16 = "sm_70", s8 = "sm_72", i8 = "sm_72", s32 = "sm_72",
                i32 = "sm_72", bf16 = "sm_80" }

-- `t`: the type that decides from which architecture on there is one; any
-- that has tensor cores, where that is of none in particular.
local function enter(family, name, t, summary, desc)
  kit.enter { name = name, family = family, kind = "cuda", summary = summary,
              needs = { first[t] or "sm_70" }, desc = desc, impl = by_warp }
end

-- An operand of 16 x k, or of k x 16, out of shared memory.
local function enter_load(family, name, t, operand, rows, columns, from)
  enter(family, name, t,
        ("operand %s, %s[%d, %d], out of %s memory"):format(
          operand:upper(), types[t], rows, columns, memory[from]),
        function()
          return kit.copy(types[t], rows, columns, memory[from],
                          fragment[operand])
        end)
end

local function enter_product(family, name, t, acc, k, trans)
  enter(family, name, t,
        ("%s[16, 16] += %s[16, %d] . %s"):format(types[acc], types[t], k,
          trans and ("[16, %d] transposed"):format(k) or
          ("[%d, 16]"):format(k)),
        function()
          return kit.product {
            m = 16, n = 16, k = k, dtype = types[t], acc = types[acc],
            trans = trans, scopes = { fragment.a, fragment.b, fragment.acc } }
        end)
end

local function enter_fill(family, name, t)
  enter(family, name, t, ("an accumulator, %s[16, 16], is 0"):format(types[t]),
        function() return kit.copy(types[t], 16, 16, nil, fragment.acc) end)
end

local function enter_store(family, name, t, to)
  enter(family, name, t, ("an accumulator, %s[16, 16], into %s memory"):format(
          types[t], memory[to]),
        function()
          return kit.copy(types[t], 16, 16, fragment.acc, memory[to])
        end)
end

-- ---- wmma ------------------------------------------------------------------

local size = "16x16x16"
for _, t in ipairs { "f16", "bf16", "s8" } do
  for _, operand in ipairs { "a", "b" } do
    for _, trans in ipairs { "", "_trans" } do
      for _, from in ipairs { "shared", "shared_dyn" } do
        enter_load("wmma", ("wmma_load_%s_%s_%s%s_%s"):format(
          size, t, operand, trans, from), t, operand, 16, 16, from)
      end
    end
  end
end
for kind, t in pairs { f16f16f32 = { "f16", "f32" },
                       f16f16f16 = { "f16", "f16" },
                       bf16bf16f32 = { "bf16", "f32" },
                       s8s8s32 = { "s8", "s32" } } do
  for _, trans in ipairs { "", "_trans" } do
    enter_product("wmma", ("wmma_sync_%s_%s%s"):format(size, kind, trans),
                  t[1], t[2], 16, trans ~= "")
  end
end
for _, t in ipairs { "f32", "f16", "s32" } do
  enter_fill("wmma", ("wmma_fill_%s_%s"):format(size, t), t)
  for to in pairs(memory) do
    enter_store("wmma", ("wmma_store_%s_%s_%s"):format(size, t, to), t, to)
  end
end

-- ---- mma and ldmatrix ------------------------------------------------------

for kind, t in pairs { f16f16f32 = { "f16", "f32", 16 },
                       f16f16f16 = { "f16", "f16", 16 },
                       bf16bf16f32 = { "bf16", "f32", 16 },
                       i8i8i32 = { "i8", "i32", 32 } } do
  local operand, acc, k = table.unpack(t)
  for _, trans in ipairs { "", "_trans_b" } do
    enter_product("mma", "mma_" .. kind .. trans, operand, acc, k, trans ~= "")
  end
end
for t, k in pairs { f16 = 16, bf16 = 16, i8 = 32 } do
  for suffix, from in pairs { [""] = "shared", _dyn = "shared_dyn" } do
    local name = "mma_ldmatrix_" .. t
    enter_load("mma", name .. "_a" .. suffix, t, "a", 16, k, from)
    enter_load("mma", name .. "_b" .. suffix, t, "b", k, 16, from)
    enter_load("mma", name .. "_b_trans" .. suffix, t, "b", 16, k, from)
  end
end
for _, t in ipairs { "f32", "f16", "i32" } do
  enter_fill("mma", "mma_fill_16x16_" .. t, t)
  for to in pairs(memory) do
    enter_store("mma", ("mma_store_16x16_%s_%s_"):format(t, to), t, to)
  end
end

-- ---- dp4a ------------------------------------------------------------------

-- C[0] += A[0] * B[0] + .. + A[3] * B[3], of bytes.
local function four_products(a, b, acc)
  local x = ts.builder "dp4a"
  local A, B = x:input("A", { 4 }, a), x:input("B", { 4 }, b)
  local C = x:inout("C", { 1 }, acc)
  x:loop("k", 0, 4, function(k)
    x:block("C", { { "vk", "reduce", extent = 4, bind = k } }, function(vk)
      x:store(C, { 0 }, C(0) + ts.cast(A(vk), acc) * ts.cast(B(vk), acc))
    end)
  end)
  return x:program()
end

local bytes = { s8 = "int8", u8 = "uint8" }
local register = { s8 = "s32", u8 = "u32" }
for _, t in ipairs { { "s8", "s8" }, { "s8", "u8" }, { "u8", "s8" },
                     { "u8", "u8" } } do
  local a, b = table.unpack(t)
  local acc = a == "u8" and b == "u8" and "u32" or "s32"
  local sum = acc == "u32" and "uint32" or "int32"
  kit.enter {
    name = ("dp4a_%s%s%s"):format(a, b, acc), family = "dp4a", kind = "cuda",
    needs = { "sm_70" },
    summary = ("%s[1] += %s[4] . %s[4], by one DP4A"):format(sum, bytes[a],
                                                            bytes[b]),
    desc = function() return four_products(bytes[a], bytes[b], sum) end,
    impl = function()
      return ('C = asm("dp4a.%s.%s $0, $1, $2, $3;", "=r,r,r,0", ' ..
              "int32(A), int32(B), C)"):format(register[a], register[b])
    end,
  }
end
