-- SPDX-License-Identifier: Apache-2.0
-- Random programs for access-execute machines, scheduled at random, whose
-- results must be those of the interpreter, bit by bit:
--   tessera bench/dae_random.lua [PROGRAMS [SEED [TESTER]]]
-- Half of them are products and convolutions that are tensorized, by a
-- sketch of the default space with random decisions, in the machine's layout
-- and in others.  The others are programs of the random tester (TESTER, by
-- default build/bench/fuzz) that fit: the machine does what it can of their
-- blocks, and the host the rest.  A quarter more are chains of arithmetic on
-- accumulators, tiled by hand, with parts for the host.  Every stream is
-- verified: it must have no race and no token that orders nothing.
local ts = require "tessera"
local here = arg[0]:match "^(.*)/[^/]*$" or "."
local dae = dofile(here .. "/../tests/support/dae.lua")
local given = dofile(here .. "/support/arguments.lua")(
  "dae_random.lua [PROGRAMS [SEED [TESTER]]]")
local programs = given.count(1, "PROGRAMS", 1000)
local seed = given.count(2, "SEED", 1)
local tester = arg[3] or here .. "/../build/bench/fuzz"
given.at_most(3)

local ACC = "local.acc_buffer"
local targets = { "dae -model=vta", "dae -model=vdla", "dae -model=gemmini" }
local spaces = {}
math.randomseed(seed)
local random = math.random
local function pick(list) return list[random(#list)] end
local function maybe() return random(2) == 1 end

-- ---- programs --------------------------------------------------------------

local function dense()
  return dae.dense(random(12), random(4), random(4),
                   { bias = maybe(), relu = maybe(), shift = random(0, 9) })
end

-- The same, with rows of steps and columns that the space lays out.
local function plain()
  local m, n, k = random(12), 16 * random(3), random(40)
  local A = ts.placeholder("A", { m, k }, "int8")
  local B = ts.placeholder("B", { k, n }, "int8")
  local r, shift = ts.reduce_axis("r", k), 1 << random(0, 9)
  local C = ts.compute("C", { m, n }, function(i, j)
    return ts.sum(ts.cast(A(i, r), "int32") * ts.cast(B(r, j), "int32"), r)
  end)
  local D = ts.compute("D", { m, n }, function(i, j)
    return ts.cast(ts.max(C(i, j) // shift, random(-128, 0)), "int8")
  end)
  return ts.program("plain", { A, B }, { D })
end

local function conv()
  return dae.conv { h = random(2, 9), w = random(2, 9), ic = 16 * random(2),
                    oc = 16 * random(3), k = pick { 1, 3, 5 },
                    stride = random(2), bias = maybe(), relu = maybe(),
                    shift = random(0, 9) }
end

-- What the vector unit can do to `x`; `y` gives another operand.
local function step(x, y)
  local n = random(-300, 300)
  local all = {
    function() return x + n end, function() return x - n end,
    function() return x * random(-20, 20) end,
    function() return x // (1 << random(0, 6)) end,
    function() return ts.max(x, n) end, function() return ts.min(n, x) end,
    function() return x + y() end, function() return ts.max(y(), x) end,
    function() return x * y() end,
  }
  return pick(all)()
end

-- Elements of int32, with up to five steps and operands of fewer dimensions,
-- stored as bytes; sometimes the host makes them, or uses them.
local function chain()
  local shape = { random(6), random(6), 16 }
  local A = ts.placeholder("A", shape, "int32")
  local B = ts.placeholder("B", { shape[2], 16 }, "int32")
  local before, after = random(4) == 1, random(4) == 1
  local X = not before and A or ts.compute("X", shape, function(i, j, l)
    return A(i, j, l) % 1000
  end)
  local steps = random(5)
  local uses = random(3) > 1
  local Y = ts.compute("Y", shape, function(i, j, l)
    local v = X(i, j, l)
    for _ = 1, steps do
      v = step(v, function()
        return uses and B(j, l) or ts.const(random(9), "int32")
      end)
    end
    return ts.cast(v, maybe() and "int8" or "uint8")
  end)
  local Z = not after and Y or ts.compute("Z", shape, function(i, j, l)
    return ts.cast(Y(i, j, l), "float32") * 0.25
  end)
  return ts.program("chain", { A, B }, { Z })
end

local function schedule_chain(p, target)
  local s = ts.schedule(p, { target = target })
  local y = s:get_block "Y"
  local loops = { s:get_loops(y) }
  if maybe() then
    local o, i = s:split(loops[1], { s:sample_perfect_tile(loops[1],
                                                           { n = 2 }) })
    s:reorder(o, loops[2], i, loops[3])
    loops = { o, loops[2], i, loops[3] }
    if maybe() then s:bind(o, "vthread.x") end
  end
  for r = 0, s:block_info(y).reads - 1 do
    local copy = s:cache_read(y, r, ACC)
    if maybe() then s:compute_at(copy, loops[random(#loops - 1)]) end
  end
  return s
end

-- The tester's programs, one after the other.
local pipe

local function described()
  pipe = pipe or assert(io.popen(("'%s' --describe --count 1000000 --seed %d")
                                 :format(tester, seed)))
  local lines = {}
  for line in pipe:lines() do
    if line:find "^%-%- case " then
      if #lines > 0 then break end
    else
      lines[#lines + 1] = line
    end
  end
  assert(#lines > 0, tester .. " describes no programs")
  return load('local ts = require "tessera"\n' ..
              table.concat(lines, "\n") .. "\nreturn program")()
end

-- What a block reads is copied to accumulators, and, often, it adds up there.
local function put_on_chip(s, block)
  local result = s:access_info(block, "write", 0).buffer
  for r = s:block_info(block).reads - 1, 0, -1 do
    if s:access_info(block, "read", r).buffer ~= result then
      s:cache_read(block, r, ACC, { consumer_blocks = { block } })
    end
  end
  if maybe() then s:cache_write(block, 0, ACC) end
end

-- Whether a call is refused; other errors go on.
local function is_refused(ok, e)
  if ok then return false end
  if e.code ~= "REFUSED" and e.code ~= "BUILD_ERROR" then error(e, 0) end
  return true
end

-- Each block of the tester's program is put on the chip, where the machine can
-- do it.
local function schedule_described(p, target)
  local s, any = ts.schedule(p, { target = target }), false
  for _, block in ipairs { s:get_child_blocks(s:get_block "root") } do
    local copy = s:copy()
    if not is_refused(pcall(put_on_chip, copy, block)) and
       not is_refused(pcall(ts.build, copy, target)) then
      s, any = copy, true
    end
  end
  return any and s or nil
end

local function schedule_product(p, target)
  spaces[target] = spaces[target] or ts.space.default(target)
  local sketches = ts.space.sketches(spaces[target], p, target)
  if #sketches == 0 then return nil end
  return pick(sketches):replay(p, { resample = true,
                                    seed = random(1 << 30) })
end

-- ---- checking --------------------------------------------------------------

local count = { tensorized = 0, tester = 0, chains = 0, refused = 0,
                nothing = 0, host = 0, vthreads = 0, pipelines = 0,
                tokens = 0, instructions = 0 }

-- false: what the program gathers by is no index for these inputs.
local function check(p, s, kernel)
  local got, want = dae.tensors(p, random(1 << 20))
  local ok, e = pcall(ts.interpret, p, want)
  if not ok and tostring(e):find "out of bounds" then return false end
  if not ok then error(e, 0) end
  kernel(table.unpack(got))
  if not dae.same(got, want) then
    error(("the results differ:\n%s"):format(s:program()), 0)
  end
  local stream, tokens = kernel:source "stream", kernel:source "tokens"
  for _, fault in ipairs { "race:", "deadlock:", "left:", "idle:" } do
    if tokens:find(fault, 1, true) then
      error(("%s\n%s"):format(tokens, s:program()), 0)
    end
  end
  local text = tostring(s:program())
  count.host = count.host + (stream:find "host function" and 1 or 0)
  count.vthreads = count.vthreads + (text:find "vthread" and 1 or 0)
  count.pipelines = count.pipelines +
                    (text:find "software_pipeline" and 1 or 0)
  count.tokens = count.tokens + select(2, tokens:gsub(" waits for ", ""))
  count.instructions = count.instructions +
                       select(2, stream:gsub("\n +%d+ %a", ""))
  return true
end

-- One program that fits; of those that do not the machine can do nothing, or
-- they are refused by name.
local function try(kind, make, schedule)
  local p, target = make(), pick(targets)
  local ok, s = pcall(schedule, p, target)
  if not ok and s.code ~= "REFUSED" then error(s, 0) end
  local built, kernel
  if ok and s then built, kernel = pcall(ts.build, s, target) end
  if not built then
    if ok and s and kernel.code ~= "BUILD_ERROR" then error(kernel, 0) end
    local what = ok and not s and "nothing" or "refused"
    count[what] = count[what] + 1
    return
  end
  local what = check(p, s, kernel) and kind or "nothing"
  count[what] = count[what] + 1
end

-- How many of each kind.
local half = (programs + 1) // 2
local kinds = {
  { "tensorized", half, function() return pick { dense, conv, plain }() end,
    schedule_product },
  { "tester", programs - half, described, schedule_described },
  { "chains", programs // 4, chain, schedule_chain },
}
for _, x in ipairs(kinds) do
  while count[x[1]] < x[2] do try(x[1], x[3], x[4]) end
end
if pipe then pipe:close() end
for _, name in ipairs { "tensorized", "tester", "chains", "host", "vthreads",
                        "pipelines", "instructions", "tokens", "refused",
                        "nothing" } do
  print(('{"figure": "%s", "value": %d, "seed": %d}'):format(name, count[name],
                                                           seed))
end
