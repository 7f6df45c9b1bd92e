-- SPDX-License-Identifier: Apache-2.0
-- What exponentials cost: instructions for a vector of them, and softmax,
-- which divides once for a row.
local ts = require "tessera"
local ops = require "tessera.ops"

-- The instructions of a text that compute with vectors of AVX-512.
local function instructions(text)
  local n = 0
  for line in text:gmatch "[^\n]+" do
    local name = line:match "^%s+(v%l+%w*)%s.*zmm"
    if name and not name:find "^vmov" and not name:find "^vp?broadcast" then
      n = n + 1
    end
  end
  return n
end

if ts.target "llvm":has "avx512f" then
  local A = ts.placeholder("A", { 16 })
  local B = ts.compute("B", { 16 }, function(i) return ts.exp(A(i)) end)
  local sch = ts.schedule(ts.program("e", { A }, { B }))
  sch:vectorize((sch:get_loops(sch:get_block "B")))
  local text = ts.build(sch, "llvm -mcpu=x86-64-v4"):source "asm"
  assert(instructions(text) <= 20, text)
end

do
  local target = "llvm -num-cores=1"
  local p = ops.softmax { shape = { 4, 256 } }
  local result = ts.tune(p, { target = target, frozen = true, seed = 1 })
  local text = ts.build(result.trace:replay(p), target):source "asm"
  assert(not text:find "divps" and not text:find "fdiv%s+v", text)
end
