-- SPDX-License-Identifier: Apache-2.0
-- Multi-level tiling around tiles that a tensor intrinsic does (MetaSchedule's
-- MultiLevelTilingWithIntrin).  A block that the intrinsic can do part by part
-- is put into tiles of its size, these are cut further as a multi-level tiling
-- of them says, and the innermost is left to the intrinsic.
--
-- In no default space, which have use_dots, use_amx and use_mma for the
-- instructions of their targets: it is for intrinsics of one's own.
local ts = require "tessera"
local tensor = require "tessera.tensor"
local tiling = require "tessera.tiling"
local tiling_parameters = require "tessera.steps.tiling_parameters"

-- Why the intrinsic cannot do the block; nil: it can.
local function refusal(sch, block, name, p)
  local m, why = tensor.mapping(sch, block, name, p.desc or nil)
  if not m then return why end
  local loops = { sch:get_loops(block) }
  for g, group in ipairs(m.groups) do
    local extent = 1
    for _, i in ipairs(group) do extent = extent * sch:extent(loops[i]) end
    if extent % m.sizes[g] ~= 0 and not p.pad_extents then
      return ("%d iterations are no multiple of %d"):format(extent, m.sizes[g])
    end
  end
end

-- The first of the block's loops that reduces; nil: there is none.
local function first_reduction(sch, block)
  for _, loop in ipairs { sch:get_loops(block) } do
    if sch:loop_info(loop).iter_type == "reduce" then return loop end
  end
end

-- Puts the innermost tiles, of the intrinsic's size, into a block of their own,
-- with all buffers as they lie, and asks whether the intrinsic does them.
local function as_it_lies(sch, block, name, desc)
  local first, why = tensor.inner(sch, block, name, desc)
  if not first then return nil, why end
  local tile = sch:blockize(first)
  local done, no = tiling.attempt(sch, function(copy)
    local start = first_reduction(copy, tile)
    if start then copy:decompose_reduction(tile, start) end
    copy:tensorize(tile, name)
  end)
  return done and tile, no
end

-- The block of the innermost tiles: as the buffers lie where they would else
-- be copied to be indexed as the intrinsic does, and that can be.
local function innermost(sch, block, name, desc)
  if tensor.mapping(sch, block, name, desc).copies > 0 then
    local lying, tile = tiling.attempt(sch, as_it_lies, block, name, desc)
    if tile then return lying, tile end
  end
  local first, unfit = tensor.fit(sch, block, name, desc)
  if not first then return nil, unfit end
  return sch, sch:blockize(first)
end

-- The innermost tiles are left to the intrinsic.
local function finish(sch, tile, start, name)
  if start then sch:decompose_reduction(tile, start) end
  tiling.tensorize(sch, tile, name)
end

return ts.module {
  name = "multi_level_tiling_with_intrin",
  parameters = tiling_parameters.of({
    structure = "SSRSRS", max_innermost_factor = 64,
    tile_binds = {}, max_threads = 1024,
    write_levels = { 1, 2 }, write_scope = "global", write_must = false,
    read_levels = {}, read_scope = "shared", vector_load_lens = {},
    pack = false,
  }, {
    { "intrin", tensor.dot_16x4, "the intrinsic; the function gives it for " ..
      "a target, as tensor.dot_16x4 does, of buffers as they lie where it " ..
      "can: the innermost iters are its own then, as in blocked layouts, " ..
      "and else as many as index the same buffers, of copies that are laid " ..
      "out so",
      takes = "a name, or a function that gives it", fits = function(v)
        return type(v) == "string" or type(v) == "function"
      end },
    { "desc", false, "its description, where it is none of tessera.tensor's",
      type = "any", takes = "a program, or false" },
    { "pad_extents", false, "extents that are no multiples of its size are " ..
      "padded; else such a block is left alone" },
  }),
  check = tiling_parameters.check,
  apply = function(sch, block, p)
    local unfit = tiling.unfit(sch, block, p.structure)
    if unfit then return nil, unfit end
    local name = p.intrin
    if type(name) == "function" then name = name(sch:target()) end
    local why = refusal(sch, block, name, p)
    if why then return nil, why end
    local on, tile = innermost(sch, block, name, p.desc or nil)
    if not on then return nil, tile end
    local list, out, levels = tiling.sketches(on, tile, p)
    local start = levels[p.structure:find("R", 1, true) or 0]
    for _, one in ipairs(list) do
      finish(one, tile, start and start[1], name)
    end
    return list, out
  end,
}
