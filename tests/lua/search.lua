-- SPDX-License-Identifier: Apache-2.0
-- Modules, spaces and the search from Lua: what modules may do and what they
-- may not, strategies and cost models in Lua, progress, the database.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local fails = checks.fails
local ops = require "tessera.ops"

local p = ops.matmul { m = 32, n = 32, k = 32, bias = true, relu = true }

local function module(name, apply, defaults)
  return ts.module { name = name, apply = apply, defaults = defaults }
end

local function sketches(list)
  return ts.space.sketches(ts.space.compose(list), p, "llvm")
end

-- The order of the visits: root first, consumers before producers.
do
  local order = {}
  sketches { module("visit", function(sch, block)
    order[#order + 1] = sch:block_info(block).name
    return nil, "only looking"
  end) {} }
  assert(table.concat(order, " ") == "root relu biased C",
         table.concat(order, " "))
end

-- Parameters; nil and an error discard what was done; several schedules go
-- on as sketches of their own; explain says what happened where.
do
  local seen
  local m = module("several", function(sch, block, q)
    seen = q
    local name = sch:block_info(block).name
    if name == "relu" then
      sch:parallel((sch:get_loops(block)))
      return nil, "changed its mind"
    elseif name == "biased" then
      sch:parallel((sch:get_loops(block)))
      error "lost its way"
    elseif name ~= "C" then
      return nil
    end
    local other = sch:copy()
    local i = sch:get_loops(block)
    sch:split(i, { ts.auto, q.factor })
    other:parallel((other:get_loops(block)))
    return { sch, other }
  end, { factor = 8 })
  local list = sketches { m { factor = 4 } }
  assert(seen.factor == 4 and #list == 2)
  assert(tostring(list[1]):find("split", 1, true) and
         tostring(list[2]):find("parallel", 1, true))
  for _, t in ipairs(list) do
    local text = tostring(t:replay(p))
    assert(ts.equivalent(t:replay(p), p))
    assert(select(2, text:gsub("parallel", "")) <= 1)
  end
  local why = ts.space.compose { m {} }:explain(p, "llvm")
  assert(why:find("changed its mind", 1, true), why)
  assert(why:find("lost its way", 1, true), why)
  -- A line of what is explained stays one, whatever is in it.
  local lines = ts.space.compose {
    module("of two\nlines", function() return nil, "first\r\nsecond" end) {},
    module("refused", function(sch)
      sch:compute_inline(sch:get_block("C"))
    end) {} }:explain(p, "llvm")
  for line in lines:gmatch "[^\n]*" do
    assert(line == "" or line:find("^of two; lines at %w+: not applicable: " ..
                                   "first; second$") or
           line:find("^refused at %w+: failed: .*search.lua:%d+: " ..
                     "compute_inline: ") and not line:find "range", line)
  end
  -- A schedule of something else, and an error that cannot be said.
  local function said(apply)
    return ts.space.compose { module("odd", apply) {} }:explain(p, "llvm")
  end
  why = said(function()
    return ts.schedule(ops.matmul { m = 8, n = 8, k = 8 })
  end)
  assert(why:find("odd at C: failed: it gave a schedule of another program",
                  1, true), why)
  why = said(function()
    error(setmetatable({}, { __tostring = function() error "worse" end }))
  end)
  assert(why:find("odd at C: failed: ", 1, true), why)
  fails(nil, "no parameter 'fcator'", m, { fcator = 1 })
  fails(nil, "needs its parameters", ts.space.compose, { m })
  fails(nil, "table of parameters, not number", m, 1)
  -- A field of another type is named; those with a default may be left out.
  local function nothing() end
  for field, bad in pairs { name = 1, defaults = 2, apply = "3", check = 4 } do
    local given = { name = "x", defaults = {}, apply = nothing }
    given[field] = bad
    local e = fails(nil, "ts.module takes", ts.module, given)
    assert(e.message:find(field .. " is " .. type(bad) .. ", not a ", 1,
                          true), e)
  end
  fails(nil, "apply is nil", ts.module, { name = "x" })
  fails(nil, "not nil", ts.module)
  fails(nil, "there is no field 'chek'", ts.module,
        { name = "x", apply = nothing, chek = nothing })
  fails(nil, "there is no field '1'", ts.module,
        { "x", name = "x", apply = nothing })
  assert(ts.module { name = "x", apply = nothing, check = nothing } {})
end

-- Warnings go to a function, once the call is done that gave them; what it does
-- with them is its affair, be it an error or a call that warns, too.
do
  local told = {}
  local function broken(name)
    return module(name, function() error(name .. " broke", 0) end)
  end
  local function take(text)
    told[#told + 1] = text
    sketches { broken "again" {} } -- its warning goes to stderr
    error "this goes to stderr"
  end
  assert(ts.on_warning(take) == nil)
  local c = coroutine.wrap(function() return sketches { broken "first" {} } end)
  assert(#c() == 1)
  sketches { broken "first" {}, broken "second" {} }
  local all = table.concat(told, "\n")
  for _, name in ipairs { "first", "second" } do
    local _, times = all:gsub(name .. " failed at block ", "")
    assert(times > 0 and all:find(name .. " broke", 1, true), all)
  end
  assert(not all:find("again", 1, true), all)
  assert(not all:find("warning", 1, true), all)
  fails(nil, "must be a function, not number", ts.on_warning, 1)
  assert(ts.on_warning(nil) == take and ts.on_warning(nil) == nil)
  local n = #told
  sketches { broken "third" {} }
  assert(#told == n)
end

-- Memory that runs out in a module, Lua's or the engine's, is said to have
-- run out, and is not the module's failure.
do
  local function greedy() return io.open("/dev/null"):read(1 << 60) end
  local function greedy_tensor()
    return ts.tensor("float32", { 1 << 30, 1 << 26 })
  end
  local _, e = pcall(greedy_tensor)
  assert(e.code == "NOMEM", tostring(e))
  for _, apply in ipairs { greedy, greedy_tensor } do
    e = fails(nil, "applying module greedy at block root: out of memory",
              sketches, { module("greedy", apply) {} })
    assert(e.code == "NOMEM")
    e = fails(nil, "the scheduling function: out of memory", ts.tune, p,
              { space = function() return apply() end })
    assert(e.code == "NOMEM")
  end
end

-- A parameter that makes no sense is named, with what would.
do
  local tiling = require "modules.multi_level_tiling"
  local letters = "parameter 'structure' is '%s': its letters are S"
  for _, case in ipairs {
    { { structure = "XYZ" }, letters:format "XYZ" },
    { { structure = "" }, letters:format "" },
    { { structure = "SSr" }, letters:format "SSr" },
    { { structure = 7 }, letters:format "7" },
    { { write_levels = { 1, 9 } }, "parameter 'write_levels[2]' is '9': " ..
      "levels are 1 to 2, the S that structure 'SSRSRS' starts with" },
    { { write_levels = { 3 } }, "'write_levels[1]' is '3': levels are 1 to 2" },
    { { write_levels = { 1.5 } }, "'write_levels[1]' is '1.5'" },
    { { write_levels = 2 }, "'write_levels' is '2': it is a list of levels" },
    { { structure = "RS", write_levels = { 1 } },
      "levels are none, since structure 'RS' starts with no S" },
    { { structure = "S", pack = true }, "'pack' is 'true': structure 'S' has" },
    { { pack = 1 }, "parameter 'pack' is '1': it is true or false" },
    { { max_innermost_factor = 0 }, "it is an integer from 1 on" },
    { { max_innermost_factor = 1.5 }, "it is an integer from 1 on" },
    { { max_innermost_factor = "8" }, "it is an integer from 1 on" },
  } do
    fails(nil, "module 'multi_level_tiling': ", tiling, case[1])
    fails(nil, case[2], tiling, case[1])
  end
  -- A float with an integer's value is one.
  local given = { 1.0 }
  local floats = tiling { max_innermost_factor = 32.0, write_levels = given }
  assert(math.type(floats.params.max_innermost_factor) == "integer")
  assert(math.type(floats.params.write_levels[1]) == "integer" and
         math.type(given[1]) == "float")
  assert(#ts.space.sketches(ts.space.compose { floats }, p, "llvm") == 2)
  -- The levels to write at are those that the structure has.
  for structure, n in pairs { S = 2, SS = 3, R = 1, RS = 1, SRS = 2,
                              SSRSRS = 3 } do
    local space = ts.space.compose { tiling { structure = structure } }
    local why = space:explain(p, "llvm")
    local noun = n == 1 and "schedule" or "schedules"
    assert(why:find(("C: applied, %d %s"):format(n, noun), 1, true), why)
    assert(#ts.space.sketches(space, p, "llvm") == n)
  end
end

-- Reading a sampled value in a module records a guard: a replay in which it
-- differs is refused.
do
  local list = sketches { module("reads", function(sch, block)
    if sch:block_info(block).name ~= "C" then return nil end
    local i = sch:get_loops(block)
    local u = sch:sample_categorical({ 2, 4 }, { 0.5, 0.5 })
    if sch:get(u) == 2 then sch:parallel(i) else sch:unroll(i) end
    return sch
  end) {} }
  assert(#list == 1)
  local t, at, guards = list[1], nil, 0
  for n = 1, #t do
    if t[n].name == "sample_categorical" then at = n end
    if t[n].name == "guard" then guards = guards + 1 end
  end
  assert(at and guards == 1)
  assert(t[at].decision == nil, "a sketch's decisions are open")
  local refused = 0
  for d = 0, 1 do
    local chosen = t:with_decision(at, d)
    local ok, e = pcall(chosen.replay, chosen, p)
    if not ok then
      assert(e.code == "REFUSED" and e.primitive == "guard")
      refused = refused + 1
    end
  end
  assert(refused == 1)
end

-- Modules are deterministic: math.random raises, pairs goes in order.
do
  local keys
  local why = ts.space.compose { module("random", function(sch, block)
    if sch:block_info(block).name ~= "root" then return nil end
    keys = {}
    for k in pairs { zeta = 1, alpha = 2, [3] = 3, [1] = 1, mid = 4 } do
      keys[#keys + 1] = tostring(k)
    end
    return math.random() and sch
  end) {} }:explain(p, "llvm")
  assert(why:find("sch:sample_", 1, true), why)
  assert(table.concat(keys, " ") == "1 3 alpha mid zeta",
         table.concat(keys, " "))
  assert(math.random() < 1)                    -- elsewhere it works
end

-- So it is for what a file took at its head, and for what that reaches; the
-- state is as it was before and after.
do
  local pairs, next, random = pairs, next, math.random
  local helpers = { pick = function() return (random(1, 8)) end }
  local function explain(apply)
    return ts.space.compose { module("captured", function(sch, block)
      if sch:block_info(block).name ~= "C" then return nil end
      return apply(sch, block)
    end) {} }:explain(p, "llvm")
  end
  local odd = { zeta = 1, alpha = 2, [3] = 3, [1] = 1, [true] = 5, mid = 4 }
  local order = {}
  local function add(k) order[#order + 1] = tostring(k) end
  explain(function(sch)
    for k in pairs(odd) do add(k) end
    for k in next, odd do add(k) end
    local k = next(odd, "alpha")
    add(k)
    add(next(odd, true) == nil)
    -- What is removed on the way does not come.
    local few = { a = 1, b = 2, c = 3 }
    for key in pairs(few) do
      few.b = nil
      add(key)
    end
    return sch
  end)
  assert(table.concat(order, " ") == "1 3 alpha mid zeta true " ..
         "1 3 alpha mid zeta true mid true a c", table.concat(order, " "))
  local why = explain(function(sch) return helpers.pick() and sch end)
  assert(why:find("sch:sample_", 1, true), why)
  -- Random variables are ordered as they were made, objects by their text;
  -- what has none has no order.
  order = {}
  local named = {}
  for i = 9, 1, -1 do
    named[setmetatable({}, { __tostring = function() return "k" .. i end })] =
      i
  end
  explain(function(sch, block)
    local loops = { sch:get_loops(block) }
    local numbers = {}
    for i = #loops, 1, -1 do numbers[loops[i]] = i end
    for _, i in pairs(numbers) do add(i) end
    for _, i in pairs(named) do add(i) end
    return sch
  end)
  assert(table.concat(order, " ") == "1 2 3 1 2 3 4 5 6 7 8 9",
         table.concat(order, " "))
  for _, made in ipairs { function() return {} end,
                          function() return function() end end } do
    why = explain(function(sch)
      for _ in pairs { [made()] = 1, [made()] = 2 } do end
      return sch
    end)
    assert(why:find("keys that are of type " .. type(made()), 1, true), why)
  end
  why = explain(function(sch) return next({ a = 1 }, "b") or sch end)
  assert(why:find("invalid key to 'next'", 1, true), why)
  assert(pairs == _G.pairs and next == _G.next and random == math.random)
  assert(random() < 1 and next { [{}] = 1, [{}] = 2 })
  -- What was taken while a module ran is ordinary afterwards.
  local kept
  explain(function(sch)
    kept = { pairs = _G.pairs, random = math.random }
    return sch
  end)
  assert(kept.random() < 1)
  for _ in kept.pairs { [{}] = 1, [{}] = 2 } do end
end

-- What comes with Tessera gives the same sketches in a fresh state.
do
  local spaces = require "modules.spaces"
  local listed = {}
  for _, name in ipairs(spaces.modules) do
    listed[name] = true
    local why
    local ok, e = pcall(function()
      why = ts.space.check({ require("modules." .. name) {} }, p, "llvm")
    end)
    assert(ok and why == true, name .. ": " .. tostring(e))
  end
  assert(ts.space.check(ts.space.default "llvm", p, "llvm"))
  -- Every file of modules/ is listed.
  local folder = package.searchpath("modules.auto_inline", package.path)
                        :match("^(.*)/")
  local f = assert(io.popen("ls '" .. folder .. "'"))
  for file in f:lines() do
    local name = file:match("^(.*)%.lua$")
    assert(not name or name == "spaces" or listed[name],
           file .. " is not in spaces.modules")
  end
  f:close()
  -- A module that depends on when it runs is found out.
  local count = 0
  local drifting = module("drifting", function(sch, block)
    if sch:block_info(block).name ~= "C" then return nil end
    count = count + 1
    sch:split((sch:get_loops(block)), { ts.auto, 1 << count })
    return sch
  end)
  local same, where = ts.space.check({ drifting {} }, p, "llvm")
  assert(same == false and where:find("sketch 1", 1, true), where)
  -- Also where it does so only now and then.
  count = 0
  local rarely = module("rarely", function(sch, block)
    if sch:block_info(block).name ~= "C" then return nil end
    count = count + 1
    sch:split((sch:get_loops(block)), { ts.auto, count > 3 and 4 or 2 })
    return sch
  end)
  assert(ts.space.check({ rarely {} }, p, "llvm") == false)
  -- And one that a file makes, in the third fresh state that reads it.
  local base = os.tmpname()
  local file = assert(io.open(base .. ".lua", "w"))
  file:write(([[
    local ts, log = require "tessera", assert(io.open(%q, "a"))
    log:write "*"
    local times = log:seek()
    log:close()
    return ts.module { name = "worn", apply = function(sch, block)
      if sch:block_info(block).name ~= "C" then return nil end
      sch:split((sch:get_loops(block)), { ts.auto, times > 3 and 4 or 2 })
      return sch
    end } ]]):format(base))
  file:close()
  local folder, name = base:match("^(.*)/([^/]*)$")
  local path = package.path
  package.path = folder .. "/?.lua;" .. path
  same, where = ts.space.check({ require(name) {} }, p, "llvm")
  package.path, package.loaded[name] = path, nil
  os.remove(base)
  os.remove(base .. ".lua")
  assert(same == false and where:find("ts.auto, 4", 1, true), where)
end

-- Spaces: by hand, of traces, joined.
do
  local hand = ts.space.by_hand(function(sch)
    local i = sch:get_loops(sch:get_block("C"))
    sch:split(i, { sch:sample_perfect_tile(i, { n = 2 }) })
  end)
  local list = hand:sketches(p, "llvm")
  assert(#list == 1)
  local given = ts.space.traces(list)
  assert(#given:sketches(p, "llvm") == 1)
  local other = ts.space.by_hand(function(sch)
    sch:parallel((sch:get_loops(sch:get_block("C"))))
  end)
  -- Equal sketches are one.
  assert(#ts.space.union { hand, given, other }:sketches(p, "llvm") == 2)
  assert(tostring(hand) == "space")
end

-- A list of modules is a space wherever one is taken, and so is a function.
do
  local function tile(sch)
    sch:split((sch:get_loops(sch:get_block("C"))), { ts.auto, 4 })
  end
  local function in_parallel(sch, block)
    if sch:block_info(block).name ~= "C" then return nil, "not C" end
    sch:parallel((sch:get_loops(block)))
    return sch
  end
  local m = module("in_parallel", in_parallel)
  local list = { m {} }
  local one = ts.space.sketches(list, p, "llvm")
  assert(#one == 1 and tostring(one[1]):find("sch:parallel", 1, true))
  assert(ts.space.explain(list, p, "llvm") ==
         ts.space.compose(list):explain(p, "llvm"))
  assert(ts.space.explain(list, p):find("in_parallel at C: applied", 1, true))
  assert(#ts.space.sketches(tile, p) == 1)
  assert(#ts.space.union { list, tile, list }:sketches(p) == 2)
  assert(ts.space.check(list, p))
  for _, f in ipairs { ts.space.sketches, ts.space.explain } do
    fails(nil, "a space is expected, not a number", f, 1, p)
    fails(nil, "entry 1: module 'in_parallel' needs its parameters", f, { m },
          p)
    fails(nil,
          "a space is a list of modules: write module 'in_parallel' in braces",
          f, m {}, p)
  end
  fails(nil, "a list of spaces", ts.space.union, 1)
  fails(nil, "a space is expected, not a number", ts.space.union, { list, 1 })
end

-- Ctrl-C, which Lua tells of by an error in whatever runs then, ends the run
-- with the best so far, and is no failure of a module's or a strategy's.
do
  local function interrupt() error "interrupted!" end
  fails(nil, "cancelled", sketches, { module("stopped", interrupt) {} })
  local o = { target = "llvm", trials = 6, seed = 1, min_time = 0.005,
              batch = 3 }
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
local options = { target = "llvm", trials = 6, seed = 1, min_time = 0.005,
                  batch = 3 }
local function with(more)
  local o = {}
  for k, v in pairs(options) do o[k] = v end
  for k, v in pairs(more) do o[k] = v end
  return o
end

do
  local told = {}
  local r = ts.tune(p, with {
    strategy = "replay", cost_model = "random",
    progress = function(q) told[#told + 1] = q end })
  assert(r.status == "OK" and r.trials == 6 and r.failed == 0)
  assert(r.latency > 0 and r.gflops > 0 and #r.curve == 6)
  for i = 2, 6 do assert(r.curve[i] <= r.curve[i - 1]) end
  assert(#told == 6 and told[6].trials == 6 and told[6].max_trials == 6)
  assert(told[6].best == r.curve[6] and #told[6].text > 0)
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
  for _, name in ipairs { "min_time", "timeout", "deadline" } do
    fails(nil, "option '" .. name .. "' is -1, not a time", ts.tune, p,
          { [name] = -1 })
    fails(nil, "option '" .. name .. "' is ", ts.tune, p, { [name] = 0 / 0 })
    fails(nil, "option '" .. name .. "' is inf", ts.tune, p, { [name] = 1 / 0 })
  end
  fails(nil, "no memory for the tensors of 'matmul': they take ", ts.tune,
        ops.matmul{ m = 1 << 26, n = 1 << 26, k = 1 << 26 }, { trials = 1 })
  fails(nil, "there is no strategy 'luck'", ts.tune, p,
        with { strategy = "luck" })
  fails(nil, "there is no cost model 'luck'", ts.tune, p,
        with { cost_model = "luck" })
end

do
  local other = ops.matmul { m = 8, n = 8, k = 8 }
  fails(nil, "a schedule of another program", ts.tune, p,
        with { space = function() return ts.schedule(other) end })
end

-- A space that does nothing measures the program as it is.
do
  local r = ts.tune(p, with { space = {} })
  assert(r.status == "OK" and r.trials == 1 and #r.trace == 0)
end

-- A strategy and a cost model of one's own.
do
  local observed, predicted, updated = {}, 0, 0
  local strategy = ts.strategy {
    propose = function(self, session, n)
      assert(session:sketches() >= 1 and session:unit() < 1)
      local list = {}
      for i = 1, n do
        local c = self.best and session:mutate(self.best) or session:draw()
        if not c then break end
        list[#list + 1] = c
      end
      local score = session:predict(list)
      assert(#score == #list)
      return list
    end,
    observe = function(self, session, candidates)
      for _, c in ipairs(candidates) do
        observed[#observed + 1] = c
        assert(session:seen(c))
        if c.status == "OK" and (not self.best or
                                 c.seconds < self.best.seconds) then
          self.best = c
        end
      end
    end,
  }
  local model = ts.cost_model {
    predict = function(_, _, candidates)
      predicted = predicted + #candidates
      local score = {}
      for i, c in ipairs(candidates) do score[i] = -#c.decisions - c.sketch end
      return score
    end,
    update = function(_, _, candidates) updated = updated + #candidates end,
  }
  local r = ts.tune(p, with { strategy = strategy, cost_model = model })
  assert(r.status == "OK" and #observed == 6 and updated == 6)
  assert(predicted >= 6)
  assert(observed[1].sketch >= 1 and #observed[1].decisions > 0)
  local e = fails(nil, "out of ideas", ts.tune, p, with {
    strategy = ts.strategy { propose = function() error "out of ideas" end } })
  assert(e)
  -- What they return is looked at.
  local function proposing(f)
    return ts.tune, p, with { strategy = ts.strategy { propose = f } }
  end
  fails(nil, "what propose returns must be a table, not number",
        proposing(function() return 7 end))
  fails(nil, "a candidate must be a table",
        proposing(function() return { 7 } end))
  fails(nil, "the decisions of a candidate must be a table",
        proposing(function() return { {} } end))
  local function predicting(f)
    return ts.tune, p, with { cost_model = ts.cost_model { predict = f } }
  end
  fails(nil, "what predict returns must be a table, not nil",
        predicting(function() end))
  fails(nil, "predict returned 0 scores for",
        predicting(function() return {} end))
  fails(nil, "a score must be a number, not string",
        predicting(function(_, _, c)
          local score = {}
          for i = 1, #c do score[i] = "high" end
          return score
        end))
  -- Parents are looked at, whatever their decisions say.
  local spoilt = 0
  fails(nil, "enough", proposing(function(_, session)
    local c = session:draw()
    local bad = { { 1000000000 }, { -1 }, { -5, 3 }, { math.maxinteger },
                  { 4, 1, 2 }, { 0, 0, 1 }, { math.mininteger, 1 } }
    for _, d in ipairs(bad) do
      local x = { sketch = c.sketch, decisions = d }
      fails(nil, "is not the length of an entry", session.mutate, session, x)
      fails(nil, "is not the length of an entry", session.cross, session, x, x)
      fails(nil, "is not the length of an entry", session.cross, session, c, x)
      assert(session:seen(x) == false)
      spoilt = spoilt + 1
    end
    for _, k in ipairs { -1, 0, 1 << 32, (1 << 32) + 1, 1 << 40 } do
      local x = { sketch = k, decisions = c.decisions }
      fails(nil, ("'sketch' is %d, outside of"):format(k), session.mutate,
            session,
            x)
    end
    fails(nil, "there is none at 4294967295", session.cross, session,
          { sketch = (1 << 32) - 1, decisions = {} }, c)
    -- Entries that are not those of the sketch are mended, or refused.
    session:cross({ sketch = c.sketch, decisions = { 0, 0 } }, c)
    error "enough"
  end))
  assert(spoilt == 7)
  -- What is proposed in vain is dropped and counted; what comes twice is
  -- measured once.
  local measured = 0
  local r = ts.tune(p, with { batch = 6, strategy = ts.strategy {
    propose = function(_, session)
      local c = session:draw()
      return { c, { sketch = c.sketch, decisions = { 1, 2, 3 } }, c,
               { sketch = 99, decisions = {} }, c }
    end,
    observe = function(_, _, list) measured = measured + #list end } })
  assert(r.trials == 6 and measured == 6)
  local function count(what)
    return tonumber(r.funnel:match("(%d+)  " .. what)) or 0
  end
  assert(count("proposed, but there is no sketch of its number, counted from 1 "
    .. "%(for example 99%)") >= 3, r.funnel)
  assert(count "proposed, but refused by sample_[%a_]+: " >= 5, r.funnel)
  assert(count "valid, but there before" >= 6, r.funnel)
  -- Many candidates may be predicted at once.
  local many
  fails(nil, "enough", proposing(function(_, session)
    local list = {}
    for i = 1, 4000 do list[i] = session:draw() end
    many = #list > 3000 and #session:predict(list) == #list
    error "enough"
  end))
  assert(many)
  fails(nil, "ts.strategy takes", ts.strategy, {})
  fails(nil, "ts.strategy takes", ts.strategy)
  fails(nil, "ts.cost_model takes", ts.cost_model, {})
  fails(nil, "ts.cost_model takes", ts.cost_model, 7)
  -- A field is misspelt, or no function; what else they hold is their own.
  local function nothing() end
  for make, f in pairs { [ts.strategy] = { "propose", "observe" },
                         [ts.cost_model] = { "predict", "update" } } do
    local good = { [f[1]] = nothing, [f[2]] = nothing, rate = 0.1 }
    assert(make(good) == good)
    fails(nil, f[1] .. " is number, not a function", make, { [f[1]] = 7 })
    fails(nil, f[2] .. " is table, not a function", make,
          { [f[1]] = nothing, [f[2]] = {} })
    fails(nil, "there is no field 'obzerve'", make,
          { [f[1]] = nothing, obzerve = nothing })
  end
  -- So is a table that was made by hand, once.
  local plain = {}
  fails(nil, "propose is nil, not a function", ts.tune, p,
        with { strategy = plain })
  fails(nil, "there is no field 'upd'", ts.tune, p,
        with { cost_model = { predict = nothing, upd = nothing } })
  function plain.propose(self, session)
    self.helper = nothing
    return { session:draw() }
  end
  for _ = 1, 2 do
    assert(ts.tune(p, with { trials = 1, strategy = plain }).trials == 1)
  end
end

-- Every function of a session has a page and a declaration.
do
  local reference = require "tessera.reference"
  local stubs = reference.stubs()
  local methods
  fails(nil, "enough", ts.tune, p, with { strategy = ts.strategy {
    propose = function(_, session)
      methods = getmetatable(session).__index
      error "enough"
    end } })
  local n = 0
  for name in pairs(methods) do
    n = n + 1
    assert(reference.page("session:" .. name), name)
    assert(stubs:find("function Session:" .. name .. "(", 1, true), name)
    assert(reference.page("session"):find("`session:" .. name .. "(", 1, true))
  end
  assert(n == 7)
  for _, name in ipairs { "strategy", "cost_model" } do
    assert(reference.page("ts." .. name):find(name == "strategy" and
           "`propose`" or "`predict`", 1, true))
    assert(stubs:find("function ts." .. name .. "(", 1, true))
    assert(reference.index():find("ts." .. name, 1, true))
  end
  assert(reference.page("candidate"):find("`decisions`", 1, true))
  assert(load(stubs))
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
  assert(r.status == "OK" and r.workload == "matmul_bias_relu" and
         #r.target > 0 and #r.policy > 0 and #r.engine > 0)
  local t = db:trace(r.id)
  assert(ts.equivalent(t:replay(), p))       -- it is bound to its program
  assert(#db:records(2) == 2)
  fails(nil, "no record", db.trace, db, 1000000)
  db:close()
  for _, end_ in ipairs { "", "-wal", "-shm" } do os.remove(path .. end_) end
end
