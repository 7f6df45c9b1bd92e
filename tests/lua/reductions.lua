-- SPDX-License-Identifier: Apache-2.0
-- Blocks declared as reductions whose update is none keep the order of their
-- iterations.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local same, refused, exact = checks.same, checks.refused, checks.exact
local legal, illegal = checks.legal, checks.illegal

-- C[i] after `update` with A[i, k] for each k; init: it starts from 0.
local function program(update, init)
  local b = ts.builder "reduced"
  local A, M = b:input("A", { 4, 8 }), b:input("M", { 4, 8 }, "bool")
  local C = b:output("C", { 4 })
  local D = b:output("D", { 4 })
  if not init then
    b:loop("z", 0, 4, function(z)
      b:block("zero", { { "v", extent = 4, bind = z } }, function(v)
        b:store(C, { v }, 0)
      end)
    end)
  end
  b:loop("i", 0, 4, function(i)
    b:loop("k", 0, 8, function(k)
      b:block("c", { { "vi", extent = 4, bind = i },
                     { "vk", "reduce", extent = 8, bind = k } },
              function(vi, vk)
        if init then b:init(function() b:store(C, { vi }, 0) end) end
        update(b, C, vi, A(vi, vk), M(vi, vk))
      end)
    end)
  end)
  b:loop("j", 0, 4, function(j)
    b:block("d", { { "v", extent = 4, bind = j } }, function(v)
      b:store(D, { v }, C(v) + 1)
    end)
  end)
  return b:program()
end

local function value(f)
  return function(b, C, i, a, m) b:store(C, { i }, f(C(i), a, m)) end
end

local sums = {
  sum = value(function(c, a) return c + a end),
  swapped = value(function(c, a) return a * 2 + c end),
  ["sum of three"] = value(function(c, a) return a + (c + a * a) end),
  difference = value(function(c, a) return c - a end),
  product = value(function(c, a) return c * a end),
  maximum = value(function(c, a) return ts.max(c, a) end),
  ["minimum of three"] = value(function(c, a)
    return ts.min(ts.min(c, a), 1)
  end),
  chosen = value(function(c, a, m) return ts.select(m, c + a, c) end),
  guarded = function(b, C, i, a, m)
    b:when(m, function() b:store(C, { i }, C(i) + a) end)
  end,
}
local others = {
  recurrence = value(function(c, a) return c * 2 + a end),
  last = value(function(_, a) return a end),
  negated = value(function(c, a) return a - c end),
  squared = value(function(c, a) return c + c * a end),
  quotient = value(function(c, a) return a / (c + 2) end),
  ["chosen by the result"] = value(function(c, a)
    return ts.select(ts.lt(c, 3), c + a, c)
  end),
  ["of two kinds"] = value(function(c, a, m)
    return ts.select(m, c + a, c * a)
  end),
  ["guarded by the result"] = function(b, C, i, a)
    b:when(ts.lt(C(i), 3), function() b:store(C, { i }, C(i) + a) end)
  end,
  ["one after the other"] = function(b, C, i, a)
    b:store(C, { i }, C(i) + a)
    b:store(C, { i }, C(i) * 2)
  end,
}

local function reorder(s)
  local _, k = s:get_loops(s:get_block "c")
  local outer, inner = s:split(k, { 4, 2 })
  s:reorder(inner, outer)
end

for _, init in ipairs { true, false } do
  for _, update in pairs(sums) do legal(program(update, init), reorder) end
  for _, update in pairs(others) do
    local p = program(update, init)
    illegal(p, "ORDER_OPAQUE", reorder)
    -- Points of the spatial iteration may change places as before.
    legal(p, function(s)
      local i, k = s:get_loops(s:get_block "c")
      s:reorder(k, i)
    end)
  end
end

-- A nest that is made anew runs in the order of the iterations.
for _, change in ipairs {
  function(s) s:compute_at(s:get_block "c", s:get_loops(s:get_block "d")) end,
  function(s)
    s:transform_block_layout(s:get_block "c",
                             function(i, k) return i, k % 2, k // 2 end)
  end,
} do
  legal(program(sums.sum, true), change)
  local e = illegal(program(others.recurrence, true), "BLOCK_NOT_COMPLETE",
                    change)
  assert(e.message:find("must keep its order", 1, true), e)
end

-- A sum of integers, which wrap around, may be multiplied in each step.
for _, dtype in ipairs { "int8", "uint8", "int32", "int64" } do
  for name, f in pairs {
    scaled = function(x, e) return x * 3 + e end,
    mixed = function(x, e) return e - (e - x) * e end,
    opposite = function(x) return -x end,
  } do
    local A = ts.placeholder("A", { 5, 7 }, dtype)
    local E = ts.placeholder("E", { 5 }, dtype)
    local k = ts.reduce_axis("k", 7)
    local C = ts.compute("C", { 5 }, function(i) return ts.sum(A(i, k), k) end)
    local D = ts.compute("D", { 5 }, function(i) return f(C(i), E(i)) end)
    local p = ts.program(name, { A, E }, { D })
    local sch = ts.schedule(p)
    sch:fuse_reduction_epilogue(sch:get_block("C"), sch:get_block("D"))
    same(sch, p)
    exact(sch, p, { ts.tensor(dtype, { 5, 7 }, "integers", 1),
                    ts.tensor(dtype, { 5 }, "integers", 2),
                    ts.tensor(dtype, { 5 }) })
  end
end

-- What a reduction begins with is no matter of padding, but one of threads
-- that would share it.
local N = 10
local steps = {
  sum = function(x, y) return x + y end,
  prod = function(x, y) return y * x end,
  least = function(x, y) return ts.min(x, y) end,
  greatest = function(x, y) return ts.max(y, x) end,
}
for _, dtype in ipairs { "float32", "int32" } do
  for name, step in pairs(steps) do
    local b = ts.builder(name)
    local A, E = b:input("A", { N, N }, dtype), b:input("E", { N }, dtype)
    local S = b:output("S", { N }, dtype)
    b:loop("i", 0, N, function(i)
      b:loop("k", 0, N, function(k)
        b:block("s", {
          { "vi", extent = N, bind = i },
          { "vk", "reduce", extent = N, bind = k },
        }, function(vi, vk)
          b:init(function() b:store(S, { vi }, E(vi) + 1) end)
          b:store(S, { vi }, step(S(vi), A(vi, vk)))
        end)
      end)
    end)
    local p = b:program()
    local sch = ts.schedule(p)
    local _, k = sch:get_loops(sch:get_block "s")
    refused(sch, "INIT_NOT_IDENTITY", "bind", k, "threadIdx.x")
    sch:pad_einsum(sch:get_block "s", { 3, 4 })
    same(sch, p)
    exact(sch, p, { ts.tensor(dtype, { N, N }, "integers", 1),
                    ts.tensor(dtype, { N }, "integers", 2),
                    ts.tensor(dtype, { N }) })
  end
end

-- Several points of the spatial iters may start the same result, each again:
-- what one has added up is forgotten then, and the init stays where it is.
do
  local function rows(place, inside, reducer)
    local b = ts.builder "rows"
    local A, C = b:input("A", { 4, 6 }), b:output("C", { 4 })
    b:loop("z", 0, 4, function(z)
      b:block("zero", { { "v", extent = 4, bind = z } }, function(v)
        b:store(C, { v }, 0)
      end)
    end)
    local function block(i, k)
      b:block("S", { { "vi", extent = 4, bind = i },
                     { "vk", "reduce", extent = 6, bind = k } },
              function(vi, vk)
        b:init(function() b:store(C, { place(vi, vk) }, 0) end)
        b:store(C, { place(vi, vk) }, C(place(vi, vk)) + A(vi, vk))
      end)
    end
    local function nest(name, n, f) b:loop(name, 0, n, f) end
    if inside then
      nest("k", 6, function(k) nest("i", 4, function(i) block(i, k) end) end)
    else
      nest("i", 4, function(i) nest("k", 6, function(k) block(i, k) end) end)
    end
    return b:program()
  end
  local function S(s) return s:get_block "S" end
  local function loops(s) return s:get_loops(S(s)) end
  local function outer(s) s:decompose_reduction(S(s), (loops(s))) end
  local function inner(s)
    s:decompose_reduction(S(s), (select(2, loops(s))))
  end
  local function tile(s) s:blockize((select(2, loops(s)))) end
  local function one(vi) return vi * 0 end
  local function half(vi) return vi // 2 end
  local function by_reduced(_, vk) return vk // 2 end
  for _, place in ipairs { one, half, by_reduced } do
    illegal(rows(place), "RESULT_SHARED", outer)
    illegal(rows(place, true), "RESULT_SHARED", outer)
    illegal(rows(place, true), "RESULT_SHARED", tile)
    legal(rows(place), tile)
  end
  for _, place in ipairs { one, half } do
    legal(rows(place), inner)
    illegal(rows(place), "RESULT_SHARED", function(s)
      s:rfactor((select(2, loops(s))))
    end)
    illegal(rows(place, true), "RESULT_SHARED", function(s)
      s:rfactor((loops(s)))
    end)
  end
  legal(rows(function(vi) return 3 - vi end, true), outer)
  legal(rows(function(vi) return (vi + 1) % 4 end), outer)
end

-- Loops that drive no reduce iter may still part the iterations of one result:
-- where a loop inside tells both, as tiles of fused loops do, or where a
-- predicate says which iterations reduce what.
do
  local function fused(n)
    local x, r = ts.placeholder("x", { n, 2 }), ts.reduce_axis("r", 2)
    return ts.program("fused", { x }, { ts.compute("w", { n }, function(i)
      return ts.reduce_max(x(i, r), { r })
    end) })
  end
  for tile = 2, 8 do
    local p = fused(12)
    local s = ts.schedule(p)
    local f = s:fuse(s:get_loops(s:get_block "w"))
    local _, f1 = s:split(f, { ts.auto, tile })
    local a = s:split(f1, { ts.auto, 2 })
    local a0, a1 = s:split(a, { ts.auto, 2 })
    local ok, e = pcall(s.reorder, s, a1, a0)
    assert(ok == (tile % 2 == 0 or tile < 5) and
             (ok or e.reason == "ORDER_INIT"), tostring(e))
    same(s, p)
  end

  -- Both iterations of o reach w[i + o], in the same way; or, under the guard,
  -- one of them is its start and the other one the rest.
  for _, guarded in ipairs { false, true } do
    local b = ts.builder("parts")
    local X, W = b:input("X", { 4, 2 }), b:output("W", { 4 })
    local function nest(o, i, k)
      local at = i + o
      local part = ts.any(ts.eq(o, k), ts.lt(at, 1), ts.lt(2, at))
      b:block("w", { { "v", extent = 4, bind = at },
                     { "r", "reduce", extent = 2, bind = k } },
              { where = guarded and part or nil }, function(v, r)
        b:init(function() b:store(W, { v }, 0) end)
        b:store(W, { v }, W(v) + X(v, r))
      end)
    end
    b:loop("o", 0, 2, function(o)
      b:loop("i", 0, 3, function(i)
        b:loop("k", 0, 2, function(k) nest(o, i, k) end)
      end)
    end)
    local p = b:program()
    local s = ts.schedule(p)
    local o, i = s:get_loops(s:get_block "w")
    if guarded then
      refused(s, "ORDER_INIT", "reorder", i, o)
    else
      s:reorder(i, o)
    end
    same(s, p)
  end
end

-- A tile holds `size` of 4 * 18 steps, 18 for each element, and ends with D
-- of `rows` elements: all of theirs must have been made in that tile.
do
  local function tiled(size, rows, value)
    local b = ts.builder("tiled")
    local A = b:input("A", { 4, 18 })
    local C, D = b:buffer("C", { 4 }), b:output("D", { 4 })
    b:loop("o", 0, 4 // rows, function(o)
      b:loop("t", 0, size, function(t)
        local at = o * size + t
        b:block("C", { { "v", extent = 4, bind = at // 18 },
                       { "r", "reduce", extent = 18, bind = at % 18 } },
                { where = ts.lt(at, 72) }, function(v, r)
          b:init(function() b:store(C, { v }, 0) end)
          b:store(C, { v }, C(v) + A(v, r))
        end)
      end)
      b:loop("i", 0, rows, function(i)
        b:block("D", { { "v", extent = 4, bind = o * rows + i } }, function(v)
          b:store(D, { v }, value(C(v)))
        end)
      end)
    end)
    return b:program()
  end
  for _, size in ipairs { 18, 36, 20 } do
    for name, value in pairs {
      fuse_reduction_epilogue = function(x) return x + 1 end,
      reverse_compute_inline = function(x) return x end,
    } do
      local p = tiled(size, math.max(1, size // 18), value)
      local s = ts.schedule(p)
      local blocks = { s:get_block "C", s:get_block "D" }
      if name == "reverse_compute_inline" then table.remove(blocks, 1) end
      if size % 18 == 0 then
        s[name](s, table.unpack(blocks))
        assert(not tostring(s):find("where %l+ [/*]"), s)
      else
        refused(s, "PARTIAL_RESULT", name, table.unpack(blocks))
      end
      same(s, p)
    end
  end
end

-- What D reads is made in one iteration whole, so that others may do without.
do
  local b = ts.builder("odd")
  local A = b:input("A", { 8, 5 })
  local C, D = b:buffer("C", { 8 }), b:output("D", { 4 })
  b:loop("i", 0, 8, function(i)
    b:loop("k", 0, 5, function(k)
      b:block("C", { { "v", extent = 8, bind = i },
                     { "r", "reduce", extent = 5, bind = k } }, function(v, r)
        b:init(function() b:store(C, { v }, 0) end)
        b:store(C, { v }, C(v) + A(v, r))
      end)
    end)
    b:block("D", { { "v", extent = 4, bind = i // 2 } },
            { where = ts.eq(i % 2, 1) }, function(v)
      b:store(D, { v }, C(v * 2 + 1) + 1)
    end)
  end)
  local p = b:program()
  local s = ts.schedule(p)
  s:fuse_reduction_epilogue(s:get_block "C", s:get_block "D")
  same(s, p)
end

-- A tensor intrinsic names what it changes by a match: its block is as much a
-- reduction as it was before.
do
  local function row(update)
    local b = ts.builder "row"
    local A, C = b:input("A", { 4 }, "int32"), b:inout("C", { 4 }, "int32")
    b:loop("i", 0, 4, function(i)
      b:block("c", { { "v", extent = 4, bind = i } }, function(v)
        b:store(C, { v }, update(C(v), A(v)))
      end)
    end)
    return b:program()
  end
  local function rows(update)
    local b = ts.builder "rows"
    local A, C = b:input("A", { 8, 4 }, "int32"), b:inout("C", { 4 }, "int32")
    b:loop("k", 0, 8, function(k)
      b:loop("i", 0, 4, function(i)
        b:block("c", { { "vk", "reduce", extent = 8, bind = k },
                       { "v", extent = 4, bind = i } }, function(vk, v)
          b:store(C, { v }, update(C(v), A(vk, v)))
        end)
      end)
    end)
    return b:program()
  end
  local function by_rows(name)
    return function(s)
      local k, i = s:get_loops(s:get_block "c")
      local k0, k1 = s:split(k, { 2, 4 })
      s:tensorize(i, name)
      s:reorder(k1, k0)
    end
  end
  local function sum(c, a) return c + a end
  local function recurrence(c, a) return c * 2 + a end
  for name, update in pairs { row_sum = sum, row_recurrence = recurrence } do
    local one = row(update)
    ts.tensor_intrin { name = name, desc = one, impl = one }
  end
  legal(rows(sum), by_rows "row_sum")
  illegal(rows(recurrence), "ORDER_OPAQUE", by_rows "row_recurrence")
end
