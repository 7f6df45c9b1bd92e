-- SPDX-License-Identifier: Apache-2.0
-- What runs keep as texts, as tables.
local page = require "tessera.page.page"

local texts = {}

-- Lines "  1.234 s   56.7 %  what" of a ledger, without the sum.
function texts.ledger(ledger)
  local list = {}
  for seconds, what in ledger:gmatch "([%d.]+) s%s+[%d.]+ %%%s+([^\n]+)" do
    if what ~= "in all" then
      list[#list + 1] = { what, tonumber(seconds) }
    end
  end
  return list
end

-- Lines "   12  why" of a funnel.
function texts.funnel(text)
  local list = {}
  for count, what in text:gmatch "(%d+)  ([^\n]+)" do
    list[#list + 1] = { what, math.tointeger(tonumber(count)) }
  end
  return list
end

-- "[[8,4,0.1,null,...],...]" as the database gives it: trials, n, rmse, rank
-- accuracy, top-k recall.
function texts.quality(text)
  local list = {}
  for row in text:sub(2):gmatch "%[([^%]]*)%]" do
    local values = {}
    for x in row:gmatch "[^,]+" do
      values[#values + 1] = tonumber(x) or page.null
    end
    list[#list + 1] = values
  end
  return list
end

return texts
