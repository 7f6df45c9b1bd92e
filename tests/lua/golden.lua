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

-- What changes no program, or by whose example it ends as it began.
local keeps = {
  disallow_dynamic_loop = true, enter_postproc = true, guard = true,
  unannotate = true, verify_chip_buffers = true, verify_gpu_code = true,
}

-- The first program that the example changes, before and after; or the first
-- that it applies to, for what keeps programs.
local function case(p)
  local kept
  for _, program in ipairs(programs) do
    local sch = run(p.example, program)
    if sch then
      local before, after = tostring(program), tostring(sch:program())
      local text = table.concat({ "-- schedule", p.example:gsub("%s+$", ""),
                                  "-- before", before:gsub("%s+$", ""),
                                  "-- after", after:gsub("%s+$", ""), "" },
                                "\n")
      if before ~= after then return text end
      kept = kept or text
    end
  end
  assert(kept, p.name .. ": its example applies to no program")
  assert(keeps[p.name] or p.name:find "^get_" or p.name:find "^sample_",
         p.name .. ": its example changes no program")
  return kept
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
