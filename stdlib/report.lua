-- SPDX-License-Identifier: Apache-2.0
-- The report on a database: gathers runs, records and cuts for one HTML file,
-- page/report.html.
local ts = require "tessera"
local decisions = require "tessera.step.decisions"
local page = require "tessera.page.page"
local groups = require "tessera.report.groups"
local parameters = require "tessera.report.parameters"
local texts = require "tessera.report.texts"

local null = page.null

-- ---- runs ------------------------------------------------------------------

-- Records in the order in which they were stored, with the best so far.
local function points_of(records)
  table.sort(records, function(a, b) return a.id < b.id end)
  local best, points = math.huge, {}
  for i, r in ipairs(records) do
    local ok = r.status == "OK" and not r.damaged
    if ok and r.seconds < best then best = r.seconds end
    points[i] = { i, r.elapsed or null, best, ok and r.seconds or null,
                  r.predicted or null, r.id }
  end
  return points
end

-- Of rows of quality, which runs of one seed and model share, those of a run
-- before which so many candidates were known and that measured n.
local function own_quality(rows, before, n)
  local list = {}
  for _, row in ipairs(rows) do
    if row[1] >= before and row[1] < before + n then list[#list + 1] = row end
  end
  return list
end

-- before: how many records of its workload, target and policy were there.
local function run_of(run, records, before)
  return {
    id = run.id, seed = ("%u"):format(run.seed), strategy = run.strategy,
    model = run.model, started = run.started_at, ended = run.ended,
    seconds = run.seconds, batch = run.batch, points = points_of(records),
    ledger = texts.ledger(run.ledger), funnel = texts.funnel(run.funnel),
    quality = own_quality(texts.quality(run.quality), before, #records),
  }
end

-- ---- cuts ------------------------------------------------------------------

-- Of each decision what its numbers are, under the name that it was given, and
-- the candidates that they count, where it counts some.
local function labels_of(trace)
  local list = {}
  for i, d in ipairs(trace:decisions()) do
    local candidates = trace[d.instruction].attrs.candidates
    list[i] = { parts = d.parts, knob = d.knob and d.knob .. ": " or "",
                candidates = type(candidates) == "table" and candidates }
  end
  return list
end

-- A cut for each part of each decision that takes more than one value: points
-- { value, seconds, whether it is a neighbour of the best }.
local function cuts_of(best, trace, records)
  local labels, cuts = labels_of(trace), {}
  local mine, own = decisions.entries(best.decisions), {}
  for _, r in ipairs(records) do
    if r.sketch == best.sketch and r.status == "OK" and not r.damaged then
      own[#own + 1] = { r, decisions.entries(r.decisions) }
    end
  end
  for k, entry in ipairs(mine) do
    for part = 1, #entry do
      local points, values = {}, {}
      for _, x in ipairs(own) do
        local v = x[2][k] and x[2][k][part]
        local of = labels[k].candidates
        if of and v and type(of[v + 1]) == "number" then v = of[v + 1] end
        if v then
          values[v] = true
          local alone = decisions.differ_in(k, x[2], mine)
          points[#points + 1] = { v, x[1].seconds, alone and 1 or 0 }
        end
      end
      if next(values) and next(values, (next(values))) then
        cuts[#cuts + 1] = { name = labels[k].knob .. labels[k].parts[part],
                            points = points }
      end
    end
  end
  return cuts
end

-- ---- groups ----------------------------------------------------------------

local function runs_of(g, all)
  local list, of = {}, {}
  for _, r in ipairs(g.records) do
    local id = r.run or 0
    of[id] = of[id] or {}
    table.insert(of[id], r)
  end
  local known = of[0] and #of[0] or 0
  for _, run in ipairs(all) do
    local own = of[run.id]
    if own then
      list[#list + 1] = run_of(run, own, known)
      known = known + #own
    end
  end
  if of[0] then
    list[#list + 1] = run_of({ id = 0, seed = 0, strategy = "unknown",
      model = "", started_at = "", ended = "", seconds = 0, batch = 0,
      ledger = "", funnel = "", quality = "[]" }, of[0], 0)
  end
  return list
end

-- Seconds of the unscheduled program, as the last run that knows says.
local function unscheduled_of(g, runs)
  local of = {}
  for _, r in ipairs(g.records) do of[r.run or 0] = true end
  for i = #runs, 1, -1 do
    if of[runs[i].id] and runs[i].unscheduled then
      return runs[i].unscheduled
    end
  end
end

local function describe(db, g, runs, link)
  local out = { name = g.name, hash = g.hash, target = g.target,
                policy = g.policy, shapes = g.shapes, count = #g.records,
                runs = runs_of(g, runs),
                unscheduled = unscheduled_of(g, runs) }
  local best = g.best
  if best then
    local ok, trace = pcall(db.trace, db, best.id)
    out.best = { id = best.id, seconds = best.seconds }
    if ok then
      out.best.params = parameters.text(trace:params())
      out.best.link = link and link(best, trace)
      out.cuts = cuts_of(best, trace, g.records)
    else
      out.best.why = tostring(trace):match "^[^\n]*"
    end
  end
  return out
end

-- report(db, filter [, title [, link]]): the text of the page.  link(record,
-- trace) gives the address of a page of the best record's trace.
return function(db, filter, title, link)
  local asked = { limit = math.maxinteger }
  for k, v in pairs(filter or {}) do asked[k] = v end
  local shown = {}
  local runs = db:runs()
  local found, named = groups.of(db:records(asked)), {}
  for _, g in ipairs(found) do named[g.name] = (named[g.name] or 0) + 1 end
  for i, g in ipairs(found) do
    shown[i] = describe(db, g, runs, link)
    shown[i].title = named[g.name] == 1 and g.name or
      ("%s (%s, %s)"):format(g.name, g.target:match "^%S*", g.hash:sub(1, 8))
  end
  title = title or tostring(db)
  return page.text("report", "Tuning report: " .. title, {
    title = title, groups = shown, version = ts.version() })
end
