-- SPDX-License-Identifier: Apache-2.0
-- Postprocessors that are functions of the host's: what they refuse and change
-- of candidates, their traces and records, and what their failures do.
local ts = require "tessera"
local ops = require "tessera.ops"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

local function has(text, part) return tostring(text):find(part, 1, true) end

local tiling = require "tessera.modules.multi_level_tiling"
local product = ops.matmul { m = 16, n = 16, k = 16 }

-- Tunes the product by times that are the same in each run, and gives what was
-- warned of, too.
local function tune(postprocs, given)
  local o = { target = "llvm", trials = 4, seed = 1, cost_model = "random",
              postprocs = postprocs, measure = function() return 1 end,
              space = { tiling { write_levels = {} } } }
  for k, v in pairs(given or {}) do o[k] = v end
  local warned = {}
  local before = ts.on_warning(function(w) warned[#warned + 1] = w end)
  local ok, r = pcall(ts.tune, product, o)
  ts.on_warning(before)
  return ok and r, ok and warned or r
end

local function innermost(sch)
  return (select(-1, sch:get_loops(sch:get_block "C_update")))
end

local function unroll(sch)
  sch:unroll(innermost(sch))
  return true
end

local function count(trace, name)
  local n, behind = 0, 0
  for i = 1, #trace do
    local is = trace[i].name == name
    n, behind = n + (is and 1 or 0), (is or behind > 0) and behind + 1 or 0
  end
  return n, behind
end

-- They say what is kept, and why not.
do
  local function few(sch) return sch:extent(innermost(sch)) > 2 end
  local r = tune { "default", { "few", few } }
  assert(has(r.funnel, "rejected by few: it refuses"), r.funnel)
  assert(few(r.trace:replay(product)) and
         has(r.trace, "rewrite_reduction_block") and
         not has(r.trace, "C_update"))
  r = tune { function() return false, "no\nlikes" end }
  assert(not r.trace and has(r.funnel, "rejected by function 1: no; likes"),
         r.funnel)
  for text, list in pairs { ["without a name"] = { { 1, few } },
                            ["no other name"] = { "default",
                                                  "rewrite_tensorize" } } do
    local _, e = tune(list)
    assert(has(tostring(e), text), e)
  end
end

-- What they do ends the trace of each candidate, once, whatever mutation and
-- crossover make of it, and is what is measured; it is the same for any number
-- of threads.
do
  local function run(threads)
    local seen = {}
    local r, warned = tune({ "default", { "unroll", unroll } }, {
      trials = 12, batch = 4, threads = threads, cost_model = "forest",
      strategy = "evolutionary", measure = function(session, candidate)
        local t = session:trace(candidate)
        local n, behind = count(t, "unroll")
        assert(n == 1 and behind == 1 and count(t, "enter_postproc") == 1, t)
        seen[#seen + 1] = tostring(t)
        local text = tostring(session:program(candidate))
        assert(has(text, "unrolled("), text)
        return 1 + #text % 7
      end })
    -- The first one twice, to see whether times vary.
    assert(r and #seen == 13 and #warned == 0, warned)
    assert(count(r.trace, "get_block") == 2, r.trace)
    local s = r.trace:replay(product)
    assert(s:trace():replay(product):program():hash() == s:program():hash())
    checks.same(s, product)
    return table.concat(seen)
  end
  assert(run(1) == run(3))
end

-- One after the other: each sees what those before it did.  A space without
-- postprocessors of its own gets their mark; one of a trace that they ended
-- gets them anew.
do
  local function see(sch)
    return sch:loop_info(innermost(sch)).kind == "unrolled"
  end
  local function by_hand(sch)
    local c = sch:get_block "C"
    local _, _, k = sch:get_loops(c)
    local sizes = { sch:sample_perfect_tile(k, { n = 2 }) }
    sch:split(k, sizes)
    sch:decompose_reduction(c, (sch:get_loops(c)))
  end
  local list = { { "unroll", unroll }, { "see", see } }
  local r = tune(list, { space = by_hand, strategy = "grid" })
  assert(r.trace and count(r.trace, "enter_postproc") == 1, r.funnel)
  local again = tune(list, { space = ts.space.traces { r.trace } })
  assert(count(again.trace, "unroll") == 1 and
         count(again.trace, "enter_postproc") == 1, again.trace)
  assert(count(r.trace, "unroll") == 1)
  r = tune({ list[2], list[1] }, { space = by_hand })
  assert(not r.trace and has(r.funnel, "rejected by see"), r.funnel)
end

-- A failure refuses the candidate, with one warning that names the function;
-- with on_error = "stop" it ends the run.  A refused primitive is no failure.
do
  local kept
  for text, f in pairs {
    ["no name"] = function() error "no name" end,
    ["it returns true or false, not nil"] = function() end,
    ["calls sample_categorical, and a postprocessor finds"] = function(sch)
      sch:sample_categorical({ 1, 2 }, { 0.5, 0.5 })
      return true
    end,
    ["must be deterministic"] = function() return math.random() < 2 end,
    ["is closed"] = function(sch)
      kept = kept or sch
      return sch == kept or kept:trace() ~= nil
    end,
  } do
    local r, warned = tune { { "mine", f } }
    assert(r and (not r.trace or kept) and #warned == 1 and
           has(warned[1], "postprocessor mine failed") and
           has(warned[1], text),
           text .. table.concat(warned, "; "))
    assert(has(r.funnel, "rejected by mine: it failed"), r.funnel)
    kept = nil
    local _, e = tune({ { "mine", f } }, { on_error = "stop" })
    assert(has(tostring(e), text) and
           has(tostring(e), "postprocessor mine failed"), e)
  end
  local r, warned = tune { { "mine", function(sch)
    sch:compute_inline(sch:get_block "C")
    return true
  end } }
  assert(not r.trace and #warned == 0 and
         has(r.funnel, "rejected by mine: compute_inline is refused: "),
         r.funnel)
end

-- Records of changed candidates are those of runs that change them so.
do
  local path = os.tmpname()
  local o = { database = path, measure = function() return 2 end }
  local function trials(postprocs, n)
    o.trials = n
    local r, warned = tune(postprocs, o)
    assert(r and #warned == 0, warned[1] or warned)
    return r
  end
  local first = trials({ "default", { "unroll", unroll } }, 3)
  assert(count(first.trace, "unroll") == 1)
  local more = trials({ "default", { "unroll", unroll } }, 5)
  assert(more.trials == 5 and has(more.funnel, "2  measured"), more.funnel)
  local plain = trials({ "default" }, 3)
  assert(has(plain.funnel, "3  measured") and
         count(plain.trace, "unroll") == 0, plain.funnel)
  os.remove(path)
end

-- They are for many tasks, too, and for what is known without measuring.
do
  local list = ts.tune_tasks({ product }, {
    target = "llvm", trials = 2, seed = 1, cost_model = "random",
    postprocs = { "default", { "unroll", unroll } },
    measure = function() return 1 end, space = { tiling {} } })
  assert(count(list[1].trace, "unroll") == 1)
  local r = tune({ "default", { "unroll", unroll } }, { frozen = true })
  assert(count(r.trace, "unroll") == 1, r.trace)
end
