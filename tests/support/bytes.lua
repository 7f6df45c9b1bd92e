-- SPDX-License-Identifier: Apache-2.0
-- Products of bytes, added up in 32 bits: `types` of A and B as in "u8s8".
local ts = require "tessera"
local full = { u8 = "uint8", s8 = "int8" }

return function(types, m, n, k)
  local A = ts.placeholder("A", { m, k }, full[types:sub(1, 2)])
  local B = ts.placeholder("B", { n, k }, full[types:sub(3, 4)])
  local acc = types == "u8u8" and "uint32" or "int32"
  local kk = ts.reduce_axis("k", k)
  local C = ts.compute("C", { m, n }, function(i, j)
    return ts.sum(ts.cast(A(i, kk), acc) * ts.cast(B(j, kk), acc), kk)
  end)
  return ts.program("bytes", { A, B }, { C })
end
