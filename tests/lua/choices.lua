-- SPDX-License-Identifier: Apache-2.0
-- Control flow that depends on data: statements under conditions that they
-- change, and nested selects, of which each branch is evaluated at most once.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local legal, same, fails = checks.legal, checks.same, checks.fails

-- ---- conditions that what they guard changes -------------------------------

-- s computes the same as p when compiled.
local function runs_alike(s, p, ...)
  local results = {}
  for i, q in ipairs { p, s } do
    results[i] = {}
    local given = table.pack(...)
    for k = 1, given.n do
      given[k] = type(given[k]) == "function" and given[k]() or given[k]
    end
    ts.build(q)(table.unpack(given))
    for k = 1, given.n do results[i][k] = tostring(given[k]) end
  end
  assert(table.concat(results[1], "\n") == table.concat(results[2], "\n"),
         tostring(s))
end

local function zeros(dtype, shape)
  return function() return ts.tensor(dtype, shape) end
end

-- The greatest of each row, and where it is.
do
  local N, K = 24, 5
  local b = ts.builder "argmax"
  local A = b:input("A", { N, K })
  local best, at = b:output("best", { N }), b:output("at", { N }, "int64")
  b:loop("i", 0, N, function(i)
    b:loop("k", 0, K, function(k)
      b:block("m", { { "vi", extent = N, bind = i },
                     { "vk", "reduce", extent = K, bind = k } },
              function(vi, vk)
        b:init(function()
          b:store(best, { vi }, -1e30)
          b:store(at, { vi }, -1)
        end)
        b:when(ts.gt(A(vi, vk), best(vi)), function()
          b:store(best, { vi }, A(vi, vk))
          b:store(at, { vi }, vk)
        end)
      end)
    end)
  end)
  local p = b:program()
  local function tiled(s, tile)
    local i, k = s:get_loops(s:get_block "m")
    local o, inner = s:split(i, { ts.auto, tile })
    s:reorder(k, inner)
    s:parallel(o)
    s:vectorize(inner)
  end
  for _, tile in ipairs { 4, 8, 12, 24 } do
    runs_alike(legal(p, tiled, tile), p,
               ts.tensor("float32", { N, K }, "random", 1),
               zeros("float32", { N }), zeros("int64", { N }))
  end
end

-- The other side, conditions in one another, and the predicate of a block,
-- whose elements change.
do
  local N = 20
  local b = ts.builder "clip"
  local X, C = b:inout("X", { N }, "int32"), b:output("C", { N }, "int32")
  local function block(name, options, body)
    b:loop("i", 0, N, function(i)
      if options then options.where = ts.lt(X(i), 9) end
      b:block(name, { { "v", extent = N, bind = i } }, body, options)
    end)
  end
  block("zero", nil, function(v) b:store(C, { v }, 0) end)
  block("sides", nil, function(v)
    b:when(ts.lt(X(v), 0), function()
      b:store(X, { v }, -X(v))
      b:when(ts.lt(X(v), 3), function()
        b:store(X, { v }, X(v) + 3)
        b:store(C, { v }, C(v) + 1)
      end)
      b:store(C, { v }, C(v) + X(v))
    end, function() b:store(C, { v }, C(v) - 7) end)
  end)
  block("part", {}, function(v)
    b:store(X, { v }, X(v) + 10)
    b:store(C, { v }, C(v) + 100)
  end)
  local p = b:program()
  local s = legal(p, function(s)
    for _, name in ipairs { "zero", "sides", "part" } do
      local i = s:get_loops(s:get_block(name))
      local _, inner = s:split(i, { ts.auto, name == "part" and 7 or 5 })
      s:vectorize(inner)
    end
  end)
  local given = {}
  for i = 1, N do given[i] = (i * 7) % 23 - 11 end
  runs_alike(s, p, function() return ts.tensor("int32", { N }, given) end,
             zeros("int32", { N }))
end

-- An index that an earlier statement has read and a later one would find too
-- great is not read where the condition says no.
do
  local N = 16
  local b = ts.builder "index"
  local A = b:input("A", { N })
  local I = b:inout("I", { N }, "int64")
  local X, Y = b:output("X", { N }), b:output("Y", { N })
  b:loop("i", 0, N, function(i)
    b:block("move", { { "v", extent = N, bind = i } }, function(v)
      b:store(X, { v }, A(I(v)))
      b:store(I, { v }, I(v) + 1000000000000)
      b:store(Y, { v }, ts.select(ts.lt(I(v), N), A(I(v)), 0))
    end)
  end)
  local p = b:program()
  local s = ts.schedule(p)
  s:vectorize((s:get_loops(s:get_block "move")))
  local index = ts.tensor("int64", { N })
  ts.build(s)(ts.tensor("float32", { N }, "random", 1), index,
              ts.tensor("float32", { N }), ts.tensor("float32", { N }))
end

-- ---- values made of themselves ---------------------------------------------

-- What element A(i) and the k-th step make of e, which uses e twice.
local steps = {
  chosen = function(a, e, k)
    return ts.select(ts.lt(a, k), e, e + k)
  end,
  leaky = function(_, e, k)
    return ts.select(ts.lt(e, 0), e * 0.5, e) - k
  end,
  between = function(_, e, k)
    return ts.select(ts.land(ts.lt(e, k), ts.lt(-e, k)), e * 2, e)
  end,
  ends = function(a, e, k) return ts.min(e * 2 - k, ts.max(e, a - e)) end,
}

local N = 64
local A = ts.placeholder("A", { N })

local function made_of(step, n, start)
  return function(i)
    local e = start and start(i) or A(i)
    for k = 1, n do e = step(start and i or A(i), e, k) end
    return e
  end
end

for _, step in pairs(steps) do
  local p = ts.program("deep", { A },
                       { ts.compute("B", { N }, made_of(step, 60)) })
  same(legal(p, function(s)
    local o, i = s:split((s:get_loops(s:get_block "B")), { ts.auto, 8 })
    s:parallel(o)
    s:vectorize(i)
    ts.build(s)
  end), p)
  ts.build(p)
end

-- So it is in stages that are put into one another,
do
  local stages, last = {}, A
  for k = 1, 40 do
    local from = last
    last = ts.compute("S" .. k, { N }, function(i)
      return steps.chosen(from(i), from(i), k)
    end)
    stages[k] = "S" .. k
  end
  local p = ts.program("stages", { A }, { last })
  ts.build(legal(p, function(s)
    for k = 1, 39 do s:compute_inline(s:get_block(stages[k])) end
  end))
end

-- and for indices, which are looked into by what moves, caches and lays out.
for _, step in pairs { steps.chosen, steps.ends, function(i, e, k)
  return (e + k) // 3 + (e * 2) % 7 + i % k
end } do
  local index = made_of(step, 40, function(i) return i end)
  local X = ts.compute("X", { N, 16 }, function(i, j) return A(i) + A(j) end)
  local k = ts.reduce_axis("k", 16)
  local B = ts.compute("B", { N }, function(i)
    return ts.sum(X(ts.min(ts.max(index(i), 0), N - 1), k), k)
  end)
  local p = ts.program("indexed", { A },
                       { ts.compute("D", { N }, function(i) return B(i) end) })
  local function can(f)
    local s = ts.schedule(p)
    local ok, e = pcall(f, s, s:get_block "B", s:get_loops(s:get_block "B"))
    assert(ok or e.reason, e)
    same(s, p)
    ts.build(s)
  end
  can(function(s, b, i, r) s:fuse(i, r) end)
  can(function(s, b, i, r) s:reorder(r, i) end)
  can(function(s, b, i) s:compute_at(s:get_block "X", i) end)
  can(function(s) s:compute_inline(s:get_block "X") end)
  can(function(s, b, i) s:reverse_compute_at(s:get_block "D", i) end)
  can(function(s, b, i, r) s:rfactor(r, 0) end)
  can(function(s, b, i) s:decompose_reduction(b, i) end)
  can(function(s, b, i, r) s:blockize(r) end)
  can(function(s, b) s:cache_read(b, "X", "global") end)
  can(function(s, b) s:cache_index(b, "global", 0) end)
  can(function(s, b) s:reindex(b, "X") end)
  can(function(s, b, i) s:read_at(i, b, "X", "global") end)
  can(function(s, b, i) s:loop_partition(i, { 10, ts.auto }) end)
  can(function(s, b)
    s:transform_layout(b, "X", function(x, y) return x // 4, y, x % 4 end)
  end)
  can(function(s, b, i, r)
    local o = s:split(i, { ts.auto, 7 })
    s:compute_at(s:get_block "X", o)
  end)
end

-- Where one side computes only at times what the other does, there is code
-- for each, and an end to it.
do
  local e = made_of(function(a, e, k)
    return ts.select(ts.lt(a, k), ts.select(ts.lt(a, -k), e, 1), e)
  end, 30)
  local p = ts.program("both", { A }, { ts.compute("B", { N }, e) })
  fails("LIMIT", "the limit was reached: more than 1048576 instructions, "
                 .. "from nested choices", ts.equivalent, p, p)
  fails("BUILD_ERROR", "branches around loads", ts.build, p)
end
