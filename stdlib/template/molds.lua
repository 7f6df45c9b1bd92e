-- SPDX-License-Identifier: Apache-2.0
-- Code molds: parameters with values, conditions between them, and a function
-- that applies a choice of them.
local ts = require "tessera"
local options = require "tessera.lang.options"
local sampling = require "tessera.steps.sampling"
local branching = require "tessera.template.branching"
local constraints = require "tessera.template.constraints"
local common = require "tessera.template.common"
local wrong = common.wrong
local all_integers = common.all_integers
local check_branch = common.check_branch
local check_values = common.check_values
local check_names = common.check_names
local write_names = common.write_names
local most = common.most
local molds = {}

local function has(list, value)
  for _, v in ipairs(type(list) == "table" and list or { list }) do
    if v == value then return true end
  end
  return false
end

-- Whether the values are as { name = value or list of values } says.
local function holds(condition, values)
  for name, wanted in next, condition do
    if not has(wanted, values[name]) then return false end
  end
  return true
end

local function shown(v)
  return type(v) == "string" and options.quoted(v) or tostring(v)
end

-- Refuses values in a condition that the parameter does not have.
local function check_condition(what, condition, known)
  for name, wanted in next, condition do
    for _, v in ipairs(type(wanted) == "table" and wanted or { wanted }) do
      if not has(known[name].values, v) then
        local there = {}
        for i, x in ipairs(known[name].values) do
          there[i] = shown(x)
        end
        wrong("template.mold: %s: parameter %s has no value %s; it has %s",
              what, options.quoted(name), shown(v),
              table.concat(there, ", "))
      end
    end
  end
end

local function check_constraint(given)
  local list = type(given) == "table" and given or { given }
  for _, f in ipairs(list) do
    if type(f) ~= "function" then
      wrong("template.mold: constraint is a function(p) or a list of such, " ..
            "not %s", options.text_of(f))
    end
  end
end

local function check_parameters(m)
  local known = {}
  check_names("template.mold", m, "parameters forbid constraint apply")
  check_constraint(m.constraint)
  for _, p in ipairs(m.parameters) do
    check_names("a parameter", p, "name values when branch")
    check_values("template.mold", p.name, p.values)
    check_branch("template.mold: parameter", p.name, p.branch)
    for name in next, p.when or {} do
      if not known[name] then
        wrong("template.mold: %s depends on %s, which is no parameter " ..
              "before it", options.quoted(p.name), options.quoted(name))
      end
    end
    check_condition("'when' of " .. options.quoted(p.name), p.when or {}, known)
    if known[p.name] then
      wrong("template.mold: there are two parameters %s",
            options.quoted(p.name))
    end
    known[p.name] = p
  end
  for _, condition in ipairs(m.forbid or {}) do
    for name in next, condition do
      if not known[name] then
        wrong("template.mold: %s is forbidden and is no parameter",
              options.quoted(name))
      end
    end
    check_condition("forbid", condition, known)
  end
end

-- Parameters that conditions are on, those that are no integers, and those that
-- the function is said to branch on.
local function deciding(m)
  local decides = {}
  for _, p in ipairs(m.parameters) do
    if p.branch or not all_integers(p.values) then decides[p.name] = true end
    for name in next, p.when or {} do decides[name] = true end
  end
  for _, condition in ipairs(m.forbid or {}) do
    for name in next, condition do decides[name] = true end
  end
  return decides
end

-- The combinations of what decides that are allowed; what does not apply has no
-- value.
local function settings(m, decides)
  local all = { {} }
  for _, p in ipairs(m.parameters) do
    local longer = {}
    for _, before in ipairs(all) do
      local applies = not p.when or holds(p.when, before)
      local values = decides[p.name] and applies and p.values or { false }
      for _, v in ipairs(values) do
        local own = {}
        for k, x in next, before do own[k] = x end
        if decides[p.name] and applies then own[p.name] = v end
        longer[#longer + 1] = own
      end
    end
    all = longer
    if #all > 64 * most then wrong("template.mold: too many combinations") end
  end
  local allowed = {}
  for _, values in ipairs(all) do
    local forbidden = false
    for _, condition in ipairs(m.forbid or {}) do
      forbidden = forbidden or holds(condition, values)
    end
    if not forbidden then allowed[#allowed + 1] = values end
  end
  return allowed
end

local function position(list, value)
  for i, v in ipairs(list) do
    if rawequal(v, value) then return i end
  end
end

-- The parameters that are sampled in a sketch of these values.
local function sampled_of(m, values, decides)
  local list = {}
  for _, x in ipairs(m.parameters) do
    if not decides[x.name] and (not x.when or holds(x.when, values)) then
      list[#list + 1] = x
    end
  end
  return list
end

-- Says in the trace what the constraints exclude.
local function restrict(sch, left, variables)
  for _, t in ipairs(left.tables) do
    local list = {}
    for _, x in ipairs(left.sampled) do
      if t.names[x.name] then list[#list + 1] = variables[x.name] end
    end
    sch:restrict_values(list, t.rows, t.among)
  end
end

-- A name of no parameter is an error, and not nil, which a parameter is that
-- does not apply; of the function that is so many calls out.
local function check_known(m, name, level)
  for _, x in ipairs(m.parameters) do
    if x.name == name then return end
  end
  error(("there is no parameter %s"):format(shown(name)), level + 1)
end

-- One run of a mold, where the sampled parameters have the values at chosen[
-- name].  With `plain` it is a trial, as branching.find has it: those named in
-- it are handed out as integers.
local function apply(m, sch, values, left, chosen, plain)
  local p, of_draws, draws, read, named = {}, {}, {}, {}, {}
  local sampled, variables = {}, {}
  for _, x in ipairs(left.sampled) do sampled[x.name] = x end
  for _, x in ipairs(m.parameters) do
    local name = x.name
    local own, value = sampled[name], values[name]
    if own then
      value = sampling.evenly(sch, own.values, chosen[name])
      variables[name] = value
      if plain and plain[name] then
        value = own.values[chosen[name]]
      elseif plain and x.branch == nil then
        draws[name] = branching.drawn(sch)
        of_draws[name] = value
      end
    end
    if of_draws[name] == nil then p[name] = value end
    if value ~= nil then
      named[#named + 1] = { name, value, position(x.values, value) }
    end
  end
  restrict(sch, left, variables)
  m.apply(sch, setmetatable(p, { __index = function(_, name)
    if of_draws[name] == nil then check_known(m, name, 2) end
    read[name] = true
    return of_draws[name]
  end }))
  if not plain then write_names(sch, named) end
  return draws, read
end

-- Settings that are tried, which the constraints allow.
local function allowed_settings(left, limit)
  local draw, list = constraints.draws(left), {}
  for i = 1, limit do list[i] = draw() end
  return list
end

-- Refuses parameters that are sampled and that the function branches on.
local function check_branches(m, sch, values, left, limit)
  local counts = {}
  for _, x in ipairs(left.sampled) do
    if x.branch == nil then
      counts[#counts + 1] = { name = x.name, count = #x.values,
                              integers = true }
    end
  end
  local list = #left.tables > 0 and allowed_settings(left, limit) or nil
  local found = branching.find(counts, function(chosen, plain)
    local copy = sch:copy()
    local all = setmetatable({}, { __index = chosen })
    for _, x in ipairs(left.sampled) do all[x.name] = chosen[x.name] or 1 end
    local draws, read = apply(m, copy, values, left, all, plain)
    return copy:trace(), draws, read
  end, limit, list)
  for _, x in ipairs(counts) do
    if found[x.name] then
      wrong("template.mold: parameter %s is sampled, so that its value is a " ..
            "random variable, which equals no integer; branch = true in it " ..
            "makes a sketch of each value, which is then a plain integer",
            options.quoted(x.name))
    end
  end
end

-- The fixed values, as constraints read them, by what constraints.lua hands
-- them.
local function only_known(m, values)
  local own = setmetatable({}, { __index = function(_, name)
    check_known(m, name, 3)
  end })
  for name, value in next, values do own[name] = value end
  return own
end

-- The sketches: of each its fixed values and what the constraints leave.
local function list_sketches(m)
  local decides, list = deciding(m), {}
  local all = settings(m, decides)
  local given = m.constraint
  if type(given) == "function" then given = { given } end
  for _, values in ipairs(all) do
    local left = constraints.apply(given or {}, only_known(m, values),
                                   sampled_of(m, values, decides))
    if left then list[#list + 1] = { values = values, left = left } end
  end
  if #list > most then
    wrong("template.mold: the space has more than %d sketches", most)
  elseif #all == 0 then
    wrong("template.mold: all combinations are forbidden")
  elseif #list == 0 then
    wrong("template.mold: the constraints leave no combination")
  end
  return list
end

-- template.mold { parameters = { { name =, values =, when =, branch = }, ... },
--   forbid = { { name = value, ... }, ... }, constraint = function(p) or a list
--   of such, apply = function(sch, p) }
-- `when` says of which values of earlier parameters one is there for; p has
-- the values by name, random variables where they are sampled.  Where `apply`
-- branches on integers, branch = true makes sketches of them.  A constraint is
-- given plain values, and true of those that are allowed.
function molds.mold(m)
  if type(m) ~= "table" or type(m.parameters) ~= "table" or
     type(m.apply) ~= "function" then
    wrong("template.mold takes { parameters = list, apply = function(sch, p) }")
  end
  check_parameters(m)
  local list, spaces = list_sketches(m), {}
  for i, x in ipairs(list) do
    spaces[i] = ts.space.by_hand(function(sch)
      check_branches(m, sch, x.values, x.left, math.max(4, 64 // #list))
      local draw = constraints.draws(x.left)
      return common.first_accepted(sch, function(copy)
        apply(m, copy, x.values, x.left, draw())
      end)
    end)
  end
  return ts.space.union(spaces)
end

return molds
