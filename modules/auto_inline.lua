-- SPDX-License-Identifier: Apache-2.0
-- Folds elementwise blocks into the blocks that read them (MetaSchedule's
-- AutoInline).
local ts = require "tessera"
local tiling = require "tessera.tiling"

-- Whether each of its reads is indexed by iters in their order, as is one of a
-- bias or of an operation on elements, or, with `rows`, by the last one last,
-- so that what lies beside each other stays so.
local function is_ordered(sch, block, rows)
  local info = sch:block_info(block)
  for r = 0, info.reads - 1 do
    local dims, before = sch:access_info(block, "read", r).dims, 0
    for _, i in ipairs(dims) do
      local stays = rows and dims[#dims] == #info.iters
      if i and i <= before and not stays then return false end
      before = i or before
    end
  end
  return true
end

-- How many iterations there are around the block; nil: not known.
local function iterations(sch, block)
  local n = 1
  for _, loop in ipairs { sch:get_loops(block) } do
    n = n and sch:extent(loop) and n * sch:extent(loop)
  end
  return n
end

-- Whether its one consumer reads each element at most that often.
local function is_read_little(sch, block, most)
  local consumers = { sch:get_consumers(block) }
  local made, read = iterations(sch, block), iterations(sch, consumers[1])
  return #consumers == 1 and made and read and read <= most * made
end

local padding = "a reduction would decide again and again what it chooses"

-- nil, or why it is better computed once.
local function why_once(sch, block, rows)
  local info, reduces = sch:block_info(block), false
  if info.reads == 0 then return nil end
  local consumers = { sch:get_consumers(block) }
  for _, consumer in ipairs(consumers) do
    reduces = reduces or sch:is_reduction(consumer)
  end
  if info.has_call and (reduces or #consumers > 1) then
    return "it calls functions that would be called again and again"
  elseif reduces and info.has_select then
    return padding
  elseif reduces and not is_ordered(sch, block, rows) then
    return "it rearranges what a reduction reads"
  end
end

-- nil, or why the block cannot be folded into those that read it.
local function into_consumers(sch, block, p)
  if sch:is_output(block) then return "it computes an output" end
  local once = p.keep and why_once(sch, block, p.rows)
  if once then return once end
  local ok, why = sch:can("compute_inline", block)
  if not ok then return why end
  sch:compute_inline(block)
end

-- Folds padding into its one consumer, which leaves out the products of it.
local function fold_padding(sch, block)
  local consumer = sch:get_consumers(block)
  sch:compute_inline(block)
  sch:annotate(consumer, "skip_zeros", 1)
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
  parameters = {
    { "into_producer", false, "a block that cannot be folded so, as one " ..
      "that computes an output, is folded into its only producer" },
    { "keep", false, "blocks are left alone that would be computed again " ..
      "and again: padding and rearrangements that a reduction reads, and " ..
      "exp and its like where several blocks or a reduction read them " ..
      "(MetaSchedule's disallow_if_then_else, require_ordered, disallow_op)" },
    { "again", 16, "padding that a reduction reads at most so many times an " ..
      "element, as a depthwise convolution does, is folded into it in a " ..
      "sketch, and left alone in another", least = 1 },
    { "rows", false, "rearrangements that move rows as wholes are folded, " ..
      "too" },
  },
  apply = function(sch, block, p)
    if not sch:is_spatial(block) then
      return nil, sch:is_output(block) and "it computes an output" or
                  "it is a reduction"
    end
    if sch:annotation(block, "inline_rule") == '"disable"' then
      return nil, "it is not to be inlined"
    end
    if is_bound(sch, block) then return nil, "it is bound to threads" end
    local why = into_consumers(sch, block, p)
    if why == padding and is_read_little(sch, block, p.again) then
      local folded, no = tiling.attempt(sch, fold_padding, block)
      return folded and { folded, sch } or nil, no
    end
    if why and p.into_producer then why = into_producer(sch, block) end
    if why then return nil, why end
    return sch
  end,
}
