-- SPDX-License-Identifier: Apache-2.0
-- `tessera --help`, and the page of a command, from its declaration.
local declared = require "tessera.command.declared"

local help = {}

local WIDTH = 79

-- The text in lines of at most WIDTH columns, each indented by so much.
local function wrapped(text, indent)
  local lines, line = {}, ""
  for word in text:gmatch "%S+" do
    if line ~= "" and indent + #line + 1 + #word > WIDTH then
      lines[#lines + 1], line = line, word
    else
      line = line == "" and word or line .. " " .. word
    end
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n" .. (" "):rep(indent))
end

-- "--trials N".
function help.spelled(o)
  return (#o.name > 1 and "--" or "-") .. o.name ..
         (o.shown and " " .. o.shown or "")
end

local COLUMN = 26

local function option_lines(list, indent)
  local lines = {}
  for _, o in ipairs(list) do
    local head = (" "):rep(indent) .. help.spelled(o)
    local at = math.max(#head + 2, COLUMN)
    if at > COLUMN + 8 then
      lines[#lines + 1], head, at = head, "", COLUMN
    end
    lines[#lines + 1] = head .. (" "):rep(at - #head) .. wrapped(o.help, at)
  end
  return lines
end

local function usage_of(c, w)
  local parts = { "tessera", c.name, w and w.name, (w or c).takes }
  local text = {}
  for i = 1, 4 do
    if parts[i] and parts[i] ~= "" then text[#text + 1] = parts[i] end
  end
  local some = #declared.options(c.name, w and w.name) > 0
  return table.concat(text, " ") .. (some and " [OPTION...]" or "")
end

local function capitalized(text)
  return text:sub(1, 1):upper() .. text:sub(2) ..
         (text:find "[.?]$" and "" or ".")
end

local function add(lines, more)
  table.move(more, 1, #more, #lines + 1, lines)
end

-- The words of a command, each with its options.
local function word_lines(c)
  local lines = {}
  for _, w in ipairs(c.words) do
    lines[#lines + 1] = ""
    lines[#lines + 1] = "  " .. usage_of(c, w)
    lines[#lines + 1] = "      " .. wrapped(capitalized(w.summary), 6)
    add(lines, option_lines(declared.options(c.name, w.name), 6))
  end
  return lines
end

-- What `tessera NAME --help` says.
function help.page(name)
  local c = declared.by_name[name]
  local lines = { "usage: " .. usage_of(c), "",
                  wrapped(capitalized(c.summary), 0) }
  if c.what then lines[#lines + 1] = "FILE: " .. c.what .. "." end
  if c.words then add(lines, word_lines(c)) end
  local options = declared.options(name)
  if #options > 0 then add(lines, { "", "Options:" }) end
  add(lines, option_lines(options, 2))
  add(lines, { "", "Example:", "  " .. c.example })
  if c.chapter then
    add(lines, { "", ("More: tessera doc %s"):format(c.chapter) })
  end
  return table.concat(lines, "\n")
end

-- What `tessera --help` says.
function help.index()
  local lines = {
    "usage: tessera FILE.lua [ARG...]   run a script",
    "       tessera                     a prompt",
    "       tessera COMMAND ...         one of these:", "" }
  for _, c in ipairs(declared.list) do
    lines[#lines + 1] = ("  %-8s"):format(c.name) .. wrapped(c.summary, 10)
  end
  add(lines, { "",
    "tessera COMMAND --help says what it takes, with an example.",
    "",
    "  --verbose   with any of them: errors with the program, the place " ..
      "marked, and",
    "              your own frames; with db: also why records failed",
    "  --version   of which release it is, and how it was built" })
  return table.concat(lines, "\n")
end

return help
