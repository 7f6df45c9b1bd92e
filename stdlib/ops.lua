-- SPDX-License-Identifier: Apache-2.0
-- Operators: each function takes one table and returns a program.
local ts = require "tessera"

local options = require "tessera.options"
local invalid = debug.getregistry()["tessera.invalid"]
local ops = {}

local function check(name, o)
  name = "ops." .. name
  local why = options.refusal(name, options.of[name], o)
  if why then invalid(why) end
end

-- What follows a result: bias along the last dimension, then ReLU.
local function epilogue(o, x, shape, inputs, dtype)
  if o.bias then
    local bias, of = ts.placeholder("bias", { shape[#shape] }, dtype), x
    inputs[#inputs + 1] = bias
    x = ts.compute("biased", shape, function(...)
      local idx = { ... }
      return of(...) + bias(idx[#idx])
    end)
  end
  if o.relu then
    local of = x
    x = ts.compute("relu", shape, function(...)
      return ts.max(of(...), 0)
    end)
  end
  return x
end

-- ts.compute names the axes after the function's parameters; the epilogue's
-- functions take any number, so its axes are i, j, k, ...

-- C[m, n] = sum over k of A[m, k] * B[k, n]
-- { m =, n =, k = [, dtype = "float32", bias = false, relu = false] }
function ops.matmul(o)
  check("matmul", o)
  local dtype = o.dtype or "float32"
  local A = ts.placeholder("A", { o.m, o.k }, dtype)
  local B = ts.placeholder("B", { o.k, o.n }, dtype)
  local k = ts.reduce_axis("k", o.k)
  local C = ts.compute("C", { o.m, o.n }, function(i, j)
    return ts.sum(A(i, k) * B(k, j), k)
  end)
  local inputs = { A, B }
  local out = epilogue(o, C, { o.m, o.n }, inputs, dtype)
  local name = "matmul" .. (o.bias and "_bias" or "") ..
               (o.relu and "_relu" or "")
  return ts.program(name, inputs, { out })
end

-- Y[n, h, w, co] = sum of X[n, h * s + kh - p, w * s + kw - p, ci] *
--                  W[kh, kw, ci, co], zero outside of X
-- { n =, h =, w =, ci =, co =, k = [, stride = 1, pad = 0, dtype =, bias =,
--   relu =] }
function ops.conv2d_nhwc(o)
  check("conv2d_nhwc", o)
  local dtype, s, p = o.dtype or "float32", o.stride or 1, o.pad or 0
  local X = ts.placeholder("X", { o.n, o.h, o.w, o.ci }, dtype)
  local W = ts.placeholder("W", { o.k, o.k, o.ci, o.co }, dtype)
  local H, V = (o.h + 2 * p - o.k) // s + 1, (o.w + 2 * p - o.k) // s + 1
  if H < 1 or V < 1 then
    invalid "ops.conv2d_nhwc: the window is larger than the padded input"
  end
  local P = X
  if p > 0 then
    P = ts.compute("padded", { o.n, o.h + 2 * p, o.w + 2 * p, o.ci },
      function(n, h, w, c)
        return ts.select(
          ts.all(ts.ge(h, p), ts.lt(h, o.h + p), ts.ge(w, p),
                 ts.lt(w, o.w + p)),
          X(n, h - p, w - p, c), ts.const(0, dtype))
      end)
  end
  local kh, kw = ts.reduce_axis("kh", o.k), ts.reduce_axis("kw", o.k)
  local ci = ts.reduce_axis("ci", o.ci)
  local Y = ts.compute("conv", { o.n, H, V, o.co }, function(n, h, w, co)
    return ts.sum(P(n, h * s + kh, w * s + kw, ci) * W(kh, kw, ci, co),
                  { kh, kw, ci })
  end)
  local inputs = { X, W }
  local out = epilogue(o, Y, { o.n, H, V, o.co }, inputs, dtype)
  return ts.program("conv2d_nhwc", inputs, { out })
end

return ops
