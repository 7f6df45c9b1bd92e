-- SPDX-License-Identifier: Apache-2.0
-- A trace as a page that steps through it (page/step.html): listings as what
-- each step changed of the one before.
local ts = require "tessera"
local decisions = require "tessera.step.decisions"
local lines = require "tessera.step.lines"
local page = require "tessera.page.page"
local points = require "tessera.step.points"

local KNOWN = { title = "string", times = "boolean", database = "userdata",
                record = "integer" }

-- How many alternatives of a decision are listed.
local LISTED = 24

local function checked(o)
  for k, v in pairs(o) do
    if not KNOWN[k] then
      error(("stepper:html: there is no option '%s'"):format(tostring(k)), 4)
    end
    if type(v) ~= KNOWN[k] and math.type(v) ~= KNOWN[k] then
      error(("stepper:html: '%s' is no %s"):format(k, KNOWN[k]), 4)
    end
  end
  if (o.record == nil) ~= (o.database == nil) then
    error("stepper:html: 'record' is the number of one of 'database'", 4)
  end
  return o
end

-- ---- listings --------------------------------------------------------------

-- The numbers of texts, each of which is kept once, from 0.
local function interner()
  local list, of = {}, {}
  return list, function(text)
    if not of[text] then
      list[#list + 1] = text
      of[text] = #list - 1
    end
    return of[text]
  end
end

local function words(line) return line:match "^ *(.*)$" end
local function indent(line) return #line:match "^ *" end

-- Adds a line to a list of edits.
local function add(list, mark, by)
  local last = list[#list]
  if last and last[1] == mark and last[3] == by then
    last[2] = last[2] + 1
  else
    list[#list + 1] = { mark, 1, by }
  end
end

-- What turns one listing into another: { "=", n }, n lines are kept, { ">", n,
-- by }, kept and indented by so much more, { "-", n }, n lines go away, and
-- { "+", number, indent, number, indent, ... }, new ones.
local function edits(before, after, number)
  local list, fresh = {}, nil
  for _, x in ipairs(lines(before, after, words)) do
    local mark, line = x[1], x[2]
    if mark == "+" then
      fresh = fresh or { "+" }
      if list[#list] ~= fresh then list[#list + 1] = fresh end
      table.move({ number(words(line)), indent(line) }, 1, 2, #fresh + 1,
                 fresh)
    else
      local by = mark == " " and indent(x[3]) - indent(line) or 0
      fresh = nil
      if by ~= 0 then add(list, ">", by) else add(list, mark == " " and "=" or
                                                    mark) end
    end
  end
  return list
end

-- ---- decisions -------------------------------------------------------------

-- The best times of records of this sketch that differ from this one in one
-- decision alone: by the decision's number and its text.
local function times_of(trace, o)
  local own, times = nil, {}
  if not o.record then return times end
  local all = o.database:records(math.maxinteger)
  for _, r in ipairs(all) do
    if r.id == o.record then own = r end
  end
  if not own or own.damaged then return times, own end
  local mine, list = decisions.entries(own.decisions), trace:decisions()
  for _, r in ipairs(all) do
    local same = r.sketch == own.sketch and r.hash == own.hash and
                 r.target == own.target and r.policy == own.policy
    if same and r.status == "OK" and not r.damaged then
      local other = decisions.entries(r.decisions)
      for k, d in ipairs(list) do
        if other[k] and decisions.differ_in(k, mine, other) then
          local of = times[d.instruction] or {}
          local key = table.concat(other[k], " ")
          of[key] = math.min(of[key] or math.huge, r.seconds)
          times[d.instruction] = of
        end
      end
    end
  end
  return times, own
end

-- The decision that s stands behind, and what else it could be.
local function decision_of(s, trace, d, times)
  local inst, chosen = trace[s:position()], s:decision()
  local rows, listed, found = {}, nil, false
  local count
  listed, count = s:alternatives(LISTED)
  for i, a in ipairs(listed) do
    local is = decisions.equal(a.decision, chosen)
    found = found or is
    rows[i] = { text = decisions.text(inst, a.decision), chosen = is,
                probability = a.probability,
                time = times[table.concat(a.decision, " ")] }
  end
  if not found then
    rows[#rows + 1] = { text = decisions.text(inst, chosen), chosen = true,
                        time = times[table.concat(chosen, " ")] }
  end
  return { what = decisions.label(d), rows = rows,
           text = decisions.text(inst, chosen), count = count,
           dependents = points.dependents(trace, s:position()) }
end

-- ---- steps -----------------------------------------------------------------

-- Seconds of the program; nil where it cannot be built for this machine.
local function seconds(program)
  local ok, t = pcall(points.seconds, program)
  return ok and t or nil
end

-- The last folder, file and line: the folders above are of one machine.
local function place_of(inst)
  return inst.place and inst.place:match "[^/]*/?[^/]*$"
end

-- The step that s stands behind, `before` the listing of the one before.
local function step_of(s, trace, before, at, o)
  local k = s:position()
  local program = s:program()
  local after = tostring(program)
  local step = { name = trace[k].name, text = trace:lua(k),
                 place = place_of(trace[k]) }
  if after ~= before then
    step.edits = edits(before, after, at.number)
    step.time = o.times and seconds(program) or nil
  else
    step.same = true
  end
  if at.decision[k] and s:decision() then
    step.decision = decision_of(s, trace, at.decision[k], at.times[k] or {})
  end
  return step, after
end

local function first_line(e) return tostring(e):match "^[^\n]*" end

local function steps_of(s, trace, at, o)
  s:goto_(0)
  local described = s:program()
  local before = tostring(described)
  local steps = { { name = "as described",
                    text = "the program as it was described",
                    time = o.times and seconds(described) or nil } }
  steps[1].edits = edits("", before, at.number)
  while s:position() < s:size() do
    local k = s:position() + 1
    local ok, e = pcall(s.next, s)
    if not ok then
      steps[#steps + 1] = { name = trace[k].name, text = trace:lua(k),
                            wrong = first_line(e) }
      break
    end
    steps[#steps + 1], before = step_of(s, trace, before, at, o)
  end
  return steps, described
end

local function facts_of(trace, program, own, o)
  local list = { ("program %s"):format(program:name()),
                 #trace == 1 and "1 instruction" or
                 #trace .. " instructions" }
  if own then
    list[#list + 1] = ("record %d of %s"):format(o.record, own.workload)
    list[#list + 1] = own.target
    if own.status ~= "OK" then list[#list + 1] = "it failed: " .. own.status end
  end
  return list
end

-- Seconds of the unscheduled program, as the record's run knows.
local function unscheduled_of(own, database)
  for _, run in ipairs(database:runs()) do
    if run.id == own.run then return run.unscheduled end
  end
end

-- s:html([options]): the text of the page; the stepper stands where it stood.
-- options: title; database and record, the number of one of its records that
-- this is the trace of: the page has the times of those that differ from it in
-- a decision; times: the program is built after each instruction, and timed.
return function(s, options)
  local o, here, trace = checked(options or {}), s:position(), s:trace()
  local text, number = interner()
  local at = { number = number, decision = {} }
  for _, d in ipairs(trace:decisions()) do at.decision[d.instruction] = d end
  local own
  at.times, own = times_of(trace, o)
  local steps, program = steps_of(s, trace, at, o)
  s:goto_(here)
  local title = o.title or "trace of " .. program:name()
  return page.text("step", title, {
    title = title, version = ts.version(), line = text,
    steps = steps, facts = facts_of(trace, program, own, o),
    measured = own and own.status == "OK" and own.seconds or nil,
    unscheduled = own and unscheduled_of(own, o.database) })
end
