-- SPDX-License-Identifier: Apache-2.0
-- Random schedules of programs whose sizes are known only at the call compute
-- the same at whatever sizes.  TESS_RUNS=N TESS_SEED=S: N of them, from S on.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local random = math.random

local function pick(list) return list[random(#list)] end

-- ---- programs -------------------------------------------------------------

local make = {}

function make.chain(n, m)
  local A = ts.placeholder("A", { n, m })
  local B = ts.compute("B", { n, m }, function(i, j) return A(i, j) * 2 end)
  return { A }, ts.compute("C", { n, m }, function(i, j)
    return B(i, j) + 1
  end)
end

function make.line(n)
  local A = ts.placeholder("A", { n + 2 })
  local B = ts.compute("B", { n + 2 }, function(i) return A(i) * 2 end)
  return { A }, ts.compute("C", { n }, function(i)
    return B(i) + B(i + 1) + B(i + 2)
  end)
end

function make.blur(n, m)
  local A = ts.placeholder("A", { n + 2, m + 2 })
  local B = ts.compute("B", { n + 2, m }, function(i, j)
    return A(i, j) + A(i, j + 1) + A(i, j + 2)
  end)
  return { A }, ts.compute("C", { n, m }, function(i, j)
    return B(i, j) + B(i + 1, j) + B(i + 2, j)
  end)
end

function make.clamped(n, m)
  local A = ts.placeholder("A", { n, m })
  local B = ts.compute("B", { n, m }, function(i, j) return A(i, j) * 2 end)
  return { A }, ts.compute("C", { n, m }, function(i, j)
    return B(ts.max(i - 1, 0), j) + B(i, j) + B(ts.min(i + 1, n - 1), j)
  end)
end

function make.padded(n, m)
  local A = ts.placeholder("A", { n, m })
  local B = ts.compute("B", { n + 2, m }, function(i, j)
    local inside = ts.all(ts.ge(i, 1), ts.lt(i, n + 1))
    return ts.select(inside, A(i - 1, j), 0.0)
  end)
  local r = ts.reduce_axis("r", 3)
  return { A }, ts.compute("C", { n, m }, function(i, j)
    return ts.sum(B(i + r, j), r)
  end)
end

function make.matmul(n, m, l)
  local A, B = ts.placeholder("A", { n, l }), ts.placeholder("B", { l, m })
  local k = ts.reduce_axis("k", l)
  local C = ts.compute("C", { n, m }, function(i, j)
    return ts.sum(A(i, k) * B(k, j), k)
  end)
  return { A, B }, ts.compute("D", { n, m }, function(i, j)
    return C(i, j) + 1
  end)
end

function make.batched(n, m, l)
  local A = ts.placeholder("A", { l, n, 5 })
  local B = ts.placeholder("B", { l, 5, m })
  local k = ts.reduce_axis("k", 5)
  local C = ts.compute("C", { l, n, m }, function(b, i, j)
    return ts.sum(A(b, i, k) * B(b, k, j), k)
  end)
  return { A, B }, ts.compute("D", { l, n, m }, function(b, i, j)
    return C(b, i, j) + 1
  end)
end

function make.centered(n, m)
  local A, k = ts.placeholder("A", { n, m }), ts.reduce_axis("k", m)
  local S = ts.compute("S", { n }, function(i) return ts.sum(A(i, k), k) end)
  return { A }, ts.compute("C", { n, m }, function(i, j)
    return A(i, j) - S(i)
  end)
end

function make.flat(n, m)
  local A = ts.placeholder("A", { n, m })
  local B = ts.compute("B", { n * m }, function(i)
    return A(i // m, i % m) * 2
  end)
  return { A }, ts.compute("C", { n, m }, function(i, j)
    return B(i * m + j) + 1
  end)
end

local names = {}
for name in pairs(make) do names[#names + 1] = name end
table.sort(names) -- the same from the same seed

local function program(name, ...)
  local inputs, C = make[name](...)
  return ts.program(name, inputs, { C })
end

-- ---- schedules ------------------------------------------------------------

-- Each gets the schedule, a block, its loops and those of another block.
local steps = {
  function(s, _, l)
    s:split(pick(l), random(2) == 1 and { ts.auto, random(2, 5) } or
                     { ts.auto, random(2, 3), random(2, 3) })
  end,
  function(s, _, l)
    local k = random(#l - 1)
    local i_0, i_1 = s:split(l[k], { ts.auto, random(2, 5) })
    local j_0, j_1 = s:split(l[k + 1], { ts.auto, random(2, 5) })
    s:reorder(i_0, j_0, i_1, j_1)
    if random(2) == 1 then s:fuse(i_0, j_0) end
  end,
  function(s, _, l)
    local k = random(#l - 1)
    s:fuse(l[k], l[k + 1])
  end,
  function(s, _, l)
    local k = random(#l - 1)
    s:reorder(l[random(k + 1, #l)], l[k])
  end,
  function(s, _, l) s:parallel(pick(l)) end,
  function(s, _, l) s:vectorize(l[#l]) end,
  function(s, _, l) s:loop_partition(pick(l), { random(4) }) end,
  function(s, b, _, other) s:compute_at(b, pick(other)) end,
  function(s, b, _, other) s:reverse_compute_at(b, pick(other)) end,
  function(s, b) s:cache_read(b, 0, pick { "local", "global" }) end,
  function(s, b) s:cache_write(b, 0, pick { "local", "global" }) end,
  function(s, b) if random(4) == 1 then s:compute_inline(b) end end,
  function(s, _, l)
    local blocks, threads = s:split(pick(l), { ts.auto, random(2, 4) })
    s:bind(blocks, pick { "blockIdx.x", "blockIdx.y" })
    s:bind(threads, pick { "threadIdx.x", "threadIdx.y" })
  end,
}

-- One primitive, or a few; what is refused is left out.
local function step(s)
  local blocks = {}
  for name in tostring(s):gmatch "block ([%w_]+)" do
    blocks[#blocks + 1] = s:get_block(name)
  end
  local block = pick(blocks)
  return pcall(pick(steps), s, block, { s:get_loops(block) },
               { s:get_loops(pick(blocks)) })
end

-- ---- the check ------------------------------------------------------------

local function drawn_sizes(k)
  local size = { random(9), random(9), random(6) }
  if k < 3 then size[k] = 1 end
  return size
end

-- In the interpreter at five sets of sizes; now and then also as compiled code,
-- and, bound to threads, lowered.
local function check(name, s, p, compiled)
  local all = {}
  for k = 1, 5 do
    all[k] = checks.arguments(program(name, table.unpack(drawn_sizes(k))),
                              "integers")
  end
  if not tostring(s):find "Idx%.[xyz]%(" then
    local f = compiled and checks.exact or checks.exact_by_interpreter
    return f(s, p, table.unpack(all))
  end
  checks.exact_by_interpreter(s, p, table.unpack(all))
  local ok, lowered = pcall(ts.lower, s)
  if ok then checks.exact_by_interpreter(lowered, p, table.unpack(all))
  elseif lowered.code ~= "UNSUPPORTED" then error(lowered, 0) end
end

local runs = tonumber(os.getenv "TESS_RUNS") or 300
local seed = tonumber(os.getenv "TESS_SEED") or 20261123
local applied, refused = 0, 0
for k = seed, seed + runs - 1 do
  math.randomseed(k)
  local name = pick(names)
  local p = program(name, ts.size "n", ts.size "m", ts.size "l")
  local s = ts.schedule(p)
  for _ = 1, random(4, 14) do
    if step(s) then applied = applied + 1 else refused = refused + 1 end
  end
  local ok, e = pcall(check, name, s, p, k % 8 == 0)
  if not ok then
    error(("TESS_SEED=%d TESS_RUNS=1: %s\n%s"):format(k, e, s:trace()), 0)
  end
end
assert(applied > refused, applied .. " applied, " .. refused .. " refused")
