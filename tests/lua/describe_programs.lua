-- SPDX-License-Identifier: Apache-2.0
-- Descriptions as wholes: what programs say of themselves, errors that name the
-- line that is wrong, and how many dimensions and buffers there may be.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local fails = checks.fails

-- Programs say what they are.
do
  local ops = require "tessera.ops"
  local p = ops.matmul { m = 4, n = 5, k = 6 }
  local q = ops.matmul { m = 4, n = 5, k = 6 }
  assert(p:flops() == 2 * 4 * 5 * 6)
  assert(p:hash() == q:hash() and p:equal(q) and p:verify())
  assert(p:hash() ~= ops.matmul { m = 5, n = 5, k = 6 }:hash())
  assert(p:name() == "matmul" and tostring(p):find("block C", 1, true))
  local d = p:params()[2]
  assert(d.name == "B" and d.role == "input" and d.shape[1] == 6 and
         d.shape[2] == 5)
  local roles = {}
  for i, x in ipairs(ops.triangular_solve { n = 2, m = 1 }:params()) do
    roles[i] = x.role
  end
  assert(table.concat(roles, " ") == "input inout")
  local path = os.tmpname()
  p:save(path)
  assert(ts.load_program(path):equal(p))
  os.remove(path)
  assert(ops.matmul { m = 4, n = 4, k = 4, bias = true, relu = true }:verify())
  assert(ops.conv2d_nhwc { n = 1, h = 6, w = 6, ci = 2, co = 3, k = 3,
                           pad = 1 }:verify())
end

-- A tensor without dimensions has one element.
do
  local x = ts.tensor("float32", {}, 0.5)
  assert(#x == 1 and #x:shape() == 0 and x:get() == 0.5)
  assert(ts.tensor("int64", {}, math.maxinteger):get() == math.maxinteger)
  assert(ts.tensor("bool", {}, true):get() == 1)
  assert(ts.tensor("float32", {}):get() == 0)
  local A = ts.placeholder("A", {})
  local p = ts.program("p", { A }, {
    ts.compute("B", {}, function() return A() + 1 end) })
  local b = ts.tensor("float32", {})
  ts.interpret(p, { x, b })
  assert(b:get() == 1.5)
end

-- What is no name, and prints itself in many lines, is reported by its type.
do
  local p = require "tessera.ops".matmul { m = 4, n = 4, k = 4 }
  local lines = setmetatable({}, {
    __tostring = function() return "one\ntwo" end })
  local b, A = ts.builder("b"), ts.placeholder("A", { 4 })
  local function body() end
  local function told(text, f, ...)
    local e = fails(nil, text, f, ...)
    assert(not e.message:find("\n", 1, true), e.message)
  end
  for _, x in ipairs { p, lines } do
    local is = "must be a string, not " .. type(x)
    told("the name of a compute " .. is, ts.compute, x)
    told("the name of a compute " .. is, ts.compute, x, { 4 }, body)
    told("the name of a loop " .. is, b.loop, b, x)
    told("the name of a loop " .. is, b.loop, b, x, 0, 4, body)
    told("the name of a block " .. is, b.block, b, x)
    told("the name of a block " .. is, b.block, b, x, {}, body)
    told("the name of an iteration " .. is, b.block, b, "s",
         { { x, extent = 4, bind = 0 } }, body)
    told("the kind of an iteration " .. is, b.block, b, "s",
         { { "v", x, extent = 4, bind = 0 } }, body)
    told("the name of a let " .. is, b.let, b, x, 1)
    told("the name of a builder " .. is, ts.builder, x)
    told("the name " .. is, ts.placeholder, x, { 4 })
    told("the name " .. is, ts.program, x, { A }, { A })
    -- Nor where a word is expected of which there are a few.
    local what = x == p and "a program" or "a table"
    told("unknown option a " .. type(x) .. " of ts.placeholder",
         ts.placeholder, "A", { 4 }, { [x] = 1 })
    told("unknown option " .. what .. " of ops.matmul",
         require "tessera.ops".matmul, { [x] = 1 })
    told("there is no field " .. what, ts.module,
         { name = "n", apply = body, [x] = 1 })
    local tiling = require "tessera.modules.multi_level_tiling"
    told("has no parameter " .. what, tiling, { [x] = 1 })
    told("parameter 'structure' is " .. what .. ": ", tiling, { structure = x })
    told("parameter 'serial_below' is " .. what .. ": ",
         require "tessera.modules.parallel_vectorize_unroll",
         { serial_below = x })
    local tensor = require "tessera.tensor"
    told("there is no intrinsic " .. what, tensor.wmma, x)
    told("the tensor intrinsic " .. what, tensor.mapping, ts.schedule(p),
         ts.schedule(p):get_block "C", x)
  end
end

-- What is wrong is an error with a code, and names the line that is wrong.
do
  local A = ts.placeholder("A", { 4 })
  fails("TYPE", "compare", function() return A(0) < 1 end)
  fails("TYPE", "float33", ts.placeholder, "X", { 4 }, "float33")
  fails("TYPE", "an expression or a number is expected, not string",
        ts.placeholder, "X", { "x" })
  fails("TYPE", "must be a table, not number", ts.placeholder, "X", 7)
  fails("TYPE", "the name must be a string, not table", ts.placeholder, {})
  fails("TYPE", "a data type must be a string", ts.placeholder, "X", { 4 }, 7)
  fails("TYPE", "is expected, not string", ts.compute, "C", { 4 },
        function() return "x" end)
  fails("TYPE", "is expected, not table", ts.exp, {})
  fails("TYPE", "a list of parameters must be a table", ts.program, "p", A, A)
  fails("TYPE", "an element must be a number, not string", ts.tensor,
        "float32", { 1 }, { "x" })
  fails("TYPE", "a number fills a tensor without dimensions, and this one " ..
        "has 2", ts.tensor, "float32", { 4, 1 }, 5)
  fails("TYPE", "without dimensions is filled with a number, not with a table",
        ts.tensor, "float32", {}, { 5 })
  fails("TYPE", "element is 300, which is not a value of uint8", ts.tensor,
        "uint8", {}, 300)
  local e = fails("INVALID", "index", function() return A(0, 0) end)
  assert(tostring(e):find("describe_programs.lua:%d+: ") and
         tostring(e):find("tests/lua", 1, true), tostring(e))
  local matmul = require "tessera.ops".matmul
  e = fails("INVALID", "ops.matmul: 'm' is the number 0, not an integer " ..
            "from 1 on", function() matmul { m = 0, n = 1, k = 1 } end)
  assert(e.message and e.place:find("describe_programs.lua:", 1, true), e.place)
  fails("INVALID", "ops.matmul: A is missing; it takes A, B", matmul)
  fails("INVALID", "ops.matmul: 'n' is missing, not an integer", matmul,
        { m = 1, k = 1 })
  fails("INVALID", "'bias' is the number 1, not a boolean", matmul,
        { m = 1, n = 1, k = 1, bias = 1 })
  fails("INVALID", "unknown option 'bais' of ops.matmul, which has m, n, k, " ..
        "dtype, acc, out, trans_a, trans_b, bias, act, relu", matmul,
        { m = 1, bais = true })
  local conv = require "tessera.ops".conv2d_nhwc
  local function window(stride, pad)
    return { n = 1, h = 2, w = 2, ci = 1, co = 1, k = 3, stride = stride,
             pad = pad }
  end
  fails("INVALID", "the window is larger than the padded input", conv, window())
  fails("INVALID", "'stride' is the number 0, not an integer from 1", conv,
        window(0))
  fails("INVALID", '\'stride\' is "1", not an integer', conv, window("1"))
  fails("INVALID", "'pad' is the number -1, not an integer from 0", conv,
        window(1, -1))
  assert(conv(window(2, 1)):verify())
  local tensor = require "tessera.tensor"
  fails("INVALID", "there is no intrinsic 'none'", tensor.wmma, "none")
  fails("INVALID", "tensor.mma takes one table, not a nil", tensor.mma)
  fails("INVALID", "'n' is missing, not an integer", tensor.mma, { k = 4 })
  fails("INVALID", "'m' is the number 0, not an integer", tensor.mma,
        { m = 0, n = 4, k = 4 })
  fails("INVALID", "unknown option 'dtpye' of tensor.mma", tensor.mma,
        { n = 4, k = 4, dtpye = "int8" })
  fails("NOT_FOUND", "there is no backend 'vulkan'; there is llvm, cuda",
        ts.space.default, "vulkan")
  fails("TYPE", "a target must be a string, not number", ts.space.default, 7)
  fails("TYPE", "a target is expected, not a program", ts.space.default,
        matmul { m = 2, n = 2, k = 2 })
  local p = matmul { m = 2, n = 2, k = 2 }
  fails("TYPE", "is expected, not nil", ts.equivalent, p)
  fails("TYPE", "is expected, not nil", ts.equivalent, ts.schedule(p))
  local block = ts.schedule(p):get_block "C"
  fails("TYPE", "a program or schedule is expected, not a block, loop or "
        .. "value of a schedule", ts.interpret, block, {})
  -- Operands that are missing, or are none, are seen wherever they stand.
  fails("TYPE", "is expected, not nil", ts.max, 1, nil, 3)
  fails("TYPE", "is expected, not nil", ts.all)
  fails("TYPE", "is expected, not string", ts.min, "x")
  fails("TYPE", "'and' does not work on int64", ts.all, 1)
  assert(ts.max(3) == 3)
  fails("INVALID", "there is no output", ts.program, "empty", {}, {})
  fails("TYPE", "a program is expected, not a schedule", ts.schedule,
        ts.schedule(p))
  fails("TYPE", "a target is expected, not a number", ts.schedule, p,
        { target = 7 })
end

-- As many dimensions as there can be: they print, and so does what has them.
do
  local shape, names = {}, {}
  for i = 1, 16 do shape[i], names[i] = i % 3 == 0 and 2 or 1, "1" end
  for i = 3, 16, 3 do names[i] = "2" end
  local A = ts.placeholder("A", shape)
  local B = ts.compute("B", shape, function(...) return A(...) * 2 end)
  local text = "float32[" .. table.concat(names, ", ") .. "]"
  assert(tostring(A) == "A: " .. text and #A.shape == 16)
  assert(tostring(B) == "B: " .. text and B.shape[15] == 2)
  local p = ts.program("deep", { A }, { B })
  assert(tostring(p):find(text, 1, true))
  for i, q in ipairs(p:params()) do
    assert(q.name == (i == 1 and "A" or "B") and #q.shape == 16)
    for d = 1, 16 do assert(q.shape[d] == shape[d]) end
  end
  local x = ts.tensor("float32", shape, "integers", 1)
  local y, z = ts.tensor("float32", shape), ts.tensor("float32", shape)
  ts.build(p, "llvm")(x, y)
  ts.interpret(p, { x, z })
  assert(y:compare(z) == 0)
  shape[17] = 1
  fails("LIMIT", "at most 16", ts.placeholder, "A", shape)
end

-- Indices of fewer bits than int64 are cast to it; uint64 may not fit.
for _, t in ipairs { "int8", "uint8", "int16", "uint16", "int32", "uint32" } do
  local I, A = ts.placeholder("I", { 4 }, t), ts.placeholder("A", { 8 })
  local p = ts.program("gather", { I, A }, {
    ts.compute("B", { 4 }, function(i) return A(I(i)) end) })
  assert(tostring(p):find("B[vi] = A[int64(I[vi])]", 1, true), p)
  local i, a = ts.tensor(t, { 4 }, { 7, 0, 3, 3 }),
               ts.tensor("float32", { 8 }, { 10, 11, 12, 13, 14, 15, 16, 17 })
  local x, y = ts.tensor("float32", { 4 }), ts.tensor("float32", { 4 })
  ts.build(p, "llvm")(i, a, x)
  ts.interpret(p, { i, a, y })
  for k, want in ipairs { 17, 10, 13, 13 } do
    assert(x:get(k - 1) == want and y:get(k - 1) == want)
  end
end
do
  local U, A = ts.placeholder("U", { 4 }, "uint64"), ts.placeholder("A", { 8 })
  fails("TYPE", "index 0 of 'A' is uint64, not int64", ts.compute, "B", { 4 },
        function(i) return A(U(i)) end)
  fails("TYPE", "index 0 of 'A' is float32, not int64", ts.compute, "B", { 4 },
        function(i) return A(A(i)) end)
  assert(tostring(ts.placeholder("C", { ts.const(4, "uint8") })) ==
         "C: float32[4]")
end

-- As many buffers as a block can read, and one more.
do
  local function total(n)
    local A = {}
    for k = 1, n do A[k] = ts.placeholder("A" .. k, { 4 }) end
    return ts.compute("total", { 4 }, function(i)
      local sum = A[1](i)
      for k = 2, n do sum = sum + A[k](i) end
      return sum
    end)
  end
  assert(tostring(total(256)) == "total: float32[4]")
  fails("LIMIT", "reads or writes more than 256 buffers (block 'total')",
        total, 257)
end
