-- SPDX-License-Identifier: Apache-2.0
-- Records by workload, target and policy, within which times are comparable.
local groups = {}

-- What a record, a run or a group (db:groups) belongs to.
function groups.key_of(x)
  return x.hash .. "\0" .. x.target .. "\0" .. x.policy
end

local function is_valid(r) return r.status == "OK" and not r.damaged end

local function new_group(r, key)
  return { name = r.workload, hash = r.hash, target = r.target,
           policy = r.policy, shapes = r.shapes, key = key, records = {},
           failed = 0 }
end

local function add(g, r)
  g.records[#g.records + 1] = r
  if not is_valid(r) then
    g.failed = g.failed + 1
  elseif r.checked and (not g.best or r.seconds < g.best.seconds) then
    g.best = r
  end
end

-- The groups in the order of their names, each also under its key: { name,
-- hash, target, policy, shapes, key, records, failed, best = record }.  Unlike
-- db:groups this looks at each record, whether it is damaged.
function groups.of(records)
  local list, of = {}, {}
  for _, r in ipairs(records) do
    local key = groups.key_of(r)
    if not of[key] then
      of[key] = new_group(r, key)
      list[#list + 1] = of[key]
    end
    add(of[key], r)
  end
  table.sort(list, function(a, b)
    if a.name ~= b.name then return a.name < b.name end
    return a.key < b.key
  end)
  return list, of
end

return groups
