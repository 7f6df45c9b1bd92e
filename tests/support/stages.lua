-- SPDX-License-Identifier: Apache-2.0
-- Small programs of a few stages, and the loops of one.
local ts = require "tessera"

local function product()
  local A, B = ts.placeholder("A", { 16, 32 }), ts.placeholder("B", { 32, 24 })
  local k = ts.reduce_axis("k", 32)
  local C = ts.compute("C", { 16, 24 }, function(i, j)
    return ts.sum(A(i, k) * B(k, j), k)
  end)
  local D = ts.compute("D", { 16, 24 }, function(i, j)
    return ts.max(C(i, j), 0)
  end)
  return ts.program("product", { A, B }, { D })
end

local function chain()
  local A = ts.placeholder("A", { 16, 24 })
  local B = ts.compute("B", { 16, 24 }, function(i, j) return A(i, j) * 2 end)
  local C = ts.compute("C", { 16, 24 }, function(i, j) return B(i, j) + 1 end)
  local D = ts.compute("D", { 16, 24 }, function(i, j)
    return C(i, j) * B(i, j)
  end)
  return ts.program("chain", { A }, { D })
end

local function stencil()
  local A = ts.placeholder("A", { 20 })
  local B = ts.compute("B", { 20 }, function(i) return A(i) * 2 end)
  local C = ts.compute("C", { 18 }, function(i)
    return B(i) + B(i + 1) + B(i + 2)
  end)
  return ts.program("stencil", { A }, { C })
end

local function loops(s, block) return s:get_loops(s:get_block(block)) end

return { product = product(), chain = chain(), stencil = stencil(),
         loops = loops }
