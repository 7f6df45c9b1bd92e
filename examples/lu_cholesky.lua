-- SPDX-License-Identifier: Apache-2.0
-- LU and Cholesky factorisation, right-looking and in place, as in textbooks,
-- and manual schedules that block, pack and parallelize them by strip-mining,
-- partitioning and distributing loops.
--   tessera examples/lu_cholesky.lua [BLOCKS]
-- prints, as JSON lines, seconds before and after, for a matrix of so many
-- blocks of 80 columns (25: N = 2000).  build/bench/factor checks against
-- LAPACK and compares with OpenBLAS.
local ts = require "tessera"
local ops = require "tessera.ops"

local factor = { names = { "lu", "cholesky" } }

-- For N = 2000 and 64-bit floats.
factor.tiles = { block = 80, inner = 16, rows = 8, columns = 16 }

-- A becomes L - I + U with A = L U, or its lower half L with A = L L^T; nothing
-- is pivoted.  What a step takes from the column and the row of its pivot is
-- kept in buffers of their own, which schedules may lay out as they like.
for _, name in ipairs(factor.names) do
  factor[name] = function(N, dtype)
    return ops[name] { n = N, dtype = dtype }
  end
end

-- ---- schedules -------------------------------------------------------------

-- The columns that `k`, the loop of the pivots, goes through are factored
-- `size` at a time, and only then the columns behind them are updated: j is
-- the loop over the columns to update, statement number `at` below k, and
-- `behind` gives the first column after a block, over the loops of blocks.
local function blocked(sch, k, j, at, outer, size, behind)
  local ko, ki = sch:split(k, { ts.auto, size })
  local blocks = { table.unpack(outer) }
  blocks[#blocks + 1] = ko
  local inside, right = sch:loop_partition(j, nil, true, blocks, behind)
  local _, rest = sch:fission(ki, at + 1)
  return { blocks = blocks, behind = behind,
           pivots = ki, columns = inside,       -- k { .. j .. } of one block
           rest = rest, right = right }         -- k { j .. } behind it
end

-- Blocks of `block` columns, and in each, blocks of `inner`; `first` names the
-- first block of a step.
local function blocked_twice(sch, first, at, block, inner)
  local k = sch:get_loops(sch:get_block(first))
  local _, j = sch:get_loops(sch:get_block "update")
  local big = blocked(sch, k, j, at, {}, block,
                      function(ko) return (ko + 1) * block end)
  local small = blocked(sch, big.pivots, big.columns, at, big.blocks, inner,
                        function(ko, ki)
                          return ko * block + (ki + 1) * inner
                        end)
  return big, small
end

-- The loops around the update below j, as a list.
local function loops_of_update(sch, j)
  local blocks = table.pack(sch:get_child_blocks(j))
  return table.pack(sch:get_loops(blocks[blocks.n]))
end

-- Behind the block: the rows of it, which must go pivot by pivot, a vector
-- of n columns after the other; and the loops of the rows below.
local function solve(sch, x, n)
  local loops = loops_of_update(sch, x.right)
  local inside, below = sch:loop_partition(loops[loops.n], nil, true, x.blocks,
                                           x.behind)
  local _, j = sch:fission(x.right, 2)
  local _, k = sch:fission(x.rest, 1)
  local jo, jv = sch:split(x.right, { ts.auto, n })
  sch:reorder(jo, x.rest)
  local copy, update = sch:fission(jv, 1)
  sch:reorder(inside, update)
  sch:vectorize(copy)
  sch:vectorize(update)
  return jo, k, j, below
end

-- Tiles of m x n elements stay in registers while the pivots go by.
local function product(sch, k, j, i, m, n)
  local jo, jv = sch:split(j, { ts.auto, n })
  sch:reorder(jo, i, jv)
  local io, iu = sch:split(i, { ts.auto, m })
  sch:reorder(jo, io, k, iu, jv)
  sch:vectorize(jv)
  sch:unroll(iu)
  return jo, io
end

-- What is left of j: pivot by pivot, in vectors of up to n columns.
local function panel(sch, j, n)
  local loops = loops_of_update(sch, j)
  sch:reorder(loops[loops.n], j)
  local _, jv = sch:split(j, { ts.auto, n })
  sch:vectorize(jv)
end

-- What the products read row by row lies in the order in which it is read.
local function pack(sch, R)
  sch:transform_layout(sch:get_block "column", { "write", 0 },
                       function(k, i) return i // R, k, i % R end)
end

-- o: block and inner, how many columns are factored before all the others,
-- and the others of the block, are updated; rows, columns: of what is kept in
-- registers.  block divides N, inner divides block, rows and columns divide
-- inner.
factor.schedule = {}
function factor.schedule.lu(program, o)
  local sch = ts.schedule(program)
  local R, C = o.rows, o.columns
  local big, small = blocked_twice(sch, "scale", 1, o.block, o.inner)
  local jo, kt, jt, it = solve(sch, big, C)
  sch:parallel(jo)
  sch:parallel((product(sch, kt, jt, it, R, C)))
  _, kt, jt, it = solve(sch, small, C)
  product(sch, kt, jt, it, R, C)
  local _, rest = sch:fission(small.columns, 1)
  panel(sch, rest, o.inner)
  pack(sch, R)
  return sch
end

-- The same; there are no rows to be solved for.  The update ends at the
-- diagonal, which only the first tiles of a column meet.
function factor.schedule.cholesky(program, o)
  local sch = ts.schedule(program)
  local R, C = o.rows, o.columns
  local big, small = blocked_twice(sch, "root_of", 2, o.block, o.inner)
  for _, x in ipairs { big, small } do
    local loops = loops_of_update(sch, x.right)
    local jo, io = product(sch, x.rest, x.right, loops[loops.n], R, C)
    sch:loop_partition(io, nil, true, x.blocks, x == big
      and function(ko) return C // R end
      or function(ko, ki) return C // R end)
    if x == big then sch:parallel(jo) end
  end
  panel(sch, small.columns, o.inner)
  pack(sch, R)
  return sch
end

-- ---- running them ----------------------------------------------------------

-- Symmetric, and its diagonal greater than the rest of a row: what LAPACK
-- pivots stays where it is.
function factor.matrix(N)
  local A = ts.tensor("float64", { N, N }, "random", 1)
  for i = 0, N - 1 do
    for j = 0, i - 1 do A:set(i, j, A:get(j, i)) end
    A:set(i, i, N)
  end
  return A
end

-- The seconds that a factorisation takes (the matrix stays dominated by its
-- diagonal when it is done again), and what it makes.
local function run(program, N)
  local kernel, A = ts.build(program, "llvm"), factor.matrix(N)
  local again = factor.matrix(N)
  kernel(A)
  return kernel:time({ again }, { min_time = 0.1 }).min, A
end

if arg and (arg[0] or ""):find "lu_cholesky.lua$" then
  local N = factor.tiles.block * math.tointeger(tonumber(arg[1] or 25))
  for _, name in ipairs(factor.names) do
    local program = factor[name](N, "float64")
    local sch = factor.schedule[name](program, factor.tiles)
    local plain, want = run(program, N)
    local fast, got = run(sch, N)
    local _, relative = got:compare(want)
    assert(relative < 1e-9, name .. ": the results differ")
    print(('{"figure": "%s_speedup", "value": %.4g, "unit": "1", "n": %d, ' ..
           '"plain_s": %.4g, "scheduled_s": %.4g}'):format(
          name, plain / fast, N, plain, fast))
  end
end

return factor
