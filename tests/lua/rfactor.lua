-- SPDX-License-Identifier: Apache-2.0
-- rfactor for every kind of reducer, each place of the new dimension and each
-- loop of a split reduction: the same in the residue domain, and by compiled
-- code what the program computed before, exactly.
local ts = require "tessera"

local N, K = 3, 24
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

local function with_index(x, k) return ts.cast(k, "int32"), x end

-- An arg-max or arg-min: the first of equal ones by order, or by its index.
local function arg(better, identity)
  return pair(function(i, x, j, y)
    local keep = better(x, y)
    return ts.select(keep, i, j), ts.select(keep, x, y)
  end, { -1, identity }, with_index)
end

local function arg_by_index(better, identity)
  return pair(function(i, x, j, y)
    local first = ts.all(ts.eq(x, y), ts.lt(i, j))
    return ts.select(ts.any(better(x, y), first), i, j),
           ts.select(better(x, y), x, y)
  end, { 1000, identity }, with_index)
end

local reducers = {
  sum = plain "sum", prod = plain "prod",
  max = plain "reduce_max", min = plain "reduce_min",
  pairwise = pair(function(a, b, c, d) return a + c, b + d end, { 0, 0 },
                  function(x) return x, x * x end),
  arg_max = arg(ts.ge, -inf), arg_min = arg(ts.le, inf),
  arg_max_by_index = arg_by_index(ts.gt, -inf),
  arg_min_by_index = arg_by_index(ts.lt, inf),
  -- the least and the one after it
  smallest_two = pair(function(a, b, c, d)
    return ts.min(a, c), ts.min(ts.max(a, c), ts.min(b, d))
  end, { inf, inf }, function(x) return x, ts.const(inf, "float32") + x * 0 end),
  any = function(A, k)
    local reducer = ts.reducer(function(a, b) return ts.any(a, b) end, 0, "or")
    return ts.compute("C", { N }, function(i)
      return reducer(ts.gt(A(i, k), 20), k)
    end)
  end,
}

-- Arguments of the program, its input and fresh results.
local function arguments(p, a)
  local args = { a }
  for i, b in ipairs(p:params()) do
    if i > 1 then args[i] = ts.tensor(b.dtype, { N }) end
  end
  return args
end

local function same(x, y)
  for i = 2, #x do
    for n = 0, N - 1 do
      if x[i]:get(n) ~= y[i]:get(n) then return false end
    end
  end
  return true
end

-- Different numbers, so that which one is greatest is told.
local values = {}
for n = 1, N do
  values[n] = {}
  for k = 1, K do values[n][k] = (k * 7 + n * 5) % 29 + 1 end
end
local ones = {}
for n = 1, N do
  ones[n] = {}
  for k = 1, K do ones[n][k] = (k + n) % 5 == 0 and 2 or 1 end
end

for name, make in pairs(reducers) do
  for _, factors in ipairs { { 4, 6 }, { 5, 5 } } do
    for which = 1, 2 do
      for axis = -2, 1 do
        local A = ts.placeholder("A", { N, K })
        local k = ts.reduce_axis("k", K)
        local p = ts.program(name, { A }, { make(A, k) })
        local sch = ts.schedule(p)
        local _, kl = sch:get_loops(sch:get_block("C"))
        local split = { sch:split(kl, factors) }
        local rf = sch:rfactor(split[which], axis)
        assert(sch:program():verify())
        local ok, where = ts.equivalent(sch, p)
        assert(ok, ("%s, axis %d: %s"):format(name, axis, tostring(where)))
        local a = ts.tensor("float32", { N, K },
                            name == "prod" and ones or values)
        local want, got = arguments(p, a), arguments(p, a)
        local built = arguments(p, a)
        ts.interpret(p, want)
        ts.interpret(sch, got)
        assert(same(want, got), name .. ": the oracle differs")
        ts.build(sch, "llvm")(table.unpack(built))
        assert(same(want, built), name .. ": compiled code differs")
      end
    end
  end
end

-- A place that is none.
do
  local A = ts.placeholder("A", { N, K })
  local k = ts.reduce_axis("k", K)
  local p = ts.program("sum", { A }, { reducers.sum(A, k) })
  local sch = ts.schedule(p)
  local _, kl = sch:get_loops(sch:get_block("C"))
  for _, axis in ipairs { -3, 2 } do
    local ok, e = pcall(sch.rfactor, sch, kl, axis)
    assert(not ok and e.reason == "AXIS_OUTSIDE")
  end
end
