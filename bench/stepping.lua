-- SPDX-License-Identifier: Apache-2.0
-- usage: tessera bench/stepping.lua [RUNS]
-- What the stepper's questions cost and find: how long `why` takes on traces
-- of the default space, and in how many of RUNS (20) products that had a bad
-- decision planted, timed here, `blame` names that first.
local ts = require "tessera"
local ops = require "tessera.ops"

local given = dofile((arg[0]:gsub("[^/]*$", "support/arguments.lua")))(
  "stepping.lua [RUNS]")
local runs = given.count(1, "RUNS", 20)
given.at_most(1)

-- ---- why -------------------------------------------------------------------

local function milliseconds_of(f)
  local began = os.clock()
  f()
  return (os.clock() - began) * 1e3
end

-- Of n traces: the longest question of each, about a line or all.
local function why(n)
  local programs = { ops.matmul { m = 128, n = 128, k = 128, relu = true },
                     ops.conv2d_nhwc { n = 1, h = 28, w = 28, ci = 64,
                                       co = 64, k = 3 },
                     ops.softmax { shape = { 64, 256 } } }
  local target, times, longest = ts.target "llvm", {}, 0
  local space = ts.space.default(target)
  for i = 1, n do
    local program = programs[i % #programs + 1]
    local sketches = ts.space.sketches(space, program, target,
                                       { postprocs = true })
    local t = sketches[i % #sketches + 1]
    t = t:replay(program, { resample = true, seed = i }):trace()
    local s = t:stepper(program)
    s:goto_(s:size())
    times[i] = math.max(milliseconds_of(function() s:why() end),
                        milliseconds_of(function() s:why(3) end))
    longest = math.max(longest, #t)
  end
  table.sort(times)
  print(("why: %d traces of up to %d instructions; the longest question of " ..
         "each: median %.2f ms, most %.2f ms"):format(n, longest,
         times[(n + 1) // 2], times[n]))
end

-- ---- blame -----------------------------------------------------------------

-- A product whose axis j, which is vectorized, has an inner tile of one
-- iteration: the stepper, and the instruction that decided so.
local function planted(n)
  local program = ops.matmul { m = 128, n = 128, k = 64 }
  local sch = ts.schedule(program, { seed = n })
  local loops = { sch:get_loops(sch:get_block "C") }
  local rows = 2 << n % 3
  local tiles = { { 128 // rows, rows }, { 128, 1 }, { 16, 4 } }
  local inner, outer, at = {}, {}, nil
  for axis, l in ipairs(loops) do
    local v = table.pack(sch:sample_perfect_tile(l, { n = 2,
                           decision = tiles[axis] }))
    if axis == 2 then at = #sch:trace() end
    outer[axis], inner[axis] = sch:split(l, { v[1], v[2] })
  end
  sch:reorder(outer[1], outer[2], outer[3], inner[3], inner[1], inner[2])
  sch:vectorize(inner[2])
  return sch:trace():stepper(program), at
end

local function blame(n)
  local first = 0
  for run = 1, n do
    local s, at = planted(run)
    local list = s:blame { rounds = 3, alternatives = 4 }
    if list[1] and list[1].instruction == at then first = first + 1 end
  end
  print(("blame: a product without vectors; that decision is named first in " ..
         "%d of %d, by times measured here"):format(first, n))
end

why(runs)
blame(runs)
