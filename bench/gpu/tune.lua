-- SPDX-License-Identifier: Apache-2.0
-- Tunes products of float16 matrices with sums in float32 for the card of this
-- machine, as bench/gpu runs it:
--   tessera bench/gpu/tune.lua FOLDER TRIALS BATCHxMxNxK...
-- Writes the best as FOLDER/gemm_BATCH_M_N_K_best.program, one figure a line.
local ts = require "tessera"
local folder, trials = arg[1], assert(math.tointeger(tonumber(arg[2])))
local target = ts.target "cuda"
local space = ts.space.default(target)

local function product(b, m, n, k)
  local A = ts.placeholder("A", b > 1 and { b, m, k } or { m, k }, "float16")
  local B = ts.placeholder("B", b > 1 and { b, k, n } or { k, n }, "float16")
  local r = ts.reduce_axis("k", k)
  local function times(x, y)
    return ts.sum(ts.cast(x, "float32") * ts.cast(y, "float32"), r)
  end
  local C = b > 1 and ts.compute("C", { b, m, n }, function(e, i, j)
    return times(A(e, i, r), B(e, r, j))
  end) or ts.compute("C", { m, n }, function(i, j)
    return times(A(i, r), B(r, j))
  end)
  return ts.program("product", { A, B }, { C })
end

for i = 3, #arg do
  local b, m, n, k = arg[i]:match "^(%d+)x(%d+)x(%d+)x(%d+)$"
  if not b then
    error(("a shape is BATCHxMxNxK, not '%s'"):format(arg[i]), 0)
  end
  b, m, n, k = tonumber(b), tonumber(m), tonumber(n), tonumber(k)
  local program = product(b, m, n, k)
  local r = ts.tune(program, { target = target, space = space, seed = 1,
                               trials = trials, min_time = 0.005 })
  print(('{"figure": "tuned", "value": %.2f, "unit": "TFLOP/s", ' ..
         '"op": "gemm", "batch": %d, "m": %d, "n": %d, "k": %d, ' ..
         '"trials": %d, "failed": %d}')
        :format((r.gflops or 0) / 1000, b, m, n, k, r.trials, r.failed))
  if r.trace then
    r.trace:replay(program):program():save(
      ("%s/gemm_%d_%d_%d_%d_best.program"):format(folder, b, m, n, k))
  else
    io.stderr:write(arg[i], ": nothing valid was found:\n", r.funnel)
  end
end
