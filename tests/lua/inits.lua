-- SPDX-License-Identifier: Apache-2.0
-- Inits that read memory in a value, index, let, condition, loop bound or
-- predicate: decomposing declares these reads, and is refused where they are
-- overwritten.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local legal, illegal = checks.legal, checks.illegal

local N = 6

local function zero(b, S, i) b:store(S, { i }, 0) end
local function as_index(x) return ts.min(ts.cast(x, "int64"), N - 1) end

-- Each starts S[i] from what it reads of D.
local reads = {
  value = function(b, S, D, i) b:store(S, { i }, ts.cast(D(i), "int32")) end,
  ["a let"] = function(b, S, D, i)
    b:let("x", ts.cast(D(i), "int32"),
          function(x) b:store(S, { i }, x + 1) end)
  end,
  ["a condition"] = function(b, S, D, i)
    b:when(ts.gt(D(i), 3), function() b:store(S, { i }, 1) end,
           function() zero(b, S, i) end)
  end,
  ["a bound"] = function(b, S, D, i)
    zero(b, S, i)
    b:loop("q", 0, as_index(D(i)), function(q)
      b:store(S, { i }, ts.cast(q, "int32"))
    end)
  end,
  ["a start"] = function(b, S, D, i)
    b:loop("q", as_index(D(i)), 1, function(q)
      b:store(S, { i }, ts.cast(q, "int32"))
    end)
  end,
  ["a predicate inside"] = function(b, S, D, i)
    zero(b, S, i)
    b:block("in", { { "z", extent = N, bind = i } },
            { where = ts.gt(D(i), 3) },
            function(z) b:store(S, { z }, 1) end)
  end,
}

-- S[i] is the sum of a row, from what `init` makes of D; `writes`: of which
-- the iteration before has changed an element.
local function program(init, writes)
  local b = ts.builder "started"
  local A, S = b:input("A", { N, 8 }, "int32"), b:output("S", { N }, "int32")
  local D = b:inout("D", { N + 1 }, "uint8")
  b:loop("i", 0, N, function(i)
    b:loop("k", 0, 8, function(k)
      b:block("sum", { { "vi", extent = N, bind = i },
                       { "vk", "reduce", extent = 8, bind = k } },
              function(vi, vk)
        b:init(function() init(b, S, D, vi) end)
        b:store(S, { vi }, S(vi) + A(vi, vk))
      end)
    end)
    if writes then
      b:block("next", { { "v", "opaque", extent = N, bind = i } }, function(v)
        b:store(D, { v + 1 }, 7)
      end)
    end
  end)
  return b:program()
end

local function decompose(n)
  return function(s)
    local sum = s:get_block "sum"
    s:decompose_reduction(sum, (select(n, s:get_loops(sum))))
  end
end

local function blockize(s)
  local _, k = s:get_loops(s:get_block "sum")
  local _, k1 = s:split(k, { 2, 4 })
  s:blockize(k1)
end

for _, init in pairs(reads) do
  local p, q = program(init), program(init, true)
  legal(p, decompose(1))
  legal(p, decompose(2))
  legal(p, blockize)
  legal(q, decompose(2))
  illegal(q, "INIT_READS", decompose(1))
end

-- A start of S[place of D]: a store's index.
do
  local function placed(writes)
    local b = ts.builder "placed"
    local A, S = b:input("A", { 8 }, "int32"), b:inout("S", { N }, "int32")
    local D = b:inout("D", { 1 }, "uint8")
    b:loop("u", 0, 2, function(u)
      b:loop("k", 0, 8, function(k)
        b:block("sum", { { "vu", "reduce", extent = 2, bind = u },
                         { "vk", "reduce", extent = 8, bind = k } },
                function(_, vk)
          local at = as_index(D(0))
          b:init(function() zero(b, S, at) end)
          b:store(S, { at }, S(at) + A(vk))
        end)
      end)
      if writes then
        b:block("next", { { "v", "opaque", extent = 2, bind = u } },
                function() b:store(D, { 0 }, 3) end)
      end
    end)
    return b:program()
  end
  legal(placed(false), decompose(1))
  illegal(placed(true), "INIT_READS", decompose(1))
end

-- What a block hides its init would access without saying so.
for _, init in pairs(reads) do
  local p = program(init)
  local function hiding(side, buffer, f)
    return function(s)
      s:unsafe_hide_buffer_access(s:get_block "sum", side, { buffer })
      f(s)
    end
  end
  illegal(p, "BUFFER_HIDDEN", hiding("read", 0, decompose(1)))
  illegal(p, "BUFFER_HIDDEN", hiding("read", 0, blockize))
  legal(p, hiding("read", 1, decompose(1)))
end

-- Another instance may run it, unless it depends on the instance.
do
  local function swapped(s)
    s:transform_block_layout(s:get_block "sum",
                             function(i, k) return k, i end)
  end
  for _, init in pairs(reads) do legal(program(init), swapped) end
  local b = ts.builder "told"
  local A, S = b:input("A", { N, 8 }, "int32"), b:output("S", { N }, "int32")
  b:loop("i", 0, N, function(i)
    b:loop("k", 0, 8, function(k)
      b:block("sum", { { "vi", extent = N, bind = i },
                       { "vk", "reduce", extent = 8, bind = k } },
              function(vi, vk)
        b:init(function()
          zero(b, S, vi)
          b:block("in", { { "z", extent = N, bind = vi } },
                  { where = ts.lt(vk, 3) },
                  function(z) b:store(S, { z }, 1) end)
        end)
        b:store(S, { vi }, S(vi) + A(vi, vk))
      end)
    end)
  end)
  illegal(b:program(), "PLACE_REDUCED", swapped)
end
