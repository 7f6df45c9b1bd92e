-- SPDX-License-Identifier: Apache-2.0
-- What modules ask of loop nests: which loops stand outermost, where a
-- reduction starts, what is below a loop.
local nests = {}

-- How many spatial loops stand outermost on the way down to the block, and
-- how many of them may be fused.
function nests.spatial_prefix(sch, loops)
  local n = 0
  for _, loop in ipairs(loops) do
    local info = sch:loop_info(loop)
    if info.kind ~= "serial" or info.iter_type ~= "spatial" then break end
    n = n + 1
  end
  return n
end

-- How many loops stand outermost around the block that spatial iters drive,
-- bound to threads or not.
function nests.spatial_loops(sch, block)
  local n = 0
  for _, loop in ipairs { sch:get_loops(block) } do
    if sch:loop_info(loop).iter_type ~= "spatial" then break end
    n = n + 1
  end
  return n
end

-- The loop of the list that is bound to that axis; nil: none is.
function nests.bound_to(sch, loops, axis)
  for _, loop in ipairs(loops) do
    if sch:loop_info(loop).thread == axis then return loop end
  end
end

-- The innermost of the consumer's loops, from the outermost on, under which the
-- block can be computed: spatial ones stand around it, and other consumers are
-- under it, too.
function nests.place(sch, block, loops)
  local found
  for _, loop in ipairs(loops) do
    if sch:loop_info(loop).iter_type ~= "spatial" or
       not sch:can("compute_at", block, loop) then
      break
    end
    found = loop
  end
  return found
end

-- As many of the loops, from the first on, as can be fused, as one; nil: the
-- list is empty.
function nests.fuse(sch, loops)
  local n = #loops
  while n > 1 and not sch:can("fuse", table.unpack(loops, 1, n)) do
    n = n - 1
  end
  return n > 1 and sch:fuse(table.unpack(loops, 1, n)) or loops[1]
end

-- Loops of the first tile level; of an untiled block, all outer spatial ones
-- but the innermost.
function nests.outer_loops(sch, block, loops)
  local n = nests.spatial_prefix(sch, loops)
  local structure = sch:annotation(block, "tiling_structure")
  if structure then
    local spatial = 0
    for _, kind in ipairs(sch:block_info(block).iters) do
      if kind == "spatial" then spatial = spatial + 1 end
    end
    n = math.min(n, spatial)
  elseif n == #loops and n > 1 then
    n = n - 1
  end
  return { table.unpack(loops, 1, n) }
end

-- Whether some loop of the list is parallel, or threads run it.
function nests.is_parallel(sch, loops)
  for _, loop in ipairs(loops) do
    local kind = sch:loop_info(loop).kind
    if kind == "parallel" or kind == "thread" then return true end
  end
  return false
end

-- The first loop of the first level of reduction loops that tiling made: so
-- many loops from the innermost on.  Whether it drives the reduction depends
-- on the tile sizes, of which 1 may be drawn.
local function first_reduction_tile(sch, block, loops)
  local structure, n = sch:annotation(block, "tiling_structure"), 0
  local levels = structure and structure:match "^\"S*(R[SR]*)\"$"
  if not levels then return nil end
  for _, kind in ipairs(sch:block_info(block).iters) do
    local letter = kind == "reduce" and "R" or "S"
    n = n + select(2, levels:gsub(letter, ""))
  end
  return loops[#loops - n + 1]
end

-- The reduction's first loop, at which its initialisation can be taken out;
-- nil: there is none.
function nests.first_reduction(sch, block)
  local loops = { sch:get_loops(block) }
  local tile = first_reduction_tile(sch, block, loops)
  if tile and sch:can("decompose_reduction", block, tile) then return tile end
  for _, loop in ipairs(loops) do
    if sch:loop_info(loop).iter_type ~= "spatial" then
      return sch:can("decompose_reduction", block, loop) and loop
    end
  end
end

-- Whether a loop around some block below the loop is in vectors.
function nests.has_vectors_below(sch, loop)
  for _, block in ipairs { sch:get_child_blocks(loop) } do
    for _, other in ipairs { sch:get_loops(block) } do
      if sch:loop_info(other).kind == "vectorized" then return true end
    end
  end
end

-- Every block of the program that computes, in program order, but for those
-- that ask to be left as they are.
function nests.leaves(sch, root)
  local list = {}
  local function visit(block)
    if (sch:annotation(block, "schedule_rule") or ""):find "^\"?None" then
      return
    end
    local children = { sch:get_child_blocks(block) }
    if #children == 0 or sch:annotation(block, "auto_tensorize") then
      list[#list + 1] = block
      return
    end
    for _, child in ipairs(children) do visit(child) end
  end
  visit(root)
  return list
end

return nests
