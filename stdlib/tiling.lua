-- SPDX-License-Identifier: Apache-2.0
-- Steps that schedule modules share, in one table: what may be refused, levels
-- of tiles, copies under them, and the sketches of a multi-level tiling.
local tiling = {}

for _, part in ipairs { "attempts", "tiles", "copies", "sketches" } do
  for name, step in pairs(require("tessera.steps." .. part)) do
    tiling[name] = step
  end
end

return tiling
