-- SPDX-License-Identifier: Apache-2.0
-- Labels: slow
-- Random chains of operators through interpreter, plain and scheduled kernels,
-- and a block of a transformer, tuned; bench/chains.lua does more of them.
--   tessera tests/lua/ops_chains.lua [COUNT [SEED]]
local ts = require "tessera"
local here = arg[0]:gsub("[^/]*$", "")
package.path = here .. "../../bench/?.lua;" .. package.path
local chain = require "chains.chain"
local scheduled = require "support.scheduled"

local first = tonumber(arg[2] or 1)
for seed = first, first + tonumber(arg[1] or 40) - 1 do
  local program, names = chain.random(seed)
  local want = chain.arguments(program, seed)
  ts.interpret(program, want)
  for _, form in ipairs { program, scheduled(program, seed) } do
    local got = chain.arguments(program, seed)
    ts.build(form, "llvm")(table.unpack(got))
    local where = chain.difference(want, got)
    if where then error(("seed %d, %s: %s"):format(seed, names, where), 0) end
  end
end

-- 24 operators as one program.
local block = chain.transformer(6, 8, 2)
local result = ts.tune(block, {
  trials = 2, seed = 1, check = "all", min_time = 0.0001,
  inputs = chain.inputs(block, 1), progress = function() end })
assert(result.classes == '{"OK": 2}', result.classes)
