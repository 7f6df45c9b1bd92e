-- SPDX-License-Identifier: Apache-2.0
-- examples/lu_cholesky.lua at a small size: the schedules compute what the
-- textbook's loops do, exactly; and compiled, factors of a known matrix.  The
-- module block_factorization finds such schedules: sizes that blocks do not
-- divide, solves, and what it refuses.
local ts = require "tessera"
local ops = require "tessera.ops"
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

-- ---- by the module ---------------------------------------------------------

local block_factorization = require "tessera.modules.block_factorization"
local target = "llvm -num-cores=2 -vector-bytes=16"

-- Every sketch, at so many points, exactly; and that half of draws are valid.
local function check_sketches(program, points)
  local list = ts.space.sketches({ block_factorization {} }, program, target)
  assert(#list == 2)
  for _, sketch in ipairs(list) do
    local valid = 0
    for seed = 1, points do
      local ok, sch = pcall(sketch.replay, sketch, program, {
        resample = true, seed = seed })
      assert(ok or sch.code == "REFUSED", sch)
      if ok then
        valid = valid + 1
        assert(ts.equivalent(sch, program))
      end
    end
    assert(2 * valid >= points)
  end
  return list
end

for _, dtype in ipairs { "float32", "float64" } do
  for _, n in ipairs { 31, 48 } do
    for _, name in ipairs(factor.names) do
      check_sketches(factor[name](n, dtype), 4)
    end
  end
end
for _, upper in ipairs { false, true } do
  check_sketches(ops.triangular_solve { n = 31, m = 9, upper = upper }, 4)
end

-- Compiled, of a prime number of pivots, by the default space.
for _, name in ipairs(factor.names) do
  local program = factor[name](127, "float64")
  local want = factor.matrix(127)
  ts.build(program, target)(want)
  for seed, s in ipairs(ts.space.sketches(ts.space.default(target), program,
                                          target, { postprocs = true })) do
    local A = factor.matrix(127)
    ts.build(s:replay(program, { resample = true, seed = seed }), target)(A)
    local _, relative = A:compare(want)
    assert(relative < 1e-9, name)
  end
end

-- Rows below a block of pivots go through it a tile at a time, in parallel;
-- what tiles read is packed; in LU a product updates strips of tiles.
for name, nests in pairs { lu = 5, cholesky = 3 } do
  local sketch = ts.space.sketches({ block_factorization {
    levels = { 2 }, vectors = { 1 }, rows = { 4 }, inner = { 2 }, outer = { 2 },
    strips = { 2 },
  } }, factor[name](64, "float64"), "llvm -vector-bytes=32")[1]
  local text = tostring(sketch:replay(factor[name](64, "float64")):program())
  assert(text:find("L: float64[16, 64, 4]", 1, true), text)
  assert(select(2, text:gsub("in parallel", "")) == nests, text)
  assert(text:find "h_0 in parallel%b()\n +for k_1_1 in range%(8%)\n +for h_1",
         text)
end

-- What is no such nest is left alone, and says why.
local product_of = ops.matmul { m = 8, n = 8, k = 8 }
assert(ts.space.explain({ block_factorization {} }, product_of, target)
       :find("at C: not applicable: no bounds", 1, true))
assert(ts.space.explain({ block_factorization {} }, factor.lu(4, "float64"),
                        target):find(": 4 pivots are too few\n", 1, true))
