-- SPDX-License-Identifier: Apache-2.0
-- Expressions: ts.exp, ts.min, ts.sum, ... on top of the raw functions.
local index_map = require "tessera.lang.index_map"

-- One axis or a list of axes, as a list.
local function axes_of(axes)
  if type(axes) == "table" then return axes end
  return { axes }
end

local function add_expressions(ts, core)
  ts.const, ts.cast, ts.select = core.const, core.cast, core.select
  ts.bit_cast = core.bit_cast

  for _, fn in ipairs {
    "abs", "exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan",
    "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "sigmoid", "erf", "erfc", "floor", "ceil", "round",
  } do
    ts[fn] = function(x) return core.call(fn, x) end
  end
  for _, fn in ipairs { "pow", "shl", "shr", "bitand", "bitor", "bitxor" } do
    ts[fn] = function(x, y) return core.call(fn, x, y) end
  end
  function ts.bitnot(x) return core.call("bitnot", x) end
  function ts.clamp(x, low, high) return ts.min(ts.max(x, low), high) end
  function ts.call_extern(name, dtype, ...)
    return core.call_extern(name, dtype, ...)
  end

  -- ts.min, ts.max, ts.all, ts.any take one or more operands; the first two
  -- also integer variables of a schedule and parameters of an index map.
  local function fold(op)
    local function pair(a, b)
      if index_map.is_formal(a) or index_map.is_formal(b) then
        return index_map.combine(core, op, a, b)
      end
      return core.rv_op(a, b, op) or core.binary(a, b, op)
    end
    return function(first, ...)
      local rest = table.pack(...)
      if rest.n == 0 then pair(first, first) end -- for what it refuses
      for i = 1, rest.n do first = pair(first, rest[i]) end
      return first
    end
  end
  ts.min, ts.max = fold "min", fold "max"
  ts.all, ts.any = fold "and", fold "or"
  ts.land, ts.lor = ts.all, ts.any
  function ts.lnot(x) return core.call("not", x) end

  for name, reducer in pairs { sum = "sum", prod = "prod",
                               reduce_max = "max", reduce_min = "min" } do
    ts[name] = function(x, axes)
      return core.reduce(reducer, { x }, axes_of(axes))
    end
  end

  -- ts.reducer(combine, identity [, name]): `combine` gets the values so far,
  -- then the new ones, and gives the combined; `identity` is a number or a
  -- list of as many.  The result is called with the sources, then the axes.
  -- Schedules reduce in parts where `combine` is seen to be associative and the
  -- identity neutral, and in any order where it is commutative, too
  -- (docs/describing.md, "Reducers").
  function ts.reducer(combine, identity, name)
    if type(identity) ~= "table" then identity = { identity } end
    return function(...)
      local sources = { ... }
      local axes = table.remove(sources)
      return core.reduce_with(combine, identity, sources, axes_of(axes), name)
    end
  end
end
-- How many arguments these take at the most: what would be dropped silently is
-- refused, since it may have been meant to count.  (Functions of one value are
-- often called back with more.)
local most = {
  cast = 2, bit_cast = 2, select = 3, clamp = 3,
  eq = 2, ne = 2, lt = 2, le = 2, gt = 2, ge = 2,
  sum = 2, prod = 2, reduce_max = 2, reduce_min = 2,
}
local reducers = { sum = true, prod = true, reduce_max = true,
                   reduce_min = true }

local function limit_arguments(ts, core)
  for name, n in pairs(most) do
    local f = assert(ts[name], name)
    ts[name] = function(...)
      local got = select("#", ...)
      if got > n then
        core.invalid(("ts.%s takes %d argument%s, not %d%s"):format(
          name, n, n == 1 and "" or "s", got,
          reducers[name] and "; several axes are a list, { k, l }" or ""))
      end
      return f(...)
    end
  end
end

return function(ts, core)
  add_expressions(ts, core)
  limit_arguments(ts, core)
end
