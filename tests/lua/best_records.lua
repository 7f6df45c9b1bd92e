-- SPDX-License-Identifier: Apache-2.0
-- Which record is the best: only times that were measured in one way are
-- compared, and those of a function or of one's own inputs only where they are
-- asked for.
local ts, ops = require "tessera", require "tessera.ops"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local fails = checks.fails

local path = os.tmpname()
os.remove(path)
local function tune(p, o)
  o.database, o.seed, o.trials = path, o.seed or 1, not o.frozen and 3 or nil
  return ts.tune(p, o)
end
local p = ops.spmv { m = 16, n = 16, nnz = 256 }
local function name(policy) return { policy = policy } end

-- A function's time is far below what any machine can do, and stored last.
tune(p, { min_time = 0.001 })
tune(p, { measure = function() return 1e-9 end })
tune(p, { measure = function() return 2e-9 end, measure_name = "two" })
local db = ts.database(path)
local measured = db:best(p)
assert(measured.seconds > 1e-8 and
       measured.policy:find "^v2 min%-time=0.001 ", measured.policy)
local one = db:best(p, "llvm", { measure = true })
assert(one.policy == "v1 measure=function name=two" and
       one.seconds == 2e-9) -- the newest
assert(db:best(p, nil, { measure = "two" }).id == one.id)
local other = db:records { limit = 1 }[1]
assert(other.seconds == 1e-9 and
       db:best(p, nil, name(other.policy)).id == other.id)

-- Functions that captured a counter are not one: it is said once.
do
  local warned, n = {}, 0
  local before = ts.on_warning(function(text) warned[#warned + 1] = text end)
  local counted = ops.spmv { m = 16, n = 16, nnz = 64 }
  local function time() n = n + 1 return 1e-9 end
  tune(counted, { measure = time })
  assert(#warned == 0, warned[1])
  tune(counted, { measure = time })
  assert(#warned == 1 and warned[1]:find "another function 'measure'")
  tune(counted, { measure = time, measure_name = "counting" })
  assert(#warned == 1)
  ts.on_warning(before)
end

local none, why = db:best(p, nil, { measure = "three" })
assert(none == nil and why:find "measured by a function", why)
local q = ops.spmv { m = 16, n = 16, nnz = 128 }
tune(q, { measure = function() return 1e-9 end })
none, why = db:best(q)
assert(none == nil and why:find("which 'measure' asks for", 1, true), why)

-- Of several policies the newest counts, were it slower; any can be named.
db:add(select(2, db:best(p)), "llvm", "v2 other", { 1e-9 })
assert(db:best(p).id == measured.id) -- that was not compared
tune(p, { min_time = 0.002 })
local newest = db:best(p)
assert(newest.policy:find "min%-time=0.002 ")
assert(db:best(p, nil, name(measured.policy)).id == measured.id)

-- One's own inputs are other times.
local R = { 0 }
for i = 1, 16 do R[i + 1] = 16 * i end
local mine = { ts.tensor("float32", { 256 }, "integers", 1),
               ts.tensor("int32", { 256 }), ts.tensor("int32", { 17 }, R),
               ts.tensor("float32", { 16 }, "integers", 2) }
none, why = db:best(p, nil, { inputs = mine })
assert(none == nil and why:find "measured on these inputs", why)
tune(p, { min_time = 0.001, inputs = mine })
local own = db:best(p, nil, { inputs = mine })
assert(own.policy:find " inputs=%x+$")
assert(db:best(p).id == newest.id)
mine[4] = ts.tensor("float32", { 16 }, "integers", 3)
assert(db:best(p, nil, { inputs = mine }) == nil)
mine[4] = ts.tensor("float32", { 16 }, "integers", 2)

-- What is frozen is what a run with these options would have measured.
local function frozen(o)
  o.frozen = true
  return tune(p, o)
end
local f = frozen {}
assert(f.latency == newest.seconds)
assert(f.note == "of 2 policies of measuring, whose times are not " ..
       "comparable, this is the newest: " .. newest.policy, f.note)
f = frozen { min_time = 0.001 }
assert(f.latency == measured.seconds and f.note == nil)
assert(frozen { inputs = mine }.latency == own.seconds)
assert(frozen { min_time = 0.003 }.latency == newest.seconds)
assert(frozen { measure = print, measure_name = "two" }.latency == 2e-9)

fails("INVALID", "of a policy", db.best, db, p, nil,
      { policy = "v2", measure = true })
fails("INVALID", "without inputs", db.best, db, p, nil,
      { inputs = mine, measure = true })
fails(nil, "unknown option 'polcy'", db.best, db, p, nil, { polcy = "v2" })
fails(nil, "measure", db.best, db, p, nil, { measure = {} })
fails(nil, "", db.best, db, p, nil, { inputs = { mine[1] } })
db:close()
for _, ending in ipairs { "", "-wal", "-shm" } do os.remove(path .. ending) end
