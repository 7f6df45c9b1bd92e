-- SPDX-License-Identifier: Apache-2.0
-- Constraints of a mold: functions of the parameters' values, which are asked
-- once, when the space is made, about all values of the parameters that they
-- read; what they exclude, traces say by the primitive restrict_values.
local options = require "tessera.lang.options"
local branching = require "tessera.template.branching"
local common = require "tessera.template.common"
local wrong = common.wrong
local constraints = {}

-- Combinations that a constraint is asked about, and numbers that say which of
-- them it excludes, at most.
local most_asked, most_numbers = 1 << 16, 1 << 16

-- A number, as of a forgotten comparison, would count as true whatever it is.
local function check_answer(f, answer)
  if answer == nil or type(answer) == "boolean" then return end
  local where = debug.getinfo(f, "S")
  wrong("template.mold: the constraint of %s:%d returns true or false, not %s",
        where.short_src, where.linedefined, options.text_of(answer))
end

-- Whether the values satisfy f; the sampled ones that it read are added to
-- `read`.
local function ask(f, fixed, assigned, read)
  local p = setmetatable({}, { __index = function(_, name)
    if assigned[name] == nil then return fixed[name] end
    read[name] = true
    return assigned[name]
  end, __newindex = function(_, name)
    error(("a constraint sets no value (of %s)"):format(name), 2)
  end, __pairs = function(p)
    local all = {}
    for _, values in ipairs { fixed, assigned } do
      for name in next, values do all[name] = p[name] end
    end
    return next, all
  end })
  local ok, answer = pcall(f, p)
  if not ok then
    wrong("template.mold: a constraint failed: %s",
          type(answer) == "table" and answer.message or tostring(answer))
  end
  check_answer(f, answer)
  return answer == true
end

-- Calls f with each combination of the values of the sampled parameters named,
-- of the others with their first values; false from it ends.
local function each(sampled, names, f)
  local assigned, total = {}, 1
  for _, x in ipairs(sampled) do assigned[x.name] = x.values[1] end
  for _, x in ipairs(sampled) do
    if names[x.name] then total = total * #x.values end
  end
  if total > most_asked then
    wrong("template.mold: a constraint reads parameters of %d combinations, " ..
          "more than %d: a list of constraints may each read fewer", total,
          most_asked)
  end
  for t = 0, total - 1 do
    for _, x in ipairs(sampled) do
      if names[x.name] then
        assigned[x.name], t = x.values[t % #x.values + 1], t // #x.values
      end
    end
    if f(assigned) == false then return false end
  end
  return true
end

-- The set of sampled parameters that f reads, whatever their values.
local function reads(f, fixed, sampled)
  local names = {}
  repeat
    local whole = each(sampled, names, function(assigned)
      local read, more = {}, false
      ask(f, fixed, assigned, read)
      for name in next, read do
        more = more or not names[name]
        names[name] = true
      end
      return not more
    end)
  until whole
  return names
end

-- The allowed and the excluded combinations, as lists of numbers.
local function split(f, fixed, sampled, names)
  local yes, no = {}, {}
  each(sampled, names, function(assigned)
    local list = ask(f, fixed, assigned, {}) and yes or no
    for _, x in ipairs(sampled) do
      if names[x.name] then list[#list + 1] = assigned[x.name] end
    end
  end)
  return yes, no
end

-- What the constraints leave of a sketch with these fixed values: nil, where
-- nothing is; else { sampled = the parameters with the values that are left,
-- tables = { names =, rows =, among = }, allowed = f(assigned) }.
function constraints.apply(list, fixed, sampled)
  local out = { sampled = {}, tables = {} }
  for i, x in ipairs(sampled) do
    out.sampled[i] = setmetatable({}, { __index = x })
  end
  local several = {}
  for _, f in ipairs(list) do
    local names = reads(f, fixed, out.sampled)
    local first = next(names)
    if first and next(names, first) then
      several[#several + 1] = f
    else
      local yes, no = split(f, fixed, out.sampled, names)
      if not first and not ask(f, fixed, {}, {}) then return nil end
      for _, x in ipairs(out.sampled) do
        if x.name == first and #no > 0 then x.values = yes end
        if #x.values == 0 then return nil end
      end
    end
  end
  for _, f in ipairs(several) do
    local names = reads(f, fixed, out.sampled)
    local yes, no = split(f, fixed, out.sampled, names)
    if #yes == 0 then return nil end
    local rows = #yes <= #no and yes or no
    if #rows > most_numbers then
      wrong("template.mold: a constraint excludes in %d numbers what they " ..
            "are, more than %d: a list of constraints may each read fewer",
            #rows, most_numbers)
    end
    if #no > 0 then
      out.tables[#out.tables + 1] = { names = names, rows = rows,
                                      among = rows == yes, yes = yes }
    end
  end
  function out.allowed(assigned)
    for _, f in ipairs(several) do
      if not ask(f, fixed, assigned, {}) then return false end
    end
    return true
  end
  return out
end

-- Draws for the parameters { name = position }, which the constraints allow:
-- of the tightest the combinations that there are, of the others any.
function constraints.draws(left)
  local draw, tightest = branching.stream(), nil
  for _, t in ipairs(left.tables) do
    if not tightest or #t.yes < #tightest.yes then tightest = t end
  end
  local function position(x, value)
    for i, v in ipairs(x.values) do if v == value then return i end end
  end
  return function()
    for _ = 1, 10000 do
      local chosen, assigned, width, at = {}, {}, 0, 0
      for _, x in ipairs(left.sampled) do
        if tightest and tightest.names[x.name] then width = width + 1 end
      end
      if width > 0 then at = (draw(#tightest.yes // width) - 1) * width end
      for _, x in ipairs(left.sampled) do
        chosen[x.name] = draw(#x.values)
        if width > 0 and tightest.names[x.name] then
          at = at + 1
          chosen[x.name] = position(x, tightest.yes[at])
        end
        assigned[x.name] = x.values[chosen[x.name]]
      end
      if left.allowed(assigned) then return chosen end
    end
    wrong("template.mold: 10000 draws found nothing that all constraints allow")
  end
end

return constraints
