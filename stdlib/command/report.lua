-- SPDX-License-Identifier: Apache-2.0
-- `tessera report`: a page about a database.
local ts = require "tessera"
local arguments = require "tessera.command.arguments"
local files = require "tessera.command.files"
local records = require "tessera.command.records"

local usage = arguments.usage

return function(args)
  local o, rest = arguments.parse(args, {
    o = "string", program = "string", target = "string", workload = "string" })
  if #rest ~= 1 then usage("report takes one FILE") end
  if not o.o then usage("report needs -o FILE.html") end
  arguments.check_output("-o", o.o, { rest[1], o.program })
  local db, filter = files.open_database(rest[1]), records.filter_of(o)
  filter.limit = 0
  if db:records(filter).total == 0 then
    records.print_none(rest[1], filter)
    return 1
  end
  filter.limit = nil
  local text = require "tessera.report"(db, filter, rest[1])
  ts.write_file(o.o, text)
  return 0
end
