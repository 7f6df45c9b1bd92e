-- SPDX-License-Identifier: Apache-2.0
-- Difference of two texts, line by line: a longest common subsequence, by its
-- table of lengths, of what is between equal beginnings and ends.

-- A table of more entries than that is not made: all lines between are others.
local MOST = 1 << 20

-- The lines of a text, and what they are compared by.
local function split(text, key)
  local list, keys = {}, {}
  for line in text:gmatch "([^\n]*)\n?" do list[#list + 1] = line end
  if list[#list] == "" then list[#list] = nil end
  for i, line in ipairs(list) do keys[i] = key and key(line) or line end
  return list, keys
end

-- length[i][j]: of the longest common subsequence of a[i..n] and b[j..m].
local function lengths(a, b, first, n, m)
  local length = {}
  for i = n + 1, first, -1 do
    length[i] = {}
    for j = m + 1, first, -1 do
      if i > n or j > m then
        length[i][j] = 0
      elseif a[i] == b[j] then
        length[i][j] = length[i + 1][j + 1] + 1
      else
        length[i][j] = math.max(length[i + 1][j], length[i][j + 1])
      end
    end
  end
  return length
end

-- Adds { mark, i, j } for lines first .. n of a and first .. m of b.
local function compare(list, a, b, first, n, m)
  local i, j = first, first
  local length = (n - first + 1) * (m - first + 1) <= MOST and
                 lengths(a, b, first, n, m)
  while i <= n or j <= m do
    if length and i <= n and j <= m and a[i] == b[j] then
      list[#list + 1] = { " ", i, j }
      i, j = i + 1, j + 1
    elseif j > m or i <= n and (not length or
                                length[i + 1][j] >= length[i][j + 1]) then
      list[#list + 1] = { "-", i }
      i = i + 1
    else
      list[#list + 1] = { "+", nil, j }
      j = j + 1
    end
  end
end

-- A list of { mark, line, other }, where mark is " " for a line of both, which
-- is `other` in the second, "-" for one of the first text alone and "+" for one
-- of the second.  Lines are the same that key(line), if given, says the same
-- of.
return function(before, after, key)
  local old, a = split(before, key)
  local new, b = split(after, key)
  local first, n, m, list = 1, #a, #b, {}
  while first <= n and first <= m and a[first] == b[first] do
    list[first] = { " ", first, first }
    first = first + 1
  end
  while n >= first and m >= first and a[n] == b[m] do n, m = n - 1, m - 1 end
  compare(list, a, b, first, n, m)
  for i = n + 1, #a do list[#list + 1] = { " ", i, m + i - n } end
  for k, x in ipairs(list) do
    list[k] = x[1] == "+" and { "+", new[x[3]] } or
              { x[1], old[x[2]], new[x[3]] }
  end
  return list
end
