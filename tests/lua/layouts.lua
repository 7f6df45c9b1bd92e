-- SPDX-License-Identifier: Apache-2.0
-- The pass over layouts: between convolutions channels stay in blocks, through
-- what works on images, and nothing that is computed changes.
local ts = require "tessera"
local graph = require "tessera.graph"
local passes = require "tessera.graph.passes"
local here = arg[0]:gsub("[^/]*$", "")
local check = dofile(here .. "../support/checks.lua")

-- Vectors of four elements, so that images may be small.
local target = "llvm -vector-bytes=16"

local seed = 0
local function weight(g, ...)
  seed = seed + 1
  return g:constant("w" .. seed, ts.tensor("float32", { ... }, "random", seed))
end

local function conv(g, x, co, k, o)
  o = o or {}
  o.pad, o.bias = o.pad or k // 2, weight(g, co)
  return g:conv2d_nchw(x, weight(g, co, x.shape[2] // (o.groups or 1), k, k), o)
end

local function close(a, b)
  local _, relative = a:compare(b)
  assert(relative < 1e-4, relative)
end

-- How many nodes there are of each operator.
local function count(g)
  local n = setmetatable({}, { __index = function() return 0 end })
  for _, node in ipairs(g:nodes()) do n[node.op] = n[node.op] + 1 end
  return n
end

-- The operators after all passes, none of which changes what comes out.
local function after(g)
  local shape = g:inputs()[1].shape
  local x = ts.tensor("float32", shape, "random", 7)
  local want = graph.run(g, { x })
  passes.run(g, { target = target, after = function(name, h)
    for i, now in ipairs(graph.run(h, { x })) do
      local ok, e = pcall(close, now, want[i])
      assert(ok, name .. ": " .. tostring(e))
    end
  end })
  return count(g)
end

-- f makes, of an image of 16 channels that a convolution gives, one that
-- another takes.
local function between(f, side, ...)
  local g = graph.new "between"
  local x = g:input("x", { 1, 3, side or 9, side or 9 })
  local y = f(g, conv(g, x, 16, 3), ...)
  g:output("y", conv(g, conv(g, y, 16, 3), 8, 3))
  return g
end

local function stays_in_blocks(f, ...)
  local n = after(between(f, ...))
  assert(n.conv2d_nchwc >= 3 and n.conv2d_nchw == 0)
  assert(n.transpose == 2, "images are converted " .. n.transpose .. " times")
  return n
end

check.case("through operators element by element", function()
  stays_in_blocks(function(g, x)
    local y = g:relu(g:add(conv(g, g:relu(x), 16, 3), x))
    y = g:mul(g:sigmoid(y), weight(g, 16, 1, 1))
    return g:minimum(y, g:constant("six", ts.tensor("float32", { 1 }, { 0.4 })))
  end)
end)

check.case("through pools, borders and other sizes", function()
  local n = stays_in_blocks(function(g, x)
    local y = g:max_pool2d(x, { k = 3, stride = 2, pad = 1 })
    y = g:resize2d(y, { oh = 10, ow = 10, mode = "bilinear" })
    y = g:pad(y, { before = { 0, 0, 1, 0 }, after = { 0, 0, 0, 1 } })
    y = g:avg_pool2d(g:relu(y), { k = 2, stride = 2 })
    return g:resize(y, { to = { 1, 16, 10, 10 }, mode = "linear" })
  end)
  assert(n.max_pool2d == 1 and n.resize == 1)
end)

check.case("through parts of channels", function()
  local n = stays_in_blocks(function(g, x)
    local a, b = g:split(x, { sizes = { 4, 12 }, axis = 1 })
    local c = g:slice(x, { begin = { 0, 8, 0, 0 }, stop = { 1, 16, 9, 9 } })
    return g:concat(g:relu(a), conv(g, b, 8, 1), c, { axis = 1 })
  end)
  assert(n.split == 1 and n.slice == 1 and n.concat == 1)
end)

check.case("of channels by themselves", function()
  local n = stays_in_blocks(function(g, x)
    local y = g:relu(conv(g, x, 16, 3, { groups = 16 }))
    local s = g:global_pool2d(y, {})
    s = g:sigmoid(conv(g, g:relu(conv(g, s, 4, 1)), 16, 1))
    return g:mul(y, s)
  end)
  assert(n.depthwise_conv2d_nchwc == 1)
end)

check.case("channels that fill no block are followed by others", function()
  stays_in_blocks(function(g, x)
    local y = g:div(conv(g, x, 14, 3), weight(g, 14, 1, 1))
    y = g:add(conv(g, g:relu(y), 14, 3), y)
    return conv(g, y, 14, 3, { groups = 14 })
  end)
  -- Those would not be finite.
  local n = after(between(function(g, x)
    return g:reciprocal(g:add(g:square(conv(g, x, 14, 3)),
                              g:constant("one", ts.tensor("float32", { 1 },
                                                          { 1 }))))
  end))
  assert(n.slice == 1 and n.conv2d_nchwc == 4)
end)

check.case("means of images are of channels again", function()
  local g = graph.new "means"
  local x = conv(g, g:input("x", { 2, 3, 9, 9 }), 14, 3)
  local y = g:reduce(conv(g, x, 14, 3), { op = "mean", axes = { 2, -1 } })
  g:output("y", g:dense(y, weight(g, 5, 14), { bias = false }))
  local n = after(g)
  assert(n.conv2d_nchwc == 2 and n.transpose == 1, n.transpose)
end)

check.case("what blocks do not pay for stays as it is", function()
  local g = graph.new "alone"
  local x = g:input("x", { 1, 6, 8, 8 })
  g:output("y", conv(g, x, 3, 1))
  g:output("z", conv(g, g:relu(x), 6, 3, { groups = 2 }))
  local n = after(g)
  assert(n.conv2d_nchw == 2 and n.transpose == 0)
end)

check.case("extents that are not known yet stay", function()
  local g = graph.new "symbolic"
  local x = conv(g, g:input("x", { "batch", 8, 8, 8 }), 8, 3)
  g:output("y", conv(g, g:relu(x), 8, 3))
  passes.run(g, { target = target })
  assert(count(g).conv2d_nchw == 2)
end)

check.case("a model in blocks gives what its nodes give", function()
  local g = between(function(g, x)
    local y = g:relu(conv(g, x, 16, 3, { groups = 16 }))
    return g:max_pool2d(conv(g, y, 14, 1), { k = 2 })
  end, 12)
  local x = ts.tensor("float32", { 1, 3, 12, 12 }, "random", 3)
  local want = graph.run(g, { x })[1]
  close(ts.model(g, { seed = 1, target = target }):run { x }, want)
end)
