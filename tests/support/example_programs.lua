-- SPDX-License-Identifier: Apache-2.0
-- The programs that the primitives' examples are run on.
local ts = require "tessera"

-- A product with a function of it, a chain of two functions, a product with
-- something added, and sums over a padded window: blocks "C" and "D" in all.
local function product()
  local a, b = ts.placeholder("A", { 64, 16 }), ts.placeholder("B", { 16, 32 })
  local k = ts.reduce_axis("k", 16)
  local c = ts.compute("C", { 64, 32 }, function(i, j)
    return ts.sum(a(i, k) * b(k, j), k)
  end)
  local d = ts.compute("D", { 64, 32 }, function(i, j)
    return ts.max(c(i, j), 0)
  end)
  return ts.program("product", { a, b }, { d })
end

local function chain()
  local a = ts.placeholder("A", { 64, 32 })
  local c = ts.compute("C", { 64, 32 }, function(i, j) return a(i, j) + 1 end)
  local d = ts.compute("D", { 64, 32 }, function(i, j) return c(i, j) * 2 end)
  return ts.program("chain", { a }, { d })
end

local function biased()
  local a, b = ts.placeholder("A", { 64, 16 }), ts.placeholder("b", { 64 })
  local k = ts.reduce_axis("k", 16)
  local c = ts.compute("C", { 64 }, function(i) return ts.sum(a(i, k), k) end)
  local d = ts.compute("D", { 64 }, function(i) return c(i) + b(i) end)
  return ts.program("biased", { a, b }, { d })
end

local function window()
  local a = ts.placeholder("A", { 62 })
  local r = ts.reduce_axis("r", 3)
  local c = ts.compute("C", { 66 }, function(i)
    return ts.select(ts.all(ts.le(2, i), ts.lt(i, 64)), a(i - 2), 0)
  end)
  local d = ts.compute("D", { 64 }, function(i) return ts.sum(c(i + r), r) end)
  return ts.program("window", { a }, { d })
end

local function weighted()
  local a = ts.placeholder("A", { 4, 16 })
  local w = ts.placeholder("W", { 16, 8 }, "float32", { role = "layout_free" })
  local k = ts.reduce_axis("k", 16)
  local c = ts.compute("C", { 4, 8 }, function(i, j)
    return ts.sum(a(i, k) * w(k, j), k)
  end)
  return ts.program("weighted", { a, w }, { c })
end

-- The greatest of each row, "M", and a sum that depends on it, "S".
local function extremes()
  local x, w = ts.placeholder("X", { 4, 64 }), ts.placeholder("W", { 4 })
  local k = ts.reduce_axis("k", 64)
  local m = ts.compute("M", { 4 }, function(i)
    return ts.reduce_max(x(i, k), k)
  end)
  local s = ts.compute("S", { 4 }, function(i)
    return ts.sum(ts.exp(x(i, k) - m(i)) / w(i), k)
  end)
  return ts.program("extremes", { x, w }, { s })
end

return {
  product(), chain(), biased(), window(), weighted(), extremes(),
}
