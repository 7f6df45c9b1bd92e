-- SPDX-License-Identifier: Apache-2.0
-- The list of the modules in this folder, and the default space of each kind of
-- target; stdlib/ loads it on first use.
local ts = require "tessera"
local spaces = {}

-- The schedule modules that come with Tessera.
spaces.modules = {
  "auto_inline", "multi_level_tiling", "parallel_vectorize_unroll",
}

-- The module of this name, and its file; nil where there is none.
function spaces.find(name)
  local path = package.searchpath("modules." .. name, package.path)
  local m = path and require("modules." .. name)
  if type(m) == "table" and m ~= spaces then return m, path end
end

-- nil where there is none.
function spaces.default(target)
  if tostring(target):match("^%S+") ~= "llvm" then return nil end
  return ts.space.compose {
    require "modules.auto_inline" {},
    require "modules.multi_level_tiling" { pack = true },
    require "modules.parallel_vectorize_unroll" {},
  }
end

return spaces
