-- SPDX-License-Identifier: Apache-2.0
-- Software pipelines, double buffers and virtual threads, built and run; what
-- is bound to threads of a device is not for a processor.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local fails = checks.fails

local N = 24
local A = ts.placeholder("A", { N, N })
local B = ts.placeholder("B", { N, N })
local k = ts.reduce_axis("k", N)
local C = ts.compute("C", { N, N }, function(i, j)
  return ts.sum(A(i, k) * B(k, j), k)
end)
local program = ts.program("matmul", { A, B }, { C })

-- C in tiles; those of A and B are copied in each step of k0.
local function tiled()
  local sch = ts.schedule(program, { seed = 1 })
  local c = sch:get_block "C"
  local i, j, kk = sch:get_loops(c)
  local i0, i1 = sch:split(i, { ts.auto, 8 })
  local j0, j1 = sch:split(j, { ts.auto, 6 })
  local k0, k1 = sch:split(kk, { ts.auto, 4 })
  sch:reorder(i0, j0, k0, i1, j1, k1)
  local x = sch:cache_read(c, 0, "shared")
  local y = sch:cache_read(c, 1, "shared")
  sch:compute_at(x, k0)
  sch:compute_at(y, k0)
  return sch, i0, k0, x
end

local function must_work(sch)
  checks.same(sch, program)
  checks.exact(sch, program, checks.arguments(program, "integers"))
end

local sch, i0, k0, x = tiled()
sch:annotate(k0, "software_pipeline_stage", { 0, 0, 1 })
sch:annotate(k0, "software_pipeline_order", { 0, 1, 2 })
must_work(sch)

sch, i0, k0, x = tiled()
sch:annotate(x, "double_buffer_scope", 0)
must_work(sch)

sch, i0, k0, x = tiled()
sch:bind(i0, "vthread.x")
must_work(sch)

-- What does not fit is found when the program is lowered.
sch, i0, k0, x = tiled()
sch:annotate(k0, "software_pipeline_stage", { 0, 1 })
sch:annotate(k0, "software_pipeline_order", { 0, 1 })
fails("BUILD_ERROR", "has 2 entries, its body 3 statements", ts.build, sch)

sch, i0, k0, x = tiled()
sch:annotate(k0, "software_pipeline_stage", { 1, 1, 0 })
sch:annotate(k0, "software_pipeline_order", { 0, 1, 2 })
fails("BUILD_ERROR", "must run before", ts.build, sch)

sch, i0, k0, x = tiled()
sch:bind(i0, "threadIdx.x")
assert(ts.equivalent(sch, program))
fails("BUILD_ERROR", "threadIdx.x", ts.build, sch)
