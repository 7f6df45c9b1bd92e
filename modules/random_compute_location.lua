-- SPDX-License-Identifier: Apache-2.0
-- Chooses at which loop of its consumers a block is computed, for blocks that
-- no tiling placed (MetaSchedule's RandomComputeLocation).  Where a block's
-- reduction was split by rfactor, the partial results have a place of their
-- own.
local ts = require "tessera"
local nests = require "tessera.steps.nests"
local reductions = require "tessera.steps.reductions"

local function compute_somewhere(sch, block)
  sch:compute_at(block, sch:sample_compute_location(block),
                 { preserve_unit_loops = true })
end

-- How many times each element that the consumer reads of the block is computed
-- when the block is under loop number n of the consumer; nil: not known.
local function times(sch, block, consumer, loops, n)
  local buffer, iterations = sch:access_info(block, "write", 0).buffer, 1
  for i = 1, n do
    iterations = iterations * (sch:extent(loops[i]) or 1)
  end
  for r = 0, sch:block_info(consumer).reads - 1 do
    if sch:access_info(consumer, "read", r).buffer == buffer then
      local part = sch:footprint(consumer, "read", r, loops[n])
      local all = sch:footprint(block, "write", 0)
      return part and all and part * iterations / all, iterations
    end
  end
end

-- The loops of the consumer where the block can be, from the innermost out;
-- whether it is computed just once under the innermost; and whether there is
-- also work for all cores around that.
local function places_of(sch, block, p)
  local places, once, enough = {}, nil, nil
  local consumer = sch:get_consumers(block)
  local loops, target = { sch:get_loops(consumer) }, sch:target()
  local cores = target and target:get "num-cores" or 1
  for n, loop in ipairs(loops) do
    if sch:loop_info(loop).iter_type ~= "spatial" then break end
    local again, iterations = times(sch, block, consumer, loops, n)
    if sch:can("compute_at", block, loop) and
       not (again and again > p.again) then
      table.insert(places, 1, loop)
      once = again and again <= 1
      enough = once and iterations >= 4 * cores
    end
  end
  return places, once, enough
end

local function move(sch, block, loop)
  sch:compute_at(block, loop, { preserve_unit_loops = true })
end

-- The schedule, and a copy for each loop of the consumer where the block can
-- be.
local function compute_everywhere(sch, block, p)
  local places, _, enough = places_of(sch, block, p)
  local list = { not (p.fuse and enough) and sch or nil }
  for i = 1, math.min(#places, p.most) do
    local copy = sch:copy()
    move(copy, block, places[i])
    list[#list + 1] = copy
  end
  return list, #places
end

-- Why it is not to be moved; nil: it is.
local function refusal(sch, block)
  local loops = { sch:get_loops(block) }
  if #loops == 0 then return "it has no loops" end
  if #{ sch:get_child_blocks(loops[1]) } > 1 then
    return "it shares its outermost loop with other blocks"
  end
  if sch:annotation(block, "tiling_structure") then return "it is tiled" end
  if sch:annotation(block, "layout_prepare") then
    return "it lays a parameter out, beforehand"
  end
  if #{ sch:get_consumers(block) } == 0 then return "nothing reads it" end
end

-- ---- all blocks of a program at once ---------------------------------------

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
    if not refusal(sch, block) then
      local places, once, enough = places_of(sch, block, p)
      local kind = kind_of(sch, block)
      local sure = p.fuse and (enough or once and kind == "sum" and not small)
      if places[1] and (sure or wanted[kind]) then
        move(sch, block, places[1])
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
local function compute_together(sch, p)
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

-- The partial results of a split reduction are a block of their own, for which
-- the module is called, too.
local function move_open(sch, block)
  if sch:annotation(block, "random_compute_producer") then
    sch:unannotate(block, "random_compute_producer")
  end
  compute_somewhere(sch, block)
  return sch
end

return ts.module {
  name = "random_compute_location",
  parameters = {
    { "open", true, "the location is sampled, so that how many loops are " ..
      "around the block is not known afterwards: it must be the last module " ..
      "that looks at loops; else each location is a sketch of its own: " ..
      "where the block is, and under each spatial loop of its consumer, " ..
      "from the innermost out" },
    { "most", 1, "loops under which there are sketches", least = 1 },
    { "again", 2, "not where it would be computed more times than that",
      type = "number", least = 1 },
    { "fuse", false, "where it is computed just once, and the loops around " ..
      "it leave work for all cores, it is not left where it is" },
    { "together", false, "a sketch is a choice for all blocks of the " ..
      "program, made at the root: none moves, all do under the innermost " ..
      "loop that can have them, only those that make partial results, or " ..
      "only the others; `open` and `most` do not apply" },
    { "sums_from", 0, "with `together` and `fuse` blocks that add up a few " ..
      "partial results also move for sure where they are computed just " ..
      "once, in programs of work (`sch:work`) from this on", least = 0 },
  },
  apply = function(sch, block, p)
    if p.together then
      if sch:block_info(block).name ~= "root" then
        return nil, "it works on the root block"
      end
      return compute_together(sch, p)
    end
    local why = refusal(sch, block)
    if why then return nil, why end
    if p.open then return move_open(sch, block) end
    local list, places = compute_everywhere(sch, block, p)
    if places == 0 then return nil, "no loop of its consumer can have it" end
    return list
  end,
}
