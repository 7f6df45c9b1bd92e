-- SPDX-License-Identifier: Apache-2.0
-- ts.strategy and ts.cost_model: what users plug into a search, and strategies
-- that are built in, with options.
local options = require "tessera.lang.options"
local check_fields = require "tessera.search.fields"
local plugged = {}

local core

-- What ts.strategy and ts.cost_model have looked at: later they may hold
-- anything that their functions put there.
plugged.checked = setmetatable({}, { __mode = "k" })

local function checker(maker, usage, fields, printed)
  local kind = maker:match "%.(.*)":gsub("_", " ")
  printed = printed or { __tostring = function() return kind end }
  return function(t)
    check_fields(core, maker, usage, t, fields, true)
    plugged.checked[t] = true
    return getmetatable(t) and t or setmetatable(t, printed)
  end
end

-- ts.cost_model{ predict =, update = } checks a table; ts.cost_model "xgb" is a
-- built-in one that is kept; ts.cost_model.load(path [, own]) reads either.
local function add_models(ts, takes_none)
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
function plugged.is_built_in(t)
  return type(rawget(t, "name")) == "string" and t.propose == nil
end

local function option_text(name, v)
  local fits = math.type(v) or type(v) == "string" and v:find "^[%w_.-]+$"
  if not fits then
    core.wrong_type(("option '%s' of a strategy is %s, not a number or a word")
                    :format(name, options.text_of(v)))
  end
  return ("%s=%s"):format(name, math.type(v) == "float" and
                                ("%.17g"):format(v) or v)
end

-- The option of the strategy that is any text, if it has one.
local function text_option(strategy)
  for _, s in ipairs(core.strategies()) do
    for _, o in ipairs(s.name == strategy and s.options or {}) do
      if o.words == "" then return o.name end
    end
  end
end

-- As the engine reads it, "annealing:chains=64"; probabilities of its own
-- mutators are options of the strategy, and a text is the last.
function plugged.built_in_text(t)
  local words, text = {}, text_option(t.name)
  local function add(k, v)
    if type(k) ~= "string" or not k:find "^[%w_]+$" then
      core.invalid(("a strategy has no option %s")
                   :format(options.quoted(k)))
    end
    words[#words + 1] = option_text(k, v)
  end
  for k, v in next, t do
    local apart = k == "name" or k == "mutators" or
                  k == text and type(v) == "string"
    if not apart then add(k, v) end
  end
  local mutators = t.mutators == nil and {} or t.mutators
  if type(mutators) ~= "table" then
    core.wrong_type("'mutators' of a strategy is a table of them by name")
  end
  for k, v in next, mutators do
    if type(v) ~= "table" then add(k, v) end
  end
  table.sort(words)
  if type(t[text]) == "string" then
    words[#words + 1] = ("%s=%s"):format(text, t[text])
  end
  return t.name .. (#words > 0 and ":" .. table.concat(words, ",") or "")
end

-- What a run calls: options measure and measured, postprocs that are
-- functions, { name =, apply = }, and a list of the mutators
-- that are functions, { probability =, mutate = }, by name.
function plugged.functions_of(o, own_postprocs)
  local list = { measure = o.measure, measured = o.measured,
                 postprocs = own_postprocs }
  local strategy = type(o.strategy) == "table" and o.strategy or {}
  local mutators = type(strategy.mutators) == "table" and strategy.mutators
  for name, m in next, plugged.is_built_in(strategy) and mutators or {} do
    if type(m) == "table" then
      check_fields(core, ("mutator '%s'"):format(name),
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

function plugged.install(ts, raw, takes_none)
  core = raw
  add_models(ts, takes_none)

  -- ts.strategy{ propose = function(self, session, n), observe = ... }: a
  -- checked table.
  ts.strategy = checker("ts.strategy",
    "{ propose = function(self, session, n), " ..
    "observe = function(self, session, candidates) }",
    { { name = "propose", type = "function" },
      { name = "observe", type = "function", optional = true } })

  -- The built-in strategies: of each its name, summary and options.
  ts.strategies = core.strategies
end

return plugged
