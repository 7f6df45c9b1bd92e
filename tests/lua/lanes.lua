-- SPDX-License-Identifier: Apache-2.0
-- Vectors whose lanes diverge: compiled code agrees with the interpreter lane
-- by lane, around known errors of LLVM 19.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

-- f(A(i), B(i), i) over n elements of these, in vectors of `width`.
local function compare(a, b, width, f)
  local n, dtype = #a, a.dtype
  local A = ts.placeholder("A", { n }, dtype)
  local B = ts.placeholder("B", { n }, b.dtype)
  local p = ts.program("p", { A, B }, {
    ts.compute("C", { n }, function(i) return f(A(i), B(i), i) end) })
  local s = ts.schedule(p)
  local i = s:get_loops(s:get_block "C")
  local _, lanes = s:split(i, { ts.auto, width })
  s:vectorize(lanes)
  checks.exact(s, p, { ts.tensor(dtype, { n }, { table.unpack(a) }),
                       ts.tensor(b.dtype, { n }, { table.unpack(b) }),
                       ts.tensor(dtype, { n }) })
end

-- Divided by what a lane chooses: a divisor that is 0 in a lane where it is
-- not chosen says nothing of the others.
local numbers = { 100, 100, 100, 100, 100, 100, 100, 100 }
local signs = { 1, 1, 1, 1, 1, -1, 1, 1, dtype = "int8" }
for _, dtype in ipairs { "int8", "uint8", "int16", "int32", "int64" } do
  numbers.dtype = dtype
  local function own(b, i, otherwise)
    return ts.select(ts.gt(b, 0), ts.cast(i, dtype), otherwise)
  end
  for _, width in ipairs { 4, 8 } do
    for otherwise = 0, 1 do
      compare(numbers, signs, width,
              function(x, b, i) return x // own(b, i, otherwise) end)
      compare(numbers, signs, width,
              function(x, b, i) return x % own(b, i, otherwise) end)
    end
    compare(numbers, signs, width, function(x, b, i)
      return x // (ts.cast(i, dtype) // ts.cast(ts.gt(b, 0), dtype))
    end)
  end
end

-- Comparisons of which one holds only where another does, whose operands come
-- back from the stack: a remainder's sign is that of its divisor.
local divisors = { -6.25, -5, -4, -3, 3, 4, 5, 6.25, dtype = "float16" }
for _, width in ipairs { 2, 4, 8 } do
  compare(divisors, signs, width, function(x)
    return ts.const(2, "float16") % x
  end)
end

-- They are not compared as what they were, in vectors of float16.
do
  local A = ts.placeholder("A", { 32 }, "float16")
  local p = ts.program("p", { A }, {
    ts.compute("C", { 32 }, function(i)
      local x, y = A(i), A(31 - i)
      return ts.select(ts.all(ts.lt(x, y), ts.lt(y * x, x)), x + y, x)
    end) })
  local s = ts.schedule(p)
  s:vectorize((s:get_loops(s:get_block "C")))
  local known, kernel = pcall(ts.build, s, "llvm -mcpu=sapphirerapids")
  if known then                         -- on x86
    local asm = kernel:source "asm"
    assert(asm:find "vaddph" and asm:find "vcmp%l+ps", asm)
    assert(not asm:find "vcmp%l+ph", asm)
  end
end

-- Nor in single elements, of which LLVM makes others: the sign of a zero.
do
  local A = ts.placeholder("A", { 1 }, "float16")
  local B = ts.placeholder("B", { 8 }, "float16")
  local p = ts.program("p", { A, B }, {
    ts.compute("C", { 1, 8 }, function(i, j)
      local x, y = A(i), B(j)
      return ts.select(ts.any(ts.gt(x, y), ts.lt(x, 0)), ts.max(x, 0), y)
    end) })
  local s = ts.schedule(p)
  s:vectorize((select(2, s:get_loops(s:get_block "C"))))
  local a = ts.tensor("float16", { 1 }, { -0.0 })
  local b = ts.tensor("float16", { 8 }, { -1, -1, -1, -1, -1, -1, -1, -1 })
  local c = ts.tensor("float16", { 1, 8 })
  ts.build(s)(a, b, c)
  assert(1 / c:get(0, 0) == -math.huge)
end
