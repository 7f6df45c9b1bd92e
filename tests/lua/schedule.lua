-- SPDX-License-Identifier: Apache-2.0
-- Scheduling from Lua: operands by position and by name, random variables
-- and arithmetic over them, questions, refusals.  What each primitive does is
-- said by pages of listings, tests/schedule.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local fails = checks.fails

local M, N, K = 32, 48, 16

local function program()
  local A = ts.placeholder("A", { M, K }, "float32")
  local B = ts.placeholder("B", { K, N })
  local k = ts.reduce_axis("k", K)
  local C = ts.compute("C", { M, N }, function(i, j)
    return ts.sum(A(i, k) * B(k, j), k)
  end)
  local D = ts.compute("D", { M, N }, function(i, j)
    return ts.max(C(i, j), 0)
  end)
  return ts.program("matmul_relu", { A, B }, { D })
end

local p = program()

-- As in the tutorial: sampled tiles, an open factor, fuse, parallel, ...
do
  local sch = ts.schedule(p, { seed = 42, target = "llvm" })
  local b = sch:get_block("C")
  local i, j, k = sch:get_loops(b)
  local i0, i1, i2, i3 = sch:split(i, { sch:sample_perfect_tile(i,
    { n = 4, max_innermost_factor = 64 }) })
  local j0, j1 = sch:split(j, { ts.auto, 16 })
  sch:reorder(i0, j0, i1, i2, k, i3, j1)
  local f = sch:fuse(i0, j0)
  sch:parallel(f)
  sch:vectorize(j1)
  sch:unroll(i3)
  local u = sch:sample_categorical({ 0, 16, 64, 512 },
                                   { 0.25, 0.25, 0.25, 0.25 })
  sch:annotate(b, "pragma_auto_unroll_max_step", u)
  assert(tostring(sch:program()):find("parallel", 1, true))
  assert(tostring(sch:trace()):find("sample_perfect_tile", 1, true))
  assert(tostring(sch) == tostring(sch:program()))
  assert(tostring(sch:target()):find("^llvm"))
  assert(ts.equivalent(sch, p))
  local copy = sch:copy()
  copy:unroll(i1)                       -- a variable of the original's
  assert(#copy:trace() == #sch:trace() + 1)
  assert(ts.equivalent(copy, p))
end

-- What the original makes after its copy was made is its own, though the copy
-- made as many variables since.
do
  local foreign = "belongs to another schedule"
  local sch = ts.schedule(p)
  local i, j = sch:get_loops(sch:get_block("C"))
  local copy = sch:copy()
  local _, later = sch:split(i, { ts.auto, 8 })
  local _, own = copy:split(j, { ts.auto, 4 })
  fails("INVALID", foreign, copy.unroll, copy, later)
  fails("INVALID", foreign, sch.unroll, sch, own)
  local of_copy = copy:copy()
  fails("INVALID", foreign, of_copy.unroll, of_copy, later)
  of_copy:unroll(own)
  of_copy:parallel(i)
  sch:unroll(later)
  assert(ts.equivalent(of_copy, p) and ts.equivalent(sch, p))
end

-- The same by names, in one table, and half and half.
do
  local function traced(f)
    local sch = ts.schedule(p, { seed = 3 })
    f(sch, sch:get_block("C"))
    return sch:trace()
  end
  local a = traced(function(sch, b)
    local i = sch:get_loops(b)
    sch:split(i, { ts.auto, 8 }, true)
    sch:sample_perfect_tile(sch:get_loops(b), 2, 16)
  end)
  local by_name = traced(function(sch, b)
    local i = sch:get_loops { block = b }
    sch:split { loop = i, factors = { ts.auto, 8 },
                preserve_unit_iters = true }
    sch:sample_perfect_tile { loop = sch:get_loops(b), n = 2,
                              max_innermost_factor = 16 }
  end)
  local mixed = traced(function(sch, b)
    local i = sch:get_loops(b)
    sch:split(i, { ts.auto, 8 }, { preserve_unit_iters = true })
    sch:sample_perfect_tile(sch:get_loops(b), 2, { max_innermost_factor = 16 })
  end)
  assert(a == by_name and a == mixed)
  -- One loop alone is a list of loops.
  local function blockized(f) return traced(function(s, b)
    f(s, select(2, s:get_loops(b)))
  end) end
  assert(blockized(function(s, j) s:blockize { target = j } end) ==
         blockized(function(s, j) s:blockize(j) end))
  assert(blockized(function(s, j) s:fuse { loops = j } end) ==
         blockized(function(s, j) s:fuse { loops = { j } } end))
  local sch = ts.schedule(p)
  local l = sch:get_loops(sch:get_block("C"))
  fails("NOT_FOUND", "factros", function()
    sch:split { loop = l, factros = { 2, 16 } }
  end)
  fails(nil, "loop", function() sch:split { factors = { 2, 16 } } end)
  -- A table without string keys is a value.
  sch:annotate(l, "software_pipeline_stage", { 0, 0, 1 })
  assert(sch:annotation(l, "software_pipeline_stage") == "[0,0,1]" or
         sch:annotation(l, "software_pipeline_stage") == "[0, 0, 1]",
         sch:annotation(l, "software_pipeline_stage"))
  assert(sch:annotation(l, "nothing") == nil)
end

-- Random variables: what they stand for, arithmetic, comparing.
do
  local sch = ts.schedule(p, { seed = 5 })
  local b = sch:get_block("C")
  local i, j = sch:get_loops(b)
  local u = sch:sample_categorical({ 2, 4 }, { 0.5, 0.5 })
  assert(b.kind == "block" and i.kind == "loop" and u.kind == "int")
  local v = sch:get(u)
  assert(v == 2 or v == 4)
  assert(sch:get(u * 2) == 2 * v)
  assert(sch:get((u + 3) // 2 - 1) == (v + 3) // 2 - 1)
  assert(sch:get(9 % u) == 9 % v and sch:get(7) == 7)
  assert(sch:get(b):find("C", 1, true) and tostring(i):find("i", 1, true))
  local _, inner = sch:split(i, { ts.auto, u * 2 })
  assert(sch:extent(inner) == 2 * v)
  fails("TYPE", "sch:get", function() return u < 3 end)
  fails("TYPE", "sch:get", function() return 3 <= u end)
  fails("TYPE", "integers", function() return i * 2 end)
  assert((u == v) == false and u == u)
  -- The arithmetic is part of the trace.
  local t = sch:trace()
  for _, w in ipairs { 0, 1 } do
    local again = t:with_decision(3, { w }):replay(p)
    assert(ts.equivalent(again, p))
  end
  assert(ts.trace.from_lua(t:lua(), p) == t)
  -- A copy has the variables that there were, also in arithmetic.
  local copy = sch:copy()
  local w = copy:sample_categorical({ 3, 5 }, { 0.5, 0.5 })
  local late = sch:sample_categorical({ 2, 4 }, { 0.5, 0.5 })
  for _, x in ipairs { u * w, w * u, (u * 1) * (w + 0) } do
    assert(copy:get(x) == v * copy:get(w))
    fails("INVALID", "another schedule", sch.get, sch, x)
  end
  fails("INVALID", "two schedules", function() return late * w end)
  fails("INVALID", "two schedules", function() return w * late end)
  fails("INVALID", "another schedule", copy.get, copy, (late * 1) * w)
  -- One schedule's variable is nothing to another.
  local other = ts.schedule(p)
  fails("INVALID", "another schedule", other.parallel, other, j)
  sch:fuse(sch:get_loops(b))
  fails("DEAD", "refers to nothing any more", sch.parallel, sch, inner)
  for _, ask in ipairs { "extent", "loop_info", "work", "annotation" } do
    local e = fails("DEAD", "refers to nothing any more: instruction ",
                    sch[ask], sch, inner, "key")
    assert(e.message:find " %(fuse%) removed it$", e.message)
  end
end

-- Questions.
do
  local whole = ts.schedule(p)
  assert(not whole:is_spatial(whole:get_block "root"))
  local sch = ts.schedule(p)
  local c, d = sch:get_block("C"), sch:get_block("D")
  assert(sch:is_reduction(c) and not sch:is_spatial(c))
  assert(sch:is_spatial(d) and sch:is_output(d) and not sch:is_output(c))
  assert(sch:needs_multi_level_tiling(c))
  assert(sch:block_info(c).name == "C" and sch:block_info(c).reads == 2)
  assert(table.concat(sch:block_info(c).iters, " ") ==
         "spatial spatial reduce")
  local _, _, k = sch:get_loops(c)
  local info = sch:loop_info(k)
  assert(info.extent == K and info.kind == "serial" and
         info.iter_type == "reduce")
  local used = sch:access(c, "read", 0)
  local at = sch:access_info(c, "read", 0)
  assert(at.buffer == "A" and at.dtype == "float32" and #at.dims == 2 and
         at.dims[1] == 1 and at.dims[2] == 3)
  assert(sch:access_info(c, "write", 0).buffer == "C")
  assert(at.shape[1] and #at.shape == #at.dims)
  assert(not pcall(sch.access_info, sch, c, "read", 9))
  assert(used[1] and not used[2] and used[3])
  assert(sch:block_info(sch:get_consumers(c)).name == "D" and
         sch:block_info(sch:get_producers(d)).name == "C")
  local ok, why = sch:can("parallel", k)
  assert(ok == false and type(why) == "string")
  assert(sch:can("unroll", k) == true)
  fails("NOT_FOUND", "frobnicate", sch.can, sch, "frobnicate", k)
  assert(#sch:trace() == 5, "asking is not recorded:\n" .. sch:trace():lua())
  local gone = k
  sch:split(k, { ts.auto, 1 })
  local still, reason = sch:can("unroll", gone)
  assert(not still and reason:find("(split) removed it", 1, true))
  -- Calls that are wrong anywhere raise, and say where they were made.
  local here = debug.getinfo(1, "l").currentline
  for _, wrong in ipairs {
    { "split", i, { 1.5 } }, { "split", i }, { "parallel", c },
    { "split", i, { 8 }, { nonsense = 1 } },
  } do
    local fine, e = pcall(function() return sch:can(table.unpack(wrong)) end)
    assert(not fine and not tostring(e):find("(at ", 1, true), tostring(e))
    assert(tostring(e):find("schedule.lua:" .. here + 5 .. ":", 1, true))
  end
end

-- A refused primitive: an error object, and nothing has changed.
do
  local sch = ts.schedule(p)
  local b = sch:get_block("C")
  local i, j, k = sch:get_loops(b)
  local text, t = tostring(sch), sch:trace()
  local other = ts.schedule(p)
  local ok, e = pcall(sch.fuse, sch, i, k)
  other = nil
  collectgarbage()                      -- frees it, which is no matter
  assert(not ok and e.code == "REFUSED" and e.primitive == "fuse")
  assert(type(e.message) == "string" and not e.message:find("\n"))
  assert(e.place:find("schedule.lua:%d+$"))
  local shown = tostring(e)
  assert(shown:find("schedule.lua:%d+: ") and shown:find(e.message, 1, true))
  assert(shown:find("matmul_relu(", 1, true), "the program is shown: " .. shown)
  assert(shown:find("for k in range(16)", 1, true))
  assert(shown:find("\n[^\n]*[*>^]", 1), "the place is marked: " .. shown)
  assert(e.detail and e.detail:find("matmul_relu(", 1, true))
  assert(tostring(sch) == text and sch:trace() == t)
  -- Everything about the error is still there after more of them.
  local _, later = pcall(sch.parallel, sch, k)
  assert(later.primitive == "parallel" and e.primitive == "fuse")
  fails("REFUSED", "X", sch.get_block, sch, "X")
end

-- What cannot be an operand is refused by name.
do
  local sch = ts.schedule(p)
  local b = sch:get_block("C")
  local i = sch:get_loops(b)
  local before = tostring(sch)
  fails("NOT_FOUND", "split has no operand 'factor'; it takes loop, factors",
        sch.split, sch, { loop = i, factor = { 1 } })
  fails("NOT_FOUND", "split has no operand 'factor'", sch.split, sch, i, { 1 },
        { factor = 3 })
  fails("TYPE", "split: operands by name and by position are mixed", sch.split,
        sch, { loop = i, 3 })
  fails("TYPE", "annotate: operand 'ann_val' cannot be a function",
        sch.annotate, sch, b, "key", print)
  fails("INVALID", "annotate: operand 'ann_key' has a NUL byte at 1",
        sch.annotate, sch, b, "k\0", 1)
  -- A misspelt variable among several loops is not taken for their end.
  local _, j, k = sch:get_loops(b)
  fails("TYPE", "reorder: operand 'ordered_loops': element 1 is nil",
        sch.reorder, sch, nil, j)
  fails("TYPE", "reorder: operand 'ordered_loops': element 2 is nil",
        sch.reorder, sch, i, nil, k)
  fails("TYPE", "reorder: operand 'ordered_loops': element 1 is a string",
        sch.reorder, sch, "i", j)
  fails("TYPE", "reorder: operand 'ordered_loops': element 2 is a string",
        sch.reorder, sch, i, "j")
  fails("TYPE", "fuse: operand 'loops': element 2 is nil, not a loop " ..
        "(the loops to fuse, outer first)", sch.fuse, sch, i, nil)
  -- Nor are several of them, and nothing but such.
  for _, name in ipairs { "reorder", "fuse", "merge" } do
    fails("TYPE", ": element 1 is nil, not a loop (the ", sch[name], sch, nil,
          nil)
    fails("TYPE", ": element 1 is nil, not a loop (the ", sch[name], sch, nil,
          nil, j)
    fails("INVALID", "' is missing (the ", sch[name], sch)
    fails("INVALID", "' is missing (the ", sch[name], sch, nil)
  end
  fails("TYPE", "blockize: operand 'target': element 1 is nil, not a loop " ..
        "or block", sch.blockize, sch, nil, nil)
  fails("TYPE", "reorder: operand 'ordered_loops': element 3 is a number, " ..
        "not a loop", sch.reorder, sch, i, j, 5)
  fails("INVALID", "reorder: too many operands: argument 2 is nil, and it " ..
        "takes ordered_loops", sch.reorder, sch, { i, j }, nil)
  fails("INVALID", "split: too many operands: argument 5 is a boolean, and " ..
        "it takes loop, factors, ", sch.split, sch, i, { 1, 64 }, nil, nil,
        true)
  -- TVM's traces reorder no loops at all, which changes nothing; there is
  -- nothing to fuse.
  sch:copy():reorder {}
  fails("REFUSED", "fuse: needs at least one loop", sch.fuse, sch, {})
  fails("TYPE", "operand 'ann_val': a table mixes string keys with others",
        sch.annotate, sch, b, "key", { 1, a = 2 })
  assert(tostring(sch) == before)
end

-- A table that holds itself, nests too deep or is too large is no operand; one
-- of table.pack is, in spite of its length.
do
  local sch = ts.schedule(p)
  local b = sch:get_block("C")
  local i, j, k = sch:get_loops(b)
  local list, dict, deep = {}, {}, {}
  list[1], list[2], dict.a = list, list, dict
  local inner = deep
  for _ = 1, 100000 do inner[1] = {} inner = inner[1] end
  local text = tostring(sch)
  for _, t in ipairs { list, dict, deep } do
    fails("LIMIT", "nests deeper than", sch.annotate, sch, b, "key", t)
    fails("LIMIT", "nests deeper than", sch.split, sch, i, { t })
  end
  fails("LIMIT", "nests deeper than", sch.sample_categorical, sch, list, list)
  local sum = sch:sample_categorical({ 1, 2 }, { 0.5, 0.5 })
  for _ = 1, 100000 do sum = sum + 1 end
  fails("LIMIT", "nests deeper than", sch.split, sch, i, { ts.auto, sum })
  local wide, names = {}, {}
  for i = 1, 1200 do
    wide[i] = {}
    for j = 1, 1000 do wide[i][j] = j end
  end
  for i = 1, 500000 do names["n" .. i] = i end
  for _, t in ipairs { wide, names } do
    fails("LIMIT", "too many elements", sch.annotate, sch, b, "key", t)
  end
  assert(tostring(sch) == text)
  local nest = "x"
  for _ = 1, 63 do nest = { nest } end
  sch:annotate(b, "key", nest)
  assert(#table.pack(sch:split(j, table.pack(4, ts.auto))) == 2)
  fails("TYPE", "are mixed", sch.split, sch, k, { 4, 4, n = 3 })
end

-- ts.primitives, ts.doc, ts.stubs: all from the declarations.
do
  local n = 0
  for _, q in ipairs(ts.primitives()) do
    n = n + 1
    assert(#q.summary > 0 and #q.example > 0 and type(q.samples) == "boolean")
    assert(ts.doc(q.name):find("## " .. q.name, 1, true))
    assert(ts.stubs():find("function Schedule:" .. q.name .. "(", 1, true))
  end
  assert(n >= 20)
  fails("NOT_FOUND", "frobnicate", ts.doc, "frobnicate")
end

-- Loops nest only so deep, and the one that is too many changes nothing.
do
  local A = ts.placeholder("A", { 4 })
  local C = ts.compute("C", { 4 }, function(i) return A(i) + 1 end)
  local sch = ts.schedule(ts.program("deep", { A }, { C }))
  local block = sch:get_block("C")
  for _ = 1, 508 do sch:add_unit_loop(block) end
  local e = checks.refused(sch, "NESTING", "add_unit_loop", block)
  assert(e.primitive == "add_unit_loop" and e.code == "REFUSED")
  assert(tostring(e):find("statements would nest deeper than 512", 1, true))
  assert(sch:program():verify() and #sch:trace() == 509)
end

-- A call returns all of its outputs, however many.
do
  local b = ts.builder("many")
  local A, O = b:input("A", { 4 }), b:output("O", { 300, 4 })
  for k = 0, 299 do
    b:loop("i", 0, 4, function(i)
      b:block("B" .. k, { { "v", extent = 4, bind = i } }, function(v)
        b:store(O, { k, v }, A(v) + k)
      end)
    end)
  end
  local sch = ts.schedule(b:program())
  local blocks = { sch:get_child_blocks(sch:get_block("root")) }
  assert(#blocks == 300)
  sch:parallel((sch:get_loops(blocks[300])))
end

-- What is refused before a primitive looks at the program: a mark where a loop
-- is wanted, and decisions that do not fit.
do
  local sch = ts.schedule(p)
  local b = sch:get_block("C")
  local root = sch:sample_compute_location(b, { decision = -1 })
  checks.refused(sch, "MARK", "split", root, { 2, ts.auto })
  checks.refused(sch, "CHOICE_OUTSIDE", "sample_categorical", { 1, 2 },
                 { 0.5, 0.5 }, { decision = 2 })
end

-- Probabilities are up to a factor, however large; a wrong one is reported.
do
  local s = ts.schedule(ts.program("p", {}, {
    ts.compute("B", { 2 }, function(i) return i end) }))
  s:sample_categorical({ 1, 2 }, { 1e308, 1e308 })
  local _, e = pcall(s.sample_categorical, s, { 1, 2 }, { 1, -0.5 })
  assert(e.message:find("probability 1 is -0.5", 1, true), e.message)
end
