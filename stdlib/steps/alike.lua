-- SPDX-License-Identifier: Apache-2.0
-- Reductions of a program that are alike: which they are, and the same done to
-- each.
local attempts = require "tessera.steps.attempts"
local nests = require "tessera.steps.nests"
local reductions = require "tessera.steps.reductions"
local alike = {}

-- How many spatial and how many other iterations there are.
function alike.iterations(sch, block)
  local kinds, n, others = sch:block_info(block).iters, 1, 1
  for i, loop in ipairs { sch:get_loops(block) } do
    local extent = sch:extent(loop) or 1
    if kinds[i] == "spatial" then n = n * extent
    else others = others * extent end
  end
  return n, others
end

-- Whether it adds up partial results, or makes some that are added up.
function alike.is_split(sch, block)
  return sch:annotation(block, "random_compute_producer") or
         sch:annotation(block, "innermost_reduces") or
         sch:annotation(block, "tiled_like")
end

-- The names of the reductions of the program that have as many iterations of
-- each kind, in the order in which modules are applied to them.
function alike.names(sch, block, most, along)
  local rows, length = alike.iterations(sch, block)
  local list, leaves = {}, nests.leaves(sch, (sch:get_block "root"))
  for i = #leaves, 1, -1 do
    local leaf = leaves[i]
    if reductions.needs_parts(sch, leaf, most, along) and
       not alike.is_split(sch, leaf) then
      local n, others = alike.iterations(sch, leaf)
      if n == rows and others == length then
        list[#list + 1] = sch:block_info(leaf).name
      end
    end
  end
  return list
end

-- A copy on which form(copy, block, p) was, for as many blocks of the group as
-- that is possible for; nil and why it is for none.
function alike.each(sch, group, form, p)
  local made, why
  for _, block in ipairs(group) do
    local next, no = attempts.attempt(made or sch, form, block, p)
    if next then made = next else why = why or no end
  end
  return made, why
end

return alike
