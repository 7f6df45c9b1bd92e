-- SPDX-License-Identifier: Apache-2.0
-- `tessera agent`: measures for a fleet until it is drained (SIGTERM, Ctrl-C).
local ts = require "tessera"
local arguments = require "tessera.command.arguments"
local declared = require "tessera.command.declared"

return function(args)
  local o, rest = arguments.parse(args, declared.kinds "agent")
  if #rest > 0 then arguments.usage("agent takes options only") end
  for _, name in ipairs { "fleet", "key" } do
    if not o[name] then arguments.usage("agent needs --%s", name) end
  end
  if o.cores and o.device then
    arguments.usage("of --cores and --device there may be one")
  end
  if o.runner and not o.via then
    arguments.usage("--runner goes with --via")
  end
  o["share-cores"], o.share_cores = nil, o["share-cores"]
  function o.say(line)
    io.stderr:write(os.date "%H:%M:%S ", line, "\n")
    io.stderr:flush()
  end
  ts.agent(o)
  return true
end
