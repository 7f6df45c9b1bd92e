-- SPDX-License-Identifier: Apache-2.0
-- Scheduled products of float16 matrices, with sums in float32, for a card that
-- is not here:
--   tessera bench/gpu/programs.lua FOLDER TARGET COUNT SIZE...
-- writes COUNT candidates of each size, drawn from the target's default space,
-- as FOLDER/gemm_1_SIZE_SIZE_SIZE_NUMBER.program.
local ts = require "tessera"
local folder, text, count = arg[1], arg[2], tonumber(arg[3])
local target = ts.target(text)

local function product(n)
  local A = ts.placeholder("A", { n, n }, "float16")
  local B = ts.placeholder("B", { n, n }, "float16")
  local k = ts.reduce_axis("k", n)
  local C = ts.compute("C", { n, n }, function(i, j)
    return ts.sum(ts.cast(A(i, k), "float32") * ts.cast(B(k, j), "float32"), k)
  end)
  return ts.program("product", { A, B }, { C })
end

-- Sketches that use tensor cores, where the target has some.
local function sketches(program)
  local all = ts.space.sketches(ts.space.default(target), program, target,
                                { postprocs = true })
  local cores = {}
  for _, t in ipairs(all) do
    if tostring(t):find("wmma", 1, true) then cores[#cores + 1] = t end
  end
  return cores[1] and cores or all
end

for i = 4, #arg do
  local n = assert(math.tointeger(tonumber(arg[i])), "a size is no integer")
  local program = product(n)
  local list = sketches(program)
  local written, seed = 0, 0
  while written < count and seed < 50 * count do
    seed = seed + 1
    local sketch = list[1 + seed % #list]
    local ok, sch = pcall(sketch.replay, sketch, program,
                          { resample = true, seed = seed })
    if ok then
      written = written + 1
      sch:program():save(("%s/gemm_1_%d_%d_%d_%d.program")
                         :format(folder, n, n, n, written))
    end
  end
  assert(written > 0, "no candidate is valid")
end
