-- SPDX-License-Identifier: Apache-2.0
-- NaN has a place in the order of top_k: what is selected is a permutation, and
-- NaN is greater than all others.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local ops = require "tessera.ops"

local values = { 0 / 0, 1, 2, 1 / 0 }

local function count_nan(x, first, last)
  local n = 0
  for i = first, last do
    if x:get(i) ~= x:get(i) then n = n + 1 end
  end
  return n
end

for _, largest in ipairs { true, false } do
  local k = ts.build(ops.top_k { shape = { 3 }, k = 3, largest = largest })
  for n = 0, 63 do
    local x, seen = ts.tensor("float32", { 3 }), {}
    for i = 0, 2 do x:set(i, values[n // (1 << 2 * i) % 4 + 1]) end
    local y, index = ts.tensor("float32", { 3 }), ts.tensor("int64", { 3 })
    k(x, y, index)
    for i = 0, 2 do
      local at = index:get(i)
      assert(at >= 0 and at < 3 and not seen[at], tostring(index))
      seen[at] = true
      assert(tostring(y:get(i)) == tostring(x:get(at)), tostring(y))
    end
    local some = count_nan(x, 0, 2)
    local from = largest and 0 or 3 - some
    assert(count_nan(y, from, from + some - 1) == some, tostring(y))
  end
end

-- Scales that are no lengths are refused, and not tried.
local x = ts.placeholder("x", { 1, 4 })
for _, scale in ipairs { 0, -2, 1 / 0, 0 / 0 } do
  checks.fails("INVALID", "and must be a positive number", ops.resize, x,
               { to = { 1, 2 }, scales = { 1, scale }, mode = "linear" })
end
