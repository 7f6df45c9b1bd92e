-- SPDX-License-Identifier: Apache-2.0
-- Tuning for OpenCL, on PoCL: candidates of the default space, timed by events
-- in the worker, compute what the program does on the host.
local ts = require "tessera"
local ops = require "tessera.ops"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

local target = ts.target "opencl -model=cpu"

-- Binding alone, a reduction that threads share, tiles in shared memory.
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

-- A candidate that the target cannot have is its own failure.
do
  local n = 4096
  local A = ts.placeholder("A", { n })
  local B = ts.compute("B", { n }, function(i) return A(i) + 1 end)
  local program = ts.program("wide", { A }, { B })
  checks.fails("BUILD_ERROR", "a kernel has blocks of 2048 threads",
    ts.build, (function()
      local sch = ts.schedule(program)
      local _, x = sch:split((sch:get_loops(sch:get_block "B")),
                             { ts.auto, 2048 })
      sch:bind(x, "threadIdx.x")
      return sch
    end)(), target)
end
