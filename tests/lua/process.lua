-- SPDX-License-Identifier: Apache-2.0
-- The strategy "process": what it is told, what it may answer, and that
-- whatever else it does costs trials and nothing more.
local ts = require "tessera"
local read = require "tessera.lang.read_json"

-- ---- the process -----------------------------------------------------------

-- This file is it, too: what each of these gives for a request is its answer.
local answers = {}

local function write_line(text)
  io.write(text, "\n")
  io.flush()
end

-- All 210 candidates of the space below, in their order, from number `at` on.
function answers.all(task, said, state)
  local space, list = task.sketches[1].space, {}
  while #list < said.n and (state.at or said.known) < 210 do
    local at = state.at or said.known
    state.at = at + 1
    local function row(k)
      local values = space[k].values
      local i = at % #values + 1
      at = at // #values
      return ("[%s]"):format(table.concat(values[i], ","))
    end
    list[#list + 1] = ('{"sketch":1,"decisions":[%s,%s,%s]}'):format(
                        row(1), row(2), row(3))
  end
  return ('{"candidates":[%s]}'):format(table.concat(list, ","))
end

-- What it is told, into a file, and then the above.
function answers.log(task, said, state, line)
  local f = assert(io.open(arg[3], "a"))
  f:write(line, "\n")
  f:close()
  return answers.all(task, said, state)
end

local function quoted(s)
  return '"' .. s:gsub('[%c"\\]', function(c)
    return ("\\u%04x"):format(c:byte())
  end) .. '"'
end

-- The schedule of the task with other decisions, and one that the space does
-- not have.
function answers.traces(task)
  local known = task.sketches[1].trace
  known = known:gsub("decision = {%d+, %d+}", "decision = {16, 4}", 1)
  local new = [[
local b0 = sch:get_block{name = "B"}
local l1, l2 = sch:get_loops{block = b0}
local v3, v4 = sch:sample_perfect_tile{loop = l2, n = 2, decision = {12, 4}}
local l5, l6 = sch:split{loop = l2, factors = {v3, v4}}
sch:vectorize{loop = l6}
]]
  local by_hand = [[
local block = sch:get_block('B');
local i, j = sch:get_loops(block)
local outer, inner = sch:sample_perfect_tile(j, { n = 2, decision = {6, 8} })
local j0, j1 = sch:split(j, { outer, inner })
sch:vectorize(j1)
]]
  local function of(text) return ('{"trace":%s}'):format(quoted(text)) end
  return ('{"candidates":[%s,%s,%s,%s]}'):format(
           of(known), of(new), of(by_hand),
           of "sch:no_such_thing()")
end

-- Decisions that do not fit, mended; and what is no candidate.
function answers.odd(_, said)
  local list = {
    '{"sketch":1,"decisions":[[3,8],[48,1],[0]],"repair":true}',
    '{"sketch":1,"decisions":[[3,8],[48,1],[0]]}',
    '{"sketch":2,"decisions":[]}', '{"sketch":1.5,"decisions":[]}',
    '{"sketch":1,"decisions":[[64,1]]}', '{"sketch":1,"decisions":{}}',
    '{"sketch":1,"decisions":[[64,"1"],[48,1],[0]]}', '7', 'null',
    '{"sketch":1,"decisions":[[64,1],[48,1],9007199254740993]}',
    '{"trace":7}', '{"trace":"' .. ("("):rep(1000) .. '"}' }
  local some = table.concat(list, ",", 1, math.min(said.n, #list))
  return ('{"candidates":[%s]}'):format(some)
end

local function be_process()
  local task, state = nil, {}
  for line in io.lines() do
    local said = read(line)
    if said.type == "task" then task = said end
    if arg[2] == "log" and task == said then
      answers.log(task, { n = 0, known = 0 }, {}, line)
    end
    if task ~= said then
      write_line(answers[arg[2]](task, said, state, line))
    end
  end
end

if arg[1] == "process" then return be_process() end

-- ---- a space of 210 --------------------------------------------------------

local A = ts.placeholder("A", { 64, 48 })
local B = ts.compute("B", { 64, 48 }, function(i, j) return A(i, j) * 2 end)
local program = ts.program("twice", { A }, { B })

local function by_hand(sch)
  local b = sch:get_block "B"
  local i, j = sch:get_loops(b)
  local _, i1 = sch:split(i, { sch:sample_perfect_tile(i, 2, 64) })
  sch:split(j, { sch:sample_perfect_tile(j, 2, 64) })
  local steps = sch:sample_categorical({ 0, 16, 16 })
  sch:knob("steps", steps)
  sch:annotate(i1, "pragma_auto_unroll_max_step", steps)
  return sch
end

local function this(what, more)
  return ("'%s' '%s' process %s '%s'"):format(arg[-1], arg[0], what, more or "")
end

-- A run; how often it measured, and the names of what it measured.
local function run(command, o)
  o = o or {}
  local seen, n, again = {}, 0, 0
  local options = {
    space = by_hand, trials = 60, batch = 8, seed = 1, cost_model = "forest",
    strategy = { name = "process", command = command, timeout = 60 },
    measure = function(session, c)
      local key = tostring(session:trace(c))
      n = n + 1
      if seen[key] then again = again + 1 end
      assert(again <= 1, "measured twice") -- one is: whether times repeat
      seen[key] = true
      if o.time then return o.time(c) end
      return 1e-3 + 1e-6 * c.decisions[2]
    end }
  for k, v in pairs(o) do if k ~= "time" then options[k] = v end end
  return ts.tune(program, options), n, seen
end

local function count(result, what)
  local n = 0
  for line in result.funnel:gmatch "[^\n]+" do
    if line:find(what, 1, true) then n = n + tonumber(line:match "%d+") end
  end
  return n
end

-- ---- what it says is measured ----------------------------------------------

do
  local r, n = run(this "all", { trials = 1000 })
  assert(r.trials == 140 and r.exhausted and n == 141, r.trials)
  assert(count(r, "equal to a measured program") == 70, r.funnel)
  local waited = "the process that proposes"
  assert(r.ledger:find(waited, 1, true), r.ledger)
  r = run(nil, { strategy = "replay", trials = 4 })
  assert(not r.ledger:find(waited, 1, true), r.ledger)
end

-- What it is told.
do
  local path = os.tmpname()
  local r = run(this("log", path), { trials = 12, batch = 4, time = function(c)
    if c.decisions[2] == 1 then return nil, "TIMEOUT" end
    return 1e-3
  end })
  local said = {}
  for line in io.lines(path) do said[#said + 1] = read(line) end
  os.remove(path)
  local task = said[1]
  assert(task.type == "task" and task.version == 1 and task.trials == 12)
  assert(ts.parse(task.program):hash() == program:hash())
  assert(task.target:find "llvm" and task.seed == 1 and task.threads > 0)
  local sketch = task.sketches[1]
  assert(#task.sketches == 1 and sketch.sketch == 1 and #sketch.decisions == 3)
  assert(ts.trace.from_lua(sketch.trace, program))
  local tile, choice = sketch.space[1], sketch.space[3]
  assert(tile.kind == "tile" and tile.count == 7 and #tile.values == 7)
  assert(tile.what == "tiles of i of B" and tile.max_innermost_factor == 64)
  assert(choice.kind == "choice" and choice.name == "steps")
  assert(table.concat(choice.candidates, " ") == "0 16 16")
  assert(said[2].type == "propose" and said[2].n == 4 and #said[2].best == 0)
  assert(#task.hints == 0 and said[2].funnel.tried == 0)
  local later = said[3]
  assert(later.known > 0 and later.failed == 1)
  assert(later.best[1].seconds == 1e-3 and #later.best[1].decisions == 3)
  assert(ts.trace.from_lua(later.best[1].trace, program))
  local failed, good = 0, 0
  for _, x in ipairs(later.recent) do
    if x.status == "OK" then good = good + 1
    elseif x.status == "TIMEOUT" then failed = failed + 1 end
  end
  assert(failed == 1 and good == later.known - 1)
  assert(later.funnel.tried > 0 and r.failed >= 1)
end

-- Whole schedules, also those that the space does not have, once each.
do
  local r, _, seen = run(this "traces", { trials = 8, batch = 4 })
  local new = 0
  for text in pairs(seen) do
    if text:find "vectorize" then new = new + 1 end
  end
  assert(new == 2, new)
  assert(count(r, "trials lost to no candidate") == 2, r.funnel)
  assert(r.trials == 5 and r.failed == 2 and r.exhausted)
end

-- ---- what is of no use -----------------------------------------------------

do
  local r, n = run(this "odd", { trials = 12, batch = 12 })
  assert(n == 2 and r.trials == 12 and r.failed == 11, r.funnel)
  assert(count(r, "trials lost to no candidate") == 11, r.funnel)
  -- Each reason with how often.
  assert(r.funnel:find("the factors multiply to 24, .* %(at instruction %d"),
         r.funnel)
  assert(r.funnel:find("1  trials lost to no candidate: it is an integer",
                       1, true), r.funnel)
end

-- Each of these costs all of the trials; the process lives on.
for _, x in ipairs {
    { "echo nonsense", "malformed JSON" },
    { "echo '[]'", "it is an array, not an object with 'candidates'" },
    { "echo '{}'", "'candidates'" },
    { "echo", "malformed JSON" },
    { [[echo '{"candidates":7}']], "must be an array" },
    { [[printf '\377\n']], "malformed JSON" },
    { [[printf '{"candidates":[]}\000\n']], "" } } do
  local loop = ("read task; while read line; do %s; done"):format(x[1])
  local r = run(loop, { trials = 5, batch = 2 })
  local lost = r.funnel:match "trials lost to no candidate: ([^\n]*)"
  assert(r.trials == 5 and r.failed == 5 and lost, r.funnel)
  assert(lost:find(x[2], 1, true), lost)
end

-- Lost three times in a row the run ends, with what it found before, if
-- anything.
for _, x in ipairs {
    { "exit 3", "ended with status 3" },
    { "kill -9 $$", "was killed by signal 9" },
    { "/no/such/program", "ended with status 127" },
    { "exec sleep 100", "did not answer within 0.05 s" },
    { "printf '{\"candi'; exec sleep 100", "did not answer within" },
    { "exec <&- >&-; sleep 100", "closed its streams before it answered" },
    { "exec tr '\\0' x </dev/zero", "longer than 4194304 bytes" } } do
  local ok, e = pcall(run, x[1], { strategy = { name = "process",
    command = x[1], timeout = x[2]:find "did not answer" and 0.05 or 60 } })
  assert(not ok and e.message:find("was lost 3 times in a row", 1, true) and
         e.message:find(x[2], 1, true), ok or e.message)
end

-- One that is lost is started again, and goes on.
do
  local path = os.tmpname()
  local r = run(("test -s %s || { echo > %s; exit 1; }; exec %s"):format(
                  path, path, this "all"), { trials = 20, batch = 4 })
  os.remove(path)
  assert(r.trials == 20 and r.failed == 1, r.funnel)
  assert(r.funnel:find "ended with status 1 before it answered")
end

-- What it started ends with it.
do
  local path = os.tmpname()
  local r = run(("sleep 1000 & echo $! > %s; %s"):format(path, this "all"),
                { trials = 4, batch = 4 })
  local pid = io.open(path):read "l"
  os.remove(path)
  assert(r.trials == 4)
  local function runs()
    local f = io.open(("/proc/%s/stat"):format(pid))
    local text = f and f:read "a" or ") Z "
    if f then f:close() end
    return not text:find(") Z ", 1, true)
  end
  for _ = 1, 6000 do
    if not runs() then break end
    os.execute "sleep 0.01"
  end
  assert(not runs(), "it still runs")
end

-- ---- runs that go on -------------------------------------------------------

local function remove(path)
  for _, end_ in ipairs { "", "-wal", "-shm" } do os.remove(path .. end_) end
end

-- What is known is not measured again: of an earlier run, and of one that was
-- broken off.
for _, what in ipairs { "all", "traces" } do
  local path, seen, calls = os.tmpname(), {}, 0
  os.remove(path)
  local function go(trials, breaks)
    return pcall(run, this(what), { trials = trials, batch = 4, database = path,
      measure_name = "times", measure = function(session, c)
        local key = tostring(session:trace(c))
        calls = calls + 1
        if calls == breaks then error "broken off" end
        seen[key] = (seen[key] or 0) + 1
        return 1e-3
      end })
  end
  go(12)
  local n = calls
  assert(not go(40, n + 5) == (what == "all"))
  local ok, r = go(40)
  assert(ok and (what == "traces" or r.trials == 40), r)
  local twice = 0
  for _, k in pairs(seen) do twice = twice + k - 1 end
  -- Once a run whether times repeat, and the best of an earlier one.
  assert(twice <= 5, twice)
  remove(path)
end
