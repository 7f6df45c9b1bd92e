-- SPDX-License-Identifier: Apache-2.0
-- Models of small graphs, an MLP, a residual block and attention: passes keep
-- what is computed, groups are those of TVM's categories, and the model gives
-- what its nodes give one by one, as unscheduled programs.
local ts = require "tessera"
local graph = require "tessera.graph"
local passes = require "tessera.graph.passes"
local here = arg[0]:gsub("[^/]*$", "")
local check = dofile(here .. "../support/checks.lua")

local seed = 0
-- A constant of small numbers.
local function weight(g, ...)
  seed = seed + 1
  return g:constant("w" .. seed, ts.tensor("float32", { ... }, "random", seed))
end

local function close(a, b)
  local _, relative = a:compare(b)
  assert(relative < 1e-4, relative)
end

local function ops_of(g)
  local list = {}
  for i, n in ipairs(g:nodes()) do list[i] = n.op .. ":" .. n.group end
  return table.concat(list, " ")
end

-- What the outputs are after each pass, if they do not change.
local function stays(g, x)
  local before = graph.run(g, { x })
  passes.run(g, { after = function(name, h)
    local now = graph.run(h, { x })
    for i in ipairs(before) do
      local ok, e = pcall(close, now[i], before[i])
      assert(ok, name .. ": " .. tostring(e))
    end
  end })
  return before
end

local function mlp()
  local g = graph.new "mlp"
  local x = g:input("x", { 2, 12 })
  local h = g:gelu(g:add(g:matmul(x, weight(g, 12, 8)), weight(g, 8)))
  g:output("y", g:softmax(g:dense(h, weight(g, 5, 8)), { axis = -1 }))
  return g
end

-- conv, batch norm, relu, conv, batch norm, and the sum with what came in.
local function residual()
  local g = graph.new "residual"
  local x = g:input("x", { 1, 4, 6, 6 })
  local function conv(y, bias)
    y = g:conv2d_nchw(y, weight(g, 4, 4, 3, 3),
                      { pad = 1, bias = bias and weight(g, 4) })
    return g:batch_norm(y, weight(g, 4), weight(g, 4), weight(g, 4),
                        weight(g, 4), { eps = 0.01 })
  end
  local h = g:relu(conv(x))
  g:output("y", g:relu(g:add(conv(h, true), x)))
  return g
end

local function attention()
  local g = graph.new "attention"
  local x = g:input("x", { 6, 8 })
  local scale = g:constant("scale", ts.tensor("float32", { 1 }, { 0.35 }))
  local q, k = g:matmul(x, weight(g, 8, 8)), g:matmul(x, weight(g, 8, 8))
  local v = g:matmul(x, weight(g, 8, 8))
  local s = g:matmul(q, g:transpose(k, { perm = { 1, 0 } }))
  local p = g:softmax(g:mul(s, scale), { axis = -1 })
  g:output("y", g:layer_norm(g:add(g:matmul(p, v), x), {
    weight = weight(g, 8), bias = weight(g, 8) }))
  return g
end

check.case("passes keep what is computed, and fuse", function()
  local g = mlp()
  stays(g, ts.tensor("float32", { 2, 12 }, "random", 1))
  assert(ops_of(g) == "matmul:1 gelu:1 dense:2 softmax:3", ops_of(g))
  g = residual()
  stays(g, ts.tensor("float32", { 1, 4, 6, 6 }, "random", 1))
  assert(ops_of(g) ==
         "conv2d_nchw:1 relu:1 conv2d_nchw:2 add:2 relu:2", ops_of(g))
  g = attention()
  stays(g, ts.tensor("float32", { 6, 8 }, "random", 1))
  assert(ops_of(g) == "matmul:1 matmul:2 matmul:3 transpose:4 matmul:5 " ..
                      "mul:5 softmax:6 matmul:7 add:7 layer_norm:8", ops_of(g))
end)

-- Attention of two heads, of queries, keys and values that one value gives.
local function heads()
  local g = graph.new "heads"
  local x = g:input("x", { 1, 6, 8 })
  local function part(bias, perm)
    local y = g:matmul(x, weight(g, 8, 8))
    if bias then y = g:mul(g:add(y, weight(g, 8)), weight(g, 8)) end
    return g:transpose(g:reshape(y, { to = { 1, 6, 2, 4 } }), { perm = perm })
  end
  local q, k = part(true, { 0, 2, 1, 3 }), part(true, { 0, 2, 3, 1 })
  local v, alone = part(true, { 0, 2, 1, 3 }), part(false, { 0, 2, 1, 3 })
  local y = g:matmul(g:softmax(g:matmul(q, k), { axis = -1 }), v)
  g:output("y", g:add(y, alone))
  g:output("z", g:matmul(x, weight(g, 8, 3)))
  return g
end

check.case("products of one value become one", function()
  local g, n = heads(), 0
  stays(g, ts.tensor("float32", { 1, 6, 8 }, "random", 1))
  for _, node in ipairs(g:nodes()) do
    if node.op == "matmul" and node.inputs[1] == g:inputs()[1].id then
      n = n + 1
      local y = g:value_info(node.outputs[1]).shape[3]
      assert(y == 24 or y == 8 or y == 3, y)
    end
  end
  assert(n == 3, ops_of(g))
  assert(not ops_of(g):find "[^t]mul:", ops_of(g))
end)

-- Layer normalisation as exporters write it out; `squared` of a difference.
local function written_out(g, x, squared, bias)
  local d = g:sub(x, g:reduce(x, { op = "mean", axes = { -1 }, keep = true }))
  local v = g:reduce(squared(d), { op = "mean", axes = { 2 }, keep = true })
  local eps = g:constant("", ts.tensor("float32", {}, 1e-5))
  local y = g:div(d, g:sqrt(g:add(v, eps)))
  y = g:mul(weight(g, 8), y)
  return bias and g:add(y, weight(g, 8)) or y
end

check.case("norms that were written out are one node", function()
  local g = graph.new "norms"
  local x = g:input("x", { 2, 3, 8 })
  local two = g:constant("two", ts.tensor("float32", {}, 2))
  local y = written_out(g, x, function(d) return g:pow(d, two) end, true)
  y = written_out(g, y, function(d) return g:mul(d, d) end)
  g:output("y", y)
  g:output("z", g:add(g:constant("one", ts.tensor("float32", { 1 }, { 1 })),
                      written_out(g, y, function(d) return g:square(d) end)))
  stays(g, ts.tensor("float32", { 2, 3, 8 }, "random", 1))
  assert(ops_of(g) == "layer_norm:1 layer_norm:2 layer_norm:3 add:4", ops_of(g))
end)

check.case("norms without a mean that were written out are one node", function()
  local g = graph.new "rms"
  local eps = g:constant("eps", ts.tensor("float32", {}, 1e-5))
  local one = g:constant("one", ts.tensor("float32", {}, 1))
  local function mean_square(y)
    local m = g:reduce(g:mul(y, y), { op = "mean", axes = { -1 }, keep = true })
    return g:add(eps, m)
  end
  local y = g:input("x", { 2, 3, 8 })
  y = g:mul(weight(g, 8), g:div(y, g:sqrt(mean_square(y))))
  y = g:mul(y, g:rsqrt(mean_square(y)))
  y = g:mul(g:mul(g:reciprocal(g:sqrt(mean_square(y))), y), weight(g, 8))
  y = g:mul(y, g:div(one, g:sqrt(mean_square(y))))
  g:output("y", y)
  stays(g, ts.tensor("float32", { 2, 3, 8 }, "random", 1))
  assert(ops_of(g) == "rms_norm:1 rms_norm:2 rms_norm:3 rms_norm:4", ops_of(g))
end)

check.case("chains become one, and what changes nothing goes", function()
  local g = graph.new "chains"
  local x = g:input("x", { 2, 3, 4 })
  local y = g:transpose(x, { perm = { 2, 0, 1 } })
  y = g:transpose(g:add(y, g:constant("zero", ts.tensor("float32", { 1 }))),
                  { perm = { 1, 2, 0 } })
  y = g:cast(g:cast(y, { to = "float64" }), { to = "float32" })
  y = g:reshape(g:reshape(y, { to = { 6, 4 } }), { to = { 2, 3, 4 } })
  g:output("y", y)
  local half = g:cast(g:cast(x, { to = "float16" }), { to = "float32" })
  g:output("half", half)
  g:output("back", g:slice(x, { begin = { 0, 2, 0 }, stop = { 2, -1, 4 },
                                step = { 1, -1, 1 } }))
  stays(g, ts.tensor("float32", { 2, 3, 4 }, "random", 1))
  assert(ops_of(g) == "cast:1 cast:1 slice:2", ops_of(g))
  assert(rawequal(g:outputs()[1], x))
end)

check.case("nodes of constants fold, of whatever size", function()
  local g = graph.new "constants"
  local x = g:input("x", { 700, 700 })
  local w = g:mul(weight(g, 700, 700), weight(g, 700))
  local to = g:transpose(g:cast(w, { to = "float64" }))
  g:output("y", g:add(x, g:cast(to, { to = "float32" })))
  local t = ts.tensor("float32", { 700, 700 }, "random", 1)
  local before = graph.run(g, { t })
  passes.run(g, {})
  close(graph.run(g, { t })[1], before[1])
  assert(ops_of(g) == "add:1", ops_of(g))
end)

check.case("large nodes of one value, and of a number", function()
  local g = graph.new "large"
  local x = g:input("x", { 700, 700 })
  local half = g:constant("half", ts.tensor("float32", {}, 0.5))
  g:output("squares", g:mul(x, x))
  g:output("halves", g:mul(x, half))
  local t = ts.tensor("float32", { 700, 700 }, "integers", 1)
  local squares, halves = table.unpack((graph.run(g, { t })))
  local a = t:get(699, 698)
  assert(squares:get(699, 698) == a * a and halves:get(699, 698) == a / 2)
end)

check.case("a model gives what its nodes give", function()
  for _, made in ipairs { { mlp, { 2, 12 } }, { residual, { 1, 4, 6, 6 } } } do
    local g, x = made[1](), ts.tensor("float32", made[2], "random", 3)
    local want = graph.run(g, { x })
    local m = graph.model(g, { seed = 1 })
    close(m:run { x = x }, want[1])
    close(m:run { x }, want[1])
    local memory = m:memory()
    assert(memory.kernels == #m:times { x })
    assert(memory.bound <= memory.arena and memory.arena <= memory.sum)
  end
end)

check.case("outputs may be inputs, constants, reshapes and the same", function()
  local g = graph.new "outputs"
  local x = g:input("x", { 2, 3 })
  local w = weight(g, 4)
  local y = g:reshape(g:relu(x), { to = { 3, 2 } })
  g:output("x", x)
  g:output("w", w)
  g:output("y", y)
  g:output("again", y)
  local t = ts.tensor("float32", { 2, 3 }, "random", 1)
  local want = graph.run(g, { t })
  local got = table.pack(graph.model(g, { without = { simplify = true } })
                         :run { t })
  for i = 1, 4 do close(got[i], want[i]) end
end)

check.case("wrong tensors are refused", function()
  local g = graph.new "wrong"
  g:output("y", g:relu(g:input("x", { 2, 3 })))
  local m = graph.model(g)
  local function refused(text, given)
    local ok, e = pcall(m.run, m, given)
    assert(not ok and e.message == text, e.message)
  end
  refused("input x of graph wrong is float32[2, 3], and the tensor is " ..
          "float32[3, 2]", { ts.tensor("float32", { 3, 2 }) })
  refused("graph wrong needs its input x: float32[2, 3]", {})
  local x = ts.tensor("float32", { 2, 3 })
  refused("mask is no input of graph wrong, which has x", { x, mask = x })
  refused("2 is no input of graph wrong, which has x", { x, x })
end)

-- ---- what exports look like ------------------------------------------------

check.case("transposes around convolutions cancel, scales go into them",
           function()
  local g = graph.new "exported"
  local x = g:input("x", { 1, 6, 5, 3 })
  local first, back = { perm = { 0, 3, 1, 2 } }, { perm = { 0, 2, 3, 1 } }
  local function conv(y, ci, co)
    y = g:pad(y, { before = { 0, 1, 1, 0 }, after = { 0, 1, 1, 0 } })
    y = g:conv2d_nchw(g:transpose(y, first), weight(g, co, ci, 3, 3))
    y = g:add(g:transpose(y, back), weight(g, co))
    y = g:sub(g:mul(y, weight(g, 1, 1, 1, co)), weight(g, co))
    return g:div(y, g:constant("two", ts.tensor("float32", { 1 }, { 2 })))
  end
  local h = g:relu(conv(x, 3, 4))
  h = g:relu(g:add(conv(h, 4, 4), h))
  g:output("y", g:reduce(h, { op = "mean", axes = { 1, 2 } }))
  stays(g, ts.tensor("float32", { 1, 6, 5, 3 }, "random", 1))
  assert(ops_of(g) == "transpose:1 conv2d_nchw:2 relu:2 conv2d_nchw:3 " ..
                      "add:3 relu:3 reduce:4", ops_of(g))
end)

check.case("a batch norm alone is a product and a sum", function()
  local g = graph.new "alone"
  local x = g:input("x", { 1, 3, 4, 4 })
  local y = g:batch_norm(g:relu(x), weight(g, 3), weight(g, 3), weight(g, 3),
                         weight(g, 3))
  g:output("y", y)
  stays(g, ts.tensor("float32", { 1, 3, 4, 4 }, "random", 1))
  assert(ops_of(g) == "relu:1 mul:1 add:1", ops_of(g))
end)

-- ---- saved models ----------------------------------------------------------

-- Inputs as examples/run_model.c fills them.
local function quarters(shape)
  local t, i = ts.tensor("float32", shape), 0
  local function walk(at, d)
    if d > #shape then
      at[#shape + 1] = i % 4 * 0.25
      t:set(table.unpack(at, 1, #shape + 1))
      i = i + 1
      return
    end
    for k = 0, shape[d] - 1 do
      at[d] = k
      walk(at, d + 1)
    end
  end
  walk({}, 1)
  return t
end

local function sum(t)
  local s, shape = 0, t:shape()
  local function walk(at, d)
    if d > #shape then s = s + t:get(table.unpack(at, 1, #shape)) return end
    for k = 0, shape[d] - 1 do
      at[d] = k
      walk(at, d + 1)
    end
  end
  walk({}, 1)
  return s
end

check.case("a saved model runs in a host of C without Tessera", function()
  local g = residual()
  local values = g:outputs()
  g:output("flat", g:reshape(values[1], { to = { 4, 36 } }))
  g:output("x", g:inputs()[1])
  g:output("place", g:arg_max(g:reshape(values[1], { to = { 144 } })))
  -- Its kernel asks for memory: the image with a border, or in blocks.
  local large = g:tile(values[1], { times = { 1, 1, 12, 12 } })
  g:output("wide", g:conv2d_nchw(large, weight(g, 4, 4, 3, 3), { pad = 1 }))
  local m = ts.model(g, { seed = 1 })
  local want = table.pack(m:run { quarters { 1, 4, 6, 6 } })
  local folder = os.tmpname()
  os.remove(folder)
  local function sh(text)
    return os.execute(("cd '%s' && %s"):format(folder, text))
  end
  assert(os.execute("mkdir " .. folder))
  m:save(folder .. "/model.so")
  local source = here .. "../../examples/run_model.c"
  if source:sub(1, 1) ~= "/" then source = "\"$OLDPWD\"/" .. source end
  assert(sh(("cc -std=c17 -Wall -Wextra -Werror -I. %s ./model.so " ..
             "-o run && ./run > sums && ! ldd ./run | grep -q tessera")
            :format(source)))
  local i, names = 0, { "y", "flat", "x", "place", "wide" }
  for line in io.lines(folder .. "/sums") do
    i = i + 1
    local name, got = line:match "^(%S+) (%S+)$"
    assert(name == names[i], line)
    assert(math.abs(tonumber(got) - sum(want[i])) < 1e-4 * sum(want[i]), line)
  end
  assert(i == 5)
  -- Several threads at once, under TSan, and without any memory but theirs.
  source = source:gsub("examples/run_model.c", "tests/data/model_threads.c")
  assert(sh(("cc -std=c17 -g -fsanitize=thread -Wall -Wextra -Werror -I. %s " ..
             "./model.so -lpthread -o threads && ./threads"):format(source)))
  local ok, e = pcall(m.save, m, folder .. "/model.o")
  assert(not ok and e.message:find("NAME.so", 1, true))
  os.execute("rm -r " .. folder)
end)

check.case("the command prints what a file becomes", function()
  local f = io.popen(("'%s' model '%s../data/onnx/parts.onnx' --passes " ..
                      "--shape x=1x3x4x4"):format(arg[-1], here))
  local text = f:read "a"
  assert(f:close())
  assert(text:find("-- 1\n  %4 = conv2d_nchw(x, w, b, ", 1, true), text)
  assert(text:find("output y = ", 1, true), text)
end)

-- What the command prints, and whether it ended well.
local function run_command(text)
  local f = io.popen(("'%s' model '%s../data/onnx/beside.onnx' %s 2>&1")
                     :format(arg[-1], here, text))
  local said = f:read "a"
  return said, f:close()
end

check.case("the command writes drawings and trace events", function()
  local path = os.tmpname()
  local has_dot = os.execute "command -v dot >/dev/null 2>&1"
  local text, ok = run_command("--passes --dot " .. path .. ".svg")
  assert((ok or false) == (has_dot or false), text)
  assert(has_dot or text:find("`dot`, of Graphviz, did not draw it", 1, true))
  text, ok = run_command("--trace-event " .. path)
  assert(ok, text)
  local f <close> = io.open(path)
  local event = f:read "a"
  assert(event:find('"name": "matmul_1", "ph": "X"', 1, true), event)
  os.remove(path)
  os.remove(path .. ".svg")
end)

check.case("a database that is not there is told", function()
  local text, ok = run_command "--db none.db"
  assert(not ok and text == "tessera: none.db: No such file or directory\n",
         text)
end)
