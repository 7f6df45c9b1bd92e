-- SPDX-License-Identifier: Apache-2.0
-- Templates: functions that ask for knobs by name, and the space of one.
local ts = require "tessera"
local options = require "tessera.lang.options"
local sampling = require "tessera.steps.sampling"
local branching = require "tessera.template.branching"
local common = require "tessera.template.common"
local wrong = common.wrong
local all_integers = common.all_integers
local check_branch = common.check_branch
local check_name = common.check_name
local check_values = common.check_values
local check_names = common.check_names
local write_names = common.write_names
local most = common.most
local knobs = {}

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
    size = { ts.auto, sampling.evenly(cfg.sch, o.factors,
                                      cfg.draw(#o.factors)) }
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
  local value = sampling.evenly(cfg.sch, list, at or cfg.draw(#list))
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
                draws = {}, read = {}, plain = {}, named = {},
                draw = branching.stream() }
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
function knobs.space(program, f)
  if type(f) ~= "function" then
    wrong("template.space takes a program and a function(cfg, sch)")
  end
  local branches, spaces = find_branching(program, f), {}
  local first
  local draw = branching.stream()
  common.first_accepted(ts.schedule(program), function(copy)
    local cfg, ok, e = run(f, copy, {}, branches, { draw = draw })
    first = cfg
    if not ok then error(e, 0) end
  end)
  local counts = {}
  for i, c in ipairs(first.counts) do counts[i] = c.count end
  for i, combination in ipairs(combinations(counts)) do
    local chosen = {}
    for k, c in ipairs(first.counts) do chosen[c.name] = combination[k] end
    spaces[i] = ts.space.by_hand(function(sch)
      local draw = branching.stream()
      return common.first_accepted(sch, function(copy)
        local _, fine, why = run(f, copy, chosen, branches, { draw = draw })
        if not fine then error(why, 0) end
      end)
    end)
  end
  return ts.space.union(spaces)
end

return knobs
