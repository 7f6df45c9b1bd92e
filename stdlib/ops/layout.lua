-- SPDX-License-Identifier: Apache-2.0
-- Layouts: of images, sequences and volumes, channels second or last; and the
-- places of elements in row-major order.
local layout = {}

-- Letters of the dimensions of each rank.
layout.letters = { { "w" }, { "h", "w" }, { "d", "h", "w" } }

-- What is listed once in this order: n, channel and places, as a layout has
-- them, whose channels are second (`first`) or last.
function layout.ordered(first, n, channel, places)
  if first then return { n, channel, table.unpack(places) } end
  local list = { n, table.unpack(places) }
  list[#list + 1] = channel
  return list
end

function layout.channels_last(o) return o.layout and o.layout:find "C$" end

-- A shape or a list of indices in the layout of `o`.
function layout.laid_out(o, n, c, ...)
  return layout.ordered(not layout.channels_last(o), n, c, { ... })
end

-- Indices in the layout of `o`: the image, the channel, the places.
function layout.split(o, ...)
  local list = { ... }
  local c = table.remove(list, layout.channels_last(o) and #list or 2)
  return list[1], c, table.unpack(list, 2)
end

-- The place of an element in row-major order, and the indices of a place, a
-- list.
function layout.flat(shape, at)
  local flat = at[1] or 0
  for d = 2, #shape do flat = flat * shape[d] + at[d] end
  return flat
end

function layout.unflattened(flat, shape)
  local list, behind = {}, 1
  for d = #shape, 1, -1 do
    local i = flat // behind
    list[d] = d > 1 and i % shape[d] or i
    behind = behind * shape[d]
  end
  return list
end

return layout
