-- SPDX-License-Identifier: Apache-2.0
-- `tessera lower`: a program after lowering, or after each of its passes.
local ts = require "tessera"
local options = require "tessera.lang.options"
local arguments = require "tessera.command.arguments"
local declared = require "tessera.command.declared"
local files = require "tessera.command.files"

local usage = arguments.usage

-- The number of the pass that --after names, else of the last one.
local function last_pass(passes, after)
  if not after then return #passes end
  local pass = ts.lower_pass(after)
  if pass then return pass.number end
  local names = {}
  for i, pass in ipairs(passes) do names[i] = pass.name end
  usage("option --after: there is no lowering pass '%s'; there are %s", after,
        table.concat(names, ", "))
end

-- The program after each pass; those that leave its text as it is take one
-- line.
local function print_passes(program, passes, last, o)
  local before = tostring(options.is(program, "schedule") and
                          program:program() or program)
  for i = 1, last do
    local pass = passes[i]
    local text = tostring(ts.lower(program, { after = pass.name,
                                              target = o.target }))
    print(("-- %d. %s: %s"):format(i, pass.name,
                                   text == before and "no change" or
                                   pass.summary))
    if text ~= before then print(text) end
    before = text
  end
end

return function(args)
  local o, rest = arguments.parse(args, declared.kinds "lower")
  if #rest ~= 1 then
    usage("lower takes one FILE.lua, trace, listing, saved program or " ..
          "DB:RECORD")
  end
  local passes = ts.lower_passes()
  local last = last_pass(passes, o.after)
  local program = files.load_lowered(rest[1], o)
  o.target = arguments.target(o.target or "llvm")
  if o["print-after-all"] then
    print_passes(program, passes, last, o)
  else
    print(ts.lower(program, { after = passes[last].name, target = o.target }))
  end
  return 0
end
