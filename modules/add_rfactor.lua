-- SPDX-License-Identifier: Apache-2.0
-- Splits a reduction with few spatial iterations into partial ones
-- (MetaSchedule's AddRFactor).  Its loops are made one, which is cut in two;
-- with the outer part factored out, as many partial results are reduced one
-- by one as it has iterations, which can be parallel; with the inner part,
-- the partial results of a row lie beside each other, which suits vectors.
--
-- `max_jobs_per_core`: a reduction that multi-level tiling suits is left to it
-- when it has more spatial iterations than these for each core of the target.
-- `max_innermost_factor`: the inner part is at most that long.
-- `tree`: a further sketch adds the partial results of a row up by vectors, to
-- as many as are sampled, and only these one by one.
--
-- Sketches: the outer part factored out, the inner part, that by a tree, where
-- there are fewer spatial iterations than cores both parts, and as it was.
local ts = require "tessera"
local options = require "tessera.options"
local reductions = require "tessera.reductions"
local tiling = require "tessera.tiling"

-- Factors to write the sketch with, of which none is 1 where that can be: of
-- which kind a loop of one iteration is cannot be seen.
local function example(n, most)
  for inner = math.min(n // 2, most), 2, -1 do
    if n % inner == 0 then return { n // inner, inner } end
  end
end

local function split_reduction(sch, block, p)
  local fused = reductions.loop(sch, block)
  return { sch:split(fused, { sch:sample_perfect_tile(fused, {
    n = 2, max_innermost_factor = p.max_innermost_factor,
    decision = example(sch:extent(fused), p.max_innermost_factor) }) }) }
end

-- A copy in which part n is factored out, the new dimension last: of the
-- inner part the innermost loop, which has the length that was sampled, as if
-- tiling had cut it; of the outer part the innermost loop still reduces.
local function factored(sch, block, part, n)
  local copy = sch:copy()
  local partial = copy:rfactor(part, -1)
  reductions.order_iters(copy, partial, n)
  copy:annotate(partial, n == 2 and "tiled_like" or "innermost_reduces", 1)
  copy:annotate(block, "random_compute_producer", 1)
  return copy
end

-- Factors out the inner part of the partial results of a row once more.
local function factor_again(sch, block)
  local lanes = select(-1, sch:get_loops(block))
  local _, inner = sch:split(lanes, { sch:sample_perfect_tile(lanes, {
    n = 2, max_innermost_factor = 16,
    decision = example(sch:extent(lanes), 8) }) })
  local partial = sch:rfactor(inner, -1)
  reductions.order_iters(sch, partial, 2)
  sch:annotate(partial, "tiled_like", 1)
end

-- Factors both parts out: the outer one is cut once more, its outer part
-- factored out, and from each of these partial results the inner one.
local function factor_twice(sch, block, parts)
  local jobs = sch:split(parts[1], { sch:sample_perfect_tile(parts[1], {
    n = 2, decision = example(sch:extent(parts[1]), 1 << 20) }) })
  local partial = sch:rfactor(jobs, -1)
  local lanes = sch:rfactor(select(-1, sch:get_loops(partial)), -1)
  reductions.order_iters(sch, lanes, 2)
  sch:annotate(lanes, "tiled_like", 1)
  sch:annotate(partial, "innermost_reduces", 1)
  sch:annotate(block, "innermost_reduces", 1)
end

-- How many spatial iterations there are.
local function spatial_iterations(sch, block)
  local kinds, n = sch:block_info(block).iters, 1
  for i, loop in ipairs { sch:get_loops(block) } do
    if kinds[i] == "spatial" then n = n * (sch:extent(loop) or 1) end
  end
  return n
end

return ts.module {
  name = "add_rfactor",
  defaults = { max_jobs_per_core = 16, max_innermost_factor = 64,
               tree = false },
  check = function(p)
    local most = "max_innermost_factor"
    if type(p.tree) ~= "boolean" then
      return options.unusable("tree", p.tree, "it is true or false")
    end
    return options.not_positive("max_jobs_per_core", p.max_jobs_per_core) or
           options.not_positive(most, p[most])
  end,
  apply = function(sch, block, p)
    local target = sch:target()
    local cores = target and target:get "num-cores" or 1
    if not sch:needs_rfactor(block, cores * p.max_jobs_per_core) then
      return nil, "it is no reduction, or has enough spatial iterations"
    end
    local list, whys, as_it_was = {}, {}, sch
    local few = spatial_iterations(sch, block) < cores
    local cut, parts = tiling.attempt(sch, split_reduction, block, p)
    if not cut then return nil, parts end
    sch = cut
    for n, part in ipairs(parts) do
      local ok, why = sch:can("rfactor", part, -1)
      if ok then list[#list + 1] = factored(sch, block, part, n)
      else whys[#whys + 1] = why end
      if ok and n == 2 and p.tree then
        list[#list + 1] = tiling.attempt(list[#list], factor_again, block)
      end
    end
    if #list == 0 then return nil, whys[1] end
    if few then
      local made, why = tiling.attempt(sch, factor_twice, block, parts)
      list[#list + 1], whys[#whys + 1] = made, why
    end
    list[#list + 1] = as_it_was
    return list, whys[1]
  end,
}
