-- SPDX-License-Identifier: Apache-2.0
-- Programs for access-execute machines, in the layout that their matrix unit
-- takes: sixteen channels side by side, weights in tiles of 16 x 16.
local ts = require "tessera"
local dae = {}

local function quantized(name, C, shape, o)
  return ts.compute(name, shape, function(...)
    local x = C(...)
    if o.bias then
      local at = { ... }
      x = x + o.bias(at[o.channel], at[#at])
    end
    if o.bare then return ts.cast(ts.shr(ts.shl(x, 24), 24), "int8") end
    return ts.cast(ts.max(ts.min(x // (1 << (o.shift or 8)), 127),
                          o.relu and 0 or -128), "int8")
  end)
end

-- D[m, n] = int8(A[m, k] . B[n, k] [+ bias[n]]), n and k in blocks of 16.
function dae.dense(m, n, k, o)
  o = o or {}
  local A = ts.placeholder("A", { m, k, 16 }, "int8")
  local B = ts.placeholder("B", { n, k, 16, 16 }, "int8")
  local bias = o.bias and ts.placeholder("bias", { n, 16 }, "int32")
  local ko, ki = ts.reduce_axis("ko", k), ts.reduce_axis("ki", 16)
  local C = ts.compute("C", { m, n, 16 }, function(i, j, l)
    return ts.sum(ts.cast(A(i, ko, ki), "int32") *
                  ts.cast(B(j, ko, l, ki), "int32"), { ko, ki })
  end)
  local D = quantized("D", C, { m, n, 16 },
                      { bias = bias, channel = 2, shift = o.shift,
                        relu = o.relu })
  return ts.program("dense", bias and { A, B, bias } or { A, B }, { D })
end

-- A convolution of `ic` to `oc` channels (multiples of 16), over images of h x
-- w (h without w), "same" padding.  `bare`: what is stored is the low byte of
-- the sums.
function dae.conv(o)
  local h, w, k, s = o.h, o.w or o.h, o.k or 3, o.stride or 1
  local p, ic, oc = (o.k or 3) // 2, o.ic // 16, o.oc // 16
  local oh, ow = (h + 2 * p - k) // s + 1, (w + 2 * p - k) // s + 1
  local A = ts.placeholder("A", { ic, h, w, 16 }, "int8")
  local B = ts.placeholder("B", { oc, ic, k, k, 16, 16 }, "int8")
  local bias = o.bias and ts.placeholder("bias", { oc, 16 }, "int32")
  local padded = p == 0 and A or
    ts.compute("pad", { ic, h + 2 * p, w + 2 * p, 16 }, function(c, y, x, l)
      return ts.select(ts.all(ts.ge(y, p), ts.lt(y, h + p),
                              ts.ge(x, p), ts.lt(x, w + p)),
                       A(c, y - p, x - p, l), ts.const(0, "int8"))
    end)
  local c, y, x, l = ts.reduce_axis("ic", ic), ts.reduce_axis("kh", k),
                     ts.reduce_axis("kw", k), ts.reduce_axis("ki", 16)
  local C = ts.compute("C", { oc, oh, ow, 16 }, function(co, i, j, lane)
    return ts.sum(ts.cast(padded(c, i * s + y, j * s + x, l), "int32") *
                  ts.cast(B(co, c, y, x, lane, l), "int32"), { c, y, x, l })
  end)
  local D = quantized("D", C, { oc, oh, ow, 16 },
                      { bias = bias, channel = 1, shift = o.shift,
                        relu = o.relu, bare = o.bare })
  return ts.program("conv", bias and { A, B, bias } or { A, B }, { D })
end

-- The layers of ResNet-18 in the numbering of TVM's paper, without the first.
dae.resnet18 = {
  { "C2", { h = 56, ic = 64, oc = 64 } },
  { "C3", { h = 56, ic = 64, oc = 64, k = 1 } },
  { "C4", { h = 56, ic = 64, oc = 128, stride = 2 } },
  { "C5", { h = 56, ic = 64, oc = 128, k = 1, stride = 2 } },
  { "C6", { h = 28, ic = 128, oc = 128 } },
  { "C7", { h = 28, ic = 128, oc = 256, stride = 2 } },
  { "C8", { h = 28, ic = 128, oc = 256, k = 1, stride = 2 } },
  { "C9", { h = 14, ic = 256, oc = 256 } },
  { "C10", { h = 14, ic = 256, oc = 512, stride = 2 } },
  { "C11", { h = 14, ic = 256, oc = 512, k = 1, stride = 2 } },
  { "C12", { h = 7, ic = 512, oc = 512 } },
}

-- A layer with an eighth of the pixels and channels, about.
function dae.small(o)
  local function channels(n) return math.max(16, n // 8 // 16 * 16) end
  return { h = math.max(4, o.h // 8), k = o.k, stride = o.stride,
           ic = channels(o.ic), oc = channels(o.oc) }
end

-- Bytes that fill most of their range without always saturating what is made of
-- them, and the ends of it; other types by small integers.
local ranges = { int8 = { -64, 63 }, uint8 = { 0, 255 }, int32 = { -999, 999 } }

local function filled(shape, d, random)
  if d > #shape then return random() end
  local list = {}
  for i = 1, shape[d] do list[i] = filled(shape, d + 1, random) end
  return list
end

local function random_tensor(dtype, shape, seed)
  local range, state = ranges[dtype], seed
  if not range or #shape == 0 then
    return ts.tensor(dtype, shape, "integers", seed)
  end
  return ts.tensor(dtype, shape, filled(shape, 1, function()
    state = (state * 6364136223846793005 + 1442695040888963407)
    local n = state >> 33
    if dtype == "int8" and n % 16 == 0 then
      return n % 32 == 0 and -128 or 127
    end
    return range[1] + n // 32 % (range[2] - range[1] + 1)
  end))
end

-- The program's tensors, outputs last: `n` outputs of which are given twice.
function dae.tensors(p, seed)
  local list, again = {}, {}
  for i, x in ipairs(p:params()) do
    local is_output = x.role == "output"
    list[i] = is_output and ts.tensor(x.dtype, x.shape) or
              random_tensor(x.dtype, x.shape, seed + i)
    again[i] = is_output and ts.tensor(x.dtype, x.shape) or list[i]
  end
  return list, again
end

-- Whether all elements of the tensors are the same; floats, which the host
-- computes, as far as functions like exp are.
function dae.same(a, b)
  for i = 1, #a do
    local absolute, relative = a[i]:compare(b[i])
    local is_float = a[i]:dtype():find "float"
    if (is_float and relative or absolute) > (is_float and 1e-5 or 0) then
      return false
    end
  end
  return true
end

return dae
