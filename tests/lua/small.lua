-- SPDX-License-Identifier: Apache-2.0
-- Nests of little work: the default space has schedules that keep them serial,
-- since starting threads takes longer.
local ts = require "tessera"
local ops = require "tessera.ops"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local searching = dofile((arg[0]:gsub("[^/]*$", "../support/searching.lua")))
local steps, drawn = searching.steps, searching.drawn

-- y = lower triangle of A, times x; n may be a size.
local function triangle(n)
  local b = ts.builder "triangle"
  local A, x = b:input("A", { n, n }), b:input("x", { n, n })
  local y = b:output("y", { n, n })
  b:loop("i", 0, n, function(i)
    b:loop("j", 0, n, function(j)
      b:loop("k", 0, i + 1, function(k)
        b:block("y", { { "vi", extent = n, bind = i },
                       { "vj", extent = n, bind = j },
                       { "vk", "reduce", extent = n, bind = k } },
          function(vi, vj, vk)
            b:init(function() b:store(y, { vi, vj }, 0) end)
            b:store(y, { vi, vj }, y(vi, vj) + A(vi, vk) * x(vk, vj))
          end)
      end)
    end)
  end)
  return b:program()
end

-- One element of B is one operation and one store, and of C one store.
local function nests(m, n)
  local A = ts.placeholder("A", { m })
  local B = ts.compute("B", { m }, function(i) return A(i) + 1 end)
  local D = ts.placeholder("D", { n })
  return ts.program("nests", { A, D }, {
    B, ts.compute("C", { n }, function(i) return D(i) end) })
end

local function sketches(p, space)
  return ts.space.sketches(space or ts.space.default "llvm", p, "llvm")
end

-- How many of the program's sketches have so many parallel loops.
local function count(p, space)
  local n = {}
  for _, t in ipairs(sketches(p, space)) do
    local k = steps(t, "parallel")
    n[k] = (n[k] or 0) + 1
  end
  return n
end

-- What a loop's work is.
do
  local sch = ts.schedule(nests(100, 50))
  assert(sch:work(sch:get_loops(sch:get_block("B"))) == 200)
  assert(sch:work(sch:get_loops(sch:get_block("C"))) == 50)
  assert(sch:work(sch:get_block("B")) == 2)
  assert(sch:work(sch:get_block("root")) == 250)
  checks.fails("TYPE", "is an integer", sch.work, sch,
               sch:sample_categorical({ 1 }, { 1 }))

  sch = ts.schedule(triangle(24)) -- a clear, a product, a sum and a store
  local i, j, k = sch:get_loops(sch:get_block("y"))
  assert(sch:work(i) == 4 * 24 * (24 * 25 // 2))
  assert(sch:work(j) == 4 * 24 * 13 and sch:work(k) == 4 * 13)
  local _, inner = sch:split(i, { 6, 4 })
  assert(sch:work(inner) == 4 * 24 * (13 + 14 + 15 + 16))

  -- Sizes and data may decide; what they do not is known.
  local n = ts.size "n"
  sch = ts.schedule(triangle(n))
  i, j, k = sch:get_loops(sch:get_block("y"))
  assert(sch:work(i) == nil and sch:work(k) == nil)
  assert(sch:work(sch:get_block("y")) == 4)
  sch = ts.schedule(nests(n, 50))
  assert(sch:work(sch:get_loops(sch:get_block("C"))) == 50)
  assert(sch:work(sch:get_block("root")) == nil)
  local b = ts.builder "rows"
  local ends, A = b:input("ends", { 8 }, "int32"), b:input("A", { 8, 64 })
  local y = b:output("y", { 8, 64 })
  b:loop("i", 0, 8, function(r)
    b:block("y", { { "v", extent = 8, bind = r } }, function(v)
      b:loop("j", 0, ends(v), function(c)
        b:store(y, { v, c }, A(v, c))
      end)
    end)
  end)
  sch = ts.schedule(b:program())
  assert(sch:work(sch:get_loops(sch:get_block("y"))) == nil)
end

-- Very small nests are serial, large ones parallel, and of others there are
-- both, the serial one first.
do
  local tiny = drawn(triangle(8), 1)
  assert(steps(tiny[1], "parallel") == 0)
  local both = drawn(triangle(24), 2)
  assert(steps(both[1], "parallel") == 0 and steps(both[2], "parallel") == 1)
  assert(steps(both[1], "sample_categorical") == 1)
  local large = sketches(triangle(200))
  assert(#large == 1 and steps(large[1], "parallel") == 1)

  local product = count(ops.matmul { m = 32, n = 32, k = 32 })
  assert(product[0] == 9 and product[1] + (product[2] or 0) == 9)
  assert(not count(ops.matmul { m = 128, n = 128, k = 128 })[0])
end

-- It is said of each nest; those between go together.
do
  assert(count(nests(1 << 21, 1000))[1] == 1)
  local c = count(nests(1 << 21, 10000))
  assert(c[1] == 1 and c[2] == 1 and #c == 2)
  c = count(nests(10000, 10000))
  assert(c[0] == 1 and c[2] == 1 and not c[1])
end

-- Of nests whose work is not known there are both.
do
  local n = ts.size "n"
  local c = count(nests(n, n))
  assert(c[0] == 1 and c[2] == 1 and not c[1])
end

-- The bounds are parameters.
do
  local unrolling = require "tessera.modules.parallel_vectorize_unroll"
  local p = triangle(24)
  assert(count(p, { unrolling { parallel_from = 0, serial_below = 0 } })[1]
         == 1)
  assert(count(p, { unrolling { serial_below = math.huge } })[0] == 1)
  checks.fails("INVALID", "parameter 'serial_below' is 'x'", unrolling,
               { serial_below = "x" })
end

-- So a run of a few trials measures both.
do
  local p, parallel = triangle(24), {}
  local r = ts.tune(p, searching.with {
    trials = 4, batch = 4,
    strategy = ts.strategy {
      propose = function(_, session, n)
        local list = {}
        for i = 1, n do list[i] = session:draw() end
        return list
      end,
      observe = function(_, _, candidates)
        for _, c in ipairs(candidates) do parallel[c.sketch] = c.status end
      end,
    },
  })
  assert(r.status == "OK" and parallel[1] == "OK" and parallel[2] == "OK")
end
