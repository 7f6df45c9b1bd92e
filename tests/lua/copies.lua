-- SPDX-License-Identifier: Apache-2.0
-- Copies of regions that must be written (stores under lets, in both branches
-- of a condition), and of regions that may be.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local same, legal, illegal = checks.same, checks.legal, checks.illegal

-- One block X over v: 8 with that body, and a block Y that reads its result.
local function program(body, extra)
  local b = ts.builder("main")
  local A, C = b:input("A", { 8 }), b:output("C", { 8 })
  local B = b:buffer("B", { 8 })
  local I = b:input("I", { 8 }, "int32")
  b:loop("i", 0, 8, function(i)
    b:block("X", { { "v", extent = 8, bind = i } }, extra or {}, function(v)
      body(b, A, B, v, I)
    end)
  end)
  b:loop("i", 0, 8, function(i)
    b:block("Y", { { "v", extent = 8, bind = i } }, function(v)
      b:store(C, { v }, B(v) + 1)
    end)
  end)
  return b:program()
end

local calls = {
  cache_write = function(s) s:cache_write(s:get_block("X"), 0, "local") end,
  cache_read = function(s) s:cache_read(s:get_block("Y"), "B", "local") end,
  write_at = function(s)
    local x = s:get_block("X")
    s:write_at(s:get_loops(x), x, 0, "local")
  end,
}

local function applies(p)
  for _, call in pairs(calls) do legal(p, call) end
end

local function not_whole(p)
  for _, call in pairs(calls) do illegal(p, "REGION_NOT_WHOLE", call) end
end

-- A let guards nothing, and neither does one that names the index.
applies(program(function(b, A, B, v)
  b:let("x", A(v) * 2, function(x) b:store(B, { v }, x + x) end)
end))
applies(program(function(b, A, B, v)
  b:let("w", v + 0, function(w)
    b:let("x", A(w), function(x) b:store(B, { w }, x * x) end)
  end)
end))

-- Both branches store to the element; further in, and under lets, too.
applies(program(function(b, A, B, v)
  b:when(ts.gt(A(v), 0), function() b:store(B, { v }, A(v)) end,
         function() b:store(B, { v }, 0) end)
end))
applies(program(function(b, A, B, v)
  b:when(ts.gt(A(v), 0), function()
    b:when(ts.lt(v, 5), function() b:store(B, { v }, 1) end,
           function() b:store(B, { v }, 2) end)
  end, function()
    b:let("x", A(v) * 2, function(x)
      b:let("w", v, function(w) b:store(B, { w }, x + x) end)
    end)
  end)
end))

-- One branch, another element, another place in each run of a loop, and a
-- place that is loaded: nothing must write the buffer.
not_whole(program(function(b, A, B, v)
  b:when(ts.gt(A(v), 0), function() b:store(B, { v }, A(v)) end)
end))
not_whole(program(function(b, A, B, v)
  b:when(ts.gt(A(v), 0), function() b:store(B, { v }, 1) end,
         function() b:store(B, { 7 - v }, 2) end)
end))
not_whole(program(function(b, A, B, v)
  b:let("x", A(v), function(x)
    b:when(ts.gt(x, 0), function()
      b:when(ts.lt(v, 5), function() b:store(B, { v }, x) end)
    end, function() b:store(B, { v }, 0) end)
  end)
end))
not_whole(program(function(b, A, B, v, I)
  b:let("at", ts.cast(I(v) % 8, "int64"), function(at)
    b:store(B, { at }, A(v))
  end)
end))

-- Branches with loops of their own, each of which fills the row; and such
-- that do not, or of which one iteration may take this and another that.
local function rows(body)
  local b = ts.builder("main")
  local A, C = b:input("A", { 8, 4 }), b:output("C", { 8, 4 })
  local B = b:buffer("B", { 8, 4 })
  b:loop("i", 0, 8, function(i)
    b:block("X", { { "v", extent = 8, bind = i } }, function(v)
      body(b, function(x) return A(v, x) end,
           function(x, value) b:store(B, { v, x }, value) end, v)
    end)
  end)
  b:loop("i", 0, 8, function(i)
    b:loop("j", 0, 4, function(j)
      b:block("Y", { { "v", extent = 8, bind = i },
                     { "w", extent = 4, bind = j } }, function(v, w)
        b:store(C, { v, w }, B(v, w) + 1)
      end)
    end)
  end)
  return b:program()
end
applies(rows(function(b, A, store)
  b:when(ts.gt(A(0), 0), function()
    b:loop("x", 0, 4, function(x) store(x, A(x)) end)
  end, function() b:loop("y", 0, 4, function(y) store(3 - y, 2) end) end)
end))
applies(rows(function(b, A, store, v)
  b:let("h", A(1), function(h)
    b:when(ts.gt(h, 0), function()
      b:when(ts.lt(v, 3), function()
        b:loop("x", 0, 4, function(x) store(x, A(x)) end)
      end, function()
        b:loop("x", 0, 2, function(x)
          b:loop("y", 0, 2, function(y) store(y * 2 + x, h) end)
        end)
      end)
    end, function() b:loop("y", 0, 4, function(y) store(y, 2) end) end)
  end)
end))
not_whole(rows(function(b, A, store)
  b:when(ts.gt(A(0), 0), function()
    b:loop("x", 0, 4, function(x) store(x, A(x)) end)
  end, function() b:loop("y", 0, 3, function(y) store(y, 2) end) end)
end))
not_whole(rows(function(b, A, store)
  b:loop("z", 0, 4, function(z)
    b:when(ts.gt(A(z), 0), function() store(z, 1) end,
           function() store(3 - z, 2) end)
  end)
end))
not_whole(rows(function(b, A, store)
  b:when(ts.gt(A(0), 0), function()
    b:when(ts.gt(A(1), 0), function()
      b:loop("x", 0, 4, function(x) store(x, A(x)) end)
    end, function() b:loop("x", 0, 4, function(x) store(x, 1) end) end)
  end)
end))

-- Tuple reductions store under lets.
do
  local A = ts.placeholder("A", { 4, 9 }, "int32")
  local k = ts.reduce_axis("k", 9)
  local arg_max = ts.reducer(function(at, best, nat, new)
    return ts.select(ts.ge(best, new), at, nat), ts.max(best, new)
  end, { -1, -2147483648 }, "arg_max")
  local at, best = ts.compute("M", { 4 }, function(i)
    return arg_max(ts.cast(k, "int32"), A(i, k), k)
  end)
  local o = ts.compute("O", { 4 }, function(i) return at(i) + best(i) end)
  local p = ts.program("rows", { A }, { at, o })
  for index = 0, 1 do
    for _, call in ipairs {
      function(s)
        s:cache_write(s:get_block("M"), index, "local")
      end,
      function(s)
        s:cache_read(s:get_block("O"), index, "local")
      end,
      function(s)
        local m = s:get_block("M")
        s:write_at(s:get_loops(m), m, index, "local")
      end,
    } do
      legal(p, call)
    end
  end
end

-- A read in a let is a must-access, unless it is under a condition.
do
  local function reader(body)
    local b = ts.builder("main")
    local A, C = b:input("A", { 8 }), b:output("C", { 8 })
    local B = b:buffer("B", { 8 })
    b:loop("i", 0, 8, function(i)
      b:block("X", { { "v", extent = 8, bind = i } }, function(v)
        b:store(B, { v }, A(v))
      end)
    end)
    b:block("in", {}, function()
      b:loop("i", 0, 8, function(i)
        b:block("Y", { { "v", extent = 8, bind = i } }, function(v)
          body(b, B, C, v)
        end)
      end)
    end)
    return b:program()
  end
  local function read(s) s:cache_read(s:get_block("Y"), "B", "local") end
  legal(reader(function(b, B, C, v)
    b:let("x", B(v) * 2, function(x) b:store(C, { v }, x + x) end)
  end), read)
  illegal(reader(function(b, B, C, v)
    b:when(ts.lt(v, 5), function()
      b:let("x", B(v), function(x) b:store(C, { v }, x) end)
    end, function() b:store(C, { v }, 0) end)
  end), "REGION_NOT_WHOLE", read)
end

-- Threads share a copy only where each of them writes elements of its own: of
-- those that come to one element the last has to be the last.
for _, at in ipairs { function(a) return a % 4 end,
                      function(a) return a // 2 end,
                      function(a) return (a + 2) % 8 end } do
  for stage = 0, 1 do
    local b = ts.builder("main")
    local A, C = b:input("A", { 8 }), b:output("C", { 16 })
    local S = b:buffer("S", { 8 }, "float32", "shared")
    b:loop("i", 0, 4, function(i)
      b:block("S", { { "v", extent = 4, bind = i } }, function(v)
        b:loop("z", 0, 8, function(z) b:store(S, { z }, 0) end)
      end)
      b:block("T", { { "v", extent = 4, bind = i } }, function(v)
        b:loop("a", 0, 8, function(a) b:store(S, { at(a) }, A(a)) end)
      end)
      b:loop("j", 0, 4, function(j)
        b:block("C", { { "v", extent = 4, bind = i },
                       { "w", extent = 4, bind = j } }, function(v, w)
          b:store(C, { v * 4 + w }, S(w))
        end)
      end)
    end)
    local p = b:program()
    local s = ts.schedule(p)
    s:bind(s:get_loops(s:get_block "S"), "threadIdx.x")
    for _, name in ipairs { "S", "T" } do
      local copy = s:get_block(name)
      s:annotate(copy, "auto_copy", 1)
      s:annotate(copy, "local_stage", stage)
      s:annotate(copy, "vector_bytes", 8)
    end
    same(s, p)
  end
end

-- Copies over sizes that are known later: the box is of constant size, and
-- where it is depends on a size.
do
  local n = ts.size("n")
  local A = ts.placeholder("A", { n, 8 })
  local p = ts.program("twice", { A }, {
    ts.compute("B", { n, 8 }, function(i, j) return A(i, j) * 2 end) })
  local function run(q, rows)
    local a = ts.tensor("float32", { rows, 8 }, "integers", 1)
    local b = ts.tensor("float32", { rows, 8 }, "zeros")
    ts.interpret(q, { a, b })
    return b
  end
  for _, name in ipairs { "read_at", "write_at" } do
    for _, factor in ipairs { 0, 1, 4 } do
      local s = ts.schedule(p)
      local block = s:get_block("B")
      local at = s:get_loops(block)
      if factor > 0 then at = s:split(at, { ts.auto, factor }) end
      local ok, e = pcall(s[name], s, at, block, 0, "local")
      if not ok then
        assert(name == "write_at" and factor == 4
                 and e.reason == "REGION_NOT_WHOLE", tostring(e))
      end
      for rows = 1, 9 do
        local want = run(p, rows)
        assert(run(s, rows):compare(want) == 0)
        assert(run(ts.lower(s), rows):compare(want) == 0)
        assert(run(s:trace():replay(), rows):compare(want) == 0)
      end
    end
  end
end

-- What the caller gives and a block changes: readers before that block, and
-- those behind it that read what it wrote, may have a copy.
do
  local function inout(written, shared)
    local b = ts.builder "update"
    local A, B, C = b:inout("A", { 16 }), b:output("B", { 16 }),
                    b:output("C", { 16 })
    local function block(name, i, to, value)
      b:block(name, { { "vi", extent = 16, bind = i } }, function(vi)
        b:store(to, { vi }, value(vi))
      end)
    end
    local function first(i) block("first", i, B, function(v)
      return A(v) + 1
    end) end
    local function change(i) block("change", i, A, function(v)
      return B(v) * 2
    end) end
    if shared then
      b:loop("i", 0, 16, function(i) first(i) change(i) end)
    else
      b:loop("i", 0, 16, first)
      b:loop("i", 0, written, change)
    end
    b:loop("i", 0, 16, function(i) block("last", i, C, function(v)
      return A(v) + B(v)
    end) end)
    return b:program()
  end
  local function try(p, prim, name, consumers, reason)
    local s = ts.schedule(p)
    for i, c in ipairs(consumers or {}) do consumers[i] = s:get_block(c) end
    local args = { s:get_block(name), prim == "cache_read" and { "read", 0 } or
                   { "write", 0 }, "global", consumers }
    if reason then
      checks.refused(s, reason, prim, table.unpack(args))
      return
    end
    s[prim](s, table.unpack(args))
    checks.same(s, p)
    return tostring(s:program())
  end
  local whole = inout(16)
  local text = try(whole, "cache_read", "first", { "first" })
  assert(text:find("B%[vi%] = A_global%[vi%]") and
         text:find("C%[vi%] = A%[vi%]"), text)
  text = try(whole, "cache_read", "last", { "last" })
  assert(text:find("C%[vi%] = A_global%[vi%]") and
         text:find("B%[vi%] = A%[vi%]"), text)
  text = try(whole, "cache_write", "change")
  assert(text:find("A_global%[vi%] = B") and text:find("A%[v0%] = A_global"),
         text)
  try(whole, "cache_write", "change", { "last" })
  -- Both at once; some of what the last one reads was given.
  try(whole, "cache_read", "first", nil, "INPUT_WRITTEN")
  try(whole, "cache_write", "change", { "first" }, "INPUT_WRITTEN")
  local part = inout(8)
  try(part, "cache_read", "first", { "first" })
  try(part, "cache_write", "change")
  try(part, "cache_read", "last", { "last" }, "INPUT_WRITTEN")
  try(part, "cache_write", "change", { "last" }, "INPUT_WRITTEN")
  -- In one loop the first reads what no iteration before changed, which is not
  -- looked for.
  local shared = inout(16, true)
  try(shared, "cache_read", "first", { "first" }, "INPUT_WRITTEN")
  try(shared, "cache_write", "change")
end
