-- SPDX-License-Identifier: Apache-2.0
-- ts.tune_tasks: entries, equal programs, strategies of each, progress, errors,
-- and databases.
local ts = require "tessera"
local ops = require "tessera.ops"

local a = ops.matmul { m = 32, n = 32, k = 32 }
local b = ops.matmul { m = 64, n = 32, k = 32 }
local function o(more)
  local t = { trials = 8, batch = 2, seed = 1, min_time = 0.001,
              kernel_threads = 1 }
  for k, v in pairs(more or {}) do t[k] = v end
  return t
end

-- Results in the order of the programs; equal ones share theirs.
local rs = ts.tune_tasks({ a, { program = b, weight = 2, name = "tall" },
                           ops.matmul { m = 32, n = 32, k = 32 } }, o())
assert(#rs == 3 and rs.tasks == 2 and rs.trials == 8 and rs.failed == 0)
assert(rs.status == "OK" and rs.message == nil)
assert(rs[1] == rs[3] and rs[1] ~= rs[2] and rs[4] == nil and rs[0] == nil)
assert(math.abs(rs.latency - 2 * (rs[1].latency + rs[2].latency)) < 1e-12)
assert(rs[1].trials + rs[2].trials == 8)
assert(rs.funnel:find "8  measured: ok" and rs.ledger:find "in all")
assert(rs.table:find "tall" and tostring(rs):find "of 2 tasks")
assert(rs[2].kernel == rs[2].kernel and rs.nonsense == nil)

-- A strategy and a model for each task, made by functions.
local made = {}
local function own(program)
  made[#made + 1] = program
  return { propose = function(self, session, n)
    self.count = (self.count or 0) + n
    local list = {}
    for i = 1, n do list[i] = session:draw() end
    return list
  end }
end
local events = {}
rs = ts.tune_tasks({ a, b }, o {
  strategy = own, scheduler = "round_robin",
  progress = function(p)
    events[p.event] = (events[p.event] or 0) + 1
    assert(#p.tasks == 2 and p.tasks[p.task].name == p.name)
    assert(p.event == "round" == (p.trial == nil))
    assert(p.max_trials == 8 and p.text:find "trial ")
  end })
assert(#made == 2 and made[1] == a and made[2] == b)
assert(events.trial == 8 and events.round == 4 and events.compile >= 4)
assert(rs[1].trials == 4 and rs[2].trials == 4)

-- Ending early, and errors in functions of the script's.
rs = ts.tune_tasks({ a, b }, o { progress = function(p)
  return p.trials < 3
end })
assert(rs.status == "CANCELLED" and rs.trials == 3)
local boom = setmetatable({}, { __tostring = function() return "boom" end })
local ok, e = pcall(ts.tune_tasks, { a, b }, o { progress = function()
  error(boom)
end })
assert(not ok and e == boom)

-- A strategy that fails ends its own task: the result of that says why, and the
-- others go on.
rs = ts.tune_tasks({ { program = a, name = "first" }, b }, o {
  strategy = function(program)
    if program == b then return own(program) end
    return { propose = function() error(boom) end }
  end })
assert(rs[1].status == "CALLBACK" and rs[1].message == "boom" and
       rs[1].trials == 0)
assert(rs[2].status == "OK" and rs[2].trials == 8 and rs[2].message == nil)
assert(rs.status == "CALLBACK" and rs.message == "first: boom", rs.message)
rs = ts.tune_tasks({ a, b }, o { cost_model = function()
  return { predict = function(_, _, list)
    local scores = {}
    for i = 1, #list do scores[i] = i end
    return scores
  end, update = function() error "no idea\nat all" end }
end, strategy = "evolutionary" })
for i = 1, 2 do
  assert(rs[i].message:find "tasks.lua:%d+: no idea; at all$", rs[i].message)
  assert(rs[i].trials == 2 and rs[i].trace)
end

-- One that names nothing is told, too.
rs = ts.tune_tasks({ a }, o { strategy = {
  propose = function() return {} end } })
assert(rs.status == "NOT_FOUND" and
       rs[1].message:find "strategy 'lua' proposed no candidate", rs.message)

-- A budget of seconds alone has no limit of trials.
local unlimited
rs = ts.tune_tasks({ a }, { deadline = 0.3, batch = 2, min_time = 0.001,
  progress = function(p) unlimited = p.max_trials == nil end })
assert(unlimited ~= false and (rs.note or ""):find "deadline of 0.3 s" or
       rs[1].exhausted)

-- Records of all tasks in one database, which a second call takes up.
local path = os.tmpname()
os.remove(path)
rs = ts.tune_tasks({ a, b }, o { database = path })
local again = ts.tune_tasks({ a, b }, o { database = path })
assert(again.trials == 8 and again.funnel:find "0  candidates tried")
local records = ts.database(path):records()
assert(records.total == 8)

assert(not (again.note or ""):find "no trial", again.note)

-- Programs that are new to it get their first batch where records of others
-- have used the budget up: at most its share for each, and nothing else.
local c = ops.matmul { m = 16, n = 32, k = 32 }
local d = ops.matmul { m = 16, n = 16, k = 32 }
for _, scheduler in ipairs { "round_robin", "gradient" } do
  local copy = ts.database(path .. ".copy")
  copy:merge(path)
  copy:close()
  local most = 0
  rs = ts.tune_tasks({ a, c, b, d }, o {
    database = path .. ".copy", batch = 4, scheduler = scheduler,
    progress = function(p) most = math.max(most, p.max_trials) end })
  assert(rs.status == "OK" and rs.trials == 12 and most == 12, rs)
  assert(rs[1].trials + rs[3].trials == 8)
  assert(rs[2].trials == 2 and rs[4].trials == 2)
  for _, end_ in ipairs { "", "-wal", "-shm" } do
    os.remove(path .. ".copy" .. end_)
  end
end

-- What is taken without measuring is measured of tasks that get no batch, once:
-- records that know nothing of it do not stand against it.
do
  local drawn = os.tmpname()
  os.remove(drawn)
  local function tune(strategy, seed) -- another seed: the draft is a draw, too
    return ts.tune_tasks({ a, b }, o { database = drawn, strategy = strategy,
                                       seed = seed })
  end
  assert(tune("replay", 2).trials == 8)
  for _ = 1, 2 do
    rs = tune("hybrid", 1)
    assert(rs.trials == 10 and rs[1].trials + rs[2].trials == 10, rs)
  end
  local base = ts.database(drawn)
  assert(base:records().total == 10)
  base:close()
  for _, ending in ipairs { "", "-wal", "-shm" } do
    os.remove(drawn .. ending)
  end
end

-- Past the deadline nothing is timed again: the latency is one that is stored.
do
  local late, base = os.tmpname(), nil
  os.remove(late)
  local deadline = 0.25
  repeat -- until the machine had time for some
    deadline = 2 * deadline
    rs = ts.tune_tasks({ a, b }, { deadline = deadline, trials = 100000,
                                   seed = 3, min_time = 0.001,
                                   database = late })
    assert(rs.note:find(("the deadline of %g s ended the search"):format(
             deadline)), rs.note)
  until rs.trials > 0 or deadline > 8
  base = ts.database(late)
  for i, q in ipairs { a, b } do
    local best = base:best(q)
    assert(rs[i].latency == (best and best.seconds), tostring(rs[i]))
  end
  base:close()
  for _, ending in ipairs { "", "-wal", "-shm" } do
    os.remove(late .. ending)
  end
end

-- Frozen: what is stored, else a guess; nothing is measured.
rs = ts.tune_tasks({ a, { program = b, weight = 2 }, c, a }, {
  frozen = true, database = path,
  progress = function() error "it measures" end })
assert(rs.status == "OK" and rs.trials == 0 and rs.tasks == 3 and
       rs.latency == nil, rs)
local db = ts.database(path)
assert(rs[1].latency == db:best(a).seconds and rs[1] == rs[4])
assert(rs[2].latency == db:best(b).seconds and rs[2].note == nil)
assert(rs[3].latency == nil and rs[3].trace and rs[3].note:find "analytic")
assert(rs.note:find("task 3 'matmul' (16x32 32x32 -> 16x32): nothing is " ..
                    "stored", 1, true), rs.note)
assert(tostring(rs):find "not all are measured")
rs = ts.tune_tasks({ a, b }, { frozen = true, database = path })
assert(math.abs(rs.latency - rs[1].latency - rs[2].latency) < 1e-12)
assert(rs.note == nil and db:records().total == 8, rs.note)
db:close()
os.remove(path)

-- Nothing but failures is stored, and they use the budget up.
local fails = o { database = path .. ".f", measure_name = "never",
                  measure = function() return nil, "TIMEOUT" end }
for i = 1, 2 do
  rs = ts.tune_tasks({ a, b }, fails)
  assert(rs.status == "NOT_FOUND" and rs.trials == 8)
  local said = (rs.note or ""):find "nothing was tried: stored records, none"
  assert(not said == (i == 1), rs.note)
end
for _, end_ in ipairs { "", "-wal", "-shm" } do
  os.remove(path .. ".f" .. end_)
end

-- A budget that does not reach all of them.
rs = ts.tune_tasks({ a, { program = b, name = "tall" } }, o { trials = 1 })
assert(rs.status == "NOT_FOUND" and
       rs.note:find("tall: it got no trial: the other tasks used the budget up",
                    1, true), rs.note)
local count = 0
for i, r in pairs(rs) do
  count = count + 1
  assert(r == rs[i])
end
assert(count == 2)

-- What is told of tasks of one name has their numbers and shapes.
rs = ts.tune_tasks({ a, b }, o { strategy = function()
  return { propose = function() error "no" end }
end })
assert(rs.message:find("task 1 'matmul' (32x32 32x32 -> 32x32): ", 1, true) and
       rs.message:find("; task 2 'matmul' (64x32 32x32 -> 64x32): ", 1, true),
       rs.message)

-- One line each.
local function refused(says, ...)
  local good, err = pcall(ts.tune_tasks, ...)
  assert(not good, says)
  assert(err.message:find(says, 1, true), err.message)
  assert(not err.message:find "\n", err.message)
end
refused("a list of programs", {})
refused("a list of programs", a)
refused("task 2 is the number 7", { a, 7 })
refused("task 1 has no field 'wieght'", { { program = a, wieght = 2 } })
for _, own in ipairs { true, false } do
  local m = ts.cost_model "forest"
  refused("task 1 'matmul': its cost model is a built-in model object",
          { { program = a, cost_model = own and m or nil } },
          { cost_model = not own and m or nil })
end
refused("its field 'program' is missing", { { weight = 2 } })
refused("task 1 'matmul': its weight is \"x\", not a positive number",
        { { program = a, weight = "x" } })
for _, w in ipairs { -1, 0, 0 / 0, math.huge } do
  refused("task 2 'tall': its weight is " .. w .. ", not a positive number",
          { a, { program = b, name = "tall", weight = w } })
end
refused("task 1: its name is the number 3, not a text",
        { { program = a, name = 3 } })
refused("task 1: its name is \"\", not a text", { { program = a, name = "" } })
refused("task 2 'matmul': its space is \"default\", not a space",
        { a, { program = b, space = "default" } })
refused("task 1 'matmul': its space: a schedule module must be a table",
        { { program = a, space = { 3 } } })
refused("task 2 'again': its program and space are those of task 1, so they " ..
        "are one task, but its strategy is another",
        { { program = a, strategy = own(a) },
          { program = a, name = "again", strategy = own(a) } })
refused("an option of all tasks", { { program = a, target = "llvm" } })
refused("'scheduler' is \"greedy\"", { a }, { scheduler = "greedy" })
refused("'window_size' is 0, outside of 1 .. 1048576", { a },
        { window_size = 0 })
refused("'alpha' is 0, not a share", { a }, { alpha = 0 })
refused("'alpha' is 2", { a }, { alpha = 2 })
refused("unknown option 'trails'", { a }, { trails = 2 })
refused("warm_cache is of targets whose caches are cleared", { a },
        { target = "llvm", warm_cache = true })
refused("one table for 2 tasks", { a, b }, { strategy = own(a) })
refused("task 1 'matmul': the function that makes its strategy returned the " ..
        "number 3, not a table", { a }, { strategy = function() return 3 end })
refused("task 2 'tall': the function that makes its strategy returned nil",
        { a, { program = b, name = "tall" } }, { strategy = function(program)
  if program == a then return own(program) end
end })
refused("task 1 'matmul': the function that makes its cost model returned nil",
        { { program = a, cost_model = function() end } })
refused("there is no cost model 'guess'", { a }, { cost_model = "guess" })

-- Options of ts.tune that are for all tasks: what measures, who is told of it,
-- mutators, postprocessors.
do
  local measured, told, mutated = {}, 0, 0
  rs = ts.tune_tasks({ a, b }, o {
    trials = 24, batch = 4, cost_model = "forest", scheduler = "round_robin",
    postprocs = { "disallow_dynamic_loop" },
    strategy = { name = "evolutionary", population_size = 16, mutators = {
      mutate_tile_size = 0.1,
      own = { probability = 9, mutate = function(_, parent)
        mutated = mutated + 1
        return parent
      end } } },
    measure = function(session, candidate)
      local name = tostring(session:program(candidate)):match "A: [^,]*"
      measured[name] = (measured[name] or 0) + 1
      return 1e-3 + 1e-6 * #candidate.decisions
    end,
    measured = function(_, list) told = told + #list end,
  })
  assert(rs.status == "OK" and rs.trials == 24 and rs[1].trials == 12)
  assert(told == 24 and mutated > 0)
  local kinds, n = 0, 0
  for _, k in pairs(measured) do kinds, n = kinds + 1, n + k end
  -- Each asks for the first one twice, to see whether times vary.
  assert(kinds == 2 and n == 26)
  local ok, e = pcall(ts.tune_tasks, { a, b }, o {
    measure = function() error(boom) end })
  assert(not ok and e == boom)
  ok, e = pcall(ts.tune_tasks, { a }, o { postprocs = { "no such one" } })
  assert(not ok and tostring(e):find "entry 1")
end
