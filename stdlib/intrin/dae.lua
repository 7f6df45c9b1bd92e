-- SPDX-License-Identifier: Apache-2.0
-- The matrix unit of decoupled access-execute machines.  Copies between memory
-- and the chip, and arithmetic on accumulators, need no intrinsic: loops over
-- them become transfers and operations of the vector unit.
local kit = require "tessera.intrin.kit"

local dae = {}

-- The products of a machine whose call is `call`, of k by n elements, in the
-- scopes of the chip.
local function product(call, k, n)
  return {
    name = ("%s_%dx%d"):format(call, k, n), family = "dae", kind = "dae",
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

-- Declares that of a machine's table, made from it where none of those below
-- is; gives its name.
function dae.declare(machine)
  local unit = machine.matrix
  return kit.once(product(unit.call, unit.k, unit.n))
end

kit.enter(product("dae_gemm", 16, 16))
kit.enter(product("gemmini_compute", 16, 16))

return dae
