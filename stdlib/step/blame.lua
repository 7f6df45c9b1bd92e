-- SPDX-License-Identifier: Apache-2.0
-- Which decisions of a trace cost time: each is replaced by what else it could
-- be, and the programs are timed in turns.
local decisions = require "tessera.step.decisions"

local KNOWN = { time = true, alternatives = true, rounds = true }

-- How many alternatives are listed at most, of which some are tried.
local LISTED = 64

-- What times a program, in seconds.
local function timer(time)
  return function(program)
    local t = time(program)
    if type(t) ~= "number" or not (t > 0) then
      error("stepper:blame: 'time' gives seconds above 0, not " .. tostring(t),
            0)
    end
    return t
  end
end

local function checked(o)
  if type(o) ~= "table" then
    error("stepper:blame takes a table of options", 4)
  end
  for k in pairs(o) do
    if not KNOWN[k] then
      error(("stepper:blame: there is no option '%s'"):format(tostring(k)), 4)
    end
  end
  for _, k in ipairs { "alternatives", "rounds" } do
    local v = o[k]
    if v ~= nil and (math.type(v) ~= "integer" or v < 1 or v > LISTED) then
      error(("stepper:blame: '%s' is an integer from 1 to %d"):format(k,
            LISTED), 4)
    end
  end
  if o.time ~= nil and type(o.time) ~= "function" then
    error("stepper:blame: 'time' is a function of a program", 4)
  end
  return { alternatives = o.alternatives or 6, rounds = o.rounds or 5,
           time = timer(o.time or require("tessera.step.points").seconds) }
end

-- Up to `most` other decisions of the instruction that s stands behind, evenly
-- spread over those that are listed.
local function others(s, most)
  local current, list = s:decision(), {}
  for _, a in ipairs(s:alternatives(LISTED)) do
    if not decisions.equal(a.decision, current) then
      list[#list + 1] = a.decision
    end
  end
  if #list <= most then return list end
  local chosen = {}
  for i = 1, most do chosen[i] = list[(2 * i - 1) * #list // (2 * most) + 1] end
  return chosen
end

-- The program with that decision; nil where a later instruction does not apply
-- to it.
local function with(trace, program, k, decision)
  local ok, made = pcall(function()
    return trace:with_decision(k, decision):replay(program):program()
  end)
  return ok and made or nil
end

-- The alternative of instruction k that took the least time once.
local function fastest(trace, program, k, list, time)
  local best
  for _, decision in ipairs(list) do
    local made = with(trace, program, k, decision)
    local t = made and time(made)
    if t and (not best or t < best.once) then
      best = { instruction = k, name = trace[k].name,
               decision = trace[k].decision, alternative = decision,
               program = made, once = t }
    end
  end
  return best
end

-- Times both in turns: the ratio of each round, sorted.
local function ratios(base, made, o)
  local list = {}
  for round = 1, o.rounds do
    local t = o.time(base)
    list[round] = o.time(made) / t
  end
  table.sort(list)
  return list
end

-- s:blame([options]): for each decision the best alternative found, those that
-- save most first: instruction, name, what is decided ("tiles of i of C"),
-- decision, alternative, ratio (its time by that of the trace as it is, median
-- of the rounds), low and high (the least and the greatest of them).  options:
-- time(program) gives seconds (else it is built for this machine and run on
-- random inputs), how many alternatives of a decision are tried (6), and rounds
-- (5).
return function(s, options)
  local o = checked(options or {})
  local here, trace, found = s:position(), s:trace(), {}
  s:goto_(0)
  local program = s:program()
  s:goto_(s:size())
  local base = s:program()
  o.time(base)
  for k = 1, #trace do
    if trace[k].decision and #trace[k].decision > 0 then
      s:goto_(k)
      local best = fastest(trace, program, k, others(s, o.alternatives),
                           o.time)
      found[#found + 1] = best
    end
  end
  s:goto_(here)
  local labels = decisions.labels(trace)
  for _, f in ipairs(found) do
    f.what = labels[f.instruction]
    local r = ratios(base, f.program, o)
    f.ratio, f.low, f.high = r[(#r + 1) // 2], r[1], r[#r]
    f.program, f.once = nil, nil
  end
  table.sort(found, function(a, b)
    if a.ratio ~= b.ratio then return a.ratio < b.ratio end
    return a.instruction < b.instruction
  end)
  return found
end
