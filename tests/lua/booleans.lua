-- SPDX-License-Identifier: Apache-2.0
-- Lua's own operators on expressions and buffers: what they would lose is
-- refused, with the way out.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local fails = checks.fails

local A = ts.placeholder("A", { 4, 4 })
local function refused(code, text, body)
  fails(code, text, ts.compute, "C", { 4, 4 }, body)
end

-- A Lua boolean where a condition, or any expression, is wanted.
for _, body in ipairs {
  function(i, j) return ts.select(A(i, j) == 0, 1, A(i, j)) end,
  function(i, j) return ts.select(not A(i, j), 1, A(i, j)) end,
  function(i) return ts.all(i == 0) end,
  function(i, j) return ts.all(ts.lt(i, j), i ~= 0) end,
  function(i, j) return ts.any(i == 0, j == 0) end,
  function(i, j) return ts.land(ts.lt(i, j), i == 0) end,
  function(i, j) return ts.lor(i == 0, ts.lt(i, j)) end,
  function(i) return ts.lnot(i == 0) end,
  function(i) return i == 0 end,
  function(i) return ts.cast(i == 0, "float32") end,
  function(i, j) return A(i, j) + (j == 0) end,
  function(i) return A(i, i == 0) end,
} do
  refused("TYPE", "a Lua boolean is no expression: ==, ~=, not, and, or are " ..
          "evaluated by Lua at once; write ts.eq, ts.ne, ts.lnot", body)
end

do
  local b = ts.builder "boolean"
  local X = b:inout("X", { 8 })
  local function none() end
  fails("TYPE", "a Lua boolean", b.when, b, X(1) == 0, none)
  fails("TYPE", "a Lua boolean", b.store, b, X, { 1 }, X(1) == 0)
  fails("TYPE", "a Lua boolean", b.evaluate, b, X(1) == 0)
  fails("TYPE", "a Lua boolean", b.let, b, "l", X(1) == 0, none)
  b:loop("i", 0, 8, function(i)
    fails("TYPE", "a Lua boolean", b.block, b, "s",
          { { "vi", extent = 8, bind = i } }, { where = (i == 3) }, none)
  end)
end

-- Constants are written as such, and only of their type.
do
  local yes = ts.const(true, "bool")
  local C = ts.compute("C", { 4, 4 }, function(i, j)
    return ts.select(ts.all(yes, ts.lnot(ts.const(false, "bool"))),
                     A(i, j), 7)
  end)
  local a, c = ts.tensor("float32", { 4, 4 }, "random"),
               ts.tensor("float32", { 4, 4 })
  ts.interpret(ts.program("p", { A }, { C }), { a, c })
  assert(c:compare(a) == 0)
  fails("TYPE", 'write ts.const(true, "bool")', ts.const, true, "float32")
  fails("TYPE", 'write ts.const(true, "bool")', ts.const, false, "int32")
end

-- Operators that Lua lets us see.
refused("TYPE", "compared with == or ~= in Lua: use ts.eq, ts.ne",
        function(i, j) return ts.select(A(i, j) == A(j, i), 1, 0) end)
refused("TYPE", "compared with == or ~= in Lua: use ts.eq, ts.ne",
        function(i, j) return ts.select(i ~= j, 1, 0) end)
refused("TYPE", "compared with < or <= in Lua: use ts.lt",
        function(i, j) return ts.select(i < j, 1, 0) end)
for _, body in ipairs {
  function(i, j) return ts.lt(i, j) & ts.lt(j, 2) end,
  function(i, j) return ts.lt(i, j) | ts.lt(j, 2) end,
  function(i, j) return ~ts.lt(i, j) end,
} do
  refused("TYPE", "conditions are combined by ts.all, ts.any, ts.lnot", body)
end

-- Brackets, and a buffer without indices.
refused("TYPE", "an element of a buffer is written A(i, j), not with brackets",
        function(i, j) return A[i][j] end)
refused("TYPE", "elements are not assigned", function(i) A[i] = 1 return 1 end)
refused("TYPE", "not a buffer: an element is written A(i, j)",
        function() return A + 1 end)
refused("TYPE", "not a buffer: an element is written A(i, j)",
        function(i, j) return ts.max(A(i, j), A) end)
do
  local wide = ts.placeholder("W", { 1, 1, 1, 1, 1 })
  fails("TYPE", "W(i, j, k, l, ...)", function() return wide[1] end)
  fails("TYPE", "S()", function() return ts.placeholder("S", {})[1] end)
  fails("NOT_FOUND", "a buffer has no field 'size'",
        function() return A.size end)
end

-- Arguments that nothing reads are refused: they may have been meant to count.
do
  local k, l = ts.reduce_axis("k", 4), ts.reduce_axis("l", 4)
  local M = ts.placeholder("M", { 4, 4 })
  for text, f in pairs {
    ["ts.sum takes 2 arguments, not 3; several axes are a list, { k, l }"] =
      function() return ts.sum(M(k, l), k, l) end,
    ["ts.lt takes 2 arguments, not 3"] =
      function() return ts.lt(M(k, l), 1, 2) end,
    ["ts.select takes 3 arguments, not 4"] =
      function() return ts.select(ts.lt(M(k, l), 1), 1.0, 2.0, 3.0) end,
  } do
    local ok, e = pcall(f)
    assert(not ok and tostring(e):find(text, 1, true), tostring(e))
  end
end
