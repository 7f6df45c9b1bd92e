-- SPDX-License-Identifier: Apache-2.0
-- What lies between the elements of a tensor: at a place that is no index, a
-- sum over the elements around, the taps, by how near they are.
local ts = require "tessera"

local taps = {}

-- How many elements along a dimension count, and the first of them, from the
-- one below the place.
taps.reach = { nearest = 1, linear = 2, cubic = 4 }
local first = { nearest = 0, linear = 0, cubic = -1 }

-- Keys' cubic kernel of -0.75, of a distance that is not negative.
local function cubic(d)
  local near = ((d * 1.25) - 2.25) * d * d + 1
  local far = ((d * -0.75 + 3.75) * d - 6) * d + 3
  return ts.select(ts.le(d, 1), near, far)
end

-- Tap k of a place x, a float: its index, int64, which may lie anywhere, and
-- its weight; nil: 1.
function taps.tap(mode, x, k)
  if mode == "nearest" then return ts.cast(x, "int64") end
  local low = ts.floor(x)
  local at = ts.cast(low, "int64") + (k + first[mode])
  local distance = ts.abs(x - low - ts.cast(k + first[mode], x:dtype()))
  return at, mode == "cubic" and cubic(distance) or 1 - distance
end

-- The product of weights.
function taps.product(list)
  local w
  for _, x in ipairs(list) do w = w and w * x or x end
  return w
end

-- ---- what lies outside -----------------------------------------------------

-- x, a place along n elements, where it lies outside (not "zeros"): the nearest
-- one inside, or reflected at the ends, which are the middles of the outermost
-- elements (`corners`) or half an element further.
function taps.inside(padding, x, n, corners)
  if padding == "zeros" then return x end
  if padding == "border" then return ts.clamp(x, 0, n - 1) end
  local low, high = corners and 0 or -0.5, corners and n - 1 or n - 0.5
  if high == low then return x * 0 end
  local turns = ts.floor((x - low) / (high - low))
  local part = x - low - turns * (high - low)
  local even = ts.eq(turns - ts.floor(turns / 2) * 2, 0)
  local reflected = ts.select(even, part + low, high - part)
  return ts.select(ts.all(ts.ge(x, low), ts.le(x, high)), x, reflected)
end

-- The same of an index i: one that is inside, and whether it counts (nil: yes).
function taps.index(padding, i, n, corners)
  local inside = ts.clamp(i, 0, n - 1)
  if padding == "zeros" then
    return inside, ts.all(ts.ge(i, 0), ts.lt(i, n))
  end
  if padding == "border" or n == 1 then return inside end
  local period = corners and 2 * (n - 1) or 2 * n
  local part = i % period
  return ts.clamp(ts.min(part, period - (corners and 0 or 1) - part), 0, n - 1)
end

return taps
