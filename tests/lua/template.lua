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
