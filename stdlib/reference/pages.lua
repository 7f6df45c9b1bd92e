-- SPDX-License-Identifier: Apache-2.0
-- The reference of `tessera doc` (primitives, modules, options, functions and
-- classes) and the stubs for editors.  Each is an entry { name =, summary =,
-- page = a function that gives its page }: "sch:split", "ts.sum", "trials".
local ts = require "tessera"
local options = require "tessera.lang.options"
local words = require "tessera.lang.words"
local plugins = require "tessera.reference.plugins"
local functions = require "tessera.reference.functions"
local objects = require "tessera.reference.objects"
local chapters = require "tessera.reference.chapters"
local statuses = require "tessera.reference.statuses"
local spaces = require "tessera.modules.spaces"

local reference = {}

reference.options = options.list

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
  for i, o in ipairs(reference.options) do
    list[i] = { name = o.name, also = o.flag, summary = o.help,
                page = function() return option_page(o) end }
  end
  return list
end

-- ---- strategies ------------------------------------------------------------

-- "integer, 1 .. 4096" or "ei|lcb".
local function range_of(o)
  if o.words then return o.words:gsub("|", " \\| ") end
  return ("%s, %.10g .. %.10g"):format(o.integer and "integer" or "number",
                                       o.least, o.most)
end

local function default_of(o)
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
    local o = x.options[1]
    lines[#lines + 1] = ("`strategy = { name = %q, %s = %s }`, " ..
                         "`--strategy %s:%s=%s`."):format(
                           x.name, o.name, default_of(o), x.name, o.name,
                           default_of(o))
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
local function calls_of(entries, prefix)
  local lines = {}
  for _, e in ipairs(entries) do
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

local function classes(entries)
  local list = objects.entries()
  for _, e in ipairs(list) do
    local page = e.page
    e.page = function()
      return page(calls_of(entries, e.name .. ":"),
                  e.name == "stepper" and commands() or {})
    end
  end
  return list
end

-- All entries in one list, and the sections that the index shows them in;
-- `wanted` may be a module of the user's.
local function everything(wanted)
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

-- ---- pages -----------------------------------------------------------------

-- Adds the pages of the entries that fit.
local function add_pages(pages, entries, fits)
  for _, e in ipairs(entries) do
    if fits(e) then pages[#pages + 1] = e.page() end
  end
end

-- The pages of what bears the name.  Behind a dot or a colon, where nothing is
-- called so, the word alone tells: code writes db:records of a database.
local function named(entries, name, word, mark)
  local pages = {}
  local function ends(e)
    return e.name:match "[.:][%w_]+$" == (mark or e.name:match "[.:]") .. word
  end
  add_pages(pages, entries, function(e)
    return e.name == name or e.also == name
  end)
  if mark and #pages > 0 then return pages end
  add_pages(pages, entries, function(e)
    return e.name ~= name and e.name:find "[.:]" and ends(e)
  end)
  local members = calls_of(entries, name .. ".")
  if #members > 0 then
    pages[#pages + 1] = ("## %s\n\n%s"):format(name,
                                               table.concat(members, "\n"))
  end
  return pages
end

-- What code writes with a colon, said with a dot: program.flops.
local function coloned(name) return (name:gsub("%.([%w_]+)$", ":%1")) end

-- What comes along with Lua is none of ours: os.time.
local function is_of_lua(name)
  local library, word = name:match "^(%w+)%.(%w+)$"
  local t = package.loaded[library]
  return type(t) == "table" and t == _G[library] and t[word] ~= nil
end

-- The name of what a row of a page is about, and what it says of it: rows
-- begin "- `pad`:" or, in tables, "| `pad` |".
local function row_of(line)
  local about, text = line:match "^%- `([^`(]+)`(.*)$"
  if about then return about, "- `" .. about .. "`" .. text end
  local kind, default
  about, kind, default, text =
    line:match "^| `([^`]+)` | (.-) | (.-) | (.*) |$"
  return about, about and ("- `%s` (%s; %s): %s"):format(about, kind, default,
                                                         text)
end

-- Operands, parameters, options, fields and commands of that name, each under
-- the name of the entry whose page has it.
local function rows(entries, word)
  local lines = {}
  local pattern = "%f[%w_]" .. word:gsub("%-", "%%-") .. "%f[^%w_]"
  for _, e in ipairs(entries) do
    for line in e.page(true):gmatch "[^\n]+" do
      local about, text = row_of(line)
      if about and about:find(pattern) then
        lines[#lines + 1] = ("`%s` has\n\n%s\n"):format(e.name, text)
      end
    end
  end
  return lines
end

-- Those of the entry of that name alone.
local function rows_of(entries, name, word)
  local own = {}
  for _, e in ipairs(entries) do
    if e.name == name then own[#own + 1] = e end
  end
  return rows(own, word)
end

local function chapter_page(name, lines)
  return ("## %s\n\n%s"):format(name, table.concat(lines, "\n"))
end

-- What the pages of others, and then the chapters, have of a name without a
-- page; nil: nothing.  A field has a dot, and behind a colon it is one of the
-- class that is named; a dot may also stand for the colon of a method.
local function elsewhere(entries, name, word, mark)
  local lines = mark == ":" and rows_of(entries, name:match "^(.*):", word) or
                is_of_lua(name) and {} or rows(entries, word)
  if #lines > 0 then return chapter_page(name, lines) end
  if mark == "." and not is_of_lua(name) then
    local pages = named(entries, coloned(name), word, ":")
    if #pages > 0 then return table.concat(pages, "\n\n") end
  end
  if mark == ":" then -- operators are methods of a graph, too
    local pages = {}
    add_pages(pages, entries, function(e) return e.name == "ops." .. word end)
    if #pages > 0 then return pages[1] end
  end
  lines = chapters.lines(word, mark)
  if #lines == 0 then return nil end
  table.insert(lines, 1, "No page of its own; chapters that mention it:\n")
  return chapter_page(name, lines)
end

-- A name as it was given, without what stands around it: "--db", "-num-cores"
-- of a target, "split()".
local function bare(name)
  local code = name:match "^TESS_(%u+[%u_]*)$" -- as C has it
  if code and statuses.is_code(code) then return code end
  return (name:gsub("^%-%-", ""):gsub("^%-(%w%w)", "%1"):gsub("%b()$", ""))
end

-- The pages of a name, in full or its last part, as "sch:split", "ts.sum",
-- "p:save", "split" or "--db"; else the chapters that mention it; nil for none.
function reference.page(name)
  name = bare(name)
  if name == "chapters" then return chapters.index() end
  local mark, word = name:match "([.:])([%w_]+)$"
  word = word or name
  local entries = everything(not mark and name or nil)
  local pages = {}
  if mark == "." then
    add_pages(pages, entries, function(e) return e.name == coloned(name) end)
  end
  if #pages == 0 then pages = named(entries, name, word, mark) end
  if #pages > 0 then return table.concat(pages, "\n\n") end
  if not word:find "^[%w_][%w_-]*$" then return nil end
  return elsewhere(entries, name, word, mark)
end

-- ---- names that do not exist -----------------------------------------------

-- A name's last part, "split" of "sch:split".
local function last_part(name) return name:match "([^.:]+)$" or name end

-- What has all the words in its name, then what has them in name and first
-- line together, each in the order of the index.
function reference.parts(words)
  local list, others = {}, {}
  for i, word in ipairs(words) do words[i] = bare(word) end
  for _, e in ipairs((everything())) do
    if chapters.has(e.name, words) then
      list[#list + 1] = e
    elseif chapters.has(e.name .. " " .. e.summary, words) then
      others[#others + 1] = e
    end
  end
  return table.move(others, 1, #others, #list + 1, list)
end

-- The least distance from a name's last part, or a word of it.
local function nearness(word, name)
  local part = last_part(name):lower()
  local least = words.distance(word, part)
  for piece in part:gmatch "[^_]+" do
    if #piece > 4 then least = math.min(least, words.distance(word, piece)) end
  end
  return least
end

-- Names that are nearly this one, the nearest first.
function reference.near(name)
  local list, word = {}, last_part(bare(name)):lower()
  for i, e in ipairs((everything())) do
    local d = nearness(word, e.name)
    if words.is_slip(#word, d) then
      list[#list + 1] = { name = e.name, key = d * 10000 + i }
    end
  end
  table.sort(list, function(a, b) return a.key < b.key end)
  for i = 1, #list do list[i] = i <= 3 and list[i].name or nil end
  return list
end

function reference.index()
  local lines = {}
  local _, sections = everything()
  for _, section in ipairs(sections) do
    lines[#lines + 1] = section[1]
    for _, e in ipairs(section[2]) do
      lines[#lines + 1] = ("  %-26s %s"):format(e.shown or e.name, e.summary)
    end
  end
  return table.concat(lines, "\n")
end

-- Declarations of all of it for editors; the file returns what schedules do.
function reference.stubs()
  local schedule, rest = ts.stubs():match("^(.*\n)(return [^\n]*\n)$")
  return table.concat {
    schedule, objects.stubs(), "\n---@class tessera\nlocal ts = {}\n",
    plugins.stubs(), functions.stubs(), "\n", rest,
  }
end

return reference
