-- SPDX-License-Identifier: Apache-2.0
-- Splits a reduction with few spatial iterations into partial ones
-- (MetaSchedule's AddRFactor).  The reduction loops are fused and cut in two;
-- with the outer part factored out, as many partial results are reduced one
-- by one as it has iterations, which can be parallel; with the inner part,
-- the partial results of a row lie beside each other, which suits vectors.
--
-- `max_jobs_per_core`: a reduction that multi-level tiling suits is left to it
-- when it has more spatial iterations than these for each core of the target.
-- `max_innermost_factor`: the inner part is at most that long.
--
-- Sketches: the outer part factored out, the inner part, and as it was.
local ts = require "tessera"
local options = require "tessera.options"

-- The loops of reduce iters, moved inside and fused to one.
local function fuse_reduction(sch, block)
  local kinds, spatial, reduce = sch:block_info(block).iters, {}, {}
  for i, loop in ipairs { sch:get_loops(block) } do
    local list = kinds[i] == "reduce" and reduce or spatial
    list[#list + 1] = loop
  end
  local order = { table.unpack(spatial) }
  table.move(reduce, 1, #reduce, #order + 1, order)
  if #order > 1 then sch:reorder(order) end
  return #reduce > 1 and sch:fuse(table.unpack(reduce)) or reduce[1]
end

-- Factors to write the sketch with, of which none is 1 where that can be: of
-- which kind a loop of one iteration is cannot be seen.
local function example(n, most)
  for inner = math.min(n // 2, most), 2, -1 do
    if n % inner == 0 then return { n // inner, inner } end
  end
end

local function split_reduction(sch, block, p)
  local fused = fuse_reduction(sch, block)
  return sch:split(fused, { sch:sample_perfect_tile(fused, {
    n = 2, max_innermost_factor = p.max_innermost_factor,
    decision = example(sch:extent(fused), p.max_innermost_factor) }) })
end

-- Iters in the order of the nest that is wanted where the block moves under a
-- loop of its consumer: what was spatial before, and the two parts as they are
-- nested.
local function order_iters(sch, block, n)
  local dims = sch:access_info(block, "write", 0).dims
  local partial, order, parts = dims[#dims], {}, {}
  for i, kind in ipairs(sch:block_info(block).iters) do
    if i == partial then parts[n] = i - 1
    elseif kind == "reduce" then parts[3 - n] = i - 1
    else order[#order + 1] = i - 1 end
  end
  if #parts < 2 then return end
  table.move(parts, 1, 2, #order + 1, order)
  sch:reorder_block_iter_var(block, order)
end

-- A copy in which part n is factored out, the new dimension last: of the
-- inner part the innermost loop, which has the length that was sampled, as if
-- tiling had cut it; of the outer part the innermost loop still reduces.
local function factored(sch, block, part, n)
  local copy = sch:copy()
  local partial = copy:rfactor(part, -1)
  order_iters(copy, partial, n)
  copy:annotate(partial, n == 2 and "tiled_like" or "innermost_reduces", 1)
  copy:annotate(block, "random_compute_producer", 1)
  return copy
end

return ts.module {
  name = "add_rfactor",
  defaults = { max_jobs_per_core = 16, max_innermost_factor = 64 },
  check = function(p)
    for _, name in ipairs { "max_jobs_per_core", "max_innermost_factor" } do
      local why = options.not_positive(name, p[name])
      if why then return why end
    end
  end,
  apply = function(sch, block, p)
    local target = sch:target()
    local cores = target and target:get "num-cores" or 1
    if not sch:needs_rfactor(block, cores * p.max_jobs_per_core) then
      return nil, "it is no reduction, or has enough spatial iterations"
    end
    local list, whys, as_it_was = {}, {}, sch:copy()
    for n, part in ipairs { split_reduction(sch, block, p) } do
      local ok, why = sch:can("rfactor", part, -1)
      if ok then list[#list + 1] = factored(sch, block, part, n)
      else whys[#whys + 1] = why end
    end
    if #list == 0 then return nil, whys[1] end
    list[#list + 1] = as_it_was
    return list, whys[1]
  end,
}
