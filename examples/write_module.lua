-- SPDX-License-Identifier: Apache-2.0
-- For those who write schedule modules: one of a few lines, the sketches it
-- gives, what it says where it does not apply, and a run of the search.
local ts = require "tessera"
local ops = require "tessera.ops"

local split_outer = ts.module {
  name = "split_outer",
  parameters = { { "factor", 8, "iterations of the inner loop", least = 1 } },
  apply = function(sch, block, p)
    if not sch:is_spatial(block) then return nil, "not spatial" end
    local loops = { sch:get_loops(block) }
    if #loops == 0 then return nil, "no loops" end
    local outer, inner = sch:split(loops[1], { ts.auto, p.factor })
    -- Two ways to go on: the search will see both.
    local other = sch:copy()
    sch:parallel(outer)
    other:unroll(inner)
    return { sch, other }
  end,
}

local program = ops.matmul { m = 64, n = 64, k = 64, bias = true, relu = true }
local space = ts.space.compose {
  require "tessera.modules.multi_level_tiling" { write_levels = {} },
  split_outer { factor = 16 },
}
print(ts.space.explain(space, program, "llvm"))
for i, sketch in ipairs(ts.space.sketches(space, program, "llvm")) do
  print(("-- sketch %d"):format(i))
  print(sketch)
  local sch = sketch:replay(program, { seed = i })
  assert(ts.equivalent(sch, program))
end
