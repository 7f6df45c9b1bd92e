-- SPDX-License-Identifier: Apache-2.0
-- The modules there are, and the default space of each kind of target.
local spaces = {}

-- The schedule modules that come with Tessera.
spaces.modules = {
  "auto_inline", "multi_level_tiling", "parallel_vectorize_unroll",
}

function spaces.default(ts, target)
  local kind = tostring(target):match("^%S+")
  if kind ~= "llvm" then
    error("there is no default space for target '" .. kind .. "'", 3)
  end
  return ts.space.compose {
    require "modules.auto_inline" {},
    require "modules.multi_level_tiling" { pack = true },
    require "modules.parallel_vectorize_unroll" {},
  }
end

return spaces
