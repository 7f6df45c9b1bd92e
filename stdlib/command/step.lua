-- SPDX-License-Identifier: Apache-2.0
-- `tessera step`: the trace of a file or record, instruction by instruction.
local ts = require "tessera"
local arguments = require "tessera.command.arguments"
local candidates = require "tessera.command.candidates"
local declared = require "tessera.command.declared"
local files = require "tessera.command.files"

-- The record of a database that DB:17 names; nil for a file.
local function record_of(name)
  local path, number = name:match "^(.+):(%d+)$"
  local _, record = files.from_record(name)
  return record and files.open_database(path), math.tointeger(number)
end

local function write_page(stepper, name, o)
  local database, record = record_of(name)
  ts.write_file(o.o, stepper:html { title = "Trace " .. name, times = o.times,
                                    database = database, record = record })
end

local function check_page(o, name)
  if not o.html and (o.o or o.times) then
    arguments.usage("step: %s is of a page: add --html", o.o and "-o" or
                    "--times")
  end
  if o.html and not o.o then
    arguments.usage "step --html needs -o FILE.html"
  end
  if o.o then
    arguments.check_output("-o", o.o, { name, name:match "^(.+):%d+$",
                                        program = o.program })
  end
end

return function(args, host)
  local o, rest = arguments.parse(args, declared.kinds "step")
  if #rest ~= 1 then
    arguments.usage("step takes one FILE (JSON or Lua) or DB:RECORD")
  end
  check_page(o, rest[1])
  local program = o.program and files.run_description(o.program).program
  local trace, bound = files.load_trace(rest[1], program)
  if not program and not bound then
    arguments.usage("step %s: a trace alone does not say what it schedules: " ..
                    "add --program FILE.lua", rest[1])
  end
  local stepper = trace:stepper(program)
  if o.html then
    write_page(stepper, rest[1], o)
  else
    local _, record = files.from_record(rest[1])
    require("tessera.step.prompt").step(stepper, host, rest[1], {
      seconds = record and record.status == "OK" and record.seconds or nil,
      load = function(...) return candidates.load("step", ...) end })
  end
  return 0
end
