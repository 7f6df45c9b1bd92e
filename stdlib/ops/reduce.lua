-- SPDX-License-Identifier: Apache-2.0
-- Reductions over any axes, arg-max and arg-min, cumulative sums, and norms of
-- matrices.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local arg_reducer = require "tessera.ops.arg_reducer"
local reduced = require "tessera.ops.reduced"
local list_of, tensor = declare.list_of, declare.tensor

local shape = list_of("shape", 1, "the shape of X")
local axis = declare.integer("axis", "the dimension, from 0; -1: the last",
                             "-1")
local acc, out = declare.accumulation()
local X = tensor("X", { "shape..." })
local keep = declare.flag("keep", "leave dimensions of 1 where it reduced")

-- ---- over sets of axes -----------------------------------------------------

-- Sums and the like: f of an element; what reduces; f of the result and of how
-- many elements it is.
local function same(x) return x end
local function square(x) return x * x end
local kinds = {
  sum = { same, ts.sum, nil, "sum of X" },
  mean = { same, ts.sum, function(x, n) return x / n end,
           "(sum of X) / how many" },
  prod = { same, ts.prod, nil, "product of X" },
  max = { same, ts.reduce_max, nil, "greatest X" },
  min = { same, ts.reduce_min, nil, "least X" },
  l1 = { ts.abs, ts.sum, nil, "sum of |X|" },
  l2 = { square, ts.sum, ts.sqrt, "sqrt(sum of X^2)" },
  sum_square = { square, ts.sum, nil, "sum of X^2" },
  log_sum = { same, ts.sum, ts.log, "log(sum of X)" },
  log_sum_exp = { same, nil, nil, "log(sum of e^(X - m)) + m, m: greatest X" },
}
local names = { "sum", "mean", "prod", "max", "min", "l1", "l2", "sum_square",
                "log_sum", "log_sum_exp" }
local of_floats = { mean = true, l2 = true, log_sum = true, log_sum_exp = true }

local function log_sum_exp(o, x, set, narrow)
  local axes, to, element, result = reduced(o.shape, set, o.keep)
  local most = kit.map("greatest", to, function(...)
    return ts.reduce_max(x(element(...)), axes)
  end)
  local E = kit.map("exp", o.shape, function(...)
    return ts.exp(x(...) - most(result(...)))
  end)
  local S = kit.map("sum", to, function(...)
    return ts.sum(E(element(...)), axes)
  end)
  return kit.map("Y", to, function(...)
    local m = most(...)
    return narrow(ts.select(ts.eq(ts.abs(m), math.huge), m, ts.log(S(...)) + m))
  end)
end

-- Whether any of bool is true, or all are.
local function truth(o, X, set)
  if o.op ~= "max" and o.op ~= "min" then
    declare.wrong(o.name, "%s is of numbers, not of bool", o.op)
  elseif o.acc or o.out then
    declare.wrong(o.name, "'acc' and 'out' are of numbers, not of bool")
  end
  local axes, to, element = reduced(o.shape, set, o.keep)
  if #axes == 0 then
    return kit.map("Y", to, function(...) return X(...) end)
  end
  local reduce = o.op == "max" and ts.reduce_max or ts.reduce_min
  local Y = kit.map("reduced", to, function(...)
    return reduce(ts.cast(X(element(...)), "int8"), axes)
  end)
  return kit.map("Y", to, function(...) return ts.ne(Y(...), 0) end)
end

local function formulas()
  local lines = {}
  for i, name in ipairs(names) do
    lines[i] = ("%s: Y = %s"):format(name, kinds[name][4])
  end
  return table.concat(lines, "\n")
end

declare.operator {
  name = "reduce",
  summary = "The sum, mean, greatest element or the like over some axes.",
  says = formulas() .. "\n" .. [[
over `axes`; those are gone from the shape of Y, or 1 with `keep`.  Of no axes,
{}, Y is that of each element.  Of bool max is whether any is true, min whether
all are.]],
  options = {
    declare.word("op", names, "sum", "which of them"), shape,
    list_of("axes", -16, "dimensions, from 0, or from -1 backwards", "all"),
    keep, declare.dtype("any"), acc, out,
  },
  example = "{ op = \"mean\", shape = { 2, 4 }, axes = { 1 } }",
  tensors = { X },
  symbolic = true,
  apply = function(o, X)
    local name, dtype = o.op, o.dtype
    local none = o.axes and #o.axes == 0
    local set = none and {} or kit.axes(o, #o.shape, o.axes)
    if dtype == "bool" then return truth(o, X, set) end
    if of_floats[name] and not declare.is(dtype, "float") then
      declare.wrong(o.name, "%s is of floats, not of %s", name, dtype)
    end
    local sum_type = kit.accumulator(o)
    -- The greatest element needs no wider type.
    if (name == "max" or name == "min") and not o.acc then sum_type = dtype end
    local to_type = o.out or kit.beside(o)
    local function wide(...) return kit.as(X(...), dtype, sum_type) end
    local function narrow(x) return kit.as(x, sum_type, to_type) end
    if name == "log_sum_exp" and not none then
      return log_sum_exp(o, wide, set, narrow)
    end
    local axes, to, element = reduced(o.shape, set, o.keep)
    local before, reduce, after = table.unpack(kinds[name], 1, 3)
    if to_type ~= sum_type then after = after or same end
    local Y = kit.map(after and "reduced" or "Y", to, function(...)
      local x = before(wide(element(...)))
      return #axes > 0 and reduce(x, axes) or x
    end)
    if not after then return Y end
    local n = 1
    for d, extent in ipairs(o.shape) do n = set[d] and n * extent or n end
    n = kit.number(n, sum_type)
    return kit.map("Y", to, function(...) return narrow(after(Y(...), n)) end)
  end,
}

-- ---- where the greatest is -------------------------------------------------

for _, name in ipairs { "arg_max", "arg_min" } do
  local greatest = name == "arg_max"
  local word = greatest and "greatest" or "least"
  declare.operator {
    name = name,
    summary = ("Where the %s element along a dimension is."):format(word),
    says = ([[
Y_v0 = the index along `axis` of the %s X there, Y_v1 = that X
Y_v0 is int64; of equal ones it is the first, or the last with `last`.  The axis
is gone from the shape, or 1 with `keep`.  X that is not a number comes before
all that are, as in NumPy.]])
      :format(word),
    options = { shape, axis, keep,
                declare.flag("last", "the last of equal ones"),
                declare.dtype("number") },
    example = "{ shape = { 2, 4 } }",
    tensors = { X },
    symbolic = true,
    apply = function(o, X)
      local set = { [kit.axis(o, #o.shape, o.axis)] = true }
      local axes, to, element = reduced(o.shape, set, o.keep)
      local reduce = arg_reducer(greatest, o.last, o.dtype)
      return kit.map("Y", to, function(...)
        return reduce(ts.cast(axes[1], "int64"), X(element(...)), axes[1])
      end)
    end,
  }
end

-- ---- cumulative sums and products ------------------------------------------

local cumulative = {
  cumsum = { "sum", 0, function(x, y) return x + y end },
  cumprod = { "product", 1, function(x, y) return x * y end },
}

-- Y along dimension d: step i combines what the step before made with an
-- element of X; the first begins with `start`.
local function scan(o, X, start, combine)
  local n, b = #o.shape, kit.builder(o.name)
  local d = kit.axis(o, n, o.axis)
  local sum_type, wide = kit.accumulator(o)
  local to_type = o.out or kit.beside(o)
  local Y = b:buffer("Y", o.shape, to_type)
  local S = to_type == sum_type and Y or b:buffer("sums", o.shape, sum_type)
  local last, loops = o.shape[d] - 1, {}
  -- The place of a step.
  local function place(at, step)
    local i = o.reverse and last - step or step
    return table.unpack(kit.with(at, d, i), 1, n)
  end
  local function step(...)
    local at = { ... }
    local i = at[d]
    local sum = S(place(at, i - 1))
    if o.exclusive then sum = combine(sum, wide(X(place(at, i - 1)))) end
    sum = ts.select(ts.ge(i, 1), sum, ts.const(start, sum_type))
    if not o.exclusive then sum = combine(sum, wide(X(place(at, i)))) end
    b:store(S, { place(at, i) }, sum)
  end
  local function convert(...)
    local at = { place({ ... }, (select(d, ...))) }
    b:store(Y, at, ts.cast(S(table.unpack(at)), to_type))
  end
  local function nest(k)
    if k <= n then
      b:loop("i" .. k, 0, o.shape[k], function(i)
        loops[k] = { "vi" .. k, k == d and "opaque" or "spatial",
                     extent = o.shape[k], bind = i }
        nest(k + 1)
      end)
      return
    end
    b:block("scan", loops, step)
    if S ~= Y then b:block("converted", loops, convert) end
  end
  nest(1)
  return Y
end

for _, name in ipairs { "cumsum", "cumprod" } do
  local word, start, combine = table.unpack(cumulative[name])
  declare.operator {
    name = name,
    summary = ("The %ss of what comes up to each element along a dimension.")
              :format(word),
    says = ([[
Y[.., i, ..] = %s over j <= i of X[.., j, ..]
j < i with `exclusive`; with `reverse` from the end: j >= i, or j > i.  Each is
made of the one before.]]):format(word),
    options = { shape, axis,
                declare.flag("exclusive", "leave out the element itself"),
                declare.flag("reverse", "begin at the end"),
                declare.dtype("number"), acc, out },
    example = "{ shape = { 2, 4 } }",
    tensors = { X },
    apply = function(o, x) return scan(o, x, start, combine) end,
  }
end

-- ---- norms -----------------------------------------------------------------

declare.operator {
  name = "norm",
  summary = "The Frobenius norm of each matrix of a batch.",
  says = [[
Y[b] = sqrt(sum over i, j of X[b, i, j]^2)
X[b, m, n] -> Y[b].]],
  options = { declare.count("b", "matrices", "1"),
              declare.count("m", "their rows"),
              declare.count("n", "their columns"), declare.dtype("float"),
              declare.acc() },
  example = "{ m = 2, n = 2 }",
  tensors = { tensor("X", { "b", "m", "n" }) },
  symbolic = true,
  apply = function(o, X)
    local _, wide, narrow = kit.accumulator(o)
    local i, j = ts.reduce_axis("i", o.m), ts.reduce_axis("j", o.n)
    local S = kit.map("squares", { o.b }, function(n)
      return ts.sum(wide(X(n, i, j)) * wide(X(n, i, j)), { i, j })
    end)
    return kit.map("norm", { o.b }, function(n)
      return narrow(ts.sqrt(S(n)))
    end)
  end,
}
