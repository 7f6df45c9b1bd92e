-- SPDX-License-Identifier: Apache-2.0
-- The commands of `tessera step` that explain: why, whynot, bisect, blame.
local ts = require "tessera"
local decisions = require "tessera.step.decisions"
local points = require "tessera.step.points"

local commands = {}

local function fail(text, ...) error({ failed = text:format(...) }, 0) end

-- ---- why -------------------------------------------------------------------

local function origin_text(o)
  return ("%s by %d %s%s"):format(o.effect, o.instruction, o.text,
                                  o.place and " (" .. o.place .. ")" or "")
end

-- One line, and all that was done to it.
local function show_line(line)
  print(("%3d %s"):format(line.line, line.text))
  for _, o in ipairs(line.origins) do print("      " .. origin_text(o)) end
  if #line.origins == 0 then print "      as it was described" end
end

-- All lines, each with the last instruction that did something to it.
local function show_margin(lines)
  for _, line in ipairs(lines) do
    local last = line.origins[#line.origins]
    local text = last and ("%d %s"):format(last.instruction, last.name) or ""
    print(("%3d %-28s %s"):format(line.line, text, line.text))
  end
end

function commands.why(s, words)
  local what = words.rest ~= "" and words.rest or nil
  local lines = s:why(math.tointeger(tonumber(what)) or what)
  if #lines == 0 then fail("no line of the program is, or has, '%s'", what) end
  if not what then return show_margin(lines) end
  for _, line in ipairs(lines) do show_line(line) end
end

-- ---- whynot ----------------------------------------------------------------

-- "l1, {4, auto}" as values, in which names of variables are texts.
local function operands_of(text)
  local names = setmetatable({ auto = ts.auto }, {
    __index = function(_, name) return name end })
  local list = text:match "^%((.*)%)$" or text
  local chunk = load("return " .. list, "=operands", "t", names)
  if not chunk then
    fail("'%s' are no operands: write them as in a call, with commas", text)
  end
  return table.pack(chunk())
end

function commands.whynot(s, words)
  local name, rest = words.rest:match "^([%w_]+)%s*(.*)$"
  if not name then fail "whynot needs a primitive, and its operands" end
  local operands = operands_of(rest)
  local w = s:whynot(name, table.unpack(operands, 1, operands.n))
  if not w then return print(("-- %s applies here"):format(name)) end
  print("-- " .. w.message)
  for _, x in ipairs(w.instead) do
    print(("-- it applies with %s in place of %s: %s"):format(x.other, x.given,
                                                              x.what))
  end
end

-- ---- bisect ----------------------------------------------------------------

local function bool_of(text)
  local chunk, why = load("local program, text = ...; return " .. text,
                          "=condition", "t")
  if not chunk then fail("'%s' is no condition: %s", text, why) end
  return function(program) return chunk(program, tostring(program)) end
end

-- What must hold of a program: that it is right, or fast enough, or what a
-- condition of Lua says.
local function good_of(s, text)
  local limit = text:match "^slower%f[^%w_]%s*(.*)$"
  if limit then
    local most = tonumber(limit)
    if not most then fail("slower needs milliseconds, not '%s'", limit) end
    return function(p) return points.seconds(p) * 1e3 <= most end
  end
  if text ~= "" and text ~= "wrong" then return bool_of(text) end
  local here = s:position()
  s:goto_(0)
  local described = s:program()
  s:goto_(here)
  return function(p) return (ts.equivalent(p, described)) end
end

function commands.bisect(s, words)
  local at = s:bisect(good_of(s, words.rest))
  if not at then return print "-- it holds at the end of the trace" end
  if at == 0 then return print "-- not even before the first instruction" end
  s:goto_(at)
  print(("-- first at %d of %d: %s"):format(at, s:size(), s:instruction()))
end

-- ---- blame -----------------------------------------------------------------

function commands.blame(s)
  local list, trace = s:blame(), s:trace()
  for _, b in ipairs(list) do
    local inst = trace[b.instruction]
    print(("-- %d %s: %s; with %s %.3f of the time (%.3f to %.3f)"):format(
      b.instruction, b.what, decisions.text(inst, b.decision),
      decisions.text(inst, b.alternative), b.ratio, b.low, b.high))
  end
  if #list == 0 then print "-- no decision could be another" end
end

return commands
