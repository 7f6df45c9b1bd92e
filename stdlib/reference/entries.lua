-- SPDX-License-Identifier: Apache-2.0
-- What the reference has a page of: primitives, modules, options, functions and
-- classes.  Each is an entry { name =, summary =, page = a function that gives
-- its page }: "sch:split", "ts.sum", "trials".
local ts = require "tessera"
local options = require "tessera.lang.options"
local plugins = require "tessera.reference.plugins"
local functions = require "tessera.reference.functions"
local objects = require "tessera.reference.objects"
local statuses = require "tessera.reference.statuses"
local spaces = require "tessera.modules.spaces"

local entries = {}

-- ---- primitives ------------------------------------------------------------

local function primitives()
  local list = {}
  for i, p in ipairs(ts.primitives()) do
    list[i] = { name = "sch:" .. p.name, shown = p.name, summary = p.summary,
                call = ("sch:%s(...)"):format(p.name),
                page = function() return ts.doc(p.name) end }
  end
  return list
end

-- ---- lowering passes -------------------------------------------------------

local function pass_page(pass)
  local passes = ts.lower_passes()
  local before, after = passes[pass.number - 1], passes[pass.number + 1]
  return ("## lowering pass %s\n\n%s. It is number %d of %d: it runs %s " ..
          "and %s. `ts.lower(p, { after = %q })` and `tessera lower FILE " ..
          "--after %s` show what it makes."):format(pass.name,
         pass.summary:gsub("^%l", string.upper), pass.number, #passes,
         before and "after " .. before.name or "first",
         after and "before " .. after.name or "last", pass.name, pass.name)
end

local function passes()
  local list = {}
  for i, pass in ipairs(ts.lower_passes()) do
    list[i] = { name = "pass:" .. pass.name, shown = pass.name,
                summary = pass.summary,
                page = function() return pass_page(pass) end }
  end
  return list
end

-- ---- modules ---------------------------------------------------------------

local function literal(v)
  if type(v) == "string" then return ("%q"):format(v) end
  if type(v) == "function" then return "a function" end
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
local function module_page(name)
  local m, path = spaces.find(name)
  local lines = opening_comment(path)
  table.insert(lines, 1, "## module " .. name)
  table.insert(lines, 2, "")
  if #m.parameters > 0 then
    lines[#lines + 1] = "\n| parameter | takes | default | |"
    lines[#lines + 1] = "|---|---|---|---|"
  end
  for _, row in ipairs(m.parameters) do
    lines[#lines + 1] = ("| `%s` | %s | `%s` | %s |"):format(
                          row.name, row.takes, literal(row.default), row.help)
  end
  return table.concat(lines, "\n")
end

local function module_entry(name, path)
  return { name = name, summary = opening_comment(path)[1],
           page = function() return module_page(name) end }
end

-- Those that come along, and the one of that name that the user may have.
local function modules(wanted)
  local list = {}
  for i, name in ipairs(spaces.modules) do
    local _, path = spaces.find(name)
    list[i] = module_entry(name, path)
    if name == wanted then wanted = nil end
  end
  local own, path
  if wanted then own, path = spaces.find(wanted) end
  if own then list[#list + 1] = module_entry(wanted, path) end
  return list
end

-- ---- options ---------------------------------------------------------------

local function option_page(o)
  return ("## option %s (tessera tune%s)\n\n%s.\n\nDefault: %s. Type in " ..
          "Lua: `%s`%s.")
         :format(o.name, o.flag and " --" .. o.flag or
                 ": " .. o.instead, o.help:gsub("^%l", string.upper), o.default,
                 (o.type:gsub("|", " | ")),
                 o.most and ", 1 .. " .. o.most or "")
end

local function option_entries()
  local list = {}
  for i, o in ipairs(options.list) do
    list[i] = { name = o.name, also = o.flag, summary = o.help,
                page = function() return option_page(o) end }
  end
  return list
end

-- ---- strategies ------------------------------------------------------------

-- "integer, 1 .. 4096" or "ei|lcb".
local function range_of(o)
  if o.words == "" then return "text, the last" end
  if o.words then return o.words:gsub("|", " \\| ") end
  return ("%s, %.10g .. %.10g"):format(o.integer and "integer" or "number",
                                       o.least, o.most)
end

local function default_of(o)
  if o.words == "" then return "TEXT" end
  if not o.words then return ("%.10g"):format(o.default) end
  local words = {}
  for w in o.words:gmatch "[^|]+" do words[#words + 1] = w end
  return words[math.tointeger(o.default) + 1]
end

local function strategy_page(x)
  local lines = {
    "## strategy " .. x.name, "",
    ("%s."):format(x.summary:gsub("^%l", string.upper)), "" }
  if #x.options == 0 then lines[#lines + 1] = "It has no options." end
  if #x.options > 0 then
    local o, last = x.options[1], x.options[#x.options]
    if last.words == "" then o = last end
    local value = default_of(o)
    lines[#lines + 1] = ("`strategy = { name = %q, %s = %s }`, " ..
                         "`--strategy %s:%s=%s`."):format(
                           x.name, o.name, o.words == "" and '"TEXT"' or value,
                           x.name, o.name, value)
    lines[#lines + 1] = "\n| option | takes | default | |"
    lines[#lines + 1] = "|---|---|---|---|"
  end
  for _, o in ipairs(x.options) do
    lines[#lines + 1] = ("| `%s` | %s | %s | %s |"):format(
                          o.name, range_of(o), default_of(o), o.help)
  end
  return table.concat(lines, "\n")
end

local function strategies()
  local list = {}
  for i, x in ipairs(ts.strategies()) do
    list[i] = { name = x.name, also = "strategies", summary = x.summary,
                page = function() return strategy_page(x) end }
  end
  return list
end

local function intrinsics()
  local names = require("tessera.intrin").names()
  return require("tessera.intrin.kit").pages(names)
end

-- ---- all of it -------------------------------------------------------------

-- Lines that name what begins with the prefix, "ts.space." or "trace:".
function entries.calls_of(list, prefix)
  local lines = {}
  for _, e in ipairs(list) do
    if e.call and e.name:find(prefix, 1, true) == 1 then
      lines[#lines + 1] = ("- `%s`: %s"):format(e.call, e.summary)
    end
  end
  return lines
end

-- What is typed while stepping.
local function commands()
  local lines = { "", "At the prompt of `tessera step`:", "" }
  for _, c in ipairs(require("tessera.step.prompt").commands) do
    lines[#lines + 1] = ("- `%s`: %s"):format(c[1], c[2])
  end
  return lines
end

local function classes(all)
  local list = objects.entries()
  for _, e in ipairs(list) do
    local page = e.page
    e.page = function()
      return page(entries.calls_of(all, e.name .. ":"),
                  e.name == "stepper" and commands() or {})
    end
  end
  return list
end

-- All entries in one list, and the sections that the index shows them in;
-- `wanted` may be a module of the user's.
function entries.all(wanted)
  local all = {}
  local sections = {
    { "primitives (sch:NAME):", primitives() },
    { "modules (require \"tessera.modules.NAME\"):", modules(wanted) },
    { "lowering passes, in order (ts.lower, tessera lower --after):",
      passes() },
    { "options of ts.tune and tessera tune:", option_entries() },
    { "strategies (ts.tune{ strategy = NAME }):", strategies() },
    { "strategies and cost models in Lua:", plugins.entries() },
    { "what functions take and give:", classes(all) },
    { "operators (require \"tessera.ops\"):", functions.operators() },
    { "tensor intrinsics (require \"tessera.intrin\"):", intrinsics() },
    { "other functions:", functions.entries() },
    { "statuses (e.code, result.status, classes of measurements):",
      statuses.codes() },
    { "reasons beside those of primitives (e.reason, result.funnel):",
      statuses.reasons() },
  }
  for _, section in ipairs(sections) do
    table.move(section[2], 1, #section[2], #all + 1, all)
  end
  return all, sections
end

return entries
