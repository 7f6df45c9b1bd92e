-- SPDX-License-Identifier: Apache-2.0
-- Full-text search of the chapters in docs/, for `tessera doc WORD`.
local chapters = {}

chapters.names = { "installing", "tutorial", "describing", "operators",
                   "modules",
                   "searching", "proposing", "tasks", "models", "database",
                   "measuring", "fleet", "stepping", "tensor-intrinsics",
                   "gpu", "dae",
                   "embedding", "python", "adding-a-primitive",
                   "adding-a-pass", "adding-to-the-search", "architecture",
                   "benchmarks" }

-- How many lines of one chapter are shown.
local most = 3

-- They stand beside stdlib/ in the source tree, which the build tree links to,
-- and in share/doc where the parts in Lua are in share/lua/5.4.
local function open(name)
  local here = package.searchpath("tessera.reference.chapters", package.path)
  local folder = here and here:match "^(.*/)"
  if not folder then return nil end
  return io.open(folder .. "../../docs/" .. name .. ".md") or
         io.open(folder .. "../../../../doc/tessera/docs/" .. name .. ".md")
end

-- What is code in a line of prose.
local function spans_of(line)
  local spans = {}
  for span in line:gmatch "`([^`]+)`" do spans[#spans + 1] = span end
  return table.concat(spans, " ")
end

-- Adds the lines of a chapter whose code has what the pattern says.
local function look(name, pattern, lines)
  local f, fenced, n, shown = open(name), false, 0, 0
  if not f then return end
  for line in f:lines() do
    n = n + 1
    local fence = line:find "^```"
    if fence then fenced = not fenced end
    local code = (fenced or line:find "^    ") and line or spans_of(line)
    if not fence and code:find(pattern) and shown < most then
      shown = shown + 1
      lines[#lines + 1] = ("- docs/%s.md, line %d: %s"):format(name, n,
                            line:match "^%s*(.*)$")
    end
  end
  f:close()
end

-- The lines that have the word in their code; with `mark`, a dot or a colon,
-- those that have it behind that.
function chapters.lines(word, mark)
  local lines = {}
  local pattern = word:gsub("%p", "%%%0") .. "%f[^%w_]"
  pattern = mark and "%" .. mark .. pattern or "%f[%w_]" .. pattern
  for _, name in ipairs(chapters.names) do look(name, pattern, lines) end
  return lines
end

-- Whether a text has all the words, of three letters or more, in it.
function chapters.has(text, words)
  text = text:lower()
  for _, word in ipairs(words) do
    if #word < 3 or not text:find(word:lower(), 1, true) then return false end
  end
  return #words > 0
end

-- Adds the headings of a chapter that have the words, together with the line
-- that follows.
local function look_at_headings(name, words, lines)
  local f, fenced, n, heading, at = open(name), false, 0, nil, nil
  if not f then return end
  for line in f:lines() do
    n = n + 1
    if line:find "^```" then fenced = not fenced end
    if heading and line ~= "" then
      if chapters.has(heading .. " " .. line, words) then
        lines[#lines + 1] = ("- docs/%s.md, line %d: %s"):format(name, at,
                              heading)
      end
      heading = nil
    end
    if not fenced and line:find "^#" then heading, at = line, n end
  end
  f:close()
end

function chapters.headings(words)
  local lines = {}
  for _, name in ipairs(chapters.names) do
    look_at_headings(name, words, lines)
  end
  return lines
end

-- The names, each with its title.
function chapters.index()
  local lines = { "## chapters", "",
                  "`tessera doc NAME` shows one:", "" }
  for _, name in ipairs(chapters.names) do
    local f <close> = open(name)
    local title = f and f:read "l":match "^# (.*)$" or "not installed"
    lines[#lines + 1] = ("- `%s`: %s"):format(name, title)
  end
  return table.concat(lines, "\n")
end

-- A chapter as it stands, by its name, as "tutorial"; nil: there is none.
function chapters.text(name)
  for _, chapter in ipairs(chapters.names) do
    local f <close> = chapter == name and open(name) or nil
    if f then return f:read "a" end
  end
end

return chapters
