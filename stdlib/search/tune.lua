-- SPDX-License-Identifier: Apache-2.0
-- ts.tune, and all that a search has in Lua: modules, spaces, strategies, cost
-- models, many tasks.  Adds its functions to the table of "tessera".
local options = require "tessera.lang.options"
local with_fleet_target = require "tessera.search.fleet_target"
local measure_name = require "tessera.search.measure_name"
local plugged = require "tessera.search.plugged"

-- What is no option at all is left for the engine to refuse.
local function check_options(core, given)
  for k, v in next, given do
    local option = options.by_name[k]
    local wrong = option and options.wrong(k, v)
    local word = type(v) == "string" and option and option.type:find '^"'
    local raise = word and core.invalid or core.wrong_type
    if wrong then raise("option " .. wrong) end
  end
end

local function copied(t)
  local copy = {}
  for k, v in next, t do copy[k] = v end
  return copy
end

local function add_tune(ts, core, postprocs, to_space)
  function ts.tune(program, given)
    local o = type(given) == "table" and given or {}
    check_options(core, o)
    given = with_fleet_target(ts, given)
    o = type(given) == "table" and given or o
    local strategy = o.strategy
    if type(strategy) == "table" and plugged.is_built_in(strategy) then
      given = copied(o)
      given.strategy = plugged.built_in_text(strategy)
    elseif type(strategy) == "table" and not plugged.checked[strategy] then
      ts.strategy(strategy)
    end
    local model = o.cost_model
    if type(model) == "table" and not plugged.checked[model] then
      ts.cost_model(model)
    end
    local s = o.space
    if s == nil then s = ts.space.default(o.target) end
    local named, functions = postprocs.split(o.postprocs)
    if named ~= nil then s = ts.space.with_postprocs(s, named) end
    local name = measure_name.of(core, o)
    measure_name.warn(ts, core, program, o, name)
    if name ~= o.measure_name then
      given = given == o and copied(o) or given
      given.measure_name = name
    end
    return core.tune(program, given, to_space(s),
                     plugged.functions_of(o, functions))
  end
end

return function(ts, core)
  local deterministic = require "tessera.search.determinism"(core)
  local postprocs = require "tessera.search.postprocs"(ts, core, deterministic)
  local module = require "tessera.search.modules"(ts, core, deterministic)
  local to_space, takes_none = require "tessera.search.spaces"(
    ts, core, deterministic, postprocs, module)
  plugged.install(ts, core, takes_none)
  add_tune(ts, core, postprocs, to_space)
  require "tessera.search.tasks"(ts, core, to_space, postprocs)
end
