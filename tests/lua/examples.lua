-- SPDX-License-Identifier: Apache-2.0
-- The example of every primitive runs, and what it records replays, prints,
-- reads back and runs again as Lua; what it leaves of blocks and loops, handles
-- still name.
local ts = require "tessera"

local programs = dofile((arg[0]:gsub("[^/]*$",
                                     "../support/example_programs.lua")))

-- Runs a piece of Lua with `sch` and `ts` in sight.
local function run(text, sch)
  local env = setmetatable({ sch = sch, ts = ts }, { __index = _G })
  return pcall(assert(load(text, "=example", "t", env)))
end

local function check(name, program, sch)
  local t = sch:trace()
  local text = tostring(sch:program())
  assert(#t > 0, name .. ": nothing was recorded")
  assert(tostring(t:replay(program):program()) == text,
         name .. ": the replay differs")
  assert(ts.trace.from_json(t:json(), program) == t, name .. ": JSON differs")
  assert(ts.trace.from_lua(t:lua(), program) == t, name .. ": Lua differs")
  local again = ts.schedule(program)
  local ok, e = run(t:lua(), again)
  assert(ok, name .. ": its Lua does not run: " .. tostring(e))
  assert(again:trace() == t, name .. ": its Lua records something else")
  assert(tostring(again:program()) == text, name .. ": its Lua does otherwise")
  for i = 1, #t do assert(t[i].name, name .. ": an instruction has no name") end
end

-- ---- handles ---------------------------------------------------------------
-- They outlive every primitive for as long as there is what they name, and a
-- dead one says which instruction ended it.

local function name_of(block)
  return tostring(block):match("^block ([%w_.]+)")
end

-- Handles of all blocks and loops that can be had now.
local function handles(sch)
  local all, todo = {}, { sch:get_block("root") }
  while #todo > 0 do
    local block = table.remove(todo)
    all[#all + 1] = { rv = block, name = name_of(block) }
    for _, child in ipairs { sch:get_child_blocks(block) } do
      todo[#todo + 1] = child
      for _, loop in ipairs { sch:get_loops(child) } do
        all[#all + 1] = { rv = loop }
      end
    end
  end
  return all
end

-- A schedule whose calls are watched; seen[name] counts what was asked.
local function watch(sch, seen)
  local function call(name, _, ...)
    local before = handles(sch)
    local out = table.pack(sch[name](sch, ...))
    local number = #sch:trace()
    for _, h in ipairs(before) do
      seen.handles = seen.handles + 1
      local alive = tostring(h.rv) ~= "a loop that is gone" and
                    tostring(h.rv) ~= "a block that is gone"
      if not alive then
        seen.dead = seen.dead + 1
        local ok, e = pcall(sch.annotate, sch, h.rv, "note", 1)
        assert(not ok and e.code == "DEAD", name)
        local says = ("instruction %d (%s) removed it"):format(number, name)
        assert(e.message:find(says, 1, true), e.message)
        if h.name then
          assert(not pcall(sch.get_block, sch, h.name),
                 name .. " ended a block that is still there: " .. h.name)
        end
      end
    end
    return table.unpack(out, 1, out.n)
  end
  return setmetatable({}, { __index = function(_, name)
    return function(...) return call(name, ...) end
  end })
end

-- ---- every primitive -------------------------------------------------------

local count = 0
local seen = { handles = 0, dead = 0 }
for _, p in ipairs(ts.primitives()) do
  local done, why
  for _, program in ipairs(programs) do
    local sch = ts.schedule(program, { seed = 1 })
    local ok, e = run(p.example, sch)
    if ok then
      check(p.name, program, sch)
      assert(run(p.example, watch(ts.schedule(program, { seed = 1 }), seen)))
      done = true
    else
      why = e
    end
  end
  assert(done, p.name .. ": the example does not run: " .. tostring(why))
  count = count + 1
end
assert(count > 20, "too few primitives")
assert(seen.handles > 1000 and seen.dead > 50)

-- A module's guard is recorded by the engine, and its Lua text runs, too.
do
  local program = programs[1]
  local text = 'local v0 = sch:sample_categorical{candidates = {0, 16}, ' ..
               'probs = {0.5, 0.5}, decision = 1}\n' ..
               'sch:guard{var = v0, value = 16}\n'
  local t = ts.trace.from_lua(text, program)
  local sch = ts.schedule(program)
  assert(run(t:lua(), sch))
  assert(sch:trace() == t)
  local other = t:with_decision(1, 0)
  local ok, e = pcall(other.replay, other, program)
  assert(not ok and e.code == "REFUSED" and
         e.message == "guard: the guarded value is 0, and the trace was " ..
                      "recorded for 16",
         tostring(e))
end

-- Arithmetic over variables, least and greatest too.
do
  local program = programs[1]
  local sch = ts.schedule(program)
  local b = sch:get_block("C")
  local u = sch:sample_categorical({ 0, 16 }, { 0.5, 0.5 }, { decision = 1 })
  sch:annotate(b, "least", ts.min(u * 2 - 1, 20))
  sch:annotate(b, "greatest", ts.max(3, (u + 1) // 4, u % 7))
  assert(sch:annotation(b, "least") == "20")
  assert(sch:annotation(b, "greatest") == "4")
  assert(sch:get(ts.min(u * 2 - 1, 20)) == 20)
  assert(sch:get(ts.max(3, (u + 1) // 4, u % 7)) == 4)
  check("arithmetic", program, sch)
end

-- More variables than Lua has locals: the text still runs.
do
  local program = programs[1]
  local sch = ts.schedule(program)
  local b = sch:get_block("C")
  for _ = 1, 100 do sch:get_loops(b) end
  check("many variables", program, sch)
end
