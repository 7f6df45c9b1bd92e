-- SPDX-License-Identifier: Apache-2.0
-- Times the layer of examples/bert_dense.lua, 1024 x 4096 x 1024 in float16
-- with GELU, by its schedule by hand on the card of this machine, and compares
-- it with the same computation in another schedule:
--   tessera bench/gpu/bert.lua
local ts = require "tessera"
local here = arg[0]:gsub("[^/]*$", "")
local f <close> = assert(io.open(here .. "../../examples/bert_dense.lua"))
local source = f:read "a":match "^(.-)%-%- At its real size"
local dense, schedule, tensorize =
  load(source .. "\nreturn dense, schedule, tensorize")()
local target = ts.target "cuda"
local I, J, K = 1024, 4096, 1024
local large = dense(I, J, K)
local X = ts.tensor("float16", { I, K }, "random", 1)
local W = ts.tensor("float16", { J, K }, "random", 2)
local bias = ts.tensor("float16", { J }, "random", 3)

local function run(tiles)
  local sch = ts.schedule(large)
  schedule(sch, tiles)
  tensorize(sch)
  local kernel = ts.build(sch, target)
  local y = ts.tensor("float16", { I, J }, "zeros")
  kernel(X, W, bias, y)
  local time = kernel:time({ X, W, bias, y }, { min_time = 0.01 })
  return y, type(time) == "table" and time.median or time
end

local y, time = run { i = { 8, 1, 2, 2, 2 }, j = { 1, 32, 4, 2, 1 },
                      k = { 32, 2, 1 } }
local z = run { i = { 8, 2, 2, 2, 1 }, j = { 4, 16, 2, 2, 1 },
                k = { 16, 2, 2 } }
local _, most = y:compare(z)
print(('{"figure": "tflops", "value": %.2f, "unit": "TFLOP/s", ' ..
       '"op": "bert_dense", "us": %.1f, "difference": %g}')
      :format(2 * I * J * K / time / 1e12, time * 1e6, most))
