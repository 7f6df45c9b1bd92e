-- SPDX-License-Identifier: Apache-2.0
-- rolling_buffer in parallel strips: the first window of each strip is computed
-- whole, also where strips overhang.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local same, refused = checks.same, checks.refused

local function blur(rows, cols, wide)
  local A = ts.placeholder("A", { rows + 2, cols + 2 })
  local B = ts.compute("B", { rows, cols + 2 }, function(i, j)
    return A(i, j) + A(i + 1, j) + A(i + 2, j)
  end)
  local C = ts.compute("C", { rows - 2, cols }, function(i, j)
    if wide then return B(i, j) + B(i + 1, j + 1) + B(i + 2, j + 2) end
    return B(i, j) + B(i + 1, j) + B(i + 2, j)
  end)
  return ts.program("blur", { A }, { C })
end

-- rolling_buffer before parallel, and after it.
local function both(p, strips)
  for _, first in ipairs { "roll", "parallel" } do
    local sch = ts.schedule(p)
    local outer, at = strips(sch)
    local b = sch:get_block "B"
    sch:compute_at(b, at)
    if first == "parallel" then sch:parallel(outer) end
    sch:rolling_buffer(b, 0, at)
    if first == "roll" then sch:parallel(outer) end
    same(sch, p)
    assert(ts.build(sch, "llvm"))
  end
end

for _, wide in ipairs { true, false } do
  for _, tile in ipairs { 4, 5, 6, 7, 17 } do
    local p = blur(18, 18, wide)
    both(p, function(sch) -- strips of columns
      local i, j = sch:get_loops(sch:get_block "C")
      local j0, j1 = sch:split(j, { ts.auto, tile })
      sch:reorder(j0, i, j1)
      return j0, i
    end)
    both(p, function(sch) -- of rows
      local i = sch:get_loops(sch:get_block "C")
      local i0, i1 = sch:split(i, { ts.auto, tile })
      return i0, i1
    end)
    both(p, function(sch) -- of both, and windows of some rows
      local i, j = sch:get_loops(sch:get_block "C")
      local i0, i1, i2 = sch:split(i, { ts.auto, 2, 3 })
      local j0, j1 = sch:split(j, { ts.auto, tile })
      sch:reorder(i0, j0, i1, i2, j1)
      return i0, i1
    end)
  end
end

-- Strips that are entirely beyond the end have no reader.
both(blur(18, 6, true), function(sch)
  local i = sch:get_loops(sch:get_block "C")
  local i0, i1, i2 = sch:split(i, { 3, 3, 2 })
  return i0, i2
end)
both(blur(14, 6, true), function(sch)
  local i = sch:get_loops(sch:get_block "C")
  local i0 = sch:split(i, { ts.auto, 8 })
  local _, inner = sch:get_loops(sch:get_block "C")
  local _, i2 = sch:split(inner, { 3, 3 })
  return i0, i2
end)

-- Two pooling stages.
for _, t in ipairs { { 4, 4 }, { 1, 4 }, { 3, 4 }, { 1, 1 }, { 2, 3 } } do
  local X = ts.placeholder("X", { 14, 16, 4 })
  local function pool(name, from, h, w)
    local a, b = ts.reduce_axis("a", 3), ts.reduce_axis("b", 3)
    return ts.compute(name, { h, w, 4 }, function(y, x, c)
      return ts.reduce_max(from(y + a, x + b, c), { a, b })
    end)
  end
  local p = ts.program("pools", { X },
                       { pool("C", pool("B", X, 12, 14), 10, 12) })
  both(p, function(sch)
    local y, x = sch:get_loops(sch:get_block "C")
    local y0, y1 = sch:split(y, { ts.auto, t[1] })
    local x0, x1 = sch:split(x, { ts.auto, t[2] })
    sch:reorder(x0, y0, y1, x1)
    return x0, y0
  end)
end

-- A first window that is not computed whole: elements are carried from the
-- previous strip, so strips cannot run in parallel.
do
  local b = ts.builder("left")
  local A, C = b:input("A", { 20 }), b:output("C", { 16 })
  local B = b:buffer("B", { 3 })
  b:loop("s", 0, 4, function(s)
    b:loop("t", 0, 4, function(t)
      b:loop("a", 0, 3, function(a)
        b:block("B", { { "v", extent = 20, bind = s * 4 + t + a },
                       { "w", extent = 4, bind = s } },
                { where = ts.land(ts.lor(ts.eq(t, 0), ts.ge(a, 2)),
                                  ts.lor(ts.lt(s, 1), ts.ge(a, 1))) },
                function(v) b:store(B, { v % 3 }, A(v)) end)
      end)
      b:block("C", { { "v", extent = 16, bind = s * 4 + t } }, function(v)
        b:store(C, { v }, B(v % 3) + B((v + 1) % 3) + B((v + 2) % 3))
      end)
    end)
  end)
  local p = b:program()
  local sch = ts.schedule(p)
  local s = sch:get_loops(sch:get_block "C")
  refused(sch, "RACE", "parallel", s)
  same(sch, p)
  assert(ts.build(sch, "llvm"))
end
