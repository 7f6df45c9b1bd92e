-- SPDX-License-Identifier: Apache-2.0
-- Golden cases: what each primitive's example makes of a program, before and
-- after, as tests/golden/<primitive>.txt has it.  TESSERA_GOLDEN=write writes
-- the files anew; look at the difference before you commit it.
local ts = require "tessera"
local here = arg[0]:gsub("[^/]*$", "")
local programs = dofile(here .. "../support/example_programs.lua")
local write = os.getenv "TESSERA_GOLDEN" == "write"

-- The schedule after the example; nil where it does not apply.
local function run(text, program)
  local sch = ts.schedule(program, { seed = 1 })
  local env = setmetatable({ sch = sch, ts = ts }, { __index = _G })
  return pcall(assert(load(text, "=example", "t", env))) and sch or nil
end

-- The first program that the example applies to, before and after.
local function case(p)
  for _, program in ipairs(programs) do
    local sch = run(p.example, program)
    if sch then
      return table.concat({ "-- schedule", p.example:gsub("%s+$", ""),
                            "-- before", tostring(program):gsub("%s+$", ""),
                            "-- after",
                            tostring(sch:program()):gsub("%s+$", ""), "" },
                          "\n")
    end
  end
  error(p.name .. ": its example applies to no program")
end

-- The first line that differs, of both.
local function difference(was, is)
  local a, b = was:gmatch "[^\n]*", is:gmatch "[^\n]*"
  while true do
    local x, y = a(), b()
    if x ~= y then return ("  was: %s\n  is:  %s"):format(x, y) end
    if not x then return "" end
  end
end

local wrong, seen = {}, 0
for _, p in ipairs(ts.primitives()) do
  local path = here .. "../golden/" .. p.name .. ".txt"
  local text = case(p)
  if write then
    local f <close> = assert(io.open(path, "w"))
    f:write(text)
  else
    local f <close> = assert(io.open(path), "no golden case: " .. path)
    local was = f:read "a"
    if was ~= text then
      wrong[#wrong + 1] = p.name .. "\n" .. difference(was, text)
    end
  end
  seen = seen + 1
end
assert(seen >= 50, "only " .. seen .. " primitives")
assert(#wrong == 0, "not as in tests/golden:\n" .. table.concat(wrong, "\n"))
