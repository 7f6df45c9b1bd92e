-- SPDX-License-Identifier: Apache-2.0
-- The accelerator of TVM's paper (OSDI 2018, section 6.4), before VTA was
-- released: 102.4 GOP/s at 200 MHz, and an eighth of the released one's memory
-- for weights.
return {
  name = "vdla", clock = 200, fetch = 1,
  matrix = { k = 16, n = 16, interval = 1, depth = 8, preload = 0,
             call = "dae_gemm" },
  vector = { interval = 2, depth = 8 },
  buffer = { inp = 32 << 10, wgt = 32 << 10, acc = 128 << 10,
             uop = 32 << 10 },
  store = { acc = 0 },
  queue = { load = 512, compute = 512, store = 512 },
  tokens = 512,
  memory = { bus = 8, latency = 64, burst = 2, beats = 256, priority = 0 },
  word = { load = "load", store = "store", gemm = "gemm", finish = "finish",
           alu = "alu", preload = "preload" },
}
