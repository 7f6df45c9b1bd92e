-- SPDX-License-Identifier: Apache-2.0
-- Random programs for access-execute machines, scheduled at random, whose
-- results must be those of the interpreter, bit by bit:
--   tessera bench/dae_random.lua [PROGRAMS [SEED]]
-- Half of them are products and convolutions that are tensorized, by a
-- sketch of the default space with random decisions; the others are chains of
-- arithmetic on accumulators, tiled by hand, with parts for the host.  Every
-- stream is verified: it must have no race and no token that orders nothing.
local ts = require "tessera"
local here = arg[0]:match "^(.*)/[^/]*$" or "."
local dae = dofile(here .. "/../tests/support/dae.lua")
local given = dofile(here .. "/support/arguments.lua")(
  "dae_random.lua [PROGRAMS [SEED]]")
local programs = given.count(1, "PROGRAMS", 1000)
local seed = given.count(2, "SEED", 1)
given.at_most(2)

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

local function schedule_product(p, target)
  spaces[target] = spaces[target] or ts.space.default(target)
  local sketches = ts.space.sketches(spaces[target], p, target)
  if #sketches == 0 then return nil end
  return pick(sketches):replay(p, { resample = true,
                                    seed = random(1 << 30) })
end

-- ---- checking --------------------------------------------------------------

local count = { tensorized = 0, others = 0, refused = 0, host = 0,
                vthreads = 0, pipelines = 0, tokens = 0, instructions = 0 }

local function check(p, s, kernel)
  local got, want = dae.tensors(p, random(1 << 20))
  kernel(table.unpack(got))
  ts.interpret(p, want)
  for i = 1, #got do
    if tostring(got[i]) ~= tostring(want[i]) then
      error(("parameter %d differs:\n%s"):format(i, s:program()), 0)
    end
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
end

-- One program that fits; those that do not are refused by name.
local function try(kind, make, schedule)
  local p, target = make(), pick(targets)
  local ok, s = pcall(schedule, p, target)
  if not ok and s.code ~= "REFUSED" then error(s, 0) end
  local built, kernel
  if ok and s then built, kernel = pcall(ts.build, s, target) end
  if not built then
    if ok and s and kernel.code ~= "BUILD_ERROR" then error(kernel, 0) end
    count.refused = count.refused + 1
    return
  end
  check(p, s, kernel)
  count[kind] = count[kind] + 1
end

while count.tensorized + count.others < programs do
  if count.tensorized < (programs + 1) // 2 then
    try("tensorized", maybe() and dense or conv, schedule_product)
  else
    try("others", chain, schedule_chain)
  end
end
for _, name in ipairs { "tensorized", "others", "host", "vthreads",
                        "pipelines", "instructions", "tokens", "refused" } do
  print(('{"figure": "%s", "value": %d, "seed": %d}'):format(name, count[name],
                                                           seed))
end
