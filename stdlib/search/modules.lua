-- SPDX-License-Identifier: Apache-2.0
-- ts.module: schedule modules, and their instances.
local parameters = require "tessera.lang.parameters"
local check_fields = require "tessera.search.fields"

local core, deterministic

local module = {}
module.__index = module

local instance = {
  __tostring = function(i) return "schedule module " .. i.name end,
}

function module.__tostring(m) return "schedule module " .. m.name end

-- An instance: the module with all of its parameters.
function module.__call(m, given)
  if given ~= nil and type(given) ~= "table" then
    core.invalid(("module '%s' takes a table of parameters, not %s")
                 :format(m.name, type(given)))
  end
  local p, why = parameters.complete(m.parameters, given or {})
  why = why or m.check and m.check(p, given or {})
  if why then core.invalid(("module '%s': %s"):format(m.name, why)) end
  return setmetatable({
    name = m.name, module = m, params = p,
    apply = function(sch, block)
      if not m.custom and sch:annotation(block, "schedule_rule") then
        return nil, "a rule of its own schedules it"
      end
      return deterministic(m.apply, sch, block, p)
    end,
  }, instance)
end

local module_fields = {
  { name = "name", type = "string" },
  { name = "parameters", type = "table", optional = true },
  { name = "apply", type = "function" },
  { name = "check", type = "function", optional = true },
  { name = "custom", type = "boolean", optional = true },
}

return function(ts, raw, run)
  core, deterministic = raw, run

  -- ts.module{ name =, parameters = { { name, default, what it is, .. } },
  --   apply = function(sch, block, p), check = function(p, given) } -> what is
  --   wrong with the parameters, or nil; it may set those that were not
  --   given.  With custom = true it is applied to blocks annotated
  --   "schedule_rule", too, of which others are kept away.
  function ts.module(m)
    check_fields(core, "ts.module", "{ name = string, parameters = table, " ..
                 "apply = function(sch, block, p), check = " ..
                 "function(p, given) }", m, module_fields)
    if m.name == "" then core.invalid("ts.module: the name is empty") end
    local list, why = parameters.declare(m.parameters or {})
    if why then
      core.invalid(("module '%s': %s"):format(m.name, why))
    end
    m.parameters = list
    return setmetatable(m, module)
  end

  return module
end
