-- SPDX-License-Identifier: Apache-2.0
-- Loops of non-constant extent: in non-rectangular nests nothing is hoisted out
-- of a loop that its bounds depend on; and loops over buffers of symbolic size.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local same, illegal = checks.same, checks.illegal

local N = 9

-- T[i, j] = A[i, j] * 2 for j < `made`(i); Q[i, j] = T[i, j] + 1 for
-- j < `used`(i), where iters have the domains that are given.
local function pair(made, used)
  local b = ts.builder("pair")
  local A, Q = b:input("A", { N, N }), b:output("Q", { N, N })
  local T = b:buffer("T", { N, N })
  local function nest(name, t, to, from, f)
    b:loop("i", 0, N, function(i)
      b:loop("j", 0, t.loop(i), function(j)
        b:block(name, {
          { "vi", extent = N, bind = i },
          { "vj", extent = t.domain(i), bind = j },
        }, function(vi, vj) b:store(to, { vi, vj }, f(from(vi, vj))) end)
      end)
    end)
  end
  nest("t", made, T, A, function(x) return x * 2 end)
  nest("q", used, Q, T, function(x) return x + 1 end)
  return b:program()
end

local function all() return N end
local function row(i) return i + 1 end
local square = { loop = all, domain = all }
local triangle = { loop = row, domain = all }
local skewed = { loop = row, domain = row }

local function loop(sch, block, k)
  return (select(k, sch:get_loops(sch:get_block(block))))
end

local function sum()
  local b = ts.builder("trisum")
  local A, Q = b:input("A", { N, N }), b:output("Q", { N })
  b:loop("i", 0, N, function(i)
    b:loop("k", 0, i + 1, function(k)
      b:block("sum", {
        { "vi", extent = N, bind = i },
        { "vk", "reduce", extent = N, bind = k },
      }, function(vi, vk)
        b:init(function() b:store(Q, { vi }, 0) end)
        b:store(Q, { vi }, Q(vi) + A(vi, vk))
      end)
    end)
  end)
  return b:program()
end

-- A block of partial results has a domain of its own, which can be moved.
do
  local p = sum()
  for axis = 0, 1 do
    local sch = ts.schedule(p)
    local k0, k1 = sch:split(loop(sch, "sum", 2), { ts.auto, 3 })
    sch:reorder(k1, k0)
    local rf = sch:rfactor(k1, { factor_axis = axis })
    assert(tostring(sch:program()):find("k_0_1: reduce 3 = k_0", 1, true))
    same(sch, p)
    sch:compute_at(rf, loop(sch, "sum", 1))
    same(sch, p)
  end
end

-- A domain that depends on a loop is undefined outside of that loop.
for k = 1, 2 do
  illegal(pair(skewed, square), "DEPENDENT_LOOP", function(sch)
    sch:compute_at(sch:get_block("t"), loop(sch, "q", k))
  end)
  illegal(pair(square, skewed), "DEPENDENT_LOOP", function(sch)
    sch:reverse_compute_at(sch:get_block("q"), loop(sch, "t", k))
  end)
  illegal(pair(skewed, triangle), "DEPENDENT_LOOP", function(sch)
    sch:compute_at(sch:get_block("t"), loop(sch, "q", k))
  end)
end
illegal(pair(square, skewed), "DEPENDENT_LOOP", function(sch)
  sch:reverse_compute_inline(sch:get_block("q"))
end)

-- It does where both places are in that loop.
do
  local p = pair(triangle, triangle)
  local sch = ts.schedule(p)
  local merged = sch:merge { loop(sch, "t", 1), loop(sch, "q", 1) }
  assert(merged)
  same(sch, p)
end
do
  local p = pair(skewed, skewed)
  local sch = ts.schedule(p)
  sch:merge { loop(sch, "t", 1), loop(sch, "q", 1) }
  sch:compute_at(sch:get_block("t"), loop(sch, "q", 2))
  same(sch, p)
end

-- Threads are as many in each iteration around them.
for axis, why in pairs { ["blockIdx.x"] = "GRID_NOT_KNOWN",
                         ["threadIdx.x"] = "THREADS_NOT_STATIC",
                         ["vthread.x"] = "THREADS_NOT_STATIC" } do
  illegal(pair(triangle, square), why, function(sch)
    sch:bind(loop(sch, "t", 2), axis)
  end)
end

-- Where threads share a triangle's rows, each result that is there is whole.
do
  local b = ts.builder("trisum")
  local A, Q = b:input("A", { N, N }), b:output("Q", { N })
  b:loop("i", 0, N, function(i)
    b:loop("k", 0, N, function(k)
      b:block("sum", {
        { "vi", extent = N, bind = i },
        { "vk", "reduce", extent = N, bind = k },
      }, { where = ts.le(k, i) }, function(vi, vk)
        b:init(function() b:store(Q, { vi }, 0) end)
        b:store(Q, { vi }, Q(vi) + A(vi, vk))
      end)
    end)
  end)
  local p = b:program()
  local sch = ts.schedule(p)
  sch:bind(loop(sch, "sum", 1), "blockIdx.x")
  sch:bind(loop(sch, "sum", 2), "threadIdx.x")
  same(sch, p)
end

-- All of a buffer that the caller fills may be copied, whatever its size, and
-- so may a tile of that.
for _, tile in ipairs { { 4 }, { 2, 3 }, { 1 } } do
  for shift = 0, 1 do
    local n = ts.size("n")
    local X = ts.placeholder("X", { n + shift })
    local Y = ts.compute("Y", { n }, function(i) return X(i + shift) * 2 end)
    local p = ts.program("sized", { X }, { Y })
    local sch = ts.schedule(p)
    sch:split(loop(sch, "Y", 1), { ts.auto, table.unpack(tile) })
    sch:cache_read(sch:get_block("Y"), 0, "global")
    sch:read_at(loop(sch, "Y", 1), sch:get_block("Y"), 0, "global")
    for _, size in ipairs { 1, 4, 7 } do
      checks.exact(sch, p, {
        ts.tensor("float32", { size + shift }, "integers", 1),
        ts.tensor("float32", { size }),
      })
    end
  end
end

-- Extents made of sizes are at least 1, too: of buffers of the program's own,
-- and of what it reduces over.
do
  local n = ts.size "n"
  local A = ts.placeholder("A", { n })
  local D = ts.compute("D", { n - 5 }, function(i)
    return ts.cast(i, "float32") + 100
  end)
  local E = ts.compute("E", { n }, function(i) return D(0) + A(i) end)
  local k = ts.reduce_axis("k", n // 2)
  local C = ts.compute("C", { n }, function() return ts.sum(A(k) * 2, k) end)
  local cases = {
    { ts.program("short", { A }, { E }), 5, "buffer 'D'" },
    { ts.program("short", { A }, { E }), 4, "buffer 'D'" },
    { ts.program("half", { A }, { C }), 1, "reduces over" },
  }
  for _, case in ipairs(cases) do
    local p, size, what = table.unpack(case)
    local kernel = ts.build(p)
    local function run(f, x)
      local a, o = ts.tensor("float32", { x }, "zeros"),
                   ts.tensor("float32", { x }, "zeros")
      return pcall(f, a, o)
    end
    local function interpret(a, o) return ts.interpret(p, { a, o }) end
    for _, f in ipairs { kernel, interpret } do
      local ok, e = run(f, size)
      assert(not ok and e.code == "INVALID" and
             e.message:find(what, 1, true), tostring(e))
      assert(run(f, 6))
    end
  end
end
