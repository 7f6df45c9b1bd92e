-- SPDX-License-Identifier: Apache-2.0
-- The main job on a real workload: tunes an N x N x N float32 matrix product
-- (N = 1024) with bias and ReLU, and compares the kernel found with the naive
-- program and with OpenBLAS's sgemm (which does neither bias nor ReLU).
--   tessera examples/demo.lua [TRIALS [SEED [N]]]
local ts = require "tessera"
local ops = require "tessera.ops"

-- Argument number i, an integer.
local function argument(i, default)
  local text = arg[i] or default
  local n = math.tointeger(tonumber(text))
  if n and #arg <= 3 then return n end
  io.stderr:write("usage: tessera examples/demo.lua [TRIALS [SEED [N]]]\n")
  os.exit(2)
end

local trials, seed = argument(1, "256"), argument(2, "1")
local N = argument(3, "1024")

local function say(fmt, ...) print(fmt:format(...)) end

local program = ops.matmul { m = N, n = N, k = N, bias = true, relu = true }
local target = ts.target "llvm"
say("target: %s", target)
print(program)

-- The search.
local start = os.time()
local result = ts.tune(program, { target = target, trials = trials,
                                  seed = seed, progress = true })
if not result.trace then
  io.stderr:write("nothing valid was found:\n", result.funnel)
  os.exit(1)
end
say("\n-- the best trace, after %d trials (%d failed) and %d s",
    result.trials, result.failed, os.time() - start)
print(result.trace)
print("-- where the time went")
print(result.ledger)

-- The naive program, compiled as it stands, is what the result must equal.
-- Small integers of both signs: every order of summation gives the same.
local A = ts.tensor("float32", { N, N }, "integers", 1)
local B = ts.tensor("float32", { N, N }, "integers", 2)
local bias = ts.tensor("float32", { N }, "integers", 3)
local out = ts.tensor("float32", { N, N })
local want = ts.tensor("float32", { N, N })
local best, naive = result.kernel, ts.build(program, target)
best(A, B, bias, out)
local clock = os.clock()         -- processor time: the naive one is serial
naive(A, B, bias, want)
local slow = os.clock() - clock
local _, relative = out:compare(want)
say("largest relative difference from the naive program: %.2g", relative)

-- OpenBLAS runs in a separate process; the two are timed alternately.
local function openblas()
  local bench = (arg[-1] or ""):match("^(.*)/bin/[^/]*$")
  local f = bench and
            io.popen(("'%s/bench/sgemm' --n %d 2>/dev/null"):format(bench, N))
  local line = f and f:read("l")
  if f then f:close() end
  if not line then return nil end
  return tonumber(line:match('"value": ([%d.]+)')),
         line:match('"core": "(%w+)"')
end

local flops = program:flops()
local args = { A, B, bias, out }
local ours, blas, core = 0, nil, nil
for _ = 1, 3 do
  ours = math.max(ours, flops / best:time(args, { min_time = 0.3 }).min * 1e-9)
  local g, c = openblas()
  if g and g > (blas or 0) then blas, core = g, c end
end

say("naive program:  %8.1f GFLOP/s", flops / slow * 1e-9)
say("found:          %8.1f GFLOP/s", ours)
if blas then
  say("OpenBLAS sgemm: %8.1f GFLOP/s (%s)  found / OpenBLAS: %.2f", blas, core,
      ours / blas)
else
  say("OpenBLAS sgemm: not here (build/bench/sgemm and libopenblas are needed)")
end
if relative > 0 then
  io.stderr:write("the result is wrong\n")
  os.exit(1)
end
say("the result is correct")
