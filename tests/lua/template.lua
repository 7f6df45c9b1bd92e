-- SPDX-License-Identifier: Apache-2.0
-- Templates and code molds: the spaces that they are, and what they refuse.
local ts = require "tessera"
local ops = require "tessera.ops"
local template = require "tessera.template"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

local program = ops.matmul { m = 32, n = 32, k = 32 }

local function sketches(space)
  return ts.space.sketches(space, program, "llvm")
end

local function refused(text, f, ...)
  local ok, e = pcall(f, ...)
  assert(not ok and e.message:find(text, 1, true), tostring(e.message or e))
end

-- A template of value knobs is one sketch, the same as the function by hand.
do
  local by_knobs = template.space(program, function(cfg, sch)
    local i, j, k = sch:get_loops(sch:get_block "C")
    cfg:define_split("tile_i", i, { num_outputs = 2, max_factor = 8 })
    cfg:define_split("tile_j", j, { factors = { 4, 8, 16 } })
    cfg:define_knob("steps", { 0, 16 })
    local io, ii = cfg.tile_i:apply(i)
    local jo, ji = cfg.tile_j:apply(j)
    sch:reorder(io, jo, k, ii, ji)
    sch:vectorize(ji)
    sch:annotate(io, "pragma_auto_unroll_max_step", cfg.steps.val)
  end)
  local by_hand = ts.space.by_hand(function(sch)
    local i, j, k = sch:get_loops(sch:get_block "C")
    local size = { sch:sample_perfect_tile(i, {
      n = 2, max_innermost_factor = 8 }) }
    local third = 1 / 3
    local width = sch:sample_categorical({ 4, 8, 16 }, { third, third, third })
    local steps = sch:sample_categorical({ 0, 16 }, { 0.5, 0.5 })
    local io, ii = sch:split(i, size)
    local jo, ji = sch:split(j, { ts.auto, width })
    sch:reorder(io, jo, k, ii, ji)
    sch:vectorize(ji)
    sch:annotate(io, "pragma_auto_unroll_max_step", steps)
  end)
  local a, b = sketches(by_knobs), sketches(by_hand)
  assert(#a == 1 and #b == 1 and a[1]:equal(b[1]))
  for seed = 1, 4 do
    checks.same(a[1]:replay(program, { resample = true, seed = seed }), program)
  end
end

-- Orders, annotations and words make sketches.
do
  local space = template.space(program, function(cfg, sch)
    local i, j, k = sch:get_loops(sch:get_block "C")
    cfg:define_reorder("order", 3,
                       { candidates = { { 1, 2, 3 }, { 1, 3, 2 } } })
    cfg:define_annotate("inner", "try_unroll_vec")
    cfg:define_knob("copy", { "none", "write" })
    if cfg.copy.val == "write" then
      sch:cache_write(sch:get_block "C", 0, "global")
    end
    cfg.order:apply { i, j, k }
    cfg.inner:apply(j)
  end)
  local list = sketches(space)
  assert(#list == 2 * 3 * 2, #list)
  for _, t in ipairs(list) do checks.same(t:replay(program), program) end
end
do
  local space = template.space(program, function(cfg, sch)
    cfg:define_reorder("any", 3)
    cfg.any:apply { sch:get_loops(sch:get_block "C") }
  end)
  assert(#sketches(space) == 6)
end

-- A mold: what depends on a parameter is there for its values only.
do
  local seen = {}
  local space = template.mold {
    parameters = {
      { name = "packed", values = { true, false } },
      { name = "order", values = { "ij", "ji" } },
      { name = "width", values = { 4, 8, 16 } },
      { name = "rows", values = { 2, 4 }, when = { order = "ij" } },
    },
    forbid = { { packed = true, order = "ji" } },
    apply = function(sch, p)
      seen[#seen + 1] = { p.packed, p.order, p.rows ~= nil }
      if p.packed then sch:cache_read(sch:get_block "C", 1, "global") end
      local i, j, k = sch:get_loops(sch:get_block "C")
      local jo, ji = sch:split(j, { ts.auto, p.width })
      if p.rows then
        local io, ii = sch:split(i, { ts.auto, p.rows })
        sch:reorder(io, jo, k, ii, ji)
      else
        sch:reorder(jo, i, k, ji)
      end
      sch:vectorize(ji)
    end,
  }
  local list = sketches(space)
  assert(#list == 3, #list)
  for _, v in ipairs(seen) do
    assert(v[3] == (v[2] == "ij") and not (v[1] and v[2] == "ji"))
  end
  for _, t in ipairs(list) do
    checks.same(t:replay(program, { resample = true, seed = 2 }), program)
  end
  local r = ts.tune(program, { space = space, trials = 6, batch = 3, seed = 1,
                               min_time = 0.002, strategy = "replay" })
  assert(r.trials == 6 and r.latency > 0)
end

-- ---- factors by expressions, constraints ----------------------------------

-- Three parts by two parameters and what they leave: most draws do not divide,
-- which is no branching, and refuses neither draws nor the space.
local function of_parts(more, primitive)
  local m = {
    parameters = { { name = "m", values = { 32 } },
                   { name = "a", values = { 3, 5, 7, 2, 11, 4 } },
                   { name = "v", values = { 5, 6, 7, 8, 4 } } },
    apply = function(sch, p)
      local i = sch:get_loops(sch:get_block "C")
      local _, _, inner = sch:split(i, { p.m // (p.a * p.v), p.a, p.v }, true,
                                    true)
      sch[primitive or "vectorize"](sch, inner)
    end }
  for k, v in pairs(more or {}) do m[k] = v end
  return m
end
local function values_of(space)
  local seen, list = {}, {}
  local r = ts.tune(program, { space = space, trials = 40, seed = 1,
    strategy = "grid", cost_model = "random", measure = function(session, c)
      local p = session:trace(c):params()
      seen[("%d*%d"):format(p.a, p.v)] = true
      return 1e-3
    end })
  assert(tonumber(r.funnel:match "(%d+)  valid\n") >= r.trials, r.funnel)
  for name in pairs(seen) do list[#list + 1] = name end
  table.sort(list)
  return table.concat(list, " ")
end
do
  local list = sketches(template.mold(of_parts()))
  assert(#list == 1 and tostring(list[1]):find("v0 // (v1 * v2)", 1, true))
  assert(values_of(template.mold(of_parts())) == "2*4 2*8 4*4 4*8")
end
-- The same of a template's knobs.
do
  local space = template.space(program, function(cfg, sch)
    local i = sch:get_loops(sch:get_block "C")
    cfg:define_knob("a", { 3, 5, 7, 2, 11, 4 })
    cfg:define_knob("v", { 5, 6, 7, 8, 4 })
    sch:split(i, { 32 // (cfg.a.val * cfg.v.val), cfg.a.val, cfg.v.val }, true,
              true)
  end)
  assert(#sketches(space) == 1 and values_of(space) == "2*4 2*8 4*4 4*8")
end
-- What no draw allows is refused, by the reason of the first.
refused("less than the extent 32 of loop i", sketches, template.mold(of_parts {
  parameters = { { name = "m", values = { 32 } },
                 { name = "a", values = { 7 } },
                 { name = "v", values = { 5, 9 } } },
  apply = function(sch, p)
    sch:split(sch:get_loops(sch:get_block "C"), { p.m // p.v, p.v }, true, true)
  end }))

-- A constraint excludes values: of one parameter it makes the list shorter, of
-- several it is a table in the trace, the shorter one.
do
  local function constrained(constraint)
    return template.mold(of_parts { constraint = constraint })
  end
  assert(values_of(constrained(function(p) return p.a * p.v <= 16 end))
         == "2*4 2*8 4*4")
  assert(values_of(constrained { function(p) return p.a < 4 end,
                                 function(p) return p.v ~= 4 end }) == "2*8")
  local function text(constraint)
    return tostring(sketches(constrained(constraint))[1])
  end
  local one = text(function(p) return p.a % 2 == 0 end)
  assert(one:find("candidates = {2, 4}", 1, true) and not one:find "restrict")
  local few = text(function(p) return p.v == 4 and p.a < 5 end)
  assert(few:find("rows = {3, 4, 2, 4, 4, 4}}", 1, true), few)
  local all_but = text(function(p) return not (p.a == 4 and p.v == 8) end)
  assert(all_but:find("rows = {4, 8}, among = false", 1, true), all_but)
  -- It knows fixed values, too, and drops sketches.
  local m = of_parts { constraint = function(p)
    return p.kind == "x" and p.a * p.v == 8
  end }
  table.insert(m.parameters, 1, { name = "kind", values = { "x", "y" } })
  assert(#sketches(template.mold(m)) == 1)
  assert(values_of(template.mold(m)) == "2*4")
end
-- Where next to nothing is left of many combinations a run ends with all of it.
do
  local many, allowed = {}, {}
  for i = 1, 30 do many[i] = i end
  for i = 1, 19 do allowed[i * 1421] = true end
  local few = template.mold {
    parameters = { { name = "a", values = many }, { name = "b", values = many },
                   { name = "c", values = many } },
    constraint = function(p)
      return allowed[900 * (p.a - 1) + 30 * (p.b - 1) + p.c] or false
    end,
    apply = function(sch, p)
      sch:annotate(sch:get_block "C", "sizes", { p.a, p.b, p.c })
    end }
  for _, strategy in ipairs { "hybrid", "replay", "genetic" } do
    local r = ts.tune(program, { space = few, strategy = strategy, seed = 1,
      trials = 40, measure = function(s, c)
        return 1e-3 * s:trace(c):params().a
      end })
    assert(r.trials == 19 and r.exhausted, strategy .. ": " .. r.trials)
  end
end
refused("the constraints leave no combination", template.mold,
        of_parts { constraint = function(p) return p.a > 100 end })
refused("constraint is a function(p) or a list of such, not the number 7",
        template.mold, of_parts { constraint = 7 })
-- It reads what there is, also by pairs: else it would exclude nothing.
refused("there is no parameter 'nothing'", template.mold,
        of_parts { constraint = function(p) return p.nothing ~= 1 end })
refused("there is no parameter 'nothing'", sketches, template.mold(of_parts {
  apply = function(_, p) return p.nothing end }))
refused("a constraint sets no value (of a)", template.mold,
        of_parts { constraint = function(p) p.a = 2 end })
assert(values_of(template.mold(of_parts { constraint = function(p)
  local sum = 0
  for _, value in pairs(p) do sum = sum + value end
  return sum == 32 + 2 + 8
end })) == "2*8")
do
  local many = {}
  for i = 1, 300 do many[i] = i end
  refused("a constraint reads parameters of 90000 combinations", template.mold,
          { parameters = { { name = "a", values = many },
                           { name = "b", values = many } },
            constraint = function(p) return p.a < p.b end,
            apply = function() end })
end

-- ---- integers that are branched on ----------------------------------------

-- The idioms of AutoTVM: a comparison with an integer, by == or <, and a value
-- that is read, make a sketch of each value; the value is then an integer.
local function of_knob(values, f, o)
  return sketches(template.space(program, function(cfg, sch)
    cfg:define_knob("a", values, o)
    local i, j, k = sch:get_loops(sch:get_block "C")
    f(cfg.a.val, sch, i, j, cfg)
  end))
end
local function with(list, primitive)
  local n = 0
  for _, t in ipairs(list) do
    n = n + (tostring(t):find("sch:" .. primitive, 1, true) and 1 or 0)
  end
  return n
end
do
  local list = of_knob({ 0, 1 }, function(a, sch, _, j)
    if a == 1 then sch:vectorize(j) end
  end)
  assert(#list == 2 and with(list, "vectorize") == 1)
  assert(with(list, "sample_categorical") == 0)
  list = of_knob({ 1, 2, 4 }, function(a, sch, i)
    if a > 1 then sch:split(i, { ts.auto, a }) end
  end)
  assert(#list == 3 and with(list, "split") == 2)
  list = of_knob({ 0, 1 }, function(a, sch, _, j)
    if sch:get(a) == 1 then sch:vectorize(j) end
  end)
  assert(#list == 2 and with(list, "vectorize") == 1)
  assert(with(list, "guard") == 0)
  -- Compared, and used too; compared only, in an operand; two at once.
  list = of_knob({ 0, 4 }, function(a, sch, i)
    if a == 0 then sch:parallel(i) else sch:split(i, { ts.auto, a }) end
  end)
  assert(#list == 2 and with(list, "parallel") == 1)
  list = of_knob({ 0, 1 }, function(a, sch, i)
    sch:split(i, { ts.auto, a == 1 and 8 or 4 })
  end)
  assert(#list == 2 and with(list, "split") == 2)
  assert(not list[1]:equal(list[2]))
  list = of_knob({ 0, 1 }, function(a, sch, i, j, cfg)
    cfg:define_knob("b", { 0, 1 })
    cfg:define_knob("steps", { 0, 16 })
    if a == 0 and cfg.b.val == 1 then sch:vectorize(j) end
    sch:annotate(i, "pragma_auto_unroll_max_step", cfg.steps.val)
  end)
  assert(#list == 2 and with(list, "vectorize") == 1, #list) -- no duplicates
  assert(with(list, "sample_categorical") == 2)
  -- What goes to primitives alone is sampled, and what is never read.
  list = of_knob({ 2, 4 }, function(a, sch, i)
    sch:split(i, { ts.auto, a * 2 })
  end)
  assert(#list == 1 and with(list, "sample_categorical") == 1)
  -- It is said, either way.
  local function split(a, sch, i) sch:split(i, { ts.auto, a }) end
  assert(#of_knob({ 2, 4 }, split, { branch = true }) == 2)
  assert(#of_knob({ 0, 1 }, function(a, sch, _, j)
    if a == 1 then sch:vectorize(j) end
  end, { branch = false }) == 1)
end
refused("branch is true or false, not 1", template.space, program,
        function(cfg) cfg:define_knob("x", { 1, 2 }, { branch = 1 }) end)
refused("unknown option 'brunch' of define_knob", template.space, program,
        function(cfg) cfg:define_knob("x", { 1, 2 }, { brunch = true }) end)

-- A mold that branches on an integer says so.
do
  local function mold(branch)
    return template.mold {
      parameters = { { name = "vec", values = { 0, 1 }, branch = branch },
                     { name = "rows", values = { 2, 4 } } },
      apply = function(sch, p)
        local i, j = sch:get_loops(sch:get_block "C")
        sch:split(i, { ts.auto, p.rows })
        if p.vec == 1 then sch:vectorize(j) end
      end,
    }
  end
  refused("parameter 'vec' is sampled", sketches, mold())
  local list = sketches(mold(true))
  assert(#list == 2 and with(list, "vectorize") == 1)
  assert(with(list, "sample_categorical") == 2)
  assert(#sketches(mold(false)) == 1)
end

-- The reference has a page of the module, which names the knobs.
do
  local page = require "tessera.reference.pages".page "template"
  for _, name in ipairs { "template.space(", "template.mold(",
                          "define_knob" } do
    assert(page:find(name, 1, true), page)
  end
end

-- ---- what is refused -----------------------------------------------------

refused("knob 'x' needs a list of values", template.space, program,
        function(cfg) cfg:define_knob("x", {}) end)
refused("has a knob 'x' already", template.space, program, function(cfg)
  cfg:define_knob("x", { 1, 2 })
  cfg:define_knob("x", { 1, 2 })
end)
refused("there is no policy 'try_all'", template.space, program,
        function(cfg) cfg:define_annotate("x", "try_all") end)
refused("is of 1 to 5 loops", template.space, program,
        function(cfg) cfg:define_reorder("x", 6) end)
refused("more than 256 sketches", template.space, program, function(cfg)
  for i = 1, 9 do cfg:define_annotate("x" .. i, "try_unroll") end
end)
refused("takes a program and a function", template.space, program, 7)
-- Misspelt options are none.
refused("unknown option 'max_faktor' of define_split, which has factors, " ..
        "num_outputs, max_factor", template.space, program, function(cfg)
  cfg:define_split("x", cfg.sch:get_loops(cfg.sch:get_block "C"),
                   { max_faktor = 4 })
end)
refused("unknown option 'candidtes'", template.space, program, function(cfg)
  cfg:define_reorder("x", 2, { candidtes = { { 1, 2 } } })
end)
refused("unknown option 'forbidd' of template.mold", template.mold, {
  parameters = { { name = "a", values = { 1 } } }, forbidd = {},
  apply = print })
refused("unknown option 'wehn' of a parameter", template.mold, {
  parameters = { { name = "a", values = { 1 }, wehn = {} } }, apply = print })
for _, where in ipairs { "when", "forbid" } do
  local p = { { name = "a", values = { 1, 2 } },
              { name = "b", values = { 1, 2 } } }
  local m = { parameters = p, apply = print }
  if where == "when" then p[2].when = { a = { 2, 7 } } end
  if where == "forbid" then m.forbid = { { b = 1 }, { a = 7 } } end
  refused(where, template.mold, m)
  refused("parameter 'a' has no value 7; it has 1, 2", template.mold, m)
end
-- A refused primitive names the knob, and the line of the function.
do
  local lines = {}
  local function place(text, f)
    local ok, e = pcall(template.space, program, f)
    assert(not ok and e.message:find(text, 1, true), tostring(e))
    local n = tonumber(e.place:match "template.lua:(%d+)$")
    assert(n == lines[1] and e.place:find("tests/lua", 1, true), e.place)
  end
  local function here() lines[1] = debug.getinfo(2, "l").currentline + 1 end
  place("define_split: knob 'x': split: factor 1", function(cfg, sch)
    local i = sch:get_loops(sch:get_block "C")
    cfg:define_split("x", i, { factors = { -4 } })
    here()
    cfg.x:apply(i)
  end)
  place("define_split: knob 'x': sample_perfect_tile", function(cfg, sch)
    local i = sch:get_loops(sch:get_block "C")
    here()
    cfg:define_split("x", i, { num_outputs = 99 })
  end)
  place("define_reorder: knob 'x': reorder: loop i", function(cfg, sch)
    local i, j = sch:get_loops(sch:get_block "C")
    cfg:define_reorder("x", 2, { candidates = { { 1, 1 } } })
    here()
    cfg.x:apply { i, j }
  end)
end
refused("takes { parameters = list", template.mold, { parameters = {} })
refused("depends on 'b', which is no parameter before it", template.mold, {
  parameters = { { name = "a", values = { 1 }, when = { b = 1 } } },
  apply = print })
refused("'c' is forbidden and is no parameter", template.mold, {
  parameters = { { name = "a", values = { 1 } } }, forbid = { { c = 1 } },
  apply = print })
refused("all combinations are forbidden", template.mold, {
  parameters = { { name = "a", values = { 1 } } }, forbid = { { a = 1 } },
  apply = print })
