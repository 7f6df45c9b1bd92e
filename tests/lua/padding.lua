-- SPDX-License-Identifier: Apache-2.0
-- pad_einsum for each reducer and type, decompose_padding and rolling_buffer:
-- exact in the residue domain, in the interpreter and compiled, with infinities
-- among the inputs.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local same, illegal, arguments = checks.same, checks.illegal, checks.arguments

local inf = math.huge

local function check(sch, p, poke)
  same(sch, p)
  local args = arguments(p, "integers")
  if poke then poke(args) end
  checks.exact(sch, p, args)
end

local M, N, K = 5, 3, 7

local function product(dtype, reduce, cast)
  local A = ts.placeholder("A", { M, K }, dtype)
  local B = ts.placeholder("B", { K, N }, dtype)
  local k = ts.reduce_axis("k", K)
  local C = ts.compute("C", { M, N }, function(i, j)
    local x, y = A(i, k), B(k, j)
    if cast then x, y = ts.cast(x, cast), ts.cast(y, cast) end
    return reduce(x * y, k)
  end)
  return ts.program("product", { A, B }, { C })
end

local function single(dtype, reduce)
  local A = ts.placeholder("A", { M, K }, dtype)
  local k = ts.reduce_axis("k", K)
  local C = ts.compute("C", { M }, function(i) return reduce(A(i, k), k) end)
  return ts.program("single", { A }, { C })
end

local function padded(p, padding)
  local sch = ts.schedule(p)
  sch:pad_einsum(sch:get_block("C"), padding)
  return sch
end

-- Products, of all that there is.
for _, case in ipairs { { "float32" }, { "float64" }, { "int32" }, { "uint8" },
                        { "int8", "int32" }, { "float16", "float32" } } do
  local p = product(case[1], ts.sum, case[2])
  for _, padding in ipairs { { 4, 4, 4 }, { 1, 1, 8 }, { 8, 1, 1 },
                             { 1, 2, 1 }, { 5, 3, 7 }, { 1, 1, 1 } } do
    local sch = padded(p, padding)
    check(sch, p, function(args)
      if case[1]:find "float" then args[1]:set(1, 2, inf) end
    end)
  end
end
for name, reduce in pairs { sum = ts.sum, prod = ts.prod, max = ts.reduce_max,
                            min = ts.reduce_min } do
  for _, dtype in ipairs { "float32", "int32", "int8" } do
    local p = single(dtype, reduce)
    for _, padding in ipairs { { 4, 4 }, { 1, 3 }, { 2, 1 } } do
      check(padded(p, padding), p, function(args)
        if dtype == "float32" then args[1]:set(1, 2, -inf) end
      end)
    end
  end
end

-- A minimum or maximum over values of which one is no number is none,
-- wherever that stands, as it is and padded; so are those in parts, and in
-- another order.
for name, reduce in pairs { max = ts.reduce_max, min = ts.reduce_min } do
  for _, dtype in ipairs { "float16", "float32", "float64" } do
    for at = 0, K - 1 do
      local function poke(args) args[1]:set(1, at, 0 / 0) end
      local p = single(dtype, reduce)
      check(padded(p, { 1, 4 }), p, poke)
      local sch = ts.schedule(p)
      local _, k = sch:get_loops(sch:get_block("C"))
      local k0 = sch:split(k, { 4, ts.auto })
      sch:reorder(k0, (sch:get_loops(sch:get_block("C"))))
      sch:rfactor(k0, 0)
      check(sch, p, poke)
      local want = arguments(p, "integers")
      poke(want)
      ts.interpret(p, want)
      local r = want[2]:get(1)
      assert(r ~= r, name)
    end
  end
end

-- So is what a copy brings, or clips, before a constant or behind one.
for _, clip in ipairs {
  function(x) return ts.min(ts.max(x, 0), 6) end,
  function(x) return ts.max(0, ts.min(6, x)) end,
  function(x) return ts.max(ts.min(x, x * x), x) end,
} do
  local A = ts.placeholder("A", { K })
  local C = ts.compute("C", { K + 2 }, function(i)
    return ts.select(ts.all(ts.le(1, i), ts.lt(i, K + 1)), A(i - 1), 0)
  end)
  local D = ts.compute("D", { K + 2 }, function(i) return clip(C(i)) end)
  local p = ts.program("clipped", { A }, { D })
  local sch = ts.schedule(p)
  local c, d = sch:get_block("C"), sch:get_block("D")
  sch:decompose_padding(c, (sch:get_loops(c)))
  sch:vectorize((select(2, sch:split(sch:get_loops(d), { ts.auto, 4 }))))
  check(sch, p, function(args)
    args[1]:set(3, 0 / 0)
    args[1]:set(5, -0.0)
  end)
end

-- What padding cannot keep from counting: a factor that does not follow the
-- padded axis may be infinite, and the others are no products.
local function unpadded(p, padding)
  illegal(p, "PAD_NOT_NEUTRAL", function(sch)
    sch:pad_einsum(sch:get_block("C"), padding)
  end)
end

local function scaled(dtype, f)
  local A = ts.placeholder("A", { M, K }, dtype)
  local b = ts.placeholder("b", { M }, dtype)
  local k = ts.reduce_axis("k", K)
  local C = ts.compute("C", { M }, function(i)
    return ts.sum(f(A(i, k), b(i)), k)
  end)
  return ts.program("scaled", { A, b }, { C })
end
local times = function(x, y) return x * y end
unpadded(scaled("float32", times), { 1, 4 })
unpadded(scaled("int32", function(x, y) return x + y end), { 1, 4 })
unpadded(product("float32", ts.reduce_max), { 1, 1, 4 })
check(padded(scaled("int32", times), { 4, 4 }),
      scaled("int32", times))
check(padded(scaled("float32", times), { 4, 1 }),
      scaled("float32", times))

-- Then the copies, in two steps each, and a bias that the product starts from.
do
  local A = ts.placeholder("A", { M, K })
  local B = ts.placeholder("B", { K, N })
  local b = ts.placeholder("b", { N })
  local k = ts.reduce_axis("k", K)
  local C = ts.compute("C", { M, N }, function(i, j)
    return ts.sum(A(i, k) * B(k, j), k)
  end)
  local D = ts.compute("D", { M, N }, function(i, j) return C(i, j) + b(j) end)
  local p = ts.program("biased", { A, B, b }, { D })
  local sch = ts.schedule(p)
  sch:fuse_reduction_epilogue(sch:get_block("C"), sch:get_block("D"))
  sch:pad_einsum(sch:get_block("C"), { 4, 4, 4 })
  check(sch, p)
  for i, name in ipairs { "A_pad", "B_pad" } do
    local copy = sch:get_block(name)
    local loops = { sch:get_loops(copy) }
    sch:decompose_padding(copy, loops[i])
    check(sch, p)
  end
  local i, j, l = sch:get_loops(sch:get_block("C"))
  sch:vectorize(j)
  sch:parallel(i)
  check(sch, p)
end

-- Convolutions of odd extents: windows that move by one and by two, with a
-- padded row, channel, and channel of the input.
do
  local ops = require "tessera.ops"
  for _, o in ipairs {
    { n = 1, h = 5, w = 7, ci = 3, co = 5, k = 3, pad = 1 },
    { n = 1, h = 9, w = 7, ci = 3, co = 5, k = 3, stride = 2 },
    { n = 1, h = 4, w = 3, ci = 2, co = 3, k = 2 },
    -- Windows with a step: what lies between is not copied.
    { n = 1, h = 13, w = 11, ci = 3, co = 5, k = 3, stride = 2, dilation = 2 },
    { n = 1, h = 9, w = 7, ci = 3, co = 5, k = 1, stride = 3 },
    -- Windows without one: what lies between is copied, of an input, and of
    -- an image with a border.
    { n = 1, h = 17, w = 14, ci = 3, co = 5, k = 3, stride = 3, dilation = 2 },
    { n = 1, h = 15, w = 13, ci = 3, co = 5, k = 3, stride = 3, dilation = 2,
      pad = 1 },
    { n = 1, h = 14, w = 18, ci = 2, co = 3, k = 2, stride = 4 },
  } do
    local p = ops.conv2d_nhwc(o)
    local sch = ts.schedule(p)
    sch:pad_einsum(sch:get_block("conv"), { 1, 2, 4, 4, 1, 1, 2 })
    check(sch, p)
    local loops = { sch:get_loops(sch:get_block("conv")) }
    local copied = sch:footprint(sch:get_block "conv", "read", 0)
    local image = sch:get_block(o.pad and "padded_pad" or "X_pad")
    assert(sch:footprint(image, "write", 0) == copied)
    sch:reorder(loops[5], loops[6], loops[7], loops[3], loops[4])
    sch:vectorize(loops[4])
    check(sch, p)
  end
end

-- What lies between the windows' elements must hold something, or be left out.
do
  local function strided(whole)
    local b = ts.builder("strided")
    local A, T = b:input("A", { 20 }), b:buffer("T", { 20 })
    local C = b:output("C", { 5 })
    b:loop("i", 0, 5, function(i)
      b:loop("r", 0, whole and 4 or 2, function(r)
        b:block("T", { { "vi", extent = 5, bind = i },
                       { "vr", extent = whole and 4 or 2, bind = r } },
          function(vi, vr) b:store(T, { vi * 4 + vr }, A(vi * 4 + vr)) end)
      end)
    end)
    b:loop("i", 0, 5, function(i)
      b:loop("r", 0, 2, function(r)
        b:block("C", { { "vi", extent = 5, bind = i },
                       { "vr", "reduce", extent = 2, bind = r } },
          function(vi, vr)
            b:init(function() b:store(C, { vi }, 0) end)
            b:store(C, { vi }, C(vi) + T(vi * 4 + vr))
          end)
      end)
    end)
    return b:program()
  end
  for _, whole in ipairs { false, true } do
    illegal(strided(whole), "EINSUM_HOLES", function(sch)
      sch:pad_einsum(sch:get_block "C", { 4, 1 })
    end)
  end
  local A = ts.placeholder("A", { 20 })
  local T = ts.compute("T", { 20 }, function(i) return A(i) + 1 end)
  local r = ts.reduce_axis("r", 2)
  local C = ts.compute("C", { 5 }, function(i)
    return ts.sum(T(i * 4 + r), r)
  end)
  local p = ts.program("strided", { A }, { C })
  check(padded(p, { 4, 1 }), p)
  illegal(p, "NOT_ONLY_CHILD", function(sch)
    sch:compute_at(sch:get_block "T", (sch:get_loops(sch:get_block "C")))
    sch:pad_einsum(sch:get_block "C", { 4, 1 })
  end)
end

-- Windows over windows, which overlap, move by one or more and are cut off at
-- the end.
local function windows(n, width, step)
  local m = (n - 1) * step + width
  local A = ts.placeholder("A", { m + 2, 3 })
  local r = ts.reduce_axis("r", width)
  local B = ts.compute("B", { m + 1, 3 }, function(i, j)
    return A(i, j) + A(i + 1, j)
  end)
  local C = ts.compute("C", { m, 3 }, function(i, j)
    return B(i, j) - B(i + 1, j)
  end)
  local D = ts.compute("D", { n, 3 }, function(i, j)
    return ts.sum(C(i * step + r, j), r)
  end)
  return ts.program("windows", { A }, { D })
end
for _, case in ipairs { { 16, 3, 1, 4 }, { 13, 3, 1, 4 }, { 13, 5, 2, 3 },
                        { 12, 4, 3, 2 }, { 7, 3, 1, 1 } } do
  local p = windows(table.unpack(case, 1, 3))
  local sch = ts.schedule(p)
  local b, c, d = sch:get_block("B"), sch:get_block("C"), sch:get_block("D")
  local i = sch:split(sch:get_loops(d), { ts.auto, case[4] })
  sch:compute_at(c, i)
  sch:compute_at(b, i)
  sch:rolling_buffer(c, 0)
  check(sch, p)
  sch:rolling_buffer(b, "B")
  check(sch, p)
  sch:vectorize((select(3, sch:get_loops(c))))
  check(sch, p)
end

-- Below a loop whose iterations run at once: each starts with whole windows.
for _, case in ipairs { { 16, 3, 1, 4, 2 }, { 16, 5, 1, 2, 4 },
                        { 12, 4, 3, 2, 3 }, { 8, 3, 2, 1, 4 } } do
  local p = windows(table.unpack(case, 1, 3))
  local sch = ts.schedule(p)
  local b, c, d = sch:get_block("B"), sch:get_block("C"), sch:get_block("D")
  local i0, i = sch:split(sch:get_loops(d), { ts.auto, case[5], case[4] })
  sch:compute_at(c, i)
  sch:compute_at(b, i)
  sch:parallel(i0)
  sch:rolling_buffer(c, 0)
  check(sch, p)
  sch:rolling_buffer(b, "B")
  check(sch, p)
end
