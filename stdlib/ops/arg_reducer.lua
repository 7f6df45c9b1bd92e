-- SPDX-License-Identifier: Apache-2.0
-- Reduces pairs of an index, int64, and an element to that of the greatest, or
-- of the least.
local ts = require "tessera"
local declare = require "tessera.ops.declare"

-- Of equal ones, the first, or the last; of floats one that is not a number
-- stands before all that are.
return function(greatest, last, dtype)
  local above = greatest and ts.gt or ts.lt
  local earlier = last and ts.gt or ts.lt
  local both = greatest and ts.max or ts.min
  local function better(x, y) return above(x, y) end
  local function equal(x, y) return ts.eq(x, y) end
  if declare.is(dtype, "float") then
    local function none(x) return ts.ne(x, x) end
    better = function(x, y)
      return ts.any(above(x, y), ts.all(none(x), ts.eq(y, y)))
    end
    equal = function(x, y)
      return ts.any(ts.eq(x, y), ts.all(none(x), none(y)))
    end
    both = function(x, y) return ts.select(better(x, y), x, y) end
  end
  local identity = { last and -1 or math.huge,
                     greatest and -math.huge or math.huge }
  return ts.reducer(function(at, best, new_at, new)
    local stays = ts.any(better(best, new),
                         ts.all(equal(best, new), earlier(at, new_at)))
    return ts.select(stays, at, new_at), both(best, new)
  end, identity, greatest and "arg_max" or "arg_min")
end
