-- SPDX-License-Identifier: Apache-2.0
-- What layouts of images gain: layers of ResNet-50 and MobileNet-v2 with
-- channels second, last and in blocks of 16, tuned, and timed interleaved.
--   build/bin/tessera bench/models/layouts.lua [TRIALS [NUMBER-OF-LAYER ..]]
local ts = require "tessera"
local graph = require "tessera.graph"
local program = require "tessera.graph.program"

local layers = { -- side, channels in and out, window, stride; out 0: depthwise
  { 28, 128, 128, 3, 1 }, { 14, 1024, 256, 1, 1 }, { 56, 64, 256, 1, 1 },
  { 28, 32, 192, 1, 1 }, { 14, 576, 96, 1, 1 }, { 56, 144, 0, 3, 1 },
  { 14, 384, 0, 3, 1 }, { 112, 96, 0, 3, 2 },
}
local BLOCK = 16

local function images(layout, h, c)
  if layout == "NCHW" then return { 1, c, h, h } end
  if layout == "NHWC" then return { 1, h, h, c } end
  return { 1, c // BLOCK, h, h, BLOCK }
end

local function dense_weights(layout, ci, co, k)
  if layout == "NCHW" then return { co, ci, k, k } end
  if layout == "NHWC" then return { k, k, ci, co } end
  return { co // BLOCK, ci // BLOCK, k, k, BLOCK, BLOCK }
end

local function own_weights(layout, c, k)
  if layout == "NCHW" then return { c, 1, k, k } end
  if layout == "NHWC" then return { k, k, c } end
  return { c // BLOCK, k, k, BLOCK }
end

local function operator(layout, is_dense)
  if is_dense or layout == "NCHW" then return "conv2d_" .. layout:lower() end
  return "depthwise_conv2d_" .. layout:lower()
end

-- Convolution, bias and ReLU, of weights that may be laid out anew.
local function layer(layout, h, ci, co, k, stride)
  local g, is_dense = graph.new(layout), co > 0
  if co == 0 then co = ci end
  local x = g:input("x", images(layout, h, ci))
  local w = g:constant("w", ts.tensor("float32", is_dense and
    dense_weights(layout, ci, co, k) or own_weights(layout, ci, k), "random"))
  local b = g:constant("b", ts.tensor("float32", layout == "NCHWC" and
    { co // BLOCK, BLOCK } or { co }, "random"))
  local o = { stride = stride, pad = k // 2, bias = b }
  if not is_dense and layout == "NCHW" then o.groups = ci end
  local y = g:relu(g[operator(layout, is_dense)](g, x, w, o))
  return (program.of(g, g:nodes(), function(id) return id == y.id end,
                     "layout_free"))
end

local function arguments(p)
  local list = {}
  for i, t in ipairs(p:params()) do
    list[i] = ts.tensor(t.dtype, t.shape, "random", i)
  end
  return list
end

-- The least of seven times of each, which take turns.
local function times(kernels)
  local least = {}
  for _ = 1, 7 do
    for i, k in ipairs(kernels) do
      local t = k.kernel:time(k.arguments, { min_time = 0.01 }).min
      least[i] = math.min(least[i] or t, t)
    end
  end
  return least
end

local chosen = { table.unpack(arg, 2) }
for i = 1, #chosen > 0 and 0 or #layers do chosen[i] = i end
print "layer                         NCHW ms  NHWC ms  blocks ms"
for _, i in ipairs(chosen) do
  local l, kernels = layers[math.tointeger(i)], {}
  for k, layout in ipairs { "NCHW", "NHWC", "NCHWC" } do
    local p = layer(layout, table.unpack(l))
    local result = ts.tune(p, { trials = math.tointeger(arg[1] or 32), seed = 1,
                                min_time = 0.01 })
    kernels[k] = { kernel = result.kernel, arguments = arguments(p) }
  end
  local t = times(kernels)
  print(("%d x %d, %d to %d, k %d, stride %d"):format(l[1], l[1], l[2], l[3],
                                                      l[4], l[5]),
        ("%.4f  %.4f  %.4f"):format(t[1] * 1e3, t[2] * 1e3, t[3] * 1e3))
end
