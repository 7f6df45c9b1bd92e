-- SPDX-License-Identifier: Apache-2.0
-- The manual page, in roff, from the commands' declarations.
local declared = require "tessera.command.declared"
local help = require "tessera.command.help"

-- Text in which nothing is an instruction of roff.
local function plain(text)
  return (text:gsub("\\", "\\e"):gsub("%-", "\\-"):gsub("^([.'])", "\\&%1"))
end

local function option_lines(lines, list)
  for _, o in ipairs(list) do
    lines[#lines + 1] = ".TP\n.B " .. plain(help.spelled(o))
    lines[#lines + 1] = plain(o.help)
  end
end

local function command_lines(lines, c)
  lines[#lines + 1] = (".SS tessera %s %s"):format(c.name, plain(c.takes))
  lines[#lines + 1] = plain(c.summary) .. "."
  if c.what then lines[#lines + 1] = "FILE: " .. plain(c.what) .. "." end
  option_lines(lines, declared.options(c.name))
  for _, w in ipairs(c.words or {}) do
    lines[#lines + 1] = (".TP\n.B %s %s %s\n%s"):format(c.name, w.name,
      plain(w.takes), plain(w.summary))
    local list = declared.options(c.name, w.name)
    if #list > 0 then
      lines[#lines + 1] = ".RS"
      option_lines(lines, list)
      lines[#lines + 1] = ".RE"
    end
  end
  lines[#lines + 1] = ".PP\nExample:\n.PP\n.nf\n" .. plain(c.example) .. "\n.fi"
end

return function()
  local version = require "tessera".version()
  local lines = { ('.TH TESSERA 1 "" "Tessera %s" "User Commands"'):format(
                    version), [[
.SH NAME
tessera \- schedule and tune tensor programs
.SH SYNOPSIS
.B tessera
.I FILE.lua
.RI [ ARG ...]
.br
.B tessera
.I COMMAND
.RI [ OPTION ...]
.SH DESCRIPTION
Runs a script in Lua with the module tessera loaded, or one of the commands
below; without arguments, a prompt.
.TP
.B \-\-verbose
errors with the program, the place marked, and your own frames
.TP
.B \-\-version
of which release it is, and how it was built
.SH COMMANDS]] }
  for _, c in ipairs(declared.list) do command_lines(lines, c) end
  lines[#lines + 1] = [[
.SH EXIT STATUS
0: done; 1: the work failed, and a line on stderr says why; 2: the call was
wrong; 130, 143 or 129: SIGINT, SIGTERM or SIGHUP ended it, after what it has
was saved.
.SH SEE ALSO
.B tessera doc
shows the reference and its chapters.]]
  return table.concat(lines, "\n")
end
