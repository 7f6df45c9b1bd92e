-- SPDX-License-Identifier: Apache-2.0
-- rolling_buffer in tiles of two dimensions: it rolls over the outermost loop
-- along which windows overlap, whatever loops are between, and windows shared
-- along inner loops are not recomputed either.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local same, refused = checks.same, checks.refused

-- 3 x 3 max pooling with a stride.
local function pool(name, X, h, w, c, step)
  local a, b = ts.reduce_axis(name .. "a", 3), ts.reduce_axis(name .. "b", 3)
  return ts.compute(name, { 1, h, w, c }, function(n, i, j, k)
    return ts.reduce_max(X(n, i * step + a, j * step + b, k), { a, b })
  end)
end

local A = ts.placeholder("A", { 1, 12, 12, 4 }, "int8")
local two = ts.program("two", { A },
  { pool("C", pool("B", A, 10, 10, 4, 1), 8, 8, 4, 1) })

-- Tiles C; returns the schedule and the outer loops.
local function tiled(p, tile)
  local sch = ts.schedule(p)
  local loops = table.pack(sch:get_loops(sch:get_block "C"))
  local outer, inner, all = {}, {}, {}
  for k, size in ipairs(tile) do
    outer[k], inner[k] = sch:split(loops[k], { ts.auto, size })
    all[k], all[#tile + k] = outer[k], inner[k]
  end
  sch:reorder(table.unpack(all))
  return sch, outer
end

local function has(sch, ...)
  for _, part in ipairs { ... } do
    local text = tostring(sch)
    assert(text:find(part, 1, true), part .. " is not in\n" .. text)
  end
end

-- Tiles of columns, rows, both and channels, and overhanging ones; with and
-- without unit loops between.
for _, case in ipairs {
  { { 1, 8, 4, 4 }, "B: int8[1, 10, 6, 4]", "where j_0 == 0 || 2 <= ax1" },
  { { 1, 4, 8, 4 }, "B: int8[1, 6, 10, 4]", "where i_0 == 0 || 2 <= ax0" },
  { { 1, 4, 4, 2 }, "B: int8[1, 6, 10, 4]",
    "where (i_0 == 0 || 2 <= ax0) && (j_0 == 0 || 2 <= ax1)" },
  { { 1, 6, 6, 4 }, "B: int8[1, 8, 10, 4]",
    "j_0 * 6 + ax1 < 10 && (i_0 == 0 || 2 <= ax0) && (j_0 == 0 || 2 <= ax1)" },
  { { 1, 1, 1, 1 }, "B: int8[1, 3, 10, 4]",
    "where (i_0 == 0 || 2 <= ax0) && (j_0 == 0 || 2 <= ax1)" },
} do
  local sch, o = tiled(two, case[1])
  sch:compute_at(sch:get_block "B", o[4])
  sch:rolling_buffer(sch:get_block "B", 0)
  has(sch, case[2], case[3])
  same(sch, two)
  refused(sch, "BLOCK_NOT_COMPLETE", "rolling_buffer", sch:get_block "B", 0)
  for k = 2, 3 do -- along which windows are carried
    assert(case[1][k] == 8 or not sch:can("parallel", o[k]))
  end
  assert(ts.build(sch, "llvm"))
end

-- An explicit loop must be one along which the window moves.
do
  local sch, o = tiled(two, { 1, 4, 4, 2 })
  local b = sch:get_block "B"
  sch:compute_at(b, o[4])
  refused(sch, "ROLLING_NO_OVERLAP", "rolling_buffer", b, 0, o[4])
  refused(sch, "ROLLING_PATTERN", "rolling_buffer", b, 0, o[1])
  refused(sch, "ROLLING_PATTERN", "rolling_buffer", b, 0,
          (select(5, sch:get_loops(b))))
  local rows, columns = sch:copy(), sch:copy()
  rows:rolling_buffer(b, 0, o[2])
  sch:rolling_buffer(b, 0)
  assert(tostring(rows) == tostring(sch))
  columns:rolling_buffer(b, 0, o[3])
  has(columns, "B: int8[1, 10, 6, 4]", "where j_0 == 0 || 2 <= ax1")
  same(rows, two)
  same(columns, two)
end

-- A parallel loop cannot carry a window: an inner one is used, if any.
do
  local sch, o = tiled(two, { 1, 4, 4, 2 })
  local b = sch:get_block "B"
  sch:compute_at(b, o[4])
  sch:parallel(o[2])
  refused(sch, "LOOP_NOT_SERIAL", "rolling_buffer", b, 0, o[2])
  sch:rolling_buffer(b, 0)
  has(sch, "where j_0 == 0 || 2 <= ax1")
  same(sch, two)
  for _, k in ipairs { 3, 4 } do
    sch, o = tiled(two, { 1, 4, 4, 2 })
    b = sch:get_block "B"
    sch:compute_at(b, o[4])
    sch:parallel(o[k])
    refused(sch, "LOOP_NOT_SERIAL", "rolling_buffer", b, 0)
  end
end

-- Three stages with strides, and an upsampling one: its windows move by two or
-- three rows.
do
  local X = ts.placeholder("X", { 1, 24, 24, 3 }, "int8")
  local B = pool("B", X, 22, 22, 3, 1)
  local D = pool("D", B, 10, 10, 3, 2)
  local p = ts.program("three", { X }, { pool("C", D, 8, 8, 3, 1) })
  local sch, o, texts = nil, nil, {}
  for k, order in ipairs { { "D", "B" }, { "B", "D" } } do
    sch, o = tiled(p, { 1, 4, 4, 3 })
    sch:compute_at(sch:get_block "D", o[4])
    sch:compute_at(sch:get_block "B", o[4])
    for _, name in ipairs(order) do
      sch:rolling_buffer(sch:get_block(name), 0)
      same(sch, p)
    end
    has(sch, "B: int8[1, 13, 22, 3]", "D: int8[1, 6, 10, 3]",
        "where (i_0 == 0 || 5 <= ax0) && (j_0 == 0 || 5 <= ax1)")
    texts[k] = tostring(sch)
  end
  assert(texts[1] == texts[2])

  local a, b = ts.reduce_axis("a", 3), ts.reduce_axis("b", 3)
  local Y = ts.placeholder("Y", { 1, 16, 16, 3 }, "int8")
  local up = pool("B", Y, 14, 14, 3, 1)
  p = ts.program("up", { Y }, {
    ts.compute("C", { 1, 24, 24, 3 }, function(n, i, j, k)
      return ts.reduce_max(up(n, i // 2 + a, j // 2 + b, k), { a, b })
    end) })
  sch, o = tiled(p, { 1, 5, 5, 3 })
  sch:compute_at(sch:get_block "B", o[4])
  sch:rolling_buffer(sch:get_block "B", 0)
  has(sch, "B: int8[1, 5, 14, 3]",
      "(i_0 == 0 || 2 <= ax0) && (j_0 == 0 || 2 <= ax1)")
  same(sch, p)
end

-- In any order, where what is read of windows is some of their rows at once.
for k, order in ipairs { "BDE", "BED", "DBE", "DEB", "EBD", "EDB" } do
  local X = ts.placeholder("X", { 22 })
  local function blur(name, from, n)
    return ts.compute(name, { n }, function(i)
      return from(i) + from(i + 1) * 2 + from(i + 2)
    end)
  end
  local E = blur("E", blur("D", blur("B", X, 20), 18), 16)
  local p = ts.program("chain", { X }, { blur("C", E, 14) })
  local sch = ts.schedule(p)
  local i = sch:split(sch:get_loops(sch:get_block "C"), { ts.auto, k })
  for name in ("EDB"):gmatch "." do sch:compute_at(sch:get_block(name), i) end
  for name in order:gmatch "." do
    sch:rolling_buffer(sch:get_block(name), 0)
    same(sch, p)
  end
  refused(sch, "BLOCK_NOT_COMPLETE", "rolling_buffer", sch:get_block "E", 0)
end

-- Producers that look rolled but skip more than the overlap, or wrap around too
-- soon, give their readers other values in each iteration: refused.
for how, of in pairs {
  right = { 4, 2 }, less = { 5, 1 }, skips = { 4, 3 }, wraps = { 3, 2 }
} do
  local size, from, step = of[1], of[2], 2
  local bl = ts.builder(how)
  local X, C = bl:input("X", { 40 }), bl:output("C", { 6 })
  local B, D = bl:buffer("B", { size }), bl:buffer("D", { 14 })
  bl:loop("t", 0, 6, function(t)
    bl:loop("a", 0, 4, function(a)
      bl:block("B", { { "v", extent = 14, bind = t * step + a } },
               { where = ts.lor(ts.eq(t, 0), ts.ge(a, from)) }, function(v)
        bl:store(B, { v % size }, X(v) * 3)
      end)
    end)
    bl:loop("d", 0, 4, function(d)
      bl:block("D", { { "v", extent = 14, bind = t * step + d } },
               function(v) bl:store(D, { v }, B(v % size) + 1) end)
    end)
    bl:loop("r", 0, 4, function(r)
      bl:block("C", { { "v", extent = 6, bind = t },
                      { "r", "reduce", extent = 4, bind = r },
                      { "w", extent = 14, bind = t * step + r } },
               function(v, _, w)
                 bl:init(function() bl:store(C, { v }, 0) end)
                 bl:store(C, { v }, C(v) + D(w))
               end)
    end)
  end)
  local p = bl:program()
  local sch = ts.schedule(p)
  if how == "right" or how == "less" then
    sch:rolling_buffer(sch:get_block "D", 0)
    has(sch, "D: float32[4]")
    same(sch, p)
  else
    refused(sch, "ROLLING_INPUT", "rolling_buffer", sch:get_block "D", 0)
  end
end

-- The loop is refused if its iterations run different instances of the loops
-- between, or windows move backwards; alternating steps of 1 and 2 are fine.
for _, how in ipairs { "runs", "order", "falls", "rises" } do
  local bl = ts.builder(how)
  local X, C = bl:input("X", { 40 }), bl:output("C", { 6, 4 })
  local B = bl:buffer("B", { 40 })
  bl:loop("t", 0, 6, function(t)
    local lo = how == "runs" and ts.max(3 - t, 0) or 0
    bl:loop("u", lo, 4 - lo, function(u)
      local at = how == "falls" and 12 - t * 2 or
                 how == "order" and t * 2 + u or
                 how == "rises" and t + t // 2 or t * 2
      bl:loop("a", 0, 4, function(a)
        bl:block("B", { { "v", extent = 40, bind = at + a } },
                 function(v) bl:store(B, { v }, X(v) * 3) end)
      end)
      bl:loop("r", 0, 4, function(r)
        bl:block("C", { { "v", extent = 6, bind = t },
                        { "u", extent = 4, bind = u },
                        { "r", "reduce", extent = 4, bind = r },
                        { "w", extent = 40, bind = at + r } },
                 function(v, x, _, w)
                   bl:init(function() bl:store(C, { v, x }, 0) end)
                   bl:store(C, { v, x }, C(v, x) + B(w))
                 end)
      end)
    end)
  end)
  local p = bl:program()
  local sch = ts.schedule(p)
  local b = sch:get_block "B"
  local t = sch:get_loops(b)
  if how == "rises" then
    sch:rolling_buffer(b, 0)
    has(sch, "B: float32[4]", "where t == 0 || 2 <= a")
    same(sch, p)
  else
    refused(sch, "ROLLING_PATTERN", "rolling_buffer", b, 0, t)
  end
  if how == "order" then
    sch:rolling_buffer(b, 0)
    has(sch, "where u == 0 || 3 <= a")
    same(sch, p)
  end
end
