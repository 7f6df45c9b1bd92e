-- SPDX-License-Identifier: Apache-2.0
-- Operators: each function takes tensors and gives tensors, or takes a table of
-- options and gives a program.  The families are in ops/, where each operator
-- is declared with its tensors, its options and its page.
local declare = require "tessera.ops.declare"

require "tessera.ops.apply"

for _, family in ipairs { "dense", "conv", "conv_transpose", "winograd",
                          "attention", "norm", "softmax", "loss", "pool",
                          "resize", "reduce", "elementwise", "move", "gather",
                          "scatter", "sort", "quantize", "quantized",
                          "sample", "deform", "state",
                          "gated", "create", "einsum",
                          "recurrent", "stencil", "linear", "fourier" } do
  require("tessera.ops." .. family)
end

local ops = declare.ops
for name, f in pairs(require "tessera.ops.suite") do ops[name] = f end
local options = require "tessera.lang.options"
return options.refuse_unknown(ops, "there is no operator")
