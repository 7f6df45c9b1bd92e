-- SPDX-License-Identifier: Apache-2.0
-- Tiling of products for a decoupled access-execute machine: a block that its
-- matrix unit can do is cut into tiles, whose sums stay in accumulators, and
-- the operands of a part of each sum are copied to the buffers on the chip.
-- What is done to the sums follows in the vector unit, and padding in the
-- copies.  Latency is hidden by two virtual threads along one loop, by a
-- software pipeline of the copies and products of a tile, by both, by a
-- pipeline of whole tiles, whose sums are not cut, or not at all: a sketch
-- each.
--
-- `hiding`: which of these: "none", "vthread", "pipeline", "both", "tiles".
-- `threaded`: how many loops virtual threads are tried along, outermost first.
-- `intrin`: the tensor intrinsic of the matrix unit.
local ts = require "tessera"
local intrin = require "tessera.intrin"
local machines = require "tessera.machines"
local options = require "tessera.options"
local tiling = require "tessera.tiling"

local INP, WGT, ACC = "local.inp_buffer", "local.wgt_buffer", "local.acc_buffer"

-- The operands that are read: which is indexed by the last spatial iter, which
-- the columns of the weights are, and which is not.
local function operands(sch, block)
  local info = sch:block_info(block)
  if info.reads ~= 2 then return nil, "it does not read two buffers" end
  local lane
  for i, kind in ipairs(info.iters) do
    if kind == "spatial" then lane = i end
  end
  local found = {}
  for r = 0, 1 do
    local access = sch:access_info(block, "read", r)
    if access.dtype ~= "int8" then return nil, "it multiplies no int8" end
    local has = sch:access(block, "read", r)[lane]
    found[has and "wgt" or "inp"] = r
  end
  if not found.wgt or not found.inp then
    return nil, "the last spatial iter is not that of the weights alone"
  end
  return found
end

-- The last spatial and the last reduction loop are the matrix unit's.
local function unfit(sch, block, machine)
  local why = tiling.unfit(sch, block, "SR")
  if why then return why end
  local loops = { sch:get_loops(block) }
  local letters = tiling.letters(sch, block, loops)
  local last = {}
  for i, l in ipairs(loops) do last[letters[i]] = sch:extent(l) end
  if last.S ~= machine.matrix.n or last.R ~= machine.matrix.k then
    return ("its last loops are no %d x %d of the matrix unit"):format(
      machine.matrix.n, machine.matrix.k)
  end
end

-- What follows the sums, as one block that stores: inlined, but for the last;
-- a copy where nothing follows.  What else it reads is copied to accumulators
-- under the loop that `place` gives.
local function epilogue(sch, block)
  local last = sch:get_consumers(block)
  if not last then return sch:cache_write(block, 0, ACC) end
  sch:set_scope(block, 0, ACC)
  local next = sch:get_consumers(last)
  while next do
    sch:compute_inline(last)
    last, next = next, sch:get_consumers(next)
  end
  return last
end

local function read_too(sch, last, block)
  local sums = sch:access_info(block, "write", 0).buffer
  local list = {}
  for r = 0, sch:block_info(last).reads - 1 do
    local access = sch:access_info(last, "read", r)
    if access.buffer ~= sums then
      if access.dtype ~= "int32" then
        return nil, "what is added to the sums is no int32"
      end
      list[#list + 1] = r
    end
  end
  return list
end

-- A copy of an operand in that scope; padding is a copy as it is.
local function copy_of(sch, block, r, scope)
  local producer
  for _, b in ipairs { sch:get_producers(block) } do
    local made = sch:access_info(b, "write", 0).buffer
    if made == sch:access_info(block, "read", r).buffer then producer = b end
  end
  if producer and sch:block_info(producer).has_select and
     sch:can("set_scope", producer, 0, scope) then
    sch:set_scope(producer, 0, scope)
    return producer
  end
  return sch:cache_read(block, r, scope)
end

-- Loops, less the last, cut in two of sampled sizes; loop `along` after it was
-- cut for two virtual threads.  The outer ones, the virtual thread, the inner.
local function cut(sch, loops, along)
  local outer, inner, thread = {}, {}, nil
  for i = 1, #loops - 1 do
    local l = loops[i]
    if i == along then thread, l = sch:split(l, { 2, ts.auto }) end
    outer[i], inner[i] =
      sch:split(l, { sch:sample_perfect_tile(l, { n = 2 }) })
  end
  return outer, thread, inner
end

local function append(...)
  local list = {}
  for _, part in ipairs { ... } do
    table.move(part, 1, #part, #list + 1, list)
  end
  return list
end

-- Several loops as one; nil: of none.
local function fuse(sch, loops)
  local whole = loops[1]
  for i = 2, #loops do whole = sch:fuse(whole, loops[i]) end
  return whole
end

-- The tiles of what is stored; the loop under which a tile of sums is computed.
local function tile(sch, last, along, together)
  local loops = { sch:get_loops(last) }
  local outer, thread, inner = cut(sch, loops, along)
  sch:reorder(table.unpack(append(outer, { thread }, inner, { loops[#loops] })))
  if thread then sch:bind(thread, "vthread.x") end
  return thread or (together and fuse(sch, outer)) or outer[#outer]
end

-- The loops of the sums below the tile: spatial ones and the reduction's.
local function own_loops(sch, block, count)
  local loops = { sch:get_loops(block) }
  local spatial, sums = {}, {}
  for i = #loops - count + 1, #loops do
    local is_sum = sch:loop_info(loops[i]).iter_type == "reduce"
    table.insert(is_sum and sums or spatial, loops[i])
  end
  return spatial, sums
end

-- The loops of a part of the sums, under the tile: the reduction's outer ones
-- as one, then the spatial ones, and the matrix unit's own.
local function in_parts(sch, block, count)
  local spatial, sums = own_loops(sch, block, count)
  local outer, _, inner = cut(sch, sums)
  local lane, k = table.remove(spatial), sums[#sums]
  sch:reorder(table.unpack(append(outer, spatial, inner, { lane, k })))
  local whole = fuse(sch, outer) or sch:add_unit_loop(spatial[1] or lane)
  return whole, lane
end

-- The same, with all of each sum.
local function at_once(sch, block, count)
  local spatial, sums = own_loops(sch, block, count)
  local lane, k = table.remove(spatial), table.remove(sums)
  sch:reorder(table.unpack(append(spatial, sums, { lane, k })))
  return spatial[1] or sums[1] or lane, lane
end

-- Copies and products of the parts of a tile overlap.
local function pipeline_parts(sch, whole)
  sch:annotate(whole, "software_pipeline_stage", { 0, 0, 1 })
  sch:annotate(whole, "software_pipeline_order", { 0, 1, 2 })
end

-- The copies of a tile, what is done to the sums of that two before, and the
-- products of the one before, which find the sums of that three before stored.
-- The statements are two copies, the sums' start, the sums, `n` copies of what
-- is added, and what is stored.
local function pipeline_tiles(sch, place, n)
  local stage, order = { 0, 0, 1, 1 }, { 0, 1, n + 3, n + 4 }
  for i = 2, n + 2 do
    stage[#stage + 1] = 2
    order[#order + 1] = i
  end
  sch:annotate(place, "software_pipeline_stage", stage)
  sch:annotate(place, "software_pipeline_order", order)
  sch:annotate(place, "software_pipeline_versions", 2)
end

-- One sketch; `way`: how latency is hidden, and `along`: by threads along which
-- loop.  What it gives is why there is none.
local function schedule(sch, block, found, name, way, along)
  local count = #{ sch:get_loops(block) }
  local last = epilogue(sch, block)
  local others, why = read_too(sch, last, block)
  if not others then return why end
  local place = tile(sch, last, along, way.tiles)
  sch:compute_at(block, place, { preserve_unit_loops = true })
  for _, r in ipairs(others) do
    sch:compute_at(sch:cache_read(last, r, ACC), place)
  end
  local first, lane = (way.tiles and at_once or in_parts)(sch, block, count)
  for _, x in ipairs { { found.inp, INP }, { found.wgt, WGT } } do
    sch:compute_at(copy_of(sch, block, x[1], x[2]),
                   way.tiles and place or first)
  end
  sch:decompose_reduction(block, first)
  if way.parts then pipeline_parts(sch, first) end
  if way.tiles then pipeline_tiles(sch, place, #others) end
  sch:tensorize(lane, name)
end

-- The loops that two virtual threads can share: those of what is stored.
local function threads(sch, block, most)
  local loops = { sch:get_loops(block) }
  local letters, list = tiling.letters(sch, block, loops), {}
  local spatial = {}
  for i, l in ipairs(loops) do
    if letters[i] == "S" then spatial[#spatial + 1] = l end
  end
  for i = 1, #spatial - 1 do
    if sch:extent(spatial[i]) % 2 == 0 and #list < most then
      list[#list + 1] = i
    end
  end
  return list
end

local ways = {
  none = {}, vthread = { threads = true }, pipeline = { parts = true },
  both = { threads = true, parts = true }, tiles = { tiles = true },
}

return ts.module {
  name = "use_dae",
  defaults = { hiding = { "none", "pipeline", "both", "tiles" },
               threaded = 2, intrin = "" },
  check = function(p)
    for _, way in ipairs(type(p.hiding) == "table" and p.hiding or { "?" }) do
      if not ways[way] then
        return options.unusable("hiding", p.hiding,
          "it is a list of \"none\", \"vthread\", \"pipeline\", " ..
          "\"both\" and \"tiles\"")
      end
    end
    return options.not_positive("threaded", p.threaded)
  end,
  apply = function(sch, block, p)
    local machine = machines.of(sch:target())
    if not machine then return nil, "the target is no such machine" end
    local why = unfit(sch, block, machine)
    if why then return nil, why end
    local found, bad = operands(sch, block)
    if not found then return nil, bad end
    local name = intrin.use(p.intrin ~= "" and p.intrin or
                            ("%s_%dx%d"):format(
                              machine.matrix.call, machine.matrix.k,
                              machine.matrix.n))
    local list = {}
    for _, hiding in ipairs(p.hiding) do
      local way = ways[hiding]
      for _, along in ipairs(way.threads and
                              threads(sch, block, p.threaded) or { false }) do
        local one, no = tiling.attempt(sch, schedule, block, found, name, way,
                                       along)
        if not no then list[#list + 1] = one end
        why = why or no
      end
    end
    if #list == 0 then return nil, why end
    return list, why
  end,
}
