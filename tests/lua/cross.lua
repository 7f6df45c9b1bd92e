-- SPDX-License-Identifier: Apache-2.0
-- Cross-thread reductions, of one value and of tuples: equal in the residue
-- domain before and after lowering, and in native arithmetic.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local reducers = dofile((arg[0]:gsub("[^/]*$", "../support/reducers.lua")))
local same, refused = checks.same, checks.refused

local N, K = reducers.N, 40
local run = reducers.arguments

-- Threads finish in any order: those that go by it are left out.
local commute = {
  -- the greatest value, and the sum of e to the power of what is below it
  softmax = reducers.pair(function(m, s, n, t)
    local top = ts.max(m, n)
    return top, s * ts.exp(m - top) + t * ts.exp(n - top)
  end, { -100, 0 }, function(x) return x, ts.exp(x * 0) end),
}
for _, name in ipairs { "sum", "max", "pairwise", "arg_max_by_index",
                        "smallest_two" } do
  commute[name] = reducers.by_name[name]
end

-- How the loops over K are cut, and what each part is bound to.
local ways = {
  { factors = { ts.auto, 8 }, "", "threadIdx.x" },
  { factors = { 8, ts.auto }, "threadIdx.y", "" },
  { factors = { 2, ts.auto, 4 }, "threadIdx.y", "", "threadIdx.x" },
  { factors = { ts.auto, 16 }, "", "threadIdx.x" },   -- it overhangs
}

local a = ts.tensor("float32", { N, K }, "integers", 3)
for name, make in pairs(commute) do
  local A = ts.placeholder("A", { N, K })
  local k = ts.reduce_axis("k", K)
  local program = ts.program(name, { A }, table.pack(make(A, k)))
  local want = run(program, a)
  ts.interpret(program, want)
  for _, way in ipairs(ways) do
    local sch = ts.schedule(program)
    local i, kk = sch:get_loops(sch:get_block "C")
    sch:bind(i, "blockIdx.x")
    for n, l in ipairs{ sch:split(kk, way.factors) } do
      if way[n] ~= "" then sch:bind(l, way[n]) end
    end
    local kernel = ts.lower(sch)
    assert(tostring(kernel):find("barrier shared", 1, true), name)
    if name ~= "softmax" then       -- the order of its sum counts there
      same(sch, program)
    end
    local got = run(program, a)
    ts.interpret(kernel, got)
    for n = 2, #got do
      assert(got[n]:compare(want[n]) < 1e-5, name)
    end
  end
end

-- Each block of threads has the parts of its own rows, of tuples, too, also
-- where the last block has fewer; what one thread does with them needs no
-- barrier.
for _, name in ipairs { "sum", "arg_max_by_index", "smallest_two" } do
  local A = ts.placeholder("A", { N, K })
  local k = ts.reduce_axis("k", K)
  local program = ts.program(name, { A }, table.pack(commute[name](A, k)))
  local want = run(program, a)
  ts.interpret(program, want)
  for _, rows in ipairs { 2, 3, 4, 5, 7 } do
    local sch = ts.schedule(program)
    local i, kk = sch:get_loops(sch:get_block "C")
    local i0, i1 = sch:split(i, { ts.auto, rows })
    local _, k1 = sch:split(kk, { ts.auto, 8 })
    sch:bind(i0, "blockIdx.x")
    sch:bind(i1, "threadIdx.y")
    sch:bind(k1, "threadIdx.x")
    local kernel = ts.lower(sch)
    local text, got = tostring(kernel), run(program, a)
    local row_count = math.min(rows, N)
    for shape in text:gmatch "allocate [^\n]*_parts: %w+(%b[]) in shared" do
      assert(shape == ("[%d, 8, 1]"):format(row_count), text)
    end
    assert(not text:match ".*for k_1(.*)":find "barrier", text)
    ts.interpret(kernel, got)
    for n = 2, #got do assert(got[n]:compare(want[n]) == 0, name) end
    ts.build(sch, "cuda -arch=sm_80")
  end
end

-- With one thread nothing is shared: its iter may even index the result.
do
  local b = ts.builder("one")
  local A, C = b:input("A", { 8, 3 }), b:inout("C", { 8, 3 })
  b:loop("i", 0, 8, function(i)
    b:loop("k", 0, 3, function(k)
      b:block("C", { { "vi", extent = 8, bind = i },
                     { "vk", "reduce", extent = 3, bind = k } },
        function(vi, vk)
          b:init(function() b:store(C, { vi, vk }, 0) end)
          b:store(C, { vi, vk }, C(vi, vk) + A(vi, vk))
        end)
    end)
  end)
  local program = b:program()
  local sch = ts.schedule(program)
  local _, k = sch:get_loops(sch:get_block "C")
  local outer, inner = sch:split(k, { 3, 1 })
  sch:bind(inner, "threadIdx.x")
  same(sch, program)
end

-- A block inside another one, whose iters its predicate speaks of: where that
-- holds for no thread there is no result, nor room for one.
do
  local b = ts.builder("within")
  local A, C = b:input("A", { 8 }), b:output("C", { 3 })
  b:loop("i", 0, 4, function(i)
    b:block("outer", { { "vi", extent = 4, bind = i } }, function(vi)
      b:loop("t", 0, 3, function(t)
        b:block("C", { { "vt", "reduce", extent = 3, bind = t } },
          { where = ts.lt(vi * 3 + t, 8) }, function(vt)
            b:init(function() b:store(C, { vi }, 0) end)
            b:store(C, { vi }, C(vi) + A(vi * 3 + vt))
          end)
      end)
    end)
  end)
  local program = b:program()
  local sch = ts.schedule(program)
  sch:bind(sch:get_loops(sch:get_block "C"), "threadIdx.x")
  same(sch, program)
end

-- ---- loops that are no boxes, and predicates -------------------------------

-- Sums of A[v, q] over q into O, which holds something already: nest(b, sum, E,
-- O) opens the loops, and sum(v, q) is the block, which perhaps runs but
-- `where` a condition holds, and whose results are perhaps at other places.
local function sums(nest)
  local b = ts.builder("sums")
  local A = b:input("A", { 16, 16 }, "int32")
  local E = b:inout("E", { 16 }, "int64")
  local O = b:inout("O", { 16 }, "int32")
  nest(b, function(v, q, where, place)
    b:block("sum", { { "v", extent = 16, bind = v },
                     { "q", "reduce", extent = 16, bind = q } },
      { where = where }, function(v, q)
        local at = place and place(v) or v
        b:init(function() b:store(O, { at }, 0) end)
        b:store(O, { at }, O(at) + A(v, q))
      end)
  end, E, O)
  return b:program()
end

-- Binds the n-th loop around the sum.
local function bound(p, n)
  local sch = ts.schedule(p)
  sch:bind(select(n, sch:get_loops(sch:get_block "sum")), "threadIdx.x")
  return sch
end

-- What has no iteration stays what it was; what has some is a sum of just
-- those, wherever each thread begins.
local right = {
  { 2, "a step loop may be empty", function(b, sum)
    b:loop("i", 0, 5, function(i) b:loop("t", 0, 3, function(t)
      b:loop("k", 0, i, function(k) sum(i, t * 4 + k) end) end) end)
  end },
  { 2, "of rows whose number memory tells", function(b, sum, E)
    b:loop("i", 0, 8, function(i) b:loop("t", 0, 3, function(t)
      b:loop("k", 0, 4, function(k)
        sum(i, t * 4 + k, ts.lt(k, E(i)))
      end) end) end)
  end },
  { 2, "each thread begins elsewhere", function(b, sum)
    b:loop("i", 0, 5, function(i) b:loop("t", 0, 3, function(t)
      b:loop("k", t, 4 - t, function(k) sum(i, t * 4 + k) end) end) end)
  end },
  { 1, "each thread has its part of the results", function(b, sum)
    b:loop("t", 0, 3, function(t)
      b:loop("j", t, 8 - t, function(j) sum(j, t) end) end)
    end },
  { 1, "so it has, and they begin together", function(b, sum)
    b:loop("t", 0, 3, function(t)
      b:loop("j", 0, 8 - t, function(j) sum(j, t) end) end)
  end },
  { 2, "every second", function(b, sum)
    b:loop("i", 0, 4, function(i) b:loop("t", 0, 3, function(t)
      b:loop("k", 0, 3, function(k)
        sum(i, t * 3 + k, ts.eq((t * 3 + k) % 2, 0))
      end) end) end)
  end },
  { 3, "the same sum again", function(b, sum)
    b:loop("i", 0, 4, function(i) b:loop("z", 0, 2, function()
      b:loop("t", 0, 3, function(t) sum(i, t) end) end) end)
  end },
  { 2, "no thread", function(b, sum)
    b:loop("i", 0, 4, function(i)
      b:loop("t", 0, 0, function(t) sum(i, t) end) end)
  end },
}
for _, case in ipairs(right) do
  local n, name, nest = table.unpack(case)
  local p = sums(nest)
  local sch = bound(p, n)
  same(sch, p)
  for _, pass in ipairs { "lower_cross_thread_reduction", "lower_blocks" } do
    local lowered = ts.lower(sch, { after = pass })
    assert(lowered:verify(), name)
  end
end

-- Threads cannot share what begins late or again.
for reason, nest in pairs {
  INIT_LATE = function(b, sum)
    b:loop("t", 0, 3, function(t) b:loop("i", 0, 4, function(i)
      b:loop("k", 0, t, function(k) sum(i, t * 4 + k) end) end) end)
  end,
  NOT_INJECTIVE = function(b, sum)
    b:loop("t", 0, 3, function(t) b:loop("i", 0, 4, function(i)
      b:loop("z", 0, 2, function() sum(i, t) end) end) end)
  end,
  RESULT_SHARED = function(b, sum)
    b:loop("t", 0, 3, function(t) b:loop("i", 0, 4, function(i)
      sum(i, t, nil, function(v) return v // 2 end) end) end)
  end,
} do
  local sch = ts.schedule(sums(nest))
  refused(sch, reason, "bind", sch:get_loops(sch:get_block "sum"),
          "threadIdx.x")
end
-- Some results first come where others were begun before.
do
  local sch = ts.schedule(sums(function(b, sum)
    b:loop("t", 0, 3, function(t)
      b:loop("j", 0, t + 1, function(j) sum(j, t) end) end)
  end))
  refused(sch, "INIT_LATE", "bind", sch:get_loops(sch:get_block "sum"),
          "threadIdx.x")
end

-- What cannot be lowered is said so.
local unknown = {
  { 2, "its predicate may be false at", function(b, sum)
    b:loop("i", 0, 4, function(i) b:loop("t", 0, 3, function(t)
      b:loop("k", 0, 3, function(k)
        sum(i, t * 3 + k, ts.all(ts.eq(k % 2, 1), ts.eq(k, 0)))
      end) end) end)
  end },
  { 2, "control flow depends on its result", function(b, sum, _, O)
    b:loop("i", 0, 4, function(i) b:loop("t", 0, 3, function(t)
      sum(i, t, ts.gt(O(i + 5), 3))
    end) end)
  end },
}
for _, case in ipairs(unknown) do
  local n, text, nest = table.unpack(case)
  local sch = bound(sums(nest), n)
  checks.fails("UNSUPPORTED", text, ts.lower, sch)
end

-- A loop that drives no iter that reduces, and needs one that threads do not
-- share.
for _, lo in ipairs { 0, 1 } do
  local p = sums(function(b, sum)
    b:loop("r", 0, 4, function(r)
      b:loop("j", lo * r, 8 - r, function(j) sum(j, r) end) end)
  end)
  local sch = ts.schedule(p)
  sch:bind(sch:split(sch:get_loops(sch:get_block "sum"), { 2, 2 }),
           "threadIdx.x")
  checks.fails("UNSUPPORTED", "depend on a reduce loop", ts.lower,
               sch)
end

-- Who has a result is asked again at the end, but memory has changed by then.
do
  local b = ts.builder("changing")
  local A = b:input("A", { 8, 9 }, "int32")
  local E, O = b:inout("E", { 8 }, "int64"), b:inout("O", { 8 }, "int32")
  b:loop("i", 0, 8, function(i)
    b:loop("k", 0, 3, function(k)
      b:loop("t", 0, 3, function(t)
        b:block("sum", { { "v", extent = 8, bind = i },
                         { "q", "reduce", extent = 9, bind = k * 3 + t } },
          { where = ts.gt(E(i), 0) }, function(v, q)
            b:init(function() b:store(O, { v }, 0) end)
            b:store(O, { v }, O(v) + A(v, q))
          end)
      end)
      b:block("clear", { { "v", extent = 8, bind = i },
                         { "q", "opaque", extent = 3, bind = k } },
        { where = ts.eq(k, 2) }, function(v) b:store(E, { v }, 0) end)
    end)
  end)
  checks.fails("UNSUPPORTED", "is loaded from what the loops may", ts.lower,
               bound(b:program(), 3))
end

-- What threads make together is whole only behind the loops that reduce: who
-- gives a name to what there is so far, or asks for it, keeps them apart.
local zero = ts.cast(0, "int64")
local askers = {
  ["its result is accessed before"] = function(b, C, body)
    b:let("so_far", C(zero), body)
  end,
  ["control flow depends on its result"] = function(b, C, body)
    b:when(ts.gt(C(zero), 0), function() body(7) end)
  end,
}
for why, ask in pairs(askers) do
  local b = ts.builder "so_far"
  local A, C = b:input("A", { 4, 4 }, "int32"), b:inout("C", { 1 }, "int32")
  local B = b:inout("B", { 4 }, "int32")
  b:loop("k", 0, 4, function(k)
    b:loop("t", 0, 4, function(t)
      b:block("sum", { { "z", extent = 1, bind = 0 },
                       { "vk", "reduce", extent = 4, bind = k },
                       { "vt", "reduce", extent = 4, bind = t } },
              function(z, vk, vt)
        b:init(function() b:store(C, { z }, 0) end)
        b:store(C, { z }, C(z) + A(vk, vt))
      end)
    end)
    ask(b, C, function(x)
      b:block("use", { { "v", "opaque", extent = 4, bind = k } }, function(v)
        b:store(B, { v }, x)
      end)
    end)
  end)
  local s = ts.schedule(b:program())
  s:bind((select(2, s:get_loops(s:get_block "sum"))), "threadIdx.x")
  checks.fails("UNSUPPORTED", why, ts.lower, s)
end

-- Threads do not share what a reducer combines in one order only.
do
  local later = ts.reducer(function(_, b) return b end, 0, "later")
  local A = ts.placeholder("A", { 4, 8 }, "int32")
  local k = ts.reduce_axis("k", 8)
  local p = ts.program("last", { A }, {
    ts.compute("B", { 4 }, function(i) return later(A(i, k), k) end) })
  local s = ts.schedule(p)
  checks.refused(s, "REDUCER_ORDERED", "bind",
                 (select(2, s:get_loops(s:get_block "B"))), "threadIdx.x")
  checks.refused(s, "ITER_NOT_SPATIAL", "parallel",
                 (select(2, s:get_loops(s:get_block "B"))))
end
