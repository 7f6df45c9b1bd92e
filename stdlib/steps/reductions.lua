-- SPDX-License-Identifier: Apache-2.0
-- Steps of schedule modules that split or share reductions: all reduction loops
-- as one, the order of the iters of partial results, and consumers by the same
-- threads.
local ts = require "tessera"
local nests = require "tessera.steps.nests"
local reductions = {}

-- Gives the block one reduce iter for all that it has, so that how many iters
-- its partial results have does not hang on the sizes drawn.
local function join_reduction(sch, block)
  local kinds, names, out, index = sch:block_info(block).iters, {}, {}, nil
  for i, loop in ipairs { sch:get_loops(block) } do
    names[i] = "i" .. i
    if kinds[i] ~= "reduce" then out[#out + 1] = names[i]
    elseif not index then index = names[i]
    else index = ("(%s) * %d + %s"):format(index, sch:extent(loop), names[i])
    end
  end
  out[#out + 1] = index
  sch:transform_block_layout(block, load(("return function(%s) return %s end")
    :format(table.concat(names, ", "), table.concat(out, ", ")))())
end

-- The loop of the reduction, moved inside.
function reductions.loop(sch, block)
  local kinds, order, reduce = sch:block_info(block).iters, {}, {}
  for i, loop in ipairs { sch:get_loops(block) } do
    table.insert(kinds[i] == "reduce" and reduce or order, loop)
  end
  if #reduce > 1 then
    join_reduction(sch, block)
    return select(-1, sch:get_loops(block))
  end
  order[#order + 1] = reduce[1]
  if #order > 1 then sch:reorder(order) end
  return reduce[1]
end

-- The loops of reduce iters, moved inside and fused; and the loop around them,
-- nil where there is none.
function reductions.fuse(sch, block)
  local outer, reduce = {}, {}
  for _, loop in ipairs { sch:get_loops(block) } do
    local list = sch:loop_info(loop).iter_type == "reduce" and reduce or outer
    list[#list + 1] = loop
  end
  local around = outer[#outer]
  if #reduce > 1 or around then sch:reorder(reduce) end
  return #reduce > 1 and sch:fuse(table.unpack(reduce)) or reduce[1], around
end

-- Iters in the order of the nest that is wanted where the block moves under a
-- loop of its consumer: what was spatial before, and then the new dimension,
-- before (n = 1) or after the reduction.
function reductions.order_iters(sch, block, n)
  local dims = sch:access_info(block, "write", 0).dims
  local partial, order, reduce = dims[#dims], {}, {}
  for i, kind in ipairs(sch:block_info(block).iters) do
    if i ~= partial then
      table.insert(kind == "reduce" and reduce or order, i - 1)
    end
  end
  if not partial then return end
  table.insert(reduce, n == 1 and 1 or #reduce + 1, partial - 1)
  table.move(reduce, 1, #reduce, #order + 1, order)
  sch:reorder_block_iter_var(block, order)
end

-- Of what the block reads most of: by iter, whether it indexes it, and the iter
-- that alone is its last index; nil where the loops are not those of the iters.
local function largest_read(sch, block)
  local info, most, largest = sch:block_info(block), 0, nil
  if #{ sch:get_loops(block) } ~= #info.iters then return nil end
  for r = 0, info.reads - 1 do
    local size = sch:footprint(block, "read", r) or 0
    if size > most then most, largest = size, r end
  end
  if not largest then return nil end
  local dims = sch:access_info(block, "read", largest).dims
  return sch:access(block, "read", largest), dims[#dims], info.iters
end

-- Whether each element of it is read once, and these lie beside each other
-- along the reduction, as in a matrix times a vector.  Vectors of spatial
-- iterations would gather them.
local function reads_lie_along(sch, block)
  local used, last, kinds = largest_read(sch, block)
  for i, loop in ipairs(used and { sch:get_loops(block) } or {}) do
    if kinds[i] == "spatial" and sch:extent(loop) ~= 1 and not used[i] then
      return false
    end
  end
  return used and kinds[last] == "reduce"
end

-- The position of the loop of columns, along which it lies, while the reduction
-- goes over its rows; nil: there is none, or of one column.
function reductions.column(sch, block)
  local copy <close> = sch:copy()
  local used, last, kinds = largest_read(copy, block)
  if not used or kinds[last] ~= "spatial" then return nil end
  local extent = copy:extent((select(last, copy:get_loops(block))))
  return extent and extent > 1 and last or nil
end

-- Whether each buffer that the loop indexes lies along it, which is number i.
local function all_lie_along(sch, block, i)
  for r = 0, sch:block_info(block).reads - 1 do
    local dims = sch:access_info(block, "read", r).dims
    local used = sch:access(block, "read", r)[i]
    if used and dims[#dims] ~= i then return false end
  end
  return true
end

-- Where a matrix whose rows lie along the only reduction is multiplied by a few
-- others: the positions of the reduction's loop (`along`) and of the matrix's
-- rows (`row`), those of the others' rows by position (`few`), and how many
-- these are (`again`).  Else nil.
function reductions.few_rows(sch, block, most)
  local copy <close> = sch:copy()
  local used, along, kinds = largest_read(copy, block)
  if not used or kinds[along] ~= "reduce" or
     not all_lie_along(copy, block, along) then
    return nil
  end
  local found = { along = along, few = {}, again = 1 }
  for i, loop in ipairs { copy:get_loops(block) } do
    local extent = copy:extent(loop)
    if not extent or kinds[i] == "reduce" and i ~= along then return nil end
    if kinds[i] == "spatial" and extent > 1 then
      if used[i] then found.row = i
      else found.few[i], found.again = true, found.again * extent end
    end
  end
  local fits = found.row and found.again > 1 and found.again <= most
  return fits and found or nil
end

-- Whether partial results of the reduction pay: it has at most that many
-- spatial iterations, or with `along` its vectors are along the reduction.
function reductions.needs_parts(sch, block, most, along)
  if sch:needs_rfactor(block, most) then return true end
  if not along or not sch:needs_multi_level_tiling(block) then return false end
  local copy <close> = sch:copy()
  return reads_lie_along(copy, block)
end

-- Whether the block makes partial results of a split reduction: rfactor made
-- it, or the loop of partial results that it adds up was factored out again.
function reductions.makes_partials(sch, block)
  return sch:is_reduction(block) and
         (sch:annotation(block, "tiled_like") or
          sch:annotation(block, "innermost_reduces")) and true or false
end

-- Moves the block under its consumer, whose innermost loop the threads share;
-- how many threads there are: as sampled, or as the consumer has.
function reductions.join_consumer(sch, block, threads, vector)
  local consumer = sch:get_consumers(block)
  if not consumer or sch:block_info(block).writes ~= 1 or
     sch:needs_multi_level_tiling(consumer) then
    return threads
  end
  local loops = { sch:get_loops(consumer) }
  local bound = nests.bound_to(sch, loops, "threadIdx.x")
  local last = math.min(#loops, nests.spatial_loops(sch, block))
  local under = nests.place(sch, block, { table.unpack(loops, 1, last) })
  if not under then return threads end
  if bound then
    local count = sch:factor(bound)
    if not count or sch:loop_info(under).thread then return threads end
    threads = count
  else
    local inner = loops[#loops]
    local outer, shared, wide = sch:split(inner, { ts.auto, threads, vector })
    if under == inner then under = outer end
    sch:bind(shared, "threadIdx.x")
    if vector ~= 1 then sch:vectorize(wide) end
  end
  sch:compute_at(block, under, { preserve_unit_loops = true })
  sch:set_scope(block, 0, "shared")
  return threads
end

return reductions
