-- SPDX-License-Identifier: Apache-2.0
-- Traces in the JSON of TVM's tuning records: both ways, and what is refused.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local fails = checks.fails
local ops = require "tessera.ops"

local p = ops.matmul { m = 64, n = 64, k = 32, relu = true }

-- A trace as TVM v0.18 writes it, of a 64 x 64 x 32 product (`ops.matmul`).
local theirs = [=[
[[["GetBlock", [], ["C", "main"], ["b0"]],
  ["Annotate", ["b0", "\"SSRSRS\""], ["meta_schedule.tiling_structure"], []],
  ["GetLoops", ["b0"], [], ["l1", "l2", "l3"]],
  ["SamplePerfectTile", ["l1"], [4, 64], ["v4", "v5", "v6", "v7"]],
  ["Split", ["l1", "v4", "v5", "v6", "v7"], [1, 0], ["l8", "l9", "l10", "l11"]],
  ["Split", ["l2", "None", 16], [1], ["l12", "l13"]],
  ["Reorder", ["l8", "l12", "l9", "l10", "l3", "l11", "l13"], [], []],
  ["SampleCategorical", [], [[0, 16, 64, 512], [0.25, 0.25, 0.25, 0.25]],
   ["v14"]],
  ["Annotate", ["b0", "v14"], ["meta_schedule.unroll_explicit"], []],
  ["CacheRead", ["b0", 1, [], "None"], [0, "global"], ["b15"]]],
 [[3, [2, 2, 4, 4]], [7, 1]]]
]=]

-- One instruction is wrong on purpose: CacheRead has two inputs.
fails("PARSE", "cache_read has 2 inputs, not 4", ts.trace.from_tvm_json, theirs,
      p)
theirs = theirs:gsub('"b0", 1, %[%], "None"', '"b0", []')

local t = ts.trace.from_tvm_json(theirs, p)
assert(#t == 10 and t[2].name == "annotate")
assert(t[2].attrs.ann_key == "tiling_structure" and
       t[2].inputs.ann_val == "SSRSRS")
assert(table.concat(t[4].decision, " ") == "2 2 4 4" and t[8].decision[1] == 1)
assert(t[6].attrs.disable_predication == false)

-- It runs, means the same, and goes back to what it was.
local sch = t:replay()
assert(ts.equivalent(sch, p))
local back = t:to_tvm_json()
assert(ts.trace.from_tvm_json(back, p) == t)
local flat = function(s)
  return (s:gsub("%s", ""):gsub("%[1%],%[\"l12\"", "[1,0],[\"l12\""))
end
assert(flat(back) == flat(theirs), back)

-- A line of a database holds it, too; versions after v0.18 say GetSBlock.
local line = "[0, [" .. theirs .. ", [0.001], {\"kind\": \"llvm\"}, []]]"
assert(ts.trace.from_tvm_json(line, p) == t)
local newer = theirs:gsub("GetBlock", "GetSBlock"):gsub("%[1, 0%]",
                                                          "[true, false]")
assert(ts.trace.from_tvm_json(newer, p) == t)
assert(ts.trace.from_tvm_json("[[], []]", p) == ts.schedule(p):trace())

-- What is no trace is said, with the place.
local function bad(code, text, source)
  fails(code, text, ts.trace.from_tvm_json, source, p)
end
bad("PARSE", "no trace of TVM's", "[]")
bad("PARSE", "no trace of TVM's", "{}")
bad("PARSE", "no trace of TVM's", "[3]")
bad("PARSE", "an instruction is [kind", "[[[1, [], [], []]], []]")
bad("UNSUPPORTED", "no primitive for TVM's 'SetAxisSeparator'",
    '[[["SetAxisSeparator", ["b0"], [0, 1, []], []]], []]')
bad("PARSE", "used before it is defined",
    '[[["GetLoops", ["b0"], [], ["l1"]]], []]')
bad("PARSE", "neither a variable nor a quoted string",
    theirs:gsub('\\"SSRSRS\\"', "SSRSRS"))
bad("INVALID", "get_block takes no decision",
    theirs:gsub("%[3, %[2", "[0, 1], [3, [2"))
bad("PARSE", "decision 1 is", theirs:gsub("%[3, %[2", "[99, 1], [3, [2"))
bad("PARSE", "decision 1 is", theirs:gsub("%[3, %[2, 2, 4, 4%]%]", "[3]"))
bad("TYPE", "", theirs:gsub('%[4, 64%]', '["4", 64]'))

-- What TVM cannot say is named.
local function cannot(text, f)
  local s = ts.schedule(p)
  f(s, s:get_block("C"))
  local tr = s:trace()
  fails("UNSUPPORTED", text, tr.to_tvm_json, tr)
end
cannot("annotate: TVM cannot express a boolean as 'ann_val'",
       function(s, b) s:annotate(b, "k", true) end)
cannot("cache_read: TVM cannot express a buffer's name as 'read_buffer_index'",
       function(s, b) s:cache_read(b, "A", "global") end)
cannot("split: TVM cannot express arithmetic over variables as 'factors'",
       function(s, b)
         local v = s:sample_categorical({ 2, 4 })
         s:split(s:get_loops(b), { ts.auto, v * 2 })
       end)
for _, nested in ipairs {
  function(v) return { k = v } end,
  function(v) return { k = { 1, v } } end,
  function(v) return { 1, { a = { { v } } } } end,
} do
  cannot("annotate: TVM cannot express a variable in a table as 'ann_val'",
         function(s, b)
           s:annotate(b, "k", nested(s:sample_categorical { 2, 4 }))
         end)
end

-- Values of annotations.
do
  local s = ts.schedule(p)
  local b = s:get_block("C")
  local i, j = s:get_loops(b)
  s:annotate(i, "software_pipeline_stage", { 0, 0, 1 })
  s:annotate(b, "words", { "a \"b\"", "v1", "None", 1.5, 2.0 })
  s:annotate(b, "table", { x = 1, y = "z" })
  s:bind(j, "threadIdx.x")
  s:reorder_block_iter_var(b, { 1, 0, 2 })
  local d = s:get_consumers(b)
  s:enter_postproc()
  s:get_child_blocks(j)
  local tr = s:trace()
  assert(ts.trace.from_tvm_json(tr:to_tvm_json(), p) == tr, tr:to_tvm_json())
end

-- Index maps, and what fills in.
do
  local s = ts.schedule(p)
  local b = s:get_block("C")
  local c = s:cache_read(b, 1, "global")
  s:transform_layout(c, { "write", 0 }, function(i, j)
    return j // 16, i, j % 16
  end)
  local tr = s:trace()
  local got = ts.trace.from_tvm_json(tr:to_tvm_json(), p)
  assert(got:replay():program():hash() == s:program():hash())
  assert(got:to_tvm_json() == tr:to_tvm_json())
end

-- New elements that hold anything: no block fills them, as in TVM.
do
  local s = ts.schedule(p)
  local c = s:cache_read(s:get_block("C"), 1, "global")
  s:transform_layout(c, { "write", 0 }, function(i, j)
    return j // 24, i, j % 24
  end, { assume_injective_transform = true })
  local tr = s:trace()
  local json = tr:to_tvm_json()
  assert(json:find('%[0, 1, "None", 1%]') or json:find('%[0, 1, null, 1%]'),
         json)
  local got = ts.trace.from_tvm_json(json, p)
  assert(got:replay():program():hash() == s:program():hash())
  assert(not tostring(got:replay()):find "_pad")
  assert(got:to_tvm_json() == json)
end

-- Sampled integers in maps: variables other than indices, by their names.
do
  local s = ts.schedule(p)
  local b = s:get_block("C")
  local c = s:cache_read(b, 1, "global")
  local v = s:sample_categorical({ 8, 16 }, { 0.5, 0.5 }, { decision = 1 })
  local w = s:sample_categorical({ 2, 4 }, { 0.5, 0.5 }, { decision = 0 })
  s:transform_layout(c, { "write", 0 }, function(i, j)
    return j // v, i // w, i % w, j % v
  end)
  local tr = s:trace()
  local json = tr:to_tvm_json()
  assert(json:find([[repr_str\": \"v2\"]], 1, true), json)
  local got = ts.trace.from_tvm_json(json, p)
  assert(got:replay():program():hash() == s:program():hash())
  assert(got:to_tvm_json() == json)
  local other = got:with_decision(3, { 0 }):replay():program():hash()
  assert(other ~= s:program():hash())
  assert(other == tr:with_decision(3, { 0 }):replay():program():hash())
  -- An undefined variable, and one among attributes, which hold none.
  bad("PARSE", "v9", (json:gsub([[\"v2\"]], [[\"v9\"]])))
  bad("PARSE", "no sampled integer", (json:gsub([[\"v2\"]], [[\"b1\"]])))
  local at = ts.schedule(p)
  local m = at:sample_categorical({ 4, 8 }, { 0.5, 0.5 })
  at:transform_block_layout(at:get_block("C"), function(i, j, k)
    return i // m, i % m, j, k
  end)
  fails("UNSUPPORTED", "a map with sampled integers", function()
    return at:trace():to_tvm_json()
  end)
end

-- Arithmetic over sampled integers is part of the map's graph.
do
  local function check(f)
    local s = ts.schedule(p)
    local b = s:cache_read(s:get_block("C"), 1, "global")
    local i, j = s:get_loops(b)
    local _, j1 = s:sample_perfect_tile(j, { n = 2, max_innermost_factor = 64,
                                             decision = { 16, 4 } })
    local _, i1 = s:sample_perfect_tile(i, { n = 2, max_innermost_factor = 64,
                                             decision = { 16, 2 } })
    s:transform_layout(b, { "write", 0 }, f(j1, i1))
    local tr = s:trace()
    local json = tr:to_tvm_json()
    local got = ts.trace.from_tvm_json(json, p)
    assert(got:replay():program():hash() == s:program():hash(), json)
    assert(got:to_tvm_json() == json, json)
    -- Another decision gives another map.
    local other = got:with_decision(4, { 32, 2 }):replay():program():hash()
    assert(other ~= s:program():hash())
    assert(other == tr:with_decision(4, { 32, 2 }):replay():program():hash())
  end
  check(function(v)
    return function(i, j) return i, j // (v * v), j % (v * v) end
  end)
  check(function(v, w)
    return function(i, j) return j // (v * w - 2 + w), i, j % (v * w) end
  end)
  check(function(v, w)
    return function(i, j)
      return i // w, j // ts.min(v * 2, 16), i % w,
             j % ts.max(v * 4 // w, v % 32, 3 - v)
    end
  end)
end

-- Blockize takes a loop, or a list of blocks.
do
  local A = ts.placeholder("A", { 16, 16 })
  local X = ts.compute("X", { 16, 16 }, function(i, j) return A(i, j) + 1 end)
  local Y = ts.compute("Y", { 16, 16 }, function(i, j) return X(i, j) * 2 end)
  local q = ts.program("main", { A }, { Y })
  local function check(text, f)
    local s = ts.schedule(q)
    f(s, s:get_block("X"), s:get_block("Y"))
    local json = s:trace():to_tvm_json()
    assert(json:find(text, 1, true), json)
    local got = ts.trace.from_tvm_json(json, q)
    assert(got:replay():program():hash() == s:program():hash())
    assert(got:to_tvm_json() == json)
    return json
  end
  local json = check('["Blockize", ["l3"], [1], ["b4"]]', function(s, x)
    local _, j = s:get_loops(x)
    s:blockize(j)
  end)
  check('["Blockize", [["b0"]], [0], ["b2"]]', function(s, x)
    s:blockize({ x }, false)
  end)
  check('["Blockize", [["b0", "b1"]], [1], ["b', function(s, x, y)
    local i = s:get_loops(y)
    s:compute_at(x, i)
    s:blockize({ x, y })
  end)
  local function refused(with)
    fails("TYPE", "blockize: operand 'target' is a loop, or a list of blocks",
          ts.trace.from_tvm_json, (json:gsub('%["l3"%]', with)), q)
  end
  refused('[["l3"]]')
  refused('["b0"]')
  refused('[3]')
  refused('["None"]')
  local s = ts.schedule(q)
  local x, y = s:get_block("X"), s:get_block("Y")
  local i = s:get_loops(y)
  s:compute_at(x, i)
  local _, jx = s:get_loops(x)
  local _, jy = s:get_loops(y)
  s:blockize({ jx, jy })
  local tr = s:trace()
  fails("UNSUPPORTED",
        "blockize: TVM cannot express loops in a list as 'target'",
        tr.to_tvm_json, tr)
end

-- TVM wants probabilities, and writes whole ones without a point.
do
  local s = ts.schedule(p)
  s:sample_categorical({ 1, 2, 4, 8 }, nil, { decision = 2 })
  s:sample_categorical({ 5 })
  local json = s:trace():to_tvm_json()
  assert(json:find("[[1, 2, 4, 8], [0.25, 0.25, 0.25, 0.25]]", 1, true), json)
  assert(json:find("[[5], [1.0]]", 1, true), json)
  assert(ts.trace.from_tvm_json(json, p):to_tvm_json() == json)
  assert(ts.trace.from_tvm_json((json:gsub("%[1%.0%]", "[1]")), p))
end

-- TVM's reader knows no \u.
do
  local s = ts.schedule(p)
  local b = s:get_block("C")
  s:annotate(b, "t", "a\tb\rc\n")
  local tr = s:trace()
  assert(tr:to_tvm_json():find("a\\tb\\rc\\n", 1, true), tr:to_tvm_json())
  assert(ts.trace.from_tvm_json(tr:to_tvm_json(), p) == tr)
  assert(ts.trace.from_json(tr:json(), p) == tr)
end
cannot("annotate: TVM cannot express a control character as 'ann_val'",
       function(s, b) s:annotate(b, "k", "\1") end)

-- A wrong name of an output is reported with its instruction.
do
  local function at(place, text)
    fails(nil, place, ts.trace.from_tvm_json, text, p)
  end
  local block = '[[["GetBlock", [], ["C", "main"], ["%s"]],'
  at("(at instruction 1)", block:format("x0") .. " 3], []]")
  at("(at instruction 1)", block:format("l0") .. " 3], []]")
  at("(at instruction 2)", block:format("b0") .. " 3], []]")
  at("(at instruction 2)",
     block:format("b0") ..
     ' ["GetLoops", ["b0"], [], ["l1", "l0", "l2"]]], []]')
end
