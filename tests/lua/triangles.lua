-- SPDX-License-Identifier: Apache-2.0
-- Non-rectangular nests split by factors that do not divide: the overhang runs
-- over the last iteration's bounds, guarded.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local same, refused, fails = checks.same, checks.refused, checks.fails
local N = 10

-- C, first zero, then what `body` does in a nest.
local function program(body)
  local b = ts.builder("main")
  local A, C = b:input("A", { N, N }), b:output("C", { N, N })
  local E = b:input("E", { N }, "int32")
  b:loop("y", 0, N, function(y)
    b:loop("z", 0, N, function(z)
      b:block("Z", { { "v", extent = N, bind = y },
                     { "w", extent = N, bind = z } },
              function(v, w) b:store(C, { v, w }, 0) end)
    end)
  end)
  body(b, A, C, E)
  return b:program()
end
local function point(b, A, C, i, j)
  b:block("C", { { "v", extent = N, bind = i }, { "w", extent = N, bind = j } },
          function(v, w) b:store(C, { v, w }, A(v, w) * 2) end)
end
local nests = {
  lower = function(b, A, C)
    b:loop("i", 0, N, function(i)
      b:loop("j", 0, i + 1, function(j) point(b, A, C, i, j) end)
    end)
  end,
  upper = function(b, A, C)
    b:loop("i", 0, N, function(i)
      b:loop("j", i, N - i, function(j) point(b, A, C, i, j) end)
    end)
  end,
  late = function(b, A, C)
    b:loop("i", 3, N - 3, function(i)
      b:loop("j", 0, i - 2, function(j) point(b, A, C, i, j) end)
    end)
  end,
  band = function(b, A, C)
    b:loop("i", 0, N, function(i)
      b:loop("j", ts.max(i - 2, 0), ts.min(i + 3, N) - ts.max(i - 2, 0),
             function(j) point(b, A, C, i, j) end)
    end)
  end,
  deep = function(b, A, C)
    b:loop("i", 0, N, function(i)
      b:loop("j", 0, i + 1, function(j)
        b:loop("k", 0, ts.min(j, 4) + 1, function(k)
          b:block("C", { { "v", extent = N, bind = i },
                         { "w", extent = N, bind = j },
                         { "r", "reduce", extent = N, bind = k } },
                  function(v, w, r)
            b:init(function() b:store(C, { v, w }, 0) end)
            b:store(C, { v, w }, C(v, w) + A(v, r) * A(w, r))
          end)
        end)
      end)
    end)
  end,
}
for _, body in pairs(nests) do
  local p = program(body)
  for factor = 1, N + 2 do
    local s = ts.schedule(p)
    local i, j = s:get_loops(s:get_block "C")
    local i0, i1 = s:split(i, { ts.auto, factor })
    same(s, p)
    s:split(j, { ts.auto, 3 })
    same(s, p)
    s:bind(i0, "blockIdx.x")
    s:bind(i1, "threadIdx.x")
    same(s, p)
    assert(ts.equivalent(s:trace():replay():program(), p))
  end
  local s = ts.schedule(p)
  local i, j = s:get_loops(s:get_block "C")
  s:split(j, { ts.auto, 4 })
  s:split(i, { ts.auto, 2, 2 })
  same(s, p)
end

-- What stands between the loops, and bounds that are read: nothing beyond the
-- end is.
do
  local p = program(function(b, A, C, E)
    b:loop("i", 0, N, function(i)
      b:let("h", A(i, i) * 2, function(h)
        b:loop("j", 0, ts.min(ts.max(ts.cast(E(i), "int64"), 0), N),
               function(j)
          b:when(ts.lt(j, i), function()
            b:block("C", { { "v", extent = N, bind = i },
                           { "w", extent = N, bind = j } }, function(v, w)
              b:store(C, { v, w }, A(v, w) + A(v, 0))
            end)
          end)
        end)
      end)
    end)
  end)
  local s = ts.schedule(p)
  local i = s:get_loops(s:get_block "C")
  s:split(i, { ts.auto, 4 })
  same(s, p)
end

-- A loop that may have no iteration has no last one, but where it is empty so
-- is the outer one of the new loops.
do
  local function below(b, A, C, lo, extent)
    b:loop("i", lo, extent, function(i)
      b:loop("j", lo, i + 1 - lo, function(j) point(b, A, C, i, j) end)
    end)
  end
  local empties = {
    rows = function(b, A, C)
      b:loop("h", 0, 4, function(h) below(b, A, C, 0, h * 3) end)
    end,
    read = function(b, A, C, E)
      b:loop("h", 0, N, function(h)
        local n = ts.cast(E(h), "int64")
        below(b, A, C, 0, ts.min(ts.max(n, 0), N))
      end)
    end,
    negative = function(b, A, C)
      b:loop("h", 0, N, function(h) below(b, A, C, h, N - 2 - h) end)
    end,
  }
  for _, body in pairs(empties) do
    local p = program(body)
    for factor = 1, 5 do
      local s = ts.schedule(p)
      local loops = { s:get_loops(s:get_block "C") }
      local i, j = loops[#loops - 1], loops[#loops]
      s:split(i, { ts.auto, factor })
      same(s, p)
      s:split(j, { ts.auto, 2 })
      same(s, p)
    end
  end
end

-- Bounds that are read stay what they were when the loop began.
do
  local function counted(lo, extent, other)
    local b = ts.builder("counted")
    local E = b:inout("E", { N }, "int32")
    local F = b:inout("F", { N }, "int32")
    local function read(n)
      return n == 0 and n or ts.min(ts.max(ts.cast(E(0), "int64"), 1), n)
    end
    b:loop("i", read(lo), read(extent), function(i)
      b:block("C", { { "v", "opaque", extent = N, bind = i } }, function(v)
        b:store(other and F or E, { v }, E(v) - 3)
      end)
    end)
    return b:program()
  end
  for _, case in ipairs { { 0, 9 }, { 2, 5 } } do
    local lo, extent = table.unpack(case)
    for factor = 1, 3 do
      local p = counted(lo, extent, true)
      local s = ts.schedule(p)
      s:split((s:get_loops(s:get_block "C")), { ts.auto, factor })
      same(s, p)
      p = counted(lo, extent)
      s = ts.schedule(p)
      local i = s:get_loops(s:get_block "C")
      if lo > 0 or factor > 1 then
        local e = refused(s, "INPUT_OVERWRITTEN", "split", i,
                          { ts.auto, factor })
        assert(tostring(e):find('block "C" overwrites buffer "E"', 1, true), e)
      else
        s:split(i, { ts.auto, factor })
        same(s, p)
      end
    end
  end
end

-- Cholesky's update, whose rows run out in the last step.
for n = 2, 7 do
  local function update(steps)
    local b = ts.builder("update")
    local A = b:inout("A", { n, n }, "float64")
    b:loop("k", 0, steps, function(k)
      b:loop("i", k + 1, n - k - 1, function(i)
        b:loop("j", k + 1, i - k, function(j)
          b:block("U", { { "vk", "opaque", extent = n, bind = k },
                         { "vi", extent = n, bind = i },
                         { "vj", extent = n, bind = j } }, function(vk, vi, vj)
            b:store(A, { vi, vj }, A(vi, vj) - A(vi, vk) * A(vj, vk))
          end)
        end)
      end)
    end)
    return b:program()
  end
  for steps = n - 1, n do
    local p = update(steps)
    for _, factors in ipairs { { 1 }, { 2 }, { 3 }, { 32 }, { 2, 2 } } do
      local s = ts.schedule(p)
      local _, i, j = s:get_loops(s:get_block "U")
      s:split(i, { ts.auto, table.unpack(factors) })
      same(s, p)
      s:split(j, { ts.auto, 2 })
      same(s, p)
    end
    -- Factors that are all given would let an empty loop's bounds be asked.
    local s = ts.schedule(p)
    local _, i = s:get_loops(s:get_block "U")
    if n > 2 then refused(s, "NOT_STATIC", "split", i, { 4, 32 }) end
  end
end

-- A loop that must be empty becomes one that runs, and is guarded: the
-- bounds of what is below would be asked of an iteration that is none.
do
  local p = program(function(b, A, C, E)
    b:loop("i", 0, 0, function(i)
      local n = ts.cast(E(i), "int64")
      b:loop("j", 0, ts.min(ts.max(n, 0), N), function(j)
        point(b, A, C, i, j)
      end)
    end)
  end)
  for _, factors in ipairs { { ts.auto, 4 }, { 2, 2 }, { 1 } } do
    local s = ts.schedule(p)
    local i = s:get_loops(s:get_block "C")
    local e = refused(s, "EXTENT_EMPTY", "split", i, factors)
    assert(tostring(e):find("loop i has no iterations", 1, true), e)
  end
end

-- Where no bounds below depend on it an empty loop becomes one, and all in it
-- is guarded; the page of split says when it is refused.
do
  local function copies()
    local b = ts.builder("copies")
    local A, C = b:input("A", { N }), b:output("C", { N })
    local function copy(name, n)
      b:loop("i", 0, n, function(i)
        b:block(name, { { "vi", extent = N, bind = i } }, function(vi)
          b:store(C, { vi }, A(vi) * (n + 1))
        end)
      end)
    end
    copy("all", N)
    copy("none", 0)
    return b:program()
  end
  for _, factors in ipairs { { ts.auto, 2 }, { 2, 2 }, { 1 } } do
    local s = ts.schedule(copies())
    local i = s:get_loops(s:get_block "none")
    local loops = { s:split(i, factors) }
    assert(#loops == #factors)
    assert(ts.equivalent(s, copies()))
    local printed = tostring(s:program())
    assert(printed:find("where false", 1, true), printed)
  end
  local page = require "tessera.reference.pages".page "split"
  assert(page:find("of extent 0 has none:\n   it is refused (EXTENT_EMPTY) " ..
                   "where there are such loops", 1, true), page)
end

-- Diagonals of a square: where they begin and end by a maximum and a minimum
-- proves that the block stays in its domain.
do
  local n = 12
  local function diagonals(first, last, options)
    local b = ts.builder("diagonals")
    local A = b:inout("A", { n + 1, n + 1 })
    b:loop("w", 0, 2 * n - 1, function(w)
      local lo = first(w)
      b:loop("j", lo, last(w) - lo, function(j)
        b:block("s", {
          { "vi", extent = n, bind = w - j }, { "vj", extent = n, bind = j },
        }, options and options(w, j) or {}, function(vi, vj)
          b:store(A, { vi + 1, vj + 1 },
                  A(vi, vj + 1) + A(vi + 1, vj) * 2)
        end)
      end)
    end)
    return b:program()
  end
  local function from(w) return ts.max(0, w - n + 1) end
  local function to(w) return ts.min(n, w + 1) end
  local function zero(w) return w * 0 end
  local function all(w) return w * 0 + n end
  local p = diagonals(from, to)
  assert(ts.equivalent(p, diagonals(zero, all, function(w, j)
    return { where = ts.all(ts.ge(w - j, 0), ts.lt(w - j, n)) }
  end)))
  local sch = ts.schedule(p)
  sch:parallel((select(2, sch:get_loops(sch:get_block "s"))))
  same(sch, p)
  -- Without either end it does not.
  for _, wrong in ipairs {
    { zero, to }, { from, all },
    { function(w) return ts.min(0, w - n + 1) end, to },
    { from, function(w) return ts.max(n, w + 1) end },
    { function(w) return ts.max(0, w - n) end, to },
    { from, function(w) return ts.min(n, w + 2) end },
  } do
    fails(nil, "is not proven to lie", diagonals, wrong[1], wrong[2])
  end
end

-- What a condition reads, it reads only where the loop that was split, or the
-- nest that was turned, had an iteration.
do
  local n = 8
  local function rows(index, extent)
    local b = ts.builder("rows")
    local E, C = b:input("E", { n }, "int32"), b:output("C", { n, n })
    b:loop("y", 0, n, function(y)
      b:loop("z", 0, n, function(z)
        b:block("Z", { { "v", extent = n, bind = y },
                       { "w", extent = n, bind = z } },
                function(v, w) b:store(C, { v, w }, 0) end)
      end)
    end)
    b:loop("i", 0, n, function(i)
      b:loop("j", 0, extent(i), function(j)
        b:block("C", { { "v", extent = n, bind = i },
                       { "w", extent = n, bind = j } },
                { where = ts.ge(E(index(i, j)) % 3, 1) },
                function(v, w) b:store(C, { v, w }, 1) end)
      end)
    end)
    return b:program()
  end
  local p = rows(function(i) return i end, function() return n end)
  local sch = ts.schedule(p)
  local i = sch:get_loops(sch:get_block "C")
  sch:split(i, { 3, 3 })
  same(sch, p)
  p = rows(function(i, j) return i - j end, function(k) return k + 1 end)
  sch = ts.schedule(p)
  local j
  i, j = sch:get_loops(sch:get_block "C")
  sch:reorder(j, i)
  same(sch, p)
end
