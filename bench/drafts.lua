-- SPDX-License-Identifier: Apache-2.0
-- Records measured candidates of the operator suite's rows, by which the
-- constants of the cost model "analytic" are chosen (build/bench/analytic):
--   tessera bench/drafts.lua FILE COUNT [SEED [ROW,ROW..]]
-- Of each row a third of COUNT are those of 512 draws which the model prefers,
-- the others some of the rest.  Lines are those of bench/record.lua, times the
-- least of one thread.
local ts = require "tessera"
local here = arg[0]:gsub("[^/]*$", "")
local given = dofile(here .. "support/arguments.lua")
  "drafts.lua FILE COUNT [SEED [ROW,ROW..]]"
local recorder = dofile(here .. "support/recorder.lua")
local file, count = given.word(1, "FILE"), given.count(2, "COUNT", 96)
local seed, only = given.count(3, "SEED", 1), arg[4]
given.at_most(4)

local DRAWS, TARGET = 512, "llvm -num-cores=1"

-- Those that are to be measured.
local function choose(session)
  local list, known = {}, {}
  for _ = 1, DRAWS do
    local c = session:draw()
    local key = c and c.sketch .. ":" .. table.concat(c.decisions, ",")
    if c and not known[key] then
      known[key], list[#list + 1] = true, c
    end
  end
  local score, at = session:predict(list), {}
  for i = 1, #list do at[i] = i end
  table.sort(at, function(a, b) return score[a] > score[b] end)
  local best, rest = count // 3, count - count // 3
  local step = math.max(1, (#list - best) / rest)
  local chosen = {}
  for i = 1, math.min(best, #list) do chosen[i] = list[at[i]] end
  for i = 0, rest - 1 do
    local j = best + 1 + math.floor(i * step)
    if at[j] then chosen[#chosen + 1] = list[at[j]] end
  end
  return chosen
end

-- The least seconds of several runs; one is enough of what is long.
local function least(kernel, args)
  local t, limit = math.huge, os.clock() + 0.02
  repeat
    t = math.min(t, kernel:time(args, { min_time = 0.003 }).min)
  until os.clock() > limit
  return t
end

local out <close> = assert(io.open(file, "a"))

local function record(name, program)
  local sketches = ts.space.sketches(ts.space.default(TARGET), program, TARGET)
  recorder.begin(out, name, program, sketches)
  local args, list = recorder.arguments(program), nil
  local strategy = ts.strategy {
    propose = function(_, session, n)
      list = list or choose(session)
      local some = {}
      for _ = 1, math.min(n, #list) do
        some[#some + 1] = table.remove(list, 1)
      end
      return some
    end,
  }
  -- The best are asked for again.
  local known = {}
  local r = ts.tune(program, {
    target = TARGET, trials = count, seed = seed, batch = 8,
    strategy = strategy, cost_model = "analytic",
    space = ts.space.traces(sketches), measure_name = "least",
    measure = function(session, c)
      local d = table.concat(c.decisions, ",")
      local key = c.sketch .. ":" .. d
      if known[key] then return known[key] end
      local ok, t = pcall(function()
        return least(ts.build(session:program(c), TARGET), args)
      end)
      known[key] = ok and t or nil
      out:write(('{"sketch": %d, "d": [%s], "seconds": %s}\n'):format(
                c.sketch - 1, d, ok and ("%.4g"):format(t) or "null"))
      out:flush()
      return ok and t or error(t, 0)
    end,
  })
  io.stderr:write(name, ": ", tostring(r), "\n")
end

for _, row in ipairs(dofile(here .. "suite/rows.lua")) do
  if not only or ("," .. only .. ","):find("," .. row.name .. ",", 1, true) then
    record(row.name, (row.make()))
  end
end
