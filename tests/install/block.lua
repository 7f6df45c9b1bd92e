-- SPDX-License-Identifier: Apache-2.0
-- Runs the Lua below a heading of a document, as one that reads it would, by
-- whatever Lua or command runs this file.  usage: block.lua FILE HEADING
local path, heading = arg[1], arg[2]
local found, text

for line in io.lines(path) do
  if line:match "^#" then
    found = line:match "^#+ (.*)$" == heading
  elseif text and line == "```" then
    break
  elseif text then
    text[#text + 1] = line
  elseif found and line == "```lua" then
    text = {}
  end
end

assert(text, heading .. ": there is no Lua in " .. path)
assert(load(table.concat(text, "\n"), "@" .. path))()
