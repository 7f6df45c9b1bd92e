-- SPDX-License-Identifier: Apache-2.0
-- Small versions of ResNet-18's layers, with each way to hide latency, compute
-- what the interpreter does on VTA's machines.
local ts = require "tessera"
local here = arg[0]:gsub("[^/]*$", "")
local checks = dofile(here .. "../support/checks.lua")
local dae = dofile(here .. "../support/dae.lua")

local ran = 0
for n, layer in ipairs(dae.resnet18) do
  local name, o = table.unpack(layer)
  o = dae.small(o)
  o.bias, o.relu = n % 2 == 0, n % 3 == 0
  local p = dae.conv(o)
  local args, want = dae.tensors(p, n)
  ts.interpret(p, want)
  for _, machine in ipairs { "vta", "vdla" } do
    local target = "dae -model=" .. machine
    local list = ts.space.sketches(ts.space.default "dae", p, target)
    for i = 1 + n % 2, #list, checks.checked and 4 or 2 do
      local s = list[i]:replay(p, { resample = true, seed = 10 * n + i })
      local kernel = ts.build(s, target)
      kernel(table.unpack(args))
      assert(dae.same(args, want),
             ("%s on %s: %s"):format(name, machine, s:program()))
      assert(kernel:source "stream":find "gemm uop" and
             not kernel:source "tokens":find "race:")
      ran = ran + 1
    end
  end
end
assert(ran >= 22, ran)
