-- SPDX-License-Identifier: Apache-2.0
-- Tunes one row of the operator suite for bench/suite, or lists the rows:
--   tessera bench/suite.lua --rows
--   tessera bench/suite.lua FOLDER ROW THREADS TRIALS SEED
-- Without trials it is what untuned kernels run.  Writes FOLDER/best.program,
-- scheduled, FOLDER/naive.ll, the LLVM IR of the unscheduled loops, and
-- FOLDER/row.json: the operator with its options, by which peers are called,
-- and what the search found.
local ts = require "tessera"
local rows = dofile((arg[0]:gsub("[^/]*$", "suite/rows.lua")))

if arg[1] == "--rows" then
  for _, r in ipairs(rows) do print(r.name) end
  return
end

local folder, name, threads, trials, seed = table.unpack(arg)
assert(seed, "usage: suite.lua --rows | FOLDER ROW THREADS TRIALS SEED")
local chosen
for _, r in ipairs(rows) do chosen = r.name == name and r or chosen end
if not chosen then
  error(("there is no row '%s'; --rows lists them"):format(name), 0)
end

local program, operator, options = chosen.make()
local how = { target = ts.target("llvm -num-cores=" .. threads),
              seed = tonumber(seed) }
if trials == "0" then how.frozen = true else how.trials = tonumber(trials) end
local result = ts.tune(program, how)
local best = program
if result.trace then
  best = result.trace:replay(program):program()
else
  io.stderr:write(name, ": nothing valid was found:\n", result.funnel)
end
best:save(folder .. "/best.program")

local function write(file, text)
  local f <close> = assert(io.open(folder .. "/" .. file, "w"))
  f:write(text)
end
write("naive.ll", ts.build(program, "llvm -num-cores=1"):source "ir")

-- Numbers, booleans, words and lists of numbers as JSON.
local function json(v)
  if type(v) == "table" then return "[" .. table.concat(v, ",") .. "]" end
  return type(v) == "string" and '"' .. v .. '"' or tostring(v)
end

local fields = {}
for k, v in pairs(options) do
  fields[#fields + 1] = ('"%s": %s'):format(k, json(v))
end
table.sort(fields)
local flops = program:flops()
write("row.json", ('{"operator": "%s", "options": {%s}, "flops": %s, ' ..
                   '"trials": %d, "failed": %d, "found": %s}\n')
      :format(operator, table.concat(fields, ", "),
              flops and ("%.0f"):format(flops) or "null", result.trials,
              result.failed, tostring(result.trace ~= nil)))
