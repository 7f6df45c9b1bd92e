-- SPDX-License-Identifier: Apache-2.0
-- The report page: what is in it, that it names nothing outside of itself, and,
-- where chromium is installed, that a browser has nothing to complain of.
local ts = require "tessera"
local ops = require "tessera.ops"
local report = require "tessera.report"

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
for _, key in ipairs { "cuts", "steps", "runs", "funnel", "ledger", "quality",
                       "points" } do
  assert(data:find('"' .. key .. '":[', 1, true), key)
end
assert(data:find('"diff":"', 1, true))
-- Workloads of one name are told apart.
assert(data:find('"title":"matmul (llvm, ' .. a:hash():sub(1, 8), 1, true))
assert(select(2, data:gsub('"shapes":', "")) == 2)
-- Nothing is loaded.
local own = text:gsub("<script>/%*!.-</script>", "")
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
  refused("needs the field 'keep', or others", db.prune, db, {})
  refused("needs the field 'keep', or others", db.prune, db,
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
assert(report(db):find '"steps":')

local function run(command)
  local p = assert(io.popen(command .. " 2>&1"))
  local all = p:read "a"
  p:close()
  return all
end

if run "command -v chromium" ~= "" then
  local html = path .. ".html"
  local f = assert(io.open(html, "wb"))
  f:write(text)
  f:close()
  local said = run("timeout -s KILL 60 chromium --headless --no-sandbox " ..
    "--disable-gpu --no-first-run --user-data-dir=" .. path .. ".profile " ..
    "--enable-logging=stderr --v=0 --dump-dom file://" .. html)
  assert(not said:find ":CONSOLE", said)
  assert(said:find "The best trace, step by step", said)
  os.remove(html)
  os.execute("rm -rf '" .. path .. ".profile'")
end
db:close()
os.remove(path)
