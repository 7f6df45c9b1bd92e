-- SPDX-License-Identifier: Apache-2.0
-- decompose_padding before loops that contain other blocks, too.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local same, refused = checks.same, checks.refused

-- Sums of windows of a padded picture.
local function conv(n)
  local A = ts.placeholder("A", { n, n })
  local P = ts.compute("P", { n + 2, n + 2 }, function(i, j)
    local inside = ts.all(ts.le(1, i), ts.lt(i, n + 1), ts.le(1, j),
                          ts.lt(j, n + 1))
    return ts.select(inside, A(i - 1, j - 1), 7)
  end)
  local a, b = ts.reduce_axis("a", 3), ts.reduce_axis("b", 3)
  local C = ts.compute("C", { n, n }, function(i, j)
    return ts.sum(P(i + a, j + b), { a, b })
  end)
  return ts.program("conv", { A }, { C })
end

-- Computed where it is used, in windows that overlap and are made again; at
-- each loop around them.
for _, case in ipairs { { 8, 4 }, { 9, 4 }, { 6, 1 }, { 5, 5 } } do
  local p = conv(case[1])
  for at = 1, 3 do
    local sch = ts.schedule(p)
    local c, b = sch:get_block "C", sch:get_block "P"
    local i, j = sch:get_loops(c)
    local i0, i1 = sch:split(i, { ts.auto, case[2] })
    local j0, j1 = sch:split(j, { ts.auto, case[2] })
    sch:reorder(i0, j0, i1, j1)
    sch:compute_at(b, j0)
    local fill = sch:decompose_padding(b, (select(at, sch:get_loops(b))))
    assert(#{ sch:get_loops(fill) } == 4)
    same(sch, p)
    assert(ts.build(sch, "llvm"))
    refused(sch, "BLOCK_NOT_COMPLETE", "decompose_padding", b, i0)
  end
end

-- What is read before the block writes it comes from the iteration before.
for _, first in ipairs { true, false } do
  local bl = ts.builder("shift")
  local A, C = bl:input("A", { 4, 6 }), bl:output("C", { 4, 6 })
  local P = bl:buffer("P", { 6 })
  local function fill(o, i)
    bl:block("P", { { "o", extent = 4, bind = o },
                    { "i", extent = 6, bind = i } }, function(vo, vi)
      bl:store(P, { vi }, ts.select(ts.lt(0, vi), A(vo, vi), 0))
    end)
  end
  bl:loop("z", 0, 6, function(z)
    bl:block("Z", { { "z", extent = 6, bind = z } },
             function(v) bl:store(P, { v }, 5) end)
  end)
  bl:loop("o", 0, 4, function(o)
    bl:loop("i", 0, 6, function(i)
      if first then fill(o, i) end
      bl:block("C", { { "o", extent = 4, bind = o },
                      { "i", extent = 6, bind = i } },
               function(vo, vi) bl:store(C, { vo, vi }, P(vi)) end)
      if not first then fill(o, i) end
    end)
  end)
  local sch = ts.schedule(bl:program())
  local b = sch:get_block "P"
  -- Nor is it filled where another block writes, too.
  refused(sch, "BLOCK_NOT_COMPLETE", "decompose_padding", b,
          (select(2, sch:get_loops(b))))
end

-- The same where it is the only writer, of a row of each picture.
for _, how in ipairs { "after", "before", "ahead" } do
  local bl = ts.builder(how)
  local A, C = bl:input("A", { 6 }), bl:output("C", { 6 })
  local P = bl:buffer("P", { 7 })
  local function fill(i)
    bl:block("P", { { "i", extent = 7, bind = i } }, function(vi)
      bl:store(P, { vi }, ts.select(ts.lt(0, vi), A(vi - 1), 3))
    end)
  end
  local function use(i, by)
    bl:block("C", { { "i", extent = 6, bind = i } },
             { where = how == "ahead" and ts.lt(i, 5) or nil },
             function(vi) bl:store(C, { vi }, P(vi + by)) end)
  end
  bl:loop("t", 0, 2, function()
    bl:loop("i", 0, 6, function(i)
      if how == "before" then use(i, 0) end
      fill(i)
      if how ~= "before" then use(i, how == "ahead" and 1 or 0) end
    end)
  end)
  local p = bl:program()
  local sch = ts.schedule(p)
  local b = sch:get_block "P"
  local t, i = sch:get_loops(b)
  if how == "after" then
    sch:decompose_padding(b, i)
    same(sch, p)
  else
    refused(sch, "INIT_USED", "decompose_padding", b, i)
    refused(sch, "INIT_USED", "decompose_padding", b, t)
  end
end
