-- SPDX-License-Identifier: Apache-2.0
-- Pages in a headless browser, where one is installed.
local browser = {}

local function find(name)
  local p = assert(io.popen("command -v " .. name))
  local path = p:read "l"
  p:close()
  return path
end

local program = find "chromium-headless-shell" or find "chromium"

browser.is_there = program ~= nil

local function write(path, text)
  local f = assert(io.open(path, "wb"))
  f:write(text)
  f:close()
end

-- What the browser prints of a page: to a file, since its processes would hold
-- on to a pipe.
local function dump(page, width, to)
  local command = ("timeout -s KILL 60 %s --headless --no-sandbox " ..
    "--disable-gpu --no-first-run --disable-background-networking " ..
    "--user-data-dir=%s.profile --window-size=%d,800 " ..
    "--enable-logging=stderr --v=0 --dump-dom '%s' </dev/null >%s 2>&1")
    :format(program, to, width, page, to)
  os.execute(command)
  local f = assert(io.open(to, "rb"))
  local all = f:read "a"
  f:close()
  return all
end

-- Opens the text of a page in a window of that width, with a script of
-- JavaScript behind its own, which gives a text: that text, what stands in the
-- console, and the document.
function browser.open(html, width, script, fragment)
  local path = os.tmpname()
  write(path .. ".html", (html:gsub("</body>", function()
    return "<script>document.documentElement.dataset.said = (function() {" ..
           script .. "})();</script></body>"
  end)))
  local all = dump("file://" .. path .. ".html" .. (fragment or ""), width,
                   path)
  os.execute(("rm -rf '%s' '%s.html' '%s.profile'"):format(path, path, path))
  local console = {}
  for line in all:gmatch "[^\n]+" do
    if line:find(":CONSOLE", 1, true) then console[#console + 1] = line end
  end
  return all:match '<html[^>]* data%-said="([^"]*)"',
         table.concat(console, "\n"), all
end

return browser
