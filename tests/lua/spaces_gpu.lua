-- SPDX-License-Identifier: Apache-2.0
-- The default spaces for GPUs, with tensor cores and without: of what is drawn,
-- most passes the postprocessors, and all of that computes the same.
local ts = require "tessera"
local ops = require "tessera.ops"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

local half = { m = 32, n = 48, k = 64, dtype = "float16", acc = "float32" }
local bytes = { m = 32, n = 32, k = 32, dtype = "int8", acc = "int32" }
local workloads = {
  GMM = ops.batch_matmul { b = 2, m = 32, n = 16, k = 32 },
  MM = ops.matmul { m = 24, n = 40, k = 7, bias = true, relu = true },
  primes = ops.matmul { m = 31, n = 31, k = 31 },
  C2D = ops.conv2d_nhwc { n = 1, h = 8, w = 8, ci = 4, co = 16, k = 3 },
  C1D = ops.conv1d_nlc { n = 1, w = 16, ci = 4, co = 8, k = 3 },
  DEP = ops.depthwise_conv2d_nhwc { n = 1, h = 8, w = 8, c = 8, k = 3 },
  SFM = ops.softmax { shape = { 8, 32 } },
  NRM = ops.reduce { shape = { 2, 16, 16 }, axes = { 1, 2 },
                     op = "sum_square" },
  half = ops.matmul(half), bytes = ops.matmul(bytes),
}

local names = {}
for name in pairs(workloads) do names[#names + 1] = name end
table.sort(names)

for _, target in ipairs { "cuda -arch=sm_70", "cuda -arch=sm_80" } do
  local space = ts.space.default(target)
  for _, name in ipairs(names) do
    local p = workloads[name]
    local list = ts.space.sketches(space, p, target, { postprocs = true })
    local drawn, valid = 0, 0
    for _, t in ipairs(list) do
      for seed = 1, 8 do
        local ok, s = pcall(t.replay, t, p, { resample = true, seed = seed })
        drawn = drawn + 1
        if ok then
          valid = valid + 1
          if seed == 1 then checks.same(s, p) end
        else
          assert(s.code == "REFUSED", s)
        end
      end
    end
    assert(2 * valid >= drawn, ("%s for %s: %d of %d drawn are valid")
           :format(name, target, valid, drawn))
  end
end

-- Products of halves are done by tensor cores, where there are some.
do
  local p = workloads.half
  local function tensorized(target)
    for _, t in ipairs(ts.space.sketches(ts.space.default(target), p,
                                         target)) do
      if tostring(t):find("wmma", 1, true) then return true end
    end
    return false
  end
  assert(tensorized "cuda -arch=sm_80" and not tensorized "cuda -arch=sm_70")
end

-- How many threads a block has is drawn for all loops together.
do
  local tiling = require "tessera.modules.multi_level_tiling"
  local p = ops.matmul { m = 64, n = 64, k = 8 }
  local gpu = {
    structure = "SSSRRSRS", threads_per_block = { 64, 128 },
    tile_binds = { "blockIdx.x", "vthread.x", "threadIdx.x" },
    write_levels = {},
  }
  local t = ts.space.sketches({ tiling(gpu) }, p)[1]
  local seen = {}
  for seed = 1, 12 do
    local s = t:replay(p, { resample = true, seed = seed })
    local n = tonumber(tostring(s):match "threadIdx%.x%((%d+)%)")
    assert(n == 64 or n == 128, s)
    seen[n] = true
  end
  assert(seen[64] and seen[128])
  -- As many as there can be, where those are fewer.
  p = ops.matmul { m = 2, n = 3, k = 8 }
  t = ts.space.sketches({ tiling(gpu) }, p)[1]
  assert(tostring(t:replay(p, { resample = true })):find("threadIdx.x(6)", 1,
                                                         true))
  checks.fails("INVALID", "'threads_per_block'", tiling,
               { threads_per_block = { 64 } })
  checks.fails("INVALID", "'threads_per_block'", tiling,
               { threads_per_block = { 64, 32 } })
end

-- Threads fetch for a block what begins at an index that is not affine.
do
  local B = ts.placeholder("B", { 3, 3, 160 })
  local C = ts.compute("C", { 4, 3, 3, 16 }, function(b, i, j, k)
    return B(i, j, b * b * 16 + k)
  end)
  local p = ts.program("fetch", { B }, { C })
  local sch = ts.schedule(p)
  local c = sch:get_block "C"
  local copy = sch:cache_read(c, 0, "shared")
  local b = sch:get_loops(c)
  sch:bind(b, "blockIdx.x")
  sch:compute_at(copy, b)
  local loops = { sch:get_loops(copy) }
  local whole = sch:fuse(table.unpack(loops, 2))
  local _, t = sch:split(whole, { ts.auto, 112 })
  sch:bind(t, "threadIdx.x")
  checks.same(sch, p)
end
