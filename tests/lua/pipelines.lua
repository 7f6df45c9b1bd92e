-- SPDX-License-Identifier: Apache-2.0
-- Software pipelines, double buffers and virtual threads, built and run; what
-- is bound to threads of a device is not for a processor.
local ts = require "tessera"

local function fails(code, fn, ...)
  local ok, e = pcall(fn, ...)
  assert(not ok, "should have failed")
  assert(e.code == code, e.code .. ": " .. tostring(e))
  return e
end

local N = 24
local A = ts.placeholder("A", { N, N })
local B = ts.placeholder("B", { N, N })
local k = ts.reduce_axis("k", N)
local C = ts.compute("C", { N, N }, function(i, j)
  return ts.sum(A(i, k) * B(k, j), k)
end)
local program = ts.program("matmul", { A, B }, { C })
local a = ts.tensor("float32", { N, N }, "integers", 1)
local b = ts.tensor("float32", { N, N }, "integers", 2)
local want = ts.tensor("float32", { N, N }, "zeros")
ts.interpret(program, { a, b, want })

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
  assert(ts.equivalent(sch, program))
  local got = ts.tensor("float32", { N, N }, "zeros")
  ts.build(sch)(a, b, got)
  assert(got:compare(want) == 0)
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
local e = fails("BUILD_ERROR", ts.build, sch)
assert(e.message:find("has 2 entries, its body 3 statements", 1, true),
       e.message)

sch, i0, k0, x = tiled()
sch:annotate(k0, "software_pipeline_stage", { 1, 1, 0 })
sch:annotate(k0, "software_pipeline_order", { 0, 1, 2 })
e = fails("BUILD_ERROR", ts.build, sch)
assert(e.message:find("must run before", 1, true), e.message)

sch, i0, k0, x = tiled()
sch:bind(i0, "threadIdx.x")
assert(ts.equivalent(sch, program))
e = fails("BUILD_ERROR", ts.build, sch)
assert(e.message:find("threadIdx.x", 1, true), e.message)
