-- SPDX-License-Identifier: Apache-2.0
-- Splitting a reduction into partial ones: its loops are made one and cut in
-- two, and the outer part, the inner one or both are factored out.
local reductions = require "tessera.steps.reductions"
local rfactor = {}

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

-- ---- forms of a sketch, each (sch, block, p) -------------------------------

-- The outer part is factored out: its results are jobs for cores.
function rfactor.outer(sch, block, p)
  factor(sch, block, split_reduction(sch, block, p), 1)
end

-- The inner part is: its results lie beside each other.
function rfactor.inner(sch, block, p)
  factor(sch, block, split_reduction(sch, block, p), 2)
end

-- The inner part, and of the partial results of a row the inner part again.
function rfactor.tree(sch, block, p)
  rfactor.inner(sch, block, p)
  factor_again(sch, block)
end

-- Both parts.
function rfactor.both(sch, block, p)
  factor_twice(sch, block, split_reduction(sch, block, p))
end

return rfactor
