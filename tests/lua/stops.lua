-- SPDX-License-Identifier: Apache-2.0
-- What ends a run early: the deadline at any point of it, and interrupts, which
-- are never lost.
local ts, ops = require "tessera", require "tessera.ops"

local function tune(n, options)
  local p = ops.matmul { m = n, n = n, k = n }
  options.progress = options.progress or false
  return ts.tune(p, options)
end

-- While the unscheduled program, which takes long, is run.
do
  local r = tune(3000, { trials = 8, batch = 2, deadline = 1, seed = 1 })
  assert(r.status == "NOT_FOUND" and r.trials == 0, r.status)
  assert(r.note:find "the deadline of 1 s ended the search after 0 of 8 trials",
         r.note)
end

-- Among many trials; the best is named all the same.
do
  local r = tune(16, { trials = 100000, batch = 2, deadline = 1, seed = 1,
                       min_time = 0.001 })
  assert(r.note:find "the deadline of 1 s ended the search after", r.note)
  assert(r.trials == 0 or r.status == "OK", r.status)
end

-- What a strategy builds ends with the search; let through, that is no error
-- of the run.
do
  local p, ok, said = ops.matmul { m = 16, n = 16, k = 16 }, nil, nil
  local r = ts.tune(p, {
    trials = 8, deadline = 2, min_time = 0.001,
    strategy = ts.strategy {
      propose = function()
        for _ = 1, 1000000 do
          ok, said = pcall(ts.build, p)
          if not ok then error(said, 0) end
        end
      end } })
  assert(said.code == "CANCELLED" and r.status == "NOT_FOUND", r.status)
  assert(r.note:find "the deadline of 2 s ended the search", r.note)
end

-- A deadline that is not reached is not reported.
do
  local r = tune(16, { trials = 2, batch = 2, deadline = 1e9, seed = 1,
                       min_time = 0.001 })
  assert(r.status == "OK" and not (r.note or ""):find "deadline", r.note)
end

-- The finals report no progress.
do
  local script = arg[0]:gsub("[^/]*$", "../support/interrupt.sh")
  local told, sent
  local function interrupt(q)
    if sent or q.trials < 4 then return end
    sent = os.execute(("sh '%s' $PPID 20 &"):format(script))
  end
  for i = 1, 50 do
    local ok, r = pcall(tune, 64, { trials = 4, batch = 4, min_time = 0.3,
                                    seed = i, progress = interrupt })
    told = not ok or r.status == "CANCELLED"
    assert(ok or tostring(r):find "interrupted", r)
    if told then break end
  end
  assert(told)
end
