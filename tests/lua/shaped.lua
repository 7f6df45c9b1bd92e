-- SPDX-License-Identifier: Apache-2.0
-- Loops that bind no reduce iter but determine a reduction's domain, by a
-- bound, a predicate or a condition.
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
-- of them is the last for a result determines its value.
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

-- A sum that D reads, or the sum D of what P makes, of points that run more
-- than once: elsewhere each would be added once.
local function moved(sums, block)
  local b = ts.builder "moved"
  local A, D = b:input("A", { 2, 4 }, "int32"), b:output("D", { 2 }, "int32")
  local C = b:buffer("C", sums and { 2 } or { 2, 4 }, "int32")
  local function sum(from, to)
    return function(i, k, where)
      b:block("sum", { { "v", extent = 2, bind = i },
                       { "u", "reduce", extent = 4, bind = k } },
              { where = where }, function(v, u)
        b:init(function() b:store(to, { v }, 0) end)
        b:store(to, { v }, to(v) + from(v, u))
      end)
    end
  end
  if sums then
    block(b, sum(A, C))
    b:loop("j", 0, 2, function(j)
      b:block("D", { { "v", extent = 2, bind = j } }, function(v)
        b:store(D, { v }, C(v))
      end)
    end)
  else
    b:loop("x", 0, 2, function(x)
      b:loop("y", 0, 4, function(y)
        b:block("P", { { "v", extent = 2, bind = x },
                       { "w", extent = 4, bind = y } }, function(v, w)
          b:store(C, { v, w }, A(v, w))
        end)
      end)
    end)
    block(b, sum(C, D))
  end
  return b:program()
end

local function under_consumer(s)
  s:compute_at(s:get_block "sum", (s:get_loops(s:get_block "D")))
end
local function under_producer(s)
  s:reverse_compute_at(s:get_block "sum", (s:get_loops(s:get_block "P")))
end

-- The loops i, r and t in that order, with the point that they reach.
local function loops(order, point, where)
  local extent = { i = 2, r = 4, t = 2 }
  return function(b, block)
    local at = {}
    local function go(k)
      local name = order:sub(k, k)
      if name == "" then return block(at.i, point(at), where and where(at)) end
      b:loop(name, 0, extent[name], function(v)
        at[name] = v
        go(k + 1)
      end)
    end
    go(1)
  end
end
local function by_r(at) return at.r end
local repeated = {
  loops("irt", by_r),
  loops("irt", function(at) return at.r // 2 + at.t end),
  loops("itr", function(at) return at.r // 2 + at.t end),
}
for _, nest in ipairs(repeated) do
  illegal(moved(true, nest), "NOT_INJECTIVE", under_consumer)
  illegal(moved(false, nest), "NOT_INJECTIVE", under_producer)
end

-- The second run goes on from the middle of the first one.
local function later(at) return ts.le(at.t, at.r) end
illegal(moved(true, loops("itr", by_r, later)), "NOT_INJECTIVE",
        under_consumer)

-- What runs again from the start, as a whole, is the same once.
legal(moved(true, loops("itr", by_r)), under_consumer)
legal(moved(true, loops("tir", by_r)), under_consumer)
legal(moved(false, loops("itr", by_r)), under_producer)
