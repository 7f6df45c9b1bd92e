-- SPDX-License-Identifier: Apache-2.0
-- Folds elementwise blocks into the blocks that read them (MetaSchedule's
-- AutoInline).
--
-- `into_producer`: folds a block that cannot be folded so, as one that
-- computes an output, into its only producer.
local ts = require "tessera"
local options = require "tessera.options"

-- nil, or why the block cannot be folded into those that read it.
local function into_consumers(sch, block)
  if sch:is_output(block) then return "it computes an output" end
  local ok, why = sch:can("compute_inline", block)
  if not ok then return why end
  sch:compute_inline(block)
end

-- Whether threads run it together, as they fill shared memory.
local function is_bound(sch, block)
  for _, loop in ipairs { sch:get_loops(block) } do
    if sch:loop_info(loop).kind == "thread" then return true end
  end
end

local function into_producer(sch, block)
  local producers = { sch:get_producers(block) }
  if #producers ~= 1 then return "it has no or several producers" end
  local ok, why = sch:can("reverse_compute_inline", block)
  if not ok then return why end
  sch:reverse_compute_inline(block)
end

return ts.module {
  name = "auto_inline",
  defaults = { into_producer = false },
  check = function(p)
    if type(p.into_producer) ~= "boolean" then
      return options.unusable("into_producer", p.into_producer,
                              "it is true or false")
    end
  end,
  apply = function(sch, block, p)
    if not sch:is_spatial(block) then
      return nil, sch:is_output(block) and "it computes an output" or
                  "it is a reduction"
    end
    if sch:annotation(block, "inline_rule") == '"disable"' then
      return nil, "it is not to be inlined"
    end
    if is_bound(sch, block) then return nil, "it is bound to threads" end
    local why = into_consumers(sch, block)
    if why and p.into_producer then why = into_producer(sch, block) end
    if why then return nil, why end
    return sch
  end,
}
