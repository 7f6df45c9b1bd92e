-- SPDX-License-Identifier: Apache-2.0
-- VTA as its repository configures it for a PYNQ board (apache/tvm-vta,
-- config/pynq_sample.json and hw_spec.h): a matrix unit of [1, 16] by [16, 16]
-- bytes a cycle, explicit tokens.  What the repository does not say, times of
-- the memory, is a Zynq's: docs/dae.md.
return {
  name = "vta", clock = 100, fetch = 1,
  matrix = { k = 16, n = 16, interval = 1, depth = 8, preload = 0,
             call = "dae_gemm" },
  vector = { interval = 2, depth = 8 },
  buffer = { inp = 32 << 10, wgt = 256 << 10, acc = 128 << 10,
             uop = 32 << 10 },
  store = { acc = 0 },
  queue = { load = 512, compute = 512, store = 512 },
  tokens = 512,
  memory = { bus = 8, latency = 64, burst = 2, beats = 256, priority = 0 },
  word = { load = "load", store = "store", gemm = "gemm", finish = "finish",
           alu = "alu", preload = "preload" },
}
