-- SPDX-License-Identifier: Apache-2.0
-- Built-in strategies from Lua: options by name, mutators, what measures, and
-- who is told of measured batches.
local ts = require "tessera"
local reference = require "tessera.reference.pages"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

local function twice(m, n)
  local A = ts.placeholder("A", { m, n })
  local B = ts.compute("B", { m, n }, function(i, j) return A(i, j) * 2 end)
  return ts.program("twice", { A }, { B })
end
local p = twice(64, 48)

-- 4 * 4 * 3 * ... candidates: two tiles and a choice.
local function by_hand(sch)
  local b = sch:get_block "B"
  local i, j = sch:get_loops(b)
  local _, i1 = sch:split(i, { sch:sample_perfect_tile(i, 2, 64) })
  sch:split(j, { sch:sample_perfect_tile(j, 2, 64) })
  sch:annotate(i1, "pragma_auto_unroll_max_step",
               sch:sample_categorical({ 0, 16, 64 }))
  return sch
end

local function with(o)
  o.space, o.seed, o.kernel_threads = by_hand, o.seed or 1, 1
  o.cost_model = o.cost_model or "forest"
  o.trials, o.batch = o.trials or 60, o.batch or 10
  return o
end

local function fails(pattern, f, ...)
  local ok, e = pcall(f, ...)
  local text = ok and "no error" or type(e) == "table" and e.message or e
  assert(not ok and text:find(pattern, 1, true), text)
end

-- Least at the tiles 8 x 8 and 12 x 4, and the last choice.
local function time_of(_, c)
  local d = c.decisions
  local off = math.abs(math.log(d[2] / 8, 2)) +
              math.abs(math.log(d[5] / 12, 2)) + 2 - d[8]
  return 1e-3 * (1 + off)
end

-- ---- a function that measures ----------------------------------------------

-- 7 tiles of 64, 10 of 48, 3 choices; or 4 of 8, 6 of 12.
do
  local q, all = p, 210
  if checks.checked then q, all = twice(8, 12), 72 end
  for _, s in ipairs(ts.strategies()) do
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
  for k, s in ipairs(ts.strategies()) do
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

-- ---- mutators --------------------------------------------------------------

-- A mutator alone is asked, and what it makes is proposed; one that is wrong
-- ends the run.
do
  local asked = 0
  local function run(mutate, most)
    return ts.tune(p, with {
      seed = 5, trials = most or 30, measure = time_of,
      strategy = { name = "evolutionary", population_size = 32, eps_greedy = 0,
                   genetic_cross_prob = 0, genetic_mutate_prob = 1, mutators = {
        mutate_tile_size = 0, mutate_unroll = 0, mutate_parallel = 0,
        mine = { probability = 1, mutate = mutate } } } })
  end
  run(function(session, c)
    asked = asked + 1
    assert(session:unit() < 1 and #c.decisions == 8)
    c.decisions[8] = 2
    c.decisions[2] = 3 -- no divisor: it is repaired
    return c
  end)
  assert(asked > 50)
  run(function() return nil end, 20)
  fails("out of ideas", run, function() error "out of ideas" end)
  for text, given in next, {
    ["has 3 decisions, not 1"] = { sketch = 1, decisions = { 1, 0 } },
    ["has 3 decisions, not 0"] = { sketch = 1, decisions = {} },
    ["is not the length of an entry"] = { sketch = 1, decisions = { 1, 0, 9 } },
    ["there is none at 99"] = { sketch = 99, decisions = {} },
    ["a candidate"] = 7,
  } do
    local ok, e = pcall(run, function() return given end)
    assert(not ok and e.message:find("mutator 'mine': ", 1, true) == 1 and
           e.message:find(text, 1, true), tostring(e))
  end
end

-- A mutator of the built-in ones alone changes what its name says: children
-- have the tiles, or the choice, of a member of the generation before.
do
  local function alone(mutator, kept, space, changed)
    local calls, before, children, new = 0, nil, 0, 0
    local only = { mutate_tile_size = 0, mutate_unroll = 0,
                   mutate_parallel = 0, mutate_choice = 0 }
    only[mutator] = 1
    local o = with {
      seed = 7, trials = 30,
      measure = space and function() return 1e-3 end or time_of,
      strategy = { name = "evolutionary", population_size = 16, eps_greedy = 0,
                   genetic_mutate_prob = 1, genetic_cross_prob = 0,
                   genetic_num_iters = 1, init_min_unmeasured = 8,
                   mutators = only },
      cost_model = ts.cost_model { predict = function(_, _, list)
        local score, now = {}, {}
        calls = calls + 1
        for i, c in ipairs(list) do
          local d = c.decisions
          local key = "kept " .. kept(d)
          local other = "changed " .. changed(d)
          score[i] = space and 0 or -time_of(nil, c)
          now[key], now[other] = true, true
          if calls % 2 == 0 then
            assert(before[key], mutator)
            children = children + 1
            if not before[other] then new = new + 1 end
          end
        end
        before = now
        return score
      end } }
    o.space = space or o.space
    ts.tune(p, o)
    assert(children > 20 and (new > 0 or not space), mutator)
  end
  local function tiles(d) return table.concat(d, " ", 1, 6) end
  local function choice(d) return d[8] end
  alone("mutate_unroll", tiles, nil, choice)
  alone("mutate_tile_size", choice, nil, tiles)

  -- What a choice is annotated by says which mutator it is of.
  local many = {}
  for i = 1, 40 do many[i] = i end
  local function annotated(sch)
    local b = sch:get_block "B"
    for _, key in ipairs { "cooperative_fetch", "vector_bytes",
                           "unroll_explicit", "mine" } do
      sch:annotate(b, key, sch:sample_categorical(many))
    end
    return sch
  end
  local function values(...)
    local at = { ... }
    return function(d)
      local v = {}
      for i, k in ipairs(at) do v[i] = d[2 * k] end
      return table.concat(v, " ")
    end
  end
  alone("mutate_tile_size", values(3, 4), annotated, values(1, 2))
  alone("mutate_unroll", values(1, 2, 4), annotated, values(3))
  alone("mutate_choice", values(1, 2, 3), annotated, values(4))
end

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
