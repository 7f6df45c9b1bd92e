-- SPDX-License-Identifier: Apache-2.0
-- Guards: what a module read of sampled values, and what was equal because of
-- them, must be so in a replay.
local ts = require "tessera"
local ops = require "tessera.ops"
local searching = dofile((arg[0]:gsub("[^/]*$", "../support/searching.lua")))
local p, module = searching.program, searching.module
local sketches = searching.sketches

-- Reading a sampled value in a module records a guard: a replay in which it
-- differs is refused.
do
  local list = sketches { module("reads", function(sch, block)
    if sch:block_info(block).name ~= "C" then return nil end
    local i = sch:get_loops(block)
    local u = sch:sample_categorical({ 2, 4 }, { 0.5, 0.5 })
    if sch:get(u) == 2 then sch:parallel(i) else sch:unroll(i) end
    return sch
  end) {} }
  assert(#list == 1)
  local t, at, guards = list[1], nil, 0
  for n = 1, #t do
    if t[n].name == "sample_categorical" then at = n end
    if t[n].name == "guard" then guards = guards + 1 end
  end
  assert(at and guards == 1)
  assert(t[at].decision == nil, "a sketch's decisions are open")
  local refused = 0
  for d = 0, 1 do
    local chosen = t:with_decision(at, d)
    local ok, e = pcall(chosen.replay, chosen, p)
    if not ok then
      assert(e.code == "REFUSED" and e.primitive == "guard")
      refused = refused + 1
    end
  end
  assert(refused == 1)
end

-- Loops and blocks are equal where they are the same, in copies, too; what was
-- sampled before may decide that, and is guarded then.
do
  local p = ops.matmul { m = 8, n = 8, k = 8, relu = true }
  local sch = ts.schedule(p)
  local c = sch:get_block "C"
  local i, j = sch:get_loops(c)
  local copy = sch:copy()
  local i2, j2 = copy:get_loops(copy:get_block "C")
  assert(i == i2 and i2 == i and i ~= j2 and c == copy:get_block "C")
  assert(c == sch:get_producers(sch:get_block "relu"))
  assert(c ~= sch:get_block "relu" and c ~= i)
  local f = copy:fuse(i2, j2)
  assert(f ~= i2 and f == copy:get_loops(copy:get_block "C"))
  assert(i2 ~= j2 and i2 == i2)
  local place = ts.module {
    name = "place",
    apply = function(on, block)
      if on:block_info(block).name ~= "C" then return nil, "another block" end
      local reader = on:get_consumers(block)
      local at = on:sample_compute_location(block)
      local first = on:get_loops(reader)
      on:annotate(reader, "outermost", at == first and 1 or 0)
      return on
    end,
  }
  local t = ts.space.sketches({ place {} }, p, "llvm")[1]
  local text = tostring(t)
  assert(select(2, text:gsub("sch:guard_same", "")) == 1, text)
  local kept, refused = 0, 0
  for seed = 1, 32 do
    local ok, e = pcall(t.replay, t, p, { resample = true, seed = seed })
    assert(ok or e.reason == "GUARD_SAME_DIFFERS", e)
    kept, refused = kept + (ok and 1 or 0), refused + (ok and 0 or 1)
  end
  assert(kept > 0 and refused > 0)
end
