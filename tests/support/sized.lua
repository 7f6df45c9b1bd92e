-- SPDX-License-Identifier: Apache-2.0
-- Programs of symbolic sizes, and whether schedules of them agree with the
-- interpreter at every size.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

-- C = A * 2 + 1 by two blocks, of the shape that shape(size) gives.
local function program(shape)
  local dims = shape(function(name) return ts.size(name) end)
  local A = ts.placeholder("A", dims)
  local B = ts.compute("B", dims, function(...) return A(...) * 2 end)
  return ts.program("p", { A }, {
    ts.compute("C", dims, function(...) return B(...) + 1 end),
  })
end

local sizes = { n = { 1, 2, 3, 4, 7, 8, 13 }, m = { 5, 1, 8, 3, 2, 6, 4 } }

local function check(shape, f)
  local p, args = program(shape), {}
  for i = 1, #sizes.n do
    local dims = shape(function(name) return sizes[name][i] end)
    args[i] = { ts.tensor("float32", dims, "random", i),
                ts.tensor("float32", dims) }
  end
  local sch = ts.schedule(p)
  f(sch)
  checks.replays(sch, p)
  checks.exact(sch, p, table.unpack(args))
end

local function refused(shape, reason, f)
  checks.illegal(program(shape), reason, f)
end

local function rows(size) return { size "n", 8 } end
local function columns(size) return { 8, size "n" } end
local function both(size) return { size "m", size "n" } end
local function between(size) return { 4, size "n", 6 } end

local function fused(s, name) return s:fuse(s:get_loops(s:get_block(name))) end

return { program = program, sizes = sizes, check = check, refused = refused,
         rows = rows, columns = columns, both = both, between = between,
         fused = fused }
