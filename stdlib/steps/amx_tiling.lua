-- SPDX-License-Identifier: Apache-2.0
-- Scheduling products for instructions that add up several of them, the tiles
-- of AMX and dot products of bytes: which instruction does a block, operands in
-- the order in which it takes them, tiles, results out of them.
local intrin = require "tessera.intrin"
local kit = require "tessera.intrin.kit"
local tensor = require "tessera.tensor"
local tiling = require "tessera.tiling"
local amx = {}

local full = { u8 = "uint8", s8 = "int8", bf16 = "bfloat16", f32 = "float32",
               s32 = "int32" }

-- The product of one instruction, with B indexed [k, j], or [j, k].
local function describe(types, trans)
  local a, b, acc = types:match "^(%l+%d+)(%l+%d+)(%l+%d+)$"
  local packed = b == "bf16" and 2 or 4
  return { name = ("amx_acc_16x16x%d_%s"):format(16 * packed, types),
           trans = trans, packed = packed, b = b, acc = acc,
           desc = kit.product { m = 16, n = 16, k = 16 * packed,
                                dtype = full[a], dtype_b = full[b],
                                acc = full[acc], trans = trans } }
end

-- Of these loops of the block together.
function amx.extent(sch, block, group)
  local extent, loops = 1, { sch:get_loops(block) }
  for _, i in ipairs(group) do extent = extent * sch:extent(loops[i]) end
  return extent
end

-- What does the block with the fewest copies, or nil and why nothing does.
function amx.choose(sch, block, p)
  local best, least, why
  for _, types in ipairs(p.types) do
    for _, trans in ipairs { false, true } do
      local x = describe(types, trans)
      local m, no = tensor.mapping(sch, block, x.name, x.desc)
      if not intrin.has(x.name, sch:target()) then
        m, no = nil, "the target lacks what it needs"
      end
      for g = 1, m and 3 or 0 do
        local extent = amx.extent(sch, block, m.groups[g])
        if extent < p.least * (g == 3 and x.packed or 1) then
          m, no = nil, ("%d %s are too few"):format(
            extent, ({ "rows", "columns", "steps" })[g])
          break
        end
      end
      if m and (not best or m.copies < least) then best, least = x, m.copies end
      why = why or no
    end
  end
  return best, why
end

-- The number of the read buffer that the last two iters index, k and j, and no
-- iter of rows; refused where rows have operands of their own.
local function operand(sch, block)
  local n = #sch:block_info(block).iters
  local sum = sch:access_info(block, "write", 0).buffer
  for r = 0, sch:block_info(block).reads - 1 do
    local used = sch:access(block, "read", r)
    if used[n] and used[n - 1] and not used[n - 2] and
       sch:access_info(block, "read", r).buffer ~= sum then
      return r
    end
  end
  tiling.refuse "no operand is one for all rows"
end

-- A map of ndim indices, of which two are cut by sizes into tiles at the end.
local function tiles(ndim, x, size_x, y, size_y)
  local from, to = {}, {}
  for d = 1, ndim do
    from[d] = "i" .. d
    if d ~= x and d ~= y then to[#to + 1] = from[d] end
  end
  for _, op in ipairs { "//", "%" } do
    to[#to + 1] = ("i%d %s %d"):format(x, op, size_x)
    to[#to + 1] = ("i%d %s %d"):format(y, op, size_y)
  end
  return ("(%s) -> (%s)"):format(table.concat(from, ", "),
                                 table.concat(to, ", "))
end

-- The block that computes that read buffer.
local function maker(sch, block, r)
  local buffer = sch:access_info(block, "read", r).buffer
  for _, producer in ipairs { sch:get_producers(block) } do
    if sch:access_info(producer, "write", 0).buffer == buffer then
      return producer
    end
  end
end

-- A block that copies goes through what it reads as it lies there.
local function walk_along(sch, copy)
  local loops, order = { sch:get_loops(copy) }, {}
  local dims = sch:access_info(copy, "read", 0).dims
  for _, at in ipairs(dims) do order[#order + 1] = at and loops[at] or nil end
  if #order == #loops and #dims == #loops then sch:reorder(order) end
end

-- Lays B out as the instruction takes it.
function amx.pack(sch, block, x)
  local r, n = operand(sch, block), #sch:block_info(block).iters
  local dims, at = sch:access_info(block, "read", r).dims, {}
  for d, i in ipairs(dims) do at[i or 0] = d end
  if not at[n - 1] or not at[n] then
    tiling.refuse "columns are no index of an operand"
  end
  local map = tiles(#dims, at[n - 1], x.width or 16, at[n], x.packed)
  local where, made, copy = { "read", r }, maker(sch, block, r), nil
  if made then walk_along(sch, made) end
  if made or not sch:can("transform_layout", block, where, map) then
    copy = sch:cache_read(block, r, "global", { consumer_blocks = { block } })
  end
  sch:transform_layout(block, where, map)
  return copy, map
end

-- The copy that lays B out goes through it in the order of the layout, and by
-- vectors where it can.
function amx.order(sch, copy, map, x)
  sch:transform_block_layout(copy, map)
  local loops = { sch:get_loops(copy) }
  local name = (x.trans and "gather_16x%d_%s" or "interleave_%dx16_%s")
               :format(x.packed, x.b)
  tiling.tensorize(sch, sch:blockize(loops[#loops - 1]), intrin.use(name))
end

-- The largest number up to `most` that divides the extent.
function amx.part(extent, most)
  while extent % most ~= 0 do most = most - 1 end
  return most
end

function amx.unroll(sch, block, n)
  local loops = { sch:get_loops(block) }
  for i = #loops, #loops - n + 1, -1 do sch:unroll(loops[i]) end
end

-- Keeps sums in a buffer of whole tiles.  The copy out of it, and what is
-- computed of that next, if it can follow tile by tile.
function amx.stage(sch, block)
  local next, n = tiling.consumer(sch, block), #sch:block_info(block).iters
  local copy = sch:cache_write(block, 0, "global")
  local dims, at = sch:access_info(block, "write", 0).dims, {}
  for d, i in ipairs(dims) do at[i or 0] = d end
  sch:transform_layout(block, { "write", 0 },
                       tiles(#dims, at[n - 2], 16, at[n - 1], 16))
  return copy, next
end

-- Stores the tiles under that loop.
function amx.store(sch, copy, next, loop, acc)
  sch:reverse_compute_at(copy, loop, { preserve_unit_loops = true })
  if next and sch:can("reverse_compute_at", next, loop) then
    sch:reverse_compute_at(next, loop, { preserve_unit_loops = true })
    tiling.match_inner(sch, next, 16)
  end
  local first, why = tensor.tile(sch, copy, { 16, 16 })
  if not first then tiling.refuse(why) end
  local whole = sch:blockize(first)
  amx.unroll(sch, whole, 2)
  tiling.tensorize(sch, whole, intrin.use("amx_store_16x16_" .. acc))
end

-- ---- the whole -------------------------------------------------------------

-- The block, by the instruction x.name.  `steps`: `tile` (sch, piece, p) gives
-- the loops of each level; `stage` (sch, block), where there is one, gives what
-- `store` (sch, piece, loop, x, ...) gets, which puts the result under the loop
-- and may give another schedule; `fill` and `instruction` (x) name the
-- intrinsics of zeros (nil: none) and of products.
local function schedule(sch, block, x, p, steps)
  local first, why = tensor.fit(sch, block, x.name, x.desc)
  if not first then tiling.refuse(why) end
  local copy, map = amx.pack(sch, block, x)
  if copy then
    sch = tiling.attempt(sch, amx.order, copy, map, x) or sch
  end
  local staged = table.pack()
  if steps.stage then staged = table.pack(steps.stage(sch, block)) end
  local piece = sch:blockize(first)
  local levels = steps.tile(sch, piece, p)
  local under = tiling.last(levels, p.write_levels[1])
  sch = steps.store(sch, piece, under, x, table.unpack(staged, 1, staged.n)) or
        sch
  local inner = #levels[#levels]
  amx.unroll(sch, piece, inner)
  local start = sch:decompose_reduction(
    piece, levels[p.structure:find("R", 1, true)][1])
  local fill = steps.fill and steps.fill(x)
  if fill then
    amx.unroll(sch, start, inner)
    tiling.tensorize(sch, start, fill)
  end
  tiling.tensorize(sch, piece, steps.instruction(x))
  sch:annotate(piece, "tiling_structure", p.structure)
  return sch
end

-- A module's `apply`: steps.choose(sch, block, p) gives the instruction, or nil
-- and why there is none.
function amx.apply(sch, block, p, steps)
  local unfit = tiling.unfit(sch, block, p.structure)
  if unfit then return nil, unfit end
  local x, why = steps.choose(sch, block, p)
  if not x then return nil, why end
  local made, result = tiling.attempt(sch, schedule, block, x, p, steps)
  if not made then return nil, result end
  return result
end

return amx
