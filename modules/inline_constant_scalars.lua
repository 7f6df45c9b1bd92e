-- SPDX-License-Identifier: Apache-2.0
-- Folds blocks that compute one constant element into the blocks that read it
-- (MetaSchedule's InlineConstantScalars).
local ts = require "tessera"

return ts.module {
  name = "inline_constant_scalars",
  apply = function(sch, block)
    local info = sch:block_info(block)
    if info.writes ~= 1 or info.reads > 0 then
      return nil, "it is not the value of one constant"
    end
    if #sch:access_info(block, "write", 0).dims > 0 then
      return nil, "it computes more than one element"
    end
    if info.is_output then return nil, "it computes an output" end
    local ok, why = sch:can("compute_inline", block)
    if not ok then return nil, why end
    sch:compute_inline(block)
    return sch
  end,
}
