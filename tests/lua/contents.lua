-- SPDX-License-Identifier: Apache-2.0
-- Indices from data: what inputs are declared to hold, and what checks and
-- kernels make of it.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

local function gather(f, B)
  local A = ts.placeholder("A", { 8 })
  return ts.program("g", { A, B }, { ts.compute("C", { 5 }, function(i)
    return A(f(B(i)))
  end) })
end
local function same(x) return x end
local function index(options)
  return ts.placeholder("B", { 5 }, "int32", options)
end

-- Nothing is said: what is read is in range, also through a copy of the
-- indices, and where they do not begin at 0.
for _, f in ipairs { same, function(x) return x - 1 end,
                     function(x) return 7 - x end,
                     function(x) return x // 2 + 3 end } do
  local p = gather(f, index())
  local s = ts.schedule(p)
  for i = 0, 1 do s:cache_read(s:get_block "C", i, "global") end
  assert(ts.equivalent(p, p) and ts.equivalent(s, p) and ts.equivalent(p, s))
end

-- So does a copy of the copy, whichever way it is made; padding is of the
-- range.
do
  local B = ts.placeholder("B", { 5 }, "int32", { range = { 1, 7 } })
  local p = gather(same, B)
  local function padded(value)
    return function(s, copy)
      s:transform_layout(copy, { "write", 0 }, function(i)
        return i // 4, i % 4
      end, value)
    end
  end
  local function copied(change)
    local s = ts.schedule(p)
    change(s, s:cache_read(s:get_block "C", "B", "global"))
    s:program():verify()
    assert(ts.equivalent(s, p))
    assert(ts.build(s, "llvm"))
  end
  copied(function(s, copy) s:reindex(copy, { "write", 0 }) end)
  copied(function(s) s:reindex(s:get_block "C", { "read", 1 }) end)
  copied(function(s, copy)
    s:reindex_cache_write(copy, 0, "global", function(i) return 4 - i end)
  end)
  copied(padded(6))
  checks.fails("REFUSED", "the pad value may lie outside of [1, 7)", copied,
               padded(7))
  checks.fails("REFUSED", "the pad value may lie outside of [1, 7)", copied,
               function(s, copy) s:pad_einsum(copy, { 4 }) end)
end

-- Another index is another program.
do
  local p = gather(same, index())
  local q = gather(function(x) return x // 2 end, index())
  assert(not ts.equivalent(p, q))
end

-- What cannot be drawn is refused.
do
  local A, B = ts.placeholder("A", { 8 }), index()
  local p = ts.program("g", { A, B }, { ts.compute("C", { 5 }, function(i)
    return A(B(i) * B(i) * 3 + 11)
  end) })
  checks.fails("UNSUPPORTED", "declare what 'B' holds", ts.equivalent, p, p)
  checks.fails("UNSUPPORTED", "tuning: no inputs can be drawn for which 'A' " ..
               "is accessed in bounds: declare what 'B' holds",
               ts.tune, p, { trials = 4 })
  -- Bits of integers can, floats that are computed with cannot.
  p = ts.program("g", { A, B }, { ts.compute("C", { 5 }, function(i)
    return A((B(i) & B(i)) ~ B(i))
  end) })
  assert(ts.equivalent(p, p))
  local X = ts.placeholder("X", { 5 })
  p = ts.program("g", { A, X }, { ts.compute("C", { 5 }, function(i)
    return A(ts.cast(ts.floor(X(i) * 4), "int32"))
  end) })
  checks.fails("UNSUPPORTED", "its indices are computed from 'X', of floats",
               ts.equivalent, p, p)
  checks.fails("UNSUPPORTED", "of floats", ts.tune, p, { trials = 4 })
end

-- Declared contents are printed, kept, told apart and shown.
do
  local p = gather(same, index { range = { 0, 8 }, sorted = true })
  local q = gather(same, index { range = { 0, 8 } })
  assert(tostring(p):find("B: int32[5] range [0, 8) sorted", 1, true))
  assert(not p:equal(q) and p:hash() ~= q:hash())
  local path = os.tmpname()
  p:save(path)
  local r = ts.load_program(path)
  os.remove(path)
  assert(r:equal(p) and ts.equivalent(p, r))
  local B = r:params()[2]
  assert(B.range[1] == 0 and B.range[2] == 8 and B.sorted and not B.unique)
end

-- What must leave its tensor is no program.
checks.fails("INVALID", "'A' is read outside of its shape", gather, same,
             index { range = { 8, 9 } })

-- What contradicts itself is refused, in one line.
local function refused(text, options, shape, dtype)
  checks.fails("INVALID", text, ts.placeholder, "B", shape or { 5 },
               dtype or "int32", options)
end
refused("no value is in [3, 3)", { range = { 3, 3 } })
refused("is not within int8", { range = { 0, 200 } }, { 5 }, "int8")
refused("5 elements cannot be unique among 4", { range = { 0, 4 },
                                                  unique = true })
refused("one dimension", { sorted = true }, { 2, 3 })
refused("range is { least, below }", { range = 8 })
refused("offsets_into", { offsets_into = -1 })
refused("offsets_into", { offsets_into = 3, range = { 0, 4 } })
refused("true or false", { sorted = 1 })
refused("only of an input", { range = { 0, 4 }, role = "layout_free" })
checks.fails("TYPE", "of integers", ts.placeholder, "B", { 5 }, "float32",
             { range = { 0, 4 } })

-- The interpreter looks at what it is given.
do
  local p = gather(same, index { range = { 0, 8 }, unique = true })
  local a, c = ts.tensor("float32", { 8 }, "integers"),
               ts.tensor("float32", { 5 })
  ts.interpret(p, { a, ts.tensor("int32", { 5 }, { 7, 0, 3, 2, 1 }), c })
  checks.fails("INVALID", "element 1, which is 8", ts.interpret, p,
               { a, ts.tensor("int32", { 5 }, { 7, 8, 3, 2, 1 }), c })
  checks.fails("INVALID", "element 3, which is 7", ts.interpret, p,
               { a, ts.tensor("int32", { 5 }, { 7, 0, 3, 7, 1 }), c })
end

-- Of the examples: checked as scheduled, and against what Lua computes.
local function example(name)
  return dofile((arg[0]:gsub("[^/]*$", "../../examples/" .. name .. ".lua")))
end
do
  local spmv = example "csr_spmv"
  local p = spmv.program(64, 48, 300)
  assert(ts.equivalent(p, p))
  for seed = 1, 3 do
    local s = ts.schedule(p, { seed = seed })
    spmv.schedule(s)
    assert(ts.equivalent(p, s) and ts.equivalent(s, p))
  end
  local q = spmv.program(3, 4, 5)
  local y = ts.tensor("float32", { 3 })
  ts.build(q)(ts.tensor("int32", { 4 }, { 0, 2, 2, 5 }),
              ts.tensor("int32", { 5 }, { 1, 3, 0, 1, 2 }),
              ts.tensor("float32", { 5 }, { 1, 2, 3, 4, 5 }),
              ts.tensor("float32", { 4 }, { 1, 10, 100, 1000 }), y)
  assert(y:get(0) == 2010 and y:get(1) == 0 and y:get(2) == 543)
end

-- A row's elements, whose bounds are data, split below rows that run in
-- parallel, in any order of the two steps; whose elements they are added to
-- must be told apart by the rows.
do
  local spmv = example "csr_spmv"
  local function steps(s, names)
    local i, k = s:get_loops(s:get_block "row")
    local inner
    for name in names:gmatch "%a+" do
      if name == "split" then _, inner = s:split(k, { ts.auto, 4 }) end
      if name == "tile" then i = s:split(i, { ts.auto, 4 }) end
      if name == "parallel" then s:parallel(i) end
      if name == "unroll" then s:unroll(inner) end
    end
  end
  for _, names in ipairs { "split parallel", "parallel split",
                           "tile parallel split unroll",
                           "split unroll tile parallel" } do
    checks.legal(spmv.program(16, 12, 40), function(s) steps(s, names) end)
  end
  local b = ts.builder "shared"
  local P = b:input("P", { 9 }, "int32", { offsets_into = 30 })
  local V, Y = b:input("V", { 30 }), b:output("Y", { 4 })
  b:loop("i", 0, 4, function(i)
    b:block("zero", { { "vi", extent = 4, bind = i } }, function(vi)
      b:store(Y, { vi }, 0)
    end)
  end)
  b:loop("i", 0, 8, function(i)
    local from, to = ts.cast(P(i), "int64"), ts.cast(P(i + 1), "int64")
    b:loop("k", from, to - from, function(k)
      b:block("row", { { "vi", "reduce", extent = 8, bind = i },
                       { "vk", "reduce", extent = 30, bind = k } },
              function(vi, vk)
        b:store(Y, { vi // 2 }, Y(vi // 2) + V(vk))
      end)
    end)
  end)
  local s = ts.schedule(b:program())
  local i, k = s:get_loops(s:get_block "row")
  s:split(k, { ts.auto, 4 })
  checks.fails("REFUSED", "not spatial", s.parallel, s, i)
end

-- What is sampled is tried, too; and two are tuned.
for _, name in ipairs { "csr_spmm", "scatter_add" } do
  local of = example(name)
  local p = of.program(16, 12, 40, 64)
  if name == "scatter_add" then p = of.program(12, 16, 64) end
  for seed = 1, 3 do
    local s = ts.schedule(p, { seed = seed })
    of.schedule(s)
    checks.same(s, p)
  end
  local r = ts.tune(p, { trials = 3, batch = 3, min_time = 0.002,
                         space = of.schedule, check = "all" })
  assert(r.status == "OK" and r.failed == 0, r.funnel)
end

for _, name in ipairs { "gather", "ragged" } do
  local of = example(name)
  local p = of.program(16, 64, 32)
  local s = ts.schedule(p)
  of.schedule(s)
  assert(ts.equivalent(p, s) and ts.equivalent(s, p))
end

-- Where bounds of loops are data, copies of inputs are made, all of them; what
-- moves below such loops is refused, with what applies to them.
do
  local b = ts.builder "csr"
  local P = b:input("P", { 9 }, "int32", { offsets_into = 20 })
  local J = b:input("J", { 20 }, "int32", { range = { 0, 6 } })
  local V, X = b:input("V", { 20 }), b:input("X", { 6 })
  local Y = b:output("Y", { 8 })
  b:loop("i", 0, 8, function(i)
    b:block("zero", { { "vi", extent = 8, bind = i } }, function(vi)
      b:store(Y, { vi }, 0)
    end)
    local from, to = ts.cast(P(i), "int64"), ts.cast(P(i + 1), "int64")
    b:loop("k", from, to - from, function(k)
      b:block("row", { { "vi", extent = 8, bind = i },
                       { "vk", "reduce", extent = 20, bind = k } },
              function(vi, vk)
        b:store(Y, { vi }, Y(vi) + V(vk) * X(J(vk)))
      end)
    end)
  end)
  local p = b:program()
  local copies, row, rows = {}
  local sch = checks.legal(p, function(sch)
    row = sch:get_block "row"
    for i = 1, 3 do copies[i] = sch:cache_read(row, i, "global") end
    local k
    rows, k = sch:get_loops(row)
    sch:split(k, { ts.auto, 4 })
    sch:parallel(rows)
  end)
  assert(select(2, tostring(sch:program()):gsub("alloc ", "")) == 3)
  checks.fails("REFUSED", "where bounds are data, split, fuse, reorder, " ..
               "fission, parallel and vectorize apply, and cache_read of an " ..
               "input", sch.compute_at, sch, copies[1], rows)
  checks.fails("REFUSED", "without loads in bounds", sch.cache_write, sch,
               row, 0, "global")
end
