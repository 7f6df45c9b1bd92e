-- SPDX-License-Identifier: Apache-2.0
-- The default space of access-execute machines, for products in any layout and
-- whatever follows them: what the machine can do runs there, what it cannot on
-- the host, with a reason, and all of it computes what the interpreter does.
local ts = require "tessera"
local here = arg[0]:gsub("[^/]*$", "")
local checks = dofile(here .. "../support/checks.lua")
local dae = dofile(here .. "../support/dae.lua")

local cast = ts.cast

local function bytes(name, shape) return ts.placeholder(name, shape, "int8") end
local function words(name, shape)
  return ts.placeholder(name, shape, "int32")
end
local function quantized(x)
  return cast(ts.max(ts.min(x // 64, 127), -128), "int8")
end

-- ---- programs --------------------------------------------------------------

-- The sums of [m, k] by [k, n], or by [n, k], and a list of their operands.
local function sums(m, n, k, o)
  o = o or {}
  local A = o.a or bytes("A", { m, k })
  local B = bytes(o.b or "B", o.trans and { n, k } or { k, n })
  local r = ts.reduce_axis("k", k)
  local C = ts.compute(o.c or "C", { m, n }, function(i, j)
    return ts.sum(cast(A(i, r), "int32") *
                  cast(o.trans and B(j, r) or B(r, j), "int32"), r)
  end)
  return C, o.a and { B } or { A, B }
end

-- A product, and what `f` makes of its sums C, at i and j, and of operands.
local function product(m, n, k, f, others, o)
  local C, list = sums(m, n, k, o)
  local D = ts.compute("D", { m, n }, function(i, j)
    return f(C(i, j), i, j)
  end)
  table.move(others or {}, 1, #(others or {}), #list + 1, list)
  return ts.program("product", list, { D })
end

local function batch()
  local A, B = bytes("A", { 3, 8, 32 }), bytes("B", { 3, 32, 16 })
  local k = ts.reduce_axis("k", 32)
  local C = ts.compute("C", { 3, 8, 16 }, function(b, i, j)
    return ts.sum(cast(A(b, i, k), "int32") * cast(B(b, k, j), "int32"), k)
  end)
  local D = ts.compute("D", { 3, 8, 16 }, function(b, i, j)
    return quantized(C(b, i, j))
  end)
  return ts.program("batch", { A, B }, { D })
end

-- Several blocks follow, of which the machine does some.
local function long_tail()
  local C, list = sums(12, 32, 32)
  local b = words("bias", { 32 })
  local X = ts.compute("X", { 12, 32 }, function(i, j)
    return C(i, j) + b(j)
  end)
  local Y = ts.compute("Y", { 12, 32 }, function(i, j)
    return quantized(ts.max(X(i, j), 0))
  end)
  local Z = ts.compute("Z", { 12, 32 }, function(i, j)
    return ts.exp(cast(Y(i, j), "float32") / 64)
  end)
  return ts.program("tail", { list[1], list[2], b }, { Z })
end

local function chain()
  local C, list = sums(12, 32, 32)
  local D = ts.compute("D", { 12, 32 }, function(i, j)
    return quantized(C(i, j))
  end)
  local C2, more = sums(12, 16, 32, { a = D, b = "B2", c = "C2" })
  local D2 = ts.compute("D2", { 12, 16 }, function(i, j)
    return quantized(C2(i, j))
  end)
  return ts.program("chain", { list[1], list[2], more[1] }, { D2 })
end

-- Channels first, or last.
local function image(o, channels, y, x)
  return o.nchw and { channels, y, x } or { y, x, channels }
end
local function at(o, T, c, y, x)
  if o.nchw then return T(c, y, x) end
  return T(y, x, c)
end
local function unpacked(o, a, b, c)
  if o.nchw then return a, b, c end
  return c, a, b
end

-- A convolution of X, of h x h pixels, with its weights and output size.
local function convolved(o, name, X, h, ic, oc)
  local s, k = o.stride or 1, o.k or 3
  local p = k // 2
  local oh = (h + 2 * p - k) // s + 1
  local W = bytes("W" .. name, o.nchw and { oc, ic, k, k } or { k, k, ic, oc })
  local padded = p == 0 and X or
    ts.compute("pad" .. name, image(o, ic, h + 2 * p, h + 2 * p),
               function(...)
      local c, y, x = unpacked(o, ...)
      return ts.select(ts.all(ts.ge(y, p), ts.lt(y, h + p),
                              ts.ge(x, p), ts.lt(x, h + p)),
                       at(o, X, c, y - p, x - p), ts.const(0, "int8"))
    end)
  local c, y, x = ts.reduce_axis("c", ic), ts.reduce_axis("y", k),
                  ts.reduce_axis("x", k)
  local C = ts.compute("C" .. name, image(o, oc, oh, oh), function(...)
    local co, i, j = unpacked(o, ...)
    local w = o.nchw and W(co, c, y, x) or W(y, x, c, co)
    return ts.sum(cast(at(o, padded, c, i * s + y, j * s + x), "int32") *
                  cast(w, "int32"), { c, y, x })
  end)
  return C, W, oh
end

-- With a bias, a cut-off and a residual of bytes.
local function conv(o)
  local X = bytes("X", image(o, o.ic, 6, 6))
  local C, W, oh = convolved(o, "1", X, 6, o.ic, 32)
  local b, R = words("bias", { 32 }), bytes("R", image(o, 32, oh, oh))
  local D = ts.compute("D", image(o, 32, oh, oh), function(...)
    local co = unpacked(o, ...)
    return quantized(ts.max(C(...) + b(co), 0) + cast(R(...), "int32"))
  end)
  return ts.program("conv", { X, W, b, R }, { D })
end

local function convs(o)
  local X = bytes("X", image(o, 16, 6, 6))
  local C, W = convolved(o, "1", X, 6, 16, 32)
  local D = ts.compute("D", image(o, 32, 6, 6), function(...)
    return quantized(ts.max(C(...), 0))
  end)
  local C2, W2 = convolved(o, "2", D, 6, 32, 16)
  local D2 = ts.compute("D2", image(o, 16, 6, 6), function(...)
    return quantized(C2(...))
  end)
  return ts.program("convs", { X, W, W2 }, { D2 })
end

-- ---- checking --------------------------------------------------------------

-- Sketches with random decisions compute what the interpreter does, by so many
-- products of the machine; where there are none, the kernel says why.
local function check(name, p, products, why, target)
  target = target or "dae"
  local list = ts.space.sketches(ts.space.default(target), p, target)
  local step = checks.checked and 7 or #list > 5 and 3 or 1
  for i = 1, #list, step do
    local s = list[i]:replay(p, { resample = true, seed = i })
    local kernel = ts.build(s, target)
    local got, want = dae.tensors(p, i)
    kernel(table.unpack(got))
    ts.interpret(p, want)
    assert(dae.same(got, want), name)
    local _, n = tostring(s:program()):gsub("tensor_call", "")
    assert(n == products, ("%s: %d products"):format(name, n))
    assert(not why or kernel:source "stream":find(why, 1, true), name)
  end
end

check("rows by columns", product(64, 64, 64, quantized), 1)
check("rows by rows", product(8, 32, 64, quantized, {}, { trans = true }), 1)
check("no whole lanes of steps", product(10, 32, 24, quantized), 1)
check("no whole lanes of columns, but of rows", product(32, 20, 32, quantized),
      1)
check("one row", product(1, 32, 32, quantized), 1)
check("a batch", batch(), 1)
do
  local b = words("bias", { 32 })
  check("a bias", product(12, 32, 32, function(c, _, j)
    return quantized(ts.max(c + b(j), 0))
  end, { b }), 1)
  local R = bytes("R", { 12, 32 })
  check("a residual of bytes", product(12, 32, 32, function(c, i, j)
    return quantized(cast(R(i, j), "int32") * 3 + c)
  end, { R }), 0, "both operands of '+' have to be computed")
  check("another", product(12, 32, 32, function(c, i, j)
    return quantized(cast(R(i, j), "int32") + c)
  end, { R }), 1)
end
check("a long tail", long_tail(), 1)
check("a chain", chain(), 2)
for _, nchw in ipairs { true, false } do
  for _, o in ipairs {
    { ic = 32 }, { ic = 3 }, { ic = 32, k = 1 }, { ic = 16, stride = 2 },
    { ic = 16, k = 1, stride = 2 },
  } do
    o.nchw = nchw
    check("convolution", conv(o), 1)
  end
  check("convolutions", convs { nchw = nchw }, 2)
end

-- Of an input that is read in steps, there are copies of the box around what is
-- read, and of what is read.
do
  local p = dae.conv { h = 7, w = 9, ic = 32, oc = 16, k = 1, stride = 2 }
  local seen = {}
  local list = ts.space.sketches(ts.space.default "dae", p, "dae")
  for _, sketch in ipairs(list) do
    local text = tostring(sketch:replay(p):program())
    local shape = text:match "A_local.inp_buffer: int8(%b[])"
    seen[shape] = (seen[shape] or 0) + 1
  end
  local box, read = seen["[2, 7, 9, 16]"], seen["[2, 4, 5, 16]"]
  assert(box and box == read)
  check("in steps", p, 1)
end

-- ---- the host --------------------------------------------------------------

-- What VTA cannot store or compute is the host's, and a machine that stores
-- sums leaves the rest to it.
local b = words("bias", { 12 })
for why, p in pairs {
  ["C: D: the machine stores bytes only, no float32"] =
    product(12, 32, 32, function(c)
      return ts.exp(cast(c, "float32") / 1e6)
    end),
  ["C: D: the vector unit divides by powers of two, not by 100"] =
    product(12, 32, 32, function(c)
      return cast(ts.max(ts.min(c // 100, 127), -128), "int8")
    end),
  ["C: D: the machine stores bytes only, no int32"] =
    product(12, 32, 32, function(c) return c + 1 end),
  ["C: D: both operands of '*' have to be computed"] =
    product(12, 32, 32, function(c) return quantized(c * (c + 1)) end),
  ["C: D: 'bias' has no element for each column"] =
    product(12, 32, 32, function(c, i) return quantized(c + b(i)) end, { b }),
  ["C: D: the constant 70000 does not fit 16 bits"] =
    product(12, 32, 32, function(c) return quantized(c + 70000) end),
} do
  check(why, p, 0, why)
  check(why, p, 1, nil, "dae -model=gemmini")
end
local narrow = product(10, 20, 32, quantized)
check("columns", narrow, 0,
      "C: its 20 columns are no multiple of the matrix unit's 16")
local r = ts.tune(narrow, { target = "dae", trials = 2, min_time = 1e-6 })
assert(r.kernel and r.note:find("on the host: C: its 20 columns", 1, true),
       r.note)
local text = ts.space.explain(ts.space.default "dae", narrow, "dae")
assert(text:find("use_dae at C: applied, 1 schedule: its 20 columns", 1, true),
       text)

-- Tuning finds kernels for a program whose parts are on both.
local both = ts.tune(long_tail(), { target = "dae", trials = 8, seed = 1,
                                    min_time = 1e-6 })
assert(both.kernel:source "stream":find("host function", 1, true) and
       both.kernel:source "stream":find("gemm uop", 1, true))
