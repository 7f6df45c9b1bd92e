-- SPDX-License-Identifier: Apache-2.0
-- Records finite search spaces: enumerates the points of sketches, measures
-- them by a function, and keeps the outcomes in a file of JSON lines that
-- bench/support/table.c reads.  bench/convergence.lua and bench/ytopt.lua use
-- it.
-- A first line has the program as hexadecimal bytes and the machine, the next
-- ones the sketches, then comes a line a point: its decisions, and the least
-- seconds of one thread's processor time (null: it failed).
local ts = require "tessera"
local recorder = {}

-- One of a list of integers, each as likely.
function recorder.pick(sch, list)
  local even = {}
  for i = 1, #list do even[i] = 1 / #list end
  return sch:sample_categorical(list, even)
end

-- ---- all points of a sketch ----------------------------------------------

-- Pairs of factors, by divisors; whatever does not fit is refused later.
local function tiles(extent, most)
  local list = {}
  for inner = 1, math.min(extent, most) do
    if extent % inner == 0 then
      list[#list + 1] = { extent // inner, inner }
    end
  end
  return list
end

-- The decisions that instruction k of the trace may have: of a tile those of
-- any extent that a product of its factors tells.
local function alternatives(trace, k)
  local inst, list = trace[k], {}
  if inst.name == "sample_categorical" then
    for i = 0, #inst.attrs.candidates - 1 do list[#list + 1] = { i } end
    return list
  end
  local d = inst.decision
  return tiles(d[1] * d[2], inst.attrs.max_innermost_factor)
end

-- Calls f(trace, decisions) for each point.  Tiles whose extent depends on
-- decisions before them are those of the trace that was replayed with these.
local function each_point(program, trace, f, k, made)
  k, made = k or 1, made or {}
  while k <= #trace and not trace[k].name:find "^sample" do k = k + 1 end
  if k > #trace then return f(trace, made) end
  for _, d in ipairs(alternatives(trace, k)) do
    local ok, other = pcall(trace.with_decision, trace, k, d)
    if ok then
      local again, sch = pcall(other.replay, other, program, {
        repair = true, seed = 1 })
      if again then
        local n = #made
        made[n + 1] = #d
        table.move(d, 1, #d, n + 2, made)
        each_point(program, sch:trace(), f, k + 1, made)
        for i = #made, n + 1, -1 do made[i] = nil end
      end
    end
  end
end

-- Some point of the sketch, to begin from.
local function draw_point(sketch, program)
  for seed = 1, 100 do
    local ok, sch = pcall(sketch.replay, sketch, program,
                          { resample = true, seed = seed })
    if ok then return sch:trace() end
  end
  error "no point of the sketch replays"
end

-- ---- measuring -----------------------------------------------------------

-- What is factored has a dominant diagonal, and is another matrix once it was,
-- which in the end has numbers that are slow to compute with.
function recorder.arguments(program)
  local list = {}
  for i, p in ipairs(program:params()) do
    list[i] = ts.tensor(p.dtype, p.shape, "random", i)
  end
  if #list == 1 then
    local n = list[1]:shape()[1]
    for i = 0, n - 1 do list[1]:set(i, i, n) end
  end
  return list
end

-- The least processor time of one of several runs, which does not count what
-- else the machine does; args() gives the arguments of a run.  One run is
-- enough of what is half as slow again as the best; others are repeated.
function recorder.least(kernel, args, best)
  local least, runs = math.huge, 0
  repeat
    local list = args()
    local start = os.clock()
    local ran, e = pcall(kernel, table.unpack(list))
    if not ran then return nil, e end
    least, runs = math.min(least, os.clock() - start), runs + 1
  until runs >= (least > 1.5 * best and 1 or least > 1.15 * best and 3 or 7)
  return least
end

-- ---- the file ------------------------------------------------------------

local function hexadecimal(program)
  local path = os.tmpname()
  program:save(path)
  local f <close> = assert(io.open(path, "rb"))
  os.remove(path)
  return (f:read "a":gsub(".", function(c)
    return ("%02x"):format(c:byte())
  end))
end

function recorder.machine()
  local f <close> = io.open "/proc/cpuinfo"
  return f and f:read "a":match "model name%s*:%s*([^\n]*)" or "unknown"
end

-- The points that the file has, and the least seconds.
local function read_points(path)
  local known, best = {}, math.huge
  local f <close> = io.open(path)
  for line in f and f:lines() or function() end do
    local d, seconds = line:match '"d": %[(.-)%], "seconds": ([^,}]+)'
    if d then
      known[d] = true
      best = math.min(best, tonumber(seconds) or math.huge)
    end
  end
  return known, best, f ~= nil
end

function recorder.begin(f, name, program, sketches)
  f:write(('{"op": "%s", "machine": "%s", "program": "%s"}\n')
          :format(name, recorder.machine(), hexadecimal(program)))
  for k, t in ipairs(sketches) do
    -- On one line, without the places in Lua.
    local text = t:json():gsub(', "at": %b[]', ""):gsub("\n%s*", " ")
    f:write(('{"sketch": %d, "trace": %s}\n'):format(k - 1, text))
  end
end

-- Appends to the file for so many seconds; what is there already is not
-- measured again.  measure(trace, best) gives the seconds of a point, or nil
-- and an error.
function recorder.record(name, space, program, measure, path, seconds)
  local sketches = ts.space.sketches(space, program, "llvm")
  local known, best, old = read_points(path)
  local f <close> = assert(io.open(path, "a"))
  if not old then recorder.begin(f, name, program, sketches) end
  local stop, all, done = os.time() + seconds, 0, 0
  for k, sketch in ipairs(sketches) do
    local drawn = draw_point(sketch, program)
    each_point(program, drawn, function(trace, made)
      local d = table.concat(made, ",")
      all = all + 1
      if known[d] or os.time() > stop then return end
      local t, e = measure(trace, best)
      if not t and e.code == "CANCELLED" then error(e, 0) end
      best, done = math.min(best, t or math.huge), done + 1
      f:write(('{"sketch": %d, "d": [%s], "seconds": %s}\n'):format(
              k - 1, d, t and ("%.6g"):format(t) or "null"))
      f:flush()
    end)
  end
  io.stderr:write(("%s: %d points, %d measured now, best %.4g s\n")
                  :format(name, all, done, best))
end

return recorder
