-- SPDX-License-Identifier: Apache-2.0
-- The commands' declarations: each command has a page with an example, every
-- option that is parsed has a help, and what is made of them for shells and
-- `man` has all.
local declared = require "tessera.command.declared"
local help = require "tessera.command.help"

local function run(text, to)
  local path = os.tmpname()
  local f = assert(io.open(path, "w"))
  f:write(text)
  f:close()
  local p = assert(io.popen(("%s %s 2>&1"):format(to, path)))
  local said = p:read "a"
  p:close()
  os.remove(path)
  return said
end

-- What is declared are the commands that there are.
local function names_of(list)
  table.sort(list)
  return table.concat(list, " ")
end
do
  local p <close> = assert(io.popen(arg[-1] .. " frob 2>&1"))
  local there, told = {}, {}
  for name in p:read("a"):match "commands are (.*)\n":gmatch "%w+" do
    there[#there + 1] = name
  end
  for k, c in ipairs(declared.list) do told[k] = c.name end
  assert(names_of(there) == names_of(told))
end

local function check_options(list)
  for _, o in ipairs(list) do
    assert(#o.help > 0 and o.help:find "%S$", o.name)
    assert(o.kind == "flag" or o.shown, o.name)
  end
end

for _, c in ipairs(declared.list) do
  local page = help.page(c.name)
  assert(page:find("usage: tessera " .. c.name, 1, true) and
         page:find("Example:\n  tessera " .. c.name, 1, true))
  for line in page:gmatch "[^\n]+" do assert(#line <= 79, line) end
  check_options(declared.options(c.name))
  for _, o in ipairs(declared.options(c.name)) do
    assert(page:find("  " .. help.spelled(o), 1, true), o.name)
  end
  for _, w in ipairs(c.words or {}) do
    check_options(declared.options(c.name, w.name))
    assert(page:find(("  tessera %s %s"):format(c.name, w.name), 1, true))
  end
  assert(help.index():find("\n  " .. c.name .. " ", 1, true))
end
-- Options of tuning are the engine's.
for _, flag in ipairs { "--trials N", "--check best|all", "--scheduler " } do
  assert(help.page "tune":find(flag, 1, true), flag)
end

-- Completion in bash, as readline asks for it.
local shells = require "tessera.command.shells"
local function completed(words)
  local script = shells.bash() .. ([[

COMP_WORDS=(%s) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_tessera
echo " ${COMPREPLY[*]} "
]]):format(words)
  return run(script, "bash")
end
assert(completed "tessera ste" == " step \n")
assert(completed "tessera tune m.lua --tr" == " --trials \n")
assert(completed "tessera tune m.lua --check ''":find " best all ")
assert(completed "tessera db pr" == " prune \n")
assert(completed "tessera db prune t.db --dry" == " --dry-run \n")
assert(completed "tessera step --h":find " %-%-html %-%-help ")
local zsh = shells.zsh()
assert(zsh:find "^#compdef tessera\n")
assert(zsh:find("'--trials[candidates to measure", 1, true))
assert(zsh:find("'--check[", 1, true) and zsh:find "%(best all%)")
assert(zsh:find("'1:word:(list best", 1, true))

-- The manual page, of which groff warns about nothing.
local page = require "tessera.command.man"()
assert(page:find "^%.TH TESSERA 1")
for _, c in ipairs(declared.list) do
  assert(page:find("\n.SS tessera " .. c.name, 1, true))
end
if run("", "groff --version"):find "GNU" then
  local said = run(page, "groff -man -ww -z")
  assert(said == "", said)
end
