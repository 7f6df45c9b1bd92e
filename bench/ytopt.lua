-- SPDX-License-Identifier: Apache-2.0
-- Records the spaces of ytopt's TVM benchmark (Wu et al., 2023) at its size
-- LARGE as they were published, for build/bench/ytopt:
--   tessera bench/ytopt.lua 3mm|product [SECONDS [FILE]]
-- appends to bench/data/ytopt/NAME.jsonl.  There only the last product of 3mm
-- is scheduled, by two of the six parameters (540 points), and "LU" and
-- "Cholesky" are one and the same product of two matrices (400 points); tiles
-- are the divisors of another axis, so that many are imperfect.
-- Of the loop over blocks of rows, whose iterations are all alike, enough are
-- run for 20 rows, and the time is scaled.
local ts = require "tessera"
local ops = require "tessera.ops"
local here = arg[0]:match "^(.*)/[^/]*$"
local recorder = dofile(here .. "/support/recorder.lua")

local ENOUGH = 20

local function divisors(n)
  local list = {}
  for d = 1, n do if n % d == 0 then list[#list + 1] = d end end
  return list
end

-- The published schedule of a product: rows and columns in tiles of m x n.
local function tile(sch, block, m, n)
  local y, x, k = sch:get_loops(block)
  local yo, yi = sch:split(y, { ts.auto, m })
  local xo, xi = sch:split(x, { ts.auto, n })
  sch:reorder(yo, xo, k, yi, xi)
end

local workloads = {
  ["3mm"] = { block = "G", rows = 800, columns = 1200, depth = 1000,
              m = divisors(1200), n = divisors(800),
              program = function() return ops.polybench("3mm", "LARGE") end },
  product = { block = "C", rows = 2000, columns = 2000, depth = 2000,
              m = divisors(2000), n = divisors(2000),
              program = function()
                return ops.matmul { m = 2000, n = 2000, k = 2000,
                                    dtype = "float64" }
              end },
}

local name, seconds = arg[1], tonumber(arg[2] or math.huge)
local w = assert(seconds and workloads[name],
                 "usage: ytopt.lua 3mm|product [SECONDS [FILE]]")
local path = arg[3] or ("%s/data/ytopt/%s.jsonl"):format(here, name)
local program = w.program()

local function space(sch)
  tile(sch, sch:get_block(w.block), recorder.pick(sch, w.m),
       recorder.pick(sch, w.n))
end

local function tensor(rows, columns)
  return ts.tensor("float64", { rows, columns }, "random", 1)
end

-- The first `rows` rows of the product, kept by their number.
local parts = {}
local function part_of(rows)
  if not parts[rows] then
    parts[rows] = {
      ops.matmul { m = rows, n = w.columns, k = w.depth, dtype = "float64" },
      { tensor(rows, w.depth), tensor(w.depth, w.columns),
        tensor(rows, w.columns) },
    }
  end
  return table.unpack(parts[rows])
end

-- As few rows as have all kinds of blocks that a tile of m rows makes of all,
-- and how many times as many iterations all have.
local function few_rows(m)
  local rows = math.min(w.rows, ENOUGH)
  while rows < w.rows and (w.rows - rows) % m ~= 0 do rows = rows + 1 end
  return rows, ((w.rows + m - 1) // m) / ((rows + m - 1) // m)
end

-- What is not scheduled: the rest of the program.
local before = 0
if name == "3mm" then
  local function least(m, n, k)
    local kernel = ts.build(ops.matmul { m = m, n = n, k = k,
                                         dtype = "float64" }, "llvm")
    local list = { tensor(m, k), tensor(k, n), tensor(m, n) }
    return recorder.least(kernel, function() return list end, math.huge)
  end
  before = least(800, 1000, 900) + least(1000, 1200, 1100)
  io.stderr:write(("the two products before: %.4g s\n"):format(before))
end

recorder.record(name, ts.space.by_hand(space), program, function(trace, best)
  local m, n
  for _, inst in ipairs(trace) do
    if inst.name == "sample_categorical" then
      local value = inst.attrs.candidates[inst.decision[1] + 1]
      if m then n = value else m = value end
    end
  end
  local rows, times = few_rows(m)
  local part, list = part_of(rows)
  local sch = ts.schedule(part)
  tile(sch, sch:get_block "C", m, n)
  local ok, kernel = pcall(ts.build, sch, "llvm")
  if not ok then return nil, kernel end
  local least, e = recorder.least(kernel, function() return list end,
                                  (best - before) / times)
  if not least then return nil, e end
  return before + times * least
end, path, seconds)
