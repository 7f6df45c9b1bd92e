-- SPDX-License-Identifier: Apache-2.0
-- For every nest of the program: the outer loops in parallel, the innermost
-- spatial loop in vectors, the initialisation of a reduction in a nest of
-- its own, and the loops below unrolled up to a sampled number of steps.
-- Runs once, at the root, after tiling.
--
-- Whether parallel loops pay hangs on the work of a nest, which is counted in
-- operations and stores (`sch:work`).  The bounds are orders of magnitude: that
-- to start a team of threads and to wait for it takes some 10 microseconds, on
-- busy cores far more, and that one core does some 1 of these operations a
-- nanosecond in plain code, and some 50 in good vectors.  So a nest of less
-- work than `serial_below` is done before a team would have started, and stays
-- serial; one of `parallel_from` or more takes tens of microseconds even at
-- its best, and is parallel.  Between them, and where the work is not known
-- since sizes or data decide, measuring decides: there are two sketches, and in
-- the first one all such nests are serial.
local ts = require "tessera"
local options = require "tessera.options"

-- How many spatial loops stand outermost on the way down to the block, and
-- how many of them may be fused.
local function spatial_prefix(sch, loops)
  local n = 0
  for _, loop in ipairs(loops) do
    local info = sch:loop_info(loop)
    if info.kind ~= "serial" or info.iter_type ~= "spatial" then break end
    n = n + 1
  end
  return n
end

local function is_parallel(sch, loops)
  for _, loop in ipairs(loops) do
    if sch:loop_info(loop).kind == "parallel" then return true end
  end
  return false
end

-- Loops of the first tile level; of an untiled block, all outer spatial ones
-- but the innermost.
local function outer_loops(sch, block, loops)
  local n = spatial_prefix(sch, loops)
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

-- Are the outer loops of that nest to be parallel: "yes", "no" or "perhaps"?
local function is_worth_it(sch, nest, p)
  local work = sch:work(nest)
  if not work then return "perhaps" end
  if work < p.serial_below then return "no" end
  return work < p.parallel_from and "perhaps" or "yes"
end

-- The outer loops that can be fused into one, and that one in parallel;
-- `how` says whether loops that are perhaps worth it are to be, and whether
-- there were such.  The outermost loop of the nest.
local function parallelize(sch, block, p, how)
  local loops = { sch:get_loops(block) }
  if #loops == 0 or is_parallel(sch, loops) then return nil end
  local outer = outer_loops(sch, block, loops)
  local worth = is_worth_it(sch, loops[1], p)
  if worth == "no" or worth == "perhaps" and how.serial then return outer[1] end
  while #outer > 1 and not sch:can("fuse", table.unpack(outer)) do
    table.remove(outer)
  end
  if #outer == 0 then return nil end
  local fused = #outer > 1 and sch:fuse(table.unpack(outer)) or outer[1]
  if not sch:can("parallel", fused) then return fused end
  sch:parallel(fused)
  how.perhaps = how.perhaps or worth == "perhaps"
  return fused
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
local function first_reduction(sch, block)
  local loops = { sch:get_loops(block) }
  local tile = first_reduction_tile(sch, block, loops)
  if tile and sch:can("decompose_reduction", block, tile) then return tile end
  for _, loop in ipairs(loops) do
    if sch:loop_info(loop).iter_type ~= "spatial" then
      return sch:can("decompose_reduction", block, loop) and loop
    end
  end
end

local function has_vectors_below(sch, loop)
  for _, block in ipairs { sch:get_child_blocks(loop) } do
    for _, other in ipairs { sch:get_loops(block) } do
      if sch:loop_info(other).kind == "vectorized" then return true end
    end
  end
end

-- The innermost loop in vectors, when it is spatial; one that no tiling cut
-- to size (`cut` says whether one did) is cut here.
local function vectorize(sch, block, p, cut)
  local loops = { sch:get_loops(block) }
  local inner = loops[#loops]
  if not inner or sch:annotation(block, "innermost_reduces") or
     sch:annotation(block, "auto_tensorize") then
    return
  end
  local info = sch:loop_info(inner)
  if info.kind ~= "serial" or info.iter_type ~= "spatial" or
     has_vectors_below(sch, inner) then
    return
  end
  if not cut and info.extent and info.extent > p.vectorize_extent then
    local factors = { ts.auto, p.vectorize_extent }
    if not sch:can("split", inner, factors) then return end
    local _, vector = sch:split(inner, factors)
    inner = vector
  end
  if sch:can("vectorize", inner) then sch:vectorize(inner) end
end

local function is_tiled(sch, block)
  return sch:annotation(block, "tiling_structure") ~= nil
end

-- Every block of the program that computes, in program order.
local function leaves(sch, root)
  local list = {}
  local function visit(block)
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

-- How far the loops below are unrolled is left open: once for a loop around
-- several blocks.
local function unroll(sch, loop, p)
  local key, n, even = "pragma_auto_unroll_max_step", #p.unroll_max_steps, {}
  if n == 0 or sch:annotation(loop, key) then return end
  for i = 1, n do even[i] = 1 / n end
  sch:annotate(loop, key, sch:sample_categorical(p.unroll_max_steps, even))
end

local function schedule(sch, root, p, how)
  -- Tiled blocks first: they know how many loops are their first level.
  for _, tiled in ipairs { true, false } do
    for _, leaf in ipairs(leaves(sch, root)) do
      local outer = is_tiled(sch, leaf) == tiled and
                    parallelize(sch, leaf, p, how)
      if outer then unroll(sch, outer, p) end
    end
  end
  for _, leaf in ipairs(leaves(sch, root)) do
    local cut = is_tiled(sch, leaf) or
                sch:annotation(leaf, "tiled_like") ~= nil
    local reduction = sch:is_reduction(leaf) and first_reduction(sch, leaf)
    if reduction then
      vectorize(sch, sch:decompose_reduction(leaf, reduction), p, cut)
    end
    vectorize(sch, leaf, p, cut)
  end
  return sch
end

local function check(p)
  for _, name in ipairs { "serial_below", "parallel_from" } do
    if type(p[name]) ~= "number" then
      return ("parameter '%s' is %s: it is a number of operations")
             :format(name, options.quoted(p[name]))
    end
  end
end

return ts.module {
  name = "parallel_vectorize_unroll",
  defaults = {
    vectorize_extent = 16,        -- of loops that tiling did not cut
    unroll_max_steps = { 0, 16, 64, 512 },
    serial_below = 1 << 12,       -- work of nests that are never parallel
    parallel_from = 1 << 21,      -- and of those that always are
  },
  check = check,
  apply = function(sch, block, p)
    if sch:block_info(block).name ~= "root" then
      return nil, "it works on the root block"
    end
    local serial, how = sch:copy(), { serial = false }
    schedule(sch, block, p, how)
    if not how.perhaps then
      serial:close()
      return sch
    end
    return { schedule(serial, block, p, { serial = true }), sch }
  end,
}
