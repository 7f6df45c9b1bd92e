-- SPDX-License-Identifier: Apache-2.0
-- Reductions that several iterations of a loop continue although no iter is
-- bound to it: by a bound, a predicate or moving results.  Readers in the loop
-- see partial results.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local legal, illegal = checks.legal, checks.illegal

-- C, the sum of A, by the points that `part(b, t, point)` gives to iteration t,
-- B = 3 * C there, and D that copies B.
local function parts(part)
  local b = ts.builder "parts"
  local A, C = b:input("A", { 4 }, "int32"), b:output("C", { 1 }, "int32")
  local D, B = b:output("D", { 2 }, "int32"), b:buffer("B", { 2 }, "int32")
  b:loop("t", 0, 2, function(t)
    part(b, t, function(r, where)
      b:block("C", { { "u", "reduce", extent = 4, bind = r } },
              { where = where }, function(u)
        b:init(function() b:store(C, { 0 }, 0) end)
        b:store(C, { 0 }, C(0) + A(u))
      end)
    end)
    b:block("B", { { "w", extent = 2, bind = t } }, function(w)
      b:store(B, { w }, C(0) * 3)
    end)
  end)
  b:loop("x", 0, 2, function(x)
    b:block("D", { { "v", extent = 2, bind = x } }, function(v)
      b:store(D, { v }, B(v))
    end)
  end)
  return b:program()
end
local function at_consumer(s)
  s:compute_at(s:get_block "B", (s:get_loops(s:get_block "D")))
end
local function inline(s) s:compute_inline(s:get_block "B") end

for _, part in ipairs {
  function(b, t, point) b:loop("r", 2 * t, 2, point) end,
  function(b, t, point) b:loop("r", 0, 2 * t + 2, point) end,
  function(b, t, point)
    b:loop("r", 0, 4, function(r) point(r, ts.eq(r // 2, t)) end)
  end,
} do
  illegal(parts(part), "INPUT_OVERWRITTEN", at_consumer)
  illegal(parts(part), "INPUT_OVERWRITTEN", inline)
end
-- Each iteration reduces all again.
local function all(b, _, point) b:loop("r", 0, 4, point) end
legal(parts(all), at_consumer)
legal(parts(all), inline)

-- C[t - j] gets its part number j in iteration t.
local function window(b, A, C, t, first)
  b:loop("j", 0, 2, function(j)
    b:loop("k", 0, 2, function(k)
      b:block("C", { { "v", extent = 4 + first, bind = t + first - j },
                     { "u", "reduce", extent = 4, bind = 2 * j + k } },
              { where = ts.le(first, t + first - j) }, function(v, u)
        b:init(function() b:store(C, { v }, 0) end)
        b:store(C, { v }, C(v) + A(v, u))
      end)
    end)
  end)
end

-- The producer that moves, and the one that a consumer comes to.
do
  local b = ts.builder "made"
  local A, D = b:input("A", { 5, 4 }, "int32"), b:output("D", { 4 }, "int32")
  local C = b:buffer("C", { 5 }, "int32")
  b:loop("t", 0, 4, function(t)
    window(b, A, C, t, 1)
    b:loop("w", 0, 1, function(w)
      b:block("D", { { "v", extent = 4, bind = t + w } }, function(v)
        b:store(D, { v }, C(v + 1))
      end)
    end)
  end)
  illegal(b:program(), "BLOCK_PARTIAL", function(s)
    local _, w = s:get_loops(s:get_block "D")
    s:compute_at(s:get_block "C", w)
  end)
end
do
  local b = ts.builder "read"
  local A, D = b:input("A", { 4, 4 }, "int32"), b:output("D", { 4 }, "int32")
  local C = b:output("C", { 4 }, "int32")
  b:loop("t", 0, 4, function(t) window(b, A, C, t, 0) end)
  b:loop("w", 1, 3, function(w)
    b:block("D", { { "v", extent = 4, bind = w } }, function(v)
      b:store(D, { v }, C(v - 1) + C(v))
    end)
  end)
  illegal(b:program(), "NOT_COVERED", function(s)
    s:reverse_compute_at(s:get_block "D", (s:get_loops(s:get_block "C")))
  end)
end

-- Tiles that overlap make what they share as a whole, each for itself.
for by = 4, 5 do
  local b = ts.builder "tiles"
  local A, D = b:input("A", { 9, 4 }, "int32"), b:output("D", { 8 }, "int32")
  local C = b:buffer("C", { 9 }, "int32")
  b:loop("t", 0, 2, function(t)
    b:loop("i", 0, 5, function(i)
      b:loop("r", 0, 4, function(r)
        b:block("C", { { "v", extent = 9, bind = t * 4 + i },
                       { "u", "reduce", extent = 4, bind = r } },
                { where = by == 5 and ts.lt(i + r, 7 + t) or nil },
                function(v, u)
          b:init(function() b:store(C, { v }, 0) end)
          b:store(C, { v }, C(v) + A(v, u))
        end)
      end)
    end)
  end)
  b:loop("w", 0, 8, function(w)
    b:block("D", { { "v", extent = 8, bind = w } }, function(v)
      b:store(D, { v }, C(v) * 3 + C(v + 1))
    end)
  end)
  local function to_tile(s)
    s:reverse_compute_at(s:get_block "D", (s:get_loops(s:get_block "C")))
  end
  if by == 4 then
    legal(b:program(), to_tile)
  else
    illegal(b:program(), "NOT_COVERED", to_tile)
  end
end

-- D goes to what makes B; E reads of D what there is.
do
  local b = ts.builder "between"
  local A, D = b:input("A", { 4 }, "int32"), b:output("D", { 4 }, "int32")
  local E, B = b:output("E", { 4 }, "int32"), b:buffer("B", { 4 }, "int32")
  b:loop("z", 0, 4, function(z)
    b:block("P", { { "v", extent = 4, bind = z } }, function(v)
      b:store(B, { v }, A(v) * 3)
    end)
  end)
  b:loop("t", 0, 4, function(t)
    b:loop("j", 0, 2, function(j)
      b:loop("k", 0, 2, function(k)
        b:block("D", { { "v", extent = 4, bind = t - j },
                       { "u", "reduce", extent = 4, bind = 2 * j + k } },
                { where = ts.le(j, t) }, function(v, u)
          b:init(function() b:store(D, { v }, 0) end)
          b:store(D, { v }, D(v) + B(u))
        end)
      end)
    end)
    b:block("E", { { "w", extent = 4, bind = t } }, function(w)
      b:store(E, { w }, D(w) * 3)
    end)
  end)
  illegal(b:program(), "BLOCK_PARTIAL", function(s)
    s:reverse_compute_at(s:get_block "D", (s:get_loops(s:get_block "P")))
  end)
end
