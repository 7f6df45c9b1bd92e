-- SPDX-License-Identifier: Apache-2.0
-- Records to TVM's JSON database and back, and lines of it that are wrong.
local ts = require "tessera"
local ops = require "tessera.ops"
local tvm = require "tessera.records.tvm_database"

local path = os.tmpname()
os.remove(path)
local dir = path .. ".d"
local a = ops.matmul { m = 16, n = 16, k = 16 }
local b = ops.matmul { m = 32, n = 16, k = 16 }
local function by_hand(sch)
  local c = sch:get_block "C"
  local i, j, k = sch:get_loops(c)
  local i0, i1 = sch:split(i, { sch:sample_perfect_tile(i, { n = 2 }) })
  sch:reorder(i0, j, k, i1)
end
for _, p in ipairs { a, b } do
  ts.tune(p, { trials = 4, seed = 1, min_time = 0.001, kernel_threads = 1,
               database = path, space = ts.space.by_hand(by_hand) })
end
local db = ts.database(path)

-- The folder is made.
local written, left = tvm.export(db, dir, { a, b })
assert(written == db:records().total and left == 0, written)
local f = assert(io.open(dir .. "/tuning_record.json"))
local first = f:read "l"
f:close()
assert(first:find '^%[0, %[%[%[%["GetBlock"' and first:find '"kind":"llvm"')
assert(first:find '%["TENSOR","float32",%[16,16%]%]', first)

local back = ts.database(path .. ".b")
local added, out, why = tvm.import(back, dir, { a, b })
assert(added == written and out == 0 and why == nil, why)
for _, p in ipairs { a, b } do
  local mine, theirs = db:records { program = p }, back:records { program = p }
  assert(#mine == #theirs and #mine > 0)
  for i, r in ipairs(theirs) do
    assert(r.policy == "TVM" and not r.checked and r.seconds == mine[i].seconds)
    assert(r.program_hash == mine[i].program_hash)
    assert(back:trace(r.id):replay(p))
  end
end

-- Frozen does not take what was never compared, and says so; a run measures
-- those first, the fastest first, with any space that has their sketch.
local space = ts.space.by_hand(by_hand)
local how = { database = path .. ".b", space = space, seed = 9, batch = 2,
              trials = 2, min_time = 0.001, kernel_threads = 1 }
how.frozen = true
local guess = ts.tune(a, how)
assert(guess.note:find "of the 4 records of successes .* none was compared",
       guess.note)
how.frozen = nil
for _, strategy in ipairs { "hybrid", "evolutionary", "grid" } do
  back = ts.database(path .. ".b")
  back:prune { before = "2999-01-01" }
  assert(tvm.import(back, dir, { a, b }) == written)
  local wanted = back:records { program = a, policy = "TVM" }
  how.strategy = strategy
  local r = ts.tune(a, how)
  local made = {}
  for _, x in ipairs(back:records { program = a }) do
    if x.policy ~= "TVM" then
      made[table.concat(x.decisions, " ")] = x
      assert(x.status == "OK", x.message)
    end
  end
  assert(r.trials == 2 and back:best(a).policy ~= "TVM")
  for i = 1, 2 do
    assert(made[table.concat(wanted[i].decisions, " ")], strategy)
  end
end

-- Lines that are wrong are left out, the first with why; failures are none.
local function import(text)
  local g = assert(io.open(dir .. "/tuning_record.json", "w"))
  g:write(text, "\n")
  g:close()
  return tvm.import(back, dir, { a })
end
for _, case in ipairs {
  { "[7" .. first:sub(3), 0, "no program for workload 7" },
  { "{}", 0, "a list is missing" }, { "[0, [", 0, "does not end" },
  { '[0, [[["x', 0, "does not end" }, { "", 0, "a list is missing" },
  { (first:gsub('"C"', '"D"')), 0, "line 1" },
  { (first:gsub("%[%d%.[%d.e, -]*%], {", "[1e10], {")), 0, nil },
} do
  local n, bad, what = import(case[1])
  assert(n == case[2] and bad == (case[3] and 1 or 0), case[1])
  assert(what == nil or what:find(case[3], 1, true), what)
end
db:close()
back:close()
os.execute("rm -rf '" .. path .. "' '" .. dir .. "' '" .. path .. ".b'")
