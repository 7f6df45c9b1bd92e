-- SPDX-License-Identifier: Apache-2.0
-- `tessera doc`: pages of the reference.
local arguments = require "tessera.command.arguments"
local chapters = require "tessera.reference.chapters"
local reference = require "tessera.reference.pages"

-- Lines of the index whose names have the word in them; raises where none does.
local function parts_of(word)
  local parts, near = reference.parts(word), reference.near(word)
  if #parts == 0 then
    error(("there is no primitive, module, option or function '%s'%s; " ..
           "`tessera doc` lists them"):format(word, #near > 0 and
           ": did you mean " .. table.concat(near, " or ") .. "?" or ""), 0)
  end
  local lines = { ("Nothing is called '%s'; names with it:"):format(word), "" }
  for _, e in ipairs(parts) do
    lines[#lines + 1] = ("  %-26s %s"):format(e.name, e.summary)
  end
  return table.concat(lines, "\n")
end

return function(args)
  local names = {}
  for _, a in ipairs(args) do
    names[#names + 1] = a
  end
  if #names > 1 then arguments.usage("doc takes one NAME") end
  if names[1] == "--stubs" then io.write(reference.stubs()) return 0 end
  if not names[1] then print(reference.index()) return 0 end
  local page = chapters.text(names[1]) or reference.page(names[1])
  if not page and names[1]:find "^%-." then
    arguments.usage("unknown option %s", names[1])
  end
  print(page or parts_of(names[1]))
  return 0
end
