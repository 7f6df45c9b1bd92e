-- SPDX-License-Identifier: Apache-2.0
-- What bench/gpu runs where there is a card: products of float16 matrices with
-- sums in float32, tuned, one figure a line.
local ts = require "tessera"
local quick = arg[1] == "--quick"
local target = ts.target "cuda"
local space = ts.space.default(target)

local function product(n)
  local A = ts.placeholder("A", { n, n }, "float16")
  local B = ts.placeholder("B", { n, n }, "float16")
  local k = ts.reduce_axis("k", n)
  local C = ts.compute("C", { n, n }, function(i, j)
    return ts.sum(ts.cast(A(i, k), "float32") * ts.cast(B(k, j), "float32"), k)
  end)
  return ts.program("product", { A, B }, { C })
end

for _, n in ipairs(quick and { 1024 } or { 1024, 2048, 4096 }) do
  local r = ts.tune(product(n), { target = target, space = space,
                                  trials = quick and 32 or 512, seed = 1 })
  print(('{"figure": "tflops", "value": %.2f, "unit": "TFLOP/s", ' ..
         '"op": "gemm", "n": %d, "dtype": "float16", "target": "%s"}')
        :format(r.gflops / 1000, n, tostring(target)))
end
