-- SPDX-License-Identifier: Apache-2.0
-- Mutators of the strategy evolutionary: those in Lua, and which decisions each
-- of the built-in ones changes.
local ts = require "tessera"
local two_tiles = dofile((arg[0]:gsub("[^/]*$", "../support/two_tiles.lua")))
local p, with = two_tiles.program, two_tiles.with
local time_of, fails = two_tiles.time_of, two_tiles.fails

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
