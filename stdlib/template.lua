-- SPDX-License-Identifier: Apache-2.0
-- Spaces by named parameters: templates with knobs, as AutoTVM has them, and
-- code molds, as ytopt has them.  Both are a thin layer over sampling: a knob
-- whose values are integers is a sampling instruction, and one that changes
-- which steps there are (an order of loops, an annotation, a word, a parameter
-- that others depend on, an integer that the function branches on) makes a
-- sketch for each of its values.
--
-- template.space(program, f) is the space of f(cfg, sch); template.mold(m) that
-- of a table { parameters =, forbid =, apply = function(sch, p) }.
local ts = require "tessera"
local options = require "tessera.lang.options"
local sampling = require "tessera.steps.sampling"
local branching = require "tessera.template.branching"
local template = {}

-- So many sketches at most.
local most = 256

local function wrong(text, ...)
  debug.getregistry()["tessera.invalid"](text:format(...))
end

local function all_integers(list)
  for _, v in ipairs(list) do
    if math.type(v) ~= "integer" then return false end
  end
  return true
end

local function check_branch(what, name, branch)
  if branch ~= nil and type(branch) ~= "boolean" then
    wrong("%s %s: branch is true or false, not %s", what,
          options.quoted(name), tostring(branch))
  end
end

-- Whether it is a text that traces can hold.
local function is_text(v)
  return type(v) == "string" and utf8.len(v) and not v:find "\0"
end

local function check_name(who, name)
  if not is_text(name) or name == "" then
    wrong("%s: a knob's name is a text, not %s", who, options.quoted(name))
  end
end

local function check_values(who, name, list)
  check_name(who, name)
  if type(list) ~= "table" or #list == 0 then
    wrong("%s: knob %s needs a list of values", who, options.quoted(name))
  end
end

-- ---- names in the trace ---------------------------------------------------

-- Whether a trace can hold the value: a text, a number, a boolean, a random
-- variable, or a list or dictionary of such.
local function is_plain(v)
  if type(v) == "number" then return v == v end
  if type(v) ~= "table" then
    return type(v) == "boolean" or type(v) == "userdata" or is_text(v)
  end
  local count, all = 0, true
  for k, x in next, v do
    count = count + 1
    all = all and (math.type(k) == "integer" or is_text(k)) and is_plain(x)
  end
  return all and (count == #v or #v == 0)
end

-- Writes what the knobs are: named = { { name, value, position }, ... }.  Of a
-- value that no trace can hold, as a function, the position in its list.
local function write_names(sch, named)
  for _, x in ipairs(named) do
    local name, value, at = x[1], x[2], x[3]
    if not is_plain(value) then value = at end
    sch:knob(name, value)
  end
end

-- ---- choices that make sketches ------------------------------------------

-- Every combination of choices[i] of counts[i], in order.
local function combinations(counts)
  local all, total = { {} }, 1
  for _, count in ipairs(counts) do
    local longer = {}
    total = total * count
    if total > most then
      wrong("the space has more than %d sketches: knobs of integers are " ..
            "sampled and make none", most)
    end
    for _, before in ipairs(all) do
      for k = 1, count do
        local list = table.move(before, 1, #before, 1, {})
        list[#list + 1] = k
        longer[#longer + 1] = list
      end
    end
    all = longer
  end
  return all
end

local function permutations(n)
  if n == 0 then return { {} } end
  local all = {}
  for _, shorter in ipairs(permutations(n - 1)) do
    for at = n, 1, -1 do
      local list = table.move(shorter, 1, n - 1, 1, {})
      table.insert(list, at, n)
      all[#all + 1] = list
    end
  end
  return all
end

-- ---- the configuration that a template is given --------------------------

local config = {}
config.__index = config

-- Knobs are asked for by name: cfg.tile_i, cfg["unroll"].  `value` is what the
-- trace says of it, or `at` where it cannot.
local function set(cfg, name, knob, value, at)
  if rawget(cfg, name) ~= nil or config[name] then
    wrong("the template has a knob %s already", options.quoted(name))
  end
  rawset(cfg, name, knob)
  table.insert(cfg.named, { name, value, at })
  return knob
end

-- Which of `count` alternatives this sketch has.
local function choose(cfg, name, count, integers)
  cfg.counts[#cfg.counts + 1] = { name = name, count = count,
                                  integers = integers }
  return cfg.chosen[name] or 1
end

-- Calls f; an error names the knob.
local function of_knob(who, name, f)
  local r = table.pack(pcall(f))
  if r[1] then return table.unpack(r, 2, r.n) end
  local e = r[2]
  if type(e) == "table" and e.message then
    e.message = ("%s: knob %s: %s"):format(who, options.quoted(name), e.message)
  end
  error(e, 0)
end

-- The fields of a knob of integers, which notes that its value is read.
local function noting(cfg, name, value)
  return setmetatable({}, { __index = function(_, field)
    if field ~= "val" then return nil end
    cfg.read[name] = true
    return value
  end })
end

-- Refuses names that the table has beside these.
local function check_names(who, o, names)
  local listed = (" %s "):format(names)
  for name in pairs(o) do
    if not listed:find((" %s "):format(name), 1, true) then
      wrong("unknown option %s of %s, which has %s", options.quoted(name), who,
            (names:gsub(" ", ", ")))
    end
  end
end

-- Cuts a loop into num_outputs parts (2), the innermost of at most max_factor
-- (64) iterations; with `factors` into two, the inner one of one of these
-- lengths.  cfg.NAME:apply(loop) gives the loops, outermost first;
-- cfg.NAME.size are the lengths.
function config.define_split(cfg, name, loop, o)
  o = o or {}
  check_names("define_split", o, "factors num_outputs max_factor")
  check_values("define_split", name, o.factors or { 1 })
  local size
  if o.factors then
    size = { ts.auto, sampling.evenly(cfg.sch, o.factors) }
  else
    size = { of_knob("define_split", name, function()
      return cfg.sch:sample_perfect_tile(loop, {
        n = o.num_outputs or 2, max_innermost_factor = o.max_factor or 64 })
    end) }
  end
  return set(cfg, name, { size = size, apply = function(_, on)
    return of_knob("define_split", name, function()
      return cfg.sch:split(on or loop, size)
    end)
  end }, o.factors and size[2] or size)
end

-- One of a list: cfg.NAME.val.  Integers are sampled, and val is a random
-- variable, unless the function branches on it, which is looked for, or
-- `branch` says so: then, as of other values, each makes a sketch.
function config.define_knob(cfg, name, list, o)
  o = o or {}
  check_names("define_knob", o, "branch")
  check_values("define_knob", name, list)
  check_branch("define_knob: knob", name, o.branch)
  local known = o.branch == false
  if o.branch or not all_integers(list) or
     cfg.branches[name] and not known then
    local at = choose(cfg, name, #list)
    return set(cfg, name, { val = list[at] }, list[at], at)
  end
  local at = cfg.looking and not known and choose(cfg, name, #list, true)
  local value = sampling.evenly(cfg.sch, list)
  if at and (cfg.plain == true or cfg.plain[name]) then
    value = list[at]
  elseif at then
    cfg.draws[name] = branching.drawn(cfg.sch)
  end
  return set(cfg, name, noting(cfg, name, value), value)
end

-- An order of so many loops: any, or with `candidates` one of these, lists of
-- positions.  cfg.NAME:apply(loops) reorders them and gives them in that order.
function config.define_reorder(cfg, name, count, o)
  check_names("define_reorder", o or {}, "candidates")
  local orders = o and o.candidates
  if math.type(count) ~= "integer" or count < 1 or count > 5 then
    wrong("define_reorder: knob %s is of 1 to 5 loops", options.quoted(name))
  end
  orders = orders or permutations(count)
  check_values("define_reorder", name, orders)
  local order = orders[choose(cfg, name, #orders)]
  return set(cfg, name, { order = order, apply = function(_, loops)
    local list = {}
    for i, at in ipairs(order) do list[i] = loops[at] end
    if #list ~= #loops then
      wrong("define_reorder: knob %s is of %d loops, not of %d",
            options.quoted(name), #list, #loops)
    end
    of_knob("define_reorder", name, function() cfg.sch:reorder(list) end)
    return table.unpack(list)
  end }, order)
end

local policies = { try_unroll = { "none", "unroll" },
                   try_vec = { "none", "vectorize" },
                   try_unroll_vec = { "none", "unroll", "vectorize" },
                   try_parallel = { "none", "parallel" } }

-- What becomes of a loop, by policy: cfg.NAME:apply(loop).
function config.define_annotate(cfg, name, policy)
  check_name("define_annotate", name)
  local list = policies[policy]
  if not list then
    wrong("define_annotate: there is no policy %s; there are try_unroll, " ..
          "try_vec, try_unroll_vec, try_parallel", options.quoted(policy))
  end
  local kind = list[choose(cfg, name, #list)]
  return set(cfg, name, { kind = kind, apply = function(_, loop)
    if kind ~= "none" then cfg.sch[kind](cfg.sch, loop) end
    return loop
  end }, kind)
end

-- Runs the function with values of knobs by name.
local function run(f, sch, chosen, branches, more)
  local cfg = { sch = sch, chosen = chosen, branches = branches, counts = {},
                draws = {}, read = {}, plain = {}, named = {} }
  for k, v in next, more or {} do cfg[k] = v end
  setmetatable(cfg, config)
  return cfg, pcall(function()
    f(cfg, sch)
    if not cfg.looking then write_names(sch, cfg.named) end
  end)
end

-- The set of the knobs of integers that the function branches on.
local function find_branching(program, f)
  local first = run(f, ts.schedule(program), {}, {},
                    { looking = true, plain = true })
  return branching.find(first.counts, function(chosen, plain)
    local sch = ts.schedule(program)
    local cfg, ok, e = run(f, sch, chosen, {},
                           { looking = true, plain = plain })
    if not ok then error(e, 0) end
    return sch:trace(), cfg.draws, cfg.read
  end)
end

-- The space of a template for a program: the function is run to see which knobs
-- make sketches, then for each combination of them.
function template.space(program, f)
  if type(f) ~= "function" then
    wrong("template.space takes a program and a function(cfg, sch)")
  end
  local branches, spaces = find_branching(program, f), {}
  local first, ok, e = run(f, ts.schedule(program), {}, branches)
  if not ok then error(e, 0) end
  local counts = {}
  for i, c in ipairs(first.counts) do counts[i] = c.count end
  for i, combination in ipairs(combinations(counts)) do
    local chosen = {}
    for k, c in ipairs(first.counts) do chosen[c.name] = combination[k] end
    spaces[i] = ts.space.by_hand(function(sch)
      local _, fine, why = run(f, sch, chosen, branches)
      if not fine then error(why, 0) end
    end)
  end
  return ts.space.union(spaces)
end

-- ---- code molds ----------------------------------------------------------

local function has(list, value)
  for _, v in ipairs(type(list) == "table" and list or { list }) do
    if v == value then return true end
  end
  return false
end

-- Whether the values are as { name = value or list of values } says.
local function holds(condition, values)
  for name, wanted in next, condition do
    if not has(wanted, values[name]) then return false end
  end
  return true
end

local function shown(v)
  return type(v) == "string" and options.quoted(v) or tostring(v)
end

-- Refuses values in a condition that the parameter does not have.
local function check_condition(what, condition, known)
  for name, wanted in next, condition do
    for _, v in ipairs(type(wanted) == "table" and wanted or { wanted }) do
      if not has(known[name].values, v) then
        local there = {}
        for i, x in ipairs(known[name].values) do
          there[i] = shown(x)
        end
        wrong("template.mold: %s: parameter %s has no value %s; it has %s",
              what, options.quoted(name), shown(v),
              table.concat(there, ", "))
      end
    end
  end
end

local function check_parameters(m)
  local known = {}
  check_names("template.mold", m, "parameters forbid apply")
  for _, p in ipairs(m.parameters) do
    check_names("a parameter", p, "name values when branch")
    check_values("template.mold", p.name, p.values)
    check_branch("template.mold: parameter", p.name, p.branch)
    for name in next, p.when or {} do
      if not known[name] then
        wrong("template.mold: %s depends on %s, which is no parameter " ..
              "before it", options.quoted(p.name), options.quoted(name))
      end
    end
    check_condition("'when' of " .. options.quoted(p.name), p.when or {}, known)
    if known[p.name] then
      wrong("template.mold: there are two parameters %s",
            options.quoted(p.name))
    end
    known[p.name] = p
  end
  for _, condition in ipairs(m.forbid or {}) do
    for name in next, condition do
      if not known[name] then
        wrong("template.mold: %s is forbidden and is no parameter",
              options.quoted(name))
      end
    end
    check_condition("forbid", condition, known)
  end
end

-- Parameters that conditions are on, those that are no integers, and those that
-- the function is said to branch on.
local function deciding(m)
  local decides = {}
  for _, p in ipairs(m.parameters) do
    if p.branch or not all_integers(p.values) then decides[p.name] = true end
    for name in next, p.when or {} do decides[name] = true end
  end
  for _, condition in ipairs(m.forbid or {}) do
    for name in next, condition do decides[name] = true end
  end
  return decides
end

-- The combinations of what decides that are allowed; what does not apply has no
-- value.
local function settings(m, decides)
  local all = { {} }
  for _, p in ipairs(m.parameters) do
    local longer = {}
    for _, before in ipairs(all) do
      local applies = not p.when or holds(p.when, before)
      local values = decides[p.name] and applies and p.values or { false }
      for _, v in ipairs(values) do
        local own = {}
        for k, x in next, before do own[k] = x end
        if decides[p.name] and applies then own[p.name] = v end
        longer[#longer + 1] = own
      end
    end
    all = longer
    if #all > 64 * most then wrong("template.mold: too many combinations") end
  end
  local allowed = {}
  for _, values in ipairs(all) do
    local forbidden = false
    for _, condition in ipairs(m.forbid or {}) do
      forbidden = forbidden or holds(condition, values)
    end
    if not forbidden then allowed[#allowed + 1] = values end
  end
  return allowed
end

local function position(list, value)
  for i, v in ipairs(list) do
    if rawequal(v, value) then return i end
  end
end

-- One run of a mold: `chosen` and `plain` as branching.find has them; without,
-- the one that makes the sketch.
local function apply(m, sch, values, decides, chosen, plain)
  local looking = chosen ~= nil
  local p, of_draws, draws, read, named = {}, {}, {}, {}, {}
  for _, x in ipairs(m.parameters) do
    local name = x.name
    local sampled = not decides[name] and
                    (not x.when or holds(x.when, values))
    local value = values[name]
    if sampled then
      value = sampling.evenly(sch, x.values)
      if looking and plain[name] then
        value = x.values[chosen[name]]
      elseif looking and x.branch == nil then
        draws[name] = branching.drawn(sch)
        of_draws[name] = value
      end
    end
    if of_draws[name] == nil then p[name] = value end
    if value ~= nil then
      named[#named + 1] = { name, value, position(x.values, value) }
    end
  end
  m.apply(sch, setmetatable(p, { __index = function(_, name)
    read[name] = true
    return of_draws[name]
  end }))
  if not looking then write_names(sch, named) end
  return draws, read
end

-- Refuses parameters that are sampled and that the function branches on.
local function check_branches(m, sch, values, decides, limit)
  local counts = {}
  for _, x in ipairs(m.parameters) do
    if not decides[x.name] and x.branch == nil and
       (not x.when or holds(x.when, values)) then
      counts[#counts + 1] = { name = x.name, count = #x.values,
                              integers = true }
    end
  end
  local found = branching.find(counts, function(chosen, plain)
    local copy = sch:copy()
    local draws, read = apply(m, copy, values, decides, chosen, plain)
    return copy:trace(), draws, read
  end, limit)
  for _, x in ipairs(counts) do
    if found[x.name] then
      wrong("template.mold: parameter %s is sampled, so that its value is a " ..
            "random variable, which equals no integer; branch = true in it " ..
            "makes a sketch of each value, which is then a plain integer",
            options.quoted(x.name))
    end
  end
end

-- template.mold { parameters = { { name =, values =, when =, branch = }, ... },
--   forbid = { { name = value, ... }, ... }, apply = function(sch, p) }
-- `when` says of which values of earlier parameters one is there for; p has
-- the values by name, random variables where they are sampled.  Where `apply`
-- branches on integers, branch = true makes sketches of them.
function template.mold(m)
  if type(m) ~= "table" or type(m.parameters) ~= "table" or
     type(m.apply) ~= "function" then
    wrong("template.mold takes { parameters = list, apply = function(sch, p) }")
  end
  check_parameters(m)
  local decides, spaces = deciding(m), {}
  local all = settings(m, decides)
  if #all > most then
    wrong("template.mold: the space has more than %d sketches", most)
  elseif #all == 0 then
    wrong("template.mold: all combinations are forbidden")
  end
  for i, values in ipairs(all) do
    spaces[i] = ts.space.by_hand(function(sch)
      check_branches(m, sch, values, decides, math.max(4, 64 // #all))
      apply(m, sch, values, decides)
    end)
  end
  return ts.space.union(spaces)
end

return template
