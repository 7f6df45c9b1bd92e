-- SPDX-License-Identifier: Apache-2.0
-- What is taken without measuring, the draft, is among the first trials where
-- the machine measures.
local ts, ops = require "tessera", require "tessera.ops"

local p = ops.matmul { m = 96, n = 96, k = 96 }
local space = ts.space.by_hand(function(sch)
  local i, j, k = sch:get_loops(sch:get_block "C")
  local i0, i1 = sch:split(i, { sch:sample_perfect_tile(i, { n = 2 }) })
  local j0, j1 = sch:split(j, { sch:sample_perfect_tile(j, { n = 2 }) })
  sch:reorder(i0, j0, k, i1, j1)
end)

-- In the order in which they were proposed.
local function trials(seed)
  local path = os.tmpname()
  os.remove(path)
  ts.tune(p, { space = space, seed = seed, trials = 16, batch = 8,
               min_time = 0.001, database = path })
  local db, list = ts.database(path), {}
  for _, x in ipairs(db:records { limit = 16 }) do
    list[x.id] = tostring(db:trace(x.id))
  end
  os.remove(path)
  return list
end

for seed = 1, 3 do
  local frozen = ts.tune(p, { space = space, frozen = true, seed = seed })
  local at
  for id, trace in pairs(trials(seed)) do
    if trace == tostring(frozen.trace) then at = id end
  end
  assert(at and at <= 8, at)
end

-- It is found by steps from the best that are drawn: no draw of a thousand is
-- preferred to it, of a space of many more.
do
  local large = ops.matmul { m = 720, n = 720, k = 720 }
  local tiled = ts.space.by_hand(function(sch)
    local tiles = {}
    for a, loop in ipairs { sch:get_loops(sch:get_block "C") } do
      tiles[a] = { sch:split(loop, { sch:sample_perfect_tile(loop,
                                                             { n = 4 }) }) }
    end
    local i, j, k = table.unpack(tiles)
    sch:reorder(i[1], j[1], k[1], i[2], j[2], k[2], i[3], j[3], k[3],
                i[4], k[4], j[4])
    if sch:can("vectorize", j[4]) then sch:vectorize(j[4]) end
  end)
  local sketch = ts.space.sketches(tiled, large, "llvm")
  local frozen = ts.tune(large, { space = tiled, frozen = true, seed = 1 })
  local better, asked
  ts.tune(large, { space = ts.space.traces(sketch), trials = 1, seed = 2,
    cost_model = "analytic", measure = function() return 1 end,
    strategy = ts.strategy { propose = function(_, session)
      if asked then return {} end
      asked, better = true, 0
      local list = {}
      for n = 1, 1000 do list[n] = assert(session:draw()) end
      local d = {}
      for _, inst in ipairs(frozen.trace) do
        if inst.decision then
          d[#d + 1] = #inst.decision
          table.move(inst.decision, 1, #inst.decision, #d + 1, d)
        end
      end
      list[#list + 1] = { sketch = 1, decisions = d }
      local score = session:predict(list)
      for n = 1, 1000 do
        if score[n] > score[#list] then better = better + 1 end
      end
      return {}
    end } })
  assert(better == 0, better)
end
