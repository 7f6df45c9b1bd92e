-- SPDX-License-Identifier: Apache-2.0
-- ts.tune on a user's own tensors: what is taken, what is refused, and that
-- candidates are checked on them.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local searching = dofile((arg[0]:gsub("[^/]*$", "../support/searching.lua")))
local fails, with = checks.fails, searching.with

local function gather(options)
  local A = ts.placeholder("A", { 8 })
  local B = ts.placeholder("B", { 5 }, "int32", options)
  return ts.program("g", { A, B }, { ts.compute("C", { 5 }, function(i)
    return A(B(i))
  end) })
end
local function indices(t) return ts.tensor("int32", { #t }, t) end
local a = ts.tensor("float32", { 8 }, "random")

-- With and without the outputs; a database tells other contents apart.
do
  local path = os.tmpname()
  os.remove(path)
  local p, b = gather(), indices { 1, 2, 3, 7, 0 }
  for _, inputs in ipairs { { a, b }, { a, b, ts.tensor("float32", { 5 }) } } do
    local r = ts.tune(p, with { inputs = inputs, database = path, trials = 3 })
    assert(r.status == "OK" and r.failed == 0 and r.trials == 3)
  end
  local db = ts.database(path)
  assert(db:records {}.total == 3 and #db:records { limit = 0 } == 0)
  fails("INVALID", "the number of records must be at least 0, not -1",
        db.records, db, { limit = -1 })
  fails("INVALID", "not -2", db.records, db, -2)
  ts.tune(p, with { inputs = { a, indices { 1, 1, 1, 1, 1 } }, trials = 3,
                    database = path })
  ts.tune(p, with { trials = 3, database = path })
  local policies = {}
  for _, r in ipairs(db:records {}) do policies[r.policy] = true end
  local n = 0
  for policy in pairs(policies) do
    n = n + (policy:find "inputs=%x+$" and 1 or 10)
  end
  assert(n == 12, n)
  for _, end_ in ipairs { "", "-wal", "-shm" } do os.remove(path .. end_) end
end

-- Candidates see these contents: what is infinite is told of.
do
  local few = { 1, 2, math.huge, 4, 5, 6, 7, 8 }
  local r = ts.tune(gather(), with {
    inputs = { ts.tensor("float32", { 8 }, few), indices { 2, 0, 2, 1, 2 } },
    trials = 2, check = "all" })
  assert(r.status == "OK" and r.note:find(
    "3 of 5 elements of 'C' are infinite", 1, true), r.note)
end

-- What does not fit is refused in one line, before anything is compiled.
local function refused(code, text, inputs, options)
  fails(code, text, ts.tune, gather(options), with { inputs = inputs })
end
local b = indices { 1, 2, 3, 7, 0 }
refused("INVALID", "'g' takes 2 tensors, or 3 with its outputs, given 1", { a })
refused("INVALID", "given 0", {})
refused("TYPE", "'B' is int32[5], and the tensor given for it is float32[8]",
        { a, a })
refused("TYPE", "'B' is int32[5], and the tensor given for it is int32[6]",
        { a, ts.tensor("int32", { 6 }) })
refused("TYPE", "argument 2: expected a tensor, got number", { a, 3 })
refused("TYPE", "'inputs' is the number 3, not a table", 3)
refused("INVALID", "element 4 of 'B', which is 9, is not what the buffer is " ..
        "declared to hold", { a, indices { 1, 2, 3, 7, 9 } },
        { range = { 0, 8 } })
refused("INVALID", "element 3 of 'B', which is 2",
        { a, indices { 1, 2, 3, 2, 0 } }, { range = { 0, 8 }, unique = true })
-- Nothing is declared: the program is interpreted on them.
for _, wrong in ipairs { 8, -1, 9000000 } do
  refused("INVALID", ("index 0 of A is %d, its extent is 8"):format(wrong),
          { a, indices { 1, 2, 3, 7, wrong } })
end
