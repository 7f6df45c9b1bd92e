-- SPDX-License-Identifier: Apache-2.0
-- Reference of functions (calls.lua) and operators: entries of pages and the
-- index, and stubs for editors, made of their rows.
local options = require "tessera.lang.options"
local declare = require "tessera.ops.declare"
local rows = require "tessera.reference.calls"

local functions = {}

local function name_of(row) return row[1]:match("^[^(]+") end

-- "- `pad`: rows and columns of zeros; integer, 0 if left out".
local function option_line(o)
  return ("- `%s`: %s; %s%s"):format(o.name, o.help, o.type,
         o.default and ", " .. o.default .. " if left out" or "")
end

-- `brief`: without the run of the example.
local function page(row, brief)
  local lines = { "## " .. row[1], "", row[3], "" }
  for line in (row.says or ""):gmatch "[^\n]+" do
    lines[#lines + 1] = "    " .. line
  end
  if row.says then lines[#lines + 1] = "" end
  if row[2] ~= "" then
    lines[#lines + 1] = ("- returns `%s`"):format(row[2])
  end
  if row.on_tensors then
    lines[#lines + 1] = ("- on tensors: `%s`"):format(row.on_tensors)
  end
  for _, o in ipairs(options.of[name_of(row)] or {}) do
    lines[#lines + 1] = option_line(o)
  end
  lines[#lines + 1] = ("- more in docs/%s.md"):format(row[4])
  if row.example and not brief then
    lines[#lines + 1] = "\n" .. row.example()
  end
  return table.concat(lines, "\n")
end

-- ---- operators -------------------------------------------------------------

-- What a piece of Lua prints.
local function printed(text, name)
  local lines = {}
  local env = setmetatable({
    print = function(...)
      local parts = table.pack(...)
      for i = 1, parts.n do parts[i] = tostring(parts[i]) end
      lines[#lines + 1] = table.concat(parts, " ") .. "\n"
    end,
  }, { __index = _G })
  assert(load(text, "=" .. name, "t", env))()
  return table.concat(lines)
end

-- An operator's example, and what it prints when it is run here and now.
local function shown_example(o)
  local text = declare.example(o)
  return ("```lua\n%s```\n\nprints\n\n```output\n%s```"):format(text,
         printed(text, o.name))
end

-- The rows of operators; their families are only loaded when asked for.
local function operators()
  require "tessera.ops"
  local list = {}
  for i, o in ipairs(declare.list) do
    list[i] = { ("ops.%s(options)"):format(o.name), "tessera.Program",
                o.summary, "operators", says = o.says,
                on_tensors = declare.call(o),
                example = function() return shown_example(o) end }
  end
  return list
end

local function entries_of(of)
  local list = {}
  for i, row in ipairs(of) do
    list[i] = { name = name_of(row), call = row[1], summary = row[3],
                page = function(brief) return page(row, brief) end }
  end
  return list
end

-- What an index has of each: { name =, call =, summary =, page = a function }.
function functions.entries() return entries_of(rows) end
function functions.operators() return entries_of(operators()) end

-- ---- stubs -----------------------------------------------------------------

local function add_stub(lines, row)
  local name = name_of(row):gsub("^%l+:", function(object)
    return object == "sch:" and "Schedule:" or object:gsub("^%l", string.upper)
  end)
  lines[#lines + 1] = "\n---" .. row[3]
  local call = row[1]:match("%b()")
  if not call then
    lines[#lines + 1] = ("---@type %s\n%s = nil"):format(row[2], name)
    return
  end
  local names = {}
  for n in call:gsub("[][()]", ""):gmatch("[^,%s]+") do
    names[#names + 1] = n
  end
  local fields = {}
  for i, o in ipairs(options.of[name_of(row)] or {}) do
    fields[i] = o.name .. (o.default and "?: " or ": ") .. o.type
  end
  if #fields > 0 then
    lines[#lines + 1] = ("---@param options { %s }"):format(
                          table.concat(fields, ", "))
  end
  if row[2] ~= "" then lines[#lines + 1] = "---@return " .. row[2] end
  lines[#lines + 1] = ("function %s(%s) end"):format(name,
                                                     table.concat(names, ", "))
end

-- Declarations for the Lua language server, behind those of the classes and of
-- `ts`.
function functions.stubs()
  local lines = { "ts.trace, ts.space = {}, {}",
                  "local ops, intrin, tensor = {}, {}, {}" }
  for _, row in ipairs(rows) do add_stub(lines, row) end
  for _, row in ipairs(operators()) do add_stub(lines, row) end
  return table.concat(lines, "\n") .. "\n"
end

return functions
