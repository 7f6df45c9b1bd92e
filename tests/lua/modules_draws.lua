-- SPDX-License-Identifier: Apache-2.0
-- Modules, and functions that schedule by hand, whose draws are refused: they
-- are applied again with others.
local ts = require "tessera"
local ops = require "tessera.ops"
local template = require "tessera.template"
local tiling = require "tessera.tiling"

local p = ops.matmul { m = 64, n = 64, k = 64 }

-- The tiles of two loops, of which every second draw or so is allowed.
local function constrained(sch, block)
  local i, j, k = sch:get_loops(block)
  local i0, i1 = sch:sample_perfect_tile(i, { n = 2 })
  local j0, j1 = sch:sample_perfect_tile(j, { n = 2 })
  local rows = {}
  for a = 0, 4 do
    for b = 0, math.min(4, 5 - a) do
      table.move({ 1 << a, 1 << b }, 1, 2, #rows + 1, rows)
    end
  end
  sch:restrict_values({ i1, j1 }, rows)
  local io, ii = sch:split(i, { i0, i1 })
  local jo, ji = sch:split(j, { j0, j1 })
  sch:reorder(io, jo, k, ii, ji)
  return sch
end

-- A module of reductions that does this, and how often it was called.
local function counted(f)
  local calls = { n = 0 }
  return ts.module { name = "counted", apply = function(sch, block)
    if not sch:is_reduction(block) then return nil, "no reduction" end
    calls.n = calls.n + 1
    return f(sch, block, calls.n)
  end } {}, calls
end

local told = {}
ts.on_warning(function(text) told[#told + 1] = text end)

-- One unlucky draw costs neither the module nor the function.
do
  local m, calls = counted(constrained)
  local list = ts.space.sketches({ m }, p, "llvm")
  assert(#list == 1 and #list[1] == 8, #list[1])
  assert(calls.n > 1, "the first draw is no more refused: choose another test")
  assert(ts.space.explain({ m }, p, "llvm") ==
         "counted at C: applied, 1 schedule\n")
  list = ts.space.sketches(function(sch)
    constrained(sch, sch:get_block "C")
  end, p, "llvm")
  assert(#list == 1 and #list[1] == 8)
  assert(#told == 0, told[1])
end

-- What each draw is refused is told of the first, once.
do
  local m, calls = counted(function(sch, block, n)
    sch:sample_perfect_tile((sch:get_loops(block)), { n = 2 })
    tiling.refuse("draw %d is refused", n)
  end)
  assert(#ts.space.sketches({ m }, p, "llvm")[1] == 0)
  assert(calls.n == 8, calls.n)
  assert(#told == 1 and told[1]:find("draw 1 is refused", 1, true), told[1])
  local n = 0
  local ok, e = pcall(ts.space.sketches, function(sch)
    local i = sch:get_loops(sch:get_block "C")
    local u = sch:sample_categorical({ 3, 5, 6, 7 }, { .25, .25, .25, .25 })
    n = n + 1
    sch:split(i, { u, 5 })
  end, p)
  assert(not ok and n == 8 and e.code == "REFUSED", e)
  assert(e.message:find("split: the factors multiply to", 1, true), e)
end

-- Nothing else is tried again: what draws nothing, or nothing of chance, and
-- what fails for other reasons.
for what, f in pairs {
  plain = function(sch, block) sch:split((sch:get_loops(block)), { 3, 5 }) end,
  given = function(sch, block)
    local i = sch:get_loops(block)
    sch:split(i, { sch:sample_perfect_tile(i, { n = 2, decision = { 1, 64 } }),
                   5 })
  end,
  broken = function(sch, block)
    sch:sample_perfect_tile((sch:get_loops(block)), { n = 2 })
    error("it broke", 0)
  end,
} do
  local m, calls = counted(f)
  ts.space.sketches({ m }, p, "llvm")
  assert(calls.n == 1, what)
end

-- A mold chooses by itself, so what it is refused is not asked for again.
do
  local n = 0
  local mold = template.mold {
    parameters = { { name = "a", values = { 3, 5 } } },
    apply = function(sch, v)
      n = n + 1
      sch:split((sch:get_loops(sch:get_block "C")), { 1, v.a })
    end }
  local ok, e = pcall(ts.space.sketches, mold, p, "llvm")
  assert(not ok and e.code == "REFUSED", e)
  assert(n < 600, n)
end
ts.on_warning(nil)
