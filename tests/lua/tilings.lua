-- SPDX-License-Identifier: Apache-2.0
-- multi_level_tiling where one of its steps is refused: the others are done,
-- without a warning.
local ts = require "tessera"
local searching = dofile((arg[0]:gsub("[^/]*$", "../support/searching.lua")))
local steps = searching.steps

-- The default space, but that small nests are parallel, too.
local space = ts.space.compose {
  require "tessera.modules.auto_inline" {},
  require "tessera.modules.multi_level_tiling" { pack = true },
  require "tessera.modules.parallel_vectorize_unroll" { serial_below = 0,
                                                parallel_from = 0 },
}
local function drawn(p, count) return searching.drawn(p, count, space) end

local warned = {}
ts.on_warning(function(text) warned[#warned + 1] = text end)

local N = 16
local X = ts.placeholder("X", { N, N })
local W = ts.placeholder("W", { N, N })

local function product(name, a, b)
  local k = ts.reduce_axis("k", N)
  return ts.compute(name, { N, N }, function(i, j)
    return ts.sum(a(i, k) * b(k, j), k)
  end)
end

-- An operand that another block reads, too, is packed for one of them.
do
  local p = ts.program("p", { X, W }, { product("R", product("Q", X, W), W) })
  local packed = 0
  for _, t in ipairs(drawn(p, 16)) do
    if steps(t, "cache_read") == 2 then packed = packed + 1 end
  end
  assert(packed == 1)
  local V = ts.placeholder("V", { N, N })
  drawn(ts.program("p", { X, W, V }, { product("Q", W, X),
                                       product("K", V, X) }), 16)
end

-- One input that is both factors is read again, too.
do
  drawn(ts.program("p", { X }, { product("Q", X, X) }), 3)
  local k = ts.reduce_axis("k", N)
  local gram = ts.compute("G", { N, N }, function(i, j)
    return ts.sum(X(i, k) * X(j, k), k)
  end)
  drawn(ts.program("p", { X }, { gram }), 3)
end

local function nest(b, f)
  b:loop("i", 0, N, function(i)
    b:loop("j", 0, N, function(j)
      f({ "vi", extent = N, bind = i }, { "vj", extent = N, bind = j })
    end)
  end)
end

local function clear(b, C, name)
  nest(b, function(i, j)
    b:block(name or "clear", { i, j }, function(vi, vj)
      b:store(C, { vi, vj }, 0)
    end)
  end)
end

local function multiply(b, A, B, C)
  nest(b, function(i, j)
    b:loop("k", 0, N, function(k)
      b:block("mm", { i, j, { "vk", "reduce", extent = N, bind = k } },
              function(vi, vj, vk)
        b:store(C, { vi, vj }, C(vi, vj) + A(vi, vk) * B(vk, vj))
      end)
    end)
  end)
end

local function explained(p)
  return ts.space.explain(space, p, "llvm", { all = true })
end

-- Where the result cannot be written back, the tiles are left, alone and with
-- what is packed; it is said why.
for kind, reason in pairs {
  inout = 'cache_write: block "mm" writes buffer "C", which is an input of ' ..
          "the caller's",
  output = 'cache_write: both block "clear" and block "mm" write buffer "C"',
} do
  local b = ts.builder "update"
  local A, B = b:input("A", { N, N }), b:input("B", { N, N })
  local C = b[kind](b, "C", { N, N })
  if kind == "output" then clear(b, C) end
  multiply(b, A, B, C)
  local p = b:program()
  local list, why = drawn(p, 2), explained(p)
  assert(steps(list[1], "cache_read") == 0)
  assert(steps(list[2], "cache_read") == 1)
  assert(why:find("multi_level_tiling at mm: applied, 2 schedules: no write " ..
                  "level 1: " .. reason .. "; no write level 2: " .. reason ..
                  "\n", 1, true), why)
end

-- What a block reads and writes in several places has no tiles.
do
  local b = ts.builder "paths"
  local C = b:inout("C", { N, N })
  multiply(b, C, C, C)
  local why = explained(b:program())
  assert(why:find("multi_level_tiling at mm: not applicable", 1, true), why)
end

-- An operand that cannot be copied is not packed; one that is changed behind
-- its reader can.
do
  local b = ts.builder "clearing"
  local A, B = b:input("A", { N, N }), b:inout("B", { N, N })
  local C = b:inout("C", { N, N })
  multiply(b, A, B, C)
  clear(b, B)
  drawn(b:program(), 2)
  clear(b, B, "again")
  local p = b:program()
  drawn(p, 1)
  local why = explained(p)
  assert(why:find("; no packing of B: cache_read: ", 1, true), why)
end

-- A consumer takes the result away only when its tiles are the result's; else
-- there is a copy, and the tiles stay free to run at once.
local function consumer(f)
  local C = product("C", X, W)
  local D = ts.compute("D", { N - 1, N - 1 }, function(i, j)
    return f(C, i, j)
  end)
  return ts.program("p", { X, W }, { D })
end
for text, case in pairs {
  stencil = { 1, function(C, i, j) return C(i, j) + C(i + 1, j + 1) end },
  shifted = { 1, function(C, i, j) return C(i + 1, j) end },
  diagonal = { 1, function(C, i, j) return C(i, i) end },
  mirrored = { 1, function(C, i, j) return C(i, j) + C(j, i) end },
  twice = { 0, function(C, i, j) return C(i, j) * C(i, j) end },
  turned = { 0, function(C, i, j) return C(j, i) end },
} do
  local p = consumer(case[2])
  for n, t in ipairs(drawn(p, 4)) do
    local copies = steps(t, "cache_write")
    assert(copies == (n > 1 and case[1] or 0), text)
    assert(steps(t, "parallel") == 1 + copies or n == 1, text)
  end
end

-- Nor does one that may not stand there, since it reads what comes later.
do
  local C, D = product("C", X, W), product("D", W, X)
  local S = ts.compute("S", { N, N }, function(i, j)
    return C(i, j) + D(i, j)
  end)
  local p = ts.program("p", { X, W }, { S })
  local copies = {}
  for _, t in ipairs(drawn(p, 16)) do
    local n = steps(t, "cache_write")
    copies[n] = (copies[n] or 0) + 1
  end
  assert(copies[0] == 4 and copies[1] == 12)
  local why = explained(p)
  assert(not why:find(": no ", 1, true), why)
end

-- What a module says of its schedules is explained.
do
  local says = searching.module("says", function(sch)
    return sch, "of these"
  end)
  local why = ts.space.explain({ says {} }, searching.program, nil,
                               { all = true })
  assert(why:find("says at C: applied, 1 schedule: of these\n", 1, true), why)
  -- In short it is a line for all blocks, and of one that was applied nowhere
  -- the reason that is rare.
  why = ts.space.explain({ says {} }, searching.program)
  local line = "^says at [%w, ]+C[%w, ]*: applied, %d schedules: of these\n$"
  assert(why:find(line), why)
  local not_at = searching.module("not_at", function(_, block)
    return nil, "it is " .. (block == nil and "none" or "a block")
  end)
  why = ts.space.explain({ not_at {}, says {} }, searching.program)
  assert(why:find "^not_at at %w+: not applicable: it is a block\nsays at ")
end

collectgarbage()
ts.on_warning(nil)
assert(#warned == 0, warned[1])
