-- SPDX-License-Identifier: Apache-2.0
-- Folds elementwise blocks into the blocks that read them.
local ts = require "tessera"

return ts.module {
  name = "auto_inline",
  apply = function(sch, block)
    if sch:is_output(block) then return nil, "it computes an output" end
    if not sch:is_spatial(block) then return nil, "it is a reduction" end
    local ok, why = sch:can("compute_inline", block)
    if not ok then return nil, why end
    sch:compute_inline(block)
    return sch
  end,
}
