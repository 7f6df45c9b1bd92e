-- SPDX-License-Identifier: Apache-2.0
-- What schedules of products for tensor cores share: pieces of an intrinsic's
-- size, and tiles of blocks and warps, drawn together.
local ts = require "tessera"
local divisors = require "tessera.steps.divisors"
local intrin = require "tessera.intrin"
local gpu = require "tessera.steps.gpu_tiling"
local tensor = require "tessera.tensor"
local machine = require "tessera.steps.machine"
local sampling = require "tessera.steps.sampling"
local tiling = require "tessera.tiling"
local warps = {}

local SIZE = 16             -- of a fragment, in rows and columns
local PAD = 16              -- bytes between the rows of a tile
local LANES = 32            -- of a warp

-- Types of A, B and the sum, and "_trans" where B is indexed [j, k].
warps.groups = { "f16f16f16", "f16f16f16_trans", "f16f16f32",
                 "f16f16f32_trans", "bf16bf16f32", "bf16bf16f32_trans",
                 "s8s8s32", "s8s8s32_trans" }

local function sync_name(group) return "wmma_sync_16x16x16_" .. group end

local function sync_of(group) return tensor.wmma(sync_name(group)) end

local function fill_of(group)
  return tensor.wmma("wmma_fill_16x16x16_" ..
                     group:match "(%a%d+)[_trans]*$")
end

-- The pieces that one intrinsic of the group computes, as a block of their own,
-- which will be tiled by `structure` and, by this module or by
-- rewrite_tensorize, replaced by the intrinsic.
function warps.pieces(sch, block, group, structure)
  sch:annotate(block, "tiling_structure", structure)
  local first, why = tensor.fit(sch, block, sync_of(group), nil, true)
  if not first then tiling.refuse(why) end
  local piece = sch:blockize(first)
  fill_of(group)             -- is declared
  sch:annotate(piece, "auto_tensorize", "wmma_sync")
  sch:annotate(piece, "auto_tensorize_init", "wmma_fill")
  sch:annotate(sch:get_block "root", "tensor_core_enabled", "1")
  sch:annotate(piece, "warp_execution", 1)
  return piece
end

-- Replaces the pieces by the intrinsics of the group, after zeros outside of
-- loop `k`.
function warps.tensorize(sch, piece, group, k)
  sch:tensorize(sch:decompose_reduction(piece, k), fill_of(group))
  sch:tensorize(piece, sync_of(group))
end

-- How many bytes a thread copies at a time: one of p.vector_bytes.
function warps.sample_bytes(sch, copy, p)
  sch:annotate(copy, "vector_bytes", sampling.evenly(sch, p.vector_bytes))
end

-- Copies the result out of fragments under `warp`.
local function leave(sch, piece, warp, _, p)
  warps.sample_bytes(sch, sch:write_at(warp, piece, 0, "wmma.accumulator"), p)
end

-- The same, at once to the place to which block `back` takes it.
local function leave_at_once(sch, piece, warp, back, p)
  leave(sch, piece, warp, back, p)
  sch:reverse_compute_inline(back)
end

-- The same through shared memory, from where the lanes of a warp take it to
-- its place, which may be no box, some elements at a time each.
local function leave_through_shared(sch, piece, warp, back, p)
  local out = sch:cache_write(piece, 0, "shared.dyn")
  sch:reverse_compute_inline(back)
  sch:reverse_compute_at(out, warp, { preserve_unit_loops = true })
  leave(sch, piece, warp, back, p)
  tiling.fetch_together(sch, out, "threadIdx.x", LANES,
                        tiling.vectors(sch, out, p.vector_bytes))
end

-- How the result leaves its fragments: the first way that is not refused.
local function way_out(sch, ...)
  for _, way in ipairs { leave_at_once, leave_through_shared } do
    if tiling.attempt(sch, way, ...) then return way end
  end
  return leave
end

-- Copies of the result out of fragments under `warp`, of operands to shared
-- memory, by fetch(sch, piece, operand, outer, p), and from there to fragments
-- under `inner`.
function warps.stage(sch, piece, warp, outer, inner, p, fetch)
  local copies, back = { sch:get_producers(piece) }, sch:get_consumers(piece)
  local way = back and way_out(sch, piece, warp, back, p) or leave
  way(sch, piece, warp, back, p)
  for operand = 0, 1 do fetch(sch, piece, operand, outer, p) end
  sch:read_at(inner, piece, 0, "wmma.matrix_a")
  sch:read_at(inner, piece, 1, "wmma.matrix_b")
  for _, copy in ipairs(copies) do
    if sch:can("compute_inline", copy) then sch:compute_inline(copy) end
  end
end

-- The groups, those first that take the block's operands with the fewest copies
-- of another layout; and how many copies each needs, many where it does not.
local function by_copies(sch, block, groups)
  local order, copies = {}, {}
  for i, group in ipairs(groups) do
    local m = tensor.mapping(sch, block, sync_of(group))
    order[i], copies[group] = group, (m and m.copies or 1000) * #groups + i
  end
  table.sort(order, function(a, b) return copies[a] < copies[b] end)
  for group, n in pairs(copies) do copies[group] = (n - 1) // #groups end
  return order, copies
end

-- Those of the groups that the target's tensor cores multiply, all where it is
-- not known; nil and why there is none.  `first`: the first architecture that
-- will do; nil: any that has them.
local function on_target(sch, groups, first)
  local target, list = sch:target(), {}
  if not target then return groups end
  local known = not first or target:has(first)
  for _, group in ipairs(groups) do
    if known and intrin.has(sync_name(group), target) then
      list[#list + 1] = group
    end
  end
  if list[1] then return list end
  local name = tostring(target):match "^cuda%f[%s].-%-arch=(%S+)" or
               tostring(target):match "^%S+"
  return nil, ("target '%s' has no tensor cores%s"):format(name, first and
    " with mma.sync, which cards from " .. first .. " on have" or
    " for these types")
end

-- Why fragments cannot be cut from the block's loops: nil if all have constant
-- extents.
local function open_extent(sch, block)
  for _, loop in ipairs { sch:get_loops(block) } do
    if not sch:extent(loop) then
      return ("tensor cores need constant extents, and that of loop %s is " ..
              "not a constant"):format(sch:loop_info(loop).name)
    end
  end
end

-- The sketches of a module that schedules by schedule(sch, block, group, p)
-- what one of p.groups can do, of those that can the ones with the fewest
-- copies, and, where p.must is false, the block as it is; and why the others
-- cannot.  `first`: the first architecture that will do, nil: any.
function warps.each_group(sch, block, p, schedule, first)
  local useless = tiling.no_reuse(sch, block)
  if useless then return nil, useless end
  local open = open_extent(sch, block)
  if open then return nil, open end
  local usable, missing = on_target(sch, p.groups, first)
  if not usable then return nil, missing end
  local list, whys, least = {}, {}, math.huge
  local groups, copies = by_copies(sch, block, usable)
  for _, group in ipairs(groups) do
    if copies[group] > least then break end
    local made, why = tiling.attempt(sch, schedule, block, group, p)
    list[#list + 1] = made
    if made then least = copies[group]
    else whys[#whys + 1] = group .. ": " .. why end
  end
  if p.must == false and #list > 0 then list[#list + 1] = sch end
  return list, table.concat(whys, "; ")
end

-- ---- tiles of a block and of a warp ----------------------------------------

-- Bytes of shared memory for one stage of operands: `rows` by `columns`
-- fragments, `depth` of which are added up.
local function stage_bytes(rows, columns, depth, bytes, trans)
  local b_rows = trans and columns or depth
  local b_columns = trans and depth or columns
  return rows * SIZE * (depth * SIZE * bytes + PAD) +
         b_rows * SIZE * (b_columns * SIZE * bytes + PAD)
end

-- How often a loop of `extent` fragments may be cut: { warps, fragments }.
local function cuts(extent, most_warps, most_fragments)
  local list = {}
  for w = 1, most_warps do
    for f = 1, most_fragments do
      if extent % (w * f) == 0 then list[#list + 1] = { w, f } end
    end
  end
  return list
end

-- All shapes: { warps along rows, along columns, fragments along rows, along
-- columns } with p.warps and p.fragments in all, where `fits` allows them;
-- where none is so large, the largest.
local function shapes(extents, p, fits)
  local all, large, best = {}, {}, 0
  for _, i in ipairs(cuts(extents[1], p.warps[2], p.side)) do
    for _, j in ipairs(cuts(extents[2], p.warps[2], p.side)) do
      local w, f = i[1] * j[1], i[2] * j[2]
      if w <= p.warps[2] and f <= p.fragments[2] and
         fits(i[1] * i[2], j[1] * j[2]) then
        local shape = { i[1], j[1], i[2], j[2], size = w * f }
        best = math.max(best, w * f)
        all[#all + 1] = shape
        if w >= p.warps[1] and f >= p.fragments[1] then
          large[#large + 1] = shape
        end
      end
    end
  end
  if #large > 0 then return large end
  for _, shape in ipairs(all) do
    if shape.size == best then large[#large + 1] = shape end
  end
  return large
end

-- The two last spatial loops, rows and columns, and the kind of each loop.
local function rows_and_columns(sch, piece, loops)
  local letters, at = tiling.letters(sch, piece, loops), {}
  for i, letter in ipairs(letters) do
    if letter == "S" then at[#at + 1] = i end
  end
  return letters, at[#at - 1], at[#at]
end

-- How many fragments a stage adds up: those of p.depths that divide the loop,
-- else the largest divisor below them.
local function depths_of(extent, depths)
  local list = {}
  for _, d in ipairs(depths) do
    if extent % d == 0 then list[#list + 1] = d end
  end
  local below = divisors.of(extent, math.max(table.unpack(depths)))
  return #list > 0 and list or { below[#below] }
end

-- The function that cuts a loop of the pieces, for tiling.tile with the
-- structure SSSRRS: blocks, those of a group that runs side by side (rows of
-- them), warps, fragments; stages, fragments.  The shape of a block is drawn
-- at once, from those of which shared memory holds p.stages[1] stages.
function warps.cut(sch, piece, p, bytes, trans)
  local loops = { sch:get_loops(piece) }
  local letters, row, column = rows_and_columns(sch, piece, loops)
  local target = sch:target()
  local limit = target and target:get "max-shared-memory-per-block" or 0
  if limit <= 0 then limit = math.huge end
  local depths = {}
  for i, letter in ipairs(letters) do
    if letter == "R" then
      depths[i] = depths_of(sch:extent(loops[i]), p.depths)
    end
  end
  local list = shapes({ sch:extent(loops[row]), sch:extent(loops[column]) }, p,
                      function(rows, columns)
    local deep = p.depths[1]
    return p.stages[1] * stage_bytes(rows, columns, deep, bytes, trans) <= limit
  end)
  local shape = gpu.sample_digits(sch, list)
  return function(on, loop, _, _, i)
    if letters[i] == "R" then
      local two = { ts.auto, sampling.evenly(on, depths[i]) }
      return two, { on:split(loop, two) }
    end
    if i ~= row and i ~= column then
      return tiling.leave_outermost(on, loop, 4)
    end
    local at = i == row and 1 or 2
    local w, f = shape[at], shape[at + 2]
    if i == column then
      return { ts.auto, 1, w, f }, { on:split(loop, { ts.auto, 1, w, f }) }
    end
    local rest, of_warp, inner = on:split(loop, { ts.auto, w, f })
    local group = { on:sample_perfect_tile(rest, {
      n = 2, max_innermost_factor = p.group }) }
    local outer, side = on:split(rest, group)
    return { group[1], group[2], w, f }, { outer, side, of_warp, inner }
  end
end

-- Copies an operand to shared memory, whose rows begin PAD bytes behind a
-- multiple of four times as many, so that eight of them that are read at once
-- are in distinct banks.
function warps.fetch(sch, piece, operand, loop, p)
  local copy = sch:read_at(loop, piece, operand, "shared.dyn")
  local dtype = sch:access_info(copy, "write", 0).dtype
  local bytes = machine.bits(dtype) // 8
  warps.sample_bytes(sch, copy, p)
  sch:storage_align(copy, 0, -2, 4 * PAD // bytes, PAD // bytes)
end

return warps
