-- SPDX-License-Identifier: Apache-2.0
-- cache_write of buffers that are written under conditions.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local same, refused = checks.same, checks.refused

-- C of m x n by a block over 12 x 24, in which others do what holds(i, j) says.
local function nested(m, n, ...)
  local b = ts.builder("nested")
  local A, C = b:input("A", { 13, 25 }), b:output("C", { m, n })
  local holds = { ... }
  b:loop("i", 0, 12, function(i)
    b:loop("j", 0, 24, function(j)
      b:block("outer", { { "vi", extent = 12, bind = i },
                         { "vj", extent = 24, bind = j } }, function(vi, vj)
        for k, where in ipairs(holds) do
          b:block("inner" .. k, {}, { where = where(vi, vj) }, function()
            b:store(C, { vi, vj }, A(vi, vj) * (k + 1))
          end)
        end
      end)
    end)
  end)
  return b:program()
end

-- The condition only keeps it in the buffer.
local inside = nested(10, 20, function(i, j)
  return ts.all(ts.lt(i, 10), ts.lt(j, 20))
end)
for _, how in ipairs { "cache", "move", "write_at" } do
  local sch = ts.schedule(inside)
  local b = sch:get_block "outer"
  if how == "write_at" then
    sch:write_at((sch:get_loops(b)), b, 0, "local")
  else
    local copy = sch:cache_write(b, 0, "local")
    local text = tostring(sch)
    assert(text:find("C_local: float32[10, 20] in local", 1, true), text)
    if how == "move" then
      sch:reverse_compute_at(copy, (sch:get_loops(b)))
    end
  end
  same(sch, inside)
end

-- It leaves out some of the buffer; or several do, of which none writes all.
for _, p in ipairs {
  nested(10, 20, function(i, j) return ts.all(ts.lt(i, 9), ts.lt(j, 20)) end),
  nested(10, 24, function(i, j)
    return ts.all(ts.lt(i, 10), ts.lt(j, 20)) end),
  nested(12, 24, function(i) return ts.lt(i, 8) end,
         function(_, j) return ts.lt(j, 16) end),
} do
  local sch = ts.schedule(p)
  refused(sch, "REGION_NOT_WHOLE", "cache_write", sch:get_block "outer", 0,
          "local")
end
