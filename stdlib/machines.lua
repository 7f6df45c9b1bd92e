-- SPDX-License-Identifier: Apache-2.0
-- Decoupled access-execute machines as data: a file of machines/ each, and
-- those that a script defines.  A target names one, "dae -model=vta", and
-- carries its table as text, so that workers and records need no file.
local names = require "tessera.lang.names"
local machines = {}

local defined = {}

-- The machines that come with Tessera; the first is that of the target "dae".
machines.names = { "vta", "vdla", "gemmini" }

-- Defines a machine for this process.
function machines.define(t)
  if type(t) ~= "table" or type(t.name) ~= "string" or
     not t.name:match "^[%w_]+$" then
    error("machines.define: a machine is a table whose name is a word", 2)
  end
  defined[t.name] = t
  return t.name
end

-- The machine of that name; nil and why not.
function machines.get(name)
  local file = "tessera.machines." .. name
  if not defined[name] and name:match "^[%w_]+$" and names.path(file) then
    defined[name] = require(file)
  end
  if defined[name] then return defined[name] end
  local list = {}
  for known in pairs(defined) do list[#list + 1] = known end
  for _, known in ipairs(machines.names) do
    if not defined[known] then list[#list + 1] = known end
  end
  table.sort(list)
  return nil, ("target: there is no machine '%s', as -model says; there are %s")
              :format(name, table.concat(list, ", "))
end

-- A copy of the table, with what `changes` has instead.
local function changed(t, changes)
  local copy = {}
  for key, value in pairs(t) do copy[key] = value end
  for key, value in pairs(changes) do
    local old = t[key]
    copy[key] = type(value) == "table" and type(old) == "table" and
                changed(old, value) or value
  end
  return copy
end

-- The table of a machine that is like that one, but for the changes.
function machines.like(name, changes)
  local t, why = machines.get(name)
  if not t then error(why, 2) end
  if type(changes) ~= "table" then
    error("machines.like: what is to be changed is a table", 2)
  end
  return changed(t, changes)
end

local function flatten(t, prefix, list)
  for key, value in pairs(t) do
    if type(value) == "table" then
      flatten(value, prefix .. key .. ".", list)
    elseif not tostring(value):match "^[%w_.]+$" then
      error(("machines: '%s%s' is no number and no word"):format(prefix, key),
            0)
    else
      list[#list + 1] = ("%s%s=%s"):format(prefix, key,
                                           math.tointeger(value) or value)
    end
  end
  return list
end

-- The text of a table, "clock=100,fetch=1,..".
function machines.text(t)
  local list = flatten(t, "", {})
  table.sort(list)
  return table.concat(list, ",")
end

-- The table of a target's machine.
function machines.of(target)
  local text = tostring(target):match "%s%-machine=(%S+)"
  if not text then return nil end
  local t = {}
  for key, value in text:gmatch "([^,=]+)=([^,]*)" do
    local at = t
    for level in key:gmatch "([^.]+)%." do
      at[level] = at[level] or {}
      at = at[level]
    end
    at[key:match "[^.]+$"] = math.tointeger(value) or value
  end
  return t
end

-- The text of a target "dae .." with its machine's table; nil and why not.
function machines.expand(text)
  if text:find("%s%-machine=") then return text end
  local name = text:match "%s%-model=(%S+)" or machines.names[1]
  local t, why = machines.get(name)
  if not t then return nil, why end
  return text .. " -machine=" .. machines.text(t)
end

return machines
