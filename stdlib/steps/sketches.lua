-- SPDX-License-Identifier: Apache-2.0
-- The sketches of multi-level tiling: tiles, and copies under their levels.
local attempts = require "tessera.steps.attempts"
local copies = require "tessera.steps.copies"
local divisors = require "tessera.steps.divisors"
local machine = require "tessera.steps.machine"
local sampling = require "tessera.steps.sampling"
local tiles = require "tessera.steps.tiles"
local sketches = {}

-- The threads of each level that is bound to some, and their number.
local function threads_of(p, facts)
  for level, axis in ipairs(p.tile_binds) do
    if axis:find "^threadIdx" then
      return axis, tiles.product(facts.sizes[level])
    end
  end
end

local function annotate_threads(sch, block, p)
  local spatial, extents = 1, {}
  for _, loop in ipairs { sch:get_loops(block) } do
    local info = sch:loop_info(loop)
    if info.iter_type == "spatial" then
      extents[#extents + 1] = info.extent or 1
      spatial = spatial * (info.extent or 1)
    end
  end
  local range = p.threads_per_block or {}
  local most = divisors.greatest(divisors.combinations(
    extents, range[2] or p.max_threads))
  local least = math.min(32, most)
  sch:annotate(block, "thread_extent_low_inclusive",
               spatial > 64 and least or 1)
  sch:annotate(block, "thread_extent_high_inclusive", p.max_threads)
end

-- Bytes of an element that the copy writes.
local function element_bytes(sch, copy)
  return machine.bits(sch:access_info(copy, "write", 0).dtype) // 8
end

-- Those of the lengths of vectors that a thread loads at once of the copy.
local function fitting(sch, copy, lengths)
  local bytes, list = element_bytes(sch, copy), {}
  for _, n in ipairs(lengths) do
    if n * bytes <= 16 then list[#list + 1] = n end
  end
  return list
end

-- How many elements of the copy are so many bytes, one at least.
function sketches.vectors(sch, copy, sizes)
  local bytes, list = element_bytes(sch, copy), {}
  for i, n in ipairs(sizes) do list[i] = math.max(1, n // bytes) end
  return list
end

-- Copies all that the block reads and does not write, under that loop.
local function copy_reads(sch, block, p, loop, facts)
  local result = sch:access_info(block, "write", 0).buffer
  local axis, threads = threads_of(p, facts)
  for r = 0, sch:block_info(block).reads - 1 do
    if sch:access_info(block, "read", r).buffer ~= result then
      local copy = sch:cache_read(block, r, p.read_scope,
                                  { consumer_blocks = { block } })
      sch:compute_at(copy, loop, { preserve_unit_loops = true })
      if axis then
        copies.fetch_together(sch, copy, axis, threads,
                              fitting(sch, copy, p.vector_load_lens))
      end
    end
  end
end

-- Whether there is a sketch in which what is copied under this level is on its
-- way some iterations ahead.
local function runs_ahead(p, level)
  return p.stages and #p.stages > 0 and p.structure:sub(level, level) == "R"
end

-- The loops of the level, fused, copy as many iterations ahead as there are
-- buffers, of whose numbers in p.stages one is sampled.
local function run_ahead(sch, loops, p)
  local loop = tiles.fuse(sch, loops)
  local last, stage, order = sampling.any(sch, p.stages) - 1, {}, {}
  for i = 1, #{ sch:get_child_blocks(loop) } do
    stage[i], order[i] = 0, i - 1
  end
  stage[#stage] = last
  sch:annotate(loop, "software_pipeline_stage", stage)
  sch:annotate(loop, "software_pipeline_order", order)
  sch:annotate(loop, "software_pipeline_async_stages", { 0 })
end

-- All sketches of multi-level tiling with the parameters of the module of that
-- name, and a text of what is left out of them (nil: nothing is), and
-- the loops of each level.
function sketches.sketches(sch, block, p, cut, first, after)
  if #p.tile_binds > 0 then annotate_threads(sch, block, p) end
  local levels, facts = tiles.tile(sch, block, p, cut, first, after)
  sch:annotate(block, "tiling_structure", p.structure)
  tiles.bind(sch, levels, p.tile_binds)
  local list, out = { sch }, {}
  local function left_out(what, why)
    out[#out + 1] = ("no %s: %s"):format(what, why)
  end
  for _, level in ipairs(p.write_levels) do
    local written, why = copies.write_back(
      sch, block, tiles.last(levels, level), facts.inner, p.write_scope)
    list[#list + 1] = written
    if not written then left_out("write level " .. level, why) end
  end
  if p.write_must and #list > 1 then table.remove(list, 1) end
  for n = 1, #list do
    for _, level in ipairs(p.read_levels) do
      local read, why = attempts.attempt(list[n], copy_reads, block, p,
                                       tiles.last(levels, level), facts)
      if read and p.read_must == false then table.insert(list, read)
      else list[n] = read or list[n] end
      if not read then left_out("read level " .. level, why) end
      local ahead = read and runs_ahead(p, level) and attempts.attempt(
        read, run_ahead, levels[level], p)
      if ahead then table.insert(list, ahead) end
    end
  end
  if p.pack then
    local under = tiles.last(levels, p.structure:find("R", 1, true))
    local last = list[#list]
    list[#list + 1] = copies.pack(last, block, copies.packable(last, block),
                                  under, facts.inner, p.pack_scope or "global",
                                  left_out)
  end
  return list, #out > 0 and table.concat(out, "; ") or nil, levels
end

return sketches
