-- SPDX-License-Identifier: Apache-2.0
-- Spaces by named parameters: templates with knobs, as AutoTVM has them, and
-- code molds, as ytopt has them.  Both are a thin layer over sampling: a knob
-- whose values are integers is a sampling instruction, and one that changes
-- which steps there are (an order of loops, an annotation, a word, a parameter
-- that others depend on) makes a sketch for each of its values.
--
-- template.space(program, f) is the space of f(cfg, sch); template.mold(m) that
-- of a table { parameters =, forbid =, apply = function(sch, p) }.
local ts = require "tessera"
local options = require "tessera.options"
local sampling = require "tessera.sampling"
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

local function check_values(who, name, list)
  if type(name) ~= "string" or name == "" then
    wrong("%s: a knob's name is a text, not %s", who, options.quoted(name))
  elseif type(list) ~= "table" or #list == 0 then
    wrong("%s: knob %s needs a list of values", who, options.quoted(name))
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

-- Knobs are asked for by name: cfg.tile_i, cfg["unroll"].
local function set(cfg, name, knob)
  if rawget(cfg, name) ~= nil or config[name] then
    wrong("the template has a knob %s already", options.quoted(name))
  end
  rawset(cfg, name, knob)
  return knob
end

-- Which of `count` alternatives this sketch has.
local function choose(cfg, count)
  local at = #cfg.counts + 1
  cfg.counts[at] = count
  return cfg.chosen[at] or 1
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

-- Cuts a loop into num_outputs parts, the innermost of at most max_factor
-- iterations; with `factors` into two, the inner one of one of these lengths.
-- cfg.NAME:apply(loop) gives the loops, outermost first; cfg.NAME.size are the
-- lengths.
function config.define_split(cfg, name, loop, o)
  o = o or {}
  check_names("define_split", o, "factors num_outputs max_factor")
  check_values("define_split", name, o.factors or { 1 })
  local size
  if o.factors then
    size = { ts.auto, sampling.evenly(cfg.sch, o.factors) }
  else
    size = { cfg.sch:sample_perfect_tile(loop, {
      n = o.num_outputs or 2, max_innermost_factor = o.max_factor or 64 }) }
  end
  return set(cfg, name, { size = size, apply = function(_, on)
    return cfg.sch:split(on or loop, size)
  end })
end

-- One of a list: cfg.NAME.val.  Integers are sampled; of others each makes a
-- sketch.
function config.define_knob(cfg, name, list)
  check_values("define_knob", name, list)
  if all_integers(list) then
    return set(cfg, name, { val = sampling.evenly(cfg.sch, list) })
  end
  return set(cfg, name, { val = list[choose(cfg, #list)] })
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
  local order = orders[choose(cfg, #orders)]
  return set(cfg, name, { order = order, apply = function(_, loops)
    local list = {}
    for i, at in ipairs(order) do list[i] = loops[at] end
    if #list ~= #loops then
      wrong("define_reorder: knob %s is of %d loops, not of %d",
            options.quoted(name), #list, #loops)
    end
    cfg.sch:reorder(list)
    return table.unpack(list)
  end })
end

local policies = { try_unroll = { "none", "unroll" },
                   try_vec = { "none", "vectorize" },
                   try_unroll_vec = { "none", "unroll", "vectorize" },
                   try_parallel = { "none", "parallel" } }

-- What becomes of a loop, by policy: cfg.NAME:apply(loop).
function config.define_annotate(cfg, name, policy)
  local list = policies[policy]
  if not list then
    wrong("define_annotate: there is no policy %s; there are try_unroll, " ..
          "try_vec, try_unroll_vec, try_parallel", options.quoted(policy))
  end
  local kind = list[choose(cfg, #list)]
  return set(cfg, name, { kind = kind, apply = function(_, loop)
    if kind ~= "none" then cfg.sch[kind](cfg.sch, loop) end
    return loop
  end })
end

local function run(f, sch, chosen)
  local cfg = setmetatable({ sch = sch, chosen = chosen, counts = {} }, config)
  f(cfg, sch)
  return cfg.counts
end

-- The space of a template for a program: the function is run once to see which
-- knobs make sketches, then for each combination of them.
function template.space(program, f)
  if type(f) ~= "function" then
    wrong("template.space takes a program and a function(cfg, sch)")
  end
  local spaces = {}
  for i, chosen in ipairs(combinations(run(f, ts.schedule(program), {}))) do
    spaces[i] = ts.space.by_hand(function(sch) run(f, sch, chosen) end)
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

local function check_parameters(m)
  local known = {}
  check_names("template.mold", m, "parameters forbid apply")
  for _, p in ipairs(m.parameters) do
    check_names("a parameter", p, "name values when")
    check_values("template.mold", p.name, p.values)
    for name in next, p.when or {} do
      if not known[name] then
        wrong("template.mold: %s depends on %s, which is no parameter " ..
              "before it", options.quoted(p.name), options.quoted(name))
      end
    end
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
  end
end

-- Parameters that conditions are on, and those that are no integers.
local function deciding(m)
  local decides = {}
  for _, p in ipairs(m.parameters) do
    if not all_integers(p.values) then decides[p.name] = true end
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

-- template.mold { parameters = { { name =, values =, when = }, ... },
--   forbid = { { name = value, ... }, ... }, apply = function(sch, p) }
-- `when` says of which values of earlier parameters one is there for; p has
-- the values by name, random variables where they are sampled.
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
      local p = {}
      for _, x in ipairs(m.parameters) do
        p[x.name] = values[x.name]
        if not decides[x.name] and (not x.when or holds(x.when, values)) then
          p[x.name] = sampling.evenly(sch, x.values)
        end
      end
      m.apply(sch, p)
    end)
  end
  return ts.space.union(spaces)
end

return template
