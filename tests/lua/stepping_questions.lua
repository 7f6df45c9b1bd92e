-- SPDX-License-Identifier: Apache-2.0
-- What a stepper answers: which instructions a line comes from, why a
-- primitive does not apply, the first instruction at fault, what a decision
-- costs, where two traces differ.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local fails = checks.fails
local ops = require "tessera.ops"

local p = ops.matmul { m = 64, n = 64, k = 32, relu = true }

-- A small schedule, and the stepper at its end.
local function scheduled()
  local sch = ts.schedule(p, { seed = 1 })
  local i, j = sch:get_loops(sch:get_block "C")
  local i0, i1 = sch:split(i, { sch:sample_perfect_tile(i,
    { n = 2, decision = { 16, 4 } }) })
  sch:parallel(i0)
  sch:vectorize(j)
  sch:annotate(i1, "note", 1)
  sch:reverse_compute_at(sch:get_block "relu", i1)
  local s = sch:trace():stepper(p)
  s:goto_(s:size())
  return s, sch
end

local function did(line)
  local list = {}
  for _, o in ipairs(line.origins) do
    list[#list + 1] = o.effect .. " by " .. o.name
  end
  return table.concat(list, ", ")
end

-- why: by number, by text, and all.
do
  local s = scheduled()
  local made = s:why("for i_0 in parallel")
  assert(#made == 1 and did(made[1]) == "made by split, changed by parallel")
  assert(made[1].line == 3 and s:why(3)[1].text == made[1].text)
  assert(made[1].origins[1].text:find("sch:split{loop = l1", 1, true))
  assert(made[1].origins[1].place:find "stepping_questions.lua:%d+$")
  assert(did(s:why("note = 1")[1]) == "made by split, changed by annotate")
  assert(did(s:why("for j in vec")[1]):find "changed by vectorize$")
  assert(did(s:why("for k in")[1]) == "")
  local all = s:why()
  local _, count = tostring(s:program()):gsub("\n", "\n")
  assert(#all == count and all[#all].text:find "relu%[vi, vj%]")
  assert(#s:why("nothing has this") == 0 and #s:why(0) == 0)
  -- At each position of its own, and where it stood it stands.
  s:goto_(4)
  assert(s:position() == 4 and did(s:why("for i_0")[1]) == "made by split")
end

-- The last origin of a line is marked in the difference that this made, in
-- schedules of the default space.
do
  local function head(text)
    return (text:match "^[%s*]*(.-)$":gsub("_%d+", ""))
  end
  local programs = { p, ops.conv2d_nhwc { n = 1, h = 8, w = 8, ci = 4,
                                          co = 8, k = 3 },
                     ops.softmax { shape = { 16, 32 } } }
  local seen = 0
  for _, program in ipairs(programs) do
    local target = ts.target "llvm -num-cores=2"
    local space = ts.space.default(target)
    for n, t in ipairs(ts.space.sketches(space, program, target)) do
      if n > 7 then break end
      t = t:replay(program, { resample = true, seed = n }):trace()
      local s = t:stepper(program)
      s:goto_(s:size())
      local lines = s:why()
      local marked = {}
      for _, line in ipairs(lines) do
        local last = line.origins[#line.origins]
        if last then
          local k = last.instruction
          if not marked[k] then
            s:goto_(k)
            marked[k] = {}
            for one in s:diff():gmatch "%* ([^\n]*)" do
              marked[k][#marked[k] + 1] = one
            end
          end
          assert(#marked[k] > 0 and last.name == t[k].name)
          -- A block's statement heads the lines that say more of it.
          if head(line.text):find "^for " then
            local word = head(line.text):match "^for [%w_]+"
            local found = false
            for _, one in ipairs(marked[k]) do
              found = found or head(one):find(word, 1, true) ~= nil
            end
            assert(found, line.text .. " is not marked by " .. last.text)
            seen = seen + 1
          end
        end
      end
    end
  end
  assert(seen > 100, seen)
end

-- whynot: what holds it back, and where it would apply.
do
  local s = scheduled()
  s:goto_(4)
  assert(s:whynot("parallel", "l6") == nil)
  local w = s:whynot("parallel", "l3")
  assert(w.message:find "not spatial", w.message)
  local others = {}
  for _, x in ipairs(w.instead) do
    assert(x.operand == 1 and x.given == "l3")
    others[#others + 1] = x.other
  end
  assert(table.concat(others, " ") == "l2 l6 l7", table.concat(others, " "))
  assert(w.instead[2].what == "for i_0 in range(16)", w.instead[2].what)
  w = s:whynot("reorder", { "l6", "l6" })
  assert(w and #w.message > 0)
  -- A loop that several variables name is named once, and not in its own place.
  local sch = ts.schedule(p)
  local C = sch:get_block "C"
  for _ = 1, 3 do sch:get_loops(C) end
  local again = sch:trace():stepper(p)
  again:goto_(again:size())
  w = again:whynot("parallel", "l6")
  assert(#w.instead == 2 and w.instead[1].other == "l1" and
         w.instead[2].other == "l2")
  fails("NOT_FOUND", "the trace has no variable 'l99'", s.whynot, s,
        "parallel", "l99")
  s:goto_(0)
  fails(nil, "'l6' is made by instruction 4, and this is position 0", s.whynot,
        s, "parallel", "l6")
  s:goto_(4)
  fails("NOT_FOUND", "there is no primitive 'paralel'", s.whynot, s,
        "paralel", "l6")
  assert(s:position() == 4)
end

-- bisect: a fault that was planted in traces of 30 to 500 instructions.
do
  for n = 1, 100 do
    local size, sch = 30 + (n * 97) % 471, ts.schedule(p)
    local loops = { sch:get_loops(sch:get_block "C") }
    local planted = 3 + (n * 61) % (size - 3)
    for k = #sch:trace() + 1, size do
      sch:annotate(loops[k % 3 + 1],
                   k == planted and "planted" or "note" .. k, 1)
    end
    local s, calls = sch:trace():stepper(p), 0
    local found = s:bisect(function(program)
      calls = calls + 1
      return not tostring(program):find "planted"
    end)
    assert(found == planted, ("%s, not %d"):format(found, planted))
    assert(calls <= math.ceil(math.log(size, 2)) + 1, calls)
    assert(s:position() == 0)
  end
  local s = scheduled()
  assert(s:bisect(function(x) return ts.equivalent(x, p) end) == nil)
  -- What does not even hold of the program as described.
  assert(s:bisect(function() return false end) == 0)
  local calls = 0
  assert(s:bisect(function()
    calls = calls + 1
    return calls > 4                    -- behind the first, but not before it
  end) == 1 and calls == 5, calls)
  local ok, e = pcall(s.bisect, s, function() error "mine" end)
  assert(not ok and tostring(e):find "mine" and s:position() == s:size())
end

-- blame: of decisions the one that was planted costs most, by times that are
-- calculated.
do
  local copy = ops.relu { shape = { 64, 64, 64 } }
  local function time(program)
    local t = 1
    local inner = "for [%a_]+%d*_1 in range%((%d+)%)"
    for extent in tostring(program):gmatch(inner) do
      t = t * (1 + math.abs(math.log(tonumber(extent), 2) - 3))
    end
    return t
  end
  for n = 1, 20 do
    local sch = ts.schedule(copy)
    local loops = { sch:get_loops(sch:get_block "Y") }
    for k, l in ipairs(loops) do
      local inner = k == n % 3 + 1 and 1 or (n + k) % 2 == 0 and 4 or 8
      sch:split(l, { sch:sample_perfect_tile(l,
        { n = 2, decision = { 64 // inner, inner } }) })
    end
    local s = sch:trace():stepper(copy)
    s:goto_(1)
    local list = s:blame { time = time, rounds = 3 }
    assert(#list == 3 and s:position() == 1)
    assert(list[1].instruction == 3 + 2 * (n % 3), list[1].instruction)
    assert(list[1].ratio < 0.5 and list[1].low <= list[1].ratio and
           list[1].ratio <= list[1].high)
    assert(list[1].decision[2] == 1 and list[1].alternative[2] > 1)
    assert(list[1].what:find "^tiles of [%w]+ of Y$", list[1].what)
  end
  local s = scheduled()
  fails(nil, "'time' is a function of a program", s.blame, s, { time = 3 })
  fails(nil, "'time' gives seconds above 0, not x", s.blame, s,
        { time = function() return "x" end })
  fails(nil, "blame takes a table of options", s.blame, s, 3)
  fails(nil, "bisect takes a function of a program", s.bisect, s, "text")
  fails(nil, "takes the number of a line, or a text", s.why, s, {})
  fails(nil, "there is no option 'trials'", s.blame, s, { trials = 3 })
  fails(nil, "'rounds' is an integer from 1 to 64", s.blame, s, { rounds = 0 })
end

-- Where two traces differ, and a beginning of one.
do
  local questions = require "tessera.step.questions"
  local s, sch = scheduled()
  local a = sch:trace():bind(p)
  assert(questions.first_difference(a, s:trace()) == nil)
  local k, what = questions.first_difference(a, a:with_decision(3, { 8, 8 }))
  assert(k == 3 and what == "decision")
  k, what = questions.first_difference(a, a:prefix(5))
  assert(k == 6 and what == "end")
  local other = a:prefix(5):replay(p)
  other:vectorize(other:variable "l7")
  k, what = questions.first_difference(a, other:trace())
  assert(k == 6 and what == "instruction")
  assert(#a:prefix(0) == 0 and a:prefix(#a) == a)
  fails("NOT_FOUND", "the trace has 9 instructions, not 10", a.prefix, a, 10)
  fails("NOT_FOUND", "there is none at 10", a.lua, a, 10)
  assert(a:lua(6) == "sch:vectorize{loop = l2}")
  fails("NOT_FOUND", "the trace has no variable 'b6'", other.variable, other,
        "b6")
end
