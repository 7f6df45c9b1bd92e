-- SPDX-License-Identifier: Apache-2.0
-- What `tessera step` says of its point: the time of the program
-- there, whether it computes what was described, and which instructions depend
-- on a decision.
local ts = require "tessera"

local points = {}

-- More operations than that the interpreter would take minutes for.
local MOST_INTERPRETED = 1 << 26

-- How many instructions are named in a line.
local MOST_NAMED = 8

local function refuse(text, ...) error({ failed = text:format(...) }, 0) end

-- ---- instructions ----------------------------------------------------------

local function named(trace, list)
  local names = {}
  for n = 1, math.min(#list, MOST_NAMED) do
    names[n] = ("%d %s"):format(list[n], trace[list[n]].name)
  end
  if #list > MOST_NAMED then
    names[#names + 1] = ("and %d more"):format(#list - MOST_NAMED)
  end
  return table.concat(names, ", ")
end

-- Instructions `first` to the last.
function points.names(trace, first)
  local list = {}
  for i = first, #trace do list[#list + 1] = i end
  return named(trace, list)
end

-- Whether an operand, a variable, arithmetic over some, or a list, has one of
-- the variables.
local function uses(value, variables)
  if type(value) == "table" then
    for _, x in pairs(value) do
      if uses(x, variables) then return true end
    end
  elseif type(value) == "string" then
    for v in value:gmatch "%f[%w_]v%d+" do
      if variables[v] then return true end
    end
  end
  return false
end

-- Which later instructions take what instruction `at` sampled, directly or
-- through variables that others made of it, but for those that name it.
function points.dependents(trace, at)
  local variables, list = {}, {}
  for _, v in ipairs(trace[at].outputs) do variables[v] = true end
  for i = at + 1, #trace do
    if trace[i].name ~= "knob" and uses(trace[i].inputs, variables) then
      list[#list + 1] = i
      for _, v in ipairs(trace[i].outputs) do variables[v] = true end
    end
  end
  if #list == 0 then return "no later instruction depends on this decision" end
  return "on this decision depend: " .. named(trace, list)
end

-- ---- the program as it stands ----------------------------------------------

-- What an input of one dimension may hold by its declaration: offsets of rows
-- of about equal length, sorted values evenly spaced, others by a stride.
local function declared(p)
  local n, values = p.shape[1], {}
  local least, below = table.unpack(p.range or { 0, p.offsets_into + 1 })
  for i = 0, n - 1 do
    local at = i * 7 % (below - least)
    if p.offsets_into then
      at = i * p.offsets_into // math.max(n - 1, 1)
    elseif p.sorted or p.unique then
      at = i * (below - least) // n
    end
    values[i + 1] = least + at
  end
  return values
end

-- A tensor for each parameter.
local function arguments(program)
  local list = {}
  for i, p in ipairs(program:params()) do
    for _, extent in ipairs(p.shape) do
      if math.type(extent) ~= "integer" or extent < 1 then
        refuse("the sizes of '%s' are not known", p.name)
      end
    end
    local is_declared = #p.shape == 1 and (p.range or p.offsets_into)
    list[i] = ts.tensor(p.dtype, p.shape,
                        is_declared and declared(p) or "random", i)
  end
  return list
end

-- Seconds, of one kernel on random inputs.
function points.seconds(program)
  return ts.build(program):time(arguments(program), { min_time = 0.02 }).median
end

-- A line about its time, and its seconds.
function points.time(program)
  local args = arguments(program)
  local t = ts.build(program):time(args, { min_time = 0.1 })
  local flops = program:flops()
  local rate = flops and flops > 0 and
               (", %.4g GFLOP/s"):format(flops / t.median * 1e-9) or ""
  return ("%.6g ms, from %.6g ms on%s"):format(t.median * 1e3, t.min * 1e3,
                                               rate), t.median
end

-- How a time compares with another, that of `what`.
function points.against(seconds, other, what)
  local times = other / seconds
  return ("%.3g times as %s as %s, which takes %.6g ms"):format(
    times >= 1 and times or 1 / times, times >= 1 and "fast" or "long", what,
    other * 1e3)
end

function points.equivalent(program, described)
  local flops = described:flops()
  if flops and flops > MOST_INTERPRETED then
    refuse("the interpreter would take minutes for %.3g operations: step " ..
           "through the trace with a smaller --program", flops)
  end
  local same, where = ts.equivalent(program, described)
  return same and "equivalent to what was described" or
         "NOT equivalent to what was described: " .. tostring(where)
end

return points
