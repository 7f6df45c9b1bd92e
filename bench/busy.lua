-- SPDX-License-Identifier: Apache-2.0
-- What other work on the cores costs a kernel of microseconds: a 128^3 matrix
-- product on all cores, timed 50 times while the machine is as it is, and 50
-- times with one more process a core that never waits.  The two take turns.
--
--   build/bin/tessera bench/busy.lua [THREADS [BUSY]]
local ts = require "tessera"
local ops = require "tessera.ops"

local N, ROUNDS, SHORT = 128, 50, 0.004
local function cores()
  local pipe <close> = assert(io.popen "nproc")
  return pipe:read "n"
end
local given = dofile((arg[0]:gsub("[^/]*$", "support/arguments.lua")))
  "busy.lua [THREADS [BUSY]]"
local threads = given.count(1, "THREADS") or cores()
local others = given.count(2, "BUSY", threads)
given.at_most(2)

local p = ops.matmul { m = N, n = N, k = N }
local function tile(s)
  local C = s:get_block "C"
  local i, j, k = s:get_loops(C)
  local i0, i1 = s:split(i, { ts.auto, 4 })
  local j0, j1 = s:split(j, { ts.auto, 16 })
  s:reorder(i0, j0, k, i1, j1)
  s:decompose_reduction(C, k)
  s:vectorize(j1)
  s:unroll(i1)
  return i0
end

local function build(parallel)
  local s = ts.schedule(p)
  local i0 = tile(s)
  if parallel then s:parallel(i0) end
  return ts.build(s, "llvm -num-cores=" .. threads)
end

local shape = { N, N }
local args = { ts.tensor("float32", shape, "random"),
               ts.tensor("float32", shape, "random"),
               ts.tensor("float32", shape) }

-- Starts processes that only count; a function that ends them.
local function occupy()
  local pids = {}
  for n = 1, others do
    local pipe <close> = assert(io.popen(
      "sh -c 'while :; do :; done' >/dev/null 2>&1 & echo $!"))
    pids[n] = pipe:read "n"
  end
  return function()
    for _, pid in ipairs(pids) do os.execute("kill " .. pid) end
  end
end

local function times(kernel, n, out)
  for _ = 1, n do
    out[#out + 1] = kernel:time(args, { min_time = SHORT }).median
  end
end

local function say(figure, value, unit, parallel)
  print(('{"figure": "%s", "value": %.4g, "unit": "%s", "threads": %d}')
          :format(figure, value, unit, parallel and threads or 1))
end

for _, parallel in ipairs { false, true } do
  local kernel = build(parallel)
  local idle, busy = {}, {}
  for _ = 1, 5 do
    times(kernel, ROUNDS // 5, idle)
    local release <close> = setmetatable({}, { __close = occupy() })
    times(kernel, ROUNDS // 5, busy)
  end
  table.sort(idle)
  table.sort(busy)
  local usual = idle[ROUNDS // 2]
  say("busy_idle_us", usual * 1e6, "us", parallel)
  say("busy_median_ratio", busy[ROUNDS // 2] / usual, "1", parallel)
  say("busy_worst_ratio", busy[ROUNDS] / usual, "1", parallel)
end
