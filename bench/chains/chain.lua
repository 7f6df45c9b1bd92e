-- SPDX-License-Identifier: Apache-2.0
-- Random chains of operators, and a block of a transformer, as programs.
local ts = require "tessera"
local ops = require "tessera.ops"

local chain = {}

-- ---- drawing ---------------------------------------------------------------

local draw = {}
draw.__index = draw

-- 0 .. n - 1; splitmix64, so that a seed gives the same chains everywhere.
function draw:below(n)
  self.state = self.state + 0x9e3779b97f4a7c15
  local z = self.state
  z = (z ~ (z >> 30)) * 0xbf58476d1ce4e5b9
  z = (z ~ (z >> 27)) * 0x94d049bb133111eb
  return ((z ~ (z >> 31)) >> 1) % n
end
function draw:one_of(list) return list[self:below(#list) + 1] end

-- An input of the program.
function draw:input(shape, dtype)
  local x = ts.placeholder("x" .. #self.inputs, shape, dtype)
  table.insert(self.inputs, x)
  return x
end

-- A tensor of that shape: an earlier one, or an input.
function draw:like(shape)
  for _, x in ipairs(self.made) do
    if self:below(2) == 0 and table.concat(x.shape, " ") ==
                              table.concat(shape, " ") then
      return x
    end
  end
  return self:input(shape)
end

-- ---- the operators ---------------------------------------------------------

-- Each of a tensor of floats of some dimensions gives another one, or nil where
-- it does not fit.  None jumps, nor grows fast, so that roundings stay small.
local steps = {}
local function add(name, f) steps[#steps + 1] = { name = name, f = f } end

for _, name in ipairs { "tanh", "sigmoid", "relu", "gelu", "silu", "softplus",
                        "erf", "sin", "abs", "leaky_relu", "elu", "atan",
                        "softsign", "hard_swish", "clamp", "neg" } do
  add(name, function(_, x) return ops[name](x) end)
end
for _, name in ipairs { "add", "sub", "mul", "maximum", "minimum", "prelu" } do
  add(name, function(d, x)
    local shape = d:below(3) > 0 and x.shape or { x.shape[#x.shape] }
    return ops[name](x, d:like(shape))
  end)
end
local function any_axis(d, x) return d:below(#x.shape) end
for _, name in ipairs { "softmax", "log_softmax" } do
  add(name, function(d, x) return ops[name](x, { axis = any_axis(d, x) }) end)
end
add("layer_norm", function(d, x)
  local weight = d:below(2) == 0 and d:input { x.shape[#x.shape] } or nil
  return ops.layer_norm(x, { weight = weight, eps = 0.1 })
end)
add("rms_norm", function(_, x) return ops.rms_norm(x, { eps = 0.1 }) end)
add("matmul", function(d, x)
  if #x.shape < 2 then return end
  return ops.matmul(x, d:input { x.shape[#x.shape], 1 + d:below(6) })
end)
add("dense", function(d, x)
  if #x.shape ~= 2 then return end
  local n = 1 + d:below(6)
  return ops.dense(x, d:input { n, x.shape[2] }, d:input { n })
end)
add("conv1d", function(d, x)
  if #x.shape ~= 3 or x.shape[3] < 2 then return end
  local w = d:input { 1 + d:below(3), x.shape[2], 2 }
  return ops.conv1d_ncl(x, w, { pad = d:below(2) })
end)
for _, name in ipairs { "max_pool1d", "avg_pool1d" } do
  add(name, function(_, x)
    if #x.shape ~= 3 or x.shape[3] < 2 then return end
    return (ops[name](x, { k = 2 }))
  end)
end
add("reduce", function(d, x)
  local keep = #x.shape == 1 or d:below(2) == 0
  return ops.reduce(x, { op = d:one_of { "sum", "mean", "max", "min", "l1" },
                         axes = { any_axis(d, x) }, keep = keep })
end)
add("cumsum", function(d, x)
  return ops.cumsum(x, { axis = any_axis(d, x) })
end)
add("transpose", function(_, x) return ops.transpose(x) end)
add("reshape", function(_, x)
  local n = 1
  for _, e in ipairs(x.shape) do n = n * e end
  return ops.reshape(x, { to = n % 2 == 0 and { 2, n // 2 } or { 1, n } })
end)
add("slice", function(d, x)
  local begin, at = {}, any_axis(d, x) + 1
  for k = 1, #x.shape do begin[k] = 0 end
  begin[at] = d:below(x.shape[at])
  return ops.slice(x, { begin = begin })
end)
add("pad", function(d, x)
  local before = {}
  for k = 1, #x.shape do before[k] = d:below(2) end
  return ops.pad(x, { before = before, mode = d:one_of { "constant", "edge" } })
end)
add("concat", function(d, x)
  return ops.concat(x, d:like(x.shape), { axis = any_axis(d, x) })
end)
add("gather", function(d, x)
  local n = 1 + d:below(4)
  return ops.gather(x, d:input({ n }, "int64"), { axis = any_axis(d, x) })
end)
add("where", function(d, x)
  local z = d:like(x.shape)
  return ops.where(ops.greater(x, z), x, z)
end)
add("broadcast", function(_, x)
  return ops.broadcast(x, { to = { 2, table.unpack(x.shape) } })
end)
add("trilu", function(d, x)
  if #x.shape < 2 then return end
  return ops.trilu(x, { upper = d:below(2) == 0 })
end)
add("attention", function(d, x)
  if #x.shape ~= 2 then return end
  local k = d:input { 3, x.shape[2] }
  local w = ops.softmax(ops.matmul(x, k, { trans_b = true }), { axis = -1 })
  return ops.matmul(w, d:input { 3, 1 + d:below(4) })
end)

local function elements(x)
  local n = 1
  for _, e in ipairs(x.shape) do n = n * e end
  return n
end

-- A program of three to six operators, and what they are called.
function chain.random(seed)
  local d = setmetatable({ state = seed, inputs = {}, made = {} }, draw)
  local shape = {}
  for k = 1, 1 + d:below(3) do shape[k] = 1 + d:below(5) end
  local x, names = d:input(shape), {}
  local wanted = 3 + d:below(4)
  while #names < wanted do
    local step = d:one_of(steps)
    local large = elements(x) > 400 or #x.shape > 4
    local y = not large and step.f(d, x)
    if large then
      y = ops.reduce(x, { axes = { -1 }, keep = #x.shape == 1 })
      step = { name = "reduce" }
    end
    if y then
      x, names[#names + 1] = y, step.name
      d.made[#d.made + 1] = y
    end
  end
  return ts.program("chain", d.inputs, { x }), table.concat(names, " ")
end

-- ---- a block of a transformer ----------------------------------------------

-- 24 operators: attention of `heads` heads and a layer of twice two products,
-- each behind a norm and around a residual.
function chain.transformer(tokens, width, heads)
  local inputs = {}
  local function input(name, ...)
    inputs[#inputs + 1] = ts.placeholder(name, { ... })
    return inputs[#inputs]
  end
  local each = width // heads
  local function in_heads(x)
    local split = ops.reshape(x, { to = { tokens, heads, each } })
    return ops.transpose(split, { perm = { 1, 0, 2 } })
  end
  local x = input("x", tokens, width)
  local h = ops.layer_norm(x, { weight = input("g1", width) })
  local q = in_heads(ops.dense(h, input("wq", width, width)))
  local k = in_heads(ops.dense(h, input("wk", width, width)))
  local v = in_heads(ops.dense(h, input("wv", width, width)))
  local scores = ops.matmul(q, k, { trans_b = true })
  scores = ops.add(scores, input("mask", tokens, tokens))
  local y = ops.matmul(ops.softmax(scores), v)
  y = ops.reshape(ops.transpose(y, { perm = { 1, 0, 2 } }),
                  { to = { tokens, width } })
  x = ops.add(x, ops.dense(y, input("wo", width, width)))
  h = ops.rms_norm(x, { weight = input("g2", width) })
  h = ops.gelu(ops.dense(h, input("w1", 4 * width, width)))
  x = ops.add(x, ops.dense(h, input("w2", width, 4 * width)))
  x = ops.layer_norm(x, { weight = input("g3", width) })
  return ts.program("transformer", inputs, { x })
end

-- ---- checks ----------------------------------------------------------------

-- Tensors for a run: the same contents for the same seed.
function chain.arguments(program, seed)
  local list = {}
  for i, x in ipairs(program:params()) do
    local fill = x.role ~= "output" and
                 (x.dtype == "float32" and "random" or "integers") or nil
    list[i] = ts.tensor(x.dtype, x.shape, fill, seed + i)
  end
  return list
end

-- Inputs of the block of a transformer, as ts.tune takes them: of either sign,
-- and weights so small that sums of products stay near 1, as those of models,
-- without which softmax makes a little rounding large.
function chain.inputs(program, seed)
  local list = {}
  for i, x in ipairs(program:params()) do
    if x.role == "output" then break end
    local r = ts.tensor(x.dtype, x.shape, "random", seed + i)
    local most = x.name:find "^w" and 1.7 / math.sqrt(x.shape[2]) or 1.0
    local rows, columns = x.shape[1], x.shape[2]
    for a = 0, rows - 1 do
      for b = 0, (columns or 1) - 1 do
        local at = columns and { a, b } or { a }
        local v = (r:get(table.unpack(at)) * 2 - 1) * most
        at[#at + 1] = v
        r:set(table.unpack(at))
      end
    end
    list[i] = r
  end
  return list
end

-- Where the last of two lists of tensors differ, or nil.
function chain.difference(want, got)
  local a, b = want[#want], got[#got]
  local shape, at, where = a:shape(), {}, nil
  local function walk(d)
    if d <= #shape then
      for i = 0, shape[d] - 1 do
        at[d] = i
        walk(d + 1)
      end
      return
    end
    local x, y = a:get(table.unpack(at)), b:get(table.unpack(at))
    local near = x ~= x and y ~= y or
                 math.abs(x - y) <= 1e-4 * math.max(1, math.abs(x))
    if not near then
      where = ("%s is %s, not %s"):format(table.concat(at, ","), y, x)
    end
  end
  walk(1)
  return where
end

return chain
