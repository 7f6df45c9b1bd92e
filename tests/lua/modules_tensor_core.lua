-- SPDX-License-Identifier: Apache-2.0
-- use_tensor_core: a known trace is a point of its sketches, and what they make
-- of products and convolutions computes the same, padded where it must be.
local ts = require "tessera"
local ops = require "tessera.ops"
local searching = dofile((arg[0]:gsub("[^/]*$", "../support/searching.lua")))
local steps = searching.steps

local function use(name, params)
  return require("tessera.modules." .. name)(params)
end

-- The layer of examples/bert_dense.lua, and its schedule by hand.
local example = assert(io.open((arg[0]:gsub("[^/]*$",
                                            "../../examples/bert_dense.lua"))))
local source = example:read "a":match "^(.-)%-%- At its real size"
example:close()
local dense, by_hand = load(source .. "\nreturn dense, schedule")()

local function space(params)
  return { use("use_tensor_core", params), use "auto_inline",
           use("auto_inline", { into_producer = true }) }
end

-- The trace with these decisions, in order.
local function decided(t, decisions)
  local n = 0
  for i = 1, #t do
    if t[i].name:find "^sample_" then
      n = n + 1
      t = t:with_decision(i, decisions[n])
    end
  end
  assert(n == #decisions, n)
  return t
end

-- At its real size: MetaSchedule's trace.
do
  local p = dense(1024, 4096, 1024)
  local sch = ts.schedule(p)
  local tiles = { i = { 8, 1, 2, 2, 2 }, j = { 1, 32, 4, 2, 1 },
                  k = { 32, 2, 1 } }
  by_hand(sch, tiles)
  local found = 0
  for _, t in ipairs(ts.space.sketches(space(), p)) do
    local s = decided(t, { tiles.i, tiles.j, tiles.k, 0, 2, 2 }):replay(p)
    found = found + (s:program():equal(sch:program()) and 1 or 0)
  end
  assert(found == 1, found)
end

-- Scaled down, with and without the intrinsics, as a device runs it.
local function same(p, params, how_many, kernels)
  local list = ts.space.sketches(space(params), p)
  assert(#list == how_many, #list)
  for _, t in ipairs(list) do
    local done = 0
    for seed = 1, 2 do
      local ok, s = pcall(t.replay, t, p, { resample = true, seed = seed })
      assert(ok or s.code == "REFUSED", s)
      if ok then
        assert(ts.equivalent(s, p))
        if kernels then assert(ts.equivalent(ts.lower(s), p)) end
        done = done + 1
      end
    end
    assert(done > 0, t)
  end
  return list
end
same(dense(32, 32, 32), {}, 2)
local list = same(dense(32, 32, 32), { tensorize = true }, 2, true)
assert(steps(list[1], "tensorize") == 2)
same(dense(32, 16, 32), { pipeline = false }, 2)
same(ops.matmul { m = 20, n = 16, k = 24, dtype = "float16",
                  acc = "float16" }, {}, 2)
same(ops.conv2d_nhwc { n = 1, h = 4, w = 4, ci = 16, co = 16, k = 1,
                       dtype = "float16", acc = "float16" },
     { groups = { "f16f16f16" } }, 1)

local text = ts.space.explain({ use "use_tensor_core" },
                              ops.matmul { m = 16, n = 16, k = 16 })
assert(text:find("C: not applicable: f16f16f16: a buffer has another type", 1,
                 true), text)
