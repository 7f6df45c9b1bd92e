-- SPDX-License-Identifier: Apache-2.0
-- Copies in blocks inside others, of what is written in the same block and in
-- shared memory under blocks of threads; inlining into predicates.
local ts = require "tessera"
local ops = require "tessera.ops"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local case, refused, same = checks.case, checks.refused, checks.same

local function chain()
  local X = ts.placeholder("X", { 16, 16 })
  local a = ts.compute("a", { 16, 16 }, function(i, j) return X(i, j) + 1 end)
  local b = ts.compute("b", { 16, 16 }, function(i, j) return a(i, j) * 2 end)
  local c = ts.compute("c", { 16, 16 }, function(i, j) return b(i, j) - 3 end)
  return ts.program("chain", { X }, { c })
end

case("a copy of what was written before in the same block", function()
  local p = chain()
  for _, several in ipairs { false, true } do
    local sch = ts.schedule(p)
    local a, b = sch:get_block "a", sch:get_block "b"
    local i = sch:get_loops(b)
    sch:compute_at(a, i)
    sch:blockize(several and { a, b } or i)
    sch:cache_read(b, 0, "local")
    same(sch, p)
  end
end)

-- `n` of 8 elements of a row of t are written before they are read, in the
-- order that `order` says.
local function rows(n, order)
  local b = ts.builder "rows"
  local x, y = b:input("x", { 4, 8 }), b:output("y", { 4, 8 })
  local t = b:buffer("t", { 4, 8 })
  local function stage(name, i, extent, to, f)
    b:loop("j", 0, extent, function(j)
      b:block(name, { { "r", extent = 4, bind = i },
                      { "c", extent = 8, bind = j } }, function(r, c)
        b:store(to, { r, c }, f(r, c))
      end)
    end)
  end
  b:loop("i", 0, 4, function(i) stage("all", i, 8, t, x) end)
  b:loop("i", 0, 4, function(i)
    local parts = {
      part = function()
        stage("part", i, n, t, function(r, c) return x(r, c) * 2 end)
      end,
      use = function() stage("use", i, 8, y, t) end,
    }
    for _, name in ipairs(order) do parts[name]() end
  end)
  return b:program()
end

case("but not of what may have been written outside of it", function()
  for _, try in ipairs { { 8, { "part", "use" }, true },
                         { 7, { "part", "use" }, false },
                         { 8, { "use", "part" }, false } } do
    local p = rows(try[1], try[2])
    local sch = ts.schedule(p)
    local use = sch:get_block "use"
    sch:blockize { sch:get_block(try[2][1]), sch:get_block(try[2][2]) }
    if try[3] then
      sch:cache_read(use, 0, "local")
    else
      refused(sch, "BUFFER_LIVE_IN", "cache_read", use, 0, "local")
    end
    same(sch, p)
  end
end)

-- A tile of a matrix product whose operands are staged inside it.
local function tile(bind)
  local p = ops.matmul { m = 16, n = 16, k = 16 }
  local sch = ts.schedule(p)
  local C = sch:get_block "C"
  local i, j, k = sch:get_loops(C)
  local i0, i1 = sch:split(i, { 4, 4 })
  local j0, j1 = sch:split(j, { 4, 4 })
  local k0 = sch:split(k, { 4, 4 })
  sch:reorder(i0, j0, i1, j1)
  if bind == "before" then
    sch:bind(i0, "blockIdx.y")
    sch:bind(j0, "blockIdx.x")
  end
  sch:blockize(i1)
  if bind == "threads" then
    sch:bind(j0, "threadIdx.x")
    refused(sch, "STORAGE_INSIDE", "cache_read", C, 0, "shared")
    return
  end
  local a, b = sch:cache_read(C, 0, "shared"), sch:cache_read(C, 1, "shared")
  if bind == "after" then
    sch:bind(i0, "blockIdx.x")
    sch:bind(j0, "threadIdx.x") -- each thread has its own then
  else
    local y, x = sch:get_loops(C)
    sch:bind(y, "threadIdx.y")
    sch:bind(x, "threadIdx.x")
  end
  local at = select(3, sch:get_loops(C))
  sch:compute_at(a, at)
  sch:compute_at(b, at)
  same(sch, p)
  local lowered = ts.lower(sch)
  assert(ts.equivalent(lowered, p))
  assert(tostring(lowered):find("barrier", 1, true) or bind == "after")
end

case("shared memory in a tile under blocks of threads", function()
  for _, bind in ipairs { "before", "after", "threads" } do tile(bind) end
end)

-- t = 2 x, where the predicate of a later block reads t.
local function asked(together, made)
  local b = ts.builder "asked"
  local x, y = b:input("x", { 16 }), b:inout("y", { 16 })
  local t = b:buffer("t", { 16 })
  if made then
    local copy = b:buffer("copy", { 16 })
    b:loop("i", 0, 16, function(i)
      b:block("copy", { { "v", extent = 16, bind = i } }, function(v)
        b:store(copy, { v }, x(v))
      end)
    end)
    x = copy
  end
  local function make(i)
    b:block("t", { { "v", extent = 16, bind = i } }, function(v)
      b:store(t, { v }, x(v) * 2)
    end)
  end
  local function use(i)
    b:block("y", { { "v", extent = 16, bind = i } }, { where = ts.lt(t(i), 1) },
            function(v) b:store(y, { v }, 5) end)
  end
  b:loop("i", 0, 16, function(i)
    make(i)
    if together then use(i) end
  end)
  if not together then b:loop("i", 0, 16, use) end
  return b:program()
end

case("inlining into the predicate of a block", function()
  local sch
  for _, how in ipairs { { false, false }, { true, false }, { false, true } } do
    local p = asked(how[1], how[2])
    sch = ts.schedule(p)
    sch:compute_inline(sch:get_block "t")
    assert(tostring(sch:program()):find("[i] * 2.0 < 1.0", 1, true))
    same(sch, p)
  end
  sch = ts.schedule(asked(true, true))
  refused(sch, "OTHER_STATEMENT", "compute_inline", sch:get_block "t")
  local _, e = pcall(sch.compute_inline, sch, sch:get_block "t")
  assert(tostring(e):find("without loads in bounds, bindings and predicates", 1,
                          true), tostring(e))
  -- x changes in between: t must keep its values.
  local b = ts.builder "changed"
  local x, y = b:inout("x", { 16 }), b:inout("y", { 16 })
  local t = b:buffer("t", { 16 })
  local function each(name, to, value, where)
    b:loop("i", 0, 16, function(i)
      b:block(name, { { "v", extent = 16, bind = i } },
              { where = where and ts.lt(t(i), 1) or nil },
              function(v) b:store(to, { v }, value(v)) end)
    end)
  end
  each("t", t, function(v) return x(v) * 2 end)
  each("x", x, function(v) return y(v) + 1 end)
  each("y", y, function() return 5 end, true)
  sch = ts.schedule(b:program())
  refused(sch, "INPUT_OVERWRITTEN", "compute_inline", sch:get_block "t")
end)
