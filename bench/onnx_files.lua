-- SPDX-License-Identifier: Apache-2.0
-- ONNX's own node cases from their files, each through interpreter, plain and
-- scheduled kernels.
--   bench/onnx_files/run [FOLDER [PATTERN]]
-- makes them by a pinned version of onnx, once, and runs
--   build/bin/tessera bench/onnx_files.lua FOLDER/cases [PATTERN]
-- (PATTERN: of cases' names, or an operator).  Prints a table by operator, why
-- cases do not run, and the figures node_cases_run and node_cases_passed.
local here = arg[0]:gsub("[^/]*$", "")
package.path = here .. "?.lua;" .. package.path
local run = require "onnx_files.run"

local folder, pattern = arg[1], arg[2]
if not folder then
  io.stderr:write("usage: onnx_files.lua FOLDER [PATTERN]\n")
  os.exit(2)
end
local data = dofile(folder .. "/cases.lua")

-- ---- all of them -----------------------------------------------------------

local rows, order, totals = {}, {}, { passed = 0, WRONG = 0, no = 0 }
for i, c in ipairs(data.cases) do
  local wanted = not pattern or c.name:find(pattern) or c.op == pattern
  if wanted then
    local status, why = run(c, folder)
    local row = rows[c.op]
    if not row then
      row = { passed = 0, WRONG = 0, no = 0, why = {} }
      rows[c.op], order[#order + 1] = row, c.op
    end
    row[status], totals[status] = row[status] + 1, totals[status] + 1
    if why then
      row.why[#row.why + 1] = ("%s %s: %s"):format(status, c.name, why)
    end
    if i % 50 == 0 then
      collectgarbage()
      io.stderr:write(("\r%d of %d"):format(i, #data.cases))
    end
  end
end
io.stderr:write("\r")
table.sort(order)
print("operator                       cases  passed  wrong  not run")
for _, op in ipairs(order) do
  local r = rows[op]
  print(("%-30s %5d  %6d  %5d  %7d"):format(op, r.passed + r.WRONG + r.no,
                                          r.passed, r.WRONG, r.no))
end
for _, op in ipairs(order) do
  for _, why in ipairs(rows[op].why) do io.stderr:write("  ", why, "\n") end
end
print(('{"figure": "node_cases_run", "value": %d, "unit": "cases", ' ..
       '"onnx": "%s"}'):format(totals.passed + totals.WRONG, data.onnx))
print(('{"figure": "node_cases_passed", "value": %d, "unit": "cases", ' ..
       '"onnx": "%s"}'):format(totals.passed, data.onnx))
os.exit(totals.WRONG == 0)
