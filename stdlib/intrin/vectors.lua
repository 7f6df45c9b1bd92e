-- SPDX-License-Identifier: Apache-2.0
-- Products of tiles by vectors, as every processor has them.
local kit = require "tessera.intrin.kit"

kit.enter {
  name = "dot_16x4", family = "vectors", kind = "llvm",
  summary = "int32[16] += uint8[4] . int8[16, 4], by vectors of columns",
  desc = function()
    return kit.product { n = 16, k = 4, dtype = "uint8", dtype_b = "int8",
                         acc = "int32", trans = true }
  end,
  impl = kit.by_columns,
}
