-- SPDX-License-Identifier: Apache-2.0
-- Reductions that threads share, of one value and of several: the same in the
-- residue domain before and after lowering, and in native arithmetic, too.
local ts = require "tessera"

local N, K = 3, 40
local inf = math.huge

local function plain(name)
  return function(A, k)
    return ts.compute("C", { N }, function(i) return ts[name](A(i, k), k) end)
  end
end

local function pair(combine, identity, sources)
  local reducer = ts.reducer(combine, identity, "pair")
  return function(A, k)
    return ts.compute("C", { N }, function(i)
      local a, b = sources(A(i, k), k)
      return reducer(a, b, k)
    end)
  end
end

local reducers = {
  sum = plain "sum", max = plain "reduce_max",
  pairwise = pair(function(a, b, c, d) return a + c, b + d end, { 0, 0 },
                  function(x) return x, x * x end),
  arg_max = pair(function(i, x, j, y)
    local first = ts.any(ts.gt(x, y), ts.all(ts.eq(x, y), ts.lt(i, j)))
    return ts.select(first, i, j), ts.select(first, x, y)
  end, { 1000, -inf }, function(x, k) return ts.cast(k, "int32"), x end),
  smallest_two = pair(function(a, b, c, d)
    return ts.min(a, c), ts.min(ts.max(a, c), ts.min(b, d))
  end, { inf, inf }, function(x) return x, ts.const(inf, "float32") + x * 0 end),
  -- the greatest value, and the sum of e to the power of what is below it
  softmax = pair(function(m, s, n, t)
    local top = ts.max(m, n)
    return top, s * ts.exp(m - top) + t * ts.exp(n - top)
  end, { -100, 0 }, function(x) return x, ts.exp(x * 0) end),
}

local function run(p, a)
  local args = { a }
  for i, b in ipairs(p:params()) do
    if i > 1 then args[i] = ts.tensor(b.dtype, { N }) end
  end
  return args
end

-- How the loops over K are cut, and what each part is bound to.
local ways = {
  { factors = { ts.auto, 8 }, "", "threadIdx.x" },
  { factors = { 8, ts.auto }, "threadIdx.y", "" },
  { factors = { 2, ts.auto, 4 }, "threadIdx.y", "", "threadIdx.x" },
  { factors = { ts.auto, 16 }, "", "threadIdx.x" },   -- it overhangs
}

local a = ts.tensor("float32", { N, K }, "integers", 3)
for name, make in pairs(reducers) do
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
      assert(ts.equivalent(sch, program), name)
      assert(ts.equivalent(kernel, program), name)
    end
    local got = run(program, a)
    ts.interpret(kernel, got)
    for n = 2, #got do
      assert(got[n]:compare(want[n]) < 1e-5, name)
    end
  end
end
