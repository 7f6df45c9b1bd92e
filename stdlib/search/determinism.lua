-- SPDX-License-Identifier: Apache-2.0
-- Deterministic execution of Lua functions: while one runs, pairs and next
-- iterate in a fixed order, and math.random is an error.  (Lua orders keys by
-- a random seed and by addresses.)
--
-- Cached references, `local pairs, random = pairs, math.random`, are replaced,
-- too: everything reachable from the function (globals, fields, upvalues) is
-- searched for references to the three functions, which are replaced while it
-- runs and restored afterwards.

local stock = { pairs = pairs, next = next, random = math.random }
local pairs, next = pairs, next

-- ---- a fixed order ---------------------------------------------------------

local ranks = { number = 1, string = 2, boolean = 3 }

-- A rank, and what is compared within it; nil: nothing distinguishes the key
-- from others in the same way in every run.
local function order_of(core, k)
  local rank = ranks[type(k)]
  if rank then return rank, rank == 3 and tostring(k) or k end
  local number = core.rv_number(k)
  if number then return 4, number end
  local meta = debug.getmetatable(k)
  if meta and rawget(meta, "__tostring") then return 5, tostring(k) end
  return 6
end

local function no_order(k)
  error(("the order of keys that are of type %s is not fixed, and a " ..
         "schedule module must be deterministic: use numbers, strings or " ..
         "random variables as keys, or a list"):format(type(k)), 4)
end

-- Numbers, strings and booleans; then random variables as they were made, and
-- objects by the text that they give themselves.
local function sorted_keys(core, t)
  local keys, rank, by = {}, {}, {}
  for k in next, t do
    keys[#keys + 1] = k
    rank[k], by[k] = order_of(core, k)
  end
  table.sort(keys, function(a, b)
    if rank[a] ~= rank[b] then return rank[a] < rank[b] end
    return rank[a] < 6 and by[a] < by[b]
  end)
  for i = 2, #keys do
    local a, b = keys[i - 1], keys[i]
    if rank[b] > 3 and rank[a] == rank[b] and by[a] == by[b] then
      no_order(b)
    end
  end
  return keys
end

local function ordered_pairs(core, t)
  local meta = debug.getmetatable(t)
  if type(t) ~= "table" or meta and rawget(meta, "__pairs") then
    return pairs(t)
  end
  local keys, i = sorted_keys(core, t), 0
  return function()
    while i < #keys do
      i = i + 1
      local v = rawget(t, keys[i])
      if v ~= nil then return keys[i], v end  -- not removed on the way
    end
  end, t, nil
end

-- The orders in which next goes through tables: keys, and their positions.
local walks = setmetatable({}, { __mode = "k" })

local function ordered_next(core, t, key)
  if type(t) ~= "table" then return next(t, key) end
  local walk = walks[t]
  if key == nil or not walk or not walk.at[key] then
    walk = { keys = sorted_keys(core, t), at = {} }
    for i, k in ipairs(walk.keys) do walk.at[k] = i end
    walks[t] = walk
  end
  local i = key == nil and 0 or walk.at[key]
  if not i then error("invalid key to 'next'", 2) end
  for n = i + 1, #walk.keys do
    local k = walk.keys[n]
    local v = rawget(t, k)
    if v ~= nil then return k, v end
  end
  return nil
end

local function no_random()
  error("a schedule module must be deterministic: draw with sch:sample_* " ..
        "instead of math.random", 2)
end

-- ---- places ----------------------------------------------------------------

-- The replacements; called outside of such a run they behave like Lua's own.
local guarded = {}

local name_of = {}                   -- of the three
for name, f in next, stock do name_of[f] = name end

-- places[table or function][key or index of upvalue] = name
local places, seen, run_seen

local function note(owner, key, name)
  local kept = places[owner] or {}
  places[owner] = kept
  kept[key] = name
end

local function visit(todo, owner, key, v)
  if name_of[v] then
    if key ~= nil then note(owner, key, name_of[v]) end
    return
  end
  local kind = type(v)
  if kind == "table" or kind == "function" or kind == "userdata" then
    if not seen[v] then todo[#todo + 1] = v end
  end
end

local parts = {}

function parts.table(todo, t)
  for k, v in next, t do
    visit(todo, t, nil, k)
    visit(todo, t, k, v)
  end
end

parts["function"] = function(todo, f)
  local i, name, v = 1, debug.getupvalue(f, 1)
  while name do
    visit(todo, f, i, v)
    i = i + 1
    name, v = debug.getupvalue(f, i)
  end
end

function parts.userdata(todo, u)
  local n, v, there = 1, debug.getuservalue(u, 1)
  while there do
    visit(todo, u, nil, v)
    n = n + 1
    v, there = debug.getuservalue(u, n)
  end
end

-- Looks through what can be reached from these, but for what was seen.
local function look_through(todo)
  while #todo > 0 do
    local v = table.remove(todo)
    if not seen[v] then
      seen[v] = true
      parts[type(v)](todo, v)
      local meta = debug.getmetatable(v)
      if meta then todo[#todo + 1] = meta end
    end
  end
end

local function put(owner, key, old, new)
  if type(owner) == "table" then
    if rawget(owner, key) == old then rawset(owner, key, new) end
    return
  end
  local _, v = debug.getupvalue(owner, key)
  if v == old then debug.setupvalue(owner, key, new) end
end

local function exchange(from, to)
  for owner, kept in next, places do
    for key, name in next, kept do put(owner, key, from[name], to[name]) end
  end
end

-- ---- running ---------------------------------------------------------------

local function leave(is_outermost, ok, ...)
  if is_outermost then exchange(guarded, stock) end
  if not ok then error((...), 0) end
  return ...
end

local function enter(f, ...)
  exchange(stock, guarded)
  return f(...)
end

local function make(core)
  local versions = {
    pairs = function(t) return ordered_pairs(core, t) end,
    next = function(t, k) return ordered_next(core, t, k) end,
    random = no_random,
  }
  for name, f in next, versions do
    local ordinary = stock[name]
    guarded[name] = function(...)
      if core.modules_running() > 0 then return f(...) end
      return ordinary(...)
    end
  end

  -- Calls f.  What it can reach is looked through once in a run of the
  -- engine, whose number core.space_run returns, or, where another program
  -- than Lua calls the engine, nil.
  local function call(f, ...)
    local run = core.space_run()
    local is_outermost = core.modules_running() == 0
    if is_outermost and (run ~= run_seen or not seen) then
      -- A hook may end this at any point: it is done, or done again.
      local own = setmetatable({ [make] = true, [call] = true },
                               { __mode = "k" })
      for _, f in next, guarded do own[f] = true end
      seen, run_seen = nil, run
      places, seen = setmetatable({}, { __mode = "k" }), own
    end
    local roots = {}
    for _, root in ipairs { f, ... } do visit(roots, roots, nil, root) end
    look_through(roots)
    return leave(is_outermost, core.run_module(enter, f, ...))
  end
  return call
end

return make
