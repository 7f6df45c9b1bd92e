-- SPDX-License-Identifier: Apache-2.0
-- Loops that drive no reduce iter may yet shape a reduction: a bound, a
-- predicate or a condition says which points are reduced in their iterations.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local legal, illegal = checks.legal, checks.illegal

-- C[v] = the sum of A[u], reduced by `block(v, u, where)` of `nest`, which
-- makes the loops.
local function summed(results, points, nest)
  local b = ts.builder "summed"
  local A, C = b:input("A", { points }, "int32"),
               b:inout("C", { results }, "int32")
  nest(b, function(i, k, where)
    b:block("C", { { "v", extent = results, bind = i },
                   { "u", "reduce", extent = points, bind = k } },
            { where = where }, function(v, u)
      b:init(function() b:store(C, { v }, 0) end)
      b:store(C, { v }, C(v) + A(u))
    end)
  end)
  return b:program()
end

local function swap(s)
  local x, y = s:get_loops(s:get_block "C")
  s:reorder(y, x)
end

-- t shapes what r runs over: `each` iterations of i reduce into one result,
-- once from its start and once from its middle.
local function shaped(how, each)
  return summed(4 // each, 4, function(b, block)
    b:loop("i", 0, 4, function(i)
      b:loop("t", 0, 2, function(t)
        local least = how == "bound" and t or 0
        b:loop("r", least, 4 - least, function(r)
          local there = ts.le(t, r)
          if how == "condition" then
            b:when(there, function() block(i // each, r) end)
          else
            block(i // each, r, how == "predicate" and there or nil)
          end
        end)
      end)
    end)
  end)
end
for _, how in ipairs { "bound", "predicate", "condition" } do
  illegal(shaped(how, 2), "NOT_INJECTIVE", swap)
  legal(shaped(how, 1), swap)
end

-- A condition on i that the reduction has its part in: its results may be
-- moved, but not their iterations that reduce other points.
local function tied(by)
  return summed(4, 4, function(b, block)
    b:loop("i", 0, 4, function(i)
      b:loop("y", 0, 4, function(y)
        b:loop("r", 0, 4, function(r)
          b:when(ts.le(by(i), r), function()
            block(i // 2 * 2 + y // 2, r)
          end)
        end)
      end)
    end)
  end)
end
illegal(tied(function(i) return i % 2 end), "NOT_INJECTIVE", swap)
legal(tied(function() return 0 end), swap)

-- One iteration of b runs each point twice in turn, the other one once: which
-- of them is the last for a result tells what stays.
for _, again in ipairs { false, true } do
  local p = summed(3, 4, function(b, block)
    b:loop("a", 0, 2, function(x)
      b:loop("b", 0, 2, function(y)
        b:loop("r", 0, 4, function(r)
          b:loop("x", 0, again and y + 1 or 1, function() block(x + y, r) end)
        end)
      end)
    end)
  end)
  if again then illegal(p, "NOT_INJECTIVE", swap) else legal(p, swap) end
end
