-- SPDX-License-Identifier: Apache-2.0
-- What `tessera doc` knows beside the primitives: modules, options, and what
-- searches are extended with (plugins.lua); and the stubs for editors.
local ts = require "tessera"
local options = require "tessera.options"
local plugins = require "tessera.plugins"
local functions = require "tessera.functions"
local objects = require "tessera.objects"
local spaces = require "modules.spaces"

local reference = {}

reference.options = options.list

-- ---- modules ---------------------------------------------------------------

local function literal(v)
  if type(v) == "string" then return ("%q"):format(v) end
  if type(v) ~= "table" then return tostring(v) end
  local parts = {}
  for i, x in ipairs(v) do parts[i] = literal(x) end
  return "{ " .. table.concat(parts, ", ") .. " }"
end

-- The comment at the top of a file, without the licence.
local function opening_comment(path)
  local lines = {}
  for line in io.lines(path) do
    local comment = line:match("^%-%- ?(.*)$")
    if not comment then break end
    if not comment:match("^SPDX") then lines[#lines + 1] = comment end
  end
  return lines
end

-- A module's reference: what its file says of itself, and its parameters.
local function module_doc(name)
  local m, path = spaces.find(name)
  if not m then return nil end
  local lines = opening_comment(path)
  table.insert(lines, 1, "## module " .. name)
  table.insert(lines, 2, "")
  local keys = {}
  for k in pairs(m.defaults) do keys[#keys + 1] = k end
  table.sort(keys)
  if #keys > 0 then lines[#lines + 1] = "" end
  for _, k in ipairs(keys) do
    lines[#lines + 1] = ("- `%s` = `%s`"):format(k, literal(m.defaults[k]))
  end
  return table.concat(lines, "\n")
end

-- ---- options ---------------------------------------------------------------

local function option_doc(name)
  name = name:gsub("^%-%-", "")
  for _, o in ipairs(reference.options) do
    if name == o.name or name == o.flag then
      return ("## option %s%s\n\n%s.\n\nDefault: %s. Type in Lua: `%s`%s.")
             :format(o.name, o.flag and " (tessera tune --" .. o.flag .. ")" or
                     "", o.help:gsub("^%l", string.upper), o.default,
                     (o.type:gsub("|", " | ")),
                     o.most and ", 1 .. " .. o.most or "")
    end
  end
end

-- ---- all of it -------------------------------------------------------------

-- The page of one name, of a primitive with or without "sch:" before it; nil
-- when nothing bears it.
function reference.page(name)
  local method = name:match("^sch:(.*)$") or name
  for _, p in ipairs(ts.primitives()) do
    if p.name == method then return ts.doc(method) end
  end
  return module_doc(name) or option_doc(name) or plugins.page(name) or
         functions.page(name)
end

function reference.index()
  local lines = { "primitives (sch:NAME):" }
  for _, p in ipairs(ts.primitives()) do
    lines[#lines + 1] = ("  %-26s %s"):format(p.name, p.summary)
  end
  lines[#lines + 1] = "modules (require \"modules.NAME\"):"
  for _, name in ipairs(spaces.modules) do
    local _, path = spaces.find(name)
    lines[#lines + 1] = ("  %-26s %s"):format(name, opening_comment(path)[1])
  end
  lines[#lines + 1] = "options of ts.tune and tessera tune:"
  for _, o in ipairs(reference.options) do
    lines[#lines + 1] = ("  %-26s %s"):format(o.name, o.help)
  end
  lines[#lines + 1] = "strategies and cost models in Lua:"
  table.move(plugins.index(), 1, #plugins.index(), #lines + 1, lines)
  lines[#lines + 1] = "what functions give:"
  table.move(objects.index(), 1, #objects.index(), #lines + 1, lines)
  lines[#lines + 1] = "other functions:"
  table.move(functions.index(), 1, #functions.index(), #lines + 1, lines)
  return table.concat(lines, "\n")
end

-- Declarations of all of it for editors; the file returns what schedules do.
function reference.stubs()
  local schedule, rest = ts.stubs():match("^(.*\n)(return [^\n]*\n)$")
  return schedule .. plugins.stubs() .. functions.stubs() .. "\n" .. rest
end

return reference
