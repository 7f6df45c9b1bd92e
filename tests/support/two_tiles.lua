-- SPDX-License-Identifier: Apache-2.0
-- A program, a space of it of two tiles and a choice, and a function that says
-- how long each candidate takes, for tests of strategies.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

local function twice(m, n)
  local A = ts.placeholder("A", { m, n })
  local B = ts.compute("B", { m, n }, function(i, j) return A(i, j) * 2 end)
  return ts.program("twice", { A }, { B })
end

-- Of `program`, 7 tiles of 64, 10 of 48 and 3 choices.
local function by_hand(sch)
  local b = sch:get_block "B"
  local i, j = sch:get_loops(b)
  local _, i1 = sch:split(i, { sch:sample_perfect_tile(i, 2, 64) })
  sch:split(j, { sch:sample_perfect_tile(j, 2, 64) })
  sch:annotate(i1, "pragma_auto_unroll_max_step",
               sch:sample_categorical({ 0, 16, 64 }))
  return sch
end

-- The options of a search of that space.
local function with(o)
  o.space, o.seed, o.kernel_threads = by_hand, o.seed or 1, 1
  o.cost_model = o.cost_model or "forest"
  o.trials, o.batch = o.trials or 60, o.batch or 10
  return o
end

local function fails(text, f, ...) return checks.fails(nil, text, f, ...) end

-- Least at the tiles 8 x 8 and 12 x 4, and the last choice.
local function time_of(_, c)
  local d = c.decisions
  local off = math.abs(math.log(d[2] / 8, 2)) +
              math.abs(math.log(d[5] / 12, 2)) + 2 - d[8]
  return 1e-3 * (1 + off)
end

return { twice = twice, program = twice(64, 48), with = with,
         time_of = time_of, fails = fails }
