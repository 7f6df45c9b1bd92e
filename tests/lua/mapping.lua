-- SPDX-License-Identifier: Apache-2.0
-- Mapping of blocks to tensor intrinsics: which iters correspond, with copies
-- and padding.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local fails = checks.fails
local ops = require "tessera.ops"
local tensor = require "tessera.tensor"

-- As it is mapped: "1,2 | 4 | 3; rest 5".
local function text(m)
  local list = {}
  for i, g in ipairs(m.groups) do list[i] = table.concat(g, ",") end
  return table.concat(list, " | ") .. "; rest " .. table.concat(m.rest, ",")
end

-- Fitted, tensorized, equal to what it was, compiled and replayed.
local function fits(p, name, block, mapping, match)
  local sch = ts.schedule(p)
  local b = sch:get_block(block)
  local m = assert(tensor.mapping(sch, b, name))
  assert(text(m) == mapping, text(m))
  local ok, why = tensor.auto(sch, b, name)
  assert(ok, why)
  checks.same(sch, p)
  local now = tostring(sch:program())
  assert(now:find(match, 1, true), now)
  ts.build(sch, "llvm")
  return sch
end

-- A product whose extents are multiples, and one whose are not.
local mma = tensor.mma{ m = 4, n = 8, k = 4 }
fits(ops.matmul{ m = 16, n = 16, k = 8 }, mma, "C", "1 | 2 | 3; rest ",
     "match A_m: float32[4, 4] = A[")
local sch = fits(ops.matmul{ m = 15, n = 17, k = 10 }, mma, "C",
                 "1 | 2 | 3; rest ", "match A_pad_m: float32[4, 4] = A_pad[")
do
  local p = ops.matmul{ m = 15, n = 17, k = 10 }
  checks.exact(sch, p, checks.arguments(p, "integers"))
end

-- A convolution: several iters are one, and the rest stays outside.
fits(ops.conv2d_nhwc{ n = 1, h = 6, w = 6, ci = 3, co = 5, k = 3 }, mma,
     "conv", "2,3 | 4 | 5,6,7; rest 1", "select(v1 < 27, X[0, ")

-- The operands the other way round, one of them transposed, and a batch.
do
  local A = ts.placeholder("A", { 3, 6, 9 })
  local B = ts.placeholder("B", { 3, 10, 9 })
  local k = ts.reduce_axis("k", 9)
  local C = ts.compute("C", { 3, 6, 10 }, function(b, i, j)
    return ts.sum(B(b, j, k) * A(b, i, k), k)
  end)
  fits(ts.program("batch", { A, B }, { C }), mma, "C", "2 | 3 | 4; rest 1",
       "match ")
end

-- Bytes.
do
  local A = ts.placeholder("A", { 5, 10 }, "uint8")
  local B = ts.placeholder("B", { 20, 10 }, "int8")
  local k = ts.reduce_axis("k", 10)
  local C = ts.compute("C", { 5, 20 }, function(i, j)
    return ts.sum(ts.cast(A(i, k), "int32") * ts.cast(B(j, k), "int32"), k)
  end)
  fits(ts.program("bytes", { A, B }, { C }), tensor.dot_16x4(), "C",
       "2 | 3; rest 1", "match ")
end

-- What does not fit says why, and nothing has happened.
local function differs(p, block, what)
  local s = ts.schedule(p)
  local b, n = s:get_block(block), #s:trace()
  local ok, why = tensor.auto(s, b, mma)
  assert(not ok and why:find(what, 1, true), why)
  assert(#s:trace() == n)
end
do
  local A = ts.placeholder("A", { 8, 8 })
  local k = ts.reduce_axis("k", 8)
  differs(ts.program("sums", { A }, { ts.compute("C", { 8 }, function(i)
    return ts.sum(A(i, k), k)
  end) }), "C", "another number of buffers")
  local B = ts.placeholder("B", { 8, 8 }, "float64")
  local D = ts.placeholder("D", { 8, 8 }, "float64")
  differs(ts.program("wide", { B, D }, { ts.compute("C", { 8, 8 },
    function(i, j) return ts.sum(B(i, k) * D(k, j), k) end) }), "C",
    "a buffer has another type")
  local E = ts.placeholder("E", { 8, 8 })
  differs(ts.program("squares", { A, E }, { ts.compute("C", { 8 },
    function(i) return ts.sum(A(i, k) * E(i, k), k) end) }), "C",
    "no iter stands for")
  local s = ts.schedule(ops.matmul{ m = 8, n = 8, k = 8 })
  local e = fails("INVALID", "give the description", function()
    tensor.mapping(s, nil, "unknown")
  end)
  assert(e.place:find "mapping.lua:", e.place)
end

-- Searched, with open choices around the tiles.
do
  local r = ts.tune(ops.matmul{ m = 30, n = 33, k = 18 }, {
    target = "llvm", trials = 3, seed = 1, strategy = "replay",
    cost_model = "random",
    space = function(s)
      local c = s:get_block("C")
      local first = assert(tensor.fit(s, c, mma))
      local i, j, k = s:get_loops(c)
      local i0, i1 = s:split(i, { s:sample_perfect_tile(i, { n = 2 }) })
      s:decompose_reduction(c, k)
      s:tensorize(first, mma)
      s:parallel(i0)
    end })
  assert(r.failed == 0 and r.latency > 0)
end
