-- SPDX-License-Identifier: Apache-2.0
-- Schedule modules and their spaces: what modules may and may not do,
-- parameters, warnings, guards.
local ts = require "tessera"
local all = { all = true }
local ops = require "tessera.ops"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local searching = dofile((arg[0]:gsub("[^/]*$", "../support/searching.lua")))
local fails = checks.fails
local p, module = searching.program, searching.module
local sketches = searching.sketches

-- The order of the visits: root first, consumers before producers.
do
  local order = {}
  sketches { module("visit", function(sch, block)
    order[#order + 1] = sch:block_info(block).name
    return nil, "only looking"
  end) {} }
  assert(table.concat(order, " ") == "root relu biased C",
         table.concat(order, " "))
end

-- What apply returns: a list has no gaps and nothing else in it, an empty one
-- is like nil, and what is in it comes from the schedule that apply got.
do
  local function says(text, apply)
    ts.on_warning(function() end)
    local space = ts.space.compose { module("odd", apply) {} }
    local why = space:explain(p, "llvm", all)
    ts.on_warning(nil)
    assert(why:find(text, 1, true), why)
  end
  says("(error object is a table value)", function() error {} end)
  local no_list = "returned a table that is no list of schedules without gaps"
  says(no_list .. ": it has a key a", function(sch) return { a = sch } end)
  says(no_list .. ": it has a key x",
       function(sch) return { sch, x = sch:copy() } end)
  says(no_list, function(sch) return { [1] = sch, [3] = sch:copy() } end)
  says(no_list, function(sch) return { sch, nil, sch:copy() } end)
  says("not applicable: no reason given", function() return {} end)
  says("not applicable: none left", function() return {}, "none left" end)
  local foreign = "a schedule that is neither the one that it was given nor"
  says(foreign, function() return ts.schedule(p) end)
  says(foreign, function(sch) return { sch, ts.schedule(p):copy() } end)
  says("applied, 2 schedules",
       function(sch) return { sch:copy():copy(), sch } end)
end

-- Parameters; nil and an error discard what was done; several schedules go
-- on as separate sketches; explain says what happened where.
do
  local seen
  local m = module("several", function(sch, block, q)
    seen = q
    local name = sch:block_info(block).name
    if name == "relu" then
      sch:parallel((sch:get_loops(block)))
      return nil, "changed its mind"
    elseif name == "biased" then
      sch:parallel((sch:get_loops(block)))
      error "lost its way"
    elseif name ~= "C" then
      return nil
    end
    local other = sch:copy()
    local i = sch:get_loops(block)
    sch:split(i, { ts.auto, q.factor })
    other:parallel((other:get_loops(block)))
    return { sch, other }
  end, { { "factor", 8 } })
  local list = sketches { m { factor = 4 } }
  assert(seen.factor == 4 and #list == 2)
  assert(tostring(list[1]):find("split", 1, true) and
         tostring(list[2]):find("parallel", 1, true))
  for _, t in ipairs(list) do
    local text = tostring(t:replay(p))
    assert(ts.equivalent(t:replay(p), p))
    assert(select(2, text:gsub("parallel", "")) <= 1)
  end
  local why = ts.space.compose { m {} }:explain(p, "llvm", all)
  assert(why:find("changed its mind", 1, true), why)
  assert(why:find("lost its way", 1, true), why)
  -- A line of what is explained stays one, whatever is in it.
  local lines = ts.space.compose {
    module("of two\nlines", function() return nil, "first\r\nsecond" end) {},
    module("refused", function(sch)
      sch:compute_inline(sch:get_block("C"))
    end) {} }:explain(p, "llvm", all)
  for line in lines:gmatch "[^\n]*" do
    assert(line == "" or line:find("^of two; lines at %w+: not applicable: " ..
                                   "first; second$") or
           line:find("^refused at %w+: failed: .*modules.lua:%d+: " ..
                     "compute_inline: ") and not line:find "range", line)
  end
  -- A schedule of something else, and an error that cannot be said.
  local function said(apply)
    return ts.space.compose { module("odd", apply) {} }:explain(p, "llvm", all)
  end
  why = said(function()
    return ts.schedule(ops.matmul { m = 8, n = 8, k = 8 })
  end)
  assert(why:find("odd at C: failed: .*: a module returned a schedule that " ..
                  "is neither the one that it was given nor a copy of that"),
         why)
  why = said(function()
    error(setmetatable({}, { __tostring = function() error "worse" end }))
  end)
  assert(why:find("odd at C: failed: ", 1, true), why)
  fails(nil, "no parameter 'fcator'", m, { fcator = 1 })
  fails(nil, "needs its parameters", ts.space.compose, { m })
  fails(nil, "table of parameters, not number", m, 1)
  -- A field of another type is named; those with a default may be left out.
  local function nothing() end
  for field, bad in pairs { name = 1, parameters = 2, apply = "3",
                            check = 4 } do
    local given = { name = "x", parameters = {}, apply = nothing }
    given[field] = bad
    local e = fails(nil, "ts.module takes", ts.module, given)
    assert(e.message:find(field .. " is " .. type(bad) .. ", not a ", 1,
                          true), e)
  end
  fails(nil, "apply is nil", ts.module, { name = "x" })
  fails(nil, "not nil", ts.module)
  fails("INVALID", "ts.module: the name is empty", ts.module,
        { name = "", apply = nothing })
  fails(nil, "there is no field 'chek'", ts.module,
        { name = "x", apply = nothing, chek = nothing })
  fails(nil, "there is no field '1'", ts.module,
        { "x", name = "x", apply = nothing })
  assert(ts.module { name = "x", apply = nothing, check = nothing } {})
end

-- Warnings go to a function, once the call is done that gave them; what it does
-- with them is its affair, be it an error or a call that warns, too.
do
  local told = {}
  local function broken(name)
    return module(name, function() error(name .. " broke", 0) end)
  end
  local function take(text)
    told[#told + 1] = text
    sketches { broken "again" {} } -- its warning goes to stderr
    error "this goes to stderr"
  end
  assert(ts.on_warning(take) == nil)
  local c = coroutine.wrap(function() return sketches { broken "first" {} } end)
  assert(#c() == 1)
  sketches { broken "first" {}, broken "second" {} }
  local all = table.concat(told, "\n")
  for _, name in ipairs { "first", "second" } do
    local _, times = all:gsub(name .. " failed at block ", "")
    assert(times > 0 and all:find(name .. " broke", 1, true), all)
  end
  assert(not all:find("again", 1, true), all)
  assert(not all:find("warning", 1, true), all)
  fails(nil, "must be a function, not number", ts.on_warning, 1)
  assert(ts.on_warning(nil) == take and ts.on_warning(nil) == nil)
  local n = #told
  sketches { broken "third" {} }
  assert(#told == n)
end

-- A module that fails ends a run that is to stop at errors, and no other; what
-- schedules by hand leaves nothing to go on with.
do
  local told = {}
  ts.on_warning(function(text) told[#told + 1] = text end)
  local function tune(space, on_error)
    return ts.tune(p, { space = space, on_error = on_error, trials = 1,
                        min_time = 1e-4, threads = 1 })
  end
  local broken = module("broken", function() error("it broke", 0) end) {}
  local many = module("many", function(sch)
    local copies = {}
    for n = 1, 5000 do copies[n] = sch:copy() end
    return copies
  end) {}
  for _, on_error in ipairs { "record", false } do
    assert(tune({ broken }, on_error or nil).status == "OK")
  end
  assert(#told == 1 and told[1]:find("broken failed at block", 1, true))
  fails(nil, "module broken failed at block root: it broke", tune, { broken },
        "stop")
  fails(nil, "module broken failed at block root: it broke", tune,
        ts.space.union { { broken }, function() end }, "stop")
  assert(#told == 1)
  assert(tune({ many }).status == "OK" and #told == 2)
  fails("LIMIT", "module many makes more than 4096 sketches", tune, { many },
        "stop")
  for _, on_error in ipairs { "record", "stop" } do
    fails(nil, "the scheduling function failed: it broke", tune,
          function() error("it broke", 0) end, on_error)
  end
  local shy = module("shy", function() return nil, "not here" end) {}
  assert(tune({ shy }, "stop").status == "OK")
  ts.on_warning(nil)
end

-- Memory that runs out in a module, Lua's or the engine's, is said to have
-- run out, and is not the module's failure.
do
  local function greedy() return io.open("/dev/null"):read(1 << 60) end
  local function greedy_tensor()
    return ts.tensor("float32", { 1 << 30, 1 << 26 })
  end
  local _, e = pcall(greedy_tensor)
  assert(e.code == "NOMEM", tostring(e))
  for _, apply in ipairs { greedy, greedy_tensor } do
    e = fails(nil, "applying module greedy at block root: out of memory",
              sketches, { module("greedy", apply) {} })
    assert(e.code == "NOMEM")
    e = fails(nil, "the scheduling function: out of memory", ts.tune, p,
              { space = function() return apply() end })
    assert(e.code == "NOMEM")
  end
end

-- A parameter that makes no sense is named, with what would.
do
  local tiling = require "tessera.modules.multi_level_tiling"
  local letters = "parameter 'structure' is '%s': it is a text of S"
  for _, case in ipairs {
    { { structure = "XYZ" }, letters:format "XYZ" },
    { { structure = "" }, letters:format "" },
    { { structure = "SSr" }, letters:format "SSr" },
    { { structure = 7 }, letters:format "7" },
    { { write_levels = { 1, 9 } }, "parameter 'write_levels[2]' is '9': " ..
      "levels are 1 to 2, the S that structure 'SSRSRS' starts with" },
    { { write_levels = { 3 } }, "'write_levels[1]' is '3': levels are 1 to 2" },
    { { write_levels = { 1.5 } }, "'write_levels[1]' is '1.5'" },
    { { write_levels = 2 }, "'write_levels' is '2': it is a list of levels" },
    { { structure = "RS", write_levels = { 1 } },
      "levels are none, since structure 'RS' starts with no S" },
    { { structure = "S", pack = true }, "'pack' is 'true': structure 'S' has" },
    { { pack = 1 }, "parameter 'pack' is '1': it is true or false" },
    { { max_innermost_factor = 0 }, "it is an integer from 1 on" },
    { { max_innermost_factor = 1.5 }, "it is an integer from 1 on" },
    { { max_innermost_factor = "8" }, "it is an integer from 1 on" },
  } do
    fails(nil, "module 'multi_level_tiling': ", tiling, case[1])
    fails(nil, case[2], tiling, case[1])
  end
  -- A float with an integer's value is one.
  local given = { 1.0 }
  local floats = tiling { max_innermost_factor = 32.0, write_levels = given }
  assert(math.type(floats.params.max_innermost_factor) == "integer")
  assert(math.type(floats.params.write_levels[1]) == "integer" and
         math.type(given[1]) == "float")
  assert(#ts.space.sketches(ts.space.compose { floats }, p, "llvm") == 2)
  -- The levels to write at are those that the structure has.
  for structure, n in pairs { S = 2, SS = 3, R = 1, RS = 1, SRS = 2,
                              SSRSRS = 3 } do
    local space = ts.space.compose { tiling { structure = structure } }
    local why = space:explain(p, "llvm", all)
    local noun = n == 1 and "schedule" or "schedules"
    assert(why:find(("C: applied, %d %s"):format(n, noun), 1, true), why)
    assert(#ts.space.sketches(space, p, "llvm") == n)
  end
end

-- Spaces: by hand, of traces, joined.
do
  local hand = ts.space.by_hand(function(sch)
    local i = sch:get_loops(sch:get_block("C"))
    sch:split(i, { sch:sample_perfect_tile(i, { n = 2 }) })
  end)
  local list = hand:sketches(p, "llvm")
  assert(#list == 1)
  local given = ts.space.traces(list)
  assert(#given:sketches(p, "llvm") == 1)
  local other = ts.space.by_hand(function(sch)
    sch:parallel((sch:get_loops(sch:get_block("C"))))
  end)
  -- Equal sketches are one.
  assert(#ts.space.union { hand, given, other }:sketches(p, "llvm") == 2)
  assert(tostring(hand) == "space")
end

-- A list of modules is a space wherever one is taken, and so is a function.
do
  local function tile(sch)
    sch:split((sch:get_loops(sch:get_block("C"))), { ts.auto, 4 })
  end
  local function in_parallel(sch, block)
    if sch:block_info(block).name ~= "C" then return nil, "not C" end
    sch:parallel((sch:get_loops(block)))
    return sch
  end
  local m = module("in_parallel", in_parallel)
  local list = { m {} }
  local one = ts.space.sketches(list, p, "llvm")
  assert(#one == 1 and tostring(one[1]):find("sch:parallel", 1, true))
  assert(ts.space.explain(list, p, "llvm", all) ==
         ts.space.compose(list):explain(p, "llvm", all))
  assert(ts.space.explain(list, p):find("in_parallel at C: applied", 1, true))
  assert(#ts.space.sketches(tile, p) == 1)
  assert(#ts.space.union { list, tile, list }:sketches(p) == 2)
  assert(ts.space.check(list, p))
  for _, f in ipairs { ts.space.sketches, ts.space.explain } do
    fails(nil, "a space is expected, not a number", f, 1, p)
    fails(nil, "entry 1: module 'in_parallel' needs its parameters", f, { m },
          p)
    fails(nil,
          "a space is a list of modules: write module 'in_parallel' in braces",
          f, m {}, p)
  end
  fails(nil, "a list of spaces", ts.space.union, 1)
  fails(nil, "a space is expected, not a number", ts.space.union, { list, 1 })
end

-- Of an elementwise block whose last dimension is no number of vectors the last
-- loops that walk memory as it lies are one, cut to vectors; others stay.
do
  local function cut(inputs, shape, f)
    local q = ts.program("q", inputs, { ts.compute("Y", shape, f) })
    local list = ts.space.sketches({
      require "tessera.modules.parallel_vectorize_unroll" {} }, q,
      "llvm -num-cores=2")
    for _, t in ipairs(list) do checks.same(t:replay(q), q) end
    return tostring(list[1]):match "sch:fuse{loops = ({[^}]*})"
  end
  local A = ts.placeholder("A", { 8, 16, 3 })
  local row, all = ts.placeholder("row", { 8 }), { 8, 16, 3 }
  assert(cut({ A }, all, function(i, j, k) return A(i, j, k) + 1 end) ==
         "{l2, l3, l4}")
  -- What the outer loop alone indexes.
  assert(cut({ A, row }, all, function(i, j, k)
    return A(i, j, k) + row(i)
  end) == "{l3, l4}")
  for _, f in ipairs {
    function(i, j, k) return A(i, 15 - j, k) end,
    function(i, j, k) return A(i, j, k) + A(i, j, 2 - k) end,
    function(i, j, k) return A(i, j, k) + row(k) end } do
    assert(not cut({ A, row }, all, f))
  end
  -- A part of the rows is not one piece of memory.
  assert(not cut({ A }, { 8, 16, 2 }, function(i, j, k)
    return A(i, j, k) * 2
  end))
  -- Whole vectors stay, and so does what the last vector would not be worth.
  local B = ts.placeholder("B", { 4, 16 })
  assert(not cut({ B }, { 4, 16 }, function(i, j) return B(i, j) + 1 end))
  local C = ts.placeholder("C", { 5, 5 })
  assert(not cut({ C }, { 5, 5 }, function(i, j) return C(i, j) + 1 end))
end
