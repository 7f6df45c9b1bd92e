-- SPDX-License-Identifier: Apache-2.0
-- The accelerator of TVM's paper (OSDI 2018, section 6.4), before VTA was
-- released: 102.4 GOP/s at 200 MHz, and an eighth of the released one's memory
-- for weights.
return require "tessera.machines".like("vta", {
  name = "vdla", clock = 200, buffer = { wgt = 32 << 10 },
})
