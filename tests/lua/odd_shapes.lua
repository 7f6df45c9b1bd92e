-- SPDX-License-Identifier: Apache-2.0
-- The default space at shapes that no tile divides, as primes, and at ones:
-- what its sketches draw computes the program, by the interpreter and compiled.
local ts = require "tessera"
local ops = require "tessera.ops"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local target = "llvm -num-cores=2 -vector-bytes=" ..
               ts.target("llvm"):get "vector-bytes"

local function conv(o)
  o.n, o.k, o.pad = o.n or 1, o.k or 3, o.pad or 1
  return o
end

local rows = {
  { "matmul", { m = 1, n = 1, k = 1 } }, { "matmul", { m = 1, n = 37, k = 5 } },
  { "matmul", { m = 29, n = 1, k = 7 } },
  { "matmul", { m = 17, n = 37, k = 13, bias = true, relu = true } },
  { "matmul", { m = 15, n = 3, k = 11 } },
  { "batch_matmul", { b = 3, m = 7, n = 19, k = 5 } },
  { "transpose_batch_matmul", { b = 1, seq = 7, heads = 3, dim = 5 } },
  { "conv1d_nlc", conv { w = 13, ci = 3, co = 17 } },
  { "conv2d_nhwc", conv { h = 5, w = 7, ci = 3, co = 17 } },
  { "conv2d_nhwc", conv { h = 1, w = 1, ci = 1, co = 1 } },
  { "conv2d_nhwc", conv { h = 7, w = 5, ci = 4, co = 6, groups = 2 } },
  { "conv2d_nhwc", conv { h = 7, w = 5, ci = 3, co = 5, bias = true, bn = true,
                          relu = true, stride = 2 } },
  { "conv2d_nhwc", conv { h = 9, w = 7, ci = 2, co = 19, dilation = 2 } },
  { "conv3d_ndhwc", conv { d = 3, h = 3, w = 5, ci = 2, co = 5 } },
  { "depthwise_conv2d_nhwc", conv { h = 7, w = 5, c = 19 } },
  { "conv2d_transpose_nhwc", conv { h = 3, w = 5, ci = 3, co = 5, k = 4,
                                    stride = 2 } },
  { "norm", { b = 1, m = 7, n = 11 } }, { "norm", { b = 3, m = 1, n = 37 } },
  { "softmax", { shape = { 5, 37 } } }, { "softmax", { shape = { 1, 1 } } },
}

-- Whole numbers of little size: sums are exact in any order.
local function tensors(program)
  local list = {}
  for i, x in ipairs(program:params()) do
    list[i] = ts.tensor(x.dtype, x.shape,
                        x.role == "output" and "zeros" or "integers", i)
  end
  return list
end

local function same_compiled(sch, program, what)
  local want, got = tensors(program), tensors(program)
  ts.build(program, target)(table.unpack(want))
  ts.build(sch, target)(table.unpack(got))
  local _, apart = got[#got]:compare(want[#want])
  if apart < 1e-5 then return end
  error(("%s: compiled it differs by %g:\n%s"):format(what, apart, sch), 0)
end

-- Three sketches of each, or one: another for each row.
for at, row in ipairs(rows) do
  local program = ops[row[1]](row[2])
  local list = ts.space.sketches(ts.space.default "llvm", program, target)
  local step = math.max(1, #list // 3)
  local first, last = 1, #list
  if checks.checked then
    first = at % #list + 1
    last = first
  end
  for i = first, last, step do
    for seed = 1, 8 do
      local ok, sch = pcall(list[i].replay, list[i], program,
                            { resample = true, seed = seed })
      if ok then
        checks.same(sch, program)
        same_compiled(sch, program, row[1])
        break
      end
      assert(sch.code == "REFUSED", sch)
      assert(seed < 8, sch)
    end
  end
end
