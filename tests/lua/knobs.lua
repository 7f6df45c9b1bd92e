-- SPDX-License-Identifier: Apache-2.0
-- Names of decisions: those that knobs give them, in traces, results, records,
-- reports and the stepper, and those that say what is decided.
local ts = require "tessera"
local ops = require "tessera.ops"
local template = require "tessera.template"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

local program = ops.matmul { m = 32, n = 32, k = 32 }

-- A value as text, of which equal values have the same.
local function shown(v)
  if type(v) ~= "table" then
    return type(v) == "string" and ("%q"):format(v) or tostring(v)
  end
  local parts = {}
  for k, x in pairs(v) do parts[#parts + 1] = k .. "=" .. shown(x) end
  table.sort(parts)
  return "{" .. table.concat(parts, " ") .. "}"
end

local function same(a, b)
  a, b = shown(a), shown(b)
  if a ~= b then error(a .. "\nis not\n" .. b, 2) end
end

-- By hand: `named` says whether there are names.
local function tiled(named)
  local sch = ts.schedule(program, { seed = 3 })
  local i, j = sch:get_loops(sch:get_block "C")
  local i0, i1 = sch:sample_perfect_tile(i, { n = 2, decision = { 8, 4 } })
  local u = sch:sample_categorical({ 4, 16 }, { 0.5, 0.5 }, { decision = 1 })
  if named then
    sch:knob("tile_i", { i0, i1 })
    sch:knob("u", u)
    sch:knob("twice", u * 2)
    sch:knob("a b", { "x", 1.5, true, { k = "</v>", l = {} } })
  end
  local io = sch:split(i, { i0, i1 })
  sch:split(j, { ts.auto, u })
  sch:annotate(io, "pragma_auto_unroll_max_step", u)
  return sch
end
local expected = { tile_i = { 8, 4 }, u = 16, twice = 32,
                   ["a b"] = { "x", 1.5, true, { k = "</v>", l = {} } } }
local named, plain = tiled(true):trace(), tiled(false):trace()

-- ---- in the trace ----------------------------------------------------------

do
  same(named:params(), expected)
  same(plain:params(), {})
  -- Every form but TVM's, which has no names, keeps them.
  local forms = { ts.trace.from_lua(named:lua(), program),
                  ts.trace.from_json(named:json(), program) }
  for _, t in ipairs(forms) do
    same(t:params(), expected)
    assert(t:lua() == named:lua())
  end
  assert(ts.trace.from_tvm_json(plain:to_tvm_json(), program) ==
         ts.trace.from_tvm_json(named:to_tvm_json(), program))
  -- The Lua text performs them.
  local sch = ts.schedule(program)
  assert(load(named:lua(), "=trace", "t", { sch = sch, require = require }))()
  same(sch:trace():params(), expected)
  -- They are no part of what is compared, nor of the program.
  assert(named == plain and #named == #plain + 4)
  assert(tostring(named:replay(program)) == tostring(plain:replay(program)))
  -- Another decision is another value.
  same(named:with_decision(3, { 2, 16 }):params().tile_i, { 2, 16 })
end

-- The later of two values of one name counts; names are not empty.
do
  local sch = ts.schedule(program)
  sch:knob("a", 1)
  sch:knob("b", "x")
  sch:knob("a", false)
  same(sch:trace():params(), { a = false, b = "x" })
  local e = checks.refused(sch, "NAME_EMPTY", "knob", "", 1)
  assert(e.message:find("knob: needs a name that is not empty", 1, true))
end

-- Values whose decisions are open are unknown.
do
  local sketch = ts.space.sketches(ts.space.by_hand(function(sch)
    local i = sch:get_loops(sch:get_block "C")
    local size = { sch:sample_perfect_tile(i, { n = 2 }) }
    sch:split(i, size)
    sch:knob("tile", size)
    sch:knob("fixed", 7)
  end), program, "llvm")[1]
  same(sketch:params(), { fixed = 7 })
  assert(sketch:decisions()[1].knob == "tile")
  assert(sketch:decisions()[1].decision == nil)
end

-- A name keeps nothing alive, and goes with what it names.
do
  local sch = ts.schedule(program)
  local i = sch:get_loops(sch:get_block "C")
  local used = sch:sample_categorical({ 2, 4 }, { 1, 1 })
  local idle = sch:sample_categorical({ 2, 4 }, { 1, 1 })
  sch:split(i, { ts.auto, used })
  sch:knob("used", used)
  sch:knob("idle", { idle, used })
  local small = sch:trace():simplify()
  assert(#small == #sch:trace() - 2)
  assert(small:params().used and not small:params().idle)
  local module = ts.module { name = "idle", apply = function(s, block)
    s:knob("idle", s:sample_categorical({ 0, 1 }, { 1, 1 }))
    return s
  end }
  local said
  ts.on_warning(function(text) said = text end)
  ts.space.check({ module {} }, program)
  ts.on_warning(nil)
  assert(said:find("nothing reads what sch:sample_categorical gives", 1, true))
end

-- ---- what is decided -------------------------------------------------------

do
  local list = named:decisions()
  assert(#list == 2)
  same(list[1], { instruction = 3, knob = "tile_i", what = "tiles of i of C",
                  parts = { "i of C, tile 1", "i of C, tile 2" },
                  decision = { 8, 4 } })
  same(list[2], { instruction = 4, knob = "u", what = "j of C, factor 2",
                  parts = { "j of C, factor 2" }, decision = { 1 } })
  assert(plain:decisions()[1].knob == nil)
  assert(plain:decisions()[1].what == "tiles of i of C")
  -- Without a program the instruction is all that is known.
  local loose = ts.trace.from_lua(plain:lua())
  assert(loose:decisions()[1].what == "tile of instruction 3")
  same(loose:decisions()[1].parts, { "tile of instruction 3, tile 1",
                                     "tile of instruction 3, tile 2" })
  assert(loose:decisions(program)[1].what == "tiles of i of C")
end
do
  local p = ops.matmul { m = 32, n = 32, k = 32, relu = true }
  local sch = ts.schedule(p)
  local c, relu = sch:get_block "C", sch:get_block "relu"
  local i = sch:get_loops(relu)
  local u = sch:sample_categorical({ 0, 16 }, { 1, 1 })
  local f = sch:sample_categorical({ 2, 4 }, { 1, 1 }, { decision = 0 })
  local g = sch:sample_categorical({ 0, 1 }, { 1, 1 })
  local idle = sch:sample_categorical({ 0, 1 }, { 1, 1 })
  local where = sch:sample_compute_location(c, { decision = -1 })
  sch:compute_at(c, where)
  local io = sch:split(i, { ts.auto, f * 2 })
  sch:annotate(sch:get_block "root", "pragma_auto_unroll_max_step", u)
  sch:annotate(io, "mine", { 1, g })
  local said = {}
  for _, d in ipairs(sch:trace():decisions()) do said[#said + 1] = d.what end
  same(said, { "unroll steps of root", "i of relu, factor 2",
               "mine of i_0 of relu", "choice of instruction 7",
               "location of C" })
  assert(idle)
  -- What the trace no longer applies to is told by its instructions.
  local other = ops.matmul { m = 32, n = 32, k = 32 }
  for _, d in ipairs(sch:trace():decisions(other)) do
    assert(d.what:find " of instruction %d+$", d.what)
  end
end

-- ---- templates and molds ---------------------------------------------------

local by_knobs = template.space(program, function(cfg, sch)
  local i, j, k = sch:get_loops(sch:get_block "C")
  cfg:define_split("tile_i", i, { max_factor = 8 })
  cfg:define_split("tile_j", j, { factors = { 4, 8, 16 } })
  cfg:define_knob("steps", { 0, 16 })
  cfg:define_knob("vec", { 0, 1 })
  cfg:define_knob("word", { "write", print })
  cfg:define_reorder("order", 2, { candidates = { { 1, 2 } } })
  cfg:define_annotate("inner", "try_unroll")
  local io, ii = cfg.tile_i:apply(i)
  local jo, ji = cfg.tile_j:apply(j)
  cfg.order:apply { io, jo }
  sch:reorder(io, jo, k, ii, ji)
  if cfg.vec.val == 1 then sch:vectorize(ji) end
  if cfg.word.val == print then sch:annotate(k, "note", 1) end
  cfg.inner:apply(ii)
  sch:annotate(io, "pragma_auto_unroll_max_step", cfg.steps.val)
end)
do
  local list = ts.space.sketches(by_knobs, program, "llvm")
  assert(#list == 2 * 2 * 2)
  same(list[1]:params(), { vec = 0, word = "write", order = { 1, 2 },
                           inner = "none" })
  same(list[8]:params(), { vec = 1, word = 2, order = { 1, 2 },
                           inner = "unroll" })
  local params = list[8]:replay(program, { seed = 5 }):trace():params()
  assert(#params.tile_i == 2 and params.tile_i[1] * params.tile_i[2] == 32)
  assert(params.tile_j >= 4 and params.steps % 16 == 0)
  local ok, e = pcall(template.space, program, function(cfg)
    cfg:define_annotate("\xff", "try_vec")
  end)
  assert(not ok and e.message:find("a knob's name is a text", 1, true))
end

local molded = template.mold {
  parameters = {
    { name = "order", values = { "ij", "ji" } },
    { name = "packed", values = { true, false } },
    { name = "rows", values = { 2, 4, 8 }, when = { order = "ij" } },
  },
  forbid = { { packed = true, order = "ji" } },
  apply = function(sch, p)
    local i, j = sch:get_loops(sch:get_block "C")
    if p.order == "ji" then sch:reorder(j, i) end
    if p.rows then sch:split(i, { ts.auto, p.rows }) end
    if p.packed then sch:cache_read(sch:get_block "C", 1, "global") end
  end,
}
do
  local list = ts.space.sketches(molded, program, "llvm")
  assert(#list == 3)
  same(list[3]:params(), { order = "ji", packed = false })
  local params = list[1]:replay(program, { seed = 2 }):trace():params()
  assert(params.packed == true and params.order == "ij")
  assert(params.rows == 2 or params.rows == 4 or params.rows == 8)
end

-- ---- results, records, reports, commands -----------------------------------

local tuned = template.space(program, function(cfg, sch)
  local i, j = sch:get_loops(sch:get_block "C")
  cfg:define_split("tile_i", i)
  cfg:define_annotate("inner", "try_unroll")
  cfg:define_knob("steps", { 0, 16 })
  local io, ii = cfg.tile_i:apply(i)
  cfg.inner:apply(ii)
  sch:annotate(io, "pragma_auto_unroll_max_step", cfg.steps.val)
end)
local path = os.tmpname()
os.remove(path)
local o = { space = tuned, trials = 16, batch = 8, seed = 1,
            min_time = 0.001, database = path, strategy = "replay" }
local result = ts.tune(program, o)
local params = result:params()
assert(params.tile_i[1] * params.tile_i[2] == 32)
assert(params.inner == "none" or params.inner == "unroll")
same(params, result.trace:params())

local db = ts.database(path)
local best, trace = db:best(program)
same(best:params(), trace:params())
same(db:records()[1]:params(), trace:params())

do
  local text = require "tessera.report"(db)
  assert(text:find('"name":"tile_i: i of C, tile 1"', 1, true))
  assert(text:find('"name":"steps: unroll steps of i_0 of C"', 1, true))
  assert(text:find('"params":"inner = ', 1, true))
  local steps = trace:stepper():html()
  assert(steps:find("tiles of i of C", 1, true))
end

-- A file of an engine that knew no names: its records are those of the space.
do
  local old = path .. ".old"
  local copy = ts.database(old)
  local nameless = tostring(trace):gsub("sch:knob[^\n]*\n", "")
  local made = ts.trace.from_lua(nameless, program)
  assert(made == trace and #made == #trace - 3)
  copy:add(made, best.target, best.policy, { 1e-9 })
  same(copy:records()[1]:params(), {})
  assert(#copy:verify() == 0 and copy:records()[1].sketch == best.sketch)
  copy:close()
  o.database, o.trials = old, 5
  local resumed = ts.tune(program, o)
  assert(resumed.trials == 5 and resumed.latency)
  assert(ts.database(old):records { limit = 0 }.total == 5)
  for _, e in ipairs { "", "-wal", "-shm" } do os.remove(old .. e) end
end

db:close()
for _, e in ipairs { "", "-wal", "-shm" } do os.remove(path .. e) end

-- Where nothing valid was found there are no values.
do
  local none = ts.tune(program, {
    trials = 1, measure = function() return nil, "TIMEOUT" end,
    space = ts.space.by_hand(function(sch) sch:knob("a", 1) end) })
  assert(not none.trace)
  same(none:params(), {})
end
