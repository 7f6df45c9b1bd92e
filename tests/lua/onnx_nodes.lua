-- SPDX-License-Identifier: Apache-2.0
-- Labels: slow
-- Some of ONNX's own node cases (tests/data/onnx_nodes.data), from their files
-- through interpreter, plain and scheduled kernels; bench/onnx_nodes/run runs
-- all.
local here = arg[0]:gsub("[^/]*$", "")
package.path = here .. "../../bench/?.lua;" .. package.path
local run = require "onnx_nodes.run"
local cases = dofile(here .. "../data/onnx_nodes.data")

local passed, missing = 0, {}
for _, c in ipairs(cases) do
  local status, why = run(c)
  if status == "WRONG" then
    error(("%s (%s): %s"):format(c.name, c.op, why), 0)
  elseif status == "passed" then
    passed = passed + 1
  else
    missing[#missing + 1] = c.name .. ": " .. why
  end
end
print(("%d of %d cases passed, %d have no operator or type"):format(passed,
      #cases, #missing))
if arg[1] then print(table.concat(missing, "\n")) end
assert(passed >= 240)
