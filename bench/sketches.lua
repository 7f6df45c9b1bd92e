-- SPDX-License-Identifier: Apache-2.0
-- Writes, for the benches in C, a program and its sketches:
--   tessera bench/sketches.lua FOLDER tiling|default WORKLOAD
-- FOLDER/matmul.program and FOLDER/matmul.<k>.json, and in FOLDER/seconds how
-- long the writing took.  WORKLOAD: N for an N x N x N product, or
--   GMM-4  C2D-3  TBG-1  of the operator suite
local ts = require "tessera"
local ops = require "tessera.ops"

local folder, space, workload = arg[1], arg[2], arg[3]
assert(folder and space and workload,
       "usage: sketches.lua FOLDER tiling|default WORKLOAD")

local function square(n) return ops.matmul { m = n, n = n, k = n } end

-- Two tensors [batch, rows, heads, columns], of which each head's matrices are
-- multiplied: Q[h] times the transpose of K[h].
local function transposed_products(rows, heads, columns)
  local Q = ts.placeholder("Q", { 1, rows, heads, columns })
  local K = ts.placeholder("K", { 1, rows, heads, columns })
  local q = ts.compute("q", { 1, heads, rows, columns },
                       function(b, h, i, d) return Q(b, i, h, d) end)
  local k = ts.compute("k", { 1, heads, columns, rows },
                       function(b, h, d, i) return K(b, i, h, d) end)
  local d = ts.reduce_axis("d", columns)
  local C = ts.compute("C", { 1, heads, rows, rows }, function(b, h, i, j)
    return ts.sum(q(b, h, i, d) * k(b, h, d, j), d)
  end)
  return ts.program("transpose_batch_matmul", { Q, K }, { C })
end

local workloads = {
  ["GMM-4"] = function() return square(1024) end,
  ["C2D-3"] = function()
    return ops.conv2d_nhwc { n = 1, h = 14, w = 14, ci = 256, co = 256, k = 3,
                             pad = 1 }
  end,
  ["TBG-1"] = function() return transposed_products(128, 12, 64) end,
}

local make = workloads[workload]
local n = math.tointeger(tonumber(workload))
if not make and not n then
  error(("there is no workload '%s'; there are GMM-4, C2D-3, TBG-1 and N")
        :format(workload), 0)
end
local program = make and make() or square(n)
local spaces = {
  tiling = ts.space.compose {
    require "tessera.modules.multi_level_tiling" {},
    require "tessera.modules.parallel_vectorize_unroll" {},
  },
  default = ts.space.default "llvm",
}
if not spaces[space] then
  error(("there is no space '%s'; there are tiling and default"):format(space),
        0)
end
program:save(folder .. "/matmul.program")
local start = os.clock()
local sketches = ts.space.sketches(spaces[space], program, "llvm")
local seconds = os.clock() - start
for k, sketch in ipairs(sketches) do
  local f <close> = assert(io.open(("%s/matmul.%d.json"):format(folder, k),
                                   "w"))
  f:write(sketch:json())
end
do
  local f <close> = assert(io.open(folder .. "/seconds", "w"))
  f:write(("%.9f\n"):format(seconds))
end
