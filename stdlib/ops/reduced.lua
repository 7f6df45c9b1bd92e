-- SPDX-License-Identifier: Apache-2.0
-- Reductions over some dimensions: their axes, and how the indices of elements
-- and of results belong together.
local ts = require "tessera"

-- Axes over the dimensions in `set`; the shape of the result, with ones in
-- their place where it is to `keep` them; and functions: the indices of an
-- element from those of the result, and the other way round.
return function(shape, set, keep)
  local axes, to = {}, {}
  for d, n in ipairs(shape) do
    if set[d] then
      axes[#axes + 1] = ts.reduce_axis("r" .. d, n)
      if keep then to[#to + 1] = 1 end
    else
      to[#to + 1] = n
    end
  end
  local function element(...)
    local at, from, r = {}, { ... }, 0
    local i = 0
    for d = 1, #shape do
      if not set[d] or keep then i = i + 1 end
      if set[d] then r = r + 1 end
      at[d] = set[d] and axes[r] or from[i]
    end
    return table.unpack(at)
  end
  local function result(...)
    local at, from = {}, { ... }
    for d = 1, #shape do
      if not set[d] then at[#at + 1] = from[d]
      elseif keep then at[#at + 1] = 0 end
    end
    return table.unpack(at)
  end
  return axes, to, element, result
end
