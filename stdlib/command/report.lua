-- SPDX-License-Identifier: Apache-2.0
-- `tessera report`: a page about a database.
local arguments = require "tessera.command.arguments"
local files = require "tessera.command.files"
local records = require "tessera.command.records"

local usage = arguments.usage

return function(args)
  local o, rest = arguments.parse(args, {
    o = "string", program = "string", target = "string", workload = "string" })
  if #rest ~= 1 then usage("report takes one FILE") end
  if not o.o then usage("report needs -o FILE.html") end
  local db, filter = files.open_database(rest[1]), records.filter_of(o)
  filter.limit = 0
  if db:records(filter).total == 0 then
    records.print_none(rest[1], filter)
    return 1
  end
  filter.limit = nil
  local text = require "tessera.report"(db, filter, rest[1])
  local f, why = io.open(o.o, "wb")
  if not f then error(why, 0) end
  local ok, bad = f:write(text)
  local closed, late = f:close()
  if not ok or not closed then error(o.o .. ": " .. (bad or late), 0) end
  return 0
end
