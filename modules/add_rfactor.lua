-- SPDX-License-Identifier: Apache-2.0
-- Splits a reduction with few spatial iterations into partial ones
-- (MetaSchedule's AddRFactor).  Its loops are made one, which is cut in two;
-- with the outer part factored out, as many partial results are reduced one
-- by one as it has iterations, which can be parallel; with the inner part,
-- the partial results of a row lie beside each other, which suits vectors.
--
-- The outer part makes jobs for cores, so it is factored out only where there
-- are few rows, and enough to do.
--
-- Sketches: the outer part factored out, the inner part, that by a tree, where
-- there are fewer spatial iterations than cores both parts, and as it was.
local ts = require "tessera"
local nests = require "tessera.steps.nests"
local reductions = require "tessera.steps.reductions"
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

-- Factors part n out, the new dimension last: of the inner part the innermost
-- loop, which has the length that was sampled, as if tiling had cut it; of the
-- outer part the innermost loop still reduces.
local function factor(sch, block, parts, n)
  local partial = sch:rfactor(parts[n], -1)
  reductions.order_iters(sch, partial, n)
  sch:annotate(partial, n == 2 and "tiled_like" or "innermost_reduces", 1)
  sch:annotate(block, "random_compute_producer", 1)
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
  sch:annotate(partial, "random_compute_producer", 1)
end

-- Factors both parts out: the outer one is cut once more, its outer part
-- factored out, and from each of these partial results the inner one.
local function factor_twice(sch, block, parts)
  local jobs = sch:split(parts[1], { sch:sample_perfect_tile(parts[1], {
    n = 2, max_innermost_factor = -1,
    decision = example(sch:extent(parts[1]), 1 << 20) }) })
  local partial = sch:rfactor(jobs, -1)
  local lanes = sch:rfactor(select(-1, sch:get_loops(partial)), -1)
  reductions.order_iters(sch, lanes, 2)
  sch:annotate(lanes, "tiled_like", 1)
  sch:annotate(partial, "innermost_reduces", 1)
  sch:annotate(block, "innermost_reduces", 1)
end

-- ---- forms of a sketch -----------------------------------------------------

local function outer(sch, block, p)
  factor(sch, block, split_reduction(sch, block, p), 1)
end

local function inner(sch, block, p)
  factor(sch, block, split_reduction(sch, block, p), 2)
end

local function tree(sch, block, p)
  inner(sch, block, p)
  factor_again(sch, block)
end

local function both(sch, block, p)
  factor_twice(sch, block, split_reduction(sch, block, p))
end

-- How many spatial and how many other iterations there are.
local function iterations(sch, block)
  local kinds, n, others = sch:block_info(block).iters, 1, 1
  for i, loop in ipairs { sch:get_loops(block) } do
    local extent = sch:extent(loop) or 1
    if kinds[i] == "spatial" then n = n * extent
    else others = others * extent end
  end
  return n, others
end

-- Whether jobs for cores, which the outer part makes, can pay.
local function has_jobs(sch, block, p, cores)
  local rows, work = iterations(sch, block), sch:work((sch:get_loops(block)))
  return (p.outer_rows == 0 or rows < p.outer_rows * cores) and
         (not work or work >= p.outer_from)
end

local function forms(sch, block, p, cores)
  local jobs, list = has_jobs(sch, block, p, cores), {}
  if jobs then list[#list + 1] = outer end
  list[#list + 1] = inner
  if p.tree then list[#list + 1] = tree end
  if jobs and iterations(sch, block) < cores then list[#list + 1] = both end
  return list
end

-- ---- reductions that are alike ---------------------------------------------

-- Whether it adds up partial results, or makes some that are added up.
local function is_split(sch, block)
  return sch:annotation(block, "random_compute_producer") or
         sch:annotation(block, "innermost_reduces") or
         sch:annotation(block, "tiled_like")
end

-- The names of the reductions of the program that have as many iterations of
-- each kind, in the order in which modules are applied to them.
local function alike(sch, block, most)
  local rows, length = iterations(sch, block)
  local list, leaves = {}, nests.leaves(sch, (sch:get_block "root"))
  for i = #leaves, 1, -1 do
    local leaf = leaves[i]
    if sch:needs_rfactor(leaf, most) and not is_split(sch, leaf) then
      local n, others = iterations(sch, leaf)
      if n == rows and others == length then
        list[#list + 1] = sch:block_info(leaf).name
      end
    end
  end
  return list
end

-- A copy in which as many of them as can be are split in that form; nil and
-- why there is none.
local function split_all(sch, group, form, p)
  local made, why
  for _, block in ipairs(group) do
    local next, no = tiling.attempt(made or sch, form, block, p)
    if next then made = next else why = why or no end
  end
  return made, why
end

return ts.module {
  name = "add_rfactor",
  parameters = {
    { "max_jobs_per_core", 16, "with more spatial iterations for each core " ..
      "of the target a reduction that multi-level tiling suits is left to it",
      least = 1 },
    { "max_innermost_factor", 64, "the inner part is at most that long",
      least = 1 },
    { "tree", false, "one more sketch adds the partial results of a row up " ..
      "by vectors, to as many as are sampled, and only these one by one" },
    { "together", false, "reductions of the program with as many spatial " ..
      "and as many other iterations, as the sums of a layer normalisation, " ..
      "are split alike, so that their choices do not multiply" },
    { "outer_rows", 0, "the outer part is factored out with fewer spatial " ..
      "iterations than these for each core; 0: however many", least = 0 },
    { "outer_from", 0, "and of work (`sch:work`) from this on", least = 0 },
  },
  apply = function(sch, block, p)
    local target = sch:target()
    local cores = target and target:get "num-cores" or 1
    local most = cores * p.max_jobs_per_core
    if not sch:needs_rfactor(block, most) then
      return nil, "it is no reduction, or has enough spatial iterations"
    end
    local group, name = { block }, sch:block_info(block).name
    if p.together then
      if is_split(sch, block) then return nil, "it is split" end
      local names = alike(sch:copy(), block, most)
      if names[1] ~= name then return nil, "it goes with " .. names[1] end
      for i = 2, #names do group[i] = sch:get_block(names[i]) end
    end
    local list, why = {}, nil
    for _, form in ipairs(forms(sch, block, p, cores)) do
      local made, no = split_all(sch, group, form, p)
      list[#list + 1], why = made, why or no
    end
    if #list == 0 then return nil, why end
    list[#list + 1] = sch
    return list, why
  end,
}
