-- SPDX-License-Identifier: Apache-2.0
-- Built-in cost models in Lua: by name, kept, saved and loaded; and what of a
-- model in Lua is kept in a file.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local searching = dofile((arg[0]:gsub("[^/]*$", "../support/searching.lua")))
local fails = checks.fails
local p, with = searching.program, searching.with
local path = os.tmpname()

local function write(text)
  local f <close> = assert(io.open(path, "wb"))
  f:write(text)
end

local function read()
  local f <close> = assert(io.open(path, "rb"))
  return f:read "a"
end

-- By name: the run's model is given, and what it knew of each batch.
do
  local r = ts.tune(p, with { trials = 16, batch = 8, cost_model = "forest" })
  assert(r.cost_model:name() == "forest" and r.cost_model:samples() == 16)
  assert(#r.quality == 1 and r.quality[1].trials == 8 and r.quality[1].n == 8)
  assert(r.quality[1].rmse >= 0 and r.quality[1].rank_accuracy <= 1)
  assert(tostring(r.cost_model) == 'cost model "forest", taught 16 candidates')
  assert(ts.tune(p, with { cost_model = nil }).cost_model:name() == "forest")
  local plain = ts.tune(p, with { cost_model = "random" })
  assert(plain.cost_model:name() == "random" and #plain.quality == 0)
  for _, name in ipairs { "random", "treegru" } do
    local m = ts.cost_model(name)
    fails("UNSUPPORTED", '"' .. name .. '" does not tell what matters',
          m.importance, m)
  end
  assert(#ts.cost_model("treegru+forest"):importance() == 0)
  local own = ts.tune(p, with { cost_model = ts.cost_model {
    predict = function(_, _, list)
      local score = {}
      for i = 1, #list do score[i] = i end
      return score
    end } })
  assert(own.cost_model == nil and #own.quality == 0)
  -- A strategy that has its own surrogate, or no use for a model.
  for _, strategy in ipairs { "hybrid", "bayesian:surrogate=forest",
                              "replay" } do
    local o = with { trials = 16, batch = 4, strategy = strategy }
    o.cost_model = nil
    local asked = ts.tune(p, o)
    assert(#asked.quality >= 2 and asked.quality[1].trials > 0, strategy)
  end
  -- Without a pair to put in order it says why.
  for batch, why in pairs { [8] = "the batch has no two different times",
                            [1] = "the batch has one trial" } do
    local r = ts.tune(p, with { trials = 24, batch = batch, strategy = "replay",
      cost_model = "forest", measure = function() return 1e-3 end })
    local q = r.quality[#r.quality]
    assert(q.n == batch and q.unranked == why and not q.rank_accuracy)
  end
  local warned = {}
  local before = ts.on_warning(function(text) warned[#warned + 1] = text end)
  for run = 1, 2 do
    local odd = ts.tune(p, with { strategy = "evolutionary", cost_model =
      ts.cost_model { predict = function(_, _, list)
        local score = {}
        for i = 1, #list do score[i] = i <= 2 and 0 / 0 or math.huge end
        return score
      end } })
    assert(odd.status == "OK" and #warned >= 1, run)
    assert(warned[#warned]:find("gave 2 scores that are NaN for", 1, true))
  end
  ts.on_warning(before)
  fails(nil, "there is no cost model 'luck'; the built-in ones are random, xgb",
        ts.tune, p, with { cost_model = "luck" })
  fails(nil, "there is no cost model 'luck'", ts.cost_model, "forest+luck")
  fails(nil, "'cost_model' is a program, not a string or a table or a model",
        ts.tune, p, with { cost_model = p })
end

-- Kept, and what matters to it.
do
  local m = ts.cost_model "forest+xgb"
  for seed = 1, 2 do
    ts.tune(p, with { seed = seed, trials = 10, batch = 10, cost_model = m })
  end
  assert(m:samples() == 20)
  local list = m:importance(4)
  assert(#list >= 1 and #list <= 4)
  for i = 2, #list do assert(list[i].share <= list[i - 1].share) end
  m:save(path)
  local again = ts.cost_model.load(path)
  assert(again:name() == "forest+xgb" and again:samples() == 20)
  assert(again:importance(1)[1].column == list[1].column)
  local text = read()
  write(text:sub(1, -2))
  fails(nil, "is no cost model of this version: it is damaged",
        ts.cost_model.load, path)
  write("nothing of the kind")
  fails(nil, "is no cost model of this version: it is no cost model",
        ts.cost_model.load, path)
  write("")
  fails(nil, "it is empty", ts.cost_model.load, path)
  fails(nil, "/nowhere", m.save, m, "/nowhere/model")
end

-- Of a model in Lua the fields that are data.
do
  local function new()
    return ts.cost_model { predict = function() return {} end }
  end
  local m = new()
  m.n, m.x, m.text, m.yes, m.no = 7, 0.1, "a\0b;\n", true, false
  m.least, m.big, m.none = math.mininteger, math.huge, 0 / 0
  m.list = { 1, 2.5, { deep = { "er" } }, [-3] = "minus", [1.5] = "half" }
  m:save(path)
  local text = read()
  local other = ts.cost_model.load(path, new())
  for _, k in ipairs { "n", "x", "text", "yes", "no", "least", "big" } do
    assert(other[k] == m[k] and math.type(other[k]) == math.type(m[k]), k)
  end
  assert(other.none ~= other.none)
  assert(other.list[3].deep[1] == "er" and other.list[-3] == "minus")
  assert(other.list[1.5] == "half" and math.type(other.list[1]) == "integer")
  other:save(path)
  assert(read() == text)
  -- No damage does worse than to be told.
  for cut = 0, #text - 1, checks.checked and 7 or 1 do
    write(text:sub(1, cut))
    fails(nil, "holds no cost model in Lua, or it is damaged",
          ts.cost_model.load, path, new())
  end
  for at = 1, #text, checks.checked and 9 or 3 do
    write(text:sub(1, at - 1) .. "\xff" .. text:sub(at + 1))
    local ok, e = pcall(ts.cost_model.load, path, new())
    assert(ok or e.message:find("damaged", 1, true), tostring(e))
  end
  m.list.itself = m.list
  fails(nil, "it is nested too deep, or holds itself", m.save, m, path)
  m.list = { io.stdout }
  fails(nil, "there is a userdata in it, by the key 1", m.save, m, path)
  m.list = nil
  fails(nil, "cannot be saved", m.save, m, "/nowhere/model")
  fails(nil, "cannot be read", ts.cost_model.load, "/nowhere/model", m)
  fails(nil, "predict is nil, not a function", ts.cost_model.load, path, {})
end

-- What a database holds of other workloads makes the first candidates of a new
-- one better; with transfer = false they are those of an empty database.
do
  local ops = require "tessera.ops"
  local function seconds(session, c)
    local rows, columns = session:features({ c }, "per_store")
    local sum = 0
    for _, row in ipairs(rows[1]) do
      for k, name in ipairs(columns) do
        if name:find "^buffer%d%.lines$" then sum = sum + row[k] end
      end
    end
    return 1e-3 * 1.2 ^ sum
  end
  local function first_batch(strategy, m, n, k, trials, transfer, postprocs)
    local sum
    local r = ts.tune(ops.matmul { m = m, n = n, k = k }, {
      trials = trials, batch = 8, seed = 3, database = path,
      strategy = strategy, measure = seconds, transfer = transfer,
      postprocs = postprocs,
      measured = function(_, list)
        if sum then return end
        sum = 0
        for _, c in ipairs(list) do sum = sum + math.log(c.seconds) / #list end
      end })
    return sum, r.cost_model:samples()
  end
  local strategies = { "hybrid", "evolutionary", "annealing", "genetic",
                       "droplet" }
  for i = 1, checks.draws(#strategies) do
    local strategy = strategies[i]
    os.remove(path)
    local alone, n = first_batch(strategy, 128, 128, 64, 8)
    assert(n == 8)
    local other = first_batch(strategy, 128, 64, 128, 8, false)
    os.remove(path)
    first_batch("replay", 64, 64, 128, 32)
    first_batch("replay", 128, 64, 64, 32, false)
    local without = first_batch(strategy, 128, 128, 64, 8, false)
    assert(without == alone)
    local with_them, more = first_batch(strategy, 128, 64, 128, 8)
    assert(more == n + 72, more)
    local least = { hybrid = 0, genetic = 0.1, droplet = 0.1 }
    assert(with_them < other - (least[strategy] or 0.5), strategy)
  end
  -- A postprocessor that schedules further leaves the decisions to be lent.
  local further = { "default", { "further", function(sch)
    sch:annotate((sch:get_output_blocks(sch:get_block "root")), "further", 1)
    return true
  end } }
  os.remove(path)
  local other = first_batch("genetic", 128, 64, 128, 8, false, further)
  os.remove(path)
  first_batch("replay", 64, 64, 128, 32, true, further)
  assert(first_batch("genetic", 128, 64, 128, 8, true, further) < other - 0.1)
  fails(nil, "transfer", ts.tune, p, with { transfer = 1 })
end
os.remove(path)
