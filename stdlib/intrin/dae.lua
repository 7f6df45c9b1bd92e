-- SPDX-License-Identifier: Apache-2.0
-- The matrix unit of decoupled access-execute machines.  Copies between memory
-- and the chip, and arithmetic on accumulators, need no intrinsic: loops over
-- them become transfers and operations of the vector unit.
local kit = require "tessera.intrin.kit"

-- The products of a machine whose call is `call`, of k by n elements, in the
-- scopes of the chip.
local function enter_product(name, call, k, n)
  kit.enter {
    name = name, family = "dae", kind = "dae",
    summary = ("int32[%d] += int8[%d] . int8[%d, %d], in the buffers of the " ..
               "machine"):format(n, k, n, k),
    desc = function()
      return kit.product {
        n = n, k = k, dtype = "int8", acc = "int32", trans = true,
        scopes = { "local.inp_buffer", "local.wgt_buffer",
                   "local.acc_buffer" } }
    end,
    impl = function() return call .. "(A, B, C)" end,
  }
end

enter_product("dae_gemm_16x16", "dae_gemm", 16, 16)
enter_product("gemmini_compute_16x16", "gemmini_compute", 16, 16)
