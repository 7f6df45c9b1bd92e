-- SPDX-License-Identifier: Apache-2.0
-- Graphs in Lua: built of operators, shapes inferred and checked, and printed.
local ts = require "tessera"
local graph = require "tessera.graph"
local here = arg[0]:gsub("[^/]*$", "")
local check = dofile(here .. "../support/checks.lua")

check.case("shapes are inferred", function()
  local g = graph.new "block"
  local x = g:input("x", { 1, 8, 6, 6 })
  local w = g:constant("w", ts.tensor("float32", { 8, 8, 3, 3 }, "random", 1))
  local b = g:constant("b", ts.tensor("float32", { 8 }, "random", 2))
  local h = g:conv2d_nchw(x, w, { bias = b, pad = 1, act = "relu" })
  local y = g:relu(g:add(x, h), { name = "last" })
  local first, second = g:split(y, { sizes = { 3, 5 }, axis = 1 })
  g:output("first", first)
  g:output("second", second)
  assert(tostring(y.shape[4]) == "6" and y.dtype == "float32")
  assert(second.shape[2] == 5 and second.result == 2)
  assert(rawequal(g:inputs()[1], x))
  local values, names = g:outputs()
  assert(rawequal(values[2], second) and names[2] == "second")
  local n = g:nodes()
  assert(#n == 4 and n[3].op == "relu" and n[3].name == "last")
  assert(n[1].attrs.act == "relu" and n[1].inputs[3] == b.id)
  assert(w:tensor():shape()[4] == 3)
  g:verify()
end)

check.case("sizes keep their names", function()
  local g = graph.new "open"
  local x = g:input("x", { "batch", 4 })
  local y = g:add(g:relu(x), x)
  assert(y.shape[1] == "batch" and y.shape[2] == 4)
  assert(tostring(y):find("float32[batch, 4]", 1, true))
end)

local function refused(text, ...) return check.fails(nil, text, ...) end

check.case("what does not fit is refused", function()
  local g, other = graph.new "wrong", graph.new "other"
  local x, y = g:input("x", { 2, 3 }), other:input("y", { 2, 3 })
  refused("ops.dense: dimension 1 of B is 2", g.dense, g, x,
          g:input("w", { 4, 2 }))
  refused("argument 2 is no value of this graph", g.add, g, x, y)
  refused("'to'", g.reshape, g, x, {})
  refused("an output of a graph is one of its values", g.output, g, "z", 3)
  refused("there is no operator 'no_such'", function() g:no_such(x) end)
  assert(#g:nodes() == 0)
end)

check.case("a node may take many tensors", function()
  local g, parts, given = graph.new "many", {}, {}
  for i = 1, 150 do
    parts[i] = g:input("x" .. i, { 2 })
    given[i] = ts.tensor("float32", { 2 }, "random", i)
  end
  parts[#parts + 1] = { axis = 0 }
  g:output("y", g:concat(table.unpack(parts)))
  local y = graph.model(g):run(given)
  for i, x in ipairs(given) do
    assert(y:get(2 * i - 1) == x:get(1), i)
  end
end)

check.case("weights of a state may be transposed", function()
  local gates = { rnn = 1, gru = 3, lstm = 4 }
  for name, n in pairs(gates) do
    local g = graph.new "recurrent"
    local function input(...) return g:input("x", { ... }) end
    local x, w = input(3, 2, 4), input(2, n * 5, 4)
    local r, bias = input(2, n * 5, 5), input(2, 2 * n * 5)
    local o = { bias = bias, direction = "bidirectional" }
    g:output("plain", (g[name](g, x, w, r, o)))
    o.trans_r = true
    g:output("turned", (g[name](g, x, w, g:transpose(r, { perm = { 0, 2, 1 } }),
                                o)))
    local given = {}
    for i, v in ipairs(g:inputs()) do
      given[i] = ts.tensor("float32", v.shape, "random", i)
    end
    local y = graph.run(g, given)
    assert(y[1]:compare(y[2]) == 0, name)
  end
end)
