-- SPDX-License-Identifier: Apache-2.0
-- The report page: what is in it, that it names nothing outside of itself, and,
-- where chromium is installed, that a browser has nothing to complain of.
local ts = require "tessera"
local ops = require "tessera.ops"
local report = require "tessera.report"
local browser = dofile((arg[0]:gsub("[^/]*$", "../support/browser.lua")))

local path = os.tmpname()
os.remove(path)
local a = ops.matmul { m = 32, n = 32, k = 32 }
local b = ops.matmul { m = 64, n = 32, k = 32 }
local o = { trials = 40, batch = 8, seed = 1, min_time = 0.001,
            kernel_threads = 1, database = path, cost_model = "forest" }
ts.tune_tasks({ a, { program = b, name = "</script><b>" } }, o)
ts.tune(a, { trials = 48, batch = 8, seed = 2, min_time = 0.001,
             kernel_threads = 1, database = path, strategy = "replay" })
local db = ts.database(path)

-- Runs and records as they are read.
local runs = db:runs()
assert(#runs == 3 and runs[1].strategy == "evolutionary")
assert(runs[1].model == "forest" and runs[1].ended == "OK")
assert(runs[1].seconds > 0 and runs[1].ledger:find "in all")
assert(runs[3].strategy == "replay" and runs[1].quality:find "^%[%[")
assert(runs[1].transfer == true and #db:verify() == 0)
local r = db:records { limit = 1 }[1]
assert(r.run and r.round >= 1 and r.slot >= 1 and r.elapsed > 0)
assert(#r.decisions > 0 and #r.sketch == 16)

local text = report(db, {}, "a < b & c")
local data = text:match '<script type="[%w/]+" id="data">(.-)</script>'
assert(data and not data:find "[<>&]")
for _, key in ipairs { "cuts", "runs", "funnel", "ledger", "quality",
                       "points" } do
  assert(data:find('"' .. key .. '":[', 1, true), key)
end
-- The unscheduled program, as the last run timed it, and links to the pages of
-- the best traces, which the command writes.
assert(runs[3].unscheduled > 0 and data:find '"unscheduled":[%d.e-]+')
assert(not data:find('"link":', 1, true))
local linked = report(db, {}, "a < b & c", function(best, trace)
  assert(#trace > 0)
  return ("of %d.html"):format(best.id)
end)
assert(select(2, linked:gsub('"link":"of %d+%.html"', "")) == 2)
-- Workloads of one name are told apart.
assert(data:find('"title":"matmul (llvm, ' .. a:hash():sub(1, 8), 1, true))
assert(select(2, data:gsub('"shapes":', "")) == 2)
-- Nothing is loaded.
local own = text:gsub("<script>\n/%*!.-</script>", "")
assert(not own:find "src=" and not own:find "https?://" and
       not own:find "@import")

local one = report(db, { program = a })
assert(select(2, one:gsub('"shapes":', "")) == 1)
assert(one:find('"title":"matmul"', 1, true))
assert(report(db, { workload = "nothing" }):find('"groups":[]', 1, true))

-- Calls that would remove everything, or wait for themselves.
do
  local function refused(says, f, ...)
    local ok, e = pcall(f, ...)
    assert(not ok and e.message:find(says, 1, true), ok or e.message)
  end
  local before = db:records().total
  refused("needs a number of records to keep", db.prune, db, {})
  refused("needs a number of records to keep", db.prune, db,
          { dry_run = true })
  refused("cannot be merged into itself", db.merge, db, path)
  assert(db:records().total == before)
  -- A record from elsewhere is of a target, by its text or as one.
  local copy = ts.database(path .. ".copy")
  local trace = db:trace(db:records(1)[1].id)
  copy:add(trace, ts.target "llvm", "mine", { 1e-3 })
  copy:add(trace, "llvm", "theirs", { 2e-3 })
  assert(copy:records { target = ts.target "llvm" }.total == 2)
  assert(#copy:verify() == 0)
  copy:close()
  for _, end_ in ipairs { "", "-wal", "-shm" } do
    os.remove(path .. ".copy" .. end_)
  end
  -- A file that is not there is told, and not made.
  local frozen = ts.tune(a, { database = path .. ".none", frozen = true })
  assert(frozen.note:find("^there is no database .*%.none, so the schedule"))
  assert(not io.open(path .. ".none"))
end

-- A file of an earlier version: runs are not known.
db:prune(5)
assert(report(db):find '"cuts":')

-- In a browser: nothing to complain of, charts that are told of, and no wider
-- than a phone.
local script = [[
  const root = document.documentElement;
  return [root.scrollWidth <= root.clientWidth ? "fits" : "is wider",
          document.querySelectorAll("canvas").length ===
              document.querySelectorAll("canvas[aria-label]").length,
          document.querySelectorAll("#tasks a").length].join(" ");]]
for _, width in ipairs { 1280, 390 } do
  if not browser.is_there then break end
  local said, console, all = browser.open(linked, width, script)
  assert(console == "", console)
  assert(said == "fits true 4", said)
  assert(all:find "Step through its trace" and all:find "the unscheduled")
end
db:close()
os.remove(path)
