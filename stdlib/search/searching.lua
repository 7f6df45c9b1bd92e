-- SPDX-License-Identifier: Apache-2.0
-- ts.module, ts.space, ts.strategy and ts.cost_model: the Lua part of the
-- module "tessera" about search.  Adds its functions to the module's table.

local options = require "tessera.lang.options"
local with_fleet_target = require "tessera.search.fleet_target"

local core, deterministic, postprocs

-- What the table t, which `maker` makes something of, has wrong: `fields` is a
-- list of { name =, type =, optional = }.  A field that is not among them is
-- wrong, too; with `own` such may stand there for what the object remembers,
-- unless they are functions.
local function check_fields(maker, usage, t, fields, own)
  local function wrong(text, ...)
    core.invalid(("%s takes %s: %s"):format(maker, usage, text:format(...)))
  end
  if type(t) ~= "table" then wrong("not %s", type(t)) end
  local known = {}
  for _, field in ipairs(fields) do
    local found = type(t[field.name])
    known[field.name] = true
    if found ~= field.type and not (field.optional and found == "nil") then
      wrong("%s is %s, not a %s", field.name, found, field.type)
    end
  end
  for k, v in next, t do
    if not known[k] and not (own and type(v) ~= "function") then
      wrong("there is no field %s", options.quoted(k))
    end
  end
end

-- ---- modules ---------------------------------------------------------------

local module = {}
module.__index = module

local instance = {
  __tostring = function(i) return "schedule module " .. i.name end,
}

function module.__tostring(m) return "schedule module " .. m.name end

-- A name in the list that is given for a parameter whose default is a list.
local function stray_of(default, given)
  if type(default) ~= "table" or #default == 0 or type(given) ~= "table" or
     options.stray(default) ~= nil then
    return nil
  end
  return options.stray(given)
end

-- An instance: the module with its parameters settled.
function module.__call(m, params)
  if params ~= nil and type(params) ~= "table" then
    core.invalid(("module '%s' takes a table of parameters, not %s")
                 :format(m.name, type(params)))
  end
  local p = {}
  for k, v in next, m.defaults do p[k] = v end
  for k, v in next, params or {} do
    if m.defaults[k] == nil then
      core.invalid(("module '%s' has no parameter %s")
                   :format(m.name, options.quoted(k)))
    end
    local stray = stray_of(m.defaults[k], v)
    if stray ~= nil then
      core.invalid(("module '%s': parameter '%s' is a list, without a field " ..
                    "%s"):format(m.name, k, options.quoted(stray)))
    end
    p[k] = v
  end
  local why = m.check and m.check(p, params or {})
  if why then core.invalid(("module '%s': %s"):format(m.name, why)) end
  return setmetatable({
    name = m.name, module = m, params = p,
    apply = function(sch, block)
      if not m.custom and sch:annotation(block, "schedule_rule") then
        return nil, "a rule of its own schedules it"
      end
      return deterministic(m.apply, sch, block, p)
    end,
  }, instance)
end

local module_fields = {
  { name = "name", type = "string" },
  { name = "defaults", type = "table", optional = true },
  { name = "apply", type = "function" },
  { name = "check", type = "function", optional = true },
  { name = "custom", type = "boolean", optional = true },
}

local function add_modules(ts)
  -- ts.module{ name =, defaults = {}, apply = function(sch, block, p),
  --   check = function(p, given) } -> what is wrong with the parameters, or
  --   nil; it may settle those that were not given.  With custom = true it
  --   is applied to blocks annotated "schedule_rule", too, of which others
  --   are kept away.
  function ts.module(m)
    check_fields("ts.module", "{ name = string, defaults = table, " ..
                 "apply = function(sch, block, p), check = " ..
                 "function(p, given) }", m, module_fields)
    if m.name == "" then core.invalid("ts.module: the name is empty") end
    m.defaults = m.defaults or {}
    return setmetatable(m, module)
  end
end

-- ---- spaces ----------------------------------------------------------------

local space = {}

-- A list of modules is a space, and so is a function that schedules by hand.
local function to_space(s)
  if type(s) == "function" then return space.by_hand(s) end
  if type(s) == "table" then return space.compose(s) end
  return s
end

-- Refuses a table where there are no options.
local function takes_none(call, more)
  if type(more) == "table" then core.options(call, more) end
end

-- Refuses what stands in a list by a name.
local function check_list(call, list)
  local stray = type(list) == "table" and options.stray(list)
  if stray then
    core.invalid(("%s takes a list, without a field %s"):format(
                   call, options.quoted(stray)))
  end
end

local function add_spaces(ts)
  local modules_of = setmetatable({}, { __mode = "k" })
  ts.space = space

  function space.traces(list)
    check_list("ts.space.traces", list)
    return core.space_traces(list)
  end

  -- The sketches of a space for a program [and a target]; with { postprocs =
  -- true } as they are tuned, with their postprocessors.
  function space.sketches(s, program, target, how)
    local call = "ts.space.sketches"
    local why = how ~= nil and options.refusal(call, options.of[call], how)
    if why then core.invalid(why) end
    local list = how and how.postprocs and core.space_postprocessed or
                 core.space_sketches
    return list(to_space(s), program, target)
  end

  -- A space of the sketches of s whose postprocessors are those of the list.
  function space.with_postprocs(s, list)
    local made = core.space_union { to_space(s) }
    return core.space_set_postprocs(made, postprocs.trace(list))
  end

  -- Which module did what at which block, and why not.
  function space.explain(s, program, target, more)
    takes_none("ts.space.explain", more)
    return core.space_explain(to_space(s), program, target)
  end

  -- The sketches of all the spaces of a list.
  function space.union(list)
    local spaces = list
    check_list("ts.space.union", list)
    if type(list) == "table" then
      spaces = {}
      for i = 1, #list do spaces[i] = to_space(list[i]) end
    end
    return core.space_union(spaces)
  end

  function space.compose(modules)
    if type(modules) == "table" and modules.apply then
      core.invalid(("a space is a list of modules: write module %s in " ..
                    "braces"):format(options.quoted(modules.name)))
    end
    check_list("ts.space.compose", modules)
    for i, m in ipairs(type(modules) == "table" and modules or {}) do
      if getmetatable(m) == module then
        core.invalid(("entry %d: module '%s' needs its parameters: write " ..
                      "it with {} behind"):format(i, m.name))
      end
    end
    local made = core.space_compose(modules)
    modules_of[made] = modules
    return made
  end

  -- ts.space.check(space or list of modules, program [, target]): true when
  -- the modules are deterministic, or false and where they are not.
  function space.check(s, program, target, more)
    takes_none("ts.space.check", more)
    local modules = modules_of[s] or s
    if type(modules) ~= "table" then
      core.invalid("ts.space.check takes a list of modules, or what " ..
                   "ts.space.compose made of one")
    end
    return require("tessera.search.check").check(ts, core, modules, program,
                                          target or "llvm")
  end

  -- A function that schedules the whole program by hand.
  function space.by_hand(f, more)
    takes_none("ts.space.by_hand", more)
    if type(f) ~= "function" then
      core.invalid("ts.space.by_hand takes a function(sch), not " .. type(f))
    end
    return core.space_by_hand {
      name = "by hand",
      apply = function(sch) return deterministic(f, sch) end,
    }
  end

  -- The space for a target: a list of modules that suit it.
  function space.default(target, more)
    takes_none("ts.space.default", more)
    target = ts.target(target)
    local made = require("tessera.modules.spaces").default(target)
    if not made then
      core.invalid(("there is no default space for target '%s'")
                   :format(tostring(target):match("^%S*")))
    end
    return made
  end
end

-- ---- strategies, cost models, tuning ---------------------------------------

-- What ts.strategy and ts.cost_model have looked at: later they may hold
-- anything that their functions put there.
local checked = setmetatable({}, { __mode = "k" })

local function checker(maker, usage, fields, printed)
  local kind = maker:match "%.(.*)":gsub("_", " ")
  printed = printed or { __tostring = function() return kind end }
  return function(t)
    check_fields(maker, usage, t, fields, true)
    checked[t] = true
    return getmetatable(t) and t or setmetatable(t, printed)
  end
end

-- What is no option at all is left for the engine to refuse.
local function check_options(given)
  local known = require "tessera.lang.options"
  for k, v in next, given do
    local option = known.by_name[k]
    local wrong = option and known.wrong(k, v)
    local word = type(v) == "string" and option and option.type:find '^"'
    local raise = word and core.invalid or core.wrong_type
    if wrong then raise("option " .. wrong) end
  end
end

-- ts.cost_model{ predict =, update = } checks a table; ts.cost_model "xgb" is a
-- built-in one that is kept; ts.cost_model.load(path [, own]) reads either.
local function add_models(ts)
  local keeping = require "tessera.search.keeping"
  local own = { __tostring = function() return "cost model" end,
                __index = { save = keeping.save(core) } }
  local check = checker("ts.cost_model",
    "{ predict = function(self, session, candidates), " ..
    "update = function(self, session, candidates) }",
    { { name = "predict", type = "function" },
      { name = "update", type = "function", optional = true } }, own)
  ts.cost_model = setmetatable({
    load = function(path, model)
      if model == nil then return core.model_load(path) end
      return keeping.load(core, path, check(model))
    end,
  }, { __call = function(_, what, more)
    takes_none("ts.cost_model", more)
    return type(what) == "string" and core.model(what) or check(what)
  end })
end

-- ---- built-in strategies with options --------------------------------------

-- { name = "annealing", chains = 64 }
local function is_built_in(t)
  return type(rawget(t, "name")) == "string" and t.propose == nil
end

local function copied(t)
  local copy = {}
  for k, v in next, t do copy[k] = v end
  return copy
end

local function option_text(name, v)
  local fits = math.type(v) or type(v) == "string" and v:find "^[%w_.-]+$"
  if not fits then
    core.wrong_type(("option '%s' of a strategy is %s, not a number or a word")
                    :format(name, require("tessera.lang.options").text_of(v)))
  end
  return ("%s=%s"):format(name, math.type(v) == "float" and
                                ("%.17g"):format(v) or v)
end

-- As the engine reads it, "annealing:chains=64"; probabilities of its own
-- mutators are options of the strategy.
local function built_in_text(t)
  local words = {}
  local function add(k, v)
    if type(k) ~= "string" or not k:find "^[%w_]+$" then
      core.invalid(("a strategy has no option %s")
                   :format(require("tessera.lang.options").quoted(k)))
    end
    words[#words + 1] = option_text(k, v)
  end
  for k, v in next, t do
    if k ~= "name" and k ~= "mutators" then add(k, v) end
  end
  local mutators = t.mutators == nil and {} or t.mutators
  if type(mutators) ~= "table" then
    core.wrong_type("'mutators' of a strategy is a table of them by name")
  end
  for k, v in next, mutators do
    if type(v) ~= "table" then add(k, v) end
  end
  table.sort(words)
  return t.name .. (#words > 0 and ":" .. table.concat(words, ",") or "")
end

-- What a run calls: options measure and measured, postprocs that are
-- functions, { name =, apply = }, and a list of the mutators
-- that are functions, { probability =, mutate = }, by name.
local function functions_of(o, own_postprocs)
  local list = { measure = o.measure, measured = o.measured,
                 postprocs = own_postprocs }
  local strategy = type(o.strategy) == "table" and o.strategy or {}
  local mutators = type(strategy.mutators) == "table" and strategy.mutators
  for name, m in next, is_built_in(strategy) and mutators or {} do
    if type(m) == "table" then
      check_fields(("mutator '%s'"):format(name),
                   "{ probability = number, mutate = " ..
                   "function(session, candidate) }", m,
                   { { name = "probability", type = "number" },
                     { name = "mutate", type = "function" } })
      if not (m.probability >= 0 and m.probability < math.huge) then
        core.invalid(("mutator '%s': its probability is %s, not a number " ..
                      "from 0 on"):format(name, m.probability))
      end
      list[#list + 1] = { name = name, probability = m.probability,
                          mutate = m.mutate }
    end
  end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

-- FNV-1a, 64 bits.
local function hash_of(text, h)
  for i = 1, #text do h = (h ~ text:byte(i)) * 0x100000001b3 end
  return h
end

-- The name by which the database keeps times of the option measure apart from
-- those of other functions: that which was given, or one of the function's
-- code and the texts, numbers and booleans that it captured.  Functions in C
-- have none.
local function name_measure(o)
  if o.measure == nil and o.measure_name ~= nil then
    core.invalid "option 'measure_name' is the name of the option 'measure', \z
                  which is not given"
  end
  if type(o.measure) ~= "function" or o.measure_name ~= nil then
    return o.measure_name
  end
  local ok, code = pcall(string.dump, o.measure, true)
  if not ok then return nil end
  local h, i = hash_of(code, -0x340d631b7bdddcdb), 1
  while true do
    local name, value = debug.getupvalue(o.measure, i)
    if not name then break end
    local kind = type(value)
    if kind == "string" or kind == "number" or kind == "boolean" then
      h = hash_of(("%d=%s:%s"):format(i, kind, value), h)
    end
    i = i + 1
  end
  return ("code %016x"):format(h)
end

local function add_tuning(ts)
  -- ts.strategy{ propose = function(self, session, n), observe = ... }: a
  -- checked table.
  ts.strategy = checker("ts.strategy",
    "{ propose = function(self, session, n), " ..
    "observe = function(self, session, candidates) }",
    { { name = "propose", type = "function" },
      { name = "observe", type = "function", optional = true } })

  -- The built-in strategies: of each its name, summary and options.
  ts.strategies = core.strategies

  function ts.tune(program, options)
    local o = type(options) == "table" and options or {}
    check_options(o)
    options = with_fleet_target(ts, options)
    o = type(options) == "table" and options or o
    local strategy = o.strategy
    if type(strategy) == "table" and is_built_in(strategy) then
      options = copied(o)
      options.strategy = built_in_text(strategy)
    elseif type(strategy) == "table" and not checked[strategy] then
      ts.strategy(strategy)
    end
    local model = o.cost_model
    if type(model) == "table" and not checked[model] then
      ts.cost_model(model)
    end
    local s = o.space
    if s == nil then s = space.default(o.target) end
    local named, functions = postprocs.split(o.postprocs)
    if named ~= nil then s = space.with_postprocs(s, named) end
    local name = name_measure(o)
    if name ~= o.measure_name then
      options = options == o and copied(o) or options
      options.measure_name = name
    end
    return core.tune(program, options, to_space(s),
                     functions_of(o, functions))
  end

  require "tessera.search.tasks"(ts, core, to_space, function(maker, given)
    return checked[given] and given or ts[maker](given)
  end, function(strategy)
    return is_built_in(strategy) and built_in_text(strategy) or strategy
  end, functions_of, postprocs.split, name_measure)
end

return function(ts, raw)
  core = raw
  deterministic = require "tessera.search.determinism"(core)
  postprocs = require "tessera.search.postprocs"(ts, core, deterministic)
  add_modules(ts)
  add_spaces(ts)
  add_models(ts)
  add_tuning(ts)
end
