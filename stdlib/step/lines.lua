-- SPDX-License-Identifier: Apache-2.0
-- Difference of two texts, line by line: a longest common subsequence, by its
-- table of lengths.

local function split(text)
  local list = {}
  for line in text:gmatch "([^\n]*)\n?" do list[#list + 1] = line end
  if list[#list] == "" then list[#list] = nil end
  return list
end

-- length[i][j]: of the longest common subsequence of a[i..] and b[j..].
local function lengths(a, b)
  local length = {}
  for i = #a + 1, 1, -1 do
    length[i] = {}
    for j = #b + 1, 1, -1 do
      if i > #a or j > #b then
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

-- A list of { mark, text }, where mark is " " for a line of both, "-" for one
-- of the first text alone and "+" for one of the second.
return function(first, second)
  local a, b = split(first), split(second)
  local length, list, i, j = lengths(a, b), {}, 1, 1
  while i <= #a or j <= #b do
    if i <= #a and j <= #b and a[i] == b[j] then
      list[#list + 1] = { " ", a[i] }
      i, j = i + 1, j + 1
    elseif j > #b or i <= #a and length[i + 1][j] >= length[i][j + 1] then
      list[#list + 1] = { "-", a[i] }
      i = i + 1
    else
      list[#list + 1] = { "+", b[j] }
      j = j + 1
    end
  end
  return list
end
