-- SPDX-License-Identifier: Apache-2.0
-- Built-in strategies from Lua: options by name, what measures, and who is told
-- of measured batches.
local ts = require "tessera"
local reference = require "tessera.reference.pages"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local two_tiles = dofile((arg[0]:gsub("[^/]*$", "../support/two_tiles.lua")))
local twice, p, with = two_tiles.twice, two_tiles.program, two_tiles.with
local time_of, fails = two_tiles.time_of, two_tiles.fails

-- Those that need no text, as the command of a process.
local alone = {}
for _, s in ipairs(ts.strategies()) do
  local last = s.options[#s.options]
  if not (last and last.words == "") then alone[#alone + 1] = s end
end

-- ---- a function that measures ----------------------------------------------

-- 7 tiles of 64, 10 of 48, 3 choices; or 4 of 8, 6 of 12.
do
  local q, all = p, 210
  if checks.checked then q, all = twice(8, 12), 72 end
  for _, s in ipairs(alone) do
    local seen, told = {}, 0
    local r = ts.tune(q, with {
      strategy = s.name, trials = 1000, seed = 3,
      measure = function(session, c)
        local key = table.concat(c.decisions, " ")
        assert(session:program(c), s.name)
        -- The first one twice: the function is exact.
        assert(not seen[key] or not next(seen, next(seen)), s.name)
        seen[key] = true
        return time_of(session, c)
      end,
      measured = function(session, list)
        assert(session:seen(list[1]))
        for _, c in ipairs(list) do assert(c.seconds == time_of(nil, c)) end
        told = told + #list
      end })
    -- All of them, and the best is named.
    assert(r.trials == all and told == all and r.exhausted, s.name)
    assert(tostring(r):find("; the space seems exhausted", 1, true), s.name)
    assert(math.abs(r.latency - 1e-3) < 1e-9, s.name)
    assert(#s.summary > 0 and reference.page(s.name):find(s.summary:sub(2), 1,
                                                          true))
    for _, o in ipairs(s.options) do
      assert(reference.page(s.name):find("`" .. o.name .. "`", 1, true))
    end
  end
end

-- Products of two choices give fewer programs than decisions: each is measured
-- once, and the strategy, which has no more to propose then, learns all.
do
  local hashes, results = {}, {}
  local function draw(self, session, n)
    local list = {}
    for _ = 1, 8 * n do
      local c = #list < n and session:draw()
      if c and not session:seen(c) then list[#list + 1] = c end
    end
    return list
  end
  local function observe(self, session, list)
    for _, c in ipairs(list) do
      local hash = session:program(c):hash()
      results[#results + 1] = c.seconds
      assert(c.status == "OK" and c.seconds == hashes[hash])
    end
  end
  local r = ts.tune(p, {
    trials = 40, batch = 8, seed = 1,
    strategy = ts.strategy { propose = draw, observe = observe },
    space = function(sch)
      local _, j = sch:get_loops(sch:get_block "B")
      local a = sch:sample_categorical { 1, 2, 4 }
      local b = sch:sample_categorical { 1, 2, 4 }
      sch:split(j, { ts.auto, a * b })
    end,
    measure = function(session, c)
      local hash = session:program(c):hash()
      hashes[hash] = hashes[hash] or 1e-3 * (1 + #results)
      return hashes[hash]
    end,
    measured = function(session, list)
      for _, c in ipairs(list) do hashes[#hashes + 1] = c.seconds end
    end })
  assert(r.trials == 5 and #hashes == 5 and #results == 9 and r.exhausted)
  assert(r.funnel:find "4  proposed, but equal to a measured program", r.funnel)
end

-- What fails is recorded, and an error ends the run.
do
  local n, number = 0, {}
  local r = ts.tune(p, with { trials = 20, measure = function(_, c)
    local key = table.concat(c.decisions, " ")
    if not number[key] then n = n + 1 end
    number[key] = number[key] or n
    if number[key] % 2 == 0 then return nil, "TIMEOUT" end
    return time_of(nil, c)
  end })
  assert(r.trials == 20 and r.failed == 10)
  fails("no idea", ts.tune, p, with { measure = function()
    error "no idea"
  end })
  fails("measure must give seconds", ts.tune, p, with {
    measure = function() return nil, "LATE" end })
  fails("measure gave both seconds and 'TIMEOUT'", ts.tune, p, with {
    measure = function() return 1e-3, "TIMEOUT" end })
  fails("gave -1, not a time in seconds", ts.tune, p, with {
    measure = function() return -1 end })
  fails("no more", ts.tune, p, with {
    measure = time_of, measured = function() error "no more" end })
  fails("'measure' is the number 7", ts.tune, p, with { measure = 7 })
end

-- The least of noisy readings is a lucky one: the best so far and the finalists
-- are read again, so that the winner is good, and its time what it takes.
for seed = 1, 10 do
  local random, read = seed, 0
  local function noise()
    random = random * 1103515245 + 12345 & 0x7fffffff
    return (random >> 8) / 0x7fffff
  end
  local r = ts.tune(p, with {
    trials = 150, seed = seed, strategy = "replay",
    measure = function(_, c)
      read = read + 1
      return time_of(nil, c) * (0.7 + 0.6 * noise())
    end })
  local d = {}
  for k = 1, #r.trace do
    local own = r.trace[k].decision
    if own then
      table.move({ #own, table.unpack(own) }, 1, #own + 1, #d + 1, d)
    end
  end
  local is = time_of(nil, { decisions = d })
  assert(read > 150 and read < 250, read)
  assert(math.abs(r.latency / is - 1) < 0.15, r.latency / is)
end

-- A database keeps such times apart from those of this machine, and a run goes
-- on from them.
do
  local path = os.tmpname()
  os.remove(path)
  local function go(trials, strategy)
    local n = 0
    local r = ts.tune(p, with { trials = trials, database = path,
                                strategy = strategy, measure = function(_, c)
      n = n + 1
      return time_of(nil, c)
    end })
    return r, n
  end
  go(30, "replay")
  for k, s in ipairs(alone) do
    local r, n = go(30 + 10 * k, s.name)
    assert(r.trials == 30 + 10 * k and n >= 11 and n <= 12, s.name)
  end
  for _, end_ in ipairs { "", "-wal", "-shm" } do os.remove(path .. end_) end
end

-- Times of different functions are not compared, unless they have one name.
do
  local path = os.tmpname()
  os.remove(path)
  local function go(f, more)
    local o = with { trials = 12, database = path, measure = f,
                     strategy = "replay" }
    for k, v in pairs(more or {}) do o[k] = v end
    ts.tune(p, o)
    return #ts.database(path):records()
  end
  local function on(board, scale)
    scale = scale or 1
    return function(_, c) return time_of(board, c) * #board * scale end
  end
  assert(go(function(_, c) return time_of(nil, c) end) == 12)
  assert(go(function(_, c) return 2 * time_of(nil, c) end) == 24)
  assert(go(on "a") == 36 and go(on "a") == 36 and go(on "bb") == 48)
  assert(go(on("bb", 3)) == 60)
  assert(go(on "a", { measure_name = "both" }) == 72)
  assert(go(on "bb", { measure_name = "both" }) == 72)
  local policies = {}
  for _, r in ipairs(ts.database(path):records()) do
    policies[r.policy] = (policies[r.policy] or 0) + 1
  end
  assert(policies["v1 measure=function name=both"] == 12)
  local runs = ts.database(path):runs()
  assert(runs[1].transfer == true)
  go(on "a", { transfer = false, trials = 14 })
  runs = ts.database(path):runs()
  assert(runs[#runs].transfer == false and
         runs[#runs].policy == runs[3].policy)
  for _, end_ in ipairs { "", "-wal", "-shm" } do os.remove(path .. end_) end
  fails("is the name of the option 'measure'", ts.tune, p,
        with { measure_name = "x" })
  fails("'measure_name' is the number 7", ts.tune, p,
        with { measure = time_of, measure_name = 7 })
  fails("'measure_name' is empty", ts.tune, p,
        with { measure = time_of, measure_name = "" })
  fails("'measure_name' is empty", ts.tune_tasks, { p },
        with { measure = time_of, measure_name = "" })
end

-- A strategy that proposes nothing.
do
  local r = ts.tune(p, with { measure = time_of, strategy = ts.strategy {
    propose = function() return {} end } })
  assert(r.exhausted and r.trials == 0 and r.trace == nil)
  assert(r.message:find("the strategy 'lua' proposed no candidate", 1, true),
         r.message)
end

-- ---- options ---------------------------------------------------------------

do
  local function try(strategy)
    return ts.tune(p, with { trials = 12, strategy = strategy,
                             measure = time_of })
  end
  assert(try { name = "annealing", chains = 8, steps = 5 }.trials == 12)
  assert(try { name = "annealing", temperature = 0.5 }.trials == 12)
  assert(try "annealing:chains=8,steps=5".trials == 12)
  assert(try { name = "evolutionary", population_size = 16,
               mutators = { mutate_unroll = 1, mutate_tile_size = 0 } })
  fails("there is no strategy 'luck'", try, { name = "luck" })
  fails("has no option 'chaims'", try, { name = "annealing", chaims = 8 })
  fails("is '8.5', not an integer", try, { name = "annealing", chains = 8.5 })
  fails("is given twice", try, "annealing:chains=8,steps=5,chains=4")
  fails("is a function, not a number or a word", try,
        { name = "annealing", chains = print })
  fails("a strategy has no option '1'", try, { name = "annealing", 8 })
  fails("has no option 'mutate_all'", try,
        { name = "evolutionary", mutators = { mutate_all = 1 } })
  fails("'mutators' of a strategy is a table", try,
        { name = "evolutionary", mutators = 7 })
  fails("mutator 'mine' takes", try,
        { name = "evolutionary", mutators = { mine = { probability = 1 } } })
end

-- ---- what is refused -------------------------------------------------------

-- A candidate where a list of them is meant, or another table that is none.
do
  local function proposing(f)
    return { trials = 4, strategy = ts.strategy { propose = f } }
  end
  fails("what propose returns must be a list of candidates, not a table " ..
        "with the field '", ts.tune, p, with(proposing(function(_, session)
    return session:draw()
  end)))
  for _, call in ipairs { "features", "predict" } do
    fails("what " .. call .. " takes must be a list of candidates", ts.tune, p,
          with(proposing(function(_, session)
      session[call](session, session:draw(), "per_store")
    end)))
  end
  fails("mutator 'own': its probability is -1", ts.tune, p, with {
    strategy = { name = "evolutionary", mutators = {
      own = { probability = -1, mutate = print } } } })
  fails("gave 1e+09, not a time in seconds from 1e-10 to 31622400", ts.tune, p,
        with { trials = 4, measure = function() return 1e9 end })
end

-- Errors that are tables without __tostring say what their field message does.
do
  local function raise() error { message = "out of ideas" } end
  local r = ts.tune_tasks({ p }, with { trials = 4, strategy = function()
    return { propose = raise }
  end })
  assert(r[1].message == "out of ideas", r[1].message)
  r = ts.tune_tasks({ p }, with { trials = 4, cost_model = function()
    return { predict = raise }
  end })
  assert(r[1].message == "out of ideas", r[1].message)
  local space = { ts.module { name = "raising", apply = raise } {} }
  local text = ts.space.explain(space, p)
  assert(text:find "out of ideas", text)
  local said
  local was = ts.on_warning(function(line) said = line end)
  r = ts.tune(p, with { trials = 2, postprocs = { raise } })
  ts.on_warning(was)
  assert(said:find "out of ideas" and not r.trace, said)
end
