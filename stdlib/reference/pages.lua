-- SPDX-License-Identifier: Apache-2.0
-- The pages of `tessera doc`: what is found under a name, what has nearly that
-- name, the index of all, and the stubs for editors.
local ts = require "tessera"
local words = require "tessera.lang.words"
local plugins = require "tessera.reference.plugins"
local functions = require "tessera.reference.functions"
local objects = require "tessera.reference.objects"
local chapters = require "tessera.reference.chapters"
local statuses = require "tessera.reference.statuses"
local made = require "tessera.reference.entries"
local everything, calls_of = made.all, made.calls_of

local reference = {}

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
    return e.name == name or e.also == name or e.class == name
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
-- of a target, "split()", and of `require` "tessera.ops", "modules.pack".
local function bare(name)
  local code = name:match "^TESS_(%u+[%u_]*)$" -- as C has it
  if code and statuses.is_code(code) then return code end
  return (name:gsub("^%-%-", ""):gsub("^%-(%w%w)", "%1"):gsub("%b()$", "")
            :gsub("^tessera%.(%l[%w_.]*)$", "%1"):gsub("^modules%.", ""))
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
