-- SPDX-License-Identifier: Apache-2.0
-- Code molds: parameters with values, conditions between them, and a function
-- that applies a choice of them.
local ts = require "tessera"
local options = require "tessera.lang.options"
local sampling = require "tessera.steps.sampling"
local branching = require "tessera.template.branching"
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

local function check_parameters(m)
  local known = {}
  check_names("template.mold", m, "parameters forbid apply")
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

-- One run of a mold: `chosen` and `plain` as branching.find has them; without,
-- the one that makes the sketch.
local function apply(m, sch, values, decides, chosen, plain)
  local looking = chosen ~= nil
  local p, of_draws, draws, read, named = {}, {}, {}, {}, {}
  for _, x in ipairs(m.parameters) do
    local name = x.name
    local sampled = not decides[name] and
                    (not x.when or holds(x.when, values))
    local value = values[name]
    if sampled then
      value = sampling.evenly(sch, x.values)
      if looking and plain[name] then
        value = x.values[chosen[name]]
      elseif looking and x.branch == nil then
        draws[name] = branching.drawn(sch)
        of_draws[name] = value
      end
    end
    if of_draws[name] == nil then p[name] = value end
    if value ~= nil then
      named[#named + 1] = { name, value, position(x.values, value) }
    end
  end
  m.apply(sch, setmetatable(p, { __index = function(_, name)
    read[name] = true
    return of_draws[name]
  end }))
  if not looking then write_names(sch, named) end
  return draws, read
end

-- Refuses parameters that are sampled and that the function branches on.
local function check_branches(m, sch, values, decides, limit)
  local counts = {}
  for _, x in ipairs(m.parameters) do
    if not decides[x.name] and x.branch == nil and
       (not x.when or holds(x.when, values)) then
      counts[#counts + 1] = { name = x.name, count = #x.values,
                              integers = true }
    end
  end
  local found = branching.find(counts, function(chosen, plain)
    local copy = sch:copy()
    local draws, read = apply(m, copy, values, decides, chosen, plain)
    return copy:trace(), draws, read
  end, limit)
  for _, x in ipairs(counts) do
    if found[x.name] then
      wrong("template.mold: parameter %s is sampled, so that its value is a " ..
            "random variable, which equals no integer; branch = true in it " ..
            "makes a sketch of each value, which is then a plain integer",
            options.quoted(x.name))
    end
  end
end

-- template.mold { parameters = { { name =, values =, when =, branch = }, ... },
--   forbid = { { name = value, ... }, ... }, apply = function(sch, p) }
-- `when` says of which values of earlier parameters one is there for; p has
-- the values by name, random variables where they are sampled.  Where `apply`
-- branches on integers, branch = true makes sketches of them.
function molds.mold(m)
  if type(m) ~= "table" or type(m.parameters) ~= "table" or
     type(m.apply) ~= "function" then
    wrong("template.mold takes { parameters = list, apply = function(sch, p) }")
  end
  check_parameters(m)
  local decides, spaces = deciding(m), {}
  local all = settings(m, decides)
  if #all > most then
    wrong("template.mold: the space has more than %d sketches", most)
  elseif #all == 0 then
    wrong("template.mold: all combinations are forbidden")
  end
  for i, values in ipairs(all) do
    spaces[i] = ts.space.by_hand(function(sch)
      check_branches(m, sch, values, decides, math.max(4, 64 // #all))
      apply(m, sch, values, decides)
    end)
  end
  return ts.space.union(spaces)
end

return molds
