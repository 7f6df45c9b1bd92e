-- SPDX-License-Identifier: Apache-2.0
-- How the searches stand that store in a database: for each task what was
-- measured, the best so far, the newest run's funnel and its model's error.
local page = require "tessera.page.page"
local groups = require "tessera.report.groups"
local texts = require "tessera.report.texts"

local progress = {}

-- The newest run of each task.
local function runs_of(db)
  local of = {}
  for _, run in ipairs(db:runs()) do of[groups.key_of(run)] = run end
  return of
end

-- A list of tasks, each a group of records (db:groups) with `run`.  A run that
-- has measured nothing yet is one, too.
function progress.tasks(db)
  local of, tasks = runs_of(db), db:groups()
  for _, g in ipairs(tasks) do
    g.run = of[groups.key_of(g)]
    of[groups.key_of(g)] = nil
  end
  local rest = {}
  for _, run in pairs(of) do
    if run.ended == "" then
      rest[#rest + 1] = { workload = "the next task", hash = run.hash,
                          target = run.target, policy = run.policy, shapes = "",
                          count = 0, failed = 0, run = run }
    end
  end
  table.sort(rest, function(a, b) return a.run.id < b.run.id end)
  return table.move(rest, 1, #rest, #tasks + 1, tasks)
end

-- Does a run go on?
function progress.goes_on(tasks)
  for _, t in ipairs(tasks) do
    if t.run and t.run.ended == "" then return true end
  end
  return false
end

-- ---- texts -----------------------------------------------------------------

local function plain(text)
  return (text:gsub("%c", function(c) return ("\\x%02x"):format(c:byte()) end))
end

-- "matmul 2149b596": programs of one name are told apart by their hashes.
function progress.name(t)
  return plain(t.workload) .. " " .. t.hash:sub(1, 8)
end

-- path: of the database, by which the record can be named.
function progress.best(t, path)
  if not t.best then return "nothing valid yet" end
  local text = ("%.4g ms (%s:%d)"):format(t.seconds * 1e3, path, t.best)
  local before = t.run and t.run.unscheduled
  if not before then return text end
  return ("%s, %.3g times as fast as the unscheduled program"):format(text,
    before / t.seconds)
end

function progress.measured(t)
  return ("%d measured, %d failed"):format(t.count, t.failed)
end

function progress.state(t)
  if not t.run then return "of no run that is known" end
  return t.run.ended == "" and "goes on" or "ended: " .. plain(t.run.ended)
end

-- "6280 candidates tried, 32 measured: ok"; nil before the first batch.
function progress.funnel(t)
  local list = {}
  for i, row in ipairs(texts.funnel(t.run and t.run.funnel or "")) do
    list[i] = ("%d %s"):format(row[2], plain(row[1]))
  end
  return #list > 0 and table.concat(list, "; ") or nil
end

local NAMES = { [3] = "rmse", [4] = "rank accuracy", [5] = "top-k recall" }

-- Of the last batch that the cost model predicted; nil: of none.
function progress.model(t)
  local rows = texts.quality(t.run and t.run.quality or "[]")
  local last, list = rows[#rows], {}
  for i = 3, 5 do
    if last and last[i] ~= page.null then
      list[#list + 1] = ("%s %.2f"):format(NAMES[i], last[i])
    end
  end
  if #list == 0 then return nil end
  return ("%s: %s"):format(plain(t.run.model), table.concat(list, ", "))
end

return progress
