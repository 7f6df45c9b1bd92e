-- SPDX-License-Identifier: Apache-2.0
-- Labels: slow
-- Operators in the default spaces: each that has no plain loops in tests/naive
-- has sketches for llvm and opencl, and candidates, tuned, all compute what the
-- interpreter does.
--   tessera tests/lua/ops_tuned.lua [NAME]
local ts = require "tessera"
local ops = require "tessera.ops"
local here = arg[0]:gsub("[^/]*$", "")
local op_rows = dofile(here .. "../support/op_rows.lua")
local checked = dofile(here .. "../support/checks.lua").checked

-- The inputs of a row, as ts.tune takes them.
local function inputs_of(row, program)
  local list = {}
  for i, t in ipairs(op_rows.arguments(row, program)) do
    if program:params()[i].role ~= "output" then list[#list + 1] = t end
  end
  return list
end

local function tune(row, program)
  local result = ts.tune(program, {
    trials = 2, seed = 1, check = "all", min_time = 0.0001,
    inputs = inputs_of(row, program), progress = function() end })
  local classes = result.classes
  if not classes:find '^{"OK": %d}$' then
    error(("%s: %s"):format(op_rows.told(row), classes), 0)
  end
end

local opencl = ts.space.default "opencl"
local seen, number = {}, 0
for _, row in ipairs(op_rows.rows) do
  if row.alone and not seen[row.name] and (not arg[1] or arg[1] == row.name)
  then
    seen[row.name], number = true, number + 1
    -- A checked build tries some of them.
    if not checked or number % 4 == 0 then
      local program = ops[row.name](row.options)
      assert(#ts.space.sketches(opencl, program, "opencl") > 0, row.name)
      tune(row, program)
    end
  end
end
print(number .. " operators")
assert(arg[1] or number > 50)
