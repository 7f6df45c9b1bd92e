-- SPDX-License-Identifier: Apache-2.0
-- Spaces in which most is lost, or nothing is done, are told of: by the note of
-- a result, and by ts.space.check.
local ts = require "tessera"
local ops = require "tessera.ops"
local unroll = require "tessera.modules.parallel_vectorize_unroll"

local function tune(p, space)
  return ts.tune(p, { space = space, trials = 32, seed = 1, strategy = "replay",
                      measure = function() return 1e-3 end })
end

-- What ts.space.check warns of; nil: nothing.
local function warning(p, list)
  ts.on_warning(function() end)
  local same, text = ts.space.check(list, p, "llvm")
  ts.on_warning(nil)
  assert(same == true)
  return text
end

-- Sampled sizes of 1 leave loops out, unless these are kept.
local function copied(keep)
  return ts.module { name = "copied", apply = function(sch, block)
    if not sch:is_reduction(block) then return nil, "no reduction" end
    local copy = sch:cache_write(block, 0, "local")
    local i, j, k = sch:get_loops(block)
    local io, ii = sch:split(i, { sch:sample_perfect_tile(i, { n = 2 }) })
    local jo, ji = sch:split(j, { sch:sample_perfect_tile(j, { n = 2 }) })
    sch:reorder(io, jo, k, ii, ji)
    sch:reverse_compute_at(copy, jo, { preserve_unit_loops = keep })
    local loops = { sch:get_loops(copy) }
    sch:vectorize(loops[#loops])
    return sch
  end } {}
end
do
  local p = ops.matmul { m = 6, n = 10, k = 8 }
  local text = "since get_loops gave another number of results than in the " ..
               "sketch (OTHER_OUTPUTS): preserve_unit_loops = true"
  local note = tune(p, { copied(false) }).note
  assert(note:find(text, 1, true), note)
  local lost, tried = note:match "^(%d+) of (%d+) candidates were refused"
  assert(tonumber(lost) > tonumber(tried) / 2, note)
  assert(warning(p, { copied(false) }):find(
           "draws are refused since get_loops gives another number of " ..
           "results than in the sketch: tessera doc OTHER_OUTPUTS", 1, true))
  assert(tune(p, { copied(true) }).note == nil)
  assert(warning(p, { copied(true) }) == nil)
end

-- A drawn place before what lists loops; the other order is as it should be.
do
  local tiled = ts.module { name = "tiled", apply = function(sch, block)
    local info, loops = sch:block_info(block), { sch:get_loops(block) }
    if not sch:is_reduction(block) or #loops ~= #info.iters then
      return nil, "no reduction, or tiled"
    end
    local levels, order = { {}, {}, {}, {}, {} }, {} -- S R S R S
    for n, loop in ipairs(loops) do
      local spatial = info.iters[n] == "spatial"
      local parts = { sch:split(loop, { sch:sample_perfect_tile(loop, {
        n = spatial and 3 or 2, max_innermost_factor = 8 }) }) }
      for k, part in ipairs(parts) do
        table.insert(levels[spatial and 2 * k - 1 or 2 * k], part)
      end
    end
    for _, list in ipairs(levels) do
      table.move(list, 1, #list, #order + 1, order)
    end
    sch:reorder(table.unpack(order))
    sch:annotate(block, "tiling_structure", "SRSRS")
    return sch
  end } {}
  local place = ts.module { name = "place", apply = function(sch, block)
    if sch:is_output(block) or sch:block_info(block).name == "root" then
      return nil, "nowhere to go"
    end
    sch:compute_at(block, (sch:sample_compute_location(block)))
    return sch
  end } {}
  local p = ops.conv2d_nhwc { n = 1, h = 12, w = 9, ci = 5, co = 21, k = 3,
                              stride = 2, pad = 1 }
  local vectors = unroll {}
  local lossy = { tiled, place, vectors }
  local note = tune(p, lossy).note
  assert(note:find("(OTHER_OUTPUTS)", 1, true), note)
  assert(warning(p, lossy):find("tessera doc OTHER_OUTPUTS", 1, true))
  assert(tune(p, { tiled, vectors, place }).note == nil)
  assert(warning(p, { tiled, vectors, place }) == nil)
end

-- A space whose modules apply nowhere; a function or one module is something.
do
  local p = ops.matmul { m = 8, n = 8, k = 8 }
  local function module(name, f)
    return ts.module { name = name, apply = f } {}
  end
  local never = module("never", function() return nil, "it never applies" end)
  local outer = module("outer", function(sch, block)
    if not sch:is_reduction(block) then return nil, "no reduction" end
    sch:parallel((sch:get_loops(block)))
    return sch
  end)
  assert(tune(p, { never }).note == "no module applied anywhere: " ..
         "tess_space_explain (ts.space.explain) says why")
  assert(tune(p, { never, outer }).note == nil)
  assert(tune(p, function() end).note == nil)
  assert(tune(p, {}).note == nil)
end
