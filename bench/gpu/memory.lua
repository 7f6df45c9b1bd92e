-- SPDX-License-Identifier: Apache-2.0
-- Operators that move more than they compute, tuned for the card of this
-- machine by the default space: GB/s of the bytes that must be read and written
-- once:
--   tessera bench/gpu/memory.lua TRIALS [FOLDER [ROW...]]
-- With FOLDER the best are saved as FOLDER/ROW.program.
-- `build/bench/gpu-run` without arguments says what a copy reaches.
local ts = require "tessera"
local ops = require "tessera.ops"
local given = dofile((arg[0]:gsub("[^/]*$", "../support/arguments.lua")))
  "memory.lua TRIALS [FOLDER [ROW...]]"
local trials, folder = given.count(1, "TRIALS", 32), arg[2]
local target = ts.target "cuda"
local N = 4096

local function unary(dtype, m, n, f)
  local A = ts.placeholder("A", { m, n }, dtype)
  return ts.program("unary", { A }, { ts.compute("B", { m, n },
    function(i, j) return f(A(i, j)) end) })
end

local function add(n)
  local A, B = ts.placeholder("A", { n, n }), ts.placeholder("B", { n, n })
  return ts.program("add", { A, B }, { ts.compute("C", { n, n },
    function(i, j) return A(i, j) + B(i, j) end) })
end

local function sums(m, n, rows)
  local A = ts.placeholder("A", { m, n })
  local k = ts.reduce_axis("k", rows and n or m)
  return ts.program("sums", { A }, { ts.compute("S", { rows and m or n },
    function(i) return ts.sum(rows and A(i, k) or A(k, i), k) end) })
end

local function transpose(dtype, m, n)
  local A = ts.placeholder("A", { m, n }, dtype)
  return ts.program("transpose", { A }, { ts.compute("B", { n, m },
    function(i, j) return A(j, i) end) })
end

local function layer_norm(m, n)
  local X = ts.placeholder("X", { m, n })
  local G, H = ts.placeholder("G", { n }), ts.placeholder("H", { n })
  local k, l = ts.reduce_axis("k", n), ts.reduce_axis("l", n)
  local S = ts.compute("S", { m }, function(i) return ts.sum(X(i, k), k) end)
  local Q = ts.compute("Q", { m }, function(i)
    return ts.sum((X(i, l) - S(i) / n) * (X(i, l) - S(i) / n), l)
  end)
  local Y = ts.compute("Y", { m, n }, function(i, j)
    return (X(i, j) - S(i) / n) * ts.rsqrt(Q(i) / n + 1e-5) * G(j) + H(j)
  end)
  return ts.program("layer_norm", { X, G, H }, { Y })
end

local rows = {
  { "scale_f32", unary("float32", N, N, function(x) return x * 2 + 1 end) },
  { "scale_f16", unary("float16", N, 2 * N, function(x) return x * 2 end) },
  { "gelu_f32", unary("float32", N, N, function(x)
    return x * (ts.erf(x * 0.70710678) * 0.5 + 0.5)
  end) },
  { "add_f32", add(N) },
  { "row_sums", sums(N, N, true) },
  { "column_sums", sums(N, N, false) },
  { "transpose_f32", transpose("float32", N, N) },
  { "transpose_f16", transpose("float16", N, 2 * N) },
  { "softmax_4096", ops.softmax{ shape = { N, N } } },
  { "softmax_bert", ops.softmax{ shape = { 12 * 8 * 512, 512 } } },
  { "layer_norm", layer_norm(N, N) },
  { "layer_norm_bert", layer_norm(16 * 512, 768) },
}

local size = { float16 = 2, float32 = 4 }
local function bytes(p)
  local sum = 0
  for _, x in ipairs(p:params()) do
    local n = size[x.dtype]
    for _, d in ipairs(x.shape) do n = n * d end
    sum = sum + n
  end
  return sum
end

local names, wanted = {}, {}
for i, row in ipairs(rows) do names[i] = row[1] end
for i = 3, #arg do wanted[given.one_of("row", arg[i], names)] = true end
for _, row in ipairs(rows) do
  local name, p = row[1], row[2]
  if not arg[3] or wanted[name] then
    local r = ts.tune(p, { target = target, trials = trials, seed = 1,
                           min_time = 0.003 })
    if r.trace then
      print(('{"figure": "bandwidth", "value": %.0f, "unit": "GB/s", ' ..
             '"op": "%s", "us": %.2f, "trials": %d, "failed": %d}')
            :format(bytes(p) / r.latency / 1e9, name, r.latency * 1e6, r.trials,
                    r.failed))
      local best = r.trace:replay(p):program()
      if folder then best:save(("%s/%s.program"):format(folder, name)) end
    else
      io.stderr:write(name, ": nothing valid was found:\n", r.funnel)
    end
  end
end
