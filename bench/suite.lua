-- SPDX-License-Identifier: Apache-2.0
-- Tunes one row of the operator suite for bench/suite, or lists the rows:
--   tessera bench/suite.lua --rows
--   tessera bench/suite.lua FOLDER ROW THREADS TRIALS SEED
-- Writes FOLDER/best.program, scheduled, FOLDER/naive.ll, the LLVM IR of the
-- unscheduled loops, and FOLDER/row.json: the operator with its options, by
-- which peers are called, and what the search found.
local ts = require "tessera"
local ops = require "tessera.ops"

local rows = {}
local function row(name, make)
  rows[#rows + 1] = { name = name, make = make }
end

for _, name in ipairs(ops.suite_names()) do
  for i = 1, 4 do
    if pcall(ops.suite, name, i) then
      row(("%s-%d"):format(name, i), function() return ops.suite(name, i) end)
    end
  end
end
for _, n in ipairs { 512, 1024, 2048 } do
  row("sgemm-" .. n, function()
    local o = { m = n, n = n, k = n }
    return ops.matmul(o), "matmul", o
  end)
end
row("int8-gemm", function()
  local o = { m = 1024, n = 1024, k = 1024, dtype = "int8", acc = "int32" }
  return ops.matmul(o), "matmul_int8", o
end)
row("3mm", function() return ops.polybench("3mm", "LARGE"), "3mm", {} end)
for _, name in ipairs { "lu", "cholesky" } do
  row(name, function()
    return ops.polybench(name, "LARGE"), name, { n = 2000 }
  end)
end

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

-- Weights are constants, for peers as for us: what lays them out runs
-- beforehand.
local placeholder = ts.placeholder
function ts.placeholder(tensor, shape, dtype, options)
  if tensor == "W" and not options then options = { role = "layout_free" } end
  return placeholder(tensor, shape, dtype, options)
end
local program, operator, options = chosen.make()
ts.placeholder = placeholder

local target = ts.target("llvm -num-cores=" .. threads)
local result = ts.tune(program, {
  target = target, trials = tonumber(trials), seed = tonumber(seed),
})
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
