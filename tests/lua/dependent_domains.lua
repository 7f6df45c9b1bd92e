-- SPDX-License-Identifier: Apache-2.0
-- Blocks whose iters have domains that depend on an enclosing loop.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

-- C[i, j] = A[i, j] * 2 for j up to i.
local function stairs(n)
  local b = ts.builder("stairs")
  local A, C = b:input("A", { n, n }), b:output("C", { n, n })
  b:loop("i", 0, n, function(i)
    b:loop("j", 0, i + 1, function(j)
      b:block("C", { { "i", extent = n, bind = i },
                     { "j", extent = i + 1, bind = j } }, function(vi, vj)
        b:store(C, { vi, vj }, A(vi, vj) * 2)
      end)
    end)
  end)
  return b:program()
end

-- A split whose overhang is guarded does not change the block's domain.
for _, factors in ipairs { { 2, 2 }, { 4, 2 }, { ts.auto, 8 }, { 8, 2 } } do
  local p = stairs(3)
  local s = ts.schedule(p)
  s:split(s:get_loops(s:get_block "C"), factors)
  checks.same(s, p)
end

-- A new nest would lack the loop that the domain depends on.
checks.illegal(stairs(4), "DEPENDENT_LOOP", function(s)
  s:transform_block_layout(s:get_block "C", function(i, j) return i, j end)
end)

-- After a reorder the domain depends on the inner loop: it is unknown to a
-- block made around that, and contained in one around both.
do
  local p = stairs(3)
  checks.illegal(p, "NOT_DIVISIBLE", function(s)
    local i, j = s:get_loops(s:get_block "C")
    s:reorder(j, i)
    s:blockize(i)
  end)
  checks.legal(p, function(s)
    local i, j = s:get_loops(s:get_block "C")
    s:reorder(j, i)
    s:blockize(j)
  end)
  checks.legal(p, function(s)
    s:blockize((select(2, s:get_loops(s:get_block "C"))))
  end)
end
