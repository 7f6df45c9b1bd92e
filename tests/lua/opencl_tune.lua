-- SPDX-License-Identifier: Apache-2.0
-- Tuning for OpenCL, on PoCL: candidates of the default space, timed by events
-- in the worker, compute what the program does on the host.
local ts = require "tessera"
local ops = require "tessera.ops"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

local target = ts.target "opencl"

-- A reduction that threads share, tiles in shared memory.
for _, row in ipairs {
  { "softmax", { shape = { 12, 40 } } },
  { "matmul", { m = 24, n = 32, k = 40, dtype = "float16" } },
} do
  local program = ops[row[1]](row[2])
  local result = ts.tune(program, { target = target, trials = 2, seed = 3,
    check = "all", min_time = 0.001, progress = function() end })
  assert(result.classes == '{"OK": 2}', row[1] .. ": " .. result.classes)
  local source = result.kernel:source "opencl"
  assert(source:find("get_local_id(0)", 1, true), source)
end

-- On processors blocks of a thread, whose code is vectors.
do
  local result = ts.tune(ops.matmul { m = 24, n = 64, k = 40 }, {
    target = "opencl -model=cpu", trials = 3, seed = 1, check = "all",
    min_time = 0.001, progress = function() end })
  assert(result.classes == '{"OK": 3}', result.classes)
  local source = result.kernel:source "opencl"
  assert(source:find("get_group_id(0)", 1, true) and
         source:find("vload%d+%(") and not source:find "barrier", source)
end

-- What a worker finds out about the device is in the target's text.
do
  local t = ts.target "opencl -device=0 -vector-bytes=16"
  local text = tostring(t)
  assert(text:find "-model=%l+" and t:get "vector-bytes" == 16 and
         t:get "max-threads-per-block" >= 64 and
         t:get "shared-memory-per-block" >= 16384, text)
  assert(tostring(ts.target(text)) == text)
  local named = ts.target "opencl -device=0 -model=mali"
  assert(named:get "max-threads-per-block" == 256)
  checks.fails("UNSUPPORTED", "there is no 'opencl:15'", ts.target,
               "opencl -device=15")
  checks.fails("INVALID", "not a number from 0 to 15", ts.target,
               "opencl -device=16")
end

-- Operands are staged or not where `read_must` is unset.
do
  local tiled = {
    structure = "SSSRRSRS", write_levels = { 3 }, write_scope = "local",
    tile_binds = { "blockIdx.x", "vthread.x", "threadIdx.x" },
    write_must = true, read_levels = { 4 }, threads_per_block = { 4, 64 },
    vector_load_lens = { 1 } }
  local program = ops.matmul { m = 32, n = 32, k = 32 }
  for must, count in pairs { [true] = 1, [false] = 2 } do
    tiled.read_must = must
    local space = ts.space.compose {
      require "tessera.modules.multi_level_tiling"(tiled) }
    assert(#ts.space.sketches(space, program, "opencl") == count)
  end
end

-- A candidate that the target cannot have is its own failure.
do
  local n = 4096
  local A = ts.placeholder("A", { n })
  local B = ts.compute("B", { n }, function(i) return A(i) + 1 end)
  local program = ts.program("wide", { A }, { B })
  checks.fails("BUILD_ERROR", "wide_kernel: it has blocks of 2048 threads",
    ts.build, (function()
      local sch = ts.schedule(program)
      local _, x = sch:split((sch:get_loops(sch:get_block "B")),
                             { ts.auto, 2048 })
      sch:bind(x, "threadIdx.x")
      return sch
    end)(), target)
end
