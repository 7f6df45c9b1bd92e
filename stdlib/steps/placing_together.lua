-- SPDX-License-Identifier: Apache-2.0
-- Where the blocks of a program are computed, chosen for all at once.
local nests = require "tessera.steps.nests"
local placing = require "tessera.steps.placing"
local reductions = require "tessera.steps.reductions"

-- "sum": it adds up a few partial results; "partial": it makes some of what is
-- given; else "other".
local function kind_of(sch, block)
  if sch:annotation(block, "random_compute_producer") then return "sum" end
  if not reductions.makes_partials(sch, block) then return "other" end
  for _, producer in ipairs { sch:get_producers(block) } do
    if reductions.makes_partials(sch, producer) then return "other" end
  end
  return "partial"
end

local function is_small(sch, root, p)
  local work = sch:work(root)
  return work and work < p.sums_from
end

-- Moves blocks, consumers before producers: of the kinds that are to be, and
-- those that are computed once where they go if they add up a few elements or
-- leave work for all cores.  The names of all of them.
local function move_kinds(sch, wanted, p)
  local root, moved = sch:get_block "root", {}
  local leaves, small = nests.leaves(sch, root), is_small(sch, root, p)
  for i = #leaves, 1, -1 do
    local block = sch:get_block(sch:block_info(leaves[i]).name)
    if not placing.refusal(sch, block) then
      local places, once, enough = placing.places(sch, block, p)
      local kind = kind_of(sch, block)
      local sure = p.fuse and (enough or once and kind == "sum" and not small)
      if places[1] and (sure or wanted[kind]) then
        placing.move(sch, block, places[1])
        moved[#moved + 1] = sch:block_info(block).name
      end
    end
  end
  return table.concat(moved, ", ")
end

local choices = {
  {}, { partial = true, sum = true, other = true }, { partial = true },
  { sum = true, other = true },
}

-- A schedule for each choice of kinds that moves other blocks than the choices
-- before.
return function(sch, p)
  local list, names, seen = {}, {}, {}
  for _, wanted in ipairs(choices) do
    local copy = sch:copy()
    local moved = move_kinds(copy, wanted, p)
    if not seen[moved] then
      list[#list + 1] = copy
      names[#names + 1] = moved == "" and "none" or moved
    else
      copy:close()
    end
    seen[moved] = true
  end
  if #list == 1 and names[1] == "none" then
    return nil, "no block can be under a loop of its consumer"
  end
  return list, "moved: " .. table.concat(names, "; ")
end
