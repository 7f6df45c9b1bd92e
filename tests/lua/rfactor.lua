-- SPDX-License-Identifier: Apache-2.0
-- rfactor for every kind of reducer, each position of the new dimension and
-- each loop of a split reduction: exact in the residue domain and compiled.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local reducers = dofile((arg[0]:gsub("[^/]*$", "../support/reducers.lua")))
local same, refused = checks.same, checks.refused

local N, K = reducers.N, 24

-- Some numbers are the greatest of their row more than once.
local values = {}
for n = 1, N do
  values[n] = {}
  for k = 1, K do values[n][k] = (k * 7 + n * 5) % 11 + 1 end
end
local ones = {}
for n = 1, N do
  ones[n] = {}
  for k = 1, K do ones[n][k] = (k + n) % 5 == 0 and 2 or 1 end
end

local case = 0
for name, make in pairs(reducers.by_name) do
  for _, factors in ipairs { { 4, 6 }, { 5, 5 } } do
    for which = 1, 2 do
      for axis = -2, 1 do
        -- A checked build does every third case.
        case = case + 1
        if checks.checked and case % 3 ~= 0 then goto continue end
        local A = ts.placeholder("A", { N, K })
        local k = ts.reduce_axis("k", K)
        local p = ts.program(name, { A }, { make(A, k) })
        local sch = ts.schedule(p)
        local _, kl = sch:get_loops(sch:get_block("C"))
        local split = { sch:split(kl, factors) }
        if which == 2 and reducers.in_order[name] then
          refused(sch, "REDUCER_ORDERED", "rfactor", split[2], axis)
        else
          sch:rfactor(split[which], axis)
          same(sch, p)
          local a = ts.tensor("float32", { N, K },
                              name == "prod" and ones or values)
          checks.exact(sch, p, reducers.arguments(p, a))
        end
        ::continue::
      end
    end
  end
end

-- A place that is none.
do
  local A = ts.placeholder("A", { N, K })
  local k = ts.reduce_axis("k", K)
  local p = ts.program("sum", { A }, { reducers.by_name.sum(A, k) })
  local sch = ts.schedule(p)
  local _, kl = sch:get_loops(sch:get_block("C"))
  for _, axis in ipairs { -3, 2 } do
    refused(sch, "AXIS_OUTSIDE", "rfactor", kl, axis)
  end
end

-- Sums over two loops, of which the first tells where the second one runs:
-- for r: for k in range(lo(r), extent(r)), at column q(r, k).
local function sums(lo, extent, q, where)
  local b = ts.builder("sums")
  local A = b:input("A", { 4, 3, 16 }, "int32")
  local O = b:output("O", { 4 }, "int32")
  b:loop("i", 0, 4, function(i) b:loop("r", 0, 3, function(r)
    b:loop("k", lo(r), extent(r), function(k)
      b:block("sum", { { "v", extent = 4, bind = i },
                       { "r", "reduce", extent = 3, bind = r },
                       { "q", "reduce", extent = 16, bind = q(r, k) } },
        { where = where and where(r, k) }, function(v, r, q)
          b:init(function() b:store(O, { v }, 0) end)
          b:store(O, { v }, O(v) + A(v, r, q))
        end)
    end)
  end) end)
  return b:program()
end

-- Each iteration of a factored loop begins where its other loops start: that
-- must be where its own sum does.
local function none() return 0 end
local function six(r) return 6 - r end
local function itself(r) return r end
local function second(_, k) return k end
for _, case in ipairs {
  { true, none, six, second },
  { true, none, six, function(r, k) return k + r end },
  { false, itself, six, second },
  { false, itself, six, function(r, k) return k - r end },
  { false, function(r) return r % 2 end, six, second },
  { false, function(r) return 2 * r end, six, function(r, k)
      return k - r
    end },
} do
  local p = sums(table.unpack(case, 2))
  local sch = ts.schedule(p)
  local _, r = sch:get_loops(sch:get_block "sum")
  if case[1] then
    sch:rfactor(r)
    same(sch, p)
    checks.exact(sch, p, checks.arguments(p, "integers"))
  else
    refused(sch, "INIT_START", "rfactor", r)
  end
end

-- A loop that starts earlier in later iterations of another one: though it is
-- less at its start, the predicate need not hold where both start.
do
  local b = ts.builder("corner")
  local A = b:input("A", { 4, 2, 3 }, "int32")
  local O = b:inout("O", { 4 }, "int32")
  b:loop("i", 0, 4, function(i) b:loop("f", 0, 2, function(f)
    b:loop("r", 0, 2, function(r) b:loop("k", 1 - r, 2, function(k)
      b:block("sum", { { "v", extent = 4, bind = i },
                       { "f", "reduce", extent = 2, bind = f },
                       { "q", "reduce", extent = 3, bind = r + k - 1 } },
        { where = ts.lt(k, 1) }, function(v, f, q)
          b:init(function() b:store(O, { v }, 0) end)
          b:store(O, { v }, O(v) + A(v, f, q))
        end)
    end) end)
  end) end)
  local sch = ts.schedule(b:program())
  local block = sch:get_block "sum"
  local i, f = sch:get_loops(block)
  refused(sch, "INIT_START", "rfactor", f)
  refused(sch, "INIT_START", "decompose_reduction", block, i)
  refused(sch, "INIT_START", "decompose_reduction", block, f)
end

-- Of two loops the predicate leaves one iteration for each of the other: in
-- other ones than the first of either there is none at the start of the other.
do
  local b = ts.builder("diagonal")
  local A = b:input("A", { 8 }, "int32")
  local O = b:output("O", { 1 }, "int32")
  b:loop("k", 0, 8, function(k) b:loop("f", 0, 2, function(f)
    b:block("sum", { { "q", "reduce", extent = 8, bind = k // 2 * 2 + f } },
      { where = ts.eq(f, k % 2) }, function(q)
        b:init(function() b:store(O, { 0 }, 0) end)
        b:store(O, { 0 }, O(0) + A(q))
      end)
  end) end)
  local p = b:program()
  local sch = ts.schedule(p)
  local k, f = sch:get_loops(sch:get_block "sum")
  refused(sch, "INIT_START", "rfactor", k)
  refused(sch, "INIT_START", "rfactor", f)
  same(sch, p)
end

-- ---- the result is used in the same nest -----------------------------------

-- Rows are summed, and each sum is used, and changed, where it is complete.
local function used(writes_input)
  local b = ts.builder("used")
  local A = (writes_input and b.inout or b.input)(b, "A", { 6, 8 })
  local D, C = b:output("D", { 6 }), b:output("C", { 6 })
  b:loop("i", 0, 6, function(i)
    b:loop("k", 0, 8, function(k)
      local iters = { { "v", extent = 6, bind = i },
                      { "u", "reduce", extent = 8, bind = k } }
      b:block("C", iters, function(v, u)
        b:init(function() b:store(C, { v }, 0) end)
        b:store(C, { v }, C(v) + A(v, u))
      end)
    end)
    b:block("D", { { "v", extent = 6, bind = i } }, function(v)
      b:store(D, { v }, C(v) * 2)
      if writes_input then b:store(A, { v, 0 }, C(v)) end
    end)
    b:block("E", { { "v", extent = 6, bind = i } }, function(v)
      b:store(C, { v }, C(v) + 1)
    end)
  end)
  return b:program()
end

do
  local p = used(false)
  for _, factors in ipairs { { 2, 4 }, { 4, 3 } } do
    for part = 1, 2 do
      local sch = ts.schedule(p)
      local c = sch:get_block "C"
      local i, k = sch:get_loops(c)
      local i0, i1 = sch:split(i, { 2, ts.auto })
      local ks = { sch:split(k, factors) }
      local rf = sch:rfactor(ks[part], 0)
      same(sch, p)
      -- The loops around both stay, and the block's own go with the partial
      -- results.
      sch:parallel(i0)
      sch:unroll(ks[2])
      local loops = { sch:get_loops(c) }
      assert(#loops == 3)
      assert(tostring(sch:get(loops[1])):find "parallel")
      loops = { sch:get_loops(rf) }
      assert(#loops == 4)
      assert(tostring(sch:get(loops[4])):find "unrolled")
      same(sch, p)
    end
  end
  local sch = ts.schedule(used(true))
  refused(sch, "RESULT_USED", "rfactor",
          (select(2, sch:get_loops(sch:get_block "C"))), 0)
end

-- Where the result lies is told once more behind the nest: what tells it must
-- be the same there.
do
  local function placed(writes)
    local b = ts.builder "placed"
    local A, S = b:input("A", { 3, 8 }, "int32"), b:inout("S", { 8 }, "int32")
    local D = b:inout("D", { 1 }, "uint8")
    b:loop("i", 0, 3, function(i)
      b:loop("k", 0, 8, function(k)
        b:block("C", { { "vi", "reduce", extent = 3, bind = i },
                       { "vk", "reduce", extent = 8, bind = k } },
                function(vi, vk)
          local at = ts.min(ts.cast(D(0), "int64"), 7)
          b:init(function() b:store(S, { at }, 0) end)
          b:store(S, { at }, S(at) + A(vi, vk))
        end)
      end)
      if writes then
        b:block("next", { { "v", "opaque", extent = 3, bind = i } },
                function() b:store(D, { 0 }, 6) end)
      end
    end)
    return b:program()
  end
  local p = placed(false)
  local sch = ts.schedule(p)
  sch:rfactor((select(2, sch:get_loops(sch:get_block "C"))), 0)
  same(sch, p)
  sch = ts.schedule(placed(true))
  refused(sch, "INPUT_OVERWRITTEN", "rfactor",
          (select(2, sch:get_loops(sch:get_block "C"))), 0)
end

-- A loop of one iteration, wherever it is: one partial result is all of it.
do
  local A = ts.placeholder("A", { N, K })
  local k = ts.reduce_axis("k", K)
  local p = ts.program("sum", { A }, { reducers.by_name.sum(A, k) })
  for which = 1, 3 do
    for axis = 0, 1 do
      local sch = ts.schedule(p)
      local c = sch:get_block "C"
      local i, kl = sch:get_loops(c)
      local rf = sch:rfactor(sch:add_unit_loop(({ i, kl, c })[which]), axis)
      same(sch, p)
      assert(table.concat(sch:block_info(rf).iters, " ") ==
             "spatial spatial reduce")
      checks.exact(sch, p, reducers.arguments(p, ts.tensor("float32", { N, K },
                                                           values)))
    end
  end
end
