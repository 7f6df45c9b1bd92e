-- SPDX-License-Identifier: Apache-2.0
-- Postprocessors that refuse what a device cannot hold: shared memory, threads,
-- vectors, registers; what they say of a kernel is what lowering makes of it.
local ts = require "tessera"
local ops = require "tessera.ops"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local tiled = dofile((arg[0]:gsub("[^/]*$", "../support/fetching.lua")))

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
  local bytes, text = 0, tostring(ts.lower(s))
  for buffer in text:gmatch "allocate ([^\n]* in shared[^\n]*)" do
    local dtype, shape = buffer:match ": (%a+%d*)(%b[])"
    local size, step = tonumber(dtype:match "%d+") // 8, buffer:match
      "strides %[(%d+)"
    if step then shape = shape:match "%d+" .. " " .. step end   -- padded rows
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
    { "cuda", ops.arg_max { shape = { 16, 64 } } },
    { "cuda -mcpu=sm_80", ops.matmul(half) },
    { "cuda -mcpu=sm_80", ops.matmul { m = 64, n = 64, k = 64 } },
    -- What each warp takes out is in shared memory of its own.
    { "cuda -mcpu=sm_80",
      ops.conv2d_nhwc { n = 1, h = 8, w = 8, ci = 32, co = 32, k = 1,
                        dtype = "float16", acc = "float32" } },
  } do
    local target, p = table.unpack(case)
    local seen = 0
    for _, t in ipairs(ts.space.sketches(spaces.modules_for(target), p)) do
      for seed = 1, checks.draws(4) do
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
    assert(seen >= checks.draws(3), seen)
  end
end
