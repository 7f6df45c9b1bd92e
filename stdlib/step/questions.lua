-- SPDX-License-Identifier: Apache-2.0
-- What a stepper is asked about its trace: which instruction a line comes
-- from, why a primitive does not apply, the first instruction at fault.
local decisions = require "tessera.step.decisions"

local questions = {}

-- ---- where lines come from -------------------------------------------------

-- A list by line: its text, and what made, changed or moved it.
local function provenance(s)
  local trace, lines = s:trace(), {}
  for line in tostring(s:program()):gmatch "([^\n]*)\n?" do
    lines[#lines + 1] = { line = #lines + 1, text = line, origins = {} }
  end
  for _, o in ipairs(s:origins()) do
    local origins = lines[o.line].origins
    origins[#origins + 1] = {
      instruction = o.instruction, effect = o.effect,
      name = trace[o.instruction].name, text = trace:lua(o.instruction),
      place = trace[o.instruction].place }
  end
  return lines
end

-- s:why([what]): the lines of the program that `what` is the number of, or that
-- have it in them; all lines where it is left out.
function questions.why(s, what)
  if what ~= nil and type(what) ~= "string" and
     math.type(what) ~= "integer" then
    error("stepper:why takes the number of a line, or a text that it has", 2)
  end
  local found = {}
  for _, line in ipairs(provenance(s)) do
    if what == nil or line.line == what or
       type(what) == "string" and line.text:find(what, 1, true) then
      found[#found + 1] = line
    end
  end
  return found
end

-- ---- why a primitive does not apply ----------------------------------------

local function is_variable(x)
  return type(x) == "string" and x:find "^[blv]%d+$" ~= nil
end

-- Operands as the schedule takes them: names of variables become variables,
-- also in lists.
local function operand(sch, x)
  if is_variable(x) then return sch:variable(x) end
  if type(x) ~= "table" or getmetatable(x) then return x end
  local list = {}
  for k, v in pairs(x) do list[k] = operand(sch, v) end
  return list
end

-- Does it apply?  If not, false and why.
local function applies(sch, name, operands)
  local given = {}
  for i = 1, operands.n do given[i] = operand(sch, operands[i]) end
  return sch:can(name, table.unpack(given, 1, operands.n))
end

-- What the trace has made so far, named as loops, blocks or integers are.
local function variables(trace, letter)
  local list = {}
  for k = 1, #trace do
    for _, output in ipairs(trace[k].outputs) do
      list[#list + 1] = letter .. tostring(tonumber(output:sub(2)) - 1)
    end
  end
  return list
end

-- What the variable stands for at this point; nil where that is gone.
local function meant(sch, variable)
  local ok, what = pcall(sch.variable, sch, variable)
  return ok and what or nil
end

-- Loops and blocks that several variables name are tried once.
local function is_new(what, tried, letter)
  for _, other in ipairs(letter == "v" and {} or tried) do
    if other == what then return false end
  end
  tried[#tried + 1] = what
  return true
end

-- Other variables in place of operand i, with which it would apply.
local function elsewhere(sch, trace, name, operands, i)
  local found, given = {}, operands[i]
  local letter, tried = given:sub(1, 1), { meant(sch, given) }
  for _, other in ipairs(variables(trace, letter)) do
    local what = other ~= given and meant(sch, other)
    if what and is_new(what, tried, letter) then
      local list = { n = operands.n, table.unpack(operands, 1, operands.n) }
      list[i] = other
      if applies(sch, name, list) then
        found[#found + 1] = { operand = i, given = given, other = other,
                              what = tostring(what) }
      end
    end
  end
  return found
end

-- The instruction that makes a variable; nil: none does.
local function maker(trace, variable)
  local number = tonumber(variable:sub(2)) + 1
  for k = 1, #trace do
    for _, output in ipairs(trace[k].outputs) do
      if tonumber(output:sub(2)) == number then return k end
    end
  end
end

local function check_made(s, variable)
  local k = maker(s:trace(), variable)
  if k and k > s:position() then
    error(("'%s' is made by instruction %d, and this is position %d"):format(
            variable, k, s:position()), 3)
  end
end

-- s:whynot(name, ...): does the primitive apply at this position?  Operands are
-- as in the trace, variables by name ("l6").  nil where it does; else a table:
-- message, what holds it back, and instead, variables with which it would:
-- operand, its number, given, other, and what the other stands for.
function questions.whynot(s, name, ...)
  local trace = s:trace():prefix(s:position())
  local sch, operands = trace:replay(), table.pack(...)
  for i = 1, operands.n do
    if is_variable(operands[i]) then check_made(s, operands[i]) end
  end
  local ok, why = applies(sch, name, operands)
  if ok then return nil end
  local instead = {}
  for i = 1, operands.n do
    local found = is_variable(operands[i]) and
                  elsewhere(sch, trace, name, operands, i) or {}
    table.move(found, 1, #found, #instead + 1, instead)
  end
  return { message = why, instead = instead }
end

-- ---- the first instruction at fault ----------------------------------------

-- s:bisect(good): the first instruction behind which good(program) is false,
-- found with at most log2(n) + 1 calls, given that it never holds again once it
-- does not; nil where it holds at the end.  Where that is instruction 1, the
-- program as described is asked, too: 0 where it does not hold either.
function questions.bisect(s, good)
  if type(good) ~= "function" then
    error("stepper:bisect takes a function of a program", 2)
  end
  local here, low, high = s:position(), 0, s:size()
  local function holds(at)
    s:goto_(at)
    return good(s:program())
  end
  local function search()
    if holds(high) then return nil end
    while high - low > 1 do
      local middle = (low + high) // 2
      if holds(middle) then low = middle else high = middle end
    end
    return high == 1 and not holds(0) and 0 or high
  end
  local ok, found = pcall(search)
  s:goto_(here)
  if not ok then error(found, 0) end
  return found
end

-- ---- two traces ------------------------------------------------------------

-- The first instruction in which two traces differ, and how: "decision",
-- "instruction", or "end" where one of them ends; nil where they are equal.
function questions.first_difference(a, b)
  for k = 1, math.min(#a, #b) do
    local x, y = a[k], b[k]
    if x.name == y.name and x.decision and
       not decisions.equal(x.decision, y.decision) then
      return k, "decision"
    end
    if a:lua(k) ~= b:lua(k) then return k, "instruction" end
  end
  if #a ~= #b then return math.min(#a, #b) + 1, "end" end
end

return questions
