-- SPDX-License-Identifier: Apache-2.0
-- parallel_vectorize_unroll on loops that it may not change: the rest is done,
-- without a warning.
local ts = require "tessera"
local ops = require "tessera.ops"
local searching = dofile((arg[0]:gsub("[^/]*$", "../support/searching.lua")))
local steps, drawn = searching.steps, searching.drawn
local unrolling = require "tessera.modules.parallel_vectorize_unroll"

local warned = {}
ts.on_warning(function(text) warned[#warned + 1] = text end)

-- Some hundred stores in a row; later ones read what earlier ones wrote.
do
  local A = ts.placeholder("A", { 4096 })
  local B = ts.compute("B", { 4096 }, function(i) return A(i) + 1 end)
  local C = ts.compute("C", { 4096 }, function(i) return B(4095 - i) * 2 end)
  local p = ts.program("long", { A }, { B, C })
  local sch = ts.schedule(p)
  for _, name in ipairs { "B", "C" } do
    local i = sch:get_loops(sch:get_block(name))
    local outer, inner = sch:split(i, { ts.auto, 16 })
    sch:vectorize(inner)
    sch:unroll(outer)
  end
  local a = ts.tensor("float32", { 4096 }, "integers")
  local b, c = ts.tensor("float32", { 4096 }), ts.tensor("float32", { 4096 })
  local kernel = ts.build(sch)
  kernel(a, b, c)
  for i = 0, 4095 do
    assert(b:get(i) == a:get(i) + 1 and
           c:get(i) == 2 * (a:get(4095 - i) + 1), i)
  end
  -- They are barriers to the compiler, and no instructions.
  local n = select(2, kernel:source("asm"):gsub("#APP", ""))
  assert(n >= 4, n)
end

-- A loop around several blocks that cannot be parallel: it is unrolled as one
-- draw says, and not split.
do
  local X = ts.placeholder("X", { 16 })
  local C = ts.compute("C", { 16 }, function(i) return X(i) * 2 end)
  local D = ts.compute("D", { 15 }, function(i) return C(i) + C(i + 1) end)
  local p = ts.program("p", { X }, { D })
  local sliding = searching.module("sliding", function(sch, block)
    if sch:block_info(block).name ~= "D" then return nil, "not D" end
    local i = sch:get_loops(sch:get_block("C"))
    sch:reverse_compute_at(block, i)
    return sch
  end)
  local t = drawn(p, 1, { sliding {}, unrolling {} })[1]
  assert(steps(t, "sample_categorical") == 1 and steps(t, "parallel") == 0)

  local b = ts.builder "neighbours"
  local A, T = b:input("A", { 64 }), b:buffer("T", { 65 }, "float32")
  local D = b:output("D", { 64 })
  b:loop("i", 0, 64, function(i)
    b:block("T", { { "v", extent = 64, bind = i } }, function(v)
      b:store(T, { v + 1 }, A(v))
    end)
    b:block("D", { { "v", extent = 64, bind = i } }, function(v)
      b:store(D, { v }, T(ts.max(v, 1)) + T(v + 1))
    end)
  end)
  t = drawn(b:program(), 1, { unrolling {} })[1]
  assert(steps(t, "sample_categorical") == 1 and steps(t, "split") == 0)
end

-- Where the reduction begins does not hang on the tile sizes of one draw.
do
  local p = ops.conv2d_nhwc { n = 1, h = 9, w = 9, ci = 3, co = 8, k = 3,
                              pad = 1, stride = 2, bias = true, relu = true }
  for _, t in ipairs(ts.space.sketches(ts.space.default "llvm", p, "llvm")) do
    for seed = 1, 8 do t:replay(p, { resample = true, seed = seed }) end
  end
end

collectgarbage()
ts.on_warning(nil)
assert(#warned == 0, warned[1])

-- ---- the size of code ------------------------------------------------------

-- Stores of the program after unrolling, and its text.
local function unrolled(f, rows, lanes, max, change)
  local A = ts.placeholder("A", { rows, lanes })
  local p = ts.program("p", { A }, { ts.compute("B", { rows, lanes },
    function(i, j) return f(A(i, j)) end) })
  local s = ts.schedule(p)
  local i, j = s:get_loops(s:get_block "B")
  s:vectorize(j)
  if change then i = change(s, i) or i end
  s:annotate(i, "pragma_auto_unroll_max_step", max)
  local text = tostring(ts.lower(s, { after = "unroll" }))
  local _, stores = text:gsub("B%[ramp%([^,]*, 1, %d+%)%] =", "")
  return stores, text
end

do
  local function copy(x) return x end
  local function twice(x) return x + x end
  local function asked(s, i) s:unroll(i) end
  assert(unrolled(twice, 128, 4, 512) == 128)
  assert(unrolled(twice, 512, 4, 512) == 1)   -- is as fast, and takes LLVM less
  assert(unrolled(copy, 64, 4, 512) == 64)
  assert(unrolled(copy, 128, 4, 512) == 1)
  assert(unrolled(function() return 0.0 end, 128, 4, 512) == 128)
  assert(unrolled(function() return 0.0 end, 256, 4, 512) == 1)
  assert(unrolled(copy, 16, 32, 512) == 16)   -- few are whatever they are
  assert(unrolled(ts.exp, 128, 4, 512) == 1)  -- tens of instructions each
  assert(unrolled(ts.exp, 128, 4, 8) == 1)
  assert(unrolled(twice, 512, 4, 0, asked) == 512)
  assert(unrolled(ts.exp, 512, 256, 0, asked) < 512)
  -- What a device's thread has in registers needs constant indices.
  local function bound(s, i)
    local outer, inner = s:split(i, { 2, ts.auto })
    s:bind(outer, "threadIdx.x")
    return inner
  end
  assert(unrolled(twice, 1024, 4, 512, bound) == 512)
end
