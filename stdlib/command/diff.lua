-- SPDX-License-Identifier: Apache-2.0
-- `tessera diff A B`: two traces by what they do: the first instruction in
-- which they differ, and the programs that they make.
local arguments = require "tessera.command.arguments"
local candidates = require "tessera.command.candidates"
local declared = require "tessera.command.declared"
local files = require "tessera.command.files"
local compare = require "tessera.step.compare"

-- What a record schedules; nil of other names.
local function scheduled_by(name)
  return files.from_record(name) and
         candidates.load("diff", name).unscheduled or nil
end

return function(args)
  local o, rest = arguments.parse(args, declared.kinds "diff")
  if #rest ~= 2 then
    arguments.usage "diff takes two, each a FILE (JSON or Lua) or DB:RECORD"
  end
  local program = o.program and files.run_description(o.program).program or
                  scheduled_by(rest[1]) or scheduled_by(rest[2])
  compare(candidates.load("diff", rest[1], program),
          candidates.load("diff", rest[2], program))
  return 0
end
