-- SPDX-License-Identifier: Apache-2.0
-- A product whose tiles blocks of threads compute, A copied to shared memory by
-- all threads of a block: gives the schedule and the program.
local ts = require "tessera"
local ops = require "tessera.ops"

return function(m, threads, lanes)
  local p = ops.matmul { m = m, n = 32, k = 16 }
  local s = ts.schedule(p)
  local c = s:get_block "C"
  local i, j, k = s:get_loops(c)
  local i0, i1 = s:split(i, { ts.auto, 8 })
  local j0, j1 = s:split(j, { ts.auto, threads })
  s:reorder(i0, j0, j1, i1, k)
  s:bind(i0, "blockIdx.x")
  s:bind(j1, "threadIdx.x")
  local copy = s:cache_read(c, 0, "shared")
  s:compute_at(copy, j1)
  local loops = { s:get_loops(copy) }
  s:fuse(table.unpack(loops, #loops - 1))
  s:annotate(copy, "cooperative_fetch", lanes)
  return s, p
end
