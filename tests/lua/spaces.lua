-- SPDX-License-Identifier: Apache-2.0
-- The default space of programs that do not suit a module: the log says why,
-- without a warning.
local ts = require "tessera"

local warned = {}
ts.on_warning(function(text) warned[#warned + 1] = text end)

local function product(M, N, K)
  local A, B = ts.placeholder("A", { M, K }), ts.placeholder("B", { K, N })
  local k = ts.reduce_axis("k", K)
  local C = ts.compute("C", { M, N }, function(i, j)
    return ts.sum(A(i, k) * B(k, j), k)
  end)
  return ts.program("product", { A, B }, { C })
end

local space = ts.space.default "llvm"
local n = ts.size "n"
for loop, p in pairs { i = product(n, 64, 64), j = product(64, n, 64),
                       k = product(64, 64, n) } do
  local why = space:explain(p, "llvm", { all = true })
  assert(why:find("multi_level_tiling at C: not applicable: the extent of " ..
                  "loop " .. loop .. " is not a constant\n", 1, true), why)
  assert(#space:sketches(p, "llvm") >= 1)
end

-- A loop that is not cut may be of any extent.
local tiling = require "tessera.modules.multi_level_tiling"
local once = ts.space.compose { tiling { structure = "SSR" } }
assert(once:explain(product(64, 64, n)):find("at C: applied", 1, true))
assert(once:explain(product(64, n, 64)):find("loop j is not", 1, true))

-- Nor are there tiles of a triangle's rows.
local b = ts.builder "triangle"
local A, x = b:input("A", { 64, 64 }), b:input("x", { 64, 8 })
local y = b:output("y", { 64, 8 })
b:loop("i", 0, 64, function(i)
  b:loop("j", 0, 8, function(j)
    b:loop("k", 0, i + 1, function(k)
      b:block("y", { { "vi", extent = 64, bind = i },
                     { "vj", extent = 8, bind = j },
                     { "vk", "reduce", extent = 64, bind = k } },
        function(vi, vj, vk)
          b:init(function() b:store(y, { vi, vj }, 0) end)
          b:store(y, { vi, vj }, y(vi, vj) + A(vi, vk) * x(vk, vj))
        end)
    end)
  end)
end)
local why = space:explain(b:program(), "llvm")
assert(not why:find("failed", 1, true), why)
collectgarbage()
ts.on_warning(nil)
assert(#warned == 0, warned[1])

-- Each module says of each block what it did, why not, or which of the modules
-- before it did something instead.
do
  local ops = require "tessera.ops"
  local spaces = require "tessera.modules.spaces"
  local function is_told(what, before)
    local by, why = what:match "^shadowed by ([%w_]+): (.+)$"
    return what:find "^applied, %d+ schedules?" or
           what:find "^not applicable: %S" or by and before[by] and why
  end
  for _, target in ipairs { "llvm -num-cores=4", "cuda -arch=sm_80" } do
    for _, workload in ipairs { "CBR", "SFM", "TBG" } do
      local modules, before, n = spaces.modules_for(target), {}, 0
      local p = ops.suite(workload, 1)
      local all = ts.space.explain(modules, p, target, { all = true })
      for line in all:gmatch "[^\n]+" do
        local m, block, what = line:match "^([%w_]+) at ([%w_]+): (.*)$"
        assert(m and is_told(what, before), line)
        before[m] = true
        n = n + (block == "root" and 1 or 0)
      end
      assert(n >= #modules)
    end
  end
end

-- How many sketches there are: the modules' choices multiply, so what is alike
-- is chosen together.
do
  local ops = require "tessera.ops"
  local target = "llvm -num-cores=2 -vector-bytes=32"
  local function product(m, n, k, dtype)
    return ops.matmul { m = m, n = n, k = k, dtype = dtype }
  end
  for what, p in pairs {
    ["layer_norm 7x33"] = ops.layer_norm { shape = { 7, 33 } },
    ["layer_norm 64x1024"] = ops.layer_norm { shape = { 64, 1024 } },
    ["layer_norm 1x1024"] = ops.layer_norm { shape = { 1, 1024 } },
    ["log_softmax 3x5x7"] = ops.log_softmax { shape = { 3, 5, 7 } },
    ["softmax 7x33"] = ops.softmax { shape = { 7, 33 } },
    ["NRM-1"] = ops.suite("NRM", 1), ["SFM-1"] = ops.suite("SFM", 1),
    ["DEP-3"] = ops.suite("DEP", 3), ["TBG-1"] = ops.suite("TBG", 1),
    ["matmul 1x16x1024"] = product(1, 16, 1024),
    ["matmul 1x16x1024 of bfloat16"] = product(1, 16, 1024, "bfloat16"),
    ["matmul 7x3x515 of bfloat16"] = product(7, 3, 515, "bfloat16"),
  } do
    local n = #ts.space.sketches(ts.space.default(target), p, target)
    local most = what == "DEP-3" and 48 or 33
    assert(n <= most, ("%s: %d sketches"):format(what, n))
  end
end

-- What a draw does not allow is no reason to leave a sketch out: others are
-- tried, and the best is taken.
do
  local p, applied = product(8, 8, 8), 0
  local function picky(wanted, otherwise)
    return { ts.module {
      name = "picky",
      apply = function(sch, block)
        if sch:block_info(block).name ~= "C" then return nil, "not C" end
        applied = applied + 1
        local draw = sch:sample_categorical({ 0, 1, 2 },
                                            { 1 / 3, 1 / 3, 1 / 3 })
        local copy = sch:copy()
        if copy:get(draw) == wanted then
          sch:annotate(block, "right", 1)
          return sch
        end
        return otherwise and sch, "another was drawn"
      end,
    } {} }
  end
  for wanted = 0, 3 do
    for _, otherwise in ipairs { true, false } do
      applied = 0
      local why = ts.space.explain(picky(wanted, otherwise), p, nil,
                                   { all = true })
      local t = ts.space.sketches(picky(wanted, otherwise), p)[1]
      local right = tostring(t):find '"right"'
      assert(not right == (wanted == 3), t)
      assert(not why:find "another was drawn" == (wanted < 3), why)
      assert(wanted < 3 or applied == 2 * 8, applied)
    end
  end
end

-- TVM's convolution of one dimension: the copies to shared memory, which some
-- sizes do not allow.
do
  local X = ts.placeholder("X", { 1, 256, 64 })
  local W = ts.placeholder("W", { 3, 64, 128 })
  local P = ts.compute("P", { 1, 258, 64 }, function(n, l, c)
    return ts.select(ts.all(ts.le(1, l), ts.lt(l, 257)), X(n, l - 1, c), 0)
  end)
  local a, b = ts.reduce_axis("rl", 3), ts.reduce_axis("rc", 64)
  local Y = ts.compute("Y", { 1, 128, 128 }, function(n, l, co)
    return ts.sum(P(n, l * 2 + a, (co // 128) * 64 + b) * W(a, b, co),
                  { a, b })
  end)
  local p = ts.program("c1d", { X, W }, { Y })
  local list = ts.space.sketches({ tiling {
    structure = "SSSRRSRS", vector_load_lens = { 1, 2, 3, 4, 8, 16 },
    tile_binds = { "blockIdx.x", "vthread.x", "threadIdx.x" },
    read_levels = { 4 }, write_levels = { 3 }, write_scope = "local",
    write_must = true } }, p, "cuda -arch=sm_75")
  assert(#list == 1 and tostring(list[1]):find '"shared"', list[1])
end

-- A list of sketches has a limit, which is an error.
do
  local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
  local function forks(n)
    return { ts.module {
      name = "forks",
      apply = function(sch, block)
        local list = {}
        if sch:block_info(block).name ~= "C" then return nil end
        for i = 1, n do
          list[i] = sch:copy()
          list[i]:annotate(block, "fork", i)
        end
        return list
      end,
    } {} }
  end
  local p = product(8, 8, 8)
  assert(#ts.space.sketches(forks(256), p) == 256)
  checks.fails("LIMIT", "the space has 257 sketches, more than the 256 that " ..
               "can be listed", ts.space.sketches, forks(257), p)
end
