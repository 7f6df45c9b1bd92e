-- SPDX-License-Identifier: Apache-2.0
-- Schedules that are taken without measuring: what is known to be slow on the
-- target is not among them.
local ts = require "tessera"
local ops = require "tessera.ops"

local function convolution(size, width)
  local x = ts.placeholder("x", { 1, 4, width, width, 16 })
  local w = ts.placeholder("w", { 6, 4, size, size, 16, 16 })
  local y = ops.relu(ops.conv2d_nchwc(x, w, { pad = size // 2 }))
  return ts.program("convolution", { x, w }, { y })
end

local function product(m, n, k)
  local a, b = ts.placeholder("a", { m, k }), ts.placeholder("b", { k, n })
  return ts.program("product", { a, b }, { ops.gelu(ops.matmul(a, b)) })
end

-- The loops around the sums of a program's text, from outside.
local function loops_of(text)
  local loops = {}
  for line in text:match "(.*)\n[^\n]*block [%w_]*_update%(":gmatch "[^\n]+" do
    local indent, name, how = line:match "^( *)for ([%w_]+) in (%S+)"
    while name and #loops > 0 and loops[#loops].indent >= #indent do
      table.remove(loops)
    end
    if name then
      loops[#loops + 1] = { indent = #indent, name = name,
                            n = tonumber(how:match "%((%d+)%)"),
                            vector = how:find "vectorized" }
    end
  end
  return loops
end

-- Sums in the innermost reduction loop that turns, and lanes of its vectors.
local function tile_of(text)
  local sums, vector, loops = 1, 1, loops_of(text)
  for i = #loops, 1, -1 do
    local l = loops[i]
    local reduces = l.name:find "^k" or l.name:find "^ci" or l.name:find "^ib"
    if reduces and l.n > 1 then break end
    sums, vector = sums * l.n, l.vector and l.n or vector
  end
  return sums, vector
end

-- The registers hold all sums of a tile, which are enough not to wait for each
-- other; vectors are powers of two.
local programs = { product(128, 768, 192), product(64, 96, 768),
                   convolution(1, 28), convolution(3, 14), convolution(1, 56) }
for _, target in ipairs { "llvm -mcpu=znver3 -num-cores=2",
                          "llvm -mcpu=skylake-avx512 -num-cores=2" } do
  local lanes = ts.target(target):get "vector-bytes" // 4
  local registers = lanes > 8 and 32 or 16
  for _, p in ipairs(programs) do
    for seed = 1, 4 do
      local r = ts.tune(p, { target = target, frozen = true, seed = seed })
      local text = tostring(r.trace:replay(p))
      local sums, vector = tile_of(text)
      local vectors = sums / math.min(lanes, vector)
      assert(vectors >= 8 and vectors < registers, text)
      assert(vector & (vector - 1) == 0, text)
    end
  end
end
