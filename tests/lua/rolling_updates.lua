-- SPDX-License-Identifier: Apache-2.0
-- Fused dependent reductions: softmax and attention in one loop over tiles of
-- keys (rolling_update), factors moved out of sums (hoist_invariant_factor),
-- and what both refuse.
local ts = require "tessera"
local ops = require "tessera.ops"
local inf = math.huge

local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

-- The primitive refuses for this reason, and leaves all as it was.
local function refuses(reason, sch, name, ...)
  checks.refused(sch, reason, name, ...)
end

local function same(sch, program)
  assert(sch:program():verify())
  for seed = 1, 3 do
    local ok, where = ts.equivalent(sch, program, { seed = seed })
    assert(ok, where)
  end
  local again = sch:trace():replay(program)
  assert(again:program():hash() == sch:program():hash())
end

-- ---- one loop --------------------------------------------------------------

-- M, what is found over k of X; S, what `f` makes of it in a sum over k; with
-- both under one loop over i, and the loops over k beside each other.
local function two_loops(f, find, more)
  local X = ts.placeholder("X", { 4, 12 })
  local k, r = ts.reduce_axis("k", 12), ts.reduce_axis("r", 12)
  local M = ts.compute("M", { 4 }, function(i)
    return (find or ts.reduce_max)(X(i, k), k)
  end)
  local S = ts.compute("S", { 4 }, function(i) return f(X, M, i, r) end)
  local p = ts.program("p", { X }, { M, S, more and more(X, M) })
  local sch = ts.schedule(p)
  local im, km = sch:get_loops(sch:get_block "M")
  local is, ks = sch:get_loops(sch:get_block "S")
  sch:merge(im, is)
  return sch, km, ks, p
end

local exp = ts.exp
local right = {
  { function(X, M, i, r) return ts.sum(exp(X(i, r) - M(i)), r) end },
  { function(X, M, i, r) return ts.sum(exp((X(i, r) - M(i)) * 0.5), r) end },
  { function(X, M, i, r) return ts.sum(X(i, r) * exp(X(i, r) - M(i)), r) end },
  { function(X, M, i, r)
    return ts.sum(exp(X(i, r) - M(i)) / (X(i, r) + 3), r)
  end },
  { function(X, M, i, r)
    local e = exp(X(i, r) - M(i))
    return ts.sum(ts.select(ts.lt(X(i, r), 1), e, 0) + e * X(i, r), r)
  end },
  { function(X, M, i, r)
    return ts.sum(exp(X(i, r) - M(i)) * exp(-M(i)), r)
  end },
  { function(X, M, i, r) return ts.sum(exp(M(i) - X(i, r)), r) end,
    ts.reduce_min },
}
for n, c in ipairs(right) do
  local sch, a, b, p = two_loops(c[1], c[2])
  sch:rolling_update(a, b)
  assert(tostring(sch:program()):find "S_rescale", n)
  same(sch, p)
end

local wrong = {
  SCALES_UP = function(X, M, i, r) return ts.sum(exp(X(i, r) + M(i)), r) end,
  SCALES_NOT = function(X, M, i, r)
    return ts.sum(exp(X(i, r) * M(i)), r)
  end,
  ROLLING_NONE = function(X, _, i, r) return ts.sum(exp(X(i, r)), r) end,
}
for reason, f in pairs(wrong) do
  local sch, a, b = two_loops(f)
  refuses(reason, sch, "rolling_update", a, b)
end
for _, f in ipairs {
  function(X, M, i, r) return ts.sum(X(i, r) * M(i), r) end,
  function(X, M, i, r) return ts.sum(exp(X(i, r) - M(i)) + 1, r) end,
  function(X, M, i, r) return ts.sum(ts.tanh(X(i, r) - M(i)), r) end,
  function(X, M, i, r) return ts.sum(1 / exp(X(i, r) - M(i)), r) end,
  function(X, M, i, r) return ts.reduce_max(exp(X(i, r) - M(i)), r) end,
} do
  local sch, a, b = two_loops(f)
  refuses("SCALES_NOT", sch, "rolling_update", a, b)
end

-- A row of one result of all, so that iters that are reduced choose extremes.
do
  local X = ts.placeholder("X", { 4, 12 })
  local k, r, i = ts.reduce_axis("k", 12), ts.reduce_axis("r", 12),
                  ts.reduce_axis("i", 4)
  local M = ts.compute("M", { 4 }, function(j)
    return ts.reduce_max(X(j, k), k)
  end)
  local S = ts.compute("S", { 1 }, function()
    return ts.sum(exp(X(i, r) - M(i)), { r, i })
  end)
  local sch = ts.schedule(ts.program("p", { X }, { M, S }))
  local j, km = sch:get_loops(sch:get_block "M")
  sch:reorder(km, j)
  local _, kr = sch:get_loops(sch:get_block "S")
  sch:add_unit_loop(km)
  local u = sch:get_loops(sch:get_block "M")
  sch:merge(u, (sch:get_loops(sch:get_block "S")))
  refuses("SCALES_APART", sch, "rolling_update", km, kr)
end

-- ---- the loops -------------------------------------------------------------

local plain = right[1][1]
do
  local sch, a, b = two_loops(plain)
  refuses("NOT_SIDE_BY_SIDE", sch, "rolling_update", b, a)
  sch:split(b, { 3, 4 })
  local _, outer = sch:get_loops(sch:get_block "S")
  refuses("MERGE_BOUNDS", sch, "rolling_update", a, outer)
  sch, a, b = two_loops(plain)
  sch:annotate(a, "note", 1)
  refuses("LOOP_ANNOTATED", sch, "rolling_update", a, b)
  sch, a, b = two_loops(plain)
  sch:unroll(b)
  refuses("LOOP_NOT_SERIAL", sch, "rolling_update", a, b)
end

-- What else the second loop makes of the extreme.
local function with_exp(at)
  local X = ts.placeholder("X", { 4, 12 })
  local k, r = ts.reduce_axis("k", 12), ts.reduce_axis("r", 12)
  local M = ts.compute("M", { 4 }, function(i)
    return ts.reduce_max(X(i, k), k)
  end)
  local E = ts.compute("E", { 4, 12 }, function(i, j)
    return exp(X(i, j) - M(i))
  end)
  local S = ts.compute("S", { 4 }, function(i) return ts.sum(E(i, r), r) end)
  local p = ts.program("p", { X }, at == "out" and { S, E } or { S })
  local sch = ts.schedule(p)
  local im, km = sch:get_loops(sch:get_block "M")
  local is, ks = sch:get_loops(sch:get_block "S")
  sch:compute_at(sch:get_block "E", at == "outside" and is or ks)
  sch:merge(im, is)
  return sch, km, ks, p
end
do
  local sch, a, b, p = with_exp()
  sch:rolling_update(a, b)
  same(sch, p)
  sch, a, b = with_exp "out"
  refuses("ROLLING_KEPT", sch, "rolling_update", a, b)
  sch, a, b = with_exp "outside"
  refuses("NOT_SIDE_BY_SIDE", sch, "rolling_update", a, b)
end

-- A block that looks at the sum on the way.
do
  local b = ts.builder "prefix"
  local X, S = b:input("X", { 8 }), b:output("S", { 1 })
  local Y = b:output("Y", { 8 })
  local M = b:output("M", { 1 })
  b:loop("i", 0, 1, function(i)
    b:loop("k", 0, 8, function(k)
      b:block("M", { { "vi", extent = 1, bind = i },
                     { "vk", "reduce", extent = 8, bind = k } },
              function(vi, vk)
        b:init(function() b:store(M, { vi }, -inf) end)
        b:store(M, { vi }, ts.max(M(vi), X(vk)))
      end)
    end)
    b:loop("k", 0, 8, function(k)
      b:block("S", { { "vi", extent = 1, bind = i },
                     { "vk", "reduce", extent = 8, bind = k } },
              function(vi, vk)
        b:init(function() b:store(S, { vi }, 0) end)
        b:store(S, { vi }, S(vi) + exp(X(vk) - M(vi)))
      end)
      b:block("Y", { { "vi", extent = 1, bind = i },
                     { "vk", "opaque", extent = 8, bind = k } },
              function(vi, vk) b:store(Y, { vk }, S(vi)) end)
    end)
  end)
  local sch = ts.schedule(b:program())
  local _, a = sch:get_loops(sch:get_block "M")
  local _, c = sch:get_loops(sch:get_block "S")
  refuses("ROLLING_PARTIAL", sch, "rolling_update", a, c)
end

-- ---- factors ---------------------------------------------------------------

local function sum_of(f)
  local b = ts.builder "sum"
  local X, W = b:input("X", { 4, 12 }), b:input("W", { 4 })
  local S = b:output("S", { 4 })
  b:loop("i", 0, 4, function(i)
    b:loop("k", 0, 12, function(k)
      b:block("S", { { "vi", extent = 4, bind = i },
                     { "vk", "reduce", extent = 12, bind = k } },
              function(vi, vk)
        b:init(function() b:store(S, { vi }, 0) end)
        b:store(S, { vi }, S(vi) + f(X(vi, vk), W(vi)))
      end)
    end)
  end)
  local p = b:program()
  local sch = ts.schedule(p)
  return sch, sch:get_block "S", p
end
for _, f in ipairs {
  function(x, w) return x * w end,
  function(x, w) return x / w end,
  function(x, w) return x * w / (w + 1) * x * 0.25 end,
  function(x, w) return w / x end,
} do
  local sch, b, p = sum_of(f)
  sch:hoist_invariant_factor(b)
  assert(tostring(sch:program()):find "S_scale")
  same(sch, p)
end
do
  local sch, b = sum_of(function(x, w) return x + w end)
  refuses("HOIST_NONE", sch, "hoist_invariant_factor", b)
  -- A sum that starts from a bias.
  local X, W = ts.placeholder("X", { 4, 12 }), ts.placeholder("W", { 4 })
  local k = ts.reduce_axis("k", 12)
  local S = ts.compute("S", { 4 }, function(i)
    return ts.sum(X(i, k) * W(i), k)
  end)
  local D = ts.compute("D", { 4 }, function(i) return S(i) + W(i) end)
  sch = ts.schedule(ts.program("biased", { X, W }, { D }))
  b = sch:get_block "S"
  sch:fuse_reduction_epilogue(b, sch:get_block "D")
  refuses("HOIST_START", sch, "hoist_invariant_factor", b)
end

-- ---- the module -----------------------------------------------------------

do
  local online = require "tessera.modules.online_softmax"
  local function sketches(p, o)
    local list = ts.space.sketches({ online(o) }, p, "llvm")
    local rolled = 0
    for _, sketch in ipairs(list) do
      for seed = 1, 2 do
        same(sketch:replay(p, { resample = true, seed = seed }), p)
      end
      rolled = rolled + (sketch:lua():find "rolling_update" and 1 or 0)
    end
    return #list, rolled
  end
  local o = { lanes = 4, min_row = 16 }
  for _, p in ipairs {
    ops.softmax { shape = { 3, 48 } }, ops.log_softmax { shape = { 2, 32 } },
    ops.softmax { shape = { 2, 3, 16 }, dtype = "float16", acc = "float32" },
    ops.attention { b = 1, h = 1, m = 4, n = 16, d = 4 },
  } do
    local all, rolled = sketches(p, o)
    assert(all == 2 and rolled == 1, p)
  end
  -- Rows that are short, that lanes do not divide, and no softmax.
  for _, p in ipairs {
    ops.softmax { shape = { 3, 12 } }, ops.softmax { shape = { 3, 47 } },
    ops.matmul { m = 4, n = 4, k = 32 }, ops.softmax { shape = { 32, 1 } },
  } do
    local all, rolled = sketches(p, o)
    assert(all == 1 and rolled == 0, p)
  end
  assert(not pcall(online, { lanes = -1 }))
end

-- ---- attention -------------------------------------------------------------

-- Flash attention: tiles of `queries` x `keys`, the scores never kept.
local function flash(p, queries, keys)
  local sch = ts.schedule(p)
  sch:compute_inline(sch:get_block "weights")
  local scale = sch:hoist_invariant_factor(sch:get_block "Y")
  local function tile(name)
    local l = { sch:get_loops(sch:get_block(name)) }
    local i0, i1 = sch:split(l[3], { ts.auto, queries })
    local k0, k1 = sch:split(l[#l], { ts.auto, keys })
    local order = { l[1], l[2], i0, k0, i1 }
    table.move(l, 4, #l - 1, #order + 1, order)
    order[#order + 1] = k1
    sch:reorder(order)
    return i0, k0
  end
  local rows, over = tile "greatest"
  local _, sums = tile "sum"
  local _, values = tile "Y"
  local loop = sch:merge(sums, values)
  sch:compute_at(sch:get_block "exp", loop)
  local l = { sch:get_loops(sch:get_block "sum") }
  sch:merge(rows, l[3])
  local fused = sch:rolling_update(over, l[4])
  sch:compute_at(sch:get_block "scores", fused)
  sch:compute_at(sch:get_block "product", fused)
  sch:reverse_compute_at(scale, rows)
  return sch
end
for _, o in ipairs {
  { b = 1, h = 2, m = 8, n = 16, d = 4 },
  { b = 1, h = 1, m = 8, n = 8, d = 3, causal = true, mask = true },
  { b = 2, h = 1, m = 4, n = 12, d = 4, dtype = "float16", acc = "float32" },
} do
  local p = ops.attention(o)
  same(flash(p, 4, 4), p)
end

-- Native arithmetic: tiles that are masked out wholly, in front, make no
-- numbers that are none.
do
  local p = ops.attention { b = 1, h = 1, m = 4, n = 8, d = 4, mask = true }
  local function run(what)
    local t = {}
    for n = 1, 3 do
      t[n] = ts.tensor("float32", { 1, 1, n == 1 and 4 or 8, 4 }, "random", n)
    end
    local rows = {}
    for i = 1, 4 do
      rows[i] = { -inf, -inf, -inf, -inf, 0, 1, i == 1 and -inf or 2, -1 }
    end
    t[4] = ts.tensor("float32", { 4, 8 }, rows)
    t[5] = ts.tensor("float32", { 1, 1, 4, 4 }, "zeros")
    ts.interpret(what, t)
    return t[5]
  end
  local y, z = run(p), run(flash(p, 2, 4))
  assert(y:compare(z) < 1e-5)
end
