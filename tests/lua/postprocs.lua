-- SPDX-License-Identifier: Apache-2.0
-- Postprocessors: what each changes or refuses, that the program computes the
-- same, and that its trace replays.
local ts = require "tessera"
local ops = require "tessera.ops"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local tiled = dofile((arg[0]:gsub("[^/]*$", "../support/fetching.lua")))

local function has(text, part) return tostring(text):find(part, 1, true) end

-- The copy is shared by the threads, as many elements at a time as fit.
for _, case in ipairs {
  { 8, 4, "vectorized(4)" }, { 8, 3, false }, { 8, 16, false }, { 12, 4, true },
} do
  local threads, lanes, expected = table.unpack(case)
  local s, p = tiled(16, threads, lanes)
  s:rewrite_cooperative_fetch()
  checks.same(s, p)
  local text = tostring(s)
  assert(not has(text, "cooperative_fetch"), text)
  assert(select(2, text:gsub("threadIdx%.x", "")) == 2, text)
  if type(expected) == "string" then assert(has(text, expected), text) end
  if not expected then assert(not has(text, "vectorized"), text) end
end

-- A layout-free parameter gets the order of the loops that read it most often:
-- one dimension a loop. What is walked in order, by no whole number of a loop,
-- or only in part, stays.
do
  local function weights(role, n, f)
    local A = ts.placeholder("A", { 8, 12 })
    local B = ts.placeholder("B", { 12, n }, "float32", { role = role })
    local k = ts.reduce_axis("k", 12)
    local C = ts.compute("C", { 8, n }, function(i, j)
      return ts.sum(A(i, k) * B(k, j), k)
    end)
    local p = ts.program("weights", { A, B }, { C })
    local s = ts.schedule(p)
    f(s, s:get_loops(s:get_block "C"))
    s:rewrite_layout()
    checks.same(s, p)
    return tostring(s), s, p
  end
  local function tiled(s, i, j, k)
    local j0, j1, j2 = s:split(j, { ts.auto, 2, 4 })
    local k0, k1 = s:split(k, { ts.auto, 3 })
    s:reorder(j0, k0, i, j1, k1, j2)
  end
  local text, s, p = weights("layout_free", 16, tiled)
  assert(has(text, "alloc B_prepared: float32[2, 4, 2, 3, 4]"), text)
  checks.exact(s, p, checks.arguments(p, "integers"))
  assert(s:trace():replay(p):program():hash() == s:program():hash())
  assert(not has(weights("input", 16, tiled), "B_prepared"))
  assert(not has(weights("layout_free", 18, tiled), "B_prepared"))
  text = weights("layout_free", 16, function(s, _, j, k) s:reorder(k, j) end)
  assert(not has(text, "B_prepared"), text)
  text = weights("layout_free", 16, function(s, i, j) s:reorder(j, i) end)
  assert(has(text, "B_prepared: float32[16, 12]"), text)
  -- What a module laid out already is laid out again, as the nest is then.
  text, s, p = weights("layout_free", 16, function(s, i, j, k)
    s:transform_layout(s:get_block "C", "B", function(x, y)
      return y // 4, x, y % 4
    end)
    local j0, j1 = s:split(j, { ts.auto, 4 })
    s:reorder(j0, i, j1, k)
  end)
  assert(has(text, "alloc B_prepared: float32[4, 4, 12]") and
         not has(text, "alloc B_prepared_prepared"), text)
  -- It is among the defaults of processors where it can change something.
  for role, is in pairs { layout_free = true, input = false } do
    local _, _, w = weights(role, 16, function() end)
    local tiling = require "tessera.modules.multi_level_tiling"
    local sketch = ts.space.sketches({ tiling {} }, w, "llvm",
                                     { postprocs = true })[1]
    assert((has(sketch, "rewrite_layout") ~= nil) == is)
  end
end

-- Outside of a kernel only the annotation goes.
do
  local p = ops.matmul { m = 8, n = 8, k = 8 }
  local s = ts.schedule(p)
  s:annotate(s:cache_read(s:get_block "C", 0, "shared"), "cooperative_fetch", 2)
  s:rewrite_cooperative_fetch()
  assert(not has(s, "cooperative_fetch"))
  checks.same(s, p)
end

-- Nests that no threads run are bound: short and long ones, sums without
-- spatial loops, and those whose threads are bound already.
do
  local function bound(p, o, f)
    local s = ts.schedule(p)
    if f then f(s) end
    s:rewrite_unbound_block(o)
    checks.same(s, p)
    return tostring(s)
  end
  local p = ops.matmul { m = 16, n = 24, k = 4, relu = true }
  local text = bound(p)
  assert(select(2, text:gsub("threadIdx%.x%(384%)", "")) == 2, text)
  text = bound(p, { max_threads_per_block = 64 })
  assert(has(text, "blockIdx.x(6)") and has(text, "threadIdx.x(64)"), text)
  text = bound(p, { max_threadblocks = 2, max_threads_per_block = 32 })
  assert(has(text, "range(6)") and has(text, "blockIdx.x(2)"), text)
  text = bound(ops.reduce { shape = { 32 } })
  assert(has(text, "blockIdx.x(1)"), text)
  text = bound(p, nil, function(s)
    local _, j = s:get_loops(s:get_block "C")
    s:bind(j, "threadIdx.x")
  end)
  assert(has(text, "blockIdx.x(16)") and has(text, "threadIdx.x(24)"), text)
  local s = ts.schedule(p)
  checks.refused(s, "NUMBER_SMALL", "rewrite_unbound_block",
                 { max_threadblocks = 0 })
  checks.refused(s, "NUMBER_SMALL", "rewrite_unbound_block",
                 { max_threads_per_block = -1 })
end

-- A scan stays with one thread; where its iter claims to be spatial no loop of
-- it can be bound, and that is refused.
for _, kind in ipairs { "opaque", "spatial" } do
  local b = ts.builder "scan"
  local X = b:inout("X", { 16 })
  b:loop("i", 1, 15, function(i)
    b:block("X", { { "v", kind, extent = 16, bind = i } }, function(v)
      b:store(X, { v }, X(v) + X(v - 1))
    end)
  end)
  local s = ts.schedule(b:program())
  if kind == "spatial" then
    checks.refused(s, "STEP_REFUSED", "rewrite_unbound_block")
  else
    s:rewrite_unbound_block()
    assert(has(s, "blockIdx.x(1)"), s)
  end
end

-- Loops whose extents are not constant.
do
  local n = ts.size "n"
  local A = ts.placeholder("A", { n })
  local B = ts.compute("B", { n }, function(i) return A(i) + 1 end)
  local s = ts.schedule(ts.program("sized", { A }, { B }))
  checks.refused(s, "LOOP_DYNAMIC", "disallow_dynamic_loop")
  s = ts.schedule(ops.matmul { m = 8, n = 8, k = 8 })
  s:disallow_dynamic_loop()
end

-- Parallel outer loops, vectors, unrolled reductions, as the root asks.
do
  local p = ops.matmul { m = 16, n = 24, k = 8, relu = true }
  local function asked(notes)
    local s = ts.schedule(p)
    for key, value in pairs(notes) do
      s:annotate(s:get_block "root", key, value)
    end
    s:rewrite_parallel_vectorize_unroll()
    checks.same(s, p)
    return tostring(s)
  end
  local text = asked { parallel = 4, vectorize = 8, unroll_explicit = 16 }
  assert(has(text, "i in parallel(16)") and has(text, "vectorized(8)") and
         has(text, "pragma_auto_unroll_max_step = 16") and
         has(text, "pragma_unroll_explicit = 1") and
         not has(text, "{parallel"), text)
  text = asked { parallel = 100, unroll_implicit = 64 }
  assert(has(text, "i_j_fused in parallel(384)") and
         has(text, "pragma_unroll_explicit = 0") and
         not has(text, "vectorized"), text)
  text = asked { vectorize = 5 }
  assert(not has(text, "vectorized") and not has(text, "parallel"), text)
  assert(asked {} == tostring(ts.schedule(p)))
end

-- One loop alone is cut for both.
do
  local A = ts.placeholder("A", { 64 })
  local B = ts.compute("B", { 64 }, function(i) return A(i) + 1 end)
  local p = ts.program("line", { A }, { B })
  for vector, expected in pairs { [8] = "parallel(8)",
                                  [64] = "parallel(64)" } do
    local s = ts.schedule(p)
    s:annotate(s:get_block "root", "parallel", 16)
    s:annotate(s:get_block "root", "vectorize", vector)
    s:rewrite_parallel_vectorize_unroll()
    checks.same(s, p)
    local lanes = has(s, "vectorized(8)") and 8 or 64
    assert(has(s, expected) and lanes == vector, s)
  end
end

-- Reductions lose their init, but for those that threads share.
do
  local p = ops.matmul { m = 8, n = 8, k = 8, relu = true }
  local s = ts.schedule(p)
  s:rewrite_reduction_block()
  checks.same(s, p)
  assert(has(s, "block C_init") and not has(s, "init\n"), s)
  s = ts.schedule(p)
  local i, _, k = s:get_loops(s:get_block "C")
  s:bind(i, "blockIdx.x")
  s:bind(k, "threadIdx.x")
  local before = tostring(s)
  s:rewrite_reduction_block()
  assert(tostring(s) == before, s)
end

-- Blocks that name an intrinsic get it; the init its own, or vectors.
do
  local tensor = require "tessera.tensor"
  local p = ops.matmul { m = 8, n = 16, k = 8 }
  local function tiled_for(name, o)
    local s = ts.schedule(p)
    local c = s:get_block "C"
    local b = s:blockize(assert(tensor.tile(s, c, { 4, 8, 4 })))
    s:annotate(b, "auto_tensorize", name)
    s:rewrite_reduction_block()
    s:rewrite_tensorize(o)
    return s
  end
  local name = tensor.mma { m = 4, n = 8, k = 4 }
  local s = tiled_for(name)
  checks.same(s, p)
  assert(has(s, "vectorized") and not has(s, "auto_tensorize"), s)
  local n = select(2, tostring(s):gsub("vectorized", ""))
  s = tiled_for(name, { vectorize_init_loop = true })
  checks.same(s, p)
  assert(select(2, tostring(s):gsub("vectorized", "")) == n + 1, s)
  s = ts.schedule(p)
  s:annotate(s:get_block "C", "auto_tensorize", "no_such")
  checks.refused(s, "INTRIN_UNKNOWN", "rewrite_tensorize")
  s = ts.schedule(p)
  s:annotate(s:get_block "C", "auto_tensorize", name)
  checks.refused(s, "STEP_REFUSED", "rewrite_tensorize")
  -- A family, of which one does what the block does.
  local member = tensor.mma { m = 4, n = 8, k = 4, dtype = "float64" }
  assert(member:find "^mma_4x8x4_" and name:find "^mma_4x8x4_")
  s = tiled_for "mma_4x8x4"
  checks.same(s, p)
  assert(tostring(s) == tostring(tiled_for(name)))
  -- One that is declared after the program was taken from a schedule.
  local late = ts.schedule(ops.matmul { m = 8, n = 16, k = 8,
                                        dtype = "float64" })
  local named = late:blockize(assert(tensor.tile(
    late, late:get_block "C", { 2, 8, 2 })))
  late:annotate(named, "auto_tensorize", "mma_2x8x2_float64_float64")
  late:rewrite_reduction_block()
  local taken = late:program()
  s = ts.schedule(taken)
  checks.refused(s, "INTRIN_UNKNOWN", "rewrite_tensorize")
  assert(tensor.mma { m = 2, n = 8, k = 2, dtype = "float64" } ==
         "mma_2x8x2_float64_float64")
  s:rewrite_tensorize()
  checks.same(s, taken)
  assert(not has(s, "auto_tensorize"), s)
  checks.same(s:trace():replay(late:program()), taken)
  -- What an intrinsic does already stays.
  s = ts.schedule(p)
  local block = s:blockize(assert(tensor.tile(s, s:get_block "C", { 4, 8, 4 })))
  s:rewrite_reduction_block()
  s:tensorize(block, name)
  local before = tostring(s)
  s:annotate(block, "auto_tensorize", name)
  s:rewrite_tensorize()
  assert(tostring(s) == before, s)
end

-- A space's postprocessors end the traces that are tuned, and are replayed with
-- them; a space of modules has its target's, others none.
do
  local p = ops.matmul { m = 16, n = 16, k = 16 }
  local module = require "tessera.modules.multi_level_tiling" {
    write_levels = {} }
  local function names(space, target)
    local list, found = ts.space.sketches(space, p, target,
                                          { postprocs = true }), {}
    local seen = false
    for i = 1, #list[1] do
      if seen then found[#found + 1] = list[1][i].name end
      seen = seen or list[1][i].name == "enter_postproc"
    end
    return table.concat(found, " ")
  end
  assert(names({ module }, "llvm") == "disallow_dynamic_loop " ..
         "rewrite_parallel_vectorize_unroll rewrite_reduction_block")
  assert(names({ module }, "cuda -arch=sm_80") == "disallow_dynamic_loop " ..
         "rewrite_cooperative_fetch rewrite_unbound_block " ..
         "rewrite_parallel_vectorize_unroll rewrite_reduction_block " ..
         "verify_gpu_code")
  assert(names(function() end, "llvm") == "")
  local with = ts.space.with_postprocs({ module }, {
    { "rewrite_unbound_block", max_threadblocks = 4 }, "verify_gpu_code" })
  assert(names(with, "llvm") == "rewrite_unbound_block verify_gpu_code")
  local t = ts.space.sketches(with, p, "llvm", { postprocs = true })[1]
  local s = t:replay(p, { resample = true, seed = 1 })
  assert(has(s, "threadIdx.x"), s)
  checks.same(s, p)
  assert(names(ts.space.with_postprocs({ module }, {}), "llvm") == "")
  checks.fails("INVALID", "split", ts.space.with_postprocs, { module },
               { "split" })
  checks.fails("INVALID", "postprocs is a list of names",
               ts.space.with_postprocs, { module }, 1)
  checks.fails("INVALID", "entry 2 is nil", ts.space.with_postprocs,
               { module }, { "rewrite_layout", nil, "rewrite_tensorize" })
  checks.fails("INVALID", "entry 1 is not the name", ts.space.with_postprocs,
               { module }, { 1 })
  checks.fails("INVALID", "entry 1: rewrite_layout has a parameter 'x' that " ..
               "is no integer", ts.space.with_postprocs, { module },
               { { "rewrite_layout", x = "y" } })
  -- A name or parameter that is misspelt is told with its place in the list.
  checks.fails("INVALID", "postprocs: entry 1: there is no postprocessor " ..
               "'verify_gpu_cod'; did you mean 'verify_gpu_code'?",
               ts.space.with_postprocs, { module }, { "verify_gpu_cod" })
  checks.fails("INVALID", "postprocs: entry 2: there is no postprocessor " ..
               "'tensorise'; there are disallow_dynamic_loop, ", ts.tune, p,
               { postprocs = { function() return true end, "tensorise" } })
  checks.fails("INVALID", "postprocs: entry 3: verify_gpu_code has no " ..
               "operand 'max_thread'; it takes ", ts.tune, p,
               { postprocs = { function() return true end, "rewrite_layout",
                               { "verify_gpu_code", max_thread = 3 } } })
  -- Of a tuning run, what they refuse is in the funnel by their names.
  local r = ts.tune(p, { space = { module }, trials = 2, min_time = 0.001,
                         batch = 2, strategy = "replay", seed = 1,
                         postprocs = { "rewrite_reduction_block" } })
  assert(r.trace and has(r.trace, "sch:rewrite_reduction_block()"), r.funnel)
  assert(has(r.trace:replay(p), "block C_init"))
  r = ts.tune(p, { space = { module }, trials = 2, min_time = 0.001,
                   batch = 2, strategy = "replay", seed = 1, postprocs = {
    "rewrite_unbound_block",
    { "verify_gpu_code", max_threads_per_block = 1 } } })
  assert(not r.trace and
         has(r.funnel, "rejected by verify_gpu_code: GPU_THREADS (for example"),
         r.funnel)
end
