-- SPDX-License-Identifier: Apache-2.0
-- What is described and no longer in use is forgotten, while what is in use,
-- and all that this needs, stays as it was.
local ts, ops = require "tessera", require "tessera.ops"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

local n = ts.size "n"
local A = ts.placeholder("A", { n, 16 })
local k = ts.reduce_axis("k", 16)
local half = A(3, k) * 0.5
local W = ts.constant("W", ts.tensor("float32", { 16 }, "integers", 3))
local b = ts.builder "b"
local X, Y = b:input("X", { 16 }), b:output("Y", { 16 })
b:loop("i", 0, 16, function(i)
  b:block("y", { { "v", extent = 16, bind = i } }, function(v)
    b:store(Y, { v }, X(v) + W(v))
    b:evaluate(ts.call_extern("tell", "int32", v))
  end)
end)

local function program()
  local B = ts.compute("B", { n }, function(i)
    return ts.sum(A(i, k) * W(k) + half, k)
  end)
  local C = ts.compute("C", { n }, function(i) return B(i) * 2 + 1 end)
  return ts.program("p", { A }, { C }), B, C
end

-- The memory of this process, in MB.
local function resident()
  local file <close> = assert(io.open "/proc/self/status")
  return file:read "a":match "VmRSS:%s+(%d+)" / 1024
end

local first, kept, early = tostring((program())), {}, nil
for i = 1, 3000 do
  local p, B, C = program()
  if i % 10 == 0 then ops.matmul { m = 8, n = 8, k = 8 } end
  if i % 100 == 0 then
    kept[#kept + 1] = { p, B, C }
    assert(tostring(p) == first)
  end
  if i == 1000 then early = resident() end
end
-- 2,000 programs of 20 kB each, and more where tables grew with them.
assert(checks.checked or resident() < early + 60, resident() - early)

for _, t in ipairs(kept) do
  local p, B, C = table.unpack(t)
  assert(tostring(p) == first and p:verify())
  assert(tostring(ts.program("p", { A }, { C })) == first)
  assert(ts.program("q", { A }, { B }):verify())
end
local said = tostring(b:program())
assert(said:find("Y[v] = X[v] + W[v]", 1, true) and said:find "tell", said)

-- A reducer's function may describe what it likes.
for i = 1, 3 do
  local red = ts.reducer(function(x, y)
    for _ = 1, 9000 do ts.placeholder("P", { 8 }) end
    return ts.max(x, y)
  end, -1 / 0)
  local M = ts.compute("M", { 4 }, function(x) return red(A(x, k), k) end)
  assert(tostring(ts.program("m" .. i, { A }, { M })):find "max%(M%[vx%]")
end
