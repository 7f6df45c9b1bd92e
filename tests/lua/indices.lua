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

-- An index that comes from the iteration variables of blocks around: by
-- itself, or through the bindings of blocks between, however deep.
local function nested(n, small, depth, rebound)
  local b = ts.builder "main"
  local A, B = b:input("A", { n }), b:output("B", { small })
  b:loop("i", 0, n, function(i)
    b:block("outer", { { "vi", "opaque", extent = n, bind = i } }, function(vi)
      local function inside(at, level)
        if level == 0 then return b:store(B, { at }, A(at)) end
        local iters = rebound
          and { { "v" .. level, "opaque", extent = n, bind = at } } or {}
        b:block("inner" .. level, iters, function(v)
          inside(rebound and v or at, level - 1)
        end)
      end
      inside(vi, depth)
    end)
  end)
  return b:program()
end
for depth = 0, 3 do
  for _, rebound in ipairs { false, true } do
    local ok, e = pcall(nested, 1 << 24, 4, depth, rebound)
    assert(not ok and tostring(e):find("'B' is written outside of its shape", 1,
                                       true), tostring(e))
    assert(nested(8, 8, depth, rebound):verify())
    checks.fails("INVALID", "'B' is written outside of its shape",
                 ts.build(nested(n, 4, depth, rebound)),
                 tensors { { 5 }, { 4 } })
  end
end

-- Two iteration variables bound to one loop do not take all pairs.
do
  local b = ts.builder "main"
  local B = b:output("B", { 1 })
  b:loop("i", 0, 4, function(i)
    b:block("B", { { "v", "opaque", extent = 4, bind = i },
                   { "w", "opaque", extent = 4, bind = i } }, function(v, w)
      b:store(B, { v - w }, 7)
    end)
  end)
  assert(b:program():verify())
end
