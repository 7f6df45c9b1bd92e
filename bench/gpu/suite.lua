-- SPDX-License-Identifier: Apache-2.0
-- The operator suite at its sizes, tuned for the card of this machine by the
-- default space:
--   tessera bench/gpu/suite.lua TRIALS [ROW...]
-- ROW is as C2D-1; without one, the first configuration of each operator.
local ts = require "tessera"
local ops = require "tessera.ops"
local given = dofile((arg[0]:gsub("[^/]*$", "../support/arguments.lua")))
  "suite.lua TRIALS [ROW...]"
local trials = given.count(1, "TRIALS", 32)
local target = ts.target "cuda"

local rows = { table.unpack(arg, 2) }
if not rows[1] then
  for _, name in ipairs(ops.suite_names()) do rows[#rows + 1] = name .. "-1" end
end
for _, row in ipairs(rows) do
  local name, number = row:match "^(.*)%-(%d+)$"
  if not name then error(("ROW is as C2D-1, not '%s'"):format(row), 0) end
  local p = ops.suite(name, tonumber(number))
  local r = ts.tune(p, { target = target, trials = trials, seed = 1,
                         min_time = 0.003 })
  if r.trace then
    print(('{"figure": "gflops", "value": %.0f, "unit": "GFLOP/s", ' ..
           '"op": "%s", "us": %.2f, "trials": %d, "failed": %d}')
          :format(r.gflops or 0, row, r.latency * 1e6, r.trials, r.failed))
  else
    io.stderr:write(row, ": nothing valid was found:\n", r.funnel)
  end
end
