-- SPDX-License-Identifier: Apache-2.0
-- A program scheduled by a candidate of some modules of the default space,
-- drawn from the seed on.
local ts = require "tessera"

local space = ts.space.compose {
  require "tessera.modules.auto_inline" {},
  require "tessera.modules.multi_level_tiling" {},
  require "tessera.modules.parallel_vectorize_unroll" {},
}

return function(program, first)
  local sketches = ts.space.sketches(space, program, "llvm")
  for seed = first or 0, (first or 0) + 31 do
    local t = sketches[(#sketches // 2 + seed) % #sketches + 1]
    local ok, sch = pcall(t.replay, t, program, { resample = true,
                                                  seed = seed })
    if ok then return sch end
  end
  error "no candidate holds"
end
