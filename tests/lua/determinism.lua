-- SPDX-License-Identifier: Apache-2.0
-- Modules are deterministic: sources of nondeterminism raise an error or are
-- detected.
local ts = require "tessera"
local searching = dofile((arg[0]:gsub("[^/]*$", "../support/searching.lua")))
local p, module = searching.program, searching.module

-- Modules are deterministic: math.random raises, pairs goes in order.
do
  local keys
  local why = ts.space.compose { module("random", function(sch, block)
    if sch:block_info(block).name ~= "root" then return nil end
    keys = {}
    for k in pairs { zeta = 1, alpha = 2, [3] = 3, [1] = 1, mid = 4 } do
      keys[#keys + 1] = tostring(k)
    end
    return math.random() and sch
  end) {} }:explain(p, "llvm")
  assert(why:find("sch:sample_", 1, true), why)
  assert(table.concat(keys, " ") == "1 3 alpha mid zeta",
         table.concat(keys, " "))
  assert(math.random() < 1)                    -- elsewhere it works
end

-- So it is for what a file took at its head, and for what that reaches; the
-- state is as it was before and after.
do
  local pairs, next, random = pairs, next, math.random
  local helpers = { pick = function() return (random(1, 8)) end }
  local function explain(apply)
    return ts.space.compose { module("captured", function(sch, block)
      if sch:block_info(block).name ~= "C" then return nil end
      return apply(sch, block)
    end) {} }:explain(p, "llvm")
  end
  local odd = { zeta = 1, alpha = 2, [3] = 3, [1] = 1, [true] = 5, mid = 4 }
  local order = {}
  local function add(k) order[#order + 1] = tostring(k) end
  explain(function(sch)
    for k in pairs(odd) do add(k) end
    for k in next, odd do add(k) end
    local k = next(odd, "alpha")
    add(k)
    add(next(odd, true) == nil)
    -- What is removed on the way does not come.
    local few = { a = 1, b = 2, c = 3 }
    for key in pairs(few) do
      few.b = nil
      add(key)
    end
    return sch
  end)
  assert(table.concat(order, " ") == "1 3 alpha mid zeta true " ..
         "1 3 alpha mid zeta true mid true a c", table.concat(order, " "))
  local why = explain(function(sch) return helpers.pick() and sch end)
  assert(why:find("sch:sample_", 1, true), why)
  -- Random variables are ordered as they were made, objects by their text;
  -- what has none has no order.
  order = {}
  local named = {}
  for i = 9, 1, -1 do
    named[setmetatable({}, { __tostring = function() return "k" .. i end })] =
      i
  end
  explain(function(sch, block)
    local loops = { sch:get_loops(block) }
    local numbers = {}
    for i = #loops, 1, -1 do numbers[loops[i]] = i end
    for _, i in pairs(numbers) do add(i) end
    for _, i in pairs(named) do add(i) end
    return sch
  end)
  assert(table.concat(order, " ") == "1 2 3 1 2 3 4 5 6 7 8 9",
         table.concat(order, " "))
  for _, made in ipairs { function() return {} end,
                          function() return function() end end } do
    why = explain(function(sch)
      for _ in pairs { [made()] = 1, [made()] = 2 } do end
      return sch
    end)
    assert(why:find("keys that are of type " .. type(made()), 1, true), why)
  end
  why = explain(function(sch) return next({ a = 1 }, "b") or sch end)
  assert(why:find("invalid key to 'next'", 1, true), why)
  assert(pairs == _G.pairs and next == _G.next and random == math.random)
  assert(random() < 1 and next { [{}] = 1, [{}] = 2 })
  -- What was taken while a module ran is ordinary afterwards.
  local kept
  explain(function(sch)
    kept = { pairs = _G.pairs, random = math.random }
    return sch
  end)
  assert(kept.random() < 1)
  for _ in kept.pairs { [{}] = 1, [{}] = 2 } do end
end

-- What comes with Tessera gives the same sketches in a fresh state.
do
  local spaces = require "tessera.modules.spaces"
  local listed = {}
  for _, name in ipairs(spaces.modules) do
    listed[name] = true
    local why
    local ok, e = pcall(function()
      local m = require("tessera.modules." .. name)
      why = ts.space.check({ m {} }, p, "llvm")
    end)
    assert(ok and why == true, name .. ": " .. tostring(e))
  end
  assert(ts.space.check(ts.space.default "llvm", p, "llvm"))
  -- Every file of modules/ is listed.
  local folder = package.searchpath("tessera.modules.auto_inline", package.path)
                        :match("^(.*)/")
  local f = assert(io.popen("ls '" .. folder .. "'"))
  for file in f:lines() do
    local name = file:match("^(.*)%.lua$")
    assert(not name or name == "spaces" or name == "list" or listed[name],
           file .. " is not in spaces.modules")
  end
  f:close()
  -- A module that depends on when it runs is found out.
  local count = 0
  local drifting = module("drifting", function(sch, block)
    if sch:block_info(block).name ~= "C" then return nil end
    count = count + 1
    sch:split((sch:get_loops(block)), { ts.auto, 1 << count })
    return sch
  end)
  local same, where = ts.space.check({ drifting {} }, p, "llvm")
  assert(same == false and where:find("sketch 1", 1, true), where)
  -- Also where it does so only now and then.
  count = 0
  local rarely = module("rarely", function(sch, block)
    if sch:block_info(block).name ~= "C" then return nil end
    count = count + 1
    sch:split((sch:get_loops(block)), { ts.auto, count > 3 and 4 or 2 })
    return sch
  end)
  assert(ts.space.check({ rarely {} }, p, "llvm") == false)
  -- A sampled value that nothing reads is warned of; one that is passed on, be
  -- it in arithmetic, or read by sch:get is not.
  local function sampling(use)
    return module("sampling", function(sch, block)
      if sch:block_info(block).name ~= "C" then return nil end
      use(sch, sch:sample_categorical({ 2, 4 }, { 0.5, 0.5 }),
          (sch:get_loops(block)))
      return sch
    end)
  end
  local warned = {}
  local before = ts.on_warning(function(w) warned[#warned + 1] = w end)
  local dead = sampling(function(sch, u, l)
    if u == 2 then sch:parallel(l) end
  end)
  local ok, warning = ts.space.check({ dead {} }, p)
  assert(ok and #warned == 1 and warned[1]:find(warning, 1, true))
  assert(warning:find("^module 'sampling': nothing reads what " ..
                      "sch:sample_categorical gives at .*%.lua:%d+: "), warning)
  for _, use in ipairs {
    function(sch, u, l) if sch:get(u) == 2 then sch:parallel(l) end end,
    function(sch, u, l) sch:split(l, { ts.auto, u * 2 }) end,
    function(sch, u, l) sch:annotate(l, "unroll", u) end,
  } do
    assert(select("#", ts.space.check({ sampling(use) {} }, p)) == 1)
  end
  assert(#warned == 1)
  ts.on_warning(before)
  -- And one that a file makes, in the third fresh state that reads it.
  local base = os.tmpname()
  local file = assert(io.open(base .. ".lua", "w"))
  file:write(([[
    local ts, log = require "tessera", assert(io.open(%q, "a"))
    log:write "*"
    local times = log:seek()
    log:close()
    return ts.module { name = "worn", apply = function(sch, block)
      if sch:block_info(block).name ~= "C" then return nil end
      sch:split((sch:get_loops(block)), { ts.auto, times > 3 and 4 or 2 })
      return sch
    end } ]]):format(base))
  file:close()
  local folder, name = base:match("^(.*)/([^/]*)$")
  local path = package.path
  package.path = folder .. "/?.lua;" .. path
  same, where = ts.space.check({ require(name) {} }, p, "llvm")
  package.path, package.loaded[name] = path, nil
  os.remove(base)
  os.remove(base .. ".lua")
  assert(same == false and where:find("ts.auto, 4", 1, true), where)
end

-- Parameters that share a table many times have no text, which is found fast.
do
  local deep = {}
  for _ = 1, 40 do deep = { deep, deep } end
  local shared = ts.module {
    name = "shared", parameters = { { "deep", deep } },
    apply = function(sch) return sch end,
  }
  local A = ts.placeholder("A", { 8 })
  assert(ts.space.check({ shared {} }, ts.program("p", { A }, {
    ts.compute("C", { 8 }, function(i) return A(i) + 1 end) })))
end

-- A hook that ends the script where a module has just run, or is about to, ends
-- what guards modules, too.
do
  local A = ts.placeholder("A", { 8 })
  local p = ts.program("p", { A }, {
    ts.compute("C", { 8 }, function(i) return A(i) + 1 end) })
  local function end_after(n)
    debug.sethook(function()
      debug.sethook()
      error("out of time", 0)
    end, "", n)
  end
  for n = 1, 60 do
    local ends = ts.module { name = "ends", apply = function(sch)
      end_after(n)
      return sch
    end }
    pcall(function()
      ts.space.explain(ts.space.compose { ends {} }, p, "llvm")
      debug.sethook()
    end)
    assert(math.random(2) and next({ 1 }) == 1, n)
    pcall(function()
      end_after(20 * n)
      ts.space.explain(ts.space.compose { ends {} }, p, "llvm")
      debug.sethook()
    end)
    assert(math.random(2) and next({ 1 }) == 1, n)
  end
end
