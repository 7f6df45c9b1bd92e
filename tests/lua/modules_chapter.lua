-- SPDX-License-Identifier: Apache-2.0
-- docs/modules.md says what there is: a row for each function that tiling
-- modules share and for each annotation.
local root = arg[0]:gsub("[^/]*$", "../../")

local function read(path)
  local f <close> = assert(io.open(root .. path))
  return f:read "a"
end

local chapter = read "docs/modules.md"

for name in pairs(require "tessera.tiling") do
  assert(chapter:find("| `tiling." .. name .. "(", 1, true),
         "docs/modules.md has no row of tiling." .. name)
end

-- ---- annotations -----------------------------------------------------------

local known, documented = {}, {}
for key in read "ir/annotations.def":gmatch '\nANNOTATION%("([%l_]+)"' do
  known[key] = true
end
local section = chapter:match "\n## Annotations\n(.-)\n## "
for cell in section:gmatch "\n| ([^|]*) |" do
  for key in cell:gmatch "`([%l_]+)`" do documented[key] = true end
end
for key in pairs(known) do
  assert(documented[key], "docs/modules.md has no row of annotation " .. key)
end
for key in pairs(documented) do
  assert(known[key], "ir/annotations.def has no annotation " .. key)
end
assert(next(known))
