-- SPDX-License-Identifier: Apache-2.0
-- Consumers that move past blocks which write what they read or read what they
-- write: accepted where no element conflicts or the order stays.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local same, refused = checks.same, checks.refused
local N, T = 8, 3

local function moved(p, block, level, more)
  local s = ts.schedule(p)
  local loops = { s:get_loops(s:get_block(block)) }
  s:reverse_compute_at(s:get_block "C", loops[level], more)
  same(s, p)
  return s
end
local function not_moved(p, reason, block, level, more)
  local s = ts.schedule(p)
  local loops = { s:get_loops(s:get_block(block)) }
  return refused(s, reason, "reverse_compute_at", s:get_block "C",
                 loops[level], more)
end
local function block(b, name, over, body)
  local iters = {}
  local function nest(k)
    if k > #over then return b:block(name, iters, body) end
    b:loop(name:lower() .. k, 0, over[k], function(l)
      iters[k] = { "v" .. k, extent = over[k], bind = l }
      nest(k + 1)
    end)
  end
  nest(1)
end

-- Between the places E is made, from `first` on; C reads it from 0 on.
local function between(first)
  local b = ts.builder("main")
  local A, C = b:input("A", { N }), b:output("C", { N })
  local B, E = b:buffer("B", { N }), b:buffer("E", { 2 * N })
  block(b, "Z", { 2 * N }, function(v) b:store(E, { v }, 1) end)
  block(b, "B", { N }, function(v) b:store(B, { v }, A(v) * 2) end)
  block(b, "E", { N }, function(v) b:store(E, { v + first }, A(v)) end)
  block(b, "C", { N }, function(v) b:store(C, { v }, B(v) + E(v)) end)
  return b:program()
end
moved(between(N), "B", 1)
assert(not_moved(between(N - 1), "PRODUCER_BETWEEN", "B", 1).message
         :find("such as (e1 = 0) and (c1 = 7)", 1, true))

-- E is made along with B, of which C reads `at`: where C goes to B's place it
-- must have been made.
local function beside(at, order)
  local b = ts.builder("main")
  local A, C = b:input("A", { N }), b:output("C", { N })
  local B, E = b:buffer("B", { N }), b:buffer("E", { N })
  b:loop("i", 0, N, function(i)
    for name in order:gmatch "." do
      b:block(name, { { "v", extent = N, bind = i } }, function(v)
        b:store(name == "B" and B or E, { v }, A(v) * 2)
      end)
    end
  end)
  block(b, "C", { N }, function(v) b:store(C, { v }, B(v) + E(at(v))) end)
  return b:program()
end
local function equal(v) return v end
local function earlier(v) return ts.max(v - 1, 0) end
local function later(v) return ts.min(v + 1, N - 1) end
for _, at in ipairs { equal, earlier, later } do
  for _, order in ipairs { "EB", "BE" } do
    local p = beside(at, order)
    local s = ts.schedule(p)
    local last = order:sub(2)
    if at == later then
      refused(s, order == "EB" and "PRODUCER_BETWEEN" or "NOT_INVERTIBLE",
              "reverse_compute_inline", s:get_block "C")
      not_moved(p, "NOT_COVERED", last, 1)
    else
      if order == "EB" then
        s:reverse_compute_inline(s:get_block "C")
        same(s, p)
      end
      moved(p, last, 1)
    end
  end
end

-- In each of T rounds D, in the same round (k = 1: in B's loop, 2: in a loop
-- of its own) reads what C wrote in the one before, `by` further on.
local function rounds(k, by)
  local b = ts.builder("main")
  local A = b:input("A", { N })
  local D, X = b:output("D", { T, N }), b:output("X", { T, N })
  local B, C = b:buffer("B", { N }), b:buffer("C", { 2 * N })
  b:loop("t", 0, T, function(t)
    local function read(i)
      b:block("D", { { "u", extent = T, bind = t },
                     { "v", extent = N, bind = i } },
              { where = ts.le(1, t) }, function(u, v)
        b:store(D, { u, v }, C(ts.max(ts.min(v + by, N - 1), 0)))
      end)
    end
    b:loop("i", 0, N, function(i)
      if k == 0 then read(i) end
      b:block("B", { { "v", extent = N, bind = i } },
              function(v) b:store(B, { v }, A(v)) end)
      if k == 1 then read(i) end
    end)
    if k == 2 then b:loop("d", 0, N, read) end
    block(b, "C", { N }, function(v) b:store(C, { v }, B(v)) end)
    b:loop("x", 0, N, function(x)
      b:block("X", { { "u", extent = T, bind = t },
                     { "v", extent = N, bind = x } },
              function(u, v) b:store(X, { u, v }, C(v)) end)
    end)
  end)
  return b:program()
end
for k = 0, 2 do
  for by = -1, 1 do
    local p = rounds(k, by)
    if k == 2 or by < 0 then
      local why = not_moved(p, "READ_BEFORE", "B", 2)
      assert(why.message:find("such as (t = ", 1, true), why)
    else
      moved(p, "B", 2)
      if k == 1 then not_moved(p, "INDEX_INVALID", "B", 2, { index = 1 }) end
    end
    local s = ts.schedule(p)
    if k > 0 or by < 0 then
      refused(s, "READ_BEFORE", "reverse_compute_inline", s:get_block "C")
    else
      s:reverse_compute_inline(s:get_block "C")
      same(s, p)
    end
  end
end

-- E is made at the end of each row, and read in another one: by the row's
-- elements in a loop of their own, which goes into the loop over them.
local function rows(by)
  local b = ts.builder("main")
  local A, C = b:input("A", { N, N }), b:output("C", { N, N })
  local B, E = b:buffer("B", { N, N }), b:buffer("E", { N })
  b:loop("i", 0, N, function(i)
    b:loop("j", 0, N, function(j)
      b:block("B", { { "v", extent = N, bind = i },
                     { "w", extent = N, bind = j } },
              function(v, w) b:store(B, { v, w }, A(v, w) + 1) end)
    end)
    b:block("E", { { "v", extent = N, bind = i } },
            function(v) b:store(E, { v }, A(v, v)) end)
  end)
  block(b, "C", { N, N }, function(v, w)
    local r = ts.max(ts.min(v + by, N - 1), 0)
    b:store(C, { v, w }, B(v, w) + ts.select(ts.le(1, v), E(r), 0))
  end)
  return b:program()
end
moved(rows(-1), "B", 2)
moved(rows(0), "B", 1)
not_moved(rows(0), "PRODUCER_BETWEEN", "B", 2)
not_moved(rows(1), "NOT_COVERED", "B", 1)

-- Cut in two, of which a part may have no iteration: below that part not
-- everything is run.
do
  local x = ts.placeholder("x", { 2, 8 })
  local k = ts.reduce_axis("k", 8)
  local t = ts.compute("t", { 2 }, function(i) return ts.sum(x(i, k), k) end)
  local y = ts.compute("y", { 2 }, function(i) return t(i) + 1 end)
  local program = ts.program("main", { x }, { y })
  local sch = ts.schedule(program)
  local i = sch:get_loops(sch:get_block "t")
  local o, j = sch:split(i, { ts.auto, 1 })
  sch:loop_partition(j, { outer_loops = { o },
                          points = function(v) return v end })
  local first = sch:get_producers(sch:get_block "y")
  local loops = { sch:get_loops(first) }
  refused(sch, "NOT_PARTITION", "reverse_compute_at", sch:get_block "y",
          loops[2])
  same(sch, program)
end
