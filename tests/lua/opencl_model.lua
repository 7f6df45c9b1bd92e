-- SPDX-License-Identifier: Apache-2.0
-- Whole models on a device: PoCL, an OpenCL of processors, gives what the nodes
-- give one by one.  For a card that is not there models are compiled.
local ts = require "tessera"
local graph = require "tessera.graph"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

local function residual()
  local g, n = graph.new "residual", 0
  local function weight(...)
    n = n + 1
    return g:constant("w" .. n, ts.tensor("float32", { ... }, "random", n))
  end
  local x = g:input("x", { 1, 4, 6, 6 })
  local y = g:relu(g:conv2d_nchw(x, weight(4, 4, 3, 3), weight(4),
                                 { pad = 1 }))
  y = g:add(g:conv2d_nchw(y, weight(4, 4, 3, 3), { pad = 1 }), x)
  g:output("y", y)
  y = g:reshape(g:relu(y), { to = { 4, 36 } })
  g:output("rows", g:softmax(y, { axis = -1 }))
  g:output("flat", g:reshape(x, { to = { 144 } }))
  g:output("x", x)
  g:output("w", g:constant("w", ts.tensor("float32", { 3 }, "random", 9)))
  return g
end

local x = ts.tensor("float32", { 1, 4, 6, 6 }, "random", 20)
local want = graph.run(residual(), { x })
local m = graph.model(residual(), { target = "opencl", seed = 1 })
for _ = 1, 2 do
  for i, y in ipairs { m:run { x } } do
    local d = y:compare(want[i])
    assert(d <= 1e-4, ("output %d differs by %g"):format(i, d))
  end
end
assert(#m:times { x } == #m.kernels and m:memory().kernels == #m.kernels)
checks.fails("UNSUPPORTED", "only models of the processor are saved", m.save, m,
             "model.so")

local card = graph.model(residual(), { target = "cuda -arch=sm_80", seed = 1 })
for _, s in ipairs(card.steps) do
  assert(not s[1] or s[1]:source "ptx":find(".target sm_80", 1, true))
end
local ok, e = pcall(card.run, card, { x })
assert(ok or e.code == "UNSUPPORTED", tostring(e))
