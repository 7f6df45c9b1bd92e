-- SPDX-License-Identifier: Apache-2.0
-- `tessera show`: prints a trace, a program, a record or a list of records.
local arguments = require "tessera.command.arguments"
local declared = require "tessera.command.declared"
local files = require "tessera.command.files"
local records = require "tessera.command.records"

return function(args, host)
  local o, rest = arguments.parse(args, declared.kinds "show")
  if #rest ~= 1 then arguments.usage("show takes one FILE or DB:RECORD") end
  local name = rest[1]
  local trace, r = files.from_record(name)
  if trace then
    if o.program then
      files.try_trace(name, trace, files.run_description(o.program).program)
    end
    print(trace)
    if r then records.print_record(r) end
  elseif files.is_database(name) then
    local filter = records.filter_of(o)
    filter.limit = 20
    records.list(name, filter, o, host.verbose)
  else
    print(files.show_file(name, o))
  end
  return 0
end
