-- SPDX-License-Identifier: Apache-2.0
-- Integer overflow wraps, also in index arithmetic: described, scheduled,
-- interpreted and compiled it agrees with Lua's.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

local K, N = 6364136223846793005, 32
local big = { K, -K, math.maxinteger, math.mininteger, 1 << 62, -(1 << 62) }

-- Both ways to run p, whose last parameter is a new tensor of n elements.
local function same(p, n, value, what, ...)
  for _, run in ipairs { function(...) ts.interpret(p, { ... }) end,
                         ts.build(p) } do
    local out = ts.tensor("int64", { n })
    local args = { ... }
    args[#args + 1] = out
    run(table.unpack(args))
    for i = 0, n - 1 do
      local want = value(i)
      assert(out:get(i) == want, ("%s at %d: %d, not %d"):format(
               what, i, out:get(i), want))
    end
  end
end

local function int(c) return ts.select(c, 1, 0) end
local function bit(c) return c and 1 or 0 end

-- {of tensor expressions, of Lua's integers}
local forms = {
  { function(i, k) return (i * k) // 1000 end },
  { function(i, k) return (i * k) % 1000 end },
  { function(i, k) return (i * k) // k end },
  { function(i, k) return (i * k + i) % 15 end },
  { function(i, k) return (i + k) // 2 - (i - k) % 7 end },
  { function(i, k) return (i * 3 + k + 5) * (i + 1) // 6 end },
  { function(i, k) return ts.min(i + k, 0) end,
    function(i, k) return math.min(i + k, 0) end },
  { function(i, k) return ts.max(i * k, i) end,
    function(i, k) return math.max(i * k, i) end },
  { function(i, k) return int(ts.lt(i * k, 0)) end,
    function(i, k) return bit(i * k < 0) end },
  { function(i, k) return int(ts.le(i, i + k)) end,
    function(i, k) return bit(i <= i + k) end },
  { function(i, k) return ts.select(ts.lt(i, 9), k, i) * 2 // 2 end,
    function(i, k) return (i < 9 and k or i) * 2 // 2 end },
}
for n, f in ipairs(forms) do
  for _, k in ipairs(big) do
    local C = ts.compute("C", { N }, function(i) return f[1](i, k) end)
    same(ts.program("p", {}, { C }), N,
         function(i) return (f[2] or f[1])(i, k) end, "form " .. n)
  end
end

-- Sums and products at random, of a quotient or remainder.
local state = 12345
local function draw(n)
  state = state * 6364136223846793005 + 1442695040888963407
  return (state >> 33) % n
end
for _ = 1, 60 do
  local c = {}
  for k = 1, 4 do c[k] = (draw(1 << 30) << draw(34)) - draw(1 << 20) end
  local d = draw(2) == 0 and 3 + draw(9) or 2 << draw(60)
  local function f(i, j)
    return ((i * c[1] + j * c[2]) * c[3] + c[4]) // d + (j * c[1] - i) % d
  end
  local C = ts.compute("C", { N }, function(i) return f(i % 4, i // 4) end)
  local p = ts.program("p", {}, { C })
  local s = ts.schedule(p)
  s:split(s:get_loops(s:get_block "C"), { ts.auto, 8 })
  for _, q in ipairs { p, s:program() } do
    same(q, N, function(i) return f(i % 4, i // 4) end, "at random")
  end
end

-- An index that wraps reads what it says.
local A, values = ts.placeholder("A", { 15 }, "int64"), {}
for i = 1, 15 do values[i] = 100 * i end
local a = ts.tensor("int64", { 15 }, values)
local B = ts.compute("B", { N }, function(i) return A((i * K) % 15) end)
same(ts.program("p", { A }, { B }), N,
     function(i) return values[(i * K) % 15 + 1] end, "a place", a)

-- Inlined, what wraps in a buffer does so among loop variables.
B = ts.compute("B", { N }, function(i) return i + 0 end)
local C = ts.compute("C", { N }, function(i) return B(i) * K // 1000 end)
local s = ts.schedule(ts.program("p", {}, { C }))
s:compute_inline(s:get_block "B")
same(s:program(), N, function(i) return i * K // 1000 end, "inlined")

-- So do data, and unsigned ones.
local D = ts.placeholder("D", { 15 }, "int64")
same(ts.program("p", { D }, { ts.compute("C", { 15 }, function(i)
  return D(i) * K // 1000
end) }), 15, function(i) return values[i + 1] * K // 1000 end, "data", a)
C = ts.compute("C", { N }, function(i)
  local x = ts.cast(i, "uint64") * ts.const(K, "uint64")
  return ts.cast(x % ts.const(1 << 40, "uint64"), "int64")
end)
same(ts.program("p", {}, { C }), N,
     function(i) return i * K & (1 << 40) - 1 end, "unsigned")

-- Sizes.
local n, m, o = ts.size "n", ts.size "m", ts.size "o"
for _, f in ipairs {
  function(x) return x * (1 << 62) // 2 end,
  function(x) return x * (1 << 31) * (1 << 31) // 4 end,
  function(x) return (x + math.maxinteger) % 10 end,
  function(x) return (x * 3 - 1) // 4 end,
} do
  local E = ts.placeholder("E", { n }, "int64")
  local p = ts.program("p", { E }, { ts.compute("C", { n }, function(i)
    return f(n) + f(i)
  end) })
  same(p, 4, function(i) return f(4) + f(i) end, "a size",
       ts.tensor("int64", { 4 }))
end
-- Also where a number that is far from what sizes are comes in later.
local far = 1 << 62
local function inlined(first, second)
  local E = ts.placeholder("E", { n }, "int64")
  local B = ts.compute("B", { n }, first)
  local C = ts.compute("C", { n }, function(i) return second(B(i), i) end)
  local p = ts.program("p", { E }, { C })
  local s = ts.schedule(p)
  s:compute_inline(s:get_block "B")
  checks.exact(s, p, { ts.tensor("int64", { 4 }), ts.tensor("int64", { 4 }) })
end
inlined(function(i) return ts.select(ts.lt(i, 1), i, math.maxinteger) end,
        function(b, i) return ts.max(b + i, 0) end)
inlined(function() return ts.select(ts.lt(n, 100), far, n) end,
        function(b) return (b + far) // 2 end)
inlined(function() return ts.max(n, far) end,
        function(b) return (b + b) // 2 end)
inlined(function() return n + 0 end, function(b)
  return ts.select(ts.ge((0 - 16) * ts.min(b, math.mininteger), b * 16), 1, 0)
end)
inlined(function()
  return ts.select(ts.lt(ts.max(4, n), 2147483647), -1 - far, 2147483647)
end, function(b) return 4 * b // 8 end)
do
  local k = ts.reduce_axis("k", { far, n })
  local X = ts.placeholder("X", { n }, "int64")
  local p = ts.program("p", { X }, { ts.compute("C", { n }, function(i)
    return ts.sum(ts.select(ts.lt(k * 4, 5), X(i), 0), k)
  end) })
  same(p, 4, function() return 2 end, "an axis",
       ts.tensor("int64", { 4 }, { 1, 1, 1, 1 }))
end

-- What tensors of several sizes need can be described.
local h, w = ts.size "h", ts.size "w"
local X, Y = ts.placeholder("X", { h * w, 3 }), ts.placeholder("Y", { h, w, 4 })
ts.compute("C", { h, w * 3 }, function(y, f)
  local at = y * (w * 3) + f
  return X(at // 3, at % 3)
end)
ts.compute("C", { w, h, 4 }, function(i, j, c)
  local at = (i * h + j) * 4 + c
  return Y(at // (4 * w), at // 4 % w, at % 4)
end)
ts.compute("C", { (h * w * 3 + 15) // 16 * 16 }, function(i)
  return ts.select(ts.lt(i, n * m * o), 1, 0)
end)
