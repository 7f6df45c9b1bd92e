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

-- Indices of every form, from the iteration variable of a block around `depth`
-- blocks without iters: one element less than is needed is refused, at
-- description or, with a size, when the kernel is called.
local function indexed(n, small, depth, f)
  local b = ts.builder "main"
  local A, B = b:input("A", { n }), b:output("B", { small })
  local I = b:input("I", { 100 }, "int32", { range = { 2, 7 } })
  b:loop("i", 0, n, function(i)
    b:block("outer", { { "vi", "opaque", extent = n, bind = i } }, function(vi)
      local function inside(level)
        if level > 0 then
          return b:block("inner" .. level, {}, function() inside(level - 1) end)
        end
        f(b, vi, function(at) b:store(B, { at }, A(vi)) end, I)
      end
      inside(depth)
    end)
  end)
  return b:program()
end

local function index(g)
  return function(_, vi, store, I) store(g(vi, I)) end
end
local forms = { -- the extent needed for 100 iterations, and the index
  { 20, index(function(v) return v // 5 end) },
  { 21, index(function(v) return (v + 1) // 5 end) },
  { 20, index(function(v) return 19 - v // 5 end) },
  { 7, index(function(v) return v % 7 end) },
  { 13, index(function(v) return v % 7 + v // 14 end) },
  { 10, index(function(v) return ts.min(v, 9) end) },
  { 100, index(function(v) return ts.max(v, 9) end) },
  { 99 * 99 + 1, index(function(v) return v * v end) },
  { 91, index(function(v) return ts.select(ts.lt(v, 40), 90, v // 2) end) },
  { 40, index(function(v) return ts.select(ts.lt(v, 40), v, 3) end) },
  { 7, index(function(_, I) return I(3) end) },
  { 13, index(function(v, I) return I(v) + I(v // 2) end) },
  { 26, function(b, vi, store)
    b:let("x", vi // 4 + 1, function(x) store(x) end)
  end },
  { 103, function(b, vi, store)
    b:loop("j", vi, 4, function(j) store(j) end)
  end },
  { 100, function(b, vi, store)
    b:loop("j", 0, vi + 1, function(j)
      b:block("z", { { "vz", extent = 100, bind = j } }, store)
    end)
  end },
  { 60, function(b, vi, store)
    b:when(ts.lt(vi, 60), function() store(vi) end)
  end },
  { 40, function(b, vi, store)
    b:when(ts.lt(vi, 60), function() store(vi % 5) end,
           function() store(vi - 60) end)
  end },
  { 61, function(b, vi, store)
    b:when(ts.lt(vi * 2, 100), function()
      b:when(ts.le(10, vi), function() store(vi + 11) end)
    end)
  end },
}

for k, form in ipairs(forms) do
  local extent, f = form[1], form[2]
  for depth = 0, 2 do
    local fits = indexed(100, extent, depth, f)
    assert(fits:verify())
    local a = ts.tensor("float32", { 100 }, "random", k)
    local i = ts.tensor("int32", { 100 }, "zeros")
    for at = 0, 99 do i:set(at, 2 + at % 5) end
    ts.interpret(fits, { a, i, ts.tensor("float32", { extent }) })
    local ok, e = pcall(indexed, 100, extent - 1, depth, f)
    assert(not ok and tostring(e):find("'B' is written outside of its shape: "
                                       .. "index 0, `", 1, true),
           k .. ": " .. tostring(e))
    assert(tostring(e):find(("the extent is `%d`"):format(extent - 1), 1, true),
           tostring(e))
  end
end
for _, form in ipairs { forms[1], forms[4], forms[10], forms[13] } do
  local p = indexed(n, form[1] - 1, 1, form[2])
  local i = ts.tensor("int32", { 100 }, "zeros")
  for at = 0, 99 do i:set(at, 2) end
  checks.fails("INVALID", "'B' is written outside of its shape", ts.build(p),
               ts.tensor("float32", { 100 }), i,
               ts.tensor("float32", { form[1] - 1 }))
end

-- What is provably outside whatever the size is refused at once.
checks.fails("INVALID", "`vi - 1`, is -1 where i = 0 and the extent is `n`",
             gather, at(-1), n)

-- Contents that are declared: what they cannot hold is no witness.
do
  local P = ts.placeholder("P", { 9 }, "int32", { offsets_into = 40 })
  local S = ts.placeholder("S", { 9 }, "int32",
                           { range = { 0, 12 }, sorted = true, unique = true })
  local function reads(extent, X, i)
    local V = ts.placeholder("V", { extent })
    return pcall(ts.program, "from", { V, X },
                 { ts.compute("B", { 4 }, function(v) return V(X(i(v))) end) })
  end
  assert(reads(1, P, function() return 0 end))      -- the first offset is 0
  assert(not reads(40, P, function(v) return v + 5 end))  -- the last is 40
  assert(reads(41, P, function(v) return v + 5 end))
  assert(reads(7, S, function(v) return v end))     -- 5 elements are greater
  assert(not reads(6, S, function(v) return v end))
  -- Two elements of one tensor: a sum of both leaves it only if they differ.
  local Q = ts.placeholder("Q", { 4 }, "int32", { range = { 0, 5 } })
  local V = ts.placeholder("V", { 1 })
  local function both(f)
    return pcall(ts.program, "both", { V, Q },
                 { ts.compute("B", { 4 }, function(v) return V(f(v)) end) })
  end
  assert(both(function(v) return Q(v) - Q(v + 0) end))
  assert(not both(function(v) return ts.max(Q(v) - Q(3 - v), 0) end))
end

-- What is behind a condition on data is left to it.
do
  local X = ts.placeholder("X", { 100 })
  local V = ts.placeholder("V", { 4 })
  assert(pcall(ts.program, "data", { X, V },
               { ts.compute("B", { 100 }, function(v)
                 return ts.select(ts.lt(X(v), 0), V(v // 5), 0)
               end) }))
  checks.fails("INVALID", "'V' is read outside of its shape", function()
    return ts.program("data", { X, V }, { ts.compute("B", { 100 }, function(v)
      return ts.select(ts.lt(v, 30), V(v // 5), 0)
    end) })
  end)
end

-- Nobody declared these regions: what is refused is the access, by the index,
-- the iteration and the extent.
do
  checks.fails("INVALID", "'B' is written outside of its shape: index 0, " ..
               "`i` in [0, 3], is 3 where i = 3 and the extent is `3`",
               function()
    local b = ts.builder "loop_in_block"
    local A, B = b:input("A", { 4 }), b:output("B", { 3 })
    b:block("x", {}, function()
      b:loop("i", 0, 4, function(i) b:store(B, { i }, A(i)) end)
    end)
    return b:program()
  end)
  local I = ts.placeholder("I", { 8 }, "int32", { range = { 12, 20 } })
  local A = ts.placeholder("A", { 10 })
  checks.fails("INVALID", "'A' is read outside of its shape: index 0, " ..
               "`int64(I[vi])` in [12, 19], is 12 where I[vi] = 12 and the " ..
               "extent is `10`", ts.program, "beyond", { I, A },
               { ts.compute("B", { 8 }, function(i) return A(I(i)) end) })
end
