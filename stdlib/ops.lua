-- SPDX-License-Identifier: Apache-2.0
-- Operators: each function takes one table and returns a program.  The families
-- are in ops/, where each operator is declared with its options and its page.
local declare = require "tessera.ops.declare"

for _, family in ipairs { "dense", "conv", "winograd", "attention", "norm",
                          "pool", "reduce", "elementwise", "move", "gather",
                          "quantize", "stencil", "linear", "fourier" } do
  require("tessera.ops." .. family)
end

local ops = declare.ops
for name, f in pairs(require "tessera.ops.suite") do ops[name] = f end
return ops
