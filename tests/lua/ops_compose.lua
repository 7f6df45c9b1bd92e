-- SPDX-License-Identifier: Apache-2.0
-- Operators of tensors: each gives, of placeholders, the program that its
-- options give, but for names; they compose, blocks have unique names that
-- depend on the program alone, and wrong tensors are refused in one line.
local ts = require "tessera"
local ops = require "tessera.ops"
local declare = require "tessera.ops.declare"
local here = arg[0]:gsub("[^/]*$", "")
local op_rows = dofile(here .. "../support/op_rows.lua")

-- ---- both forms ------------------------------------------------------------

-- A program's text with names in the order that they come in, and a head in one
-- line.
local function nameless(p)
  local names, n = {}, 0
  local text = tostring(p):gsub("'([%w_]+)'", "%1") -- names that are words
  text = ("\n" .. text):gsub("\n[%w_]+%(%s*", "\n", 1)
  text = text:gsub("(block [%w_]+)%(", "%1 (")
  text = text:gsub("([%a_][%w_]*)(%(?)", function(word, call)
    if call == "(" then return word .. call end
    if not names[word] then n = n + 1 names[word] = "x" .. n end
    return names[word]
  end)
  return (text:gsub("%s*([(),])%s*", "%1"))
end

local of_name = {}
for _, row in ipairs(declare.list) do of_name[row.name] = row end

-- The options that tensors do not tell.
local function attributes(row, given, tensors)
  local told, o = {}, {}
  local function tell(entry)
    if type(entry) == "string" then
      told[entry:gsub("%.%.%.$", ""):gsub("%.%d+$", "")] = true
    end
  end
  for _, t in ipairs(row.tensors) do
    local shape = t.shape
    if type(shape) == "function" then shape = shape(given, 1) end
    if t.when and not tensors[t.name] then shape = {} end
    for _, entry in ipairs(shape) do tell(entry) end
    tell(t.type)
    tell(t.when)
  end
  for key, x in pairs(given) do
    if not told[key] then o[key] = x end
  end
  if row.infer then
    local seen = setmetatable({}, { __index = o,
                                    __newindex = function(own, key, x)
                                      told[key] = true
                                      rawset(own, key, x)
                                    end })
    row.infer(seen, tensors)
    for key in pairs(told) do o[key] = nil end
  end
  return o
end

local function in_place(row)
  for _, t in ipairs(row.tensors) do
    if t.changed then return true end
  end
end

-- The tensors of a call as arguments, by name, and one after another.
local function tensors_of(row, program)
  local byname, args, all = {}, {}, {}
  local params = program:params()
  local at = 1
  local function take()
    local x = params[at]
    at = at + 1
    all[#all + 1] = ts.placeholder("in" .. at, x.shape, x.dtype)
    return all[#all]
  end
  local last = {}
  for i, t in ipairs(row.tensors) do
    if t.list then
      byname[t.name] = {}
      while params[at] and params[at].role ~= "output" do
        table.insert(byname[t.name], take())
      end
      table.move(byname[t.name], 1, #byname[t.name], #args + 1, args)
    elseif params[at] and params[at].name == t.name then
      byname[t.name] = take()
      if t.when then last[t.name] = byname[t.name]
      else args[i] = byname[t.name] end
    end
  end
  return byname, args, all, last
end

local compared = 0
for _, r in ipairs(op_rows.rows) do
  local row = of_name[r.name]
  if row and #row.tensors > 0 then
    local want = ops[r.name](r.options)
    local byname, args, inputs, optional = tensors_of(row, want)
    local o = attributes(row, r.options, byname)
    for name, t in pairs(optional) do o[name] = t end
    if in_place(row) then o.in_place = true end
    o.name = "it"                       -- no word of the language
    args[#args + 1] = o
    local ok, message = pcall(function()
      local results = { ops[r.name](table.unpack(args)) }
      local got = ts.program("p", inputs, results)
      local a, b = nameless(want), nameless(got)
      if a ~= b then error(("%s\n%s"):format(want, got)) end
    end)
    if not ok then error(op_rows.told(r) .. ": " .. tostring(message), 0) end
    compared = compared + 1
  end
end
print(("%d calls in both forms"):format(compared))
assert(compared > 600)

-- ---- composition -----------------------------------------------------------

local function P(name, shape, dtype) return ts.placeholder(name, shape, dtype)
end

local function blocks_of(p)
  local list = {}
  for name in tostring(p):gmatch "block ([%w_]+)%(" do
    list[#list + 1] = name
  end
  return table.concat(list, " ")
end

-- softmax(q k^T) v, by hand and by operators.
local function attention()
  local q, k, v = P("q", { 5, 4 }), P("k", { 6, 4 }), P("v", { 6, 3 })
  local w = ops.softmax(ops.matmul(q, k, { trans_b = true }), { axis = -1 })
  return ts.program("attention", { q, k, v }, { ops.matmul(w, v) })
end
do
  local p = attention()
  assert(blocks_of(p) == "matmul softmax_greatest softmax_exp softmax_sum " ..
                         "softmax matmul_1", blocks_of(p))
  -- The same whatever else was described.
  ops.matmul(P("x", { 2, 2 }), P("y", { 2, 2 }))
  assert(attention():hash() == p:hash())
  -- What comes behind does not rename what there is.
  local q, k = P("q", { 5, 4 }), P("k", { 6, 4 })
  local s = ops.matmul(q, k, { trans_b = true, name = "scores" })
  assert(blocks_of(ts.program("p", { q, k }, { ops.relu(ops.relu(s)) })) ==
         "scores relu relu_1")

  local function tensor(shape, seed)
    return ts.tensor("float32", shape, seed and "random", seed)
  end
  local args = { tensor({ 5, 4 }, 1), tensor({ 6, 4 }, 2), tensor({ 6, 3 }, 3),
                 tensor { 5, 3 } }
  local other = { args[1], args[2], args[3], tensor { 5, 3 } }
  local o = { b = 1, h = 1, m = 5, n = 6, d = 4, dv = 3, scale = 1 }
  ts.build(p)(table.unpack(args))
  local whole = ops.attention(o)
  for i, x in ipairs(whole:params()) do
    local shaped = ts.tensor("float32", x.shape)
    for a = 0, x.shape[3] - 1 do
      for b = 0, x.shape[4] - 1 do
        shaped:set(0, 0, a, b, other[i]:get(a, b))
      end
    end
    other[i] = shaped
  end
  ts.interpret(whole, other)
  for a = 0, 4 do
    for b = 0, 2 do
      local x, y = args[4]:get(a, b), other[4]:get(0, 0, a, b)
      assert(math.abs(x - y) < 1e-5, x .. " " .. y)
    end
  end
end

-- More parts than a block reads at a time.
do
  local x, parts = P("x", { 3, 70 }), {}
  for i = 1, 70 do
    parts[i] = ops.slice(x, { begin = { 0, 70 - i }, stop = { 3, 71 - i } })
  end
  parts[71] = { axis = 1 }
  local p = ts.program("p", { x }, { ops.concat(table.unpack(parts)) })
  local X = ts.tensor("float32", { 3, 70 }, "random", 1)
  local Y = ts.tensor("float32", { 3, 70 })
  ts.build(p)(X, Y)
  for i = 0, 69 do assert(Y:get(2, i) == X:get(2, 69 - i)) end
end

-- Symbolic sizes, several results, more than one operator of a kind in one.
do
  local n = ts.size "n"
  local x, w = P("x", { n, 8 }), P("w", { 16, 8 })
  local h = ops.layer_norm(x)
  local p = ts.program("p", { x, w }, { ops.softmax(ops.dense(h, w)) })
  assert(tostring(p):find("softmax: out float32[n, 16]", 1, true), tostring(p))
  local at, most = ops.arg_max(h, { axis = 0 })
  assert(at.dtype == "int64" and #most.shape == 1)
  local two = ts.program("two", { x }, { ops.relu(h), ops.relu(x) })
  local names = {}
  for i, y in ipairs(two:params()) do names[i] = y.name end
  assert(table.concat(names, " ") == "x relu relu_1",
         table.concat(names, " "))
end

-- What works in place computes in a copy, unless it may change its operand.
do
  local a = P("a", { 4, 4 })
  local copied = ts.program("p", { a }, { ops.lu(a) })
  assert(blocks_of(copied):find "^lu lu_scale" and
         tostring(copied):find("a: float32", 1, true), tostring(copied))
  a = P("a", { 4, 4 })
  local inside = ts.program("p", { a }, { ops.lu(a, { in_place = true }) })
  assert(tostring(inside):find("a: inout float32", 1, true), tostring(inside))
  -- Of a tensor that was computed.
  a = P("a", { 4, 4 })
  local factor = ops.cholesky(ops.matmul(a, a, { trans_b = true }))
  local solved = ops.triangular_solve(factor, ops.relu(a))
  local p = ts.program("p", { a }, { solved })
  local A = ts.tensor("float32", { 4, 4 },
    { { 4, 0, 0, 1 }, { 1, 5, 0, 0 }, { 0, 1, 3, 0 }, { 2, 0, 1, 6 } })
  local X, Y = ts.tensor("float32", { 4, 4 }), ts.tensor("float32", { 4, 4 })
  ts.interpret(p, { A, X })
  ts.build(p)(A, Y)
  for i = 0, 3 do
    for j = 0, 3 do
      assert(math.abs(X:get(i, j) - Y:get(i, j)) < 1e-5)
    end
  end
end

-- ---- refusals --------------------------------------------------------------

local a = P("a", { 4, 4 })
local n = ts.size "n"
local function refused(text, f, ...)
  local ok, e = pcall(f, ...)
  assert(not ok and e.message:find(text, 1, true),
         ("%s, not %s"):format(ok and "no refusal" or e.message, text))
end
refused("ops.matmul: B is missing; it takes A, B, [bias]", ops.matmul, a)
refused("ops.matmul: A is missing", ops.matmul)
refused("ops.matmul: argument 2 is the number 3", ops.matmul, a, 3)
refused("ops.matmul: argument 4 is a buffer", ops.matmul, a, a, a, a)
refused("dimension 0 of B is 8, and 'k' is 4", ops.matmul, a, P("b", { 8, 4 }))
refused("dimension 0 of B is n, and 'k' is 4", ops.matmul, a, P("b", { n, 4 }))
refused("B has 1 dimension, not at least 2", ops.matmul, a, P("b", { 4 }))
refused("B is float64, not float32", ops.matmul, a, P("b", { 4, 4 }, "float64"))
refused("ops.quantize: 'axis' is 1, and there are 1 dimensions", ops.quantize,
        P("x", { 4 }), P("s", { 1 }), P("z", { 1 }, "int8"), { axis = 1 })
refused("'m' is 3", ops.matmul, a, a, { m = 3 })
refused("ops.matmul: bias is missing", ops.matmul, a, a, { bias = true })
refused("unknown option 'foo' of ops.matmul", ops.matmul, a, a, { foo = 1 })
refused("unknown option 'in_place'", ops.matmul, a, a, { in_place = true })
refused("'name' is the number 3", ops.matmul, a, a, { name = 3 })
refused("extents 4 and 3 of", ops.add, a, P("b", { 3 }))
refused("\"int32\", not one of", ops.sin, P("b", { 3 }, "int32"))
refused("dimension 1 of W is 2, not 3", ops.conv2d_nchw,
        P("x", { 1, 3, 8, 8 }), P("w", { 4, 2, 3, 3 }))
refused("the symbolic size n, and 'h' has to be a number", ops.conv2d_nchw,
        P("x", { 1, 3, n, 8 }), P("w", { 4, 3, 3, 3 }))
refused("ops.concat: X is missing", ops.concat)
refused("dimension 1 of X is 5, not 4", ops.concat, a, P("b", { 4, 5 }),
        { axis = 0 })
