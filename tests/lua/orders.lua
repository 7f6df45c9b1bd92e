-- SPDX-License-Identifier: Apache-2.0
-- Detection of how far a reducer is associative and commutative: of each class
-- one with small, large and fractional constants.
local ts = require "tessera"

local inf = math.huge
local max, min, abs = ts.max, ts.min, ts.abs

-- What a program allows whose parameters have types `dtypes`: "free", "kept"
-- (in parts, but in order) or "fixed" (one after another), of 4 times `extent`
-- sources.
local function order(combine, identity, dtypes, sources, extent)
  extent = extent or 6
  local params, k, l = {}, ts.reduce_axis("k", 4), ts.reduce_axis("l", extent)
  for n, t in ipairs(dtypes) do
    params[n] = ts.placeholder("A" .. n, { 4, 4, extent }, t)
  end
  local results = { ts.compute("C", { 4 }, function(i)
    local x = {}
    for n, A in ipairs(params) do x[n] = A(i, k, l) end
    if sources then x = { sources(table.unpack(x)) } end
    x[#x + 1] = { k, l }
    return ts.reducer(combine, identity, "r")(table.unpack(x))
  end) }
  local p = ts.program("p", params, results)
  local function allows(change)
    local s = ts.schedule(p)
    local _, outer, inner = s:get_loops(s:get_block "C")
    local ok, e = pcall(change, s, outer, inner)
    assert(ok or e.reason == "REDUCER_ORDERED", tostring(e))
    return ok
  end
  local reorders = allows(function(s, a, b) s:reorder(b, a) end)
  local groups = allows(function(s, a) s:rfactor(a, 0) end)
  return reorders and "free" or groups and "kept" or "fixed"
end

local select, ge, gt, le, lt = ts.select, ts.ge, ts.gt, ts.le, ts.lt
local numbers = { "int16", "int32", "float32", "float64" }
local floats, integers = { "float16", "float32" }, { "int32", "int64" }

-- The first that a test holds of, else the greatest.
local function first_of(test)
  return function(a, b)
    return select(test(a), a, select(test(b), b, max(a, b)))
  end
end
local function nearest(to)
  return function(a, b) return select(le(abs(a - to), abs(b - to)), a, b) end
end

-- order, types, combine, identity
local singles = {
  { "kept", numbers, first_of(function(x) return ge(x, 10) end), -inf },
  { "kept", numbers, first_of(function(x) return ge(x, 1000) end), -inf },
  { "kept", floats, first_of(function(x) return ge(x, 0.01) end), 0 },
  { "kept", { "int32", "float32" },
    first_of(function(x) return ge(x, 1000000) end), -inf },
  { "kept", numbers,
    first_of(function(x) return ts.all(ge(x, 20), le(x, 30)) end), -inf },
  { "kept", numbers, function(a, b) return select(lt(b, -77), b, a) end, 0 },
  { "kept", numbers, nearest(5), 10000 },
  { "kept", numbers, nearest(100), 10000 },
  { "kept", floats, function(a, b) return select(ge(abs(a), abs(b)), a, b) end,
    0 },
  { "kept", floats,
    function(a, b) return select(ge(ts.floor(a), ts.floor(b)), a, b) end,
    -inf },
  { "kept", integers,
    function(a, b) return select(ge(a // 10, b // 10), a, b) end, -inf },
  { "fixed", numbers, function(a, b) return min(a + b, 100) end, 0 },
  { "fixed", numbers, function(a, b) return max(a + b, -50) end, 0 },
  { "fixed", numbers, function(a, b) return max(a + b, 0) end, 0 },
  { "fixed", { "float32", "float64" },
    function(a, b) return min(a + b, 1e10) end, 0 },
  { "fixed", { "float32", "float64" },
    function(a, b) return min(a + b, 0.001) end, 0 },
  { "fixed", { "int32", "float32" },
    function(a, b) return min(a * b, 100000) end, 1 },
  { "fixed", numbers,
    function(a, b) return a + select(gt(b, 100), b * 0, b) end, 0 },
  { "fixed", numbers, function(a, b)
    return select(gt(a + b, 64), a + b - 64, a + b)
  end, 0 },
  { "fixed", floats, function(a, b) return select(gt(b, a + 0.5), b, a) end,
    -inf },
  { "fixed", floats, function(a, b)
    return select(lt(abs(a - b), 0.001), a, max(a, b))
  end, -inf },
  { "fixed", floats, function(a, b) return a * 0.9 + b * 0.1 end, 0 },
  { "fixed", floats, function(a, b) return max(a - 0.125, 0) + b end, 0 },
  { "fixed", numbers, function(a, b) return abs(a - b) end, 0 },
  { "fixed", integers, function(a, b) return a * 31 + b end, 0 },
  { "fixed", { "bool" }, function(a, b) return ts.any(ts.lnot(a), b) end, 1 },
  { "free", numbers, function(a, b) return a + b + a * b end, 0 },
  { "free", integers, function(a, b) return (a % 97 + b % 97) % 97 end, 0 },
  { "free", { "bool" }, function(a, b) return ts.ne(a, b) end, 0 },
}
for n, c in ipairs(singles) do
  for _, t in ipairs(c[2]) do
    local is = order(c[3], c[4], { t })
    assert(is == c[1], ("single %d, %s: %s, not %s"):format(n, t, is, c[1]))
  end
end

local function real(x) return ts.cast(x, "float32") end
local function moments(share)
  return function(n1, m1, s1, n2, m2, s2)
    local n, d = n1 + n2, m2 - m1
    local w = share(n2, n)
    return n, m1 + d * w, s1 + s2 + d * d * real(n1) * w
  end
end
-- Of nothing the share is 0, or none.
local guarded = moments(function(n2, n)
  return select(gt(n, 0), real(n2) / max(real(n), 1.0), 0.0)
end)
local bare = moments(function(n2, n) return n2 / n end)
local zero, one = ts.const(0, "float32"), ts.const(1, "float32")
local function masked(x, y) return select(gt(x, 0), one, zero), y, zero end
local function counted(x, y)
  return ts.cast(gt(x, 0), "int32"), y, zero
end

-- order, types, combine, identities, sources
local tuples = {
  { "kept", { "int32", "int32" }, function(a, b, c, d)
    return a * c, b * c + d -- maps x -> a x + b, one after the other
  end, { 1, 0 } },
  { "kept", { "float32", "float32" }, function(a, b, c, d)
    return a * c, b * c + d
  end, { 1, 0 } },
  { "kept", { "float32" }, function(s, p, q, b, t, u, v, c)
    return s + t, max(p, s + u), max(v, t + q), max(max(b, c), q + u)
  end, { 0, 0, 0, 0 }, function(x) -- the greatest sum of neighbours
    return x, max(x, 0), max(x, 0), max(x, 0)
  end },
  { "kept", { "bool", "float32" }, function(f, x, g, y)
    return ts.any(f, g), select(g, y, x)
  end, { 0, 0 } },
  { "fixed", { "float32", "float32" }, function(n, m, _, x)
    return n + 1, m + (x - m) / (n + 1)
  end, { 0, 0 } },
  { "free", { "float32", "float32" }, function(a, b, c, d)
    return a * c - b * d, a * d + b * c
  end, { 1, 0 } },
  { "free", { "float32" }, function(a, n, b, m)
    return max(a, b), select(ge(a, b), n, 0) + select(ge(b, a), m, 0)
  end, { -inf, 0 }, function(x) return x, ts.const(1, "int32") end },
  -- What a source is decides what may be done with it.
  { "free", { "float32" }, function(a, b) return min(a + b, 100) end, { 0 },
    function(x) return max(x, 0) end },
  { "free", { "float32", "float32" }, guarded, { 0, 0, 0 }, counted },
  { "free", { "float32", "float32" }, guarded, { 0, 0, 0 }, masked },
  { "free", { "uint8", "float32" }, guarded, { 0, 0, 0 }, function(n, x)
    return ts.cast(n, "int32"), x, zero
  end },
  { "fixed", { "int32", "float32" }, guarded, { 0, 0, 0 }, function(n, x)
    return n, x, zero
  end },
  { "free", { "float32" }, bare, { 0, 0, 0 }, function(x)
    return one, x, zero
  end },
  { "fixed", { "float32", "float32" }, bare, { 0, 0, 0 }, masked },
}
for n, c in ipairs(tuples) do
  local is = order(c[3], c[4], c[2], c[5])
  assert(is == c[1], ("tuple %d: %s, not %s"):format(n, is, c[1]))
end

-- Where sources are small, only results of many come to the constants.
local function mask(t, yes, no)
  return function(x)
    return select(x, ts.const(yes or 1, t), ts.const(no or 0, t))
  end
end
local function unit(x) return min(max(x, 0), 1) end
local many = 1 << 16

local function check(what, want, combine, identity, dtype, source, extent)
  local ids = type(identity) == "table" and identity or { identity }
  local is = order(combine, ids, { dtype }, source, extent)
  assert(is == want, ("%s: %s, not %s"):format(what, is, want))
end

for _, t in ipairs { "int32", "int64", "float32" } do
  for _, c in ipairs { 10, 21, 100, 1000, 12345, 30000 } do
    for n, f in ipairs {
      function(a, b) return select(ge(a, c), a, a + b) end,
      function(a, b) return select(ge(b, c), b, a + b) end,
      function(a, b) return select(gt(a + b, c), ts.cast(0, t), a + b) end,
      function(a, b) return select(ts.eq(a, c), a, a + b) end,
      function(a, b) return a + b - ts.cast(gt(a + b, c), t) * 3 end,
    } do
      check(("cut %d at %d, %s"):format(n, c, t), "fixed", f, 0, "bool",
        mask(t), many)
    end
    local below = function(a, b) return min(a + b, c) end
    check("a sum of what is never negative, cut off", "free", below, 0, "bool",
      mask(t), many)
    check("a sum, cut off", "fixed", below, 0, "bool", mask(t, 3, -1), many)
    check("a count modulo", "free", function(a, b) return (a + b) % c end, 0,
      "bool", mask(t), many)
  end
end

for _, t in ipairs { "int8", "uint8", "int16", "uint16" } do
  check(t .. " wraps", "free", function(a, b) return a + b end, 0, "bool",
    mask(t), many)
  check(t .. " wraps, of products", "free", function(a, b) return a * b end, 1,
    "bool", mask(t, 3, 1), many)
end
check("wraps past a bound", "fixed", function(a, b) return max(a + b, -50) end,
  0, "bool", mask("int8", 30))
check("wraps past a modulus", "fixed",
  function(a, b) return (a + b) % 100 end, 0, "bool", mask("int8"), many)
check("grows past a bound", "fixed",
  function(a, b) return select(gt(a, 40), a, a + b) end, 0, "uint8",
  function(x) return x % 7 end)
check("a float sum, cut off", "free",
  function(a, b) return min(a + b, 1e4) end, 0, "float32", unit, many)
check("a float sum that stops", "fixed",
  function(a, b) return select(ge(a, 1e4), a, a + b) end, 0, "float32", unit,
  many)
check("a product that stops", "fixed",
  function(a, b) return select(lt(a, 1e-3), a, a * b) end, 1, "bool",
  mask("float32", 0.5, 1))
check("the first past a count", "fixed", function(n, x, m, y)
  return min(n + m, 100),
    select(ge(n, 100), x, select(ge(n + m, 100), y, 0))
end, { 0, 0 }, "bool", function(x)
  return mask("int32")(x), mask("int32", 1, 2)(x)
end, many)
-- More than there are sources, which is not shown.
check("cut off too far", "fixed",
  function(a, b) return select(ge(a, 100000000), a, a + b) end, 0, "bool",
  mask("int32"), many)

-- A count fits its type where there are few sources.
local function few(x) return ts.cast(gt(x, 0), "int8"), x, zero end
check("few moments", "free", guarded, { 0, 0, 0 }, "float32", few)
check("many moments", "fixed", guarded, { 0, 0, 0 }, "float32", few, many)
check("masked moments", "free", guarded, { 0, 0, 0 }, "float32",
  function(x) return ts.cast(gt(x, 0), "int32"), x, zero end, many)

-- Checks of the identity alone, and of reducers that test for not-a-number.
local function arg_max(drops)
  return function(i, x, j, y)
    local keep = ts.any(gt(x, y), ts.all(ts.eq(x, y), lt(i, j)), drops(i, x))
    return select(lt(j, 0), i, select(lt(i, 0), j, select(keep, i, j))),
      select(lt(j, 0), x, select(lt(i, 0), y, select(keep, x, y)))
  end
end
for _, drops in ipairs {
  function(_, x) return ts.ne(x, x) end,
  function(i) return lt(i, 0) end,
} do
  check("arg-max", "free", arg_max(drops), { -1, -inf }, "float32",
    function(x) return ts.cast(ts.floor(unit(x) * 9), "int32"), x end, many)
end
