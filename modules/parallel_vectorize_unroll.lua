-- SPDX-License-Identifier: Apache-2.0
-- For every nest of the program: the outer loops in parallel, the innermost
-- spatial loop in vectors (of an elementwise block whose innermost loop is no
-- number of them several loops as one), the initialisation of a reduction in a
-- nest of its own, and the loops below unrolled up to a sampled number of
-- steps.  Runs once, at the root, after tiling.
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
local nests = require "tessera.steps.nests"
local sampling = require "tessera.steps.sampling"

-- Are the outer loops of that nest to be parallel: "yes", "no" or "perhaps"?
local function is_worth_it(sch, nest, p)
  local work = sch:work(nest)
  if not work then return "perhaps" end
  if work < p.serial_below then return "no" end
  return work < p.parallel_from and "perhaps" or "yes"
end

-- Whether the loop is parallel now, on cores or on that axis.
local function make_parallel(sch, loop, axis)
  local call = axis == "" and { "parallel", loop } or { "bind", loop, axis }
  if not sch:can(table.unpack(call)) then return false end
  sch[call[1]](sch, table.unpack(call, 2))
  return true
end

-- The outer loops that can be fused into one, and that one in parallel;
-- `how` says whether loops that are perhaps worth it are to be, and whether
-- there were such.  The outermost loop of the nest.
local function parallelize(sch, block, p, how)
  local loops = { sch:get_loops(block) }
  if #loops == 0 or nests.is_parallel(sch, loops) then return nil end
  local outer = nests.outer_loops(sch, block, loops)
  local worth = is_worth_it(sch, loops[1], p)
  if worth == "no" or worth == "perhaps" and how.serial then return outer[1] end
  local fused = nests.fuse(sch, outer)
  if not fused then return nil end
  if not make_parallel(sch, fused, p.axis) then return fused end
  how.perhaps = how.perhaps or worth == "perhaps"
  return fused
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
     nests.has_vectors_below(sch, inner) then
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

-- All that a block reads and writes.
local function accesses(sch, block)
  local info, list = sch:block_info(block), {}
  for kind, count in pairs { read = info.reads, write = info.writes } do
    for n = 0, count - 1 do
      local a = sch:access_info(block, kind, n)
      a.used, a.shifts = sch:access(block, kind, n), info.has_select
      list[#list + 1] = a
    end
  end
  return list
end

-- Whether the loops from number i on do not move the access, or walk its last
-- dimensions, all of them but the first, as they lie in memory; that of what
-- pads may be shifted along the first, and along those before it.
local function lies_along(sch, a, loops, i)
  local before, moves = #a.dims - #loops + i - 1, false
  for k = i, #loops do moves = moves or a.used[k] end
  if not moves then return true end
  for d = 1, before do
    if not a.dims[d] and not a.shifts or (a.dims[d] or 0) >= i then
      return false
    end
  end
  for k = i, #loops do
    local d = before + k - i + 1
    local shifted = a.shifts and k == i and k < #loops and not a.dims[d]
    if a.dims[d] ~= k and not shifted or
       k > i and a.shape[d] ~= sch:extent(loops[k]) then
      return false
    end
  end
  return true
end

-- How many of the last loops around the block one loop could be instead that
-- walks the same memory in the same order; and its extent.
local function contiguous(sch, block, loops)
  local list, bound = accesses(sch, block), sch:block_info(block).loops
  local n, size = 0, 1
  for i = #loops, 1, -1 do
    local loop, all = sch:loop_info(loops[i]), bound[i] == i
    for _, a in ipairs(list) do all = all and lies_along(sch, a, loops, i) end
    if not all or not loop.extent or loop.kind ~= "serial" or
       loop.iter_type ~= "spatial" then
      break
    end
    n, size = n + 1, size * loop.extent
  end
  return n, size
end

-- Where the innermost loop of an elementwise block is no number of whole
-- vectors, and with the loops around it is one, or so long that the last
-- vector does not matter: one loop of them all, cut to vectors.
local function flatten(sch, block, p)
  local loops = { sch:get_loops(block) }
  if #loops < 2 or #loops ~= #sch:block_info(block).iters or
     not sch:is_spatial(block) then
    return
  end
  local length, inner = p.vectorize_extent, sch:extent(loops[#loops])
  if not inner or inner % length == 0 then return end
  local n, size = contiguous(sch, block, loops)
  if n < 2 or size % length ~= 0 and size < 16 * length then return end
  local last = { table.unpack(loops, #loops - n + 1) }
  if not sch:can("fuse", table.unpack(last)) then return end
  sch:split(sch:fuse(table.unpack(last)), { ts.auto, length })
end

local function is_tiled(sch, block)
  return sch:annotation(block, "tiling_structure") ~= nil
end

-- Whether tiling cut its innermost loop to size.
local function is_cut(sch, block)
  return is_tiled(sch, block) or sch:annotation(block, "tiled_like") ~= nil
end

-- How far the loops below are unrolled is left open: once for a loop around
-- several blocks.
local function unroll(sch, loop, p)
  local key, steps = "pragma_auto_unroll_max_step", p.unroll_max_steps
  if #steps == 0 or sch:annotation(loop, key) then return end
  sch:annotate(loop, key, sampling.evenly(sch, steps))
end

local function schedule(sch, root, p, how)
  for _, leaf in ipairs(nests.leaves(sch, root)) do
    if not is_cut(sch, leaf) then flatten(sch, leaf, p) end
  end
  -- Tiled blocks first: they know how many loops are their first level.
  for _, tiled in ipairs { true, false } do
    for _, leaf in ipairs(nests.leaves(sch, root)) do
      local outer = is_tiled(sch, leaf) == tiled and
                    parallelize(sch, leaf, p, how)
      if outer then unroll(sch, outer, p) end
    end
  end
  for _, leaf in ipairs(nests.leaves(sch, root)) do
    local cut = is_cut(sch, leaf)
    local reduction = sch:is_reduction(leaf) and
                      nests.first_reduction(sch, leaf)
    if reduction then
      vectorize(sch, sch:decompose_reduction(leaf, reduction), p, cut)
    end
    vectorize(sch, leaf, p, cut)
  end
  return sch
end

return ts.module {
  name = "parallel_vectorize_unroll",
  parameters = {
    { "axis", "", "what parallel loops are bound to, on devices whose " ..
      "blocks of threads are the cores of a processor; \"\": they are " ..
      "parallel",
      takes = "blockIdx.x, .y or .z, or \"\"", fits = function(v)
        return v == "" or type(v) == "string" and v:find "^blockIdx%.[xyz]$"
      end },
    { "vectorize_extent", 16, "the most elements of a vector, of loops that " ..
      "tiling did not cut", least = 1 },
    { "unroll_max_steps", { 0, 16, 64, 512 }, "up to how many steps loops " ..
      "are unrolled, one is sampled", least = 0 },
    { "serial_below", 1 << 12, "work of nests that are never parallel",
      type = "number" },
    { "parallel_from", 1 << 21, "and of those that always are",
      type = "number" },
  },
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
