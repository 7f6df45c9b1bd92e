-- SPDX-License-Identifier: Apache-2.0
-- `tessera diff A B`: two traces by what they do: the first instruction in
-- which they differ, and the programs that they make.
local arguments = require "tessera.command.arguments"
local declared = require "tessera.command.declared"
local files = require "tessera.command.files"
local lines = require "tessera.step.lines"
local questions = require "tessera.step.questions"

-- A trace of a file or record, and the program that it makes.
local function load(name, program)
  local trace, bound = files.load_trace(name, program)
  if not program and not bound then
    arguments.usage("diff %s: a trace alone does not say what it schedules: " ..
                    "add --program FILE.lua", name)
  end
  local ok, made = pcall(trace.replay, trace, program)
  if not ok then files.blame(name, made) end
  local _, record = files.from_record(name)
  return { name = name, trace = trace, program = made:program(),
           seconds = record and record.seconds }
end

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
local function print_programs(a, b)
  local all = lines(tostring(a.program), tostring(b.program))
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

return function(args)
  local o, rest = arguments.parse(args, declared.kinds "diff")
  if #rest ~= 2 then
    arguments.usage "diff takes two, each a FILE (JSON or Lua) or DB:RECORD"
  end
  local program = o.program and files.run_description(o.program).program
  local a, b = load(rest[1], program), load(rest[2], program)
  print_first(a, b)
  print_programs(a, b)
  print_times(a, b)
  return 0
end
