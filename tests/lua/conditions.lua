-- SPDX-License-Identifier: Apache-2.0
-- Conditions and lets around blocks, and indirect indices: primitives and
-- lowering preserve them or refuse.
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

-- A block that data lets run, and one below a condition, do not keep others
-- from moving that share no buffer with them.
local function apart(shares)
  local b = ts.builder("apart")
  local X, Y = b:input("X", { 8 }), b:buffer("Y", { 8 })
  local U = b:input("U", { 8 })
  local W, Z = b:output("W", { 8 }), b:inout("Z", { 8 })
  local function block(name, to, value, where)
    b:loop("i", 0, 8, function(i)
      b:block(name, { { "v", extent = 8, bind = i } },
              { where = where and where(i) },
              function(v) b:store(to, { v }, value(v)) end)
    end)
  end
  block("Y", Y, function(v) return X(v) * 2 end)
  block("W", W, function(v) return Y(v) + 3 end)
  block("Z", Z, function(v) return U(v) + 2 end,
        function(i) return ts.lt(U(i), 10) end)
  b:loop("i", 0, 8, function(i)
    b:when(ts.lt(i, 4), function()
      b:block("Q", { { "v", extent = 8, bind = i } }, function(v)
        b:store(Z, { v }, Z(v) + (shares and Y or U)(v))
      end)
    end)
  end)
  return b:program()
end

local moves = {
  function(s)
    s:compute_at(s:get_block "Y", (s:get_loops(s:get_block "W")))
  end,
  function(s)
    s:reverse_compute_at(s:get_block "W", (s:get_loops(s:get_block "Y")))
  end,
  function(s) s:compute_inline(s:get_block "Y") end,
  function(s) s:reverse_compute_inline(s:get_block "W") end,
  function(s) s:cache_read(s:get_block "W", 0, "local") end,
  function(s) s:cache_write(s:get_block "W", 0, "local") end,
  function(s) s:reindex(s:get_block "Y", { "write", 0 }) end,
}
for _, move in ipairs(moves) do
  legal(apart(false), move)
  illegal(apart(true), "OTHER_STATEMENT", move)
end
for _, name in ipairs { "Z", "Q" } do
  local s = ts.schedule(apart(false))
  local ok = s:can("cache_write", s:get_block(name), 0, "local")
  assert(not ok)
end

-- Where an index is loaded from memory, and its own buffer has shrunk to one
-- element, the index is no bound of what another buffer needs.
do
  local b = ts.builder("told")
  local T, X = b:input("T", { 5 }, "int32"), b:input("X", { 2 })
  local O = b:output("O", { 5 })
  local E, G = b:buffer("E", { 9 }), b:buffer("G", { 5 }, "int32")
  b:loop("k", 0, 2, function(k)
    b:block("E", { { "v", extent = 2, bind = k } }, function(v)
      b:store(E, { v + 3 }, X(v))
    end)
  end)
  b:loop("i", 0, 5, function(i)
    b:block("G", { { "v", extent = 5, bind = i } }, function(v)
      b:store(G, { v }, T(v))
    end)
    b:block("O", { { "v", extent = 5, bind = i } }, function(v)
      b:store(O, { v }, E(ts.cast(G(v), "int64") % 2 + 3))
    end)
  end)
  legal(b:program(), function(s)
    s:bind((s:get_loops(s:get_block "E")), "threadIdx.x")
  end)
end

-- The other branch of a condition becomes part of the block, too.
do
  local b = ts.builder("branches")
  local X = b:input("X", { 4 })
  local Y, Z = b:output("Y", { 4 }), b:output("Z", { 4 })
  local function block(name, to, i, value)
    b:block(name, { { "v", extent = 4, bind = i } }, function(v)
      b:store(to, { v }, value(v))
    end)
  end
  b:loop("i", 0, 4, function(i)
    block("P", Z, i, function(v) return X(v) + 1 end)
    b:when(ts.le(2, i), function()
      block("Q", Y, i, function(v) return Z(v) * 2 end)
    end, function()
      block("R", Y, i, function(v) return Z(v) - 3 end)
    end)
  end)
  local function around(...)
    local names = { ... }
    return function(s)
      local blocks = {}
      for k, name in ipairs(names) do blocks[k] = s:get_block(name) end
      s:blockize(blocks)
    end
  end
  illegal(b:program(), "BLOCK_BETWEEN", around("P", "Q"))
  illegal(b:program(), "BLOCK_BETWEEN", around("R", "P"))
  illegal(b:program(), "NOT_SIDE_BY_SIDE", around("Q", "R"))
  legal(b:program(), around("P", "Q", "R"))
  -- The first branch may be empty.
  local e = ts.builder("empty")
  local A, B = e:input("A", { 4 }), e:output("B", { 4 })
  local function copy(name, i, add)
    e:block(name, { { "v", extent = 4, bind = i } }, function(v)
      e:store(B, { v }, A(v) + add)
    end)
  end
  e:loop("i", 0, 4, function(i)
    copy("C", i, 1)
    e:when(ts.le(2, i), function() end, function() copy("D", i, 2) end)
    copy("E", i, 3)
  end)
  illegal(e:program(), "BLOCK_BETWEEN", around("C", "E"))
  legal(e:program(), around("C", "D", "E"))
end

-- Conditions between merged nests, by the accesses of their branches.
do
  local function steps(touched)
    local b = ts.builder("steps")
    local A, B = b:input("A", { 6 }), b:output("B", { 6 })
    local C, D = b:output("C", { 6 }), b:output("D", { 6 })
    local function nest(name, to, value)
      b:loop(name .. "_i", 0, 6, function(i)
        b:block(name, { { "v", extent = 6, bind = i } }, function(v)
          b:store(to, { v }, value(v))
        end)
      end)
    end
    b:loop("t", 0, 3, function(t)
      nest("P", B, function(v) return A(v) + 1 end)
      b:when(ts.lt(t, 1), function()
        nest("X", D, function(v) return A(v) * 2 end)
      end, function()
        nest("Y", D, function(v) return (touched and C or A)(v) * 3 end)
      end)
      nest("Q", C, function(v) return B(v) * 5 end)
    end)
    return b:program()
  end
  local function merged(s)
    s:merge(select(2, s:get_loops(s:get_block "P")),
            (select(2, s:get_loops(s:get_block "Q"))))
  end
  illegal(steps(true), "MERGE_BETWEEN", merged)
  legal(steps(false), merged)
end
