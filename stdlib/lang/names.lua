-- SPDX-License-Identifier: Apache-2.0
-- The names of the schedule modules: "tessera.modules.NAME", which a folder
-- tessera/modules/ of the user's does not shadow, and "modules.NAME", where the
-- build writes a file each that calls names.of_tessera.
local names = {}

local folder = debug.getinfo(1, "S").source:match "^@(.*[/\\])lang[/\\]"

-- The file that `require(name)` loads; nil where there is none.
function names.path(name)
  local module = name:match "^tessera%.(modules%..+)$"
  return module and package.searchpath(module, folder .. "?.lua") or
         package.searchpath(name, package.path)
end

local function text_of(path)
  local file <close> = io.open(path, "rb")
  return file and file:read "a"
end

-- A file of the user's for "modules.NAME" further on in package.path: it is not
-- what stands in ours.
local function hidden(name, ours)
  for template in package.path:gmatch "[^;]+" do
    local path = package.searchpath(name, template)
    if path and text_of(path) ~= text_of(ours) then return path end
  end
end

-- What "modules.NAME", found in that file of ours, is.
function names.of_tessera(name, path)
  local theirs, ours = hidden(name, path), name:gsub("^modules", "tessera.%0")
  if theirs then
    error(("%s is hidden by Tessera's module of that name: give the file " ..
           "another name, or require %q"):format(theirs, ours), 0)
  end
  return require(ours)
end

-- Once in a state.
function names.install()
  local list = { "list", "spaces" }
  table.move(require "tessera.modules.list", 1, 99, 3, list)
  for _, module in ipairs(list) do
    local name = "tessera.modules." .. module
    package.preload[name] = function()
      local path = names.path(name)
      return assert(loadfile(path))(name, path)
    end
  end
end

return names
