-- SPDX-License-Identifier: Apache-2.0
-- `tessera doc`: pages of the reference, and where words stand in it.
local arguments = require "tessera.command.arguments"
local chapters = require "tessera.reference.chapters"
local declared = require "tessera.command.declared"
local help = require "tessera.command.help"
local reference = require "tessera.reference.pages"

-- What has the words in its name or first line, and chapters that have them in
-- a heading or the line below it; raises where nothing does.
local function search(words)
  local text = table.concat(words, " ")
  local parts, headings = reference.parts(words), chapters.headings(words)
  if #parts + #headings == 0 then
    local near = reference.near(text)
    error(("there is no primitive, module, option or function '%s'%s; " ..
           "`tessera doc` lists them"):format(text, #near > 0 and
           ": did you mean " .. table.concat(near, " or ") .. "?" or ""), 0)
  end
  local lines = { ("Nothing is called '%s'; what has it:"):format(text), "" }
  for _, e in ipairs(parts) do
    lines[#lines + 1] = ("  %-26s %s"):format(e.name, e.summary)
  end
  if #headings > 0 then lines[#lines + 1] = "" end
  table.move(headings, 1, #headings, #lines + 1, lines)
  return table.concat(lines, "\n")
end

-- The page of a name: the command's, and what else is called so, not where it
-- is only mentioned; nil where nothing is.
local function page_of(name)
  local own = declared.by_name[name] and help.page(name)
  local other = chapters.text(name) or reference.page(name)
  if not own then return other end
  local is_more = other and not other:find("\n\nNo page of its own", 1, true)
  return is_more and own .. "\n\n" .. other or own
end

-- Options of `doc` itself; another, as --trials, is a word.
local function read(args)
  local known = declared.kinds "doc"
  local first = args[1] and args[1]:match "^%-%-([%w-]+)"
  if not known[first] then return {}, args end
  local o, rest = arguments.parse(args, known)
  if rest[1] then arguments.usage("doc --%s takes no WORD", first) end
  return o, rest
end

return function(args)
  local o, words = read(args)
  if o.stubs then
    io.write(reference.stubs())
  elseif o.completion then
    print(require("tessera.command.shells")[o.completion]())
  elseif o.man then
    print(require "tessera.command.man"())
  elseif not words[1] then
    print(reference.index())
  else
    local page = #words == 1 and page_of(words[1])
    if not page and words[1]:find "^%-." then
      arguments.usage("unknown option %s", words[1])
    end
    print(page or search(words))
  end
  return 0
end
