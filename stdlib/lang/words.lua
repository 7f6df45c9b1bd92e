-- SPDX-License-Identifier: Apache-2.0
-- Words that somebody may have meant by one that is none.
local words = {}

-- How many letters to change, add or leave out, or neighbours to swap.
function words.distance(a, b)
  local two, one = {}, {}
  for j = 0, #b do one[j] = j end
  for i = 1, #a do
    local row = { [0] = i }
    for j = 1, #b do
      local same = a:byte(i) == b:byte(j) and 0 or 1
      row[j] = math.min(one[j] + 1, row[j - 1] + 1, one[j - 1] + same)
      if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and
         a:byte(i - 1) == b:byte(j) then
        row[j] = math.min(row[j], two[j - 2] + 1)
      end
    end
    two, one = one, row
  end
  return one[#b]
end

-- Whether a word of that length, so far from another, can be a slip for it.
function words.is_slip(length, distance)
  return distance <= math.max(1, length // 4)
end

-- The one of the list that the word nearly is, or that begins with it; nil:
-- there is none.
function words.nearest(word, list)
  local best, least
  for _, name in ipairs(word and #word > 1 and list or {}) do
    local d = words.distance(word, name)
    if name:sub(1, #word) == word then d = 0 end
    if words.is_slip(#word, d) and (not least or d < least) then
      best, least = name, d
    end
  end
  return best
end

-- "; did you mean 'split'?", or "".
function words.suggestion(word, list)
  local near = words.nearest(word, list)
  return near and ("; did you mean '%s'?"):format(near) or ""
end

return words
