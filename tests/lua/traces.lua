-- SPDX-License-Identifier: Apache-2.0
-- Traces and steppers: inspection, texts both ways, replay, decisions,
-- mutation, simplification, stepping.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local fails = checks.fails
local ops = require "tessera.ops"

local p = ops.matmul { m = 64, n = 64, k = 32, relu = true }

local function make()
  local sch = ts.schedule(p, { seed = 1 })
  local b = sch:get_block("C")
  local i, j = sch:get_loops(b)
  local i0, i1, i2, i3 = sch:split(i, { sch:sample_perfect_tile(i,
    { n = 4, max_innermost_factor = 16 }) })
  sch:reorder(i0, i1, i2, j, i3)
  sch:parallel(i0)
  local u = sch:sample_categorical({ 0, 16 }, { 0.5, 0.5 })
  sch:annotate(b, "pragma_auto_unroll_max_step", u)
  sch:get_loops(b)                      -- unused
  return sch:trace(), sch
end

local t, sch = make()

-- Looking into it: by position, from 1.
do
  assert(#t == 9)
  assert(t[1].name == "get_block" and t[1].attrs.name == "C")
  assert(t[2].name == "get_loops" and #t[2].outputs == 3)
  local inst = t[3]
  assert(inst.name == "sample_perfect_tile" and inst.attrs.n == 4)
  assert(inst.inputs.loop == t[2].outputs[1])
  assert(#inst.decision == 4 and #inst.outputs == 4)
  assert(tostring(inst):find("^sample_perfect_tile, decision {%d+, .*} %(.*" ..
         "traces.lua:%d+%)$"), tostring(inst))
  assert(tostring(t[1]):find("^get_block %("), tostring(t[1]))
  local product = 1
  for _, d in ipairs(inst.decision) do product = product * d end
  assert(product == 64 and inst.decision[4] <= 16)
  assert(t[1].decision == nil and t[0] == nil and t[10] == nil)
  assert(inst.place:find("traces.lua:%d+"), inst.place)
end

-- Buffers by name or place, index maps: as texts and back.
do
  local s = ts.schedule(p)
  local b = s:get_block("C")
  s:cache_read(b, "A", "local")
  s:cache_read(b, { "read", 1 }, "local")
  s:cache_write{ block = b, write_buffer_index = 0, storage_scope = "local" }
  local u = s:trace()
  assert(u[2].attrs.read_buffer_index == "A")
  assert(u[3].attrs.read_buffer_index[1] == "read")
  assert(u[4].attrs.write_buffer_index == 0)
  assert(ts.trace.from_json(u:json(), p) == u)
  assert(ts.trace.from_lua(u:lua(), p) == u)
  assert(u:replay():program():hash() == s:program():hash())
  local v = s:sample_categorical({ 4, 8 }, { 0.5, 0.5 })
  s:transform_layout(b, { "read", 1 }, function(i, j)
    return ts.min(i, 100), v * (j // v) - -(j % v)
  end)
  s:transform_layout(b, "B_local", { "(i, j) -> (j // $1, i, j % $1)", v })
  s:transform_layout(b, "A_local", "(i, j) -> (j, i)", { pad_value = 0.5 })
  s:get_loops(b)
  u = s:trace()
  local map = u[6].inputs.index_map
  assert(map[1] == "(i, j) -> (min(i, 100), $1 * (j // $1) - (0 - j % $1))",
         map[1])
  assert(#map == 2 and map[2] == u[5].outputs[1])
  assert(u[8].inputs.index_map == "(i, j) -> (j, i)")
  assert(ts.trace.from_json(u:json(), p) == u)
  assert(ts.trace.from_lua(u:lua(), p) == u)
  assert(load(u:lua() .. "return sch", "t", "t",
              { sch = ts.schedule(p), require = require })():trace() == u)
  assert(u:replay():program():hash() == s:program():hash())
  -- What a map computes with is used, and named anew with the others.
  local w = u:simplify()
  assert(#w == #u - 1 and w[6].inputs.index_map[2] == w[5].outputs[1])
  assert(ts.equivalent(w:replay(p, { resample = true, seed = 3 }), p))
  fails("INVALID", "from character 12 on", s.transform_layout, s, b, "C",
        "(i, j) -> (k)")
  fails("INVALID", "no index map", s.transform_layout, s, b, "C",
        { "(i, j) -> (i // $2, j)", v })
  fails("TYPE", "must be an index map", s.transform_layout, s, b, "C", 3)
  fails("REFUSED", "has no such access of a buffer named", s.cache_read, s, b,
        "Q", "local")
  fails("TYPE", "must be an index", s.cache_read, s, b, { "rw", 1 }, "local")
end

-- Texts.
do
  assert(t:lua() == tostring(t))
  assert(ts.trace.from_json(t:json(), p) == t)
  assert(ts.trace.from_lua(t:lua(), p) == t)
  local loose = ts.trace.from_json(t:json())   -- of no program yet
  assert(loose:bind(p) == loose and loose == t)
  assert(tostring(loose:replay():program()) == tostring(sch:program()))
  fails("PARSE", "malformed JSON", ts.trace.from_json, "{")
  fails("NOT_FOUND", "frobnicate", ts.trace.from_lua,
        (t:lua():gsub("sch:parallel", "sch:frobnicate")))
  fails("INVALID", "NUL", ts.trace.from_json, "{}\0")
  -- A trace is data: nothing in it is run.
  fails("PARSE", "", ts.trace.from_lua, "os.exit(3)\n")
end

-- Replay: the same; drawn afresh; the same again by the same seed.
do
  local again = t:replay(p)
  assert(again:program():equal(sch:program()) and again:trace() == t)
  local texts, different = {}, 0
  for seed = 1, 8 do
    local fresh = t:replay(p, { resample = true, seed = seed })
    local same = t:replay(p, { resample = true, seed = seed })
    assert(fresh:trace() == same:trace())
    assert(ts.equivalent(fresh, p))
    if not texts[fresh:trace():lua()] then different = different + 1 end
    texts[fresh:trace():lua()] = true
  end
  assert(different > 2, "eight seeds draw the same")
  fails("INVALID", "resmaple", t.replay, t, p, { resmaple = true })
end

-- Decisions by position; one that does not fit is refused, never repaired.
do
  local t2 = t:with_decision(3, { 4, 2, 8, 1 })
  assert(table.concat(t2[3].decision, " ") == "4 2 8 1")
  assert(t2 ~= t and table.concat(t[3].decision, " ") ~= "4 2 8 1")
  assert(tostring(t2:replay(p)):find("parallel(4)", 1, true))
  fails("REFUSED", "does not fit", t.with_decision, t, 3, { 4, 2, 8, 2 })
  fails("REFUSED", "does not fit", t.with_decision, t, 3, { 4, 16 })
  fails("REFUSED", "does not fit", t.with_decision, t, 3, { 1, 1, 2, 32 })
  for n, d in pairs { [0] = {}, [2] = { 1, 1 } } do
    fails("REFUSED", ("does not fit: it has %d numbers, and must have one")
          :format(n), t.with_decision, t, 7, d)
  end
  fails("NOT_FOUND", "none at 10", t.with_decision, t, 10, { 1 })
  local ok = pcall(t.with_decision, t, 1, { 1 })
  assert(not ok, "get_block takes no decision")
end

-- One random legal neighbour; a new trace without unused instructions.
do
  local changed = false
  for seed = 1, 8 do
    local m = t:mutate { seed = seed }
    assert(#m == #t and m == t:mutate { seed = seed })
    assert(ts.equivalent(m:replay(p), p))
    changed = changed or m ~= t
  end
  assert(changed)
  local bare = ts.schedule(p):trace()
  fails("NOT_FOUND", "there is no decision to change", bare.mutate, bare, {})
  local small = t:simplify()
  assert(#small == #t - 1 and #t == 9)
  assert(small:replay(p):program():equal(sch:program()))
  -- What is open stays so.
  local open = ts.trace.from_lua(t:lua():gsub(", decision = %b{}", ""), p)
  local less = open:simplify()
  assert(#less == #t - 1 and not less[3].decision)
  assert(ts.equivalent(less:replay(p), p))
end

-- Stepping, both ways, exactly.
do
  local s = t:stepper(p)
  local seen = { [0] = tostring(s:program()) }
  assert(s:position() == 0 and s:size() == #t and #s == #t)
  assert(s:back() == false)
  for n = 1, #t do
    assert(s:next() == true and s:position() == n)
    seen[n] = tostring(s:program())
    assert(s:instruction():find(t[n].name, 1, true))
    assert((s:decision() ~= nil) == (t[n].decision ~= nil))
  end
  assert(s:next() == false)
  assert(seen[#t] == tostring(sch:program()))
  for n = #t - 1, 0, -1 do
    assert(s:back() and tostring(s:program()) == seen[n])
  end
  s:goto_(4)
  assert(tostring(s:program()) == seen[4] and seen[4] ~= seen[3])
  assert(s:diff():find("\n* ", 1, true), "what changed is marked")
  fails("NOT_FOUND", "no position 99", s.goto_, s, 99)
  -- The decision, its alternatives, another one.
  s:goto_(3)
  local list, count = s:alternatives(1000)
  assert(#list == count and count > 10)
  local sum, own = 0, false
  for _, a in ipairs(list) do
    sum = sum + a.probability
    own = own or table.concat(a.decision, " ") ==
                 table.concat(s:decision(), " ")
  end
  assert(own and math.abs(sum - 1) < 1e-6)
  assert(s:decide { 2, 2, 2, 8 } == true)
  assert(table.concat(s:decision(), " ") == "2 2 2 8")
  s:goto_(s:size())
  assert(tostring(s:program()):find("parallel(2)", 1, true))
  assert(s:trace() == t:with_decision(3, { 2, 2, 2, 8 }))
  assert(ts.equivalent(s:program(), p))
  s:goto_(3)
  fails("INVALID", "does not fit", s.decide, s, { 3, 3 })
  fails("TYPE", "element 2: expected an integer, got 1.5", s.decide, s,
        { 4, 1.5 })
  assert(table.concat(s:decision(), " ") == "2 2 2 8")
end

-- A decision with which the rest no longer applies: said, with the place.
do
  local made = ts.schedule(p, { seed = 1 })
  local b = made:get_block("C")
  local i = made:get_loops(b)
  local u = made:sample_categorical({ 8, 32 }, { 0.5, 0.5 }, { decision = 0 })
  local _, inner = made:split(i, { ts.auto, u })
  made:split(inner, { 1, 8 })           -- drops iterations of 32
  local s = made:trace():stepper(p)
  s:goto_(3)
  local ok, first, why = s:decide { 1 }
  assert(ok == false and first == 5 and #why > 0,
         tostring(ok) .. " " .. tostring(first))
  assert(s:position() == 3)
  assert(s:decide(0) == true)
end

-- What is bound to `ts` is this engine, and nothing else.
do
  local text = t:lua()
  assert(ts.trace.from_lua('local ts = require "tessera"\n' .. text, p) == t)
  fails("PARSE", '"tessera" expected', ts.trace.from_lua,
        'local ts = require "os"\n' .. text, p)
end

-- An object in JSON that is no value: how a dictionary is written.
do
  local sch = ts.schedule(p)
  sch:annotate(sch:get_block "C", "k", 12345)
  local json, n = sch:trace():json():gsub("12345", '{"a": 1}')
  assert(n == 1)
  fails("TYPE", 'a dictionary is written {"dict": {..}}', ts.trace.from_json,
        json, p)
  json = sch:trace():json():gsub("12345", '{"dict": {"a": 1}}')
  assert(ts.trace.from_json(json, p))
end
