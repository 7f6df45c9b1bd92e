-- SPDX-License-Identifier: Apache-2.0
-- The prompt of `tessera step`: moves through a trace, shows the program with
-- the last change marked, the decision and its alternatives.
local ts = require "tessera"
local assembly = require "tessera.step.assembly"
local compare = require "tessera.step.compare"
local decisions = require "tessera.step.decisions"
local points = require "tessera.step.points"

-- The commands, in one list for `help` and for the reference.
local commands = {
  { "n, next, or nothing", "the next instruction" },
  { "b, back", "undo it" },
  { "g N, goto N, N", "stand after instruction N" },
  { "l, list", "all instructions" },
  { "p, program", "the program as it stands" },
  { "d, diff", "the same with changes marked" },
  { "a, alternatives [MAX]",
    "what the decision here could be, with its probability" },
  { "c, choose D...",
    "change the decision: its numbers, or #K for the K-th alternative" },
  { "time", "build the program as it stands, and time it: against the " ..
    "unscheduled one, and the record" },
  { "ir", "LLVM's IR of it" },
  { "asm", "its assembly by loops, with llvm-mca's cycles" },
  { "e, equivalent", "does it still compute what was described?" },
  { "why [LINE or TEXT]", "which instructions made a line of the program" },
  { "whynot PRIMITIVE(OPERANDS)",
    "what holds the primitive back here, and where it would apply" },
  { "bisect [wrong, slower MS or CONDITION]",
    "the first instruction at fault: CONDITION is Lua, of `program`, `text`" },
  { "blame", "what each decision costs, against others in its place" },
  { "explain [A] B",
    "where two traces part, A or this one and B, and what that does" },
  { "t, trace", "the trace as Lua" },
  { "w, write FILE", "save it; as JSON when FILE ends in .json" },
  { "h, help, ?", "these commands" },
  { "q, quit", "leave" },
}

local stepping = {}

-- The program before the first instruction, and what the command knows: load,
-- which reads a trace that is named, and seconds of the record.
local described, known

-- A command that failed; obey says what that means.
local function fail(text, ...)
  error({ failed = text:format(...) }, 0)
end

local function show_stop(s)
  local at = s:position()
  if at == 0 then
    print(("-- 0 of %d: before the first instruction"):format(s:size()))
  else
    print(("-- %d of %d: %s"):format(at, s:size(), s:instruction()))
  end
  print(s:diff())
  local d = s:decision()
  if d then
    local _, count = s:alternatives(1)
    local trace = s:trace()
    print(("%s: decision %s, one of %s"):format(
      decisions.labels(trace)[at], decisions.numbers(trace[at], d),
      tostring(count)))
  end
end

function stepping.next(s)
  if s:next() then show_stop(s) else print("-- the end of the trace") end
end

function stepping.back(s)
  if s:back() then show_stop(s) else print("-- the start of the trace") end
end

stepping["goto"] = function(s, words)
  local n = math.tointeger(tonumber(words[2]))
  if not n then fail "goto needs a position" end
  s:goto_(n)
  show_stop(s)
end

function stepping.program(s) print(s:program()) end
function stepping.diff(s) print(s:diff()) end
function stepping.trace(s) print(s:trace()) end

function stepping.help()
  for _, c in ipairs(commands) do print(("  %-24s %s"):format(c[1], c[2])) end
end

-- The instruction as a call of the primitive with its operands, without the
-- decision, which stands behind it.
local function call_of(t, i)
  return (t:lua(i):gsub("sch:", "", 1):gsub(",? ?decision = {[^}]*}", "")
            :gsub(",? ?decision = %-?%d+", ""))
end

function stepping.list(s)
  local t, at = s:trace(), s:position()
  local labels = decisions.labels(t)
  for i = 1, #t do
    local inst = t[i]
    local d = inst.decision and (" decision %s: %s"):format(
                decisions.numbers(inst, inst.decision), labels[i]) or ""
    print(("%s%3d %s%s"):format(i == at and ">" or " ", i, call_of(t, i), d))
  end
end

function stepping.alternatives(s, words)
  if not s:decision() then
    fail "the instruction here takes no decision"
  end
  local max = math.tointeger(tonumber(words[2] or 20))
  if not max or max < 1 or max > 1 << 20 then
    fail "alternatives takes a number from 1 to 1048576"
  end
  local list, count = s:alternatives(max)
  local inst = s:trace()[s:position()]
  for i, a in ipairs(list) do
    print(("  #%-4d %s  %.4g %%"):format(
      i, decisions.numbers(inst, a.decision), 100 * a.probability))
  end
  print(("%d of %s"):format(#list, tostring(count)))
end

-- The decision that the words after "choose" say.
local function read_decision(s, words)
  local k = words.rest:match("^#(%d+)$")
  if k then
    k = math.tointeger(tonumber(k)) or 0
    local a = k >= 1 and k <= 1 << 20 and s:alternatives(k)[k]
    if not a then fail("there is no alternative #%d", k) end
    return a.decision
  end
  local d = {}
  for i = 2, #words do
    for word in words[i]:gmatch("[^,{}]+") do
      local n = word:find("^-?%d+$") and math.tointeger(tonumber(word))
      if not n then
        fail("'%s' is not an integer", word)
      end
      d[#d + 1] = n
    end
  end
  if #d == 0 then fail "choose needs numbers, or #K" end
  return d
end

function stepping.choose(s, words)
  if not s:decision() then
    fail "the instruction here takes no decision"
  end
  local d = read_decision(s, words)
  local at = s:position()
  local ok, invalid, why = s:decide(d)
  show_stop(s)
  print("-- " .. points.dependents(s:trace(), at))
  if not ok then
    print(("-- from instruction %d on the trace no longer applies: %s")
          :format(invalid, why))
    print("-- not performed: " .. points.names(s:trace(), invalid))
  end
end

-- Each raises where the program as it stands cannot be built for this machine
-- or is too large.
function stepping.time(s)
  local text, seconds = points.time(s:program())
  print("-- " .. text)
  if s:position() > 0 then
    known.unscheduled = known.unscheduled or points.seconds(described)
    print("-- " .. points.against(seconds, known.unscheduled,
                                  "the unscheduled program"))
  end
  if known.seconds then
    print("-- " .. points.against(seconds, known.seconds, "the record"))
  end
end
function stepping.ir(s) print(ts.build(s:program()):source "ir") end
function stepping.asm(s)
  local text = ts.build(s:program()):source "asm"
  local cpu = tostring(ts.target "llvm"):match "-mcpu=(%S+)" or "native"
  local shown, why = assembly.annotated(text, cpu)
  print(shown)
  if why then print("-- no cycles of loops: " .. why) end
end
function stepping.equivalent(s)
  print("-- " .. points.equivalent(s:program(), described))
end

-- What the stepper holds, as one of two that are compared.
local function this_one(s)
  local trace = s:trace()
  return { name = "this trace", trace = trace, unscheduled = described,
           program = trace:replay(described):program(),
           seconds = trace == known.trace and known.seconds or nil }
end

function stepping.explain(s, words)
  local a, b = words[2], words[3]
  if not a then fail "explain needs a trace, or two: a FILE or DB:RECORD" end
  compare(b and known.load(a, described) or this_one(s),
          known.load(b or a, described))
end

-- Spaces in the name, whatever their number, are the name's.
function stepping.write(s, words)
  local path = words.rest
  if path == "" then fail "write needs a file name" end
  local text = path:match("%.json$") and s:trace():json() or
               s:trace():lua()
  ts.write_file(path, text .. "\n")
  print("-- written to " .. path)
end

for name, f in pairs(require "tessera.step.commands") do stepping[name] = f end

local short = { n = "next", b = "back", g = "goto", p = "program",
                d = "diff", a = "alternatives", c = "choose", t = "trace",
                w = "write", h = "help", l = "list", q = "quit",
                e = "equivalent",
                jump = "goto", decide = "choose", ["?"] = "help" }

-- How many words may stand behind a command; none where it is not here.
local takes = { ["goto"] = 1, alternatives = 1, explain = 2,
                write = math.huge, choose = math.huge, why = math.huge,
                whynot = math.huge, bisect = math.huge }

-- What the error e of a command says, in one line.
local function message_of(e)
  local text = type(e) == "table" and (e.failed or e.message) or tostring(e)
  return (text:gsub("\n.*", ""))
end

-- What a line asks for; raises where it is no command.
local function perform(s, words)
  local name = short[words[1]] or words[1]
  words = { rest = words.rest, table.unpack(words) }
  if math.tointeger(tonumber(name)) then
    name = "goto"
    table.insert(words, 1, name)
  end
  if not stepping[name] then
    fail("unknown command '%s'; h lists them", words[1])
  end
  local most = takes[name] or 0
  if #words - 1 > most then
    fail("%s takes %s: '%s' is too much", name,
         most == 0 and "nothing" or most == 1 and "one word" or
         most .. " words", words[most + 2])
  end
  stepping[name](s, words)
end

-- One command; true when it was the last.  A failing one is reported in a
-- terminal, and is the end of what comes through a pipe.
local function obey(s, words, terminal)
  if (short[words[1]] or words[1]) == "quit" then return true end
  local ok, e = pcall(perform, s, words)
  if not ok and not terminal then
    error(table.concat(words, " ") .. ": " .. message_of(e), 0)
  end
  if not ok then print("-- " .. message_of(e)) end
  return false
end

-- Goes to the end of the trace; where that cannot be reached, why, in a line.
local function finish(s)
  local ok, e = pcall(s.goto_, s, s:size())
  return not ok and tostring(e):match("^[^\n]*") or nil
end

-- The words of a line, and all that stands behind the first as `rest`.
local function words_of(line)
  local words = { rest = line:match("^%s*%S+%s+(.-)%s*$") or "" }
  for w in line:gmatch("%S+") do words[#words + 1] = w end
  return words
end

-- What Tab completes a line's first word to.
local function words_to_complete()
  local list = { "quit" }
  for name in pairs(stepping) do list[#list + 1] = name end
  table.sort(list)
  return table.concat(list, " ")
end

-- Reads commands until `quit`, the end of the input or, through a pipe, the
-- first that fails, which is an error then.  When a decision was changed, the
-- program that the whole trace now makes is shown at the end; a trace that does
-- not apply as a whole is an error then.
-- more: what the command knows, as above.
local function step(s, host, name, more)
  local start, wrong = s:trace(), finish(s)
  known = more
  known.trace = start
  s:goto_(0)
  described = s:program()
  if host.complete then host.complete(words_to_complete()) end
  if wrong then print("-- this trace does not apply as a whole: " .. wrong) end
  show_stop(s)
  while true do
    io.stdout:flush()
    local line = host.read_line(("step %d/%d> "):format(s:position(),
                                                         s:size()))
    local words = words_of(line or "quit")
    if #words == 0 and host.terminal then words = { "next" } end
    if #words > 0 and obey(s, words, host.terminal) then break end
  end
  wrong = finish(s)
  if wrong then error(name .. ": " .. wrong, 0) end
  if s:trace() ~= start then
    print("-- the changed program")
    print(s:program())
  end
end

return { step = step, commands = commands }
