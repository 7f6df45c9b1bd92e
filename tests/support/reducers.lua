-- SPDX-License-Identifier: Apache-2.0
-- Reductions of every kind, for tests that reduce in another order.
local ts = require "tessera"

local N = 3
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
  end, { inf, inf }, function(x)
    return x, ts.const(inf, "float32") + x * 0
  end),
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

-- Those that are not commutative: the first of equal values is the one.
local in_order = { arg_max = true, arg_min = true }

-- N rows; `pair` makes one of two values; by name, a function of the input and
-- the axis along its rows that gives the outputs of block "C".
return { N = N, pair = pair, by_name = reducers, in_order = in_order,
         arguments = arguments }
