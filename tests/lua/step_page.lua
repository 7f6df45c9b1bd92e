-- SPDX-License-Identifier: Apache-2.0
-- The page of a trace: its listings are those of the stepper, decisions have
-- alternatives and times, it is small and names nothing outside of itself; in a
-- browser, where one is installed, keys, slider and addresses move it.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local browser = dofile((arg[0]:gsub("[^/]*$", "../support/browser.lua")))
local ops = require "tessera.ops"

local p = ops.matmul { m = 64, n = 64, k = 32, relu = true }

local function data_of(text)
  local data = text:match '<script type="application/json" id="data">(.-)</'
  assert(data and not data:find "[<>&]")
  return require "tessera.lang.read_json"(data)
end

-- The listing behind each step, out of the page's edits.
local function listings(data)
  local list, lines = {}, {}
  for k, step in ipairs(data.steps) do
    local new, at = {}, 1
    for _, e in ipairs(step.edits or { { "=", #lines } }) do
      if e[1] == "+" then
        for i = 2, #e, 2 do new[#new + 1] = { e[i], e[i + 1] } end
      else
        for _ = 1, e[2] do
          local line = lines[at]
          at = at + 1
          if e[1] ~= "-" then
            new[#new + 1] = { line[1], line[2] + (e[3] or 0) }
          end
        end
      end
    end
    assert(at == #lines + 1 or not step.edits, k)
    lines = new
    local text = {}
    for i, line in ipairs(lines) do
      text[i] = (" "):rep(line[2]) .. data.line[line[1] + 1]
    end
    list[k] = table.concat(text, "\n")
  end
  return list
end

local function check_listings(trace, program, text)
  local data, s = data_of(text), trace:stepper(program)
  local list = listings(data)
  assert(#list == #trace + 1)
  for k = 0, #trace do
    s:goto_(k)
    assert(list[k + 1] == tostring(s:program()):gsub("\n$", ""), k)
  end
  return data
end

-- Schedules of the default space.
do
  local target = ts.target "llvm -num-cores=2"
  local space = ts.space.default(target)
  for n, t in ipairs(ts.space.sketches(space, p, target)) do
    t = t:replay(p, { resample = true, seed = n }):trace()
    local s = t:stepper(p)
    s:goto_(2)
    local data = check_listings(t, p, s:html { title = "a </script> <b>" })
    assert(s:position() == 2 and data.title == "a </script> <b>")
    local sampled = 0
    for k, step in ipairs(data.steps) do
      local decided = k > 1 and t[k - 1].decision or nil
      assert((step.decision ~= nil) == (decided ~= nil))
      if decided then
        sampled = sampled + 1
        local chosen = 0
        for _, row in ipairs(step.decision.rows) do
          chosen = chosen + (row.chosen and 1 or 0)
        end
        assert(chosen == 1 and step.decision.what:find " of ")
      end
    end
    assert(sampled > 0)
  end
end

-- A trace of 500 instructions.
local sch = ts.schedule(p, { seed = 3 })
do
  local C = sch:get_block "C"
  local n = 0
  while #sch:trace() < 495 do
    n = n + 1
    local loops = { sch:get_loops(C) }
    local l = loops[n % #loops + 1]
    local a, b = sch:split(l, { sch:sample_perfect_tile(l, { n = 2 }) })
    sch:fuse(a, b)
    sch:annotate(C, "note" .. n, n)
  end
  while #sch:trace() < 500 do sch:get_block "C" end
end
local trace = sch:trace()
local text = trace:stepper(p):html()
assert(#trace == 500 and #text < 2000000, #text)
check_listings(trace, p, text)
assert(not text:find "src=" and not text:find "href=\"[^d#]" and
       not text:find "https?://" and not text:find "@import")
for _, says in ipairs { 'lang="en"', 'name="viewport"', "<main>", "<h1",
                        'aria%-live="polite"', 'aria%-label="Step"' } do
  assert(text:find(says), says)
end

-- An instruction that does not apply is the last.
do
  local t = ts.trace.from_lua([[
local b0 = sch:get_block{name = "C"}
local l1, l2, l3 = sch:get_loops{block = b0}
sch:parallel{loop = l3}
sch:parallel{loop = l1}
]], p)
  local data = data_of(t:stepper(p):html())
  assert(#data.steps == 4 and data.steps[4].wrong:find "not spatial")
end

-- Times: of records that differ in one decision, and after each instruction.
do
  local path = os.tmpname()
  os.remove(path)
  local db, ids = ts.database(path), {}
  local s = ts.schedule(p)
  local i, j = s:get_loops(s:get_block "C")
  s:split(i, { s:sample_perfect_tile(i, { n = 2, decision = { 16, 4 } }) })
  s:split(j, { s:sample_perfect_tile(j, { n = 2, decision = { 32, 2 } }) })
  local base = s:trace():bind(p)
  for k, d in ipairs { { 16, 4 }, { 8, 8 }, { 4, 16 } } do
    db:add(base:with_decision(3, d), "llvm", "mine", { k * 1e-3 })
  end
  db:add(base:with_decision(3, { 8, 8 }):with_decision(5, { 4, 16 }), "llvm",
         "mine", { 9e-3 })
  for _, r in ipairs(db:records(10)) do ids[#ids + 1] = r.id end
  local data = data_of(db:trace(ids[1]):stepper():html { database = db,
                                                         record = ids[1] })
  local times = {}
  for _, row in ipairs(data.steps[4].decision.rows) do
    if row.time then times[row.text] = row.time end
  end
  assert(times["{16, 4}"] == 1e-3 and times["{8, 8}"] == 2e-3 and
         times["{4, 16}"] == 3e-3 and times["{64, 1}"] == nil)
  assert(data.measured == 1e-3)
  db:close()
  for _, end_ in ipairs { "", "-wal", "-shm" } do os.remove(path .. end_) end
  data = data_of(base:stepper(p):html { times = true })
  assert(data.steps[1].time > 0 and data.steps[5].time > 0 and
         not data.steps[4].time)
end

local s = trace:stepper(p)
checks.fails(nil, "there is no option 'width'", s.html, s, { width = 3 })
checks.fails(nil, "'times' is no boolean", s.html, s, { times = 1 })
checks.fails(nil, "'record' is the number of one of 'database'", s.html, s,
             { record = 3 })

if not browser.is_there then return end

-- Keys, buttons, the slider and the address.
local script = [[
  const said = [], at = id => document.getElementById(id);
  function say() {
    const a = document.querySelector("[aria-current]");
    said.push(at("position").textContent.match(/^\d+/)[0] + " " +
              location.hash + " " + at("slider").value + " " +
              a.getAttribute("href"));
  }
  function press(key, on, more) {
    (on || document.body).dispatchEvent(new KeyboardEvent("keydown",
        Object.assign({key, bubbles: true, cancelable: true}, more)));
    say();
  }
  say();
  press("ArrowRight");
  press("ArrowLeft");
  press("End");
  press("ArrowRight");
  press("Home");
  press("ArrowRight", at("program"));
  press("ArrowRight", document.body, {altKey: true});
  press("ArrowDown", document.querySelector("[aria-current]"));
  at("next").click();
  say();
  at("slider").value = 100;
  at("slider").dispatchEvent(new Event("input"));
  say();
  const root = document.documentElement;
  said.push(root.scrollWidth <= root.clientWidth ? "fits" : "is wider");
  said.push(at("program").textContent.split("\n").length > 5 ? "lists" : "-");
  return said.join("; ");]]
for _, width in ipairs { 1280, 390 } do
  local said, console = browser.open(text, width, script, "#t=17")
  assert(console == "", console)
  assert(said == "17 #t=17 17 #t=17; 18 #t=18 18 #t=18; 17 #t=17 17 #t=17; " ..
    "500 #t=500 500 #t=500; 500 #t=500 500 #t=500; 0 #t=0 0 #t=0; " ..
    "0 #t=0 0 #t=0; 0 #t=0 0 #t=0; 1 #t=1 1 #t=1; 2 #t=2 2 #t=2; " ..
    "100 #t=100 100 #t=100; fits; lists", said)
end
