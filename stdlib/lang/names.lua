-- SPDX-License-Identifier: Apache-2.0
-- The names of the schedule modules: "tessera.modules.NAME" finds a file of
-- modules/, which stands in the folder above, too, before any of that name on
-- package.path, as below a folder tessera/ of the user's.  "modules.NAME",
-- which a folder of the user's may have as well, is the same module where it
-- would find the same file.
local names = {}

local folder = debug.getinfo(1, "S").source:match "^@(.*[/\\])lang[/\\]"

-- The file that `require(name)` loads; nil where there is none.
function names.path(name)
  local rest = name:match "^tessera%.(modules%..+)$"
  return rest and package.searchpath(rest, folder .. "?.lua") or
         package.searchpath(name, package.path)
end

-- Where modules/ lies besides: next to the folder tessera/.
local function beside(path)
  return (path:gsub("tessera([/\\]modules[/\\][^/\\]*)$", function(rest)
    return rest:sub(2)
  end))
end

local function is_same_file(name, path)
  local ours = names.path("tessera." .. name)
  return ours and beside(ours) == path
end

local function text_of(path)
  local file <close> = io.open(path, "rb")
  return file and file:read "a"
end

-- A file of the user's for "modules.NAME" further on in package.path, with
-- other contents than ours.
local function hidden(name, ours)
  for template in package.path:gmatch "[^;]+" do
    local path = package.searchpath(name, template)
    if path and not is_same_file(name, path) and
       text_of(path) ~= text_of(ours) then
      return path
    end
  end
end

local function search(name)
  if name:find "^tessera%.modules%." then
    local path = names.path(name)
    return path and assert(loadfile(path)), path
  end
  if not name:find "^modules%." then return nil end
  local path = package.searchpath(name, package.path)
  if not path or not is_same_file(name, path) then return nil end
  local theirs = hidden(name, path)
  if theirs then
    error(("%s is hidden by Tessera's module of that name: give the file " ..
           "another name, or require 'tessera.%s'"):format(theirs, name), 0)
  end
  return function() return require("tessera." .. name) end, path
end

-- Once in a state, behind the loaders that are there before files are sought.
function names.install()
  if package.searchers then table.insert(package.searchers, 2, search) end
end

return names
