-- SPDX-License-Identifier: Apache-2.0
-- `tessera report`: a page about a database.
local ts = require "tessera"
local arguments = require "tessera.command.arguments"
local declared = require "tessera.command.declared"
local files = require "tessera.command.files"
local records = require "tessera.command.records"

local usage = arguments.usage

-- Writes the page of a record's trace beside the report, PAGE.17.html, and
-- gives its name as a relative address.
local function link_of(db, name, path)
  local stem = path:gsub("%.html?$", "")
  return function(record, trace)
    local to = ("%s.%d.html"):format(stem, record.id)
    ts.write_file(to, trace:stepper():html {
      title = ("Trace %s:%d"):format(name, record.id), database = db,
      record = record.id })
    return (to:match "[^/]*$":gsub("[^%w._~-]", function(c)
      return ("%%%02X"):format(c:byte())
    end))
  end
end

return function(args)
  local o, rest = arguments.parse(args, declared.kinds "report")
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
  local text = require "tessera.report"(db, filter, rest[1],
                                        link_of(db, rest[1], o.o))
  ts.write_file(o.o, text)
  return 0
end
