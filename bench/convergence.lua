-- SPDX-License-Identifier: Apache-2.0
-- Records finite search spaces for build/bench/convergence: every point of a
-- space of at most 3,000, with the least of several times.
--   tessera bench/convergence.lua WORKLOAD [SECONDS [FILE]]
-- appends to bench/data/convergence/WORKLOAD.jsonl for so many seconds (no
-- limit: until all is measured); what is there already is not measured again.
-- A first line has the program as hexadecimal bytes and the machine, the next
-- ones the sketches, then comes a line a point: its decisions, and the least
-- seconds of one thread's processor time (null: it failed).
local ts = require "tessera"
local ops = require "tessera.ops"
local here = arg[0]:match "^(.*)/[^/]*$"
local factor = dofile(here .. "/../examples/lu_cholesky.lua")

-- ---- the spaces ----------------------------------------------------------

local function pick(sch, list)
  local even = {}
  for i = 1, #list do even[i] = 1 / #list end
  return sch:sample_categorical(list, even)
end

-- Cuts a loop into two; the innermost of at most that many iterations.
local function halves(sch, loop, most)
  return sch:split(loop, { sch:sample_perfect_tile(loop, {
    n = 2, max_innermost_factor = most }) })
end

-- The loop cut into an inner one whose length is one of the list, which
-- becomes a vector, and two around it.
local function columns(sch, loop, list)
  local outer, inner = sch:split(loop, { ts.auto, pick(sch, list) })
  local o, m = halves(sch, outer, 64)
  return o, m, inner
end

local function product(sch)
  local _, i, j, k = sch:get_loops(sch:get_output_blocks(sch:get_block "root"))
  local jo, jm, jv = columns(sch, j, { 8, 16, 32, 64 })
  local io, iu = halves(sch, i, 16)
  local ko, ki = halves(sch, k, 256)
  sch:reorder(jo, ko, io, jm, ki, iu, jv)
  sch:vectorize(jv)
  sch:unroll(iu)
end

local function convolution(sch)
  local conv = sch:get_output_blocks(sch:get_block "root")
  local _, h, w, c, kh, kw, ci = sch:get_loops(conv)
  local co, cm, cv = columns(sch, c, { 8, 16, 32, 64 })
  local wo, wu = halves(sch, w, 14)
  local io, ii = halves(sch, ci, 64)
  sch:reorder(co, h, io, wo, cm, kh, kw, ii, wu, cv)
  sch:vectorize(cv)
  sch:unroll(wu)
  sch:annotate(co, "pragma_auto_unroll_max_step", pick(sch, { 0, 64 }))
end

-- Of each product a tile of rows x columns is kept in registers.
local function three_products(sch)
  local tiles = { E = { { 4, 8 }, { 12, 18, 20, 36 } },
                  F = { { 4, 10 }, { 10, 20, 44 } },
                  G = { { 4, 8 }, { 10, 20, 44 } } }
  for _, name in ipairs { "E", "F", "G" } do
    local i, j, k = sch:get_loops(sch:get_block(name))
    local rows, lanes = table.unpack(tiles[name])
    local io, iu = sch:split(i, { ts.auto, pick(sch, rows) })
    local jo, jv = sch:split(j, { ts.auto, pick(sch, lanes) })
    sch:reorder(jo, io, k, iu, jv)
    sch:vectorize(jv)
    sch:unroll(iu)
  end
end

-- The schedules of examples/lu_cholesky.lua, whose sizes are sampled: blocks
-- of columns, blocks in those, and what is kept in registers.
local function factorisation(name)
  return function(sch)
    local made = ts.schedule
    ts.schedule = function() return sch end
    local inner = pick(sch, { 8, 16, 20, 40, 80 })
    local ok, e = pcall(factor.schedule[name], nil, {
      block = inner * pick(sch, { 2, 5, 10, 25 }), inner = inner,
      rows = pick(sch, { 1, 2, 4, 8 }), columns = pick(sch, { 4, 8, 16, 32 }),
    })
    ts.schedule = made
    if not ok then error(e, 0) end
  end
end

local workloads = {
  ["GMM-4"] = { product, function() return (ops.suite("GMM", 4)) end },
  ["C2D-3"] = { convolution, function() return (ops.suite("C2D", 3)) end },
  ["3mm"] = { three_products,
              function() return ops.polybench("3mm", "LARGE") end },
  lu = { factorisation "lu",
         function() return ops.polybench("lu", "LARGE") end },
  cholesky = { factorisation "cholesky",
               function() return ops.polybench("cholesky", "LARGE") end },
}

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
local function draw(sketch, program)
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
local function arguments(program)
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

-- Processor time does not count what else the machine does.  One run is enough
-- of what is half as fast again as the best; others are repeated.
local function measure(sch, program, args, best)
  local ok, kernel = pcall(ts.build, sch, "llvm")
  if not ok then return nil, kernel end
  local least, runs, spent = math.huge, 0, 0
  repeat
    if #args == 1 then args = arguments(program) end
    local start = os.clock()
    local ran, e = pcall(kernel, table.unpack(args))
    if not ran then return nil, e end
    local t = os.clock() - start
    least, runs, spent = math.min(least, t), runs + 1, spent + t
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

local function machine()
  local f <close> = io.open "/proc/cpuinfo"
  return f and f:read "a":match "model name%s*:%s*([^\n]*)" or "unknown"
end

-- The points that the file has, and the least seconds.
local function read(path)
  local known, best = {}, math.huge
  local f <close> = io.open(path)
  for line in f and f:lines() or function() end do
    local d, seconds = line:match '"d": %[(.-)%], "seconds": (%S+)}'
    if d then
      known[d] = true
      best = math.min(best, tonumber(seconds) or math.huge)
    end
  end
  return known, best, f ~= nil
end

local function begin(f, name, program, sketches)
  f:write(('{"op": "%s", "machine": "%s", "program": "%s"}\n')
          :format(name, machine(), hexadecimal(program)))
  for k, t in ipairs(sketches) do
    -- On one line, without the places in Lua.
    local text = t:json():gsub(', "at": %b[]', ""):gsub("\n%s*", " ")
    f:write(('{"sketch": %d, "trace": %s}\n'):format(k - 1, text))
  end
end

local name, seconds = arg[1], tonumber(arg[2] or math.huge)
local of = assert(workloads[name], "usage: convergence.lua WORKLOAD " ..
                  "[SECONDS [FILE]], of GMM-4, C2D-3, 3mm, lu, cholesky")
local path = arg[3] or ("%s/data/convergence/%s.jsonl"):format(here, name)
local program = of[2]()
local sketches = ts.space.sketches(of[1], program, "llvm")
local known, best, old = read(path)
local f <close> = assert(io.open(path, "a"))
if not old then begin(f, name, program, sketches) end
local args, stop = arguments(program), os.time() + seconds
local all, done = 0, 0
for k, sketch in ipairs(sketches) do
  local drawn = draw(sketch, program)
  each_point(program, drawn, function(trace, made)
    local d = table.concat(made, ",")
    all = all + 1
    if known[d] or os.time() > stop then return end
    local t, e = measure(trace:replay(program), program, args, best)
    if e and e.code == "CANCELLED" then error(e, 0) end
    best, done = math.min(best, t or math.huge), done + 1
    f:write(('{"sketch": %d, "d": [%s], "seconds": %s}\n')
            :format(k - 1, d, t and ("%.6g"):format(t) or "null"))
    f:flush()
  end)
end
io.stderr:write(("%s: %d points, %d measured now, best %.4g s\n")
                :format(name, all, done, best))
