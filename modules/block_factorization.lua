-- SPDX-License-Identifier: Apache-2.0
-- Blocks right-looking eliminations, as LU, Cholesky and triangular solves:
-- a loop of pivots that carries dependences, whose last statement updates the
-- trailing part, in loops with bounds that depend on the pivot.  The loop of
-- pivots is strip-mined, the update is partitioned behind the block, and
-- distribution leaves a panel, a solve and a product (J. Dongarra et al., A Set
-- of Level 3 Basic Linear Algebra Subprograms, 1990; K. Goto and R. van de
-- Geijn, 2008, of the product's tiles).  Rows of the panel below the block go
-- through its pivots in parallel.  The last, at most one block, pivots are done
-- one by one, so that blocks need not divide their number.  What the pivots are
-- too few for is left out.
local ts = require "tessera"
local factoring = require "tessera.steps.factoring"
local machine = require "tessera.steps.machine"
local sampling = require "tessera.steps.sampling"
local tiling = require "tessera.tiling"


-- Those of the list that are at most so many, or that many.
local function up_to(list, most)
  local kept = {}
  for _, n in ipairs(list) do
    if n <= most then kept[#kept + 1] = n end
  end
  return kept[1] and kept or { math.max(1, most) }
end

-- Those of which `unit` times as many divide n, if any does; does one?
local function dividing(list, n, unit)
  local kept = {}
  for _, m in ipairs(list) do
    if n % (m * unit) == 0 then kept[#kept + 1] = m end
  end
  return kept[1] and kept or list, kept[1] ~= nil
end

-- Samples the sizes of tiles and of blocks, innermost last.
local function sizes_of(sch, nest, levels, p)
  local n, sizes = nest.n, {}
  local registers = machine.registers(sch, p.registers)
  local lanes = machine.lanes(sch, nest.block, machine.vector_bytes(sch))
  if n <= 4 * lanes then tiling.refuse("%d pivots are too few", n) end
  local vectors, rows = up_to(p.vectors, n // (8 * lanes)),
                        up_to(p.rows, math.min(lanes, registers // 2))
  vectors, sizes.exact = dividing(vectors, nest.columns, lanes)
  rows, sizes.exact_rows = dividing(rows, n, 1)
  local widest = lanes * math.max(table.unpack(vectors))
  local inner = up_to(p.inner, (n - 1) // (4 * widest))
  local longest = widest * math.max(table.unpack(inner))
  sizes.columns, sizes.lanes = sampling.evenly(sch, vectors) * lanes, lanes
  sizes.rows = sampling.evenly(sch, rows)
  sizes.strips = sampling.evenly(sch, p.strips)
  sizes[levels] = sizes.columns * sampling.evenly(sch, inner)
  if levels == 2 then
    local outer = up_to(p.outer, (n - 1) // 2 // longest)
    sizes[1] = sizes[2] * sampling.evenly(sch, outer)
  end
  return sizes
end

-- Gives the schedule that it made: a copy of `sch` where parts were tried.
local function schedule(sch, block, levels, p, swap)
  local nest = factoring.distribute(sch, block, swap)
  local sizes = sizes_of(sch, nest, levels, p)
  return factoring.block(sch, nest, sizes)
end

return ts.module {
  name = "block_factorization",
  parameters = {
    { "levels", { 1, 2 }, "of blocking; each makes a sketch", least = 1,
      most = 2 },
    { "vectors", { 1, 2, 3, 4 }, "of the product's register tiles", least = 1 },
    { "rows", { 4, 8 }, "of the product's register tiles", least = 1 },
    { "inner", { 1, 2, 3, 4 }, "innermost blocks, in columns of a tile",
      least = 1 },
    { "outer", { 2, 3, 4, 6, 8 }, "blocks around those, in inner blocks",
      least = 1 },
    { "strips", { 1, 2, 4, 8 }, "how many tiles of columns a thread updates " ..
      "at once, rows outside", least = 1 },
    { "registers", 0, "how many vector registers there are; 0: the target's",
      least = 0 },
    { "must", true, "no sketch is the block as it was" },
  },
  apply = function(sch, block, p)
    local why = factoring.mismatch(sch:copy(), block)
    if why then return nil, why end
    local list, whys, said = {}, {}, {}
    for _, levels in ipairs(p.levels) do
      local ok, made = tiling.attempt(sch, schedule, block, levels, p)
      local why = made
      if not ok then
        ok, made = tiling.attempt(sch, schedule, block, levels, p, true)
      end
      if ok then
        list[#list + 1] = made
      elseif not said[why] then
        whys[#whys + 1], said[why] = why, true
      end
    end
    if #list == 0 then return nil, table.concat(whys, "; ") end
    if not p.must then list[#list + 1] = sch:copy() end
    return list, table.concat(whys, "; ")
  end,
}
