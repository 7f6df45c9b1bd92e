-- SPDX-License-Identifier: Apache-2.0
-- Options of a search on a fleet, with the target of its devices where none is
-- given, for which the default space is made.
local read = require "tessera.lang.read_json"

return function(ts, options)
  local o = options
  if type(o) ~= "table" or o.target ~= nil or type(o.fleet) ~= "string" or
     type(o.key) ~= "string" or o.measure ~= nil then
    return options
  end
  local more = {}
  for k, v in next, o do more[k] = v end
  local key = o.key:gsub('[%c"\\]', "?")
  more.target = read(ts.fleet(o.fleet, "target", ('{"key": "%s"}'):format(key)))
  return more
end
