-- SPDX-License-Identifier: Apache-2.0
-- Layouts with padding before, between and after the elements: the block that
-- fills it runs exactly where the new layout has no element of the old one.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local same = checks.same

local function program(m, n)
  local A = ts.placeholder("A", { m, n })
  local B = ts.compute("B", { m, n }, function(i, j) return A(i, j) * 2 end)
  return ts.program("p", { A }, {
    ts.compute("C", { m, n }, function(i, j) return B(i, j) + 1 end),
  })
end

-- The condition of the block B_pad, as a function of ax0, ax1, ...
local function condition(program_text, ndim)
  local where = program_text:match("block B_pad%b().-\n%s*where ([^\n]+)")
  local names = {}
  for k = 1, ndim do names[k] = "ax" .. k - 1 end
  where = where:gsub("||", " or "):gsub("&&", " and "):gsub("!=", "~=")
  return assert(load(("return function(%s) return %s end"):format(
    table.concat(names, ", "), where)))()
end

-- Runs through the box of these extents.
local function points(extent, f, at, k)
  at, k = at or {}, k or 1
  if k > #extent then return f(at) end
  for x = 0, extent[k] - 1 do
    at[k] = x
    points(extent, f, at, k + 1)
  end
end

local function check(m, n, map)
  local p = program(m, n)
  local sch = ts.schedule(p, { seed = 1 })
  local taken, extent, most, size = {}, {}, 0, 1
  points({ m, n }, function(at)
    local to = { map(at[1], at[2]) }
    for k, x in ipairs(to) do extent[k] = math.max(extent[k] or 0, x + 1) end
    taken[table.concat(to, " ")] = true
    most = most + 1
  end)
  for _, x in ipairs(extent) do size = size * x end
  sch:transform_layout(sch:get_block "B", { "write", 0 }, map,
                       { pad_value = 7 })
  same(sch, p)
  if size == most then return end
  local is_hole = condition(tostring(sch:program()), #extent)
  points(extent, function(at)
    assert(is_hole(table.unpack(at)) == not taken[table.concat(at, " ")])
  end)
end

for m = 1, 13, 3 do
  for n = 2, 11, 3 do
    for c = 0, 7 do
      check(m, n, function(i, j) return (i + c) // 4, (i + c) % 4, j end)
      check(m, n, function(i, j)
        return (i + c) // 4, (j + 5) // 8, (i + c) % 4, (j + 5) % 8
      end)
      -- In rows of 8 this is i + (j + c) // 8, (j + c) % 8, not solved yet.
      if n ~= 8 then
        check(m, n, function(i, j)
          return (i * n + j + c) // 8, (i * n + j + c) % 8
        end)
      end
      check(m, n, function(i, j)
        return (m + c - i) // 4, (m + c - i) % 4, j
      end)
    end
    check(m, n, function(i, j) return (m - 1 - i) // 4, (m - 1 - i) % 4, j end)
    check(m, n, function(i, j) return i, i + j end)
    check(m, n, function(i, j) return i + j, j end)
    check(m, n, function(i, j) return i, 2 * i + 3 * j end)
    check(m, n, function(i, j) return i - j + n, j end)
    check(m, n, function(i, j)
      return (i + 5) // 8, (i + 5) % 8 // 2, (i + 5) % 2, j
    end)
    check(m, n, function(i, j)
      return (m * n - 1 - i * n - j) // 8, (m * n - 1 - i * n - j) % 8
    end)
  end
end
