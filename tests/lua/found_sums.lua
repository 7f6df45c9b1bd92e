-- SPDX-License-Identifier: Apache-2.0
-- Regressions found by random testing: reductions whose init does not come
-- first, or initializes only some of the elements they write.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local same, refused = checks.same, checks.refused

-- s[i] = 0 where k is 0, then s[i] + x[i, k], for k from 3 down to 0, over
-- what s held before.
local function late()
  local build = ts.builder("main")
  local x = ts.placeholder("x", { 8, 4 })
  local s = build:buffer("s", { 8 }, "float32")
  build:loop("i", 0, 8, function(i)
    build:block("before", { { "v", extent = 8, bind = i } }, function(v)
      build:store(s, { v }, x(v, 0) * 2)
    end)
  end)
  build:loop("i", 0, 8, function(i)
    build:loop("k", 0, 4, function(k)
      build:block("sum", { { "v", extent = 8, bind = i },
                           { "r", "reduce", extent = 4, bind = 3 - k } },
                  function(v, r)
        build:init(function() build:store(s, { v }, ts.const(0, "float32")) end)
        build:store(s, { v }, s(v) + x(v, r))
      end)
    end)
  end)
  return ts.program("main", { x }, { s })
end

-- t[i, k] + x[i, k], of which t[i, 0] is set to 0 before.
local function spread()
  local build = ts.builder("main")
  local x = ts.placeholder("x", { 8, 4 })
  local t = build:buffer("t", { 8, 4 }, "float32")
  build:loop("i", 0, 8, function(i)
    build:loop("k", 0, 4, function(k)
      build:block("before", { { "v", extent = 8, bind = i },
                              { "w", extent = 4, bind = k } }, function(v, w)
        build:store(t, { v, w }, x(v, w) * 2)
      end)
    end)
  end)
  build:loop("i", 0, 8, function(i)
    build:loop("k", 0, 4, function(k)
      build:block("sum", { { "v", extent = 8, bind = i },
                           { "r", "reduce", extent = 4, bind = k } },
                  function(v, r)
        build:init(function()
          build:store(t, { v, r }, ts.const(0, "float32"))
        end)
        build:store(t, { v, r }, t(v, r) + x(v, r))
      end)
    end)
  end)
  return ts.program("main", { x }, { t })
end

-- In a scope of the block alone, a copy of its output would lack the old
-- contents that it reads; also if the scope is an enclosing block.
for _, make in ipairs { late, spread } do
  for deep = 0, 1 do
    local program = make()
    local sch = ts.schedule(program)
    local i, k = sch:get_loops(sch:get_block "sum")
    local o = deep == 1 and sch:blockize(k) or sch:get_block "sum"
    sch:blockize(i)
    local loops = { sch:get_loops(o) }
    refused(sch, "BUFFER_LIVE_IN", "write_at", loops[#loops], o, 0,
            "global")
    refused(sch, "BUFFER_LIVE_IN", "cache_write", o, 0,
            "global")
    same(sch, program)
  end
end

-- Threads that share the reduction would do so after the init.
do
  local program = late()
  local sch = ts.schedule(program)
  local _, k = sch:get_loops(sch:get_block "sum")
  refused(sch, "INIT_LATE", "bind", k, "threadIdx.x")
  program = spread()
  sch = ts.schedule(program)
  _, k = sch:get_loops(sch:get_block "sum")
  refused(sch, "ITER_NOT_SPATIAL", "bind", k, "threadIdx.x")
  same(sch, program)
end

-- Another instance would run the init, of another element.
do
  local program = spread()
  local sch = ts.schedule(program)
  refused(sch, "PLACE_REDUCED", "transform_block_layout",
          sch:get_block "sum", "(i, k) -> (i, 3 - k)")
  sch:transform_block_layout(sch:get_block "sum",
                             "(i, k) -> (i, k // 2, k % 2)")
  same(sch, program)
end

-- What a person says that a block reads, the blocks around it declare, too,
-- and go on to where they move.
do
  local x = ts.placeholder("x", { 7, 10, 8 })
  local r = ts.compute("r", { 7 }, function(i)
    local k, l = ts.reduce_axis("k", 10), ts.reduce_axis("l", 8)
    return ts.sum(x(i, k, l), { k, l })
  end)
  local p = ts.compute("p", { 7 }, function(i) return r(i) + 1 end)
  local program = ts.program("main", { x }, { p })
  local sch = ts.schedule(program)
  local b = sch:get_block "r"
  local i, k, l = sch:get_loops(b)
  sch:fuse { i, k }
  local o = sch:blockize(l)
  sch:annotate_buffer_access(b, { "read", 1 }, "(l) -> (0, 7, 0, 10, 0, 8)")
  sch:compute_at(o, (sch:get_loops(sch:get_block "p")))
  same(sch, program)
end

-- Where a reduce iter indexes the result, only the first is initialized: the
-- others go on from what was there, around the block's scope, which a padded
-- result would not hold.
do
  local build = ts.builder("main")
  local x = ts.placeholder("x", { 4, 2 })
  local y = build:buffer("y", { 4, 2 }, "float32")
  local function stage(name, kind, write)
    build:loop("i", 0, 4, function(i)
      build:loop("j", 0, 2, function(j)
        build:block(name, {
          { "a", extent = 4, bind = i },
          { "b", kind, extent = 2, bind = j },
        }, write)
      end)
    end)
  end
  stage("copy", "spatial", function(a, b)
    build:store(y, { a, b }, x(a, b) * 3)
  end)
  stage("late", "reduce", function(a, b)
    build:init(function() build:store(y, { a, b }, ts.const(0, "float32")) end)
    build:store(y, { a, b }, y(a, b) + x(a, b))
  end)
  local program = ts.program("main", { x }, { y })
  local sch = ts.schedule(program)
  local late = sch:get_block "late"
  sch:blockize((sch:get_loops(late)))
  refused(sch, "PLACE_REDUCED", "pad_einsum", late, { 3, 4 })
  same(sch, program)
end

-- What keeps an iter in its domain may speak of loops inside of a block that
-- is put around: its part for the loops outside goes to that block.
do
  local x = ts.placeholder("x", { 10 }, "int32")
  local s = ts.compute("s", {}, function()
    local r = ts.reduce_axis("r", 10)
    return ts.sum(x(r), r)
  end)
  local p = ts.program("main", { x }, { s })
  local sch = ts.schedule(p)
  local r = sch:get_loops(sch:get_block "s")
  r = sch:split(r, { 8, 6, 1, 7 })
  local rf = sch:rfactor(r)
  sch:compute_at(rf, (sch:get_loops(sch:get_block "s")), true)
  sch:blockize((select(3, sch:get_loops(rf))))
  same(sch, p)
end

-- A copy in a part of a loop in which nothing of the buffer is left declares
-- that it reads beyond it: a block around need not.
do
  local x = ts.placeholder("x", { 3, 3, 3 })
  local q = ts.compute("q", { 2, 1, 2 }, function(i, j, k)
    return ts.sqrt(x(i, j + 2, k))
  end)
  local p = ts.program("main", { x }, { q })
  local sch = ts.schedule(p)
  local b = sch:get_block "q"
  local _, _, k = sch:get_loops(b)
  local k0, k1 = sch:split(k, { 7, 4 })
  local last = sch:fuse(k0, k1)
  local copy = sch:write_at(last, b, 0, "shared")
  sch:split((sch:get_loops(copy)), { 4, ts.auto, 1, 1 })
  sch:cache_write(b, { "write", 0 }, "local")
  local loops = { sch:get_loops(b) }
  sch:loop_partition(loops[6], nil, true, { loops[1], loops[4] },
                     function(i, j) return i * 2 + 1, j + 19 end)
  sch:blockize((select(2, sch:get_loops(b))), false)
  same(sch, p)
end

-- A reduction that its reduce iter tells where to write goes on with what was
-- there: the buffer holds more than one iteration of a loop around makes.
do
  local b = ts.builder("main")
  local A, C = b:input("A", { 6, 6 }), b:output("C", { 6 })
  local T = b:buffer("T", { 6, 6 })
  local function nest(name, kind, f)
    b:loop("i", 0, 6, function(i)
      b:loop("j", 0, 6, function(j)
        b:block(name, { { "vi", extent = 6, bind = i },
                        { "vj", kind, extent = 6, bind = j } }, f)
      end)
    end)
  end
  nest("T", "spatial", function(i, j) b:store(T, { i, j }, A(i, j)) end)
  nest("add", "reduce", function(i, j)
    b:init(function() b:store(T, { i, j }, 0) end)
    b:store(T, { i, j }, T(i, j) + A(i, j))
  end)
  nest("C", "reduce", function(i, j)
    b:init(function() b:store(C, { i }, 0) end)
    b:store(C, { i }, C(i) + T(i, j))
  end)
  local p = b:program()
  local sch = ts.schedule(p)
  local function first(name) return (sch:get_loops(sch:get_block(name))) end
  local all = sch:split(first "T", { 6, ts.auto, 8 })
  sch:merge(all, (sch:merge(first "add", first "C")))
  same(sch, p)
end

-- The reduce iter tells the parity of a * 5 + t, and so not the tile of two
-- that t is in; but the steps of one result are in different tiles, too.
do
  local b = ts.builder("scan")
  local A, C = b:input("A", { 10, 2 }), b:inout("C", { 10 })
  b:loop("a", 0, 4, function(a)
    b:loop("t", 0, 5, function(t)
      local at = a * 5 + t
      b:block("U", { { "v", extent = 10, bind = at // 2 },
                     { "r", "reduce", extent = 2, bind = at % 2 } },
              function(v, r) b:store(C, { v }, C(v) * 2 + A(v, r)) end)
    end)
  end)
  local p = b:program()
  local s = ts.schedule(p)
  local a, t = s:get_loops(s:get_block "U")
  local tile, rest = s:split(t, { ts.auto, 2 })
  refused(s, "ORDER_DEPENDS", "reorder", tile, a)
  s = ts.schedule(p)
  a = s:get_loops(s:get_block "U")
  tile, rest = s:split(a, { 2, 2 })
  s:reorder(tile, rest)
  same(s, p)
end
