-- SPDX-License-Identifier: Apache-2.0
-- Two traces by what they do: the first instruction in which they differ, the
-- lines of the programs that do, and how long those take.
local lines = require "tessera.step.lines"
local questions = require "tessera.step.questions"

local function print_first(a, b)
  local k, what = questions.first_difference(a.trace, b.trace)
  if not k then return print "the traces are equal" end
  print(("first difference: instruction %d, %s"):format(k, ({
    decision = "the decision", instruction = "what is done",
    ["end"] = "where one ends" })[what]))
  print("- " .. (k <= #a.trace and a.trace:lua(k) or "(the end)"))
  print("+ " .. (k <= #b.trace and b.trace:lua(k) or "(the end)"))
end

-- The lines that differ, each with one that stands before and behind.
local function print_programs(before, after)
  local all = lines(before, after)
  local function is_near(i)
    for k = i - 1, i + 1 do
      if all[k] and all[k][1] ~= " " then return true end
    end
  end
  local skipped = false
  for i, line in ipairs(all) do
    if is_near(i) then
      if skipped then print "  ..." end
      print(line[1] .. " " .. line[2])
    end
    skipped = not is_near(i)
  end
end

local function print_times(a, b)
  if not (a.seconds and b.seconds) then return end
  if a.seconds == math.huge or b.seconds == math.huge then return end
  print(("%.6g ms and %.6g ms: %s takes %.3f of the time of %s"):format(
    a.seconds * 1e3, b.seconds * 1e3, b.name, b.seconds / a.seconds, a.name))
end

-- The first instruction from k on behind which the programs are no longer the
-- same, and both: what is sampled changes nothing before it is used.
local function first_effect(a, b, k)
  local s, t = a.trace:stepper(a.unscheduled), b.trace:stepper(b.unscheduled)
  for at = k, math.min(#a.trace, #b.trace) do
    s:goto_(at)
    t:goto_(at)
    local before, after = tostring(s:program()), tostring(t:program())
    if before ~= after then return at, before, after end
  end
end

local function print_effect(a, b)
  local k = questions.first_difference(a.trace, b.trace)
  local ok, at, before, after = pcall(first_effect, a, b, k)
  if not ok or not at then return end
  print(("first effect: behind instruction %d, %s"):format(at,
                                                           a.trace:lua(at)))
  print_programs(before, after)
end

-- compare(a, b): prints it.  Each has name, trace, unscheduled, the program
-- that it schedules, program, what it makes, and seconds where they are known.
return function(a, b)
  print_first(a, b)
  if a.trace == b.trace then return end
  print_effect(a, b)
  print "the programs:"
  print_programs(tostring(a.program), tostring(b.program))
  print_times(a, b)
end
