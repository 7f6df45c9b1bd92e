-- SPDX-License-Identifier: Apache-2.0
-- A machine of Gemmini's kind: weights are preloaded into a systolic array,
-- through which rows of inputs pass, and the hardware finds dependences, in
-- a window of a few instructions.  Sizes are those of Gemmini's default
-- configuration, whose scratchpad is shared by inputs and weights; times are
-- round numbers.  docs/dae.md has the differences.
return {
  name = "gemmini", clock = 1000, fetch = 4,
  matrix = { k = 16, n = 16, interval = 1, depth = 32, preload = 16,
             call = "gemmini_compute" },
  vector = { interval = 1, depth = 8 },
  buffer = { inp = 128 << 10, wgt = 128 << 10, acc = 64 << 10,
             uop = 32 << 10 },
  store = { acc = 1 },
  queue = { load = 8, compute = 16, store = 4 },
  tokens = 0,
  memory = { bus = 16, latency = 100, burst = 1, beats = 4, priority = 0 },
  word = { load = "mvin", store = "mvout", gemm = "compute",
           finish = "fence", alu = "accumulate", preload = "preload" },
}
