-- SPDX-License-Identifier: Apache-2.0
-- Tiling of products for a decoupled access-execute machine: a block that its
-- matrix unit can do is cut into tiles, whose sums stay in accumulators, and
-- the operands of a part of each sum are copied to the buffers on the chip.
-- What is done to the sums follows in the vector unit as far as it can, and
-- padding in the copies; operands in another layout are laid out by the host.
-- A product of which nothing can be stored stays on the host, with the reason.
-- Latency is hidden by two virtual threads along one loop, by a
-- software pipeline of the copies and products of a tile, by both, by a
-- pipeline of whole tiles, whose sums are not cut, or not at all: a sketch
-- each.
local ts = require "tessera"
local epilogue = require "tessera.steps.dae_epilogue"
local intrin = require "tessera.intrin"
local layout = require "tessera.steps.dae_layout"
local machines = require "tessera.machines"
local tiling = require "tessera.tiling"

-- Of a program with several products, about.
local MOST_SKETCHES = 512

local INP, WGT, ACC = "local.inp_buffer", "local.wgt_buffer", "local.acc_buffer"

-- What is read beside the sums, by its numbers.
local function read_too(sch, last, block)
  local sums = sch:access_info(block, "write", 0).buffer
  local list = {}
  for r = 0, sch:block_info(last).reads - 1 do
    if sch:access_info(last, "read", r).buffer ~= sums then
      list[#list + 1] = r
    end
  end
  return list
end

-- A copy of an operand in that scope, indexed by a map of the block's iters,
-- where there is one; padding is a copy as it is.
local function copy_of(sch, block, r, scope, map)
  if map then return sch:reindex_cache_read(block, r, scope, map) end
  local pad = layout.padding(sch, block, r)
  if pad and sch:can("set_scope", pad, 0, scope) then
    sch:set_scope(pad, 0, scope)
    return pad
  end
  return sch:cache_read(block, r, scope)
end

-- The sizes of a loop's tiles, sampled; `least`: the smallest.
local function sizes(sch, l, least)
  return sch:sample_perfect_tile(l, { n = 2, decision = least and
                                      { sch:extent(l), 1 } or nil })
end

-- Loops, less the last, cut in two of sampled sizes; loop `along` after it was
-- cut for two virtual threads.  The outer ones, the virtual thread, the inner.
local function cut(sch, loops, along, least)
  local outer, inner, thread = {}, {}, nil
  for i = 1, #loops - 1 do
    local l = loops[i]
    if i == along then thread, l = sch:split(l, { 2, ts.auto }) end
    outer[i], inner[i] =
      sch:split(l, { sizes(sch, l, least) })
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
local function tile(sch, last, along, together, least)
  local loops = { sch:get_loops(last) }
  local outer, thread, inner = cut(sch, loops, along, least)
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
local function in_parts(sch, block, count, least)
  local spatial, sums = own_loops(sch, block, count)
  local outer, _, inner = cut(sch, sums, nil, least)
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

-- One sketch; `found`: operands and how they are copied, `way`: how latency is
-- hidden, and `along`: by threads along which loop.  `least`: with the smallest
-- tiles.
local function schedule(sch, least, block, last, name, found, way, along)
  local count = #{ sch:get_loops(block) }
  local others = read_too(sch, last, block)
  local copies = { copy_of(sch, block, found.inp, INP, found.map),
                   copy_of(sch, block, found.wgt, WGT) }
  local place = tile(sch, last, along, way.tiles, least)
  sch:compute_at(block, place, { preserve_unit_loops = true })
  for _, r in ipairs(others) do
    sch:compute_at(sch:cache_read(last, r, ACC), place)
  end
  local cut_sums = way.tiles and at_once or in_parts
  local first, lane = cut_sums(sch, block, count, least)
  for _, copy in ipairs(copies) do
    sch:compute_at(copy, way.tiles and place or first)
  end
  sch:decompose_reduction(block, first)
  if way.parts then pipeline_parts(sch, first) end
  if way.tiles then pipeline_tiles(sch, place, #others) end
  tiling.tensorize(sch, sch:blockize(lane), name)
end

-- Refuses smallest tiles that exceed the chip; they take the most instructions.
local function check_least(sch, machine, ...)
  local size = machine.buffer
  schedule(sch, true, ...)
  sch:verify_chip_buffers({ inp = size.inp, wgt = size.wgt, acc = size.acc,
                            instructions = math.maxinteger })
end

-- The sketch; nil and why it has no tiles, not even small ones.
local function sketch(sch, machine, ...)
  local least, why = tiling.attempt(sch, check_least, machine, ...)
  if not least then return nil, why end
  return tiling.attempt(sch, schedule, false, ...)
end

-- The loops that two virtual threads can share: those of what is stored.
local function threads(sch, last, most)
  local loops, list = { sch:get_loops(last) }, {}
  for i = 1, #loops - 1 do
    if sch:extent(loops[i]) % 2 == 0 and #list < most then
      list[#list + 1] = i
    end
  end
  return list
end

-- The block that stores what is made of the sums, and what each operand is, in
-- a copy of the schedule where all of them are as the machine takes them.  Of
-- inputs that the block skips some of, it is tried to copy all and to copy what
-- is read: that is less, but comes in more transfers.
local function prepare(sch, block, machine)
  local found, why = layout.choose(sch, block, machine.matrix)
  if not found then return nil, why end
  local column = layout.column(sch, block, found)
  local joined, x = epilogue.join(sch, block, column, machine)
  if not joined then return nil, x end
  local made, no = tiling.attempt(joined, function(to)
    local sums = to:access_info(block, "write", 0).buffer
    layout.epilogue(to, x.last, sums, x.j, machine.matrix.n)
    layout.product(to, block, found, machine.matrix)
  end)
  if not made then return nil, no end
  local map = layout.sparse(made, block, found.inp)
  return made, x.last, {
    found, map and { inp = found.inp, wgt = found.wgt, map = map } }
end

-- How many products there are in the program: each multiplies the sketches.
local function count_products(sch)
  local n = 0
  for _, b in ipairs { sch:get_child_blocks(sch:get_block "root") } do
    if sch:annotation(b, "auto_tensorize") or not tiling.unfit(sch, b, "SR")
    then
      n = n + 1
    end
  end
  return n
end

-- A product that stays on the host, on all of its cores, with the reason.
local function leave(sch, block, why)
  local text = ("%s: %s"):format(sch:block_info(block).name, why)
  local outer = sch:get_loops(block)
  if sch:can("parallel", outer) then sch:parallel(outer) end
  sch:annotate(outer, "pragma_host", text)
  return { sch }, why
end

local ways = {
  none = {}, vthread = { threads = true }, pipeline = { parts = true },
  both = { threads = true, parts = true }, tiles = { tiles = true },
}

-- Each way to hide latency, with the loop of its threads, and choice of copies.
local function each_way(sch, last, choices, p)
  local list = {}
  for _, hiding in ipairs(p.hiding) do
    local way = ways[hiding]
    local along = way.threads and threads(sch, last, p.threaded) or { false }
    for _, l in ipairs(along) do
      for _, found in ipairs(choices) do list[#list + 1] = { found, way, l } end
    end
  end
  return list
end

return ts.module {
  name = "use_dae",
  parameters = {
    { "hiding", { "tiles", "both", "pipeline", "none" }, "which of these",
      words = { "none", "vthread", "pipeline", "both", "tiles" } },
    { "threaded", 2, "how many loops virtual threads are tried along, " ..
      "outermost first", least = 1 },
    { "intrin", "", "the tensor intrinsic of the matrix unit; \"\": the " ..
      "machine's", type = "text" },
  },
  apply = function(sch, block, p)
    local machine = machines.of(sch:target())
    if not machine then return nil, "the target is no such machine" end
    local why = tiling.unfit(sch, block, "SR")
    if why then return nil, why end
    local ready, last, choices = prepare(sch, block, machine)
    if not ready then return leave(sch, block, last) end
    local name = p.intrin ~= "" and intrin.use(p.intrin) or
                 intrin.of_machine(machine)
    local list, most = {}, MOST_SKETCHES ^ (1 / count_products(sch))
    for _, x in ipairs(each_way(ready, last, choices, p)) do
      local one, no
      if #list < math.max(1, most) then
        one, no = sketch(ready, machine, block, last, name, table.unpack(x))
      end
      list[#list + 1] = one
      why = why or no
    end
    if #list == 0 then return leave(sch, block, why) end
    return list, why
  end,
}
