-- SPDX-License-Identifier: Apache-2.0
-- Labels: slow
-- Operators as older operator sets of ONNX had them, through interpreter, plain
-- and scheduled kernels (tests/data/onnx_versions.data).
local here = arg[0]:gsub("[^/]*$", "")
package.path = here .. "../../bench/?.lua;" .. package.path
local run = require "onnx_nodes.run"

for _, c in ipairs(dofile(here .. "../data/onnx_versions.data")) do
  local status, why = run(c)
  if status ~= "passed" then error(c.name .. ": " .. why, 0) end
end
