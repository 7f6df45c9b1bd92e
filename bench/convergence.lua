-- SPDX-License-Identifier: Apache-2.0
-- Records finite search spaces for build/bench/convergence: every point of a
-- space of at most 3,000, with the least of several times.
--   tessera bench/convergence.lua WORKLOAD [SECONDS [FILE]]
-- appends to bench/data/convergence/WORKLOAD.jsonl for so many seconds (no
-- limit: until all is measured); what is there already is not measured again.
local ts = require "tessera"
local ops = require "tessera.ops"
local here = arg[0]:match "^(.*)/[^/]*$"
local recorder = dofile(here .. "/support/recorder.lua")
local factor = dofile(here .. "/../examples/lu_cholesky.lua")
local pick = recorder.pick

-- ---- the spaces ----------------------------------------------------------

-- Cuts a loop into two; the innermost of at most that many iterations.
local function halves(sch, loop, most)
  return sch:split(loop, { sch:sample_perfect_tile(loop, {
    n = 2, max_innermost_factor = most }) })
end

-- The loop cut into an inner one whose length is one of the list, which
-- becomes a vector, and two around it.
local function columns(sch, loop, list)
  local outer, inner = sch:split(loop, { ts.auto, pick(sch, list) })
  local o, m = halves(sch, outer, 64)
  return o, m, inner
end

local function product(sch)
  local _, i, j, k = sch:get_loops(sch:get_output_blocks(sch:get_block "root"))
  local jo, jm, jv = columns(sch, j, { 8, 16, 32, 64 })
  local io, iu = halves(sch, i, 16)
  local ko, ki = halves(sch, k, 256)
  sch:reorder(jo, ko, io, jm, ki, iu, jv)
  sch:vectorize(jv)
  sch:unroll(iu)
end

local function convolution(sch)
  local conv = sch:get_output_blocks(sch:get_block "root")
  local _, h, w, c, kh, kw, ci = sch:get_loops(conv)
  local co, cm, cv = columns(sch, c, { 8, 16, 32, 64 })
  local wo, wu = halves(sch, w, 14)
  local io, ii = halves(sch, ci, 64)
  sch:reorder(co, h, io, wo, cm, kh, kw, ii, wu, cv)
  sch:vectorize(cv)
  sch:unroll(wu)
  sch:annotate(co, "pragma_auto_unroll_max_step", pick(sch, { 0, 64 }))
end

-- Of each product a tile of rows x columns is kept in registers.
local function three_products(sch)
  local tiles = { E = { { 4, 8 }, { 12, 18, 20, 36 } },
                  F = { { 4, 10 }, { 10, 20, 44 } },
                  G = { { 4, 8 }, { 10, 20, 44 } } }
  for _, name in ipairs { "E", "F", "G" } do
    local i, j, k = sch:get_loops(sch:get_block(name))
    local rows, lanes = table.unpack(tiles[name])
    local io, iu = sch:split(i, { ts.auto, pick(sch, rows) })
    local jo, jv = sch:split(j, { ts.auto, pick(sch, lanes) })
    sch:reorder(jo, io, k, iu, jv)
    sch:vectorize(jv)
    sch:unroll(iu)
  end
end

-- The schedules of examples/lu_cholesky.lua, whose sizes are sampled: blocks
-- of columns, blocks in those, and what is kept in registers.
local function factorisation(name)
  return function(sch)
    local made = ts.schedule
    ts.schedule = function() return sch end
    local inner = pick(sch, { 8, 16, 20, 40, 80 })
    local ok, e = pcall(factor.schedule[name], nil, {
      block = inner * pick(sch, { 2, 5, 10, 25 }), inner = inner,
      rows = pick(sch, { 1, 2, 4, 8 }), columns = pick(sch, { 4, 8, 16, 32 }),
    })
    ts.schedule = made
    if not ok then error(e, 0) end
  end
end

local workloads = {
  ["GMM-4"] = { product, function() return (ops.suite("GMM", 4)) end },
  ["C2D-3"] = { convolution, function() return (ops.suite("C2D", 3)) end },
  ["3mm"] = { three_products,
              function() return ops.polybench("3mm", "LARGE") end },
  lu = { factorisation "lu",
         function() return ops.polybench("lu", "LARGE") end },
  cholesky = { factorisation "cholesky",
               function() return ops.polybench("cholesky", "LARGE") end },
}

-- ---- measuring -----------------------------------------------------------

local name, seconds = arg[1], tonumber(arg[2] or math.huge)
local of = assert(seconds and workloads[name],
                  "usage: convergence.lua WORKLOAD [SECONDS [FILE]], of " ..
                  "GMM-4, C2D-3, 3mm, lu, cholesky")
local path = arg[3] or ("%s/data/convergence/%s.jsonl"):format(here, name)
local program = of[2]()
local kept = recorder.arguments(program)

recorder.record(name, of[1], program, function(trace, best)
  local ok, kernel = pcall(ts.build, trace:replay(program), "llvm")
  if not ok then return nil, kernel end
  return recorder.least(kernel, function()
    return #kept == 1 and recorder.arguments(program) or kept
  end, best)
end, path, seconds)
