-- SPDX-License-Identifier: Apache-2.0
-- The names of the schedule modules: "tessera.modules.NAME" finds a file of
-- modules/, which stands in this folder, too.  "modules.NAME", which a folder
-- of the user's may have as well, is the same module where it would find the
-- same file.

-- Where modules/ lies besides: next to this folder.
local function beside(path)
  return (path:gsub("tessera([/\\]modules[/\\][^/\\]*)$", function(rest)
    return rest:sub(2)
  end))
end

local function is_same_file(name, path)
  local ours = package.searchpath("tessera." .. name, package.path)
  return ours and beside(ours) == path
end

local function search(name)
  if not name:find "^modules%." then return nil end
  local path = package.searchpath(name, package.path)
  if not path or not is_same_file(name, path) then return nil end
  return function() return require("tessera." .. name) end, path
end

-- Once in a state, behind the loaders that are there before files are sought.
return function()
  if package.searchers then table.insert(package.searchers, 2, search) end
end
