-- SPDX-License-Identifier: Apache-2.0
-- Reductions that threads share, of one value and of several: the same in the
-- residue domain before and after lowering, and in native arithmetic, too.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local reducers = dofile((arg[0]:gsub("[^/]*$", "../support/reducers.lua")))
local same = checks.same

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

-- One thread shares nothing: its iter may even tell the place.
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
