-- SPDX-License-Identifier: Apache-2.0
-- Integers of any size as options of operators: each is taken, or refused in
-- one line that names the operator; none wraps, nothing of Lua's own is raised.
local ts, ops = require "tessera", require "tessera.ops"
local declare = require "tessera.ops.declare"
local here = arg[0]:gsub("[^/]*$", "")
local op_rows = dofile(here .. "../support/op_rows.lua")

local extremes = { 0, -1, 2147483647, 2147483648, 1 << 40, (1 << 62) + 1,
                   math.maxinteger, math.mininteger }

local function try(name, o, what, x)
  local ok, e = pcall(ops[name], o)
  if ok then
    assert(x <= 2147483647 and x >= -2147483647,
           ("ops.%s: %s may be %d"):format(name, what, x))
    return
  end
  assert(type(e) ~= "string" and e.code and not e.message:find "\n",
         ("ops.%s: %s = %d raises %s"):format(name, what, x, tostring(e)))
end

-- A copy of options, or of a list among them, with another entry.
local function with(o, key, x)
  local copy = {}
  for k, v in pairs(o) do copy[k] = v end
  copy[key] = x
  return copy
end

local of_name = {}
for _, row in ipairs(declare.list) do of_name[row.name] = row end

local done = {}
for _, row in ipairs(op_rows.rows) do
  for _, option in ipairs(of_name[row.name].options) do
    local name, of = option.name, row.options
    local key = row.name .. " " .. name
    local whole = option.type:find "integer" or option.list
    if whole and not done[key] then
      done[key] = of[name] ~= nil
      for _, x in ipairs(extremes) do
        if type(of[name]) == "table" then
          for i = 1, #of[name] do
            try(row.name, with(of, name, with(of[name], i, x)), name, x)
          end
        elseif option.type:find "integer" then
          try(row.name, with(of, name, x), name, x)
        end
      end
    end
  end
end

local function refused(text, name, o)
  local ok, e = pcall(ops[name], o)
  assert(not ok and e.code == "INVALID" and e.message:find(text, 1, true),
         tostring(e))
end
refused("'block' is 1099511627776, beyond 2147483647", "depth_to_space",
        { n = 1, c = 4, h = 1, w = 1, block = 1 << 40 })
refused("entry 1 of 'times' is 4611686018427387905, beyond 2147483647", "tile",
        { shape = { 4 }, times = { (1 << 62) + 1 } })
