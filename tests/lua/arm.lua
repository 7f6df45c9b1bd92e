-- SPDX-License-Identifier: Apache-2.0
-- The default space of AArch64, with instructions that add up four products of
-- bytes: what its sketches compute, and the code that is generated for them.
local ts = require "tessera"
local ops = require "tessera.ops"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local bytes = dofile((arg[0]:gsub("[^/]*$", "../support/bytes.lua")))

local target = "llvm -mtriple=aarch64-linux-gnu -mattr=+dotprod,+i8mm " ..
               "-num-cores=4"
assert(ts.target(target):get "vector-bytes" == 16)

for types, instruction in pairs { s8s8 = "sdot", u8u8 = "udot",
                                  u8s8 = "usdot" } do
  for _, p in ipairs { bytes(types, 8, 12, 16), bytes(types, 5, 7, 6) } do
    local list = ts.space.sketches(ts.space.default(target), p, target,
                                   { postprocs = true })
    assert(#list > 0 and tostring(list[1]):find(instruction .. '"', 1, true))
    for _, t in ipairs(list) do
      local sch
      for seed = 1, 8 do
        local ok, s = pcall(t.replay, t, p, { resample = true, seed = seed })
        assert(ok or s.code == "REFUSED", s)
        sch = sch or ok and s
      end
      checks.same(assert(sch), p)
      assert(ts.build(sch, target):source "asm":find(
        "\t" .. instruction .. "%s"))
    end
  end
end

-- Floats are tiled by vectors of 16 bytes.
local p = ops.matmul { m = 16, n = 16, k = 16 }
for _, t in ipairs(ts.space.sketches(ts.space.default(target), p, target,
                                     { postprocs = true })) do
  local ok, s = pcall(t.replay, t, p, { resample = true, seed = 1 })
  if ok then
    checks.same(s, p)
    assert(ts.build(s, target):source "asm":find "fmla")
  end
end
