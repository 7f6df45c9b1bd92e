-- SPDX-License-Identifier: Apache-2.0
-- A strategy of one's own as a process, in any language: this file tunes a
-- product, and is the process, too, which searches around the best.
--   tessera examples/propose.lua [TRIALS]
local read = require "tessera.lang.read_json"
local json = require "tessera.lang.write_json"

-- One of the values that a decision of the task has.
local function any_value(sketch, k)
  local values = sketch.space[k].values
  return values[math.random(#values)]
end

-- Decisions that may not all fit: `repair` has the engine mend them.
local function candidate(sketch, decisions)
  return { sketch = sketch, decisions = decisions, ["repair"] = true }
end

-- The decisions, with one of them another: those behind it may not fit any
-- more.
local function neighbour(sketches, c)
  local decisions = { table.unpack(c.decisions) }
  local k = math.random(#decisions)
  for _, sketch in ipairs(sketches) do
    if sketch.sketch == c.sketch then decisions[k] = any_value(sketch, k) end
  end
  return candidate(c.sketch, decisions)
end

local function draw(sketches)
  local sketch, decisions = sketches[math.random(#sketches)], {}
  for k = 1, #sketch.space do decisions[k] = any_value(sketch, k) end
  return candidate(sketch.sketch, decisions)
end

local function propose()
  local task
  for line in io.lines() do
    local said = read(line)
    if said.type == "task" then
      task = said
      math.randomseed(task.seed)
    else
      local list = {}
      for i = 1, said.n do
        local hint = said.known == 0 and task.hints[i]
        local best = said.best[math.random(#said.best + 1)]
        list[i] = hint and candidate(hint.sketch, hint.decisions)
                  or best and neighbour(task.sketches, best)
                  or draw(task.sketches)
      end
      io.write(json.text { candidates = list }, "\n")
      io.flush()
    end
  end
end

if arg[1] == "propose" then return propose() end

local ts = require "tessera"
local ops = require "tessera.ops"
local result = ts.tune(ops.matmul { m = 64, n = 64, k = 64 }, {
  trials = math.tointeger(tonumber(arg[1])) or 64, batch = 4, seed = 1,
  min_time = 0.005,
  strategy = { name = "process", timeout = 60,
               command = ("'%s' '%s' propose"):format(arg[-1], arg[0]) } })
print(result)
print(result.funnel)
