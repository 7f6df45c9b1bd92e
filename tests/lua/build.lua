-- SPDX-License-Identifier: Apache-2.0
-- Tensors, targets, kernels and the interpreter from Lua.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local fails = checks.fails
local ops = require "tessera.ops"

-- Tensors: every way to make one.
do
  local z = ts.tensor("float32", { 2, 3 })
  assert(#z == 6 and z:get(1, 2) == 0 and z:dtype() == "float32")
  assert(table.concat(z:shape(), " ") == "2 3")
  assert(ts.tensor("float32", { 2 }, "zeros"):get(0) == 0)
  local r = ts.tensor("float32", { 64 }, "random", 1)
  local same = ts.tensor("float32", { 64 }, "random", 1)
  local abs, rel = r:compare(same)
  assert(abs == 0 and rel == 0)
  assert(r:compare(ts.tensor("float32", { 64 }, "random", 2)) > 0)
  for i = 0, 63 do assert(r:get(i) >= 0 and r:get(i) < 1) end
  local n = ts.tensor("float32", { 8 }, "integers", 1)
  for i = 0, 7 do assert(n:get(i) == math.floor(n:get(i))) end
  local t = ts.tensor("int32", { { 1, 2 }, { 3, 4 } })
  assert(math.type(t:get(1, 0)) == "integer" and t:get(1, 0) == 3)
  local u = ts.tensor("int32", { 2, 2 }, { { 1, 2 }, { 3, 4 } })
  assert(u:compare(t) == 0)
  u:set(0, 1, 9)
  assert(u:get(0, 1) == 9)
  u:copy_from(t)
  assert(u:get(0, 1) == 2 and tostring(u):find("int32", 1, true))
  fails("BOUNDS", "outside", t.get, t, 2, 0)
  fails("INVALID", "dimension", ts.tensor, "int32", { { 1, 2 }, { 3 } })
  fails(nil, "somehow", ts.tensor, "int32", { 2 }, "somehow")
  fails("TYPE", "float33", ts.tensor, "float33", { 2 })
end

-- .npy files, both ways.
do
  local path = os.tmpname() .. ".npy"
  local t = ts.tensor("float64", { 3, 4 }, "random", 5)
  t:save(path)
  local u = ts.tensor(path)
  assert(u:dtype() == "float64" and u:compare(t) == 0)
  assert(ts.tensor("float64", { 3, 4 }, path):compare(t) == 0)
  local f = assert(io.open(path, "wb"))
  f:write("no such thing")
  f:close()
  fails(nil, path, ts.tensor, path)
  os.remove(path)
  fails(nil, path, ts.tensor, path)
end

-- Targets.
do
  local t = ts.target "llvm -mcpu=znver3 -num-cores=2"
  assert(tostring(t):find("znver3", 1, true) and t:get "num-cores" == 2)
  fails(nil, "there is no field 'nothing'", t.get, t, "nothing")
  assert(tostring(ts.target "llvm"):find("-mcpu=", 1, true))
  fails(nil, "abacus", ts.target, "abacus")
  fails(nil, "frob", ts.target, "llvm -frob=1")
end

-- Kernels: run, time, source; the interpreter agrees.
do
  local p = ops.matmul { m = 32, n = 32, k = 32, relu = true }
  local sch = ts.schedule(p, { seed = 1 })
  local i = sch:get_loops(sch:get_block("C"))
  sch:parallel(i)
  local a = ts.tensor("float32", { 32, 32 }, "integers", 1)
  local b = ts.tensor("float32", { 32, 32 }, "integers", 2)
  local c, d, e = ts.tensor("float32", { 32, 32 }),
                  ts.tensor("float32", { 32, 32 }),
                  ts.tensor("float32", { 32, 32 })
  local kernel = ts.build(sch, "llvm")
  kernel(a, b, c)
  ts.build(p)(a, b, d)
  ts.interpret(sch, { a, b, e })
  assert(c:compare(d) == 0 and c:compare(e) == 0)
  local time = kernel:time({ a, b, c }, { min_time = 0.01 })
  assert(time.median > 0 and time.min > 0 and time.min <= time.median and
         time.stddev >= 0 and time.repeats >= 1)
  assert(kernel:source "ir":find("define", 1, true))
  assert(kernel:source "asm":find("ret", 1, true))
  assert(kernel:source() == kernel:source "ir")
  fails(nil, "cobol", kernel.source, kernel, "cobol")
  fails(nil, "3", function() kernel(a, b) end)
  fails(nil, "float64", function()
    kernel(a, b, ts.tensor("float64", { 32, 32 }))
  end)
  fails(nil, "with 1", function()
    kernel(a, b, ts.tensor("float32", { 32 }))
  end)
  fails("TYPE", "tensor", kernel.time, kernel, { a, b, 7 })
end

-- Equivalence, and where two programs differ.
do
  local function chain(c)
    local A = ts.placeholder("A", { 8 })
    local B = ts.compute("B", { 8 }, function(i) return A(i) * c end)
    return ts.program("chain", { A }, { B })
  end
  assert(ts.equivalent(chain(2), chain(2)) == true)
  assert(ts.equivalent(chain(2), chain(2), { seed = 9 }) == true)
  local n = ts.size "n"
  local A, B = ts.placeholder("A", { 4, n }), ts.placeholder("B", { 4 })
  local later = ts.program("later", { A }, { ts.compute("C", { 4, n },
    function(i, j) return A(i, j) + 1 end) })
  local two = ts.program("two", { B }, { ts.compute("C", { 4 },
    function(i) return B(i) + 1 end) })
  local D = ts.placeholder("D", { 4 })
  local three = ts.program("three", { B, D }, { ts.compute("C", { 4 },
    function(i) return B(i) + D(i) end) })
  for _, case in ipairs {
    { later, later, "size 'n' of parameter 'A' is known only when the " ..
      "program is called: describe both programs with a number in its " ..
      "place, or interpret both with tensors" },
    { two, later, "size 'n' of parameter 'A' is known only when the " ..
      "program is called: describe both programs with a number in its " ..
      "place, or interpret both with tensors" },
    { two, three, "the programs have 2 and 3 parameters" } } do
    local e = fails("INVALID", case[3], ts.equivalent, case[1], case[2])
    assert(e.message == case[3], e)
  end
  local same, where = ts.equivalent(chain(2), chain(3))
  assert(same == false and where:find("B", 1, true), where)
end

-- With as many inputs as there can be.
do
  local A, x = {}, {}
  for k = 1, 64 do
    A[k] = ts.placeholder("A" .. k, { 2 })
    x[k] = ts.tensor("float32", { 2 }, { k, 1 })
  end
  local p = ts.program("total", A, { ts.compute("total", { 2 }, function(i)
    local sum = A[1](i)
    for k = 2, 64 do sum = sum + A[k](i) end
    return sum
  end) })
  local kernel = ts.build(p)
  for _, run in ipairs { function() kernel(table.unpack(x)) end,
                         function() ts.interpret(p, x) end,
                         function() kernel:time(x, { min_time = 1e-4 }) end } do
    x[65] = ts.tensor("float32", { 2 })
    run()
    assert(x[65]:get(0) == 2080 and x[65]:get(1) == 64)
  end
end

-- A thousand copies of a loop over a size: what LLVM knows behind each must
-- not grow from loop to loop, or its code generation does not come to an end.
do
  local n = ts.size "n"
  local A = ts.placeholder("A", { n })
  local B = ts.compute("B", { 1000, n }, function(i, j)
    return A((j + i) % n) + 1
  end)
  local sch = ts.schedule(ts.program("copies", { A }, { B }))
  local i = sch:get_loops(sch:get_block("B"))
  sch:unroll(i)
  local a, b = ts.tensor("float32", { 7 }), ts.tensor("float32", { 1000, 7 })
  for j = 0, 6 do a:set(j, 0.5 * j) end
  ts.build(sch)(a, b)
  for x = 0, 999 do
    for j = 0, 6 do assert(b:get(x, j) == 0.5 * ((j + x) % 7) + 1) end
  end
end
