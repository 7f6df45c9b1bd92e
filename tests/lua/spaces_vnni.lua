-- SPDX-License-Identifier: Apache-2.0
-- The default space of processors with instructions that add up four products
-- of bytes: such sums are tiled around them, whatever the extents, and nothing
-- else is tiled in their place; floats are not concerned.  So it is with AMX,
-- where that is not mostly padding.
local ts = require "tessera"
local ops = require "tessera.ops"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

local function bytes(m, n, k)
  local A = ts.placeholder("A", { m, k }, "uint8")
  local B = ts.placeholder("B", { n, k }, "int8")
  local kk = ts.reduce_axis("k", k)
  local C = ts.compute("C", { m, n }, function(i, j)
    return ts.sum(ts.cast(A(i, kk), "int32") * ts.cast(B(j, kk), "int32"), kk)
  end)
  return ts.program("bytes", { A, B }, { C })
end

local target = "llvm -mattr=-amx-int8,-amx-bf16,+avx512f,+avx512vl,+avx512vnni"
local plain = "llvm -mattr=-amx-int8,-amx-bf16,-avx512vnni"

for _, p in ipairs { bytes(8, 32, 16), bytes(5, 19, 7) } do
  local list = ts.space.sketches(ts.space.default(target), p, target,
                                 { postprocs = true })
  assert(#list > 0 and tostring(list[1]):find("dot_16x4_vnni", 1, true))
  for _, t in ipairs(list) do
    local valid = 0
    for seed = 1, 2 do
      local ok, s = pcall(t.replay, t, p, { resample = true, seed = seed })
      if ok then checks.same(s, p) else assert(s.code == "REFUSED", s) end
      valid = valid + (ok and 1 or 0)
      if checks.checked and valid > 0 then break end
    end
    assert(valid > 0, t)
  end
  local text = ts.space.explain(ts.space.default(target), p, target)
  assert(not text:find "\nmulti_level_tiling at [%w_]+: applied", text)
  for _, t in ipairs(ts.space.sketches(ts.space.default(plain), p, plain)) do
    assert(not tostring(t):find("dot_16x4", 1, true), t)
  end
end

local p = ops.matmul { m = 16, n = 16, k = 16 }
assert(#ts.space.sketches(ts.space.default(target), p, target) ==
       #ts.space.sketches(ts.space.default(plain), p, plain))

-- With AMX.
local amx = "llvm -mattr=+amx-tile,+amx-int8"
for _, k in ipairs { 16, 64 } do
  local list = ts.space.sketches(ts.space.default(amx), bytes(16, 16, k), amx)
  local found = tostring(list[1]):find("amx_acc_16x16x64_u8s8s32", 1, true)
  assert((found ~= nil) == (k == 64), list[1])
end

-- Sums stay in registers, and an operand of an instruction is one load.
do
  local intrin = require "tessera.intrin"
  local p = ops.matmul { m = 16, n = 32, k = 32, dtype = "int8", acc = "int32" }
  local list = ts.space.sketches(ts.space.default(target), p, target)
  local s = list[1]:replay(p, { resample = true, seed = 1 })
  assert(tostring(list[1]):find("dot_16x16_vnni_s8s8s32", 1, true), list[1])
  local text = ts.build(s, target):source "asm"
  assert(select(2, text:gsub("vpdpbusd", "")) >= 16, text)
  if intrin.has "dot_16x16_vnni_s8s8s32" then
    checks.exact(s, p, checks.arguments(p, "integers"))
  end
end

-- Tiles of two and of four vectors, where there are as many.
for columns, count in pairs { [32] = 1, [64] = 2 } do
  local p = ops.matmul { m = 16, n = columns, k = 32, dtype = "int8",
                         acc = "int32" }
  local dots = require "tessera.modules.use_dots" { types = "s8s8",
                                                    vectors = { 2, 4 } }
  assert(#ts.space.sketches({ dots }, p, target) == count)
end

-- Of a depthwise convolution each column has rows of its own.
do
  local p = require "tessera.ops".depthwise_conv2d_nhwc {
    n = 1, h = 5, w = 5, c = 32, k = 3, dtype = "int8", acc = "int32" }
  local text = ts.space.explain({ require "tessera.modules.use_dots" {
    types = "s8s8" } }, p, "llvm -mcpu=cascadelake")
  assert(text:find("no operand is one for all rows", 1, true), text)
end
