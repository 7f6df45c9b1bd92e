-- SPDX-License-Identifier: Apache-2.0
-- One HTML file out of a page's parts, NAME.html beside this file with the
-- style sheets and scripts that it links to, and of the data that it shows.
local page = {}

-- Where Debian's libjs-chart.js has it.
local CHART = "/usr/share/javascript/chart.js/chart.min.js"

local function read(path)
  local f, why = io.open(path, "rb")
  if not f then return nil, why end
  local text = f:read "a"
  f:close()
  return text
end

-- The file of that name in this folder.
local function part(name)
  local here = assert(package.searchpath("tessera.page.page", package.path))
  return assert(read((here:gsub("[^/]*$", name))))
end

-- A script that stands in a page ends where it says so.
local function closed(text) return (text:gsub("</script", "<\\/script")) end

-- Chart.js; nil where it is not installed.  It names the file that its
-- debugger's map is in, which is not there.
local function chart()
  local text = read(os.getenv "TESSERA_CHART_JS" or CHART)
  return text and text:gsub("//# sourceMappingURL=[^\n]*", "")
end

-- ---- data ------------------------------------------------------------------

-- Text as JSON that may stand in a script: no "</", no line separators.
local function quoted(s)
  return '"' .. s:gsub('[%c"\\<>&\x7f-\xff]', function(c)
    return c:byte() < 128 and ("\\u%04x"):format(c:byte()) or c
  end) .. '"'
end

-- What JSON calls so, where nil would end a list.
page.null = {}

local function json(v)
  if v == page.null or v ~= v or v == math.huge or v == -math.huge then
    return "null"
  end
  if type(v) == "string" then return quoted(v) end
  if math.type(v) == "float" then return ("%.9g"):format(v) end
  if type(v) ~= "table" then return tostring(v) end
  local parts = {}
  if #v > 0 or next(v) == nil then
    for i = 1, #v do parts[i] = json(v[i]) end
    return "[" .. table.concat(parts, ",") .. "]"
  end
  local keys = {}
  for k in pairs(v) do keys[#keys + 1] = k end
  table.sort(keys)
  for i, k in ipairs(keys) do parts[i] = quoted(k) .. ":" .. json(v[k]) end
  return "{" .. table.concat(parts, ",") .. "}"
end

-- ---- the page --------------------------------------------------------------

local function escaped(text)
  return (text:gsub("[&<>]", { ["&"] = "&amp;", ["<"] = "&lt;",
                               [">"] = "&gt;" }))
end

-- What stands in a page for a line of its HTML.
local function filled(line, title, data)
  local style = line:match '^<link rel="stylesheet" href="([%w.]+)">'
  if style then return "<style>\n" .. part(style) .. "</style>\n" end
  local script = line:match '^<script src="([%w.]+)"></script>'
  if script then
    local text = script == "chart.js" and chart() or
                 script ~= "chart.js" and part(script)
    return text and "<script>\n" .. closed(text) .. "</script>\n" or ""
  end
  local head = line:match '^<script type="application/json" id="data">'
  if head then return head .. json(data) .. "</script>\n" end
  if line == "<title></title>\n" then
    return "<title>" .. escaped(title) .. "</title>\n"
  end
  return line
end

-- The text of the page NAME.html with that title: what it links to stands in
-- it, and `data` in its element of that id.
function page.text(name, title, data)
  return (part(name .. ".html"):gsub("[^\n]*\n", function(line)
    return filled(line, title, data)
  end))
end

return page
