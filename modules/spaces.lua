-- SPDX-License-Identifier: Apache-2.0
-- The list of the modules in this folder, and the default space of each kind of
-- target; stdlib/ loads it on first use.
local ts = require "tessera"
local spaces = {}

-- The schedule modules that come with Tessera.
spaces.modules = {
  "add_rfactor", "apply_custom_rule", "auto_bind", "auto_inline",
  "cross_thread_reduction", "inline_constant_scalars", "multi_level_tiling",
  "parallel_vectorize_unroll", "random_compute_location",
}

-- The module of this name, and its file: of those here, else one in a folder
-- modules/ of the user's; nil where there is none.
function spaces.find(name)
  for _, prefix in ipairs { "tessera.modules.", "modules." } do
    local path = package.searchpath(prefix .. name, package.path)
    local m = path and require(prefix .. name)
    if type(m) == "table" and m ~= spaces then return m, path end
  end
end

-- nil where there is none.
function spaces.default(target)
  if tostring(target):match("^%S+") ~= "llvm" then return nil end
  return ts.space.compose {
    require "tessera.modules.apply_custom_rule" {},
    require "tessera.modules.inline_constant_scalars" {},
    require "tessera.modules.auto_inline" {},
    require "tessera.modules.add_rfactor" {},
    require "tessera.modules.multi_level_tiling" { pack = true },
    require "tessera.modules.random_compute_location" { open = false },
    require "tessera.modules.parallel_vectorize_unroll" {},
  }
end

return spaces
