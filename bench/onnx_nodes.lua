-- SPDX-License-Identifier: Apache-2.0
-- ONNX's own node cases from their files, each through interpreter, plain and
-- scheduled kernels.
--   bench/onnx_nodes/run [FOLDER [PATTERN]]
-- makes them by a pinned version of onnx, once, and runs
--   build/bin/tessera bench/onnx_nodes.lua FOLDER/cases [PATTERN]
-- (PATTERN: of cases' names, or an operator).  Prints the operators of which
-- all cases pass, and how many; a table of the others, with why cases do not
-- run; and the figures node_cases_run and node_cases_passed.
local here = arg[0]:gsub("[^/]*$", "")
package.path = here .. "?.lua;" .. package.path
local run = require "onnx_nodes.run"
local reasons = require "onnx_nodes.reasons"

local folder, pattern = arg[1], arg[2]
if not folder then
  io.stderr:write("usage: onnx_nodes.lua FOLDER [PATTERN]\n")
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
      row = { passed = 0, WRONG = 0, no = 0, why = {}, wrong = {} }
      rows[c.op], order[#order + 1] = row, c.op
    end
    row[status], totals[status] = row[status] + 1, totals[status] + 1
    if status == "no" then row.why[#row.why + 1] = why end
    if status == "WRONG" then
      row.wrong[#row.wrong + 1] = c.name .. ": " .. why
    end
    if i % 50 == 0 then
      collectgarbage()
      io.stderr:write(("\r%d of %d"):format(i, #data.cases))
    end
  end
end
io.stderr:write("\r")
table.sort(order)

-- Lines of words with commas between, of at most 86 columns.
local function wrapped(words)
  local lines, line = {}, ""
  for i, word in ipairs(words) do
    word = word .. (i < #words and "," or ".")
    if #line + 1 + #word > 86 then
      lines[#lines + 1], line = line, word
    else
      line = line == "" and word or line .. " " .. word
    end
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n")
end

local whole = {}
for _, op in ipairs(order) do
  local r = rows[op]
  if r.WRONG + r.no == 0 then
    whole[#whole + 1] = ("`%s` %d"):format(op, r.passed)
  end
end
print(wrapped(whole))
print "\n| operator | cases | passed | wrong | why the others do not run |"
print "|---|---|---|---|---|"
for _, op in ipairs(order) do
  local r = rows[op]
  if r.WRONG + r.no > 0 then
    print(("| `%s` | %d | %d | %d | %s |"):format(op, r.passed + r.WRONG + r.no,
          r.passed, r.WRONG, reasons.of(op, r.why)))
  end
end
print ""
for _, op in ipairs(order) do
  for _, why in ipairs(rows[op].wrong) do
    io.stderr:write("WRONG ", why, "\n")
  end
end
print(('{"figure": "node_cases_run", "value": %d, "unit": "cases", ' ..
       '"onnx": "%s"}'):format(totals.passed + totals.WRONG, data.onnx))
print(('{"figure": "node_cases_passed", "value": %d, "unit": "cases", ' ..
       '"onnx": "%s"}'):format(totals.passed, data.onnx))
os.exit(totals.WRONG == 0)
