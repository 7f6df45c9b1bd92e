-- SPDX-License-Identifier: Apache-2.0
-- Methods called on the wrong object, as with a dot for a colon, fail cleanly.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

local A = ts.placeholder("A", { 4 })
local B = ts.compute("B", { 4 }, function(i) return A(i) + 1 end)
local p = ts.program("p", { A }, { B })
local sch = ts.schedule(p)
local block = sch:get_block("B")
local path = os.tmpname()
os.remove(path)
local session
local strategy = ts.strategy {
  propose = function(_, s) session = s return { s:draw() } end }
local result = ts.tune(p, { trials = 1, min_time = 0.001,
                            strategy = strategy })
local objects = {
  tensor = ts.tensor("float32", { 4 }), target = ts.target "llvm", program = p,
  schedule = sch, trace = sch:trace(), stepper = sch:trace():stepper(p),
  space = ts.space.default "llvm", kernel = ts.build(p), result = result,
  database = ts.database(path), builder = ts.builder "b", buffer = A,
  axis = ts.reduce_axis("k", 4),
  expression = A(0), rv = block, session = session, size = ts.size "n",
}

local wrong = { n = 0 }
local function add(x)
  wrong.n = wrong.n + 1
  wrong[wrong.n] = x
end
for _, x in ipairs { true, 1, 0.5, "x", {}, print, io.stdout,
                     coroutine.create(print) } do
  add(x)
end
for _, x in pairs(objects) do add(x) end

local frees = { close = true, __gc = true, __close = true }
local called = 0
local function try(name, f, own)
  if type(f) ~= "function" then return end
  pcall(f)
  for i = 1, wrong.n do
    if getmetatable(wrong[i]) ~= own then
      local ok = pcall(f, wrong[i])
      called = called + 1
      assert(not ok or not frees[name:match "%.(.*)"], name)
    end
  end
end
for class, x in pairs(objects) do
  local meta = getmetatable(x)
  assert(meta, class)
  for name, f in pairs(meta) do try(class .. "." .. name, f, meta) end
  if type(meta.__index) == "table" then
    for name, f in pairs(meta.__index) do try(class .. "." .. name, f, meta) end
  end
end
assert(called > 1000)
collectgarbage()

-- All are as they were.
assert(io.type(io.stdout) == "file")
for class, x in pairs(objects) do
  assert(not tostring(x):find "closed", class)
end
objects.tensor:close()
assert(tostring(objects.tensor):find "closed")
objects.tensor:close()
objects.database:close()
for _, end_ in ipairs { "", "-wal", "-shm" } do os.remove(path .. end_) end

-- A list has no element outside of 1 to its length, and none is lost.
do
  local A = ts.placeholder("A", { 16, 16 })
  local B = ts.compute("B", { 16, 16 }, function(i, j) return A(i, j) * 2 end)
  local s = ts.schedule(ts.program("p", { A }, { B }))
  local b = s:get_block "B"
  local i, j = s:get_loops(b)
  for _, list in ipairs { { [0] = 7 }, { 1, [3] = 2 }, { [1.5] = 3 },
                          { [true] = 3 } } do
    checks.fails("INVALID", "stands outside of the list", s.annotate, s, b, "k",
                 list)
  end
  checks.fails("INVALID", "element [3] stands outside", s.split, s, i,
               { ts.auto, [3] = 4 })
  checks.fails("INVALID", "element [3] stands outside", s.reorder, s,
               { j, [3] = i })
  checks.fails("INVALID", "element [3] stands outside", ts.placeholder, "A",
               { 4, [3] = 2 })
  checks.fails("INVALID", "element [3] stands outside", ts.tensor, "float32",
               { 2, [3] = 2 })
  checks.fails("INVALID", "element [3] stands outside", ts.program, "q",
               { A, [3] = A }, { B })
end

-- What an object says its length is may be no length.
do
  local A = ts.placeholder("A", { 16, 16 })
  local B = ts.compute("B", { 16, 16 }, function(i, j) return A(i, j) * 2 end)
  local q = ts.program("q", { A }, { B })
  local s = ts.schedule(q)
  local b = s:get_block "B"
  local i = s:get_loops(b)
  local file = os.tmpname()
  os.remove(file)
  local db = ts.database(file)
  local session
  ts.tune(p, { trials = 1, min_time = 0.001, strategy = ts.strategy {
    propose = function(_, given)
      session = given
      for _, length in ipairs { -1, math.mininteger, 1 << 32, (1 << 32) - 1 } do
        local list = setmetatable({ given:draw() },
                                  { __len = function() return length end })
        local ok, e = pcall(given.predict, given, list)
        assert(not ok and tostring(e):find "list", tostring(e))
      end
      return { given:draw() }
    end } })
  assert(session)
  for _, length in ipairs { -1, math.mininteger, 1 << 32, (1 << 32) - 1 } do
    local code = length < 0 and "INVALID" or "LIMIT"
    local text = code == "LIMIT" and "a list has at most" or
                 "the length of a list is"
    local function liar(...)
      return setmetatable({ ... }, { __len = function() return length end })
    end
    local function refused(...) checks.fails(code, text, ...) end
    refused(db.records, db, { other_than = liar(s:trace()) })
    refused(db.add, db, s:trace(), "llvm", "a", liar(1.0))
    refused(s.annotate, s, b, "k", liar(1))
    refused(s.split, s, i, liar(ts.auto, 4))
    refused(s.reorder, s, liar(i))
    refused(ts.placeholder, "A", liar(4))
    refused(ts.tensor, "float32", liar(4))
    refused(ts.tensor, "float32", { 1 }, liar(1))
    refused(ts.program, "q", liar(A), { B })
    refused(ts.compute, "C", { 4 }, function(n)
      return ts.sum(A(n, n), liar(ts.reduce_axis("k", 4)))
    end)
    local answer = ts.space.compose { { name = "m", apply = function(x)
      return liar(x)
    end } }
    assert(answer:explain(q, "llvm"):find(text, 1, true))
    local ok, e = pcall(ts.tune, p, {
      trials = 1, min_time = 0.001,
      strategy = ts.strategy { propose = function(_, given)
        return liar(given:draw())
      end } })
    assert(not ok and tostring(e):find(text, 1, true), tostring(e))
    ok, e = pcall(ts.tune, p, {
      trials = 1, min_time = 0.001,
      strategy = ts.strategy { propose = function(_, given)
        local c = given:draw()
        c.decisions = liar(table.unpack(c.decisions))
        return { c }
      end } })
    assert(not ok and tostring(e):find(text, 1, true), tostring(e))
  end
  db:close()
  for _, end_ in ipairs { "", "-wal", "-shm" } do os.remove(file .. end_) end
end

-- What a call is given may close the schedule while it is read.
do
  local A = ts.placeholder("A", { 8, 8 })
  local p = ts.program("p", { A }, {
    ts.compute("B", { 8, 8 }, function(i, j) return A(i, j) + 1 end) })
  local ways = {
    function(s, b, _, call)
      return call("transform_block_layout", b, function(i, j)
        s:close()
        return j, i
      end)
    end,
    function(s, _, loops, call)
      return call("reorder", setmetatable(loops, { __len = function()
        s:close()
        return 2
      end }))
    end,
    function(s, b, _, call)
      return call("annotate_buffer_access", b, { "read", 0 }, function(i, j)
        s:close()
        return i, 1, j, 1
      end)
    end,
  }
  for _, way in ipairs(ways) do
    for _, asks in ipairs { false, true } do
      local s = ts.schedule(p)
      local b = s:get_block "B"
      local ok, e = pcall(way, s, b, { s:get_loops(b) }, function(name, ...)
        if asks then return s:can(name, ...) end
        return s[name](s, ...)
      end)
      assert(not ok and tostring(e):find "closed", tostring(e))
    end
  end
end

-- A closed object is an error, not a crash.
do
  local s = ts.schedule(p)
  local b = s:get_block "B"
  s:close()
  checks.fails("DEAD", "closed", s.get_loops, s, b)
  assert(tostring(b):find("gone"))
end
