-- SPDX-License-Identifier: Apache-2.0
-- Strategies and cost models in Lua.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local searching = dofile((arg[0]:gsub("[^/]*$", "../support/searching.lua")))
local fails = checks.fails
local p, with = searching.program, searching.with

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
            session, x)
    end
    fails(nil, "there is none at 4294967295", session.cross, session,
          { sketch = (1 << 32) - 1, decisions = {} }, c)
    -- Other numbers of entries than the sketch has are refused: nothing could
    -- be mixed with an empty parent.  Entries that do not fit are mended.
    local at, open, odd = 1, {}, {}
    while at <= #c.decisions do
      open[#open + 1] = 0
      table.move({ 1, 7 }, 1, 2, #odd + 1, odd)
      at = at + 1 + c.decisions[at]
    end
    local less = table.move(open, 2, #open, 1, {})
    local more = table.move(open, 1, #open, 2, { 0 })
    for n, d in pairs { [0] = {}, [#less] = less, [#more] = more } do
      local x = { sketch = c.sketch, decisions = d }
      local says = ("has %d decisions, not %d"):format(#open, n)
      fails(nil, says, session.cross, session, c, x)
      fails(nil, says, session.cross, session, x, c)
      fails(nil, says, session.mutate, session, x)
      fails(nil, says, session.predict, session, { c, x })
    end
    session:cross({ sketch = c.sketch, decisions = open }, c)
    session:cross({ sketch = c.sketch, decisions = odd }, c)
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
  assert(count "proposed, but duplicates" >= 6, r.funnel)
  -- Many candidates may be predicted at once.
  local many
  fails(nil, "enough", proposing(function(_, session)
    local list, drawn = {}, checks.draws(4000)
    for i = 1, 4000 do
      list[#list + 1] = i <= drawn and session:draw() or list[i - drawn]
    end
    many = #list > 3000 and #session:predict(list) == #list
    error "enough"
  end))
  assert(many)
  fails(nil, "predict takes at most 4096 candidates, not 5000",
        proposing(function(_, session)
    local list, c = {}, session:draw()
    for i = 1, 5000 do list[i] = c end
    session:predict(list)
  end))
  fails(nil, "there is none at 99, counted from 1",
        proposing(function(_, session)
    session:predict { session:draw(), { sketch = 99, decisions = {} } }
  end))
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

-- Scores that are no numbers, as of a model that knows nothing yet, are worst:
-- what was asked about and is measured has a number.
do
  local score, judged = {}, 0
  local function key(c)
    return c.sketch .. ":" .. table.concat(c.decisions, " ")
  end
  local r = ts.tune(p, with {
    trials = 9, strategy = "evolutionary", cost_model = ts.cost_model {
      predict = function(_, _, candidates)
        local list = {}
        for i, c in ipairs(candidates) do
          list[i] = score[key(c)] or i % 4 == 0 and -1e305 * i or
                    i % 4 == 1 and -math.huge or 0 / 0
          score[key(c)] = list[i]
        end
        return list
      end,
      update = function(_, _, candidates)
        for _, c in ipairs(candidates) do
          local s = score[key(c)]
          assert(s == nil or s > -math.huge, "no score")
          judged = judged + (s and 1 or 0)
        end
      end } })
  assert(r.trials == 9 and judged >= 3, judged)
end

-- Every function of a session has a page and a declaration.
do
  local reference = require "tessera.reference.pages"
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
  assert(n == 10)
  for _, name in ipairs { "strategy", "cost_model" } do
    assert(reference.page("ts." .. name):find(name == "strategy" and
           "`propose`" or "`predict`", 1, true))
    assert(stubs:find("function ts." .. name .. "(", 1, true))
    assert(reference.index():find("ts." .. name, 1, true))
  end
  assert(reference.page("candidate"):find("`decisions`", 1, true))
  assert(load(stubs))
end
