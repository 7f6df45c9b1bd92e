-- SPDX-License-Identifier: Apache-2.0
-- The lifetime scope of a local buffer: the innermost one in which no value is
-- carried between iterations.  A reduction may be spread over a loop that binds
-- no iter: by bounds, a predicate, or moving results.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

local N = 8

-- S[at] is the sum of A, of which r is added, where options say so.
local function sum(b, A, S, at, r, options)
  b:block("sum", { { "z", extent = N, bind = at },
                   { "vr", "reduce", extent = N, bind = r } }, options or {},
          function(z, vr)
    b:init(function() b:store(S, { z }, 0) end)
    b:store(S, { z }, S(z) + A(vr))
  end)
end

-- Each adds up A below the loop t.
local spread = {
  ["a start"] = function(b, A, S, t)
    b:loop("r", t * 2, 2, function(r) sum(b, A, S, 0, r) end)
  end,
  ["a predicate"] = function(b, A, S, t)
    local due = function(r)
      return ts.all(ts.ge(r, t * 2), ts.lt(r, t * 2 + 2))
    end
    b:loop("r", 0, N, function(r) sum(b, A, S, 0, r, { where = due(r) }) end)
  end,
  ["a condition"] = function(b, A, S, t)
    b:loop("r", 0, N, function(r)
      b:when(ts.eq(r // 2, t), function() sum(b, A, S, 0, r) end)
    end)
  end,
  -- S[t], .., S[0] get their first, second, .. summand.
  ["a window"] = function(b, A, S, t)
    b:loop("r", 0, t + 1, function(r) sum(b, A, S, t - r, r) end)
  end,
}

-- In each iteration of t, B[t] comes of S[0], and S is local, or not.
local function program(add, is_local)
  local b = ts.builder "spread"
  local A, B = b:input("A", { N }, "int32"), b:output("B", { 4 }, "int32")
  local S = is_local and b:buffer("S", { N }, "int32")
            or b:output("S", { N }, "int32")
  b:loop("t", 0, 4, function(t)
    add(b, A, S, t)
    b:block("use", { { "vt", extent = 4, bind = t } }, function(vt)
      b:store(B, { vt }, S(ts.cast(0, "int64")) * 3)
    end)
  end)
  return b:program()
end

local ways = {
  ["the oracle: "] = ts.interpret,
  ["the oracle, lowered: "] = function(p, args)
    ts.interpret(ts.lower(p), args)
  end,
  ["compiled code: "] = function(p, args)
    ts.build(p)(table.unpack(args))
  end,
}

local A = ts.tensor("int32", { N }, "integers", 1)
for how, add in pairs(spread) do
  local p = program(add, true)
  local want, got = ts.tensor("int32", { 4 }), ts.tensor("int32", { 4 })
  ts.interpret(program(add, false), { A, want, ts.tensor("int32", { N }) })
  for who, run in pairs(ways) do
    run(p, { A, got })
    for t = 0, 3 do assert(got:get(t) == want:get(t), who .. how) end
  end
  checks.legal(p, function() end)
  checks.illegal(p, "RACE", function(s)
    s:parallel((s:get_loops(s:get_block "use")))
  end)
end

-- In each iteration of t, S is written, and is read; memory, which changes
-- between the two, tells whether, or where.
local zero = ts.cast(0, "int64")
local told = {
  ["whether"] = function(b, S, E, B, t)
    local on = { where = ts.gt(E(zero), 0) }
    b:block("make", { { "v", extent = 4, bind = t } }, on, function(v)
      b:store(S, { 0 }, ts.cast(v, "int32") + 1)
    end)
    b:block("flip", { { "v", "opaque", extent = 4, bind = t } }, function()
      b:store(E, { 0 }, 1 - E(zero))
    end)
    b:block("use", { { "v", extent = 4, bind = t } }, on, function(v)
      b:store(B, { v }, S(zero))
    end)
  end,
  ["where"] = function(b, S, E, B, t)
    local function at() return ts.min(ts.cast(E(zero), "int64") % 2, 1) end
    b:block("make", { { "v", extent = 4, bind = t } }, function(v)
      b:store(S, { at() }, ts.cast(v, "int32") + 1)
    end)
    b:block("flip", { { "v", "opaque", extent = 4, bind = t } }, function()
      b:store(E, { 0 }, 1 - E(zero))
    end)
    b:block("use", { { "v", extent = 4, bind = t } },
            { where = ts.lt(0, t) },
            function(v) b:store(B, { v }, S(at())) end)
  end,
  ["a sum"] = function(b, S, E, B, t)
    local on = { where = ts.gt(E(zero), 0) }
    b:loop("r", 0, 3, function(r)
      b:block("sum", { { "z", extent = 1, bind = 0 },
                       { "vr", "reduce", extent = 3, bind = r } }, on,
              function(z, vr)
        b:init(function() b:store(S, { z }, 0) end)
        b:store(S, { z }, S(z) + ts.cast(vr, "int32") + 1)
      end)
      b:block("flip", { { "v", "opaque", extent = 3, bind = r } }, function()
        b:store(E, { 0 }, 1 - E(zero))
      end)
    end)
    b:block("use", { { "v", extent = 4, bind = t } }, on, function(v)
      b:store(B, { v }, S(zero))
    end)
  end,
}
for how, body in pairs(told) do
  local function make(is_local)
    local b = ts.builder "told"
    local E, B = b:inout("E", { 1 }, "int32"), b:inout("B", { 4 }, "int32")
    local S = is_local and b:buffer("S", { 2 }, "int32")
              or b:output("S", { 2 }, "int32")
    b:loop("t", 0, 4, function(t) body(b, S, E, B, t) end)
    return b:program()
  end
  local E = ts.tensor("int32", { 1 })
  local B = ts.tensor("int32", { 4 })
  E:set(0, 1)
  ts.interpret(make(false), { E, B, ts.tensor("int32", { 2 }) })
  for who, run in pairs(ways) do
    local got = ts.tensor("int32", { 4 })
    E:set(0, 1)
    run(make(true), { E, got })
    for t = 0, 3 do assert(got:get(t) == B:get(t), who .. how) end
  end
end

-- Whole sums are each iteration's own, also where their loops are cut, fused,
-- or a length that depends on the iteration.
local function rows(length, cut)
  local b = ts.builder "rows"
  local A, B = b:input("A", { N, 4, N }, "int32"), b:output("B", { N }, "int32")
  local S = b:buffer("S", { N, 4 }, "int32")
  b:loop("i", 0, N, function(i)
    b:loop("j", 0, 4, function(j)
      b:loop("r", 0, length(i), function(r)
        b:block("sum", { { "vi", extent = N, bind = i },
                         { "vj", extent = 4, bind = j },
                         { "vr", "reduce", extent = N, bind = r } },
                function(vi, vj, vr)
          b:init(function() b:store(S, { vi, vj }, 0) end)
          b:store(S, { vi, vj }, S(vi, vj) + A(vi, vj, vr))
        end)
      end)
    end)
    b:block("use", { { "vi", extent = N, bind = i } }, function(vi)
      b:store(B, { vi }, S(vi, 2) * 3)
    end)
  end)
  checks.legal(b:program(), function(s)
    local i, j, r = s:get_loops(s:get_block "sum")
    cut(s, j, r)
    s:set_scope(s:get_block "sum", 0, "local")
    s:parallel(i)
  end)
end
local function full() return N end
rows(full, function() end)
rows(function(i) return i + 1 end, function() end)
rows(full, function(s, _, r) s:split(r, { ts.auto, 3 }) end)
rows(full, function(s, j, r) s:fuse(j, r) end)
rows(full, function(s, j, r) s:reorder(r, j) end)

-- A block that holds a part of a sum goes on with it.
do
  local b = ts.builder "parts"
  local A, B = b:input("A", { N }, "int32"), b:output("B", { 4 }, "int32")
  local S = b:buffer("S", { 1 }, "int32")
  b:loop("t", 0, 4, function(t)
    b:loop("j", 0, 1, function(j)
      b:loop("r", t * 2, 2, function(r)
        b:block("sum", { { "z", extent = 1, bind = j },
                         { "vr", "reduce", extent = N, bind = r } },
                function(z, vr)
          b:init(function() b:store(S, { z }, 0) end)
          b:store(S, { z }, S(z) + A(vr))
        end)
      end)
      b:block("use", { { "vt", extent = 4, bind = t },
                       { "vj", extent = 1, bind = j } },
              function(vt, vj) b:store(B, { vt }, S(vj) * 3) end)
    end)
  end)
  checks.legal(b:program(), function(s)
    s:blockize { target = { s:get_block "sum", s:get_block "use" } }
    s:blockize { target = { (s:get_loops(s:get_block "sum")) },
                 preserve_unit_iters = false }
  end)
end

-- split: that each iteration of a parallel loop fills what it reads of its own
-- buffer is seen of f // 12, f // 3 % 4 and f % 3, and not of what a split that
-- needs no guard makes of f.
do
  local A = ts.placeholder("A", { 6, 6 })
  local X = ts.placeholder("X", { 3, 4 })
  local S = ts.compute("S", { 6, 4 }, function(i, j)
    local k = ts.reduce_axis("k", 3)
    return ts.sum(A(i, j + k), k)
  end)
  local r, q = ts.reduce_axis("r", 3), ts.reduce_axis("q", 4)
  local C = ts.compute("C", { 4, 4 }, function(i, _)
    return ts.sum(S(i + r, q) * X(r, q), { r, q })
  end)
  local p = ts.program("tiles", { A, X }, { C })
  local s = ts.schedule(p)
  local sum = s:get_block "S"
  local _, j = s:get_loops(s:get_block "C")
  s:compute_at(sum, j)
  s:parallel(j)
  local f = s:fuse(select(3, s:get_loops(sum)))
  checks.refused(s, "WOULD_RACE", "split", f, { ts.auto, 4 })
  s:split(f, { ts.auto, 3 })
  checks.same(s, p)
end
