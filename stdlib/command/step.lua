-- SPDX-License-Identifier: Apache-2.0
-- `tessera step`: the trace of a file or record, instruction by instruction.
local arguments = require "tessera.command.arguments"
local files = require "tessera.command.files"

return function(args, host)
  local o, rest = arguments.parse(args, { program = "string" })
  if #rest ~= 1 then
    arguments.usage("step takes one FILE (JSON or Lua) or DB:RECORD")
  end
  local program = o.program and files.run_description(o.program).program
  local trace, bound = files.load_trace(rest[1], program)
  if not program and not bound then
    arguments.usage("step %s: a trace alone does not say what it schedules: " ..
                    "add --program FILE.lua", rest[1])
  end
  require("tessera.step.prompt").step(trace:stepper(program), host, rest[1])
  return 0
end
