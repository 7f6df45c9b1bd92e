-- SPDX-License-Identifier: Apache-2.0
-- What operators are described with: axes that have names, windows, padding,
-- and what follows a sum: bias, normalisation, activation, conversion.
local ts = require "tessera"
local declare = require "tessera.ops.declare"

local kit = {}

-- f as a function with these parameters, after which ts.compute names loops.
function kit.over(names, f)
  local list = table.concat(names, ", ")
  return load(("local f = ... return function(%s) return f(%s) end")
              :format(list, list), "=over", "t", {})(f)
end

function kit.compute(name, shape, names, f)
  return ts.compute(declare.named(name), shape, kit.over(names, f))
end

-- A tensor of a shape of any rank; f gets its indices.
function kit.map(name, shape, f)
  return ts.compute(declare.named(name), shape, f)
end

-- A builder of statements; its blocks are named like those of computes.
function kit.builder(name)
  local b = ts.builder(name)
  local block, buffer = b.block, b.buffer
  function b:block(...) return block(self, declare.named((...)), select(2, ...))
  end
  function b:buffer(...)
    return buffer(self, declare.named((...)), select(2, ...))
  end
  return b
end

-- ---- lists -----------------------------------------------------------------

-- A copy of a list with `x` at place `at` (nil: without that place).
function kit.with(list, at, x)
  local copy = table.move(list, 1, #list, 1, {})
  if x == nil then table.remove(copy, at) else copy[at] = x end
  return copy
end

function kit.inserted(list, at, x)
  local copy = table.move(list, 1, #list, 1, {})
  table.insert(copy, at, x)
  return copy
end

function kit.product(list, first, last)
  local n = 1
  for i = first or 1, last or #list do n = n * list[i] end
  return n
end

-- An option that is an integer or a list, as a list of n.
function kit.each(o, name, n, default)
  local x = o[name]
  if x == nil then x = default end
  if type(x) ~= "table" then
    local list = {}
    for d = 1, n do list[d] = x end
    return list
  end
  if #x ~= n then
    declare.wrong(o.name, "'%s' has %d entries, and there are %d dimensions",
                  name, #x, n)
  end
  return x
end

-- What an axis that may count from the end is, from 1.
function kit.axis(o, rank, axis, name)
  axis = axis or -1
  if axis < -rank or axis >= rank then
    declare.wrong(o.name, "'%s' is %d, and there are %d dimensions",
                  name or "axis", axis, rank)
  end
  return (axis < 0 and axis + rank or axis) + 1
end

-- What `axes` names, as a set, from 1; all where it is left out.
function kit.axes(o, rank, axes)
  local set, n = {}, 0
  if axes and #axes == 0 then declare.wrong(o.name, "'axes' is empty") end
  for d = 0, axes and -1 or rank - 1 do set[d + 1], n = true, n + 1 end
  for _, a in ipairs(axes or {}) do
    local at = kit.axis(o, rank, a, "axes")
    if set[at] then declare.wrong(o.name, "'axes' has %d twice", a) end
    set[at], n = true, n + 1
  end
  return set, n
end

-- Whether two extents, which may be symbolic, are the same.
function kit.same(x, y)
  return math.type(x) == math.type(y) and tostring(x) == tostring(y)
end

-- Whether one is known to be above the other.
function kit.above(x, y)
  return math.type(x) and math.type(y) and x > y
end

-- `at` as indices of a tensor whose shape ends alike or has ones.
function kit.broadcast(from, to, at)
  local list, skip = {}, #to - #from
  for d, n in ipairs(from) do
    list[d] = kit.same(n, 1) and not kit.same(to[d + skip], 1) and 0 or
              at[d + skip]
  end
  return table.unpack(list, 1, #from)
end

function kit.check_broadcast(o, from, to, name)
  local skip = #to - #from
  for d, n in ipairs(from) do
    if skip < 0 or not kit.same(n, 1) and not kit.same(n, to[d + skip]) then
      declare.wrong(o.name, "'%s' does not fit the shape of the result", name)
    end
  end
end

-- The shape that two options broadcast to.
function kit.common(o, a, b, a_name, b_name)
  local to, n = {}, math.max(#a, #b)
  for d = 1, n do
    local x, y = a[d - n + #a] or 1, b[d - n + #b] or 1
    local one = kit.same(x, 1)
    if not one and not kit.same(y, 1) and not kit.same(x, y) then
      declare.wrong(o.name, "extents %s and %s of '%s' and '%s' do not fit", x,
                    y, a_name, b_name)
    end
    to[d] = one and y or x
  end
  return to
end

-- An index of n elements that was read: negative ones count from the end, and
-- what lies outside is the nearest one.
function kit.index(i, n)
  i = ts.cast(i, "int64")
  return ts.min(ts.max(ts.select(ts.lt(i, 0), i + n, i), 0), n - 1)
end

-- Iteration variables of a builder's block, each { name, extent, loop }.
function kit.iters(list)
  local iters = {}
  for i, x in ipairs(list) do
    iters[i] = { "v" .. x[1], x.kind, extent = x[2], bind = x[3] }
  end
  return iters
end

-- Loops of a builder over a shape, and a block in them with all spatial
-- variables; f gets those.
function kit.block(b, name, shape, names, f)
  local loops = {}
  local function nest(d)
    if d <= #shape then
      b:loop(names[d], 0, shape[d], function(i)
        loops[d] = { names[d], shape[d], i }
        nest(d + 1)
      end)
      return
    end
    b:block(name, kit.iters(loops), f)
  end
  nest(1)
end

-- ---- windows ---------------------------------------------------------------

-- Refuses windows of another rank than n, and groups that do not divide.
function kit.check_groups(o, n)
  kit.each(o, "k", n)
  if o.ci % o.groups ~= 0 or o.co % o.groups ~= 0 then
    declare.wrong(o.name, "%d groups do not divide %d and %d channels",
                  o.groups, o.ci, o.co)
  end
end

-- `pad` before and behind each of n dimensions: a number for all sides, one a
-- dimension, or those before all dimensions and then those behind them.
function kit.both_pads(o, n)
  local pad = o.pad or 0
  if type(pad) == "table" and #pad == 2 * n then
    return table.move(pad, 1, n, 1, {}), table.move(pad, n + 1, 2 * n, 1, {})
  end
  local each = kit.each(o, "pad", n, 0)
  return each, each
end

-- How far windows reach: { k =, s =, d =, before =, after =, out = } for each
-- of the extents.
function kit.windows(o, extents)
  local n, list = #extents, {}
  local k, s = kit.each(o, "k", n), kit.each(o, "stride", n, 1)
  local d = kit.each(o, "dilation", n, 1)
  local before, after = kit.both_pads(o, n)
  for i, extent in ipairs(extents) do
    local reach = d[i] * (k[i] - 1) + 1
    local out = (extent + before[i] + after[i] - reach) // s[i] + 1
    if out < 1 then
      declare.wrong(o.name, "the window is larger than the padded input")
    end
    local more = after[i]
    if o.ceil then
      out = -((reach - extent - before[i] - after[i]) // s[i]) + 1
      -- The last window begins in the input, or before it.
      if (out - 1) * s[i] >= extent + before[i] then out = out - 1 end
      more = math.max(more, (out - 1) * s[i] + reach - extent - before[i])
    end
    list[i] = { k = k[i], s = s[i], d = d[i], before = before[i],
                after = more, extent = extent, out = out, pad_after = after[i],
                padded = extent + before[i] + more }
  end
  return list
end

-- X with what the windows want around the dimensions from `first` on.
function kit.padded(X, shape, names, windows, first, value)
  local any, to = false, table.move(shape, 1, #shape, 1, {})
  for i, w in ipairs(windows) do
    any = any or w.before > 0 or w.after > 0
    to[first + i - 1] = w.padded
  end
  if not any then return X end
  return kit.compute("padded", to, names, function(...)
    local at, inside = { ... }, {}
    for i, w in ipairs(windows) do
      local d = first + i - 1
      if w.before > 0 or w.after > 0 then
        inside[#inside + 1] = ts.ge(at[d], w.before)
        inside[#inside + 1] = ts.lt(at[d], w.extent + w.before)
      end
      at[d] = at[d] - w.before
    end
    return ts.select(ts.all(table.unpack(inside)), X(table.unpack(at)), value)
  end)
end

-- ---- activations -----------------------------------------------------------

-- The type that several steps are computed in, and functions to and from it:
-- float32 for floats of 16 bits, which each step would round.
function kit.wide(dtype)
  local wide = dtype:find "float16$" and "float32" or dtype
  return wide, function(x) return kit.as(x, dtype, wide) end,
         function(x) return kit.as(x, wide, dtype) end
end

-- f, a function of an element, of several steps.
function kit.in_steps(f)
  return function(x, ...)
    local _, wide, narrow = kit.wide(x:dtype())
    return narrow(f(wide(x), ...))
  end
end

-- Without 1 + erf and 1 + tanh, which cancel below 0.
kit.activation = {
  relu = function(x) return ts.max(x, 0) end,
  gelu = kit.in_steps(function(x)
    return x * 0.5 * ts.erfc(x * -(0.5 ^ 0.5))
  end),
  gelu_tanh = kit.in_steps(function(x)
    return x * ts.sigmoid((x + x * x * x * 0.044715) * (8 / math.pi) ^ 0.5)
  end),
  silu = kit.in_steps(function(x) return x * ts.sigmoid(x) end),
  sigmoid = ts.sigmoid,
  tanh = ts.tanh,
}

function kit.activations()
  return declare.word("act", { "relu", "gelu", "gelu_tanh", "silu", "sigmoid",
                               "tanh" }, "none",
                      "what is done to each element of the result")
end

-- The options of what follows a sum.
function kit.epilogue_options()
  return declare.flag("bias", "add a number to each channel of the result"),
         kit.activations(),
         declare.flag("relu", "the same as act = \"relu\"")
end

-- ---- accumulation ----------------------------------------------------------

-- x as that type, where it is of another.
function kit.as(x, from, to) return from == to and x or ts.cast(x, to) end

-- The type that a sum is computed in, what its operands become there, and what
-- a result of the operator's type is made of.  Floats of 16 bits add up in
-- float32: 256 + 1 is 256 in bfloat16, and 2048 + 1 is 2048 in float16.
function kit.accumulator(o)
  local dtype = o.dtype or "float32"
  local acc = o.acc or dtype:find "float16$" and "float32" or dtype
  if not declare.holds(acc, dtype) then
    declare.wrong(o.name, "'acc' is %q, which cannot hold %s", acc, dtype)
  end
  return acc, function(x) return kit.as(x, dtype, acc) end,
         function(x) return kit.as(x, acc, dtype) end
end

local lowest = { float16 = -65504, bfloat16 = -0x1.fep127,
                 float32 = -0x1.fffffep127, float64 = -0x1.fffffffffffffp1023 }

-- The least finite number of a type of floats.
function kit.lowest(dtype) return lowest[dtype] end

-- An extent as a number of that type, to multiply with or divide by.
function kit.number(n, dtype)
  return type(n) == "userdata" and ts.cast(n, dtype) or n
end

-- Option `name` as a constant of the operator's type, or of `dtype`, which has
-- to have it.
function kit.constant(o, name, default, dtype)
  local x = o[name] or default
  dtype = dtype or o.dtype or "float32"
  local whole, fits = math.tointeger(x), true
  if dtype == "bool" then
    fits = whole == 0 or whole == 1
  elseif declare.is(dtype, "integer") then
    local bits = math.tointeger(dtype:match "%d+$")
    local unsigned = dtype:find "^u" ~= nil
    local top = bits - (unsigned and 0 or 1)
    fits = whole and whole >= (unsigned and 0 or -1 << bits - 1) and
           (top >= 63 or whole < 1 << top)
  elseif lowest[dtype] then
    fits = math.abs(x) <= -lowest[dtype] or math.abs(x) == math.huge or x ~= x
  end
  if not fits then
    declare.wrong(o.name, "'%s' is %s, which %s does not have", name, x, dtype)
  end
  if dtype == "bool" then return ts.const(whole == 1, dtype) end
  return ts.const(whole and declare.is(dtype, "integer") and whole or x, dtype)
end

-- The type of parameters that are added to a sum: `acc` only if asked for.
function kit.beside(o) return o.acc or o.dtype or "float32" end

-- The tensors of what follows a sum; `channel` is the entry of a shape for one
-- number a channel.
function kit.epilogue_tensors(channel, bn)
  local function vector(name, when)
    return declare.tensor(name, { channel }, { type = kit.beside, when = when })
  end
  if not bn then return vector("bias", "bias") end
  return vector("bias", "bias"), vector("scale", "bn"), vector("shift", "bn")
end

-- x, a tensor of that shape, names and type, after what `o` asks for: bias,
-- scale and shift along dimension `channel`, an activation, a conversion.
function kit.epilogue(o, x, shape, names, channel, dtype, bias, scale, shift)
  local function step(name, f)
    local of = x
    x = kit.compute(name, shape, names, function(...)
      return f(of(...), (select(channel, ...)))
    end)
  end
  local function at(v, c) return kit.as(v(c), kit.beside(o), dtype) end
  if bias then
    step("biased", function(e, c) return e + at(bias, c) end)
  end
  if scale then
    step("scaled", function(e, c) return e * at(scale, c) end)
    step("shifted", function(e, c) return e + at(shift, c) end)
  end
  if o.act and o.relu then
    declare.wrong(o.name, "'act' and 'relu' are both given")
  end
  local act = o.act or (o.relu and "relu")
  if act and act ~= "relu" and not declare.is(dtype, "float") then
    declare.wrong(o.name, "%s is of floats, not of %s", act, dtype)
  end
  if act then step(act, kit.activation[act]) end
  local out = o.out or kit.beside(o)
  if out ~= dtype then
    step("converted", function(e) return ts.cast(e, out) end)
  end
  return x
end

return kit
