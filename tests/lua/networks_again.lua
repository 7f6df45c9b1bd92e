-- SPDX-License-Identifier: Apache-2.0
-- Models of graphs that are models already, and graphs that are none: what
-- `graph.model` leaves as it is.
local ts = require "tessera"
local graph = require "tessera.graph"
local here = arg[0]:gsub("[^/]*$", "")
local check = dofile(here .. "../support/checks.lua")

-- Two products, of which the first is one kernel with what follows it.
local function products()
  local g = graph.new "products"
  local function weight(seed)
    return g:constant("w", ts.tensor("float32", { 8, 8 }, "random", seed))
  end
  local h = g:relu(g:matmul(g:input("x", { 4, 8 }), weight(1)))
  g:output("y", g:softmax(g:matmul(h, weight(2)), { axis = -1 }))
  return g
end

local function close(a, b)
  local _, relative = a:compare(b)
  assert(relative < 1e-4, relative)
end

check.case("a model is tuned again as it is", function()
  local x = ts.tensor("float32", { 4, 8 }, "random", 3)
  local first = graph.model(products())
  local text, want = tostring(first), first:run { x }
  local again = graph.model(first.graph, {
    trials = 6, batch = 3, seed = 1, measure = function() return 1e-3 end })
  assert(tostring(first) == text and tostring(again) == text)
  assert(#again.results == #again.kernels and again.results.trials == 6)
  assert(#first.results == #first.kernels and first.results.trials == 0)
  close(again:run { x }, want)
  close(first:run { x }, want)
end)

local function refused(g, message)
  local before = tostring(g)
  local ok, e = pcall(graph.model, g)
  assert(not ok and e.code == "INVALID" and
         e.message:find(message, 1, true), e.message)
  assert(tostring(g) == before)
end

check.case("what has no programs is refused, and stays as it was", function()
  refused(ts.read_onnx(here .. "../data/onnx/parts.onnx"),
          "node 'conv' of graph parts: there is no operator 'onnx.Conv'")
  local g = graph.new "open"
  g:output("y", g:relu(g:input("x", { 2, "n" })))
  refused(g, "dimension 1 of input x of graph open is of size 'n'")
end)
