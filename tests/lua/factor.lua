-- SPDX-License-Identifier: Apache-2.0
-- examples/lu_cholesky.lua at a small size: the schedules compute what the
-- textbook's loops do, exactly; and compiled, factors of a known matrix.
local ts = require "tessera"
local here = arg[0]:match("^(.*)/[^/]*$")
local factor = dofile(here .. "/../../examples/lu_cholesky.lua")

local N = 24
local tiles = { block = 8, inner = 4, rows = 2, columns = 4 }

-- The product of the factors in A: of L and U, or of L and its transpose.
local function product(name, A, i, j)
  local sum = 0
  for k = 0, math.min(i, j) do
    if name == "lu" then
      sum = sum + (k == i and 1 or A:get(i, k)) * A:get(k, j)
    else
      sum = sum + A:get(i, k) * A:get(j, k)
    end
  end
  return sum
end

for _, name in ipairs(factor.names) do
  local program = factor[name](N, "float64")
  local sch = factor.schedule[name](program, tiles)
  assert(ts.equivalent(sch, program), name)
  local text = tostring(sch)
  assert(text:find("parallel", 1, true) and text:find("vectorized", 1, true))
  local A, want = factor.matrix(N), factor.matrix(N)
  ts.build(sch, "llvm -num-cores=2")(A)
  for i = 0, N - 1 do
    for j = 0, i do
      assert(math.abs(product(name, A, i, j) - want:get(i, j)) < 1e-9, name)
    end
  end
  -- What was done is a trace, which does it again.
  assert(tostring(sch:trace():replay():program()) == tostring(sch:program()))
end
