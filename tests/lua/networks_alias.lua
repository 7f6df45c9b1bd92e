-- SPDX-License-Identifier: Apache-2.0
-- Networks on tensors that share memory.
local ts = require "tessera"
local graph = require "tessera.graph"
local here = arg[0]:gsub("[^/]*$", "")
local check = dofile(here .. "../support/checks.lua")

check.case("outputs share memory with nothing", function()
  local g = graph.new "shared"
  local x, w = g:input("x", { 4 }), g:input("w", { 4 })
  local y = g:relu(x)
  g:output("y", y)
  g:output("z", g:mul(g:add(y, x), w))
  local net = graph.model(g, { without = { fuse = true } }).network
  local function tensor(list) return ts.tensor("float32", { 4 }, list) end
  local a, b = tensor { -1, 2, -3, 4 }, tensor { 0, 0, 0, 0 }
  check.fails("INVALID", "input 'x' and output 'y' of graph shared share " ..
              "memory: pass another tensor for the output", net.run, net,
              { a, b, a, tensor { 0, 0, 0, 0 } })
  check.fails("INVALID", "input 'w' and output 'z'", net.run, net,
              { a, b, tensor { 0, 0, 0, 0 }, b })
  check.fails("INVALID", "output 'y' and output 'z'", net.run, net,
              { a, a, b, b })
  local z = tensor { 0, 0, 0, 0 }
  net:run { a, a, b, z } -- inputs may be one tensor
  assert(z:get(0) == 1 and z:get(1) == 8 and z:get(3) == 32)
end)
