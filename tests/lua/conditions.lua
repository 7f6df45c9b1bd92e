-- SPDX-License-Identifier: Apache-2.0
-- Conditions and names that stand around blocks: what they decide, primitives
-- keep or refuse to change.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local legal, illegal = checks.legal, checks.illegal

-- Sums of A's rows, less those that a condition leaves as they are: around the
-- inner loop, or around the block.
local function sums(inside)
  local b = ts.builder("sums")
  local A, C = b:input("A", { 4, 8 }), b:inout("C", { 4 })
  b:loop("i", 0, 4, function(i)
    local function when(f) b:when(ts.lt(i, 3), f) end
    local function block(k)
      local iters = { { "v", extent = 4, bind = i },
                      { "u", "reduce", extent = 8, bind = k } }
      b:block("C", iters, function(v, u)
        b:init(function() b:store(C, { v }, 0) end)
        b:store(C, { v }, C(v) + A(v, u))
      end)
    end
    local function loop()
      b:loop("k", 0, 8, function(k)
        if inside then when(function() block(k) end) else block(k) end
      end)
    end
    if inside then loop() else when(loop) end
  end)
  return b:program()
end

for _, inside in ipairs { false, true } do
  local p = sums(inside)
  local function at(s, k) return s[k](s, s:get_block "C") end
  illegal(p, "OTHER_STATEMENT", function(s)
    s:rfactor(select(2, at(s, "get_loops")), 0)
  end)
  illegal(p, "OTHER_STATEMENT", function(s)
    s:decompose_reduction(s:get_block "C", (at(s, "get_loops")))
  end)
end
-- The init goes right before the loop, below the condition.
legal(sums(false), function(s)
  local c = s:get_block "C"
  s:decompose_reduction(c, select(2, s:get_loops(c)))
end)

-- A buffer of threads that a condition keeps from being run lives in a loop
-- around it.
do
  local b = ts.builder("threads")
  local A, D = b:input("A", { 3, 2 }), b:output("D", { 3 })
  local T = b:buffer("T", { 3, 2 })
  b:loop("i", 0, 3, function(i)
    b:when(ts.lt(A(i, 0), 3), function()
      b:loop("k", 0, 2, function(k)
        local iters = { { "v", extent = 3, bind = i },
                        { "u", extent = 2, bind = k } }
        b:block("T", iters, function(v, u)
          b:store(T, { v, u }, A(v, u) + 1)
        end)
      end)
    end)
    b:block("D", { { "v", extent = 3, bind = i } }, function(v)
      b:store(D, { v }, A(v, 1) + 1)
    end)
  end)
  legal(b:program(), function(s)
    s:bind(select(2, s:get_loops(s:get_block "T")), "threadIdx.x")
  end)
end

-- A name for a loop's variable stays in its range where a split runs further,
-- and where loops are fused.
for n = 1, 7, 3 do
  local b = ts.builder("named")
  local A, D = b:input("A", { n, 2 }), b:inout("D", { n, 2 })
  b:loop("i", 0, n, function(i)
    b:loop("j", 0, 2, function(j)
      b:let("z", i, function(z)
        local iters = { { "v", extent = n, bind = z },
                        { "u", extent = 2, bind = j } }
        b:block("D", iters, function(v, u)
          b:store(D, { v, u }, D(v, u) + A(v, u))
        end)
      end)
    end)
  end)
  local p = b:program()
  legal(p, function(s)
    local i, j = s:get_loops(s:get_block "D")
    s:split(i, { ts.auto, 4 })
    s:split(j, { ts.auto, 3 })
  end)
  legal(p, function(s)
    local i, j = s:get_loops(s:get_block "D")
    s:split(s:fuse(i, j), { ts.auto, 5 })
  end)
end
