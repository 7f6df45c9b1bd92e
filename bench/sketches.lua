-- SPDX-License-Identifier: Apache-2.0
-- Writes, for the benches in C, a program and its sketches:
--   tessera bench/sketches.lua FOLDER tiling|default N
-- FOLDER/matmul.program and FOLDER/matmul.<k>.json, for an N x N x N product
local ts = require "tessera"
local ops = require "tessera.ops"

local folder, space, n = arg[1], arg[2], math.tointeger(tonumber(arg[3]))
assert(folder and space and n, "usage: sketches.lua FOLDER tiling|default N")

local program = ops.matmul { m = n, n = n, k = n }
local spaces = {
  tiling = ts.space.compose {
    require "modules.multi_level_tiling" {},
    require "modules.parallel_vectorize_unroll" {},
  },
  default = ts.space.default "llvm",
}
program:save(folder .. "/matmul.program")
for k, sketch in ipairs(ts.space.sketches(spaces[space], program, "llvm")) do
  local f <close> = assert(io.open(("%s/matmul.%d.json"):format(folder, k),
                                   "w"))
  f:write(sketch:json())
end
