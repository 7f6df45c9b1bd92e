-- SPDX-License-Identifier: Apache-2.0
-- Writes the seeds of fuzz_program, to be run where the format of saved
-- programs changes:
--   tessera tests/fuzz/seeds.lua
local ts = require "tessera"
local ops = require "tessera.ops"
local folder = arg[0]:gsub("[^/]*$", "corpus/program/")

ops.matmul { m = 32, n = 32, k = 32, bias = true, relu = true }
  :save(folder .. "matmul")

-- What programs of blocks have and computations have not: conditions, values
-- kept by let, an init, declared contents, a size that is known later.
local b = ts.builder "blocks"
local n = ts.size "n"
local P = b:input("P", { 9 }, "int32", { offsets_into = 40 })
local J = b:input("J", { 40 }, "int32", { range = { 0, 8 }, unique = false })
local A, S = b:input("A", { n, 8 }), b:output("S", { n })
local C = b:output("C", { 8 })
b:loop("i", 0, n, function(i)
  b:loop("k", 0, 8, function(k)
    b:block("sum", { { "vi", extent = n, bind = i },
                     { "vk", "reduce", extent = 8, bind = k } },
            { where = ts.lt(k, 6) }, function(vi, vk)
      b:init(function() b:store(S, { vi }, 0) end)
      b:store(S, { vi }, S(vi) + A(vi, vk))
    end)
  end)
end)
b:loop("i", 0, 8, function(i)
  local from, to = ts.cast(P(i), "int64"), ts.cast(P(i + 1), "int64")
  b:block("zero", { { "vi", extent = 8, bind = i } }, function(vi)
    b:store(C, { vi }, 0)
  end)
  b:loop("k", from, to - from, function(k)
    b:block("row", { { "vi", extent = 8, bind = i },
                     { "vk", "reduce", extent = 40, bind = k } },
            function(vi, vk)
      b:let("x", ts.cast(J(vk), "float32"), function(x)
        b:when(ts.lt(x, 4), function() b:store(C, { vi }, C(vi) + x) end)
      end)
    end)
  end)
end)
b:program():save(folder .. "blocks")
