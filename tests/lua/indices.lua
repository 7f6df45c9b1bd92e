-- SPDX-License-Identifier: Apache-2.0
-- Indices into tensors of symbolic sizes: a kernel is not run where one would
-- leave its tensor, however it is scheduled.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

local n, m = ts.size "n", ts.size "m"
local A, D = ts.placeholder("A", { n }), ts.placeholder("D", { m })

-- B[i] = f(i), i below `extent`, of A and what else is read.
local function gather(f, extent, ...)
  return ts.program("gather", { A, ... }, { ts.compute("B", { extent }, f) })
end

-- As it was described, split with a guard, and lowered.
local function kernels(p)
  local s = ts.schedule(p)
  local i, j = s:split((s:get_loops(s:get_block "B")), { ts.auto, 4 })
  s:parallel(i)
  s:vectorize(j)
  return { ts.build(p), ts.build(s), ts.build(ts.lower(s)) }
end

local function tensors(shapes)
  local t = {}
  for i, shape in ipairs(shapes) do t[i] = ts.tensor("float32", shape) end
  return table.unpack(t)
end

local function leaves(text, p, shapes)
  for _, kernel in ipairs(kernels(p)) do
    checks.fails("INVALID", text, kernel, tensors(shapes))
  end
end

local function stays(p, ...)
  for _, kernel in ipairs(kernels(p)) do
    for _, shapes in ipairs { ... } do kernel(tensors(shapes)) end
  end
end

local function at(k) return function(i) return A(i + k) end end
leaves("`vi + 1`, is in [1, 5] and the extent is `5`", gather(at(1), n),
       { { 5 }, { 5 } })
leaves("'A' is read outside of its shape", gather(at(-1), n), { { 5 }, { 5 } })
leaves("'A' is read outside of its shape", gather(at(1000000000), n),
       { { 5 }, { 5 } })
leaves("index 0, `5`", gather(function() return A(n) end, 4), { { 5 }, { 4 } })
leaves("extent is `3`", gather(at(0), 4), { { 3 }, { 4 } })
leaves("extent is `8`", gather(at(0), n + 1), { { 8 }, { 9 } })
stays(gather(at(0), 4), { { 4 }, { 4 } }, { { 9 }, { 4 } })
stays(gather(function(i) return A(n - 1 - i) end, n), { { 1 }, { 1 } },
      { { 7 }, { 7 } })

-- One size ranges over a tensor of another.
local both = gather(function(i) return A(i) + D(i) end, m, D)
stays(both, { { 5 }, { 5 }, { 5 } }, { { 5 }, { 3 }, { 3 } })
leaves("with tensors of these sizes, buffer 'A'", both,
       { { 4 }, { 5 }, { 5 } })

-- What stands behind a condition is left to it.
stays(gather(function(i)
  return ts.select(ts.le(1, i), A(i - 1), 0)
end, n), { { 5 }, { 5 } }, { { 1 }, { 1 } })

-- What fitted once need not fit with other sizes, and the other way round.
do
  local kernel = ts.build(gather(at(0), 4))
  for _, size in ipairs { 4, 3, 5, 5, 2, 2, 4 } do
    assert(pcall(kernel, tensors { { size }, { 4 } }) == (size >= 4))
  end
end

-- Stores, in a block of one's own.
do
  local b = ts.builder "main"
  local X = b:output("X", { n })
  b:loop("i", 0, n, function(i)
    b:block("B", { { "v", extent = n, bind = i } }, function(v)
      b:store(X, { v + 1 }, 7)
    end)
  end)
  leaves("'X' is written outside of its shape: index 0, `v + 1`", b:program(),
         { { 3 } })
end
