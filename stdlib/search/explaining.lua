-- SPDX-License-Identifier: Apache-2.0
-- What modules did at which blocks, in a line a module: of all that is logged
-- of one, where it was applied, else the most telling reason why not.

-- "NAME at BLOCK: OUTCOME".
local function read(text)
  local list = {}
  for line in text:gmatch "[^\n]+" do
    local name, block, outcome = line:match "^(.-) at (.-): (.*)$"
    list[#list + 1] = { line = line, name = name or line, block = block,
                        outcome = outcome or "" }
  end
  return list
end

-- Lines of one module, which stand together.
local function by_module(list)
  local groups, last = {}, nil
  for _, x in ipairs(list) do
    if not last or last[1].name ~= x.name then
      last = {}
      groups[#groups + 1] = last
    end
    last[#last + 1] = x
  end
  return groups
end

-- "NAME at C, relu: applied, 3 schedules", with what the module says of some.
local function applied(group)
  local blocks, seen, n, note = {}, {}, 0, nil
  for _, x in ipairs(group) do
    local made, says = x.outcome:match "^applied, (%d+) schedules?(.*)$"
    note = note or says ~= "" and says or nil
    if made and not seen[x.block] then blocks[#blocks + 1] = x.block end
    if made then seen[x.block], n = true, n + tonumber(made) end
  end
  if #blocks == 0 then return nil end
  return ("%s at %s: applied, %d schedule%s%s"):format(group[1].name,
    table.concat(blocks, ", "), n, n == 1 and "" or "s", note or "")
end

-- The line whose outcome is rare among the others; one that is more than not
-- applicable tells more.
local function telling(group)
  local count, best, least = {}, nil, math.huge
  for _, x in ipairs(group) do
    count[x.outcome] = (count[x.outcome] or 0) + 1
  end
  for _, x in ipairs(group) do
    local rank = count[x.outcome]
    if x.outcome:find "^not applicable" then rank = rank + #group end
    if rank <= least then best, least = x, rank end
  end
  return best.line
end

-- The short form of what the engine logs.
return function(text)
  local lines = {}
  for _, group in ipairs(by_module(read(text))) do
    lines[#lines + 1] = applied(group) or telling(group)
  end
  return #lines > 0 and table.concat(lines, "\n") .. "\n" or text
end
