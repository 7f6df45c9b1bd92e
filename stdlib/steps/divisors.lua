-- SPDX-License-Identifier: Apache-2.0
-- Divisors of extents: how loops may be cut among so many threads.
local divisors = {}

-- Those of n up to `most`, from 1 on.
function divisors.of(n, most)
  local list = {}
  for d = 1, math.min(n, most) do
    if n % d == 0 then list[#list + 1] = d end
  end
  return list
end

-- One divisor of each extent whose product is at most `most`, in all ways:
-- lists with `product`, by the divisors of the first extent, then the next.
function divisors.combinations(extents, most)
  local list, done = {}, {}
  local function go(i, product)
    if i > #extents then
      list[#list + 1] = { product = product, table.unpack(done) }
      return
    end
    for _, d in ipairs(divisors.of(extents[i], most // product)) do
      done[i] = d
      go(i + 1, product * d)
    end
    done[i] = nil
  end
  go(1, 1)
  return list
end

-- The greatest product of a list of combinations; with extents of 31 and 31
-- and at most 512 that is not 512, but 31.
function divisors.greatest(combinations)
  local best = 0
  for _, c in ipairs(combinations) do best = math.max(best, c.product) end
  return best
end

return divisors
