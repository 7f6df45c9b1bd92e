-- SPDX-License-Identifier: Apache-2.0
-- ts.tune: interruption, the result, progress, a function for a space, the
-- database.
local ts = require "tessera"
local ops = require "tessera.ops"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local searching = dofile((arg[0]:gsub("[^/]*$", "../support/searching.lua")))
local fails = checks.fails
local p, module = searching.program, searching.module
local sketches, with = searching.sketches, searching.with

-- Ctrl-C, which Lua raises as an error in whatever runs then, ends the run
-- with the best so far, and is no failure of a module's or a strategy's.
do
  local function interrupt() error "interrupted!" end
  fails(nil, "cancelled", sketches, { module("stopped", interrupt) {} })
  local o = with {}
  for _, space in ipairs { { module("stopped", interrupt) {} }, interrupt } do
    o.space = space
    local r = ts.tune(p, o)
    assert(r.status == "CANCELLED" and r.trials == 0 and not r.trace)
  end
  o.space = nil
  for _, method in ipairs { "propose", "observe" } do
    local strategy = { propose = function(_, session, n)
      local list = {}
      for i = 1, n do list[i] = session:draw() end
      return list
    end, observe = function() end }
    local calls, call = 0, strategy[method]
    strategy[method] = function(...)
      calls = calls + 1
      if calls == 2 then interrupt() end
      return call(...)
    end
    o.strategy = ts.strategy(strategy)
    local r = ts.tune(p, o)
    assert(r.status == "CANCELLED" and r.trace and r.latency > 0)
    assert(r.trials == (method == "propose" and 3 or 6), r.trials)
  end
end

-- ts.tune: the result, a function for progress, a function for a space.
do
  local told, compiling = {}, {}
  local r = ts.tune(p, with {
    strategy = "replay", cost_model = "random",
    progress = function(q)
      if q.compiling then
        compiling[#compiling + 1] = q
      else
        told[#told + 1] = q
      end
    end })
  assert(r.status == "OK" and r.trials == 6 and r.failed == 0)
  assert(r.latency > 0 and r.gflops > 0 and #r.curve == 6)
  for i = 2, 6 do assert(r.curve[i] <= r.curve[i - 1]) end
  assert(#told == 6 and told[6].trials == 6 and told[6].max_trials == 6)
  assert(told[6].best == r.curve[6] and #told[6].text > 0)
  for _, q in ipairs(told) do
    assert(q.status == "OK" and q.seconds >= q.best)
    assert(q.eta == (q.trials == 6 and 0 or nil))
  end
  assert(#compiling >= 1 and compiling[1].compiled == 0)
  for _, q in ipairs(compiling) do
    assert(not q.status and q.compiled < q.compiling and q.compiling <= 6)
    assert(q.text:find(("compiling %d/%d"):format(q.compiled, q.compiling)))
  end
  assert(ts.equivalent(r.schedule, p))
  assert(r.trace:replay(p):program():equal(r.schedule:program()))
  local a = ts.tensor("float32", { 32, 32 }, "integers", 1)
  local b = ts.tensor("float32", { 32, 32 }, "integers", 2)
  local bias = ts.tensor("float32", { 32 }, "integers", 3)
  local c = ts.tensor("float32", { 32, 32 })
  local d = ts.tensor("float32", { 32, 32 })
  r.kernel(a, b, bias, c)
  ts.interpret(p, { a, b, bias, d })
  assert(c:compare(d) == 0)
  assert(#r.ledger > 0 and #r.funnel > 0 and #r.classes > 0)
  assert(tostring(r):find("after 6 trials", 1, true))
end

do
  local hand = function(sch)
    local i = sch:get_loops(sch:get_block("C"))
    sch:split(i, { sch:sample_perfect_tile(i, { n = 2 }) })
  end
  local r = ts.tune(p, with { trials = 3, space = hand })
  assert(r.status == "OK" and tostring(r.trace):find("sample_perfect_tile"))
  local stopped = ts.tune(p, with { trials = 100,
    progress = function(q) return q.trials < 2 end })
  assert(stopped.status == "CANCELLED" and stopped.trials < 100)
  -- Of a first batch, what was measured stays, and the rest is not compiled.
  local most = 0
  local early = ts.tune(p, with { trials = 64, batch = 64,
    progress = function(q)
      most = math.max(most, q.compiled or 0)
      return q.trials < 2
    end })
  assert(early.status == "CANCELLED" and early.trials == 2 and most < 64)
  local none = ts.tune(p, with { trials = 4,
    progress = function(q) return not q.compiling end })
  assert(none.status == "CANCELLED" and none.trials == 0)
  fails(nil, "my own mistake", ts.tune, p, with {
    progress = function() error "my own mistake" end })
  fails(nil, "unknown option 'trails' of ts.tune, which has target, ", ts.tune,
        p, { trails = 3 })
  local most = { trials = 10000000, batch = 4096, threads = 1024,
                 kernel_threads = 1024 }
  for name, n in pairs(most) do
    for _, v in ipairs { -1, 0, n + 1, 1 << 40, math.mininteger + 1 } do
      fails(nil, ("option '%s' is %d, outside of 1 .. %d"):format(name, v, n),
            ts.tune, p, { [name] = v })
    end
    fails(nil, "'" .. name .. "'", ts.tune, p, { [name] = 1.5 })
    fails(nil, "'" .. name .. "'", ts.tune, p, { [name] = "many" })
  end
  for _, target in ipairs { "llvm", "opencl" } do
    fails("INVALID", "warm_cache is of targets whose caches are cleared",
          ts.tune, p, { target = target, warm_cache = true, trials = 1 })
  end
  for _, name in ipairs { "min_time", "timeout", "build_timeout",
                          "deadline" } do
    fails(nil, "option '" .. name .. "' is -1, not a time", ts.tune, p,
          { [name] = -1 })
    fails(nil, "option '" .. name .. "' is ", ts.tune, p, { [name] = 0 / 0 })
    fails("INVALID", "option '" .. name .. "' is 0, not a time", ts.tune, p,
          { [name] = 0 })
    fails(nil, "option '" .. name .. "' is inf", ts.tune, p, { [name] = 1 / 0 })
  end
  local slow = ts.tune(p, with { trials = 2, build_timeout = 1e-4 })
  assert(slow.failed >= 1 and slow.classes:find "TIMEOUT", slow.classes)
  fails(nil, "no memory for the tensors of 'matmul': they take ", ts.tune,
        ops.matmul{ m = 1 << 26, n = 1 << 26, k = 1 << 26 }, { trials = 1 })
  fails(nil, "there is no strategy 'luck'", ts.tune, p,
        with { strategy = "luck" })
  fails(nil, "there is no cost model 'luck'", ts.tune, p,
        with { cost_model = "luck" })
end

do
  local other = ops.matmul { m = 8, n = 8, k = 8 }
  fails(nil, "neither the one that it was given nor a copy", ts.tune, p,
        with { space = function() return ts.schedule(other) end })
end

-- A space that does nothing measures the program as it is.
do
  local r = ts.tune(p, with { space = {} })
  assert(r.status == "OK" and r.trials == 1 and #r.trace == 0)
end

-- What a postprocessor rejects is not measured, and the funnel says why: loops
-- whose extents are no constants, which the program has not.
do
  local A = ts.placeholder("A", { 8, 8 })
  local C = ts.compute("C", { 8, 8 }, function(i, j) return A(i, j) end)
  local r = ts.tune(ts.program("square", { A }, { C }), with {
    space = { module("cut", function(sch)
      if select("#", sch:get_child_blocks(sch:get_block "root")) > 1 then
        return nil
      end
      local i, j = sch:get_loops(sch:get_block "C")
      sch:loop_partition(j, nil, true, { i }, function(x) return x + 1 end)
      return sch
    end) {} } })
  assert(r.status == "NOT_FOUND" and r.trials == 0, r.status)
  assert(r.funnel:find("rejected by disallow_dynamic_loop: LOOP_DYNAMIC\n", 1,
                       true), r.funnel)
  assert(r.funnel:find(" 0  valid\n", 1, true), r.funnel)
end

-- A program that has them itself is tuned.
do
  local b = ts.builder "triangle"
  local A, C = b:input("A", { 8, 8 }), b:output("C", { 8, 8 })
  b:loop("i", 0, 8, function(i)
    b:loop("j", 0, 8, function(j)
      b:block("zero", { { "v", extent = 8, bind = i },
                        { "w", extent = 8, bind = j } },
              function(v, w) b:store(C, { v, w }, 0) end)
    end)
  end)
  b:loop("i", 0, 8, function(i)
    b:loop("j", 0, i + 1, function(j)
      b:block("C", { { "v", extent = 8, bind = i },
                     { "w", extent = 8, bind = j } },
              function(v, w) b:store(C, { v, w }, A(v, w)) end)
    end)
  end)
  local r = ts.tune(b:program(), with {
    space = { module("split", function(sch)
      local _, j = sch:get_loops(sch:get_block "C")
      local tile = sch:sample_categorical({ 2, 4 }, { 0.5, 0.5 })
      sch:vectorize((select(2, sch:split(j, { ts.auto, tile }))))
      return sch
    end) {} } })
  assert(r.status == "OK" and r.trials > 1 and r.failed == 0, r.funnel)
end

-- The database: a second run goes on where the first ended.
do
  local path = os.tmpname()
  os.remove(path)
  local first = ts.tune(p, with { database = path, trials = 4 })
  local second = ts.tune(p, with { database = path, trials = 6 })
  assert(first.trials == 4 and second.trials == 6)
  assert(second.latency and second.trace)
  local db = ts.database(path)
  local rows = db:records()
  assert(#rows >= 6, #rows)
  for i = 2, #rows do
    if rows[i].status == "OK" then
      assert(rows[i].seconds >= rows[i - 1].seconds)
    end
  end
  local r = rows[1]
  assert(r.checked == true)                  -- the best was compared
  for _, row in ipairs(rows) do assert(type(row.checked) == "boolean") end
  assert(r.status == "OK" and r.workload == "matmul_bias_relu" and
         #r.target > 0 and #r.policy > 0 and #r.engine > 0)
  assert(r.message == "" and #r.samples > 0)
  for _, s in ipairs(r.samples) do assert(s > 0 and s < 10) end
  local t = db:trace(r.id)
  assert(ts.equivalent(t:replay(), p))       -- it is bound to its program
  assert(#db:records(2) == 2 and db:records(2).total == #rows)
  -- Another program of that name, in the same file.
  local q = ts.program("matmul_bias_relu", {}, {
    ts.compute("T", { 4 }, function(i) return ts.cast(i, "float32") end) })
  ts.tune(q, { database = path, trials = 1, min_time = 0.001 })
  local one = db:records { program = q }
  assert(one.total == 1 and one[1].hash == q:hash() and
         one[1].workload == r.workload and r.hash == p:hash())
  assert(one[1].shapes == "T: out float32[4]", one[1].shapes)
  assert(db:records { program = p, checked = true, limit = 1 }[1].id == r.id)
  assert(db:records { workload = r.workload, target = r.target }.total ==
         #rows + 1)
  assert(db:records { policy = "none" }.total == 0)
  local best, trace = db:best(p, r.target)
  assert(best.id == r.id and trace == t)
  assert(ts.equivalent(select(2, db:best(q)):replay(q), q))
  local none, why = db:best(p, "llvm -num-cores=77")
  assert(none == nil and why:find("-num-cores=77", 1, true) and
         why:find(p:hash(), 1, true))
  fails("INVALID", "unknown option 'programm'", db.records, db,
        { programm = p })
  fails(nil, "no record", db.trace, db, 1000000)
  db:close()

  -- What is of one's own is taught what was measured before, then this run.
  local seen, taught, asked = {}, {}, 0
  local strategy = ts.strategy {
    propose = function(_, session, n)
      asked = asked + 1
      assert(asked > 1 or #seen == 6 and #taught == 6)
      local list = {}
      for i = 1, n do list[i] = session:draw() end
      return list
    end,
    observe = function(_, session, candidates)
      assert(#candidates <= 4)
      for _, c in ipairs(candidates) do
        assert(session:seen(c))
        seen[#seen + 1] = c
      end
    end,
  }
  local model = ts.cost_model {
    predict = function() error "nobody asks" end,
    update = function(_, _, candidates)
      table.move(candidates, 1, #candidates, #taught + 1, taught)
    end,
  }
  ts.tune(p, with { database = path, trials = 8, batch = 4,
                    strategy = strategy, cost_model = model })
  assert(#seen == 8 and #taught == 8)
  for i = 1, #rows do
    assert(rows[i].status == seen[rows[i].id].status and
           rows[i].seconds == seen[rows[i].id].seconds)
  end
  for _, end_ in ipairs { "", "-wal", "-shm" } do os.remove(path .. end_) end
end

-- That the check says little, since the results are not-a-number, is noted.
do
  local A = ts.placeholder("A", { 64 }, "float32")
  local B = ts.compute("B", { 64 }, function(i) return ts.sqrt(A(i) - 2) end)
  local r = ts.tune(ts.program("roots", { A }, { B }),
                    { trials = 1, min_time = 0.001 })
  assert(r.status == "OK")
  assert(r.note:find("64 of 64 elements of 'B' are infinite or not-a-number",
                     1, true), r.note)
end

-- That the best is slower than the program as it was is noted: of a space that
-- only computes 40 exp, one of the other, 256 times: so many that the program
-- as it was is faster by more than a busy machine takes away from it.
do
  local A, D = ts.placeholder("A", { 256 }), ts.placeholder("D", { 256 })
  local B = ts.compute("B", { 256 }, function(j)
    local e = A(j)
    for _ = 1, 40 do e = ts.exp(-e) end
    return e
  end)
  local C = ts.compute("C", { 256, 256 }, function(i, j)
    return B(j) + D(i)
  end)
  local r = ts.tune(ts.program("exps", { A, D }, { C }), {
    trials = 1, min_time = 0.01,
    space = function(sch) sch:compute_inline(sch:get_block "B") end })
  assert(r.status == "OK")
  assert(r.note:find("the best is slower than the unscheduled program: " ..
                     "timed interleaved, they took ", 1, true), r.note)
end

-- A database is a file.
for _, name in ipairs { "", ":memory:", "file:x.db?mode=memory" } do
  local ok, e = pcall(ts.database, name)
  assert(not ok and e.code == "INVALID", name)
  assert(e.message:find "^a database", e.message)
end

-- That the check says little, since results are rounded so coarsely, is noted.
do
  local A, k = ts.placeholder("A", { 8, 1024 }, "bfloat16"),
               ts.reduce_axis("k", 1024)
  local B = ts.compute("B", { 8 }, function(i) return ts.sum(A(i, k), k) end)
  local r = ts.tune(ts.program("coarse", { A }, { B }),
                    { trials = 1, min_time = 0.001 })
  assert(r.note:find("elements of 'B' may differ by 2.1 of their magnitude",
                     1, true), r.note)
end

-- The kernel of a result is compiled once; closed, it is compiled anew.
do
  local p = ops.matmul { m = 4, n = 4, k = 4 }
  local r = ts.tune(p, { trials = 1, min_time = 0.001 })
  local k = r.kernel
  assert(rawequal(k, r.kernel))
  k:close()
  local anew = r.kernel
  assert(not rawequal(k, anew) and rawequal(anew, r.kernel))
  local a, b = ts.tensor("float32", { 4, 4 }, "random", 1),
               ts.tensor("float32", { 4, 4 }, "random", 2)
  local c, d = ts.tensor("float32", { 4, 4 }), ts.tensor("float32", { 4, 4 })
  anew(a, b, c)
  r, k = nil, nil
  collectgarbage()
  collectgarbage()
  anew(a, b, d)                        -- it lives on without the result
  assert(c:compare(d) == 0)
end
