-- SPDX-License-Identifier: Apache-2.0
-- Postprocessors: what each changes or refuses, that the program computes the
-- same, and that its trace replays.
local ts = require "tessera"
local ops = require "tessera.ops"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

local function has(text, part) return tostring(text):find(part, 1, true) end

-- A product whose tiles blocks of threads compute, A copied to shared memory.
local function tiled(m, threads, lanes)
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

-- Shared memory as lowering allocates it; threads; vectors; registers.
do
  local s = tiled(16, 8, 4)
  s:rewrite_cooperative_fetch()
  assert(s:can("verify_gpu_code", { max_shared_memory_per_block = 8 * 16 * 4 }))
  checks.refused(s, "GPU_SHARED_MEMORY", "verify_gpu_code",
                 { max_shared_memory_per_block = 8 * 16 * 4 - 1 })
  assert(s:can("verify_gpu_code", { max_threads_per_block = 8 }))
  checks.refused(s, "GPU_THREADS", "verify_gpu_code",
                 { max_threads_per_block = 7 })
  checks.refused(s, "GPU_VECTOR", "verify_gpu_code", { max_vector_bytes = 8 })
  local before = tostring(s)
  s:verify_gpu_code()
  assert(tostring(s) == before)
  s:annotate(s:get_block "C", "thread_extent_low_inclusive", 32)
  checks.refused(s, "GPU_THREADS_WANTED", "verify_gpu_code")
  local p = ops.matmul { m = 32, n = 32, k = 4, relu = true }
  s = ts.schedule(p)
  local c, d = s:get_block "C", s:get_block "relu"
  local i, j = s:get_loops(d)
  local i0, i1 = s:split(i, { ts.auto, 16 })
  s:bind(i0, "vthread.x")
  s:compute_at(c, i0)
  s:set_scope(c, 0, "local")
  assert(s:can("verify_gpu_code", { max_registers_per_thread = 1024 }))
  checks.refused(s, "GPU_REGISTERS", "verify_gpu_code")
  checks.refused(s, "GPU_VTHREADS", "verify_gpu_code", { max_vthread = 1 })
end

-- The bytes in shared memory that verify_gpu_code finds, the least limit that
-- it does not refuse; and those that the lowered kernel allocates.
local function found(s)
  local low, high = 0, 1 << 24
  local large = 1 << 40
  while low < high do
    local mid = (low + high) // 2
    if s:can("verify_gpu_code", {
      max_shared_memory_per_block = mid, max_threads_per_block = large,
      max_vthread = large, max_vector_bytes = large,
      max_registers_per_thread = large }) then
      high = mid
    else
      low = mid + 1
    end
  end
  return low
end

local function allocated(s)
  local bytes = 0
  for buffer in tostring(ts.lower(s)):gmatch "allocate ([^\n]*) in shared" do
    local dtype, shape = buffer:match ": (%a+%d*)(%b[])"
    local size = tonumber(dtype:match "%d+") // 8
    for extent in shape:gmatch "%d+" do size = size * extent end
    bytes = bytes + size
  end
  return bytes
end

-- Draws of the default spaces, with virtual threads, padded strides, pipelines,
-- fragments and reductions over threads.
do
  local spaces = require "tessera.modules.spaces"
  local half = { m = 64, n = 64, k = 64, dtype = "float16", acc = "float32" }
  for _, case in ipairs {
    { "cuda", ops.matmul { m = 64, n = 64, k = 64, relu = true } },
    { "cuda", ops.softmax { shape = { 16, 64 } } },
    { "cuda -mcpu=sm_80", ops.matmul(half) },
  } do
    local target, p = table.unpack(case)
    local seen = 0
    for _, t in ipairs(ts.space.sketches(spaces.modules_for(target), p)) do
      for seed = 1, 4 do
        local ok, s = pcall(t.replay, t, p, { resample = true, seed = seed })
        if ok and not tostring(s):find "where [^\n]* %+ [^\n]* < " then
          s:rewrite_cooperative_fetch()
          s:rewrite_unbound_block()
          for _, b in ipairs { s:get_child_blocks(s:get_block "root") } do
            for _, end_ in ipairs { "low", "high" } do
              local key = "thread_extent_" .. end_ .. "_inclusive"
              if s:annotation(b, key) then s:unannotate(b, key) end
            end
          end
          assert(found(s) == allocated(s), s)
          seen = seen + 1
        end
      end
    end
    assert(seen >= 3, seen)
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
