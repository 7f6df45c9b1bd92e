-- SPDX-License-Identifier: Apache-2.0
-- What completes the command in shells, from the commands' declarations.
local declared = require "tessera.command.declared"

local shells = {}

local function dashed(o) return (#o.name > 1 and "--" or "-") .. o.name end

local function names_of(list)
  local names = {}
  for i, x in ipairs(list) do names[i] = x.name end
  return table.concat(names, " ")
end

-- All options of a command, those of its words among them, each once.
local function all_options(c)
  local list, seen = {}, {}
  local function add(options)
    for _, o in ipairs(options) do
      if not seen[o.name] then list[#list + 1] = o end
      seen[o.name] = true
    end
  end
  add(declared.options(c.name))
  for _, w in ipairs(c.words or {}) do add(declared.options(c.name, w.name)) end
  return list
end

-- ---- bash ------------------------------------------------------------------

local function bash_case(c)
  local names = {}
  for i, o in ipairs(all_options(c)) do names[i] = dashed(o) end
  local lines = { ("  %s)"):format(c.name),
                  ('    options="%s --help"'):format(table.concat(names, " ")) }
  if c.words then
    lines[#lines + 1] = ('    [ "$COMP_CWORD" -gt 2 ] || words="%s"'):format(
                          names_of(c.words))
  end
  for _, o in ipairs(all_options(c)) do
    if type(o.kind) == "table" then
      lines[#lines + 1] = ('    [ "$before" != %s ] || words="%s"'):format(
                            dashed(o), table.concat(o.kind, " "))
    end
  end
  lines[#lines + 1] = "    ;;"
  return table.concat(lines, "\n")
end

function shells.bash()
  local lines = { "# Completes the command `tessera` in bash; written by " ..
                  "`tessera doc --completion bash`.", [[
_tessera() {
  local now=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  local options="--help --verbose --version" words=""]],
    ('  [ "$COMP_CWORD" -gt 1 ] || words="%s"'):format(
      names_of(declared.list)), '  case ${COMP_WORDS[1]} in' }
  for _, c in ipairs(declared.list) do lines[#lines + 1] = bash_case(c) end
  lines[#lines + 1] = [[
  esac
  case $now in
  -*) words=$options ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$now"))
}
complete -o default -F _tessera tessera]]
  return table.concat(lines, "\n")
end

-- ---- zsh -------------------------------------------------------------------

-- A text within the quotes of an _arguments specification.
local function quoted(text)
  return (text:gsub("'", "'\\''"):gsub("[%[%]:]", "\\%0"))
end

local function zsh_option(o)
  local kind = ""
  if type(o.kind) == "table" then
    kind = (":%s:(%s)"):format(o.name, table.concat(o.kind, " "))
  elseif o.kind ~= "flag" then
    local is_file = o.shown and o.shown:find "[.F]" or o.name == "o"
    kind = (":%s:%s"):format(quoted(o.shown or "value"),
                             is_file and "_files" or "")
  end
  return ("'%s[%s]%s'"):format(dashed(o), quoted(o.help), kind)
end

local function zsh_case(c)
  local lines = { ("  %s) _arguments"):format(c.name) }
  for _, o in ipairs(all_options(c)) do lines[#lines + 1] = zsh_option(o) end
  lines[#lines + 1] = "'--help[its options, with an example]'"
  if c.words then
    lines[#lines + 1] = ("'1:word:(%s)'"):format(names_of(c.words))
  end
  lines[#lines + 1] = "'*:file:_files' ;;"
  return table.concat(lines, " \\\n    ")
end

function shells.zsh()
  local lines = { "#compdef tessera", "# Completes the command `tessera` in " ..
                  "zsh; written by `tessera doc --completion zsh`.",
                  "local -a commands", "commands=(" }
  for _, c in ipairs(declared.list) do
    lines[#lines + 1] = ("  '%s:%s'"):format(c.name, quoted(c.summary))
  end
  lines[#lines + 1] = [[
)
if (( CURRENT == 2 )); then
  _describe command commands
  _files -g '*.lua'
  return
fi
shift words
(( CURRENT-- ))
case $words[1] in]]
  for _, c in ipairs(declared.list) do lines[#lines + 1] = zsh_case(c) end
  lines[#lines + 1] = "  *) _files ;;\nesac"
  return table.concat(lines, "\n")
end

return shells
