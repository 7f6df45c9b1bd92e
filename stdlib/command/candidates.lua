-- SPDX-License-Identifier: Apache-2.0
-- Traces that are compared, each of a file or record, with what it schedules
-- and makes.
local arguments = require "tessera.command.arguments"
local files = require "tessera.command.files"

local candidates = {}

-- program: what a trace schedules that does not say itself; command: whose
-- argument `name` is.
function candidates.load(command, name, program)
  local trace, bound = files.load_trace(name, program)
  if not program and not bound then
    arguments.usage("%s %s: a trace alone does not say what it schedules: " ..
                    "add --program FILE.lua", command, name)
  end
  local own = not bound and program or nil
  local ok, made = pcall(trace.replay, trace, own)
  if not ok then files.blame(name, made) end
  local _, record = files.from_record(name)
  local s = trace:stepper(own)
  s:goto_(0)
  return { name = name, trace = trace, unscheduled = s:program(),
           program = made:program(), seconds = record and record.seconds }
end

return candidates
