-- SPDX-License-Identifier: Apache-2.0
-- Programs and schedules of tests of OpenCL kernels, and the comparison of what
-- they compute with the interpreter.
local ts = require "tessera"
local opencl = {}

function opencl.product(m, n, k, dtype)
  local A = ts.placeholder("A", { m, k }, dtype)
  local B = ts.placeholder("B", { k, n }, dtype)
  local r = ts.reduce_axis("k", k)
  local C = ts.compute("C", { m, n }, function(i, j)
    return ts.sum(A(i, r) * B(r, j), r)
  end)
  return ts.program("product", { A, B }, { C })
end

-- Tiles of 16 x 16, four results a thread; operands through shared memory.
function opencl.tiled(program)
  local sch = ts.schedule(program)
  local c = sch:get_block "C"
  local i, j, k = sch:get_loops(c)
  local i0, i1 = sch:split(i, { ts.auto, 16 })
  local j0, j1, j2 = sch:split(j, { ts.auto, 4, 4 })
  local k0, k1 = sch:split(k, { ts.auto, 8 })
  sch:reorder(i0, j0, i1, j1, k0, k1, j2)
  sch:bind(i0, "blockIdx.y")
  sch:bind(j0, "blockIdx.x")
  sch:bind(i1, "threadIdx.y")
  sch:bind(j1, "threadIdx.x")
  for operand = 0, 1 do
    local copy = sch:cache_read(c, operand, "shared")
    sch:compute_at(copy, k0)
    local loops = table.pack(sch:get_loops(copy))
    local fused = sch:fuse(loops[#loops - 1], loops[#loops])
    local _, y, x = sch:split(fused, { ts.auto, 16, 4 })
    sch:bind(y, "threadIdx.y")
    sch:bind(x, "threadIdx.x")
  end
  local acc = sch:cache_write(c, 0, "local")
  sch:reverse_compute_at(acc, j1)
  sch:vectorize((select(-1, sch:get_loops(c))))
  return sch
end

-- ---- arguments -------------------------------------------------------------

local function arguments(program)
  local args = {}
  for n, x in ipairs(program:params()) do
    args[n] = x.role == "output" and ts.tensor(x.dtype, x.shape) or
              ts.tensor(x.dtype, x.shape, "random", n)
  end
  return args
end

-- What the schedule's kernel for the target computes is what the interpreter
-- says of the program.
function opencl.agree(sch, program, tolerance, target)
  local want, got = arguments(program), arguments(program)
  ts.interpret(program, want)
  ts.build(sch, target or "opencl")(table.unpack(got))
  for n, t in ipairs(got) do
    local _, error_ = t:compare(want[n])
    assert(error_ <= (tolerance or 1e-5),
           ("%s: parameter %d is off by %g"):format(program:name(), n, error_))
  end
end

opencl.arguments = arguments
return opencl
