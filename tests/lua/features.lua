-- SPDX-License-Identifier: Apache-2.0
-- Features of candidates: columns worked out by hand on small programs, and
-- what is refused.
local ts = require "tessera"
local ops = require "tessera.ops"
local intrin = require "tessera.intrin"
local tensor = require "tessera.tensor"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local fails = checks.fails

-- Asks f of a session over the one sketch that `schedule` is, and a candidate.
local function ask(program, schedule, f)
  fails(nil, "enough", ts.tune, program, {
    trials = 1, seed = 1, space = schedule, strategy = ts.strategy {
      propose = function(_, session)
        f(session, assert(session:draw()))
        error "enough"
      end } })
end

-- The rows of the only candidate, by names of columns; numbers, no logarithms,
-- rounded.
local function features(program, schedule, kind)
  local out
  ask(program, schedule, function(session, c)
    local rows, columns = session:features({ c }, kind)
    out = {}
    for r, row in ipairs(rows[1]) do
      assert(#row == #columns)
      out[r] = setmetatable({}, { __index = function(_, name)
        error("there is no column " .. name)
      end })
      for i, name in ipairs(columns) do
        local x = row[i]
        out[r][name] = math.abs(2 ^ math.abs(x) - 1) * (x < 0 and -1 or 1)
      end
    end
  end)
  return out
end

local function expect(row, wanted)
  for name, x in pairs(wanted) do
    local found = row[name]
    assert(math.abs(found - x) <= 1e-4 * math.max(1, math.abs(x)),
           ("%s is %s, not %s"):format(name, found, x))
  end
end

-- A product, tiled: C[64, 48] += A[64, 32] B[32, 48].
do
  local p = ops.matmul { m = 64, n = 48, k = 32 }
  local function tiled(sch)
    local i, j, k = sch:get_loops(sch:get_block "C")
    local i0, i1 = sch:split(i, { 8, 8 })
    local j0, j1 = sch:split(j, { 6, 8 })
    sch:reorder(i0, j0, k, i1, j1)
    sch:parallel(i0)
    sch:unroll(i1)
    sch:vectorize(j1)
  end
  local rows = features(p, tiled, "per_store")
  assert(#rows == 1)
  local r, all = rows[1], 64 * 48 * 32
  expect(r, {
    ["op.float_mad"] = all, ["op.float_add"] = 0, ["op.float_mul"] = 0,
    ["op.int_mad"] = 0,
    -- the loops: i0 8, j0 6, k 32, i1 8, j1 8
    ["parallel.count"] = 1, ["parallel.product"] = 8, ["parallel.length"] = 8,
    ["parallel.outer_spatial"] = 1, ["parallel.none"] = 0,
    ["unroll.length"] = 8, ["unroll.middle_spatial"] = 1,
    ["vectorize.length"] = 8, ["vectorize.inner_spatial"] = 1,
    ["gpu.is_gpu"] = 0, ["outer.product"] = all, ["outer.loops"] = 5,
    -- A stands still in j1 and goes 32 elements with i1: a line each time.
    ["buffer0.read"] = 1, ["buffer0.stride"] = 32,
    ["buffer0.lines"] = all / 8, ["buffer0.unique_bytes"] = 4 * 64 * 32,
    ["buffer0.reuse_loop"] = 1, ["buffer0.reuse_count"] = 8,
    ["buffer0.reuse_iterations"] = 1,
    -- In j1: C and B 8 elements each, A one.
    ["buffer0.reuse_bytes"] = 4 * (1 + 1 + 1),
    ["alloc.bytes"] = 4 * 64 * 48, ["alloc.outer"] = 1,
    ["alloc.inner"] = all,
  })
  -- All operations over all bytes, at the end of the curve.
  expect(r, { intensity9 = all / (4 * (64 * 32 + 32 * 48 + 64 * 48)) })
  -- C and B have as many lines: the one that the statement names first.
  expect(r, { ["buffer1.read_write"] = 1, ["buffer1.lines"] = all / 16,
              ["buffer1.unique_lines"] = 64 * 48 / 16,
              ["buffer1.stride"] = 1, ["buffer1.reuse_count"] = 32,
              ["buffer2.read"] = 1, ["buffer2.bytes"] = 4 * all,
              ["buffer2.reuse_count"] = 8, ["buffer2.reuse_iterations"] = 8 })
end

-- Integers are counted apart, and towards intensity; divisions, comparisons
-- and functions, too.
do
  local A = ts.placeholder("A", { 16 }, "int32")
  local B = ts.compute("B", { 16 }, function(i)
    return ts.max(A(i) * A(i) + 3, A(i) // 5)
  end)
  local r = features(ts.program("ints", { A }, { B }), function() end,
                     "per_store")[1]
  expect(r, { ["op.int_mad"] = 16, ["op.int_div"] = 16, ["op.int_cmp"] = 16,
              ["op.float_mad"] = 0, ["op.int_mul"] = 0,
              intensity9 = 3 * 16 / (2 * 16 * 4),
              ["buffer0.reuse_none"] = 1, ["buffer0.lines"] = 1 })
  local X = ts.placeholder("X", { 8, 8 })
  local Y = ts.compute("Y", { 8, 8 }, function(i, j)
    return ts.select(ts.lt(X(i, j), 0), ts.exp(X(j, i)), X(i, j) / 2)
  end)
  r = features(ts.program("choice", { X }, { Y }), function() end,
               "per_store")[1]
  expect(r, { ["op.select"] = 64, ["op.float_math"] = 64,
              ["op.float_cmp"] = 64, ["op.float_div"] = 64 })
end

-- Two stages: each has a row, what one writes the other reads, and computed
-- inside a loop it needs no more than what the loop touches.
do
  local A = ts.placeholder("A", { 32, 16 })
  local B = ts.compute("B", { 32, 16 }, function(i, j) return A(i, j) * 2 end)
  local C = ts.compute("C", { 32, 16 }, function(i, j) return B(i, j) + 1 end)
  local p = ts.program("stages", { A }, { C })
  local apart = features(p, function() end, "per_store")
  assert(#apart == 2)
  expect(apart[1], { ["alloc.bytes"] = 4 * 32 * 16, ["alloc.outer"] = 1,
                     ["op.float_mul"] = 512, ["op.float_mad"] = 0 })
  local fused = features(p, function(sch)
    local i = sch:get_loops(sch:get_block "C")
    sch:compute_at(sch:get_block "B", i)
  end, "per_store")
  assert(#fused == 2)
  expect(fused[1], { ["alloc.bytes"] = 4 * 16, ["alloc.outer"] = 32,
                     ["alloc.total"] = 512, ["alloc.inner"] = 16 })
  -- B is read again by the second store in each iteration of i.
  expect(fused[1], { ["buffer0.write"] = 1, ["buffer0.reuse_serial"] = 1,
                     ["buffer0.reuse_count"] = 1,
                     ["buffer0.reuse_iterations"] = 16 })
end

-- Threads of a device.
do
  local p = ops.matmul { m = 64, n = 64, k = 32 }
  local r = features(p, function(sch)
    local i, j, k = sch:get_loops(sch:get_block "C")
    local i0, i1 = sch:split(i, { 4, 16 })
    local j0, j1 = sch:split(j, { 2, 32 })
    sch:reorder(i0, j0, i1, j1, k)
    sch:bind(sch:fuse(i0, j0), "blockIdx.x")
    sch:bind(sch:fuse(i1, j1), "threadIdx.x")
  end, "per_store")[1]
  expect(r, { ["gpu.is_gpu"] = 1, ["gpu.blockIdx.x"] = 8,
              ["gpu.threadIdx.x"] = 512, ["gpu.blockIdx.y"] = 1,
              ["outer.loops"] = 3 })
end

-- Loops of one iteration change nothing; the step of unrolling is seen.
do
  local p = ops.matmul { m = 8, n = 8, k = 8 }
  local plain = features(p, function() end, "per_store")[1]
  local unit = features(p, function(sch)
    local i = sch:get_loops(sch:get_block "C")
    sch:split(i, { 8, 1 })
    sch:annotate(sch:get_block "C", "pragma_auto_unroll_max_step", 64)
  end, "per_store")[1]
  expect(unit, { ["outer.unroll"] = 64 })
  rawset(plain, "outer.unroll", 64)
  expect(unit, plain)
end

-- Loops as rows, and the tree of them and of stores.
do
  local p = ops.matmul { m = 64, n = 48, k = 32 }
  local function parallel(sch)
    sch:parallel((sch:get_loops(sch:get_block "C")))
  end
  local loops = features(p, parallel, "context")
  assert(#loops == 3)
  expect(loops[1], { length = 64, depth = 0, outer = 1, inner = 48 * 32,
                     parallel = 1, serial = 0, additions = 48 * 32,
                     products = 48 * 32 })
  -- C, which is written and read, is accessed most; then B, which stands
  -- before A only where it is used more often.
  expect(loops[3], { length = 32, depth = 2, outer = 64 * 48, inner = 1,
                     serial = 1, ["buffer0.count"] = 2 * 32,
                     ["buffer0.stride"] = 0, ["buffer0.bytes"] = 4,
                     ["buffer0.reuse"] = 2 * 32, ["buffer1.count"] = 32 })
  ask(p, parallel, function(session, c)
    local rows, columns = session:features({ c }, "tree")
    assert(#rows[1] == 4 and columns[1] == "parent")
    for r, parent in ipairs { -1, 0, 1, 2 } do
      assert(rows[1][r][1] == parent)
      assert(rows[1][r][2] == (r == 4 and 1 or 0))
    end
  end)
end

-- What moves: 8 x 8 sums in registers, while k runs; one iteration of j0
-- touches 56 lines, all of them 136, and all of i0 416.
do
  local p = ops.matmul { m = 64, n = 48, k = 32 }
  local row = features(p, function(sch)
    local i, j, k = sch:get_loops(sch:get_block "C")
    local i0, i1 = sch:split(i, { 8, 8 })
    local j0, j1 = sch:split(j, { 6, 8 })
    sch:reorder(i0, j0, k, i1, j1)
    sch:parallel(i0)
    sch:vectorize(j1)
  end, "traffic")[1]
  local all = 64 * 48 * 32
  expect(row, { ["op.float_mad"] = all, lanes = 8, pieces = 8, sums = 64,
                ["sums.again"] = all / 32, rolled = 0, stores = 0,
                ["loads.wide"] = all / 8, ["loads.one"] = all / 8,
                ["loads.apart"] = 0, ["kept.wide"] = 8, ["kept.one"] = 1,
                ["lines.4K"] = 8 * 136, ["lines.8K"] = 8 * 136,
                ["lines.16K"] = 416, ["lines.65536K"] = 416, lines = 416 })
  -- Loops of more than 16 iterations stay, and sums in memory with them.
  local rolled = features(p, function(sch)
    local i, j, k = sch:get_loops(sch:get_block "C")
    sch:reorder(k, i, j)
    sch:vectorize(j)
  end, "traffic")[1]
  expect(rolled, { rolled = 1, sums = 64 * 48, ["sums.again"] = all / 32 })
  -- A[i + k] is shared by iterations of k, which become straight code, one for
  -- all lanes; B[j + k] is not, whose vectors begin elsewhere.
  local A, B = ts.placeholder("A", { 7 }), ts.placeholder("B", { 19 })
  local k = ts.reduce_axis("k", 4)
  local C = ts.compute("C", { 4, 16 }, function(i, j)
    return ts.sum(A(i + k) * B(j + k), k)
  end)
  local straight = features(ts.program("windows", { A, B }, { C }),
                            function(sch)
    local i, j, l = sch:get_loops(sch:get_block "C")
    sch:reorder(l, i, j)
    sch:vectorize(j)
    sch:annotate(l, "pragma_auto_unroll_max_step", 64)
  end, "traffic")[1]
  expect(straight, { lanes = 16, sums = 64, ["kept.one"] = 7,
                     ["kept.wide"] = 16 })
end

-- Lanes that read channel 4 (c // 4) + k are no copies of one element, though
-- the first four are.
do
  local A, B = ts.placeholder("A", { 16 }), ts.placeholder("B", { 4, 16 })
  local k = ts.reduce_axis("k", 4)
  local C = ts.compute("C", { 16 }, function(c)
    return ts.sum(A(c // 4 * 4 + k) * B(k, c), k)
  end)
  local row = features(ts.program("groups", { A, B }, { C }), function(sch)
    local c, l = sch:get_loops(sch:get_block "C")
    sch:reorder(l, c)
    sch:vectorize(c)
  end, "traffic")[1]
  expect(row, { lanes = 16, ["loads.one"] = 0, ["loads.wide"] = 64 })
  assert(row["loads.apart"] > 16)
end

-- Rows a multiple of 4 KB apart share the sets of a cache of 32 KB, and are
-- fetched again for each column of lines; 128 bytes more, and they do not.
do
  local function lines(width)
    local A, k = ts.placeholder("A", { 64, width }), ts.reduce_axis("k", 64)
    local C = ts.compute("C", { 2, 32 }, function(i, j)
      return ts.sum(A(k, i * 16 + j), k)
    end)
    local row = features(ts.program("columns", { A }, { C }), function(sch)
      local i, j, l = sch:get_loops(sch:get_block "C")
      sch:reorder(i, l, j)
      sch:vectorize(j)
    end, "traffic")[1]
    return row["lines.32K"], row["lines.4096K"]
  end
  local same, large = lines(1024)
  local other = lines(1056)
  assert(math.abs(other - large) < 1 and same > 1.2 * large)
end

-- What an instruction does is one multiply-add of its lanes, and what it takes
-- are vectors, or 4 bytes for all lanes.
do
  local A = ts.placeholder("A", { 4, 64 }, "int8")
  local B = ts.placeholder("B", { 16, 16, 4 }, "int8")
  local k = ts.reduce_axis("k", 64)
  local C = ts.compute("C", { 4, 16 }, function(i, j)
    return ts.sum(ts.cast(A(i, k), "int32") *
                  ts.cast(B(k // 4, j, k % 4), "int32"), k)
  end)
  local rows = features(ts.program("dots", { A, B }, { C }), function(sch)
    local c = sch:get_block "C"
    local piece = assert(tensor.tile(sch, c, { 16, 4 }))
    local i, _, l = sch:get_loops(c)
    sch:reorder(l, i)
    sch:decompose_reduction(c, l)
    sch:tensorize(piece, intrin.use "dot_16x4_vnni_s8s8s32")
  end, "traffic")
  expect(rows[#rows], { ["op.float_mad"] = 4 * 16 * 16, lanes = 16, sums = 64,
                        ["op.int_mad"] = 0, ["loads.wide"] = 16 * 16,
                        ["loads.one"] = 4 * 16, ["loads.apart"] = 0 })
end

-- What lays a parameter out is done beforehand, and moves nothing.
do
  local A, B = ts.placeholder("A", { 8, 8 }),
               ts.placeholder("B", { 8, 8 }, { role = "layout_free" })
  local k = ts.reduce_axis("k", 8)
  local C = ts.compute("C", { 8, 8 }, function(i, j)
    return ts.sum(A(i, k) * B(k, j), k)
  end)
  local rows = features(ts.program("product", { A, B }, { C }), function(sch)
    sch:transform_layout(sch:get_block "C", { "read", 1 }, "(k, j) -> (j, k)")
  end, "traffic")
  assert(#rows == 2)
  expect(rows[1], { lanes = 0, stores = 0, lines = 0 })
end

-- Decisions: a place for each sketch, logarithms of tiles, categories one-hot.
do
  local p = ops.matmul { m = 64, n = 64, k = 64 }
  ask(p, function(sch)
    local b = sch:get_block "C"
    local i = sch:get_loops(b)
    sch:split(i, { sch:sample_perfect_tile(i, { n = 3 }) })
    sch:annotate(b, "pragma_auto_unroll_max_step",
                 sch:sample_categorical({ 0, 16, 64 }, { 0.2, 0.3, 0.5 }))
  end, function(session, c)
    local list = { c, session:draw(), session:draw() }
    local rows, columns = session:features(list, "decisions")
    assert(#columns == 1 + 3 + 4 and columns[1] == "sketch1")
    assert(columns[2]:find "^sketch1%.%d+%.sample_perfect_tile%.0$")
    for k, x in ipairs(list) do
      local row, d = rows[k][1], x.decisions
      assert(row[1] == 1 and d[1] == 3 and d[5] == 1)
      for i = 1, 3 do assert(2 ^ row[1 + i] == d[1 + i]) end
      local value = ({ [0] = 0, 16, 64 })[d[6]]
      assert(math.abs(row[5] - math.log(1 + value, 2)) < 1e-6)
      for i = 0, 2 do assert(row[6 + i] == (d[6] == i and 1 or 0)) end
    end
    -- The schedule itself, for a model that wants to see more.
    assert(session:trace(c)[1].name == "get_block")
    assert(session:program(c):equal(session:trace(c):replay(p):program()))
  end)
end

-- An operand that is computed from several decisions has a column, once.
do
  local p = ops.matmul { m = 64, n = 64, k = 64 }
  local function pick(sch, list)
    return sch:sample_categorical(list, { 0.5, 0.5 })
  end
  ask(p, function(sch)
    local i, j = sch:get_loops(sch:get_block "C")
    local inner, times = pick(sch, { 2, 4 }), pick(sch, { 3, 5 })
    sch:split(i, { ts.auto, inner * times })
    sch:split(j, { ts.auto, inner * times, inner * 2 })
  end, function(session, c)
    local rows, columns = session:features({ c }, "decisions")
    assert(#columns == 1 + 3 + 3 + 1)
    assert(columns[8] == "sketch1.computed.0")
    local d = c.decisions
    local size = ({ [0] = 2, 4 })[d[2]] * ({ [0] = 3, 5 })[d[4]]
    assert(math.abs(rows[1][1][8] - math.log(1 + size, 2)) < 1e-6)
  end)
end

-- What is refused.
do
  local p = ops.matmul { m = 32, n = 32, k = 32 }
  ask(p, function(sch)
    local i = sch:get_loops(sch:get_block "C")
    sch:split(i, { sch:sample_perfect_tile(i, { n = 2 }) })
  end, function(session, c)
    fails(nil, "there are features 'per_store', 'context', 'tree' and " ..
          "'decisions', not 'per-store'", session.features, session, { c },
          "per-store")
    local bad = { sketch = 1, decisions = { 2, 5, 7 } }
    for _, kind in ipairs { "per_store", "decisions" } do
      fails(nil, "candidate 2, counted from 1, does not replay: " ..
            "sample_perfect_tile",
            session.features, session, { c, bad }, kind)
    end
    fails(nil, "has 1 decisions, not 0", session.features, session,
          { { sketch = 1, decisions = {} } }, "tree")
    fails(nil, "sample_perfect_tile", session.program, session, bad)
    assert(tostring(session:trace(bad)):find "{5, 7}")
    local rows, columns = session:features({}, "context")
    assert(#rows == 0 and #columns > 40)
  end)
end
