-- SPDX-License-Identifier: Apache-2.0
-- A description to be tuned:
--   tessera tune examples/matmul.lua --trials 64
local ts = require "tessera"

local M, N, K = 512, 512, 512
local A = ts.placeholder("A", { M, K })
local B = ts.placeholder("B", { K, N })
local k = ts.reduce_axis("k", K)
local C = ts.compute("C", { M, N }, function(i, j)
  return ts.sum(A(i, k) * B(k, j), k)
end)
return ts.program("matmul", { A, B }, { C })
