-- SPDX-License-Identifier: Apache-2.0
-- Products of padding that lowering leaves out: which terms of the condition
-- become guards, which are decided by unrolling, and what is left alone.
local ts = require "tessera"
local ops = require "tessera.ops"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

local function conv()
  return ops.conv2d_nhwc { n = 1, h = 5, w = 4, ci = 6, co = 8, k = 3, pad = 1 }
end

-- The sum with its padding folded in, and its loops n, h, w, co, kh, kw, ci in
-- that order of numbers, behind one over tiles of w where that is cut.
local function folded(p, order, marked, cut)
  local s = ts.schedule(p)
  local b = s:get_block "conv"
  s:compute_inline(s:get_block "padded")
  if marked then s:annotate(b, "skip_zeros", 1) end
  local loops = { s:get_loops(b) }
  local named = {}
  for i, n in ipairs(order) do named[i] = loops[n] end
  if cut then
    local outer, inner = s:split(loops[3], { ts.auto, cut })
    s:reorder(outer, loops[2])
    s:parallel(outer)
    named[5] = inner
  end
  s:reorder(named)
  s:decompose_reduction(b, named[2])
  return s, loops
end

local function lowered(s)
  checks.same(s, conv())
  return tostring(ts.lower(s, { after = "scalar_replacement" }))
end

local function count(text, what)
  return select(2, text:gsub(what, ""))
end

-- Rows outside of the reduction, columns inside: the first are guarded, the
-- second there or not in the copies of kw and w, 3 * 4 - 2 of them.
local rows_outside = { 2, 5, 6, 7, 3, 4 }
checks.case("a row of the image in a tile", function()
  local s, loops = folded(conv(), rows_outside, true)
  s:vectorize(loops[4])
  local text = lowered(s)
  assert(not text:find "select", text)
  assert(count(text, "if 1 <= h") == 1 and count(text, "for ci") == 3, text)
  assert(count(text, "%* W%[") == 10, text)
end)

checks.case("it is not asked for", function()
  local s, loops = folded(conv(), rows_outside, false)
  s:vectorize(loops[4])
  assert(count(lowered(s), "select") > 0)
end)

-- A tile of half a row, by a loop outside that is in parallel: which columns
-- there are is not known, so that term stays a choice.
checks.case("a part of a row in a tile", function()
  local s, loops = folded(conv(), rows_outside, true, 2)
  s:vectorize(loops[4])
  local text = lowered(s)
  assert(text:find "select" and count(text, "if 1 <= h") == 1, text)
end)

-- All of the image outside: both are guards around the loop over channels.
checks.case("pixels outside", function()
  local s = folded(conv(), { 2, 3, 5, 6, 7, 4 }, true)
  local text = lowered(s)
  assert(not text:find "select" and text:find "if 1 <= w", text)
end)

-- ---- padding that is a copy ------------------------------------------------

-- The sum with tiles of two columns outside, in parallel, and rows inside of
-- these; `change` does something to the copy before.
local function copied(change)
  local s = ts.schedule(conv())
  local b = s:get_block "conv"
  s:annotate(b, "skip_zeros", 1)
  local loops = { s:get_loops(b) }
  local outer, inner = s:split(loops[3], { ts.auto, 2 })
  s:reorder(outer, loops[2], loops[5], loops[6], loops[7], inner, loops[4])
  s:vectorize(loops[4])
  if change then change(s, s:get_block "padded", outer) end
  s:parallel(outer)
  s:decompose_reduction(b, loops[5])
  return lowered(s)
end

-- Rows that meet none of the image are left out, columns are multiplied.
checks.case("a copy", function()
  local text = copied()
  assert(count(text, "if 1 <= h") == 1 and not text:find "if [^\n]*w", text)
end)

checks.case("a copy for a tile", function()
  local text = copied(function(s, padded, outer)
    s:compute_at(padded, outer)
  end)
  assert(count(text, "if 1 <= h") == 1, text)
end)

checks.case("a copy by two stores", function()
  local text = copied(function(s, padded)
    s:decompose_padding(padded, (s:get_loops(padded)))
  end)
  assert(not text:find "if 1 <= h", text)
end)

-- ---- what is left alone ----------------------------------------------------

local function reduced(name, value, reducer, mark)
  local A = ts.placeholder("A", { 8 })
  local B = ts.placeholder("B", { 4, 8 })
  local k = ts.reduce_axis("k", 8)
  local C = ts.compute("C", { 4 }, function(i)
    return reducer(value(A, B, i, k), k)
  end)
  local p = ts.program(name, { A, B }, { C })
  local s = ts.schedule(p)
  if mark == nil then mark = 1 end
  s:annotate(s:get_block "C", "skip_zeros", mark)
  checks.same(s, p)
  return tostring(ts.lower(s))
end

local function choice(otherwise)
  return function(A, B, i, k)
    return ts.select(ts.ge(k - i, 1), A(k - i), otherwise) * B(i, k)
  end
end

checks.case("other choices", function()
  assert(not reduced("zero", choice(0.0), ts.sum):find "select")
  assert(reduced("one", choice(1.0), ts.sum):find "select")
  assert(reduced("most", choice(0.0), ts.reduce_max):find "select")
end)

checks.case("copies with other borders", function()
  for value, guarded in pairs { [0.0] = true, [1.0] = false } do
    local function from_copy(A, B, i, k)
      local P = ts.compute("P", { 12 }, function(x)
        return ts.select(ts.ge(x, 4), A(x - 4), value)
      end)
      return P(k - i + 3) * B(i, k)
    end
    local text = reduced("copy" .. value, from_copy, ts.sum)
    assert((text:find "if i < k" ~= nil) == guarded, text)
  end
end)

checks.case("another value of the annotation", function()
  assert(not reduced("true", choice(0.0), ts.sum, true):find "select")
  for i, mark in ipairs { 0, 2, false, "no" } do
    local text = reduced("mark" .. i, choice(0.0), ts.sum, mark)
    assert(text:find "select", text)
  end
end)

-- ---- in spaces -------------------------------------------------------------

-- Convolutions are so, and where tiles have whole rows, and in depth, padding
-- is no copy.
checks.case("sketches", function()
  local target = "llvm -mcpu=skylake-avx512 -num-cores=2"
  local function count_of(p)
    local skipping, folded = 0, 0
    for _, t in ipairs(ts.space.default(target):sketches(p, target)) do
      local before = tostring(t):match "([^\n]*)\n[^\n]*skip_zeros"
      skipping = skipping + (before and 1 or 0)
      folded = folded + (before and before:find "compute_inline" and 1 or 0)
    end
    return skipping, folded
  end
  local function image(w)
    return ops.conv2d_nhwc { n = 1, h = 7, w = w, ci = 64, co = 64, k = 3,
                             pad = 1 }
  end
  -- Seven rows in nine are of the image, 224 in 226.
  local skipping, folded = count_of(image(56))
  assert(skipping > 0 and folded == 0)
  assert(count_of(ops.conv2d_nhwc { n = 1, h = 224, w = 224, ci = 3, co = 64,
                                    k = 3, pad = 1 }) == 0)
  assert(select(2, count_of(image(7))) > 0)
  -- More columns than tiles of two vectors have rows, as many as those of one,
  -- whose rows are unrolled whatever is drawn.
  assert(select(2, count_of(image(28))) > 0)
  local t = ts.space.default(target):sketches(image(28), target)[1]
  assert(tostring(t):find "sch:unroll{")
  local in_depth = ops.depthwise_conv2d_nhwc { n = 1, h = 8, w = 8, c = 64,
                                               k = 3, pad = 1 }
  assert(select(2, count_of(in_depth)) > 0)
end)

-- Padding that stays a copy, of pixels of three channels, runs along rows by
-- vectors of what is beside each other there.
checks.case("padding of few channels", function()
  local p = ops.conv2d_nhwc { n = 1, h = 4, w = 94, ci = 3, co = 4, k = 3,
                              pad = 1 }
  local along = require "tessera.modules.parallel_vectorize_unroll" {}
  local s = ts.space.sketches({ along }, p, "llvm")[1]:replay(p)
  local loops = { s:get_loops(s:get_block "padded") }
  assert(s:loop_info(loops[#loops]).kind == "vectorized" and
         s:extent(loops[#loops]) == 16, s)
  checks.same(s, p)
end)
