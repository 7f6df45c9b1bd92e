-- SPDX-License-Identifier: Apache-2.0
-- A sweep of Gauss-Seidel over a grid, in place: row by row no loop may run in
-- parallel; skewed, by wavefronts w = i + j, the points of a front may.  The
-- skewed nest is described, shown to compute the same, scheduled and tuned.
--   tessera examples/gauss_seidel.lua [TRIALS]
local ts = require "tessera"

local seidel = {}

-- Relaxes the N x N inner points of a grid in the order that `nest` has.
local function sweep(N, nest)
  local b = ts.builder "gauss_seidel"
  local A = b:inout("A", { N + 2, N + 2 })
  nest(b, function(i, j)
    b:block("relax", { { "vi", extent = N, bind = i },
                       { "vj", extent = N, bind = j } }, function(vi, vj)
      local x, y = vi + 1, vj + 1
      b:store(A, { x, y }, (A(x - 1, y) + A(x, y - 1) + A(x, y + 1) +
                            A(x + 1, y)) * 0.25)
    end)
  end)
  return b:program()
end

function seidel.rows(N)
  return sweep(N, function(b, relax)
    b:loop("i", 0, N, function(i)
      b:loop("j", 0, N, function(j) relax(i, j) end)
    end)
  end)
end

-- The map (i, j) -> (i + j, i), with the bounds that it gives.
function seidel.fronts(N)
  return sweep(N, function(b, relax)
    b:loop("w", 0, 2 * N - 1, function(w)
      local first = ts.max(w - (N - 1), 0)
      b:loop("i", first, ts.min(w, N - 1) - first + 1, function(i)
        relax(i, w - i)
      end)
    end)
  end)
end

-- Pieces of a front in parallel.
function seidel.schedule(sch)
  local _, i = sch:get_loops(sch:get_block "relax")
  local piece = sch:sample_categorical({ 16, 32, 64 }, { 1 / 3, 1 / 3, 1 / 3 })
  sch:parallel((sch:split(i, { ts.auto, piece })))
end

if arg and arg[0]:find "gauss_seidel" then
  local small = ts.schedule(seidel.fronts(20))
  seidel.schedule(small)
  assert(ts.equivalent(seidel.rows(20), small))
  local result = ts.tune(seidel.fronts(512), {
    trials = tonumber(arg[1]) or 8, space = seidel.schedule })
  print(("%.1f us"):format(result.latency * 1e6))
end

return seidel
