-- SPDX-License-Identifier: Apache-2.0
-- Properties of reducers: a non-commutative one keeps the order of its
-- operands, a non-associative one their grouping, too.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local legal, illegal, refused = checks.legal, checks.illegal, checks.refused

local inf = math.huge

local function program(combine, identity, dtype)
  local A = ts.placeholder("A", { 4, 6 }, dtype or "int32")
  local k = ts.reduce_axis("k", 6)
  local reducer = ts.reducer(combine, identity, "r")
  return ts.program("p", { A }, {
    ts.compute("B", { 4 }, function(i) return reducer(A(i, k), k) end)
  })
end

-- ---- one value -------------------------------------------------------------

local max, min, abs = ts.max, ts.min, ts.abs

local right = {
  { function(a, b) return a + b end, 0 },
  { function(a, b) return a + b + 1 end, -1 },
  { function(a, b) return a * b + a + b end, 0 },
  { function(a, b) return (a + b) % 2 end, 0 },
  { function(a, b) return max(a, b) end, -3 },
  { function(a, b) return max(a, b) end, -inf },
  { function(a, b) return max(abs(a), abs(b)) end, 0 },
  { function(a, b) return min(a, b) end, 1e30, "float32" },
  { function(a, b) return ts.sqrt(a * a + b * b) end, 0, "float64" },
  { function(a, b) return ts.log(ts.exp(a) + ts.exp(b)) end, -inf, "float32" },
  { function(a, b) return a * b end, 1, "float16" },
  { function(a, b) return ts.any(a, b) end, 0, "bool" },
}
for n, r in ipairs(right) do
  for _, t in ipairs(r[3] and { r[3] } or { "int32", "int8", "float32" }) do
    local ok, p = pcall(program, r[1], r[2], t)
    assert(ok, ("%d, %s: %s"):format(n, t, tostring(p)))
  end
end

local wrong = {
  { function(a, b) return a * 2 + b end, 0 },
  { function(a, b) return a - b end, 0 },
  { function(_, b) return b end, 0 },
  { function(a, _) return a end, 0 },
  { function(a, b) return a + b end, 5 },
  { function(a, b) return a * b end, 2 },
  { function(a, b) return a + b * b end, 0 },
  { function(a, b) return (a + b) // 2 end, 0 },
  { function(a, b) return min(a + b, 10) end, 0 },
  { function(a, b) return max(a, b) - min(a, b) end, 0 },
  { function(a, b) return (a + b) / 2 end, 0, "float32" },
  { function(a, b) return ts.pow(a + b, 1.5) end, 0, "float32" },
  { function(a, b) return a + ts.call_extern("f", "float32", b) end, 0,
    "float32" },
}
for _, r in ipairs(wrong) do
  local p = program(r[1], r[2], r[3])
  local sch = ts.schedule(p)
  local _, k = sch:get_loops(sch:get_block "B")
  k = sch:split(k, { 2, 3 })
  refused(sch, "REDUCER_ORDERED", "rfactor", k, 0)
end

-- A count that grows by one is never below 0.
do
  local A, k = ts.placeholder("A", { 4, 16 }), ts.reduce_axis("k", 16)
  local function real(x) return ts.cast(x, "float32") end
  local moments = ts.reducer(function(n1, m1, s1, n2, m2, s2)
    local n, d = n1 + n2, m2 - m1
    local w = ts.select(ts.gt(n, 0), real(n2) / max(real(n), 1.0), 0.0)
    return n, m1 + d * w, s1 + s2 + d * d * real(n1) * w
  end, { 0, 0, 0 }, "moments")
  local one, zero = ts.const(1, "int32"), ts.const(0, "float32")
  local out = { ts.compute("C", { 4 }, function(i)
    return moments(one, A(i, k), zero, k)
  end) }
  local sch = ts.schedule(ts.program("p", { A }, out))
  local _, l = sch:get_loops(sch:get_block("C"))
  local _, inner = sch:split(l, { 4, 4 })
  sch:rfactor(inner, 0)
end

-- ---- several ---------------------------------------------------------------

local K, L = 4, 5

-- Of A[i, k, l], over k and l, with its number.
local function over_two(combine, identity)
  local A = ts.placeholder("A", { 3, K, L })
  local k, l = ts.reduce_axis("k", K), ts.reduce_axis("l", L)
  local reducer = ts.reducer(combine, identity, "r")
  local x, y = ts.compute("C", { 3 }, function(i)
    return reducer(ts.cast(k * L + l, "int32"), A(i, k, l), { k, l })
  end)
  local twice = ts.compute("D", { 3 }, function(i) return y(i) * 2 end)
  return ts.program("p", { A }, { x, twice })
end

local function first(i, x, j, y)
  return ts.select(ts.ge(x, y), i, j), max(x, y)
end
local function least(i, x, j, y)
  local keep = ts.any(ts.gt(x, y), ts.all(ts.eq(x, y), ts.lt(i, j)))
  return ts.select(keep, i, j), max(x, y)
end
-- the last one that is not zero
local function last(i, x, j, y)
  local zero = ts.eq(y, 0)
  return ts.select(zero, i, j), ts.select(zero, x, y)
end

local values = {}
for i = 1, 3 do
  values[i] = {}
  for k = 1, K do
    values[i][k] = {}
    for l = 1, L do values[i][k][l] = (k * 3 + l * 7 + i) % 5 - 2 end
  end
end
local a = ts.tensor("float32", { 3, K, L }, values)

local function results(p)
  local i, x = ts.tensor("int32", { 3 }), ts.tensor("float32", { 3 })
  ts.build(p)(a, i, x)
  local all = {}
  for n = 0, 2 do all[n + 1] = i:get(n) .. " " .. x:get(n) end
  return table.concat(all, ", ")
end

-- What changes the order, and what does not.
local changes = {
  reorder = function(s, k, l) s:reorder(l, k) end,
  rfactor = function(s, _, l) s:rfactor(l, 0) end,
  bind = function(s, k) s:bind(k, "threadIdx.x") end,
  reverse_compute_at = function(s)
    s:reverse_compute_at(s:get_block "C", (s:get_loops(
      s:cache_read(s:get_block "C", "A", "local"))))
  end,
  transform_block_layout = function(s)
    s:transform_block_layout(s:get_block "C",
                             function(i, k, l) return i, l, k end)
  end,
}
local reasons = { reorder = "REDUCER_ORDERED", rfactor = "REDUCER_ORDERED",
                  bind = "REDUCER_ORDERED",
                  reverse_compute_at = "BLOCK_NOT_COMPLETE",
                  transform_block_layout = "BLOCK_NOT_COMPLETE" }
local function compute_at(s)
  s:compute_at(s:get_block "C", (s:get_loops(s:get_block "D")))
end
local keeps = {
  compute_at = compute_at,
  ["split and compute_at"] = function(s, k, l)
    s:split(k, { 2, 3 })
    s:split(l, { 3, 2 })
    compute_at(s)
  end,
  ["fuse, split and compute_at"] = function(s, k, l)
    s:split(s:fuse(k, l), { 3, 7 })
    compute_at(s)
  end,
  rfactor = function(s, k) s:rfactor(k, 0) end,
  ["split and rfactor"] = function(s, k)
    s:rfactor((s:split(k, { 2, 2 })), 0)
  end,
  ["fuse and rfactor"] = function(s, k, l)
    s:rfactor((s:split(s:fuse(k, l), { 3, ts.auto })), 0)
  end,
  decompose_reduction = function(s, k)
    s:decompose_reduction(s:get_block "C", k)
  end,
  parallel = function(s, _, _, i) s:parallel(i) end,
  blockize = function(s, k) s:blockize(k) end,
}

local function apply(s, change)
  local i, k, l = s:get_loops(s:get_block "C")
  change(s, k, l, i)
end

for name, combine in pairs { first = first, last = last } do
  local p = over_two(combine, { -1, name == "first" and -inf or 0 })
  local path = os.tmpname()
  p:save(path)
  for _, q in ipairs { p, ts.load_program(path) } do
    local want = results(q)
    for what, change in pairs(changes) do
      illegal(q, reasons[what], apply, change)
    end
    for what, change in pairs(keeps) do
      local s = legal(q, apply, change)
      assert(results(s) == want, name .. ": " .. what .. " changed the result")
    end
  end
  os.remove(path)
end

-- The index identifies the first of equal values, in any order.
local p = over_two(least, { -1, -inf })
local want = results(p)
assert(want == results(over_two(first, { -1, -inf })))
for _, change in ipairs { changes.reorder, changes.rfactor } do
  assert(results(legal(p, apply, change)) == want)
end

-- The greatest value, and the sum of e to the power of what is below it.
local function online(m, s, n, t)
  local top = max(m, n)
  return top, s * ts.exp(m - top) + t * ts.exp(n - top)
end
local function softmax(low)
  local A = ts.placeholder("A", { 3, 8 })
  local k = ts.reduce_axis("k", 8)
  local reducer = ts.reducer(online, { low, 0 }, "online")
  return ts.program("p", { A }, { ts.compute("C", { 3 }, function(i)
    return reducer(A(i, k), ts.const(1, "float32"), k)
  end) })
end
-- From -inf the identity and itself make no number, but nothing combines them.
-- By the law of exponents the grouping makes no difference, unless parts begin
-- with a number that need not be the least.
local least = -0x1.fffffep127
for _, low in ipairs { -1e30, -inf, least } do
  local p = softmax(low)
  local s = ts.schedule(p)
  local _, k = s:get_loops(s:get_block "C")
  local _, inner = s:split(k, { 2, 4 })
  s:rfactor(inner, 0)
  assert(ts.equivalent(s, p))
end
