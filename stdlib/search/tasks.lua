-- SPDX-License-Identifier: Apache-2.0
-- ts.tune_tasks: completes entries (programs, spaces, strategies and models of
-- each) and options, for the engine.
local options = require "tessera.lang.options"
local with_fleet_target = require "tessera.search.fleet_target"
local measure_name = require "tessera.search.measure_name"
local plugged = require "tessera.search.plugged"

local fields = { program = true, space = true, weight = true, name = true,
                 strategy = true, cost_model = true, target = true }

local function check_plugged(ts, maker, given)
  return plugged.checked[given] and given or ts[maker](given)
end

return function(ts, core, to_space, own_postprocs)
  local function invalid(text, ...) core.invalid(text:format(...)) end

  -- By their names, options that ts.tune has, too, and those of many tasks
  -- alone; and all names, in the order in which they are described.
  local shared, own, names = {}, {}, {}
  for _, o in ipairs(options.list) do
    if not o.single then
      shared[o.name] = o
      names[#names + 1] = o.name
    end
  end
  for _, o in ipairs(options.of["ts.tune_tasks"]) do
    own[o.name] = o
    names[#names + 1] = o.name
  end

  local function check_options(given)
    if given == nil then return end
    if type(given) ~= "table" then
      core.wrong_type(("the options of ts.tune_tasks are a table, not %s")
                      :format(type(given)))
    end
    for k, v in next, given do
      local o = own[k]
      local why
      if shared[k] and not (type(v) == "function" and
                            (k == "strategy" or k == "cost_model")) then
        why = options.wrong(k, v)
      elseif o then
        why = options.refusal("ts.tune_tasks", { o }, { [k] = v })
      elseif not shared[k] then
        invalid("unknown option %s of ts.tune_tasks, which has %s",
                options.quoted(k), table.concat(names, ", "))
      end
      if why then
        core.wrong_type("option " .. why:gsub("^ts%.tune_tasks: ", ""))
      end
    end
  end

  -- Entry i, whose program is one, for messages: "task 2 'conv2d'".
  local function label(i, e)
    return ("task %d '%s'"):format(i, type(e.name) == "string" and e.name or
                                      e.program:name())
  end

  -- An entry as a table of its own: a program alone has no fields.
  local function entry_of(given, i)
    if options.is(given, "program") then return { program = given } end
    if type(given) ~= "table" then
      invalid("task %d is %s, not a program or { program = ... }", i,
              options.text_of(given))
    end
    for k in next, given do
      if not fields[k] then
        invalid("task %d has no field %s; a task has program, space, " ..
                "weight, name, strategy and cost_model", i,
                options.quoted(k))
      end
    end
    if given.target ~= nil then
      invalid("task %d: the target is an option of all tasks", i)
    end
    if not options.is(given.program, "program") then
      invalid("task %d: its field 'program' is %s, not a program", i,
              options.text_of(given.program))
    end
    if given.name ~= nil and (type(given.name) ~= "string" or
                              given.name == "") then
      invalid("task %d: its name is %s, not a text that is not empty", i,
              options.text_of(given.name))
    end
    local w = given.weight
    if w ~= nil and (math.type(w) == nil or not (w > 0 and w < math.huge)) then
      invalid("%s: its weight is %s, not a positive number", label(i, given),
              type(w) == "number" and w or options.text_of(w))
    end
    local copy = {}
    for k, v in next, given do copy[k] = v end
    return copy
  end

  -- What an option or field `k` gives an entry: a name stays with the options,
  -- a function makes one for each program, a table is of one task only.
  local function plug(k, given, field, entry, i, n)
    local of = field
    if of == nil then
      of = given
      if type(of) == "string" then return nil end
      if type(of) == "table" and n > 1 then
        invalid("option '%s' is one table for %d tasks, whose states would " ..
                "mix: give a function that makes one for each program", k, n)
      end
    end
    if of == nil then return nil end
    local made = type(of) == "function"
    if made then of = of(entry.program) end
    if type(of) == "table" then return check_plugged(ts, k, of) end
    local what = k:gsub("_", " ")
    if options.is(of, "model") then
      invalid("%s: its cost model is a built-in model object, which ts.tune " ..
              "takes: for tasks give its name, of which each task has one " ..
              "of its own, or tune the programs one after the other by " ..
              "ts.tune with the object", label(i, entry))
    end
    if made then
      invalid("%s: the function that makes its %s returned %s, not a table " ..
              "of functions", label(i, entry), what,
              of == nil and "nil" or options.text_of(of))
    end
    invalid("%s: its %s is %s, not a table of functions", label(i, entry),
            what, options.text_of(of))
  end

  -- The space of an entry's own; what is wrong with it is said of the entry.
  local function own_space(make, given, who)
    local kind = type(given)
    if kind ~= "table" and kind ~= "function" and kind ~= "userdata" then
      invalid("%s: its space is %s, not a space, a list of modules or a " ..
              "function", who, options.text_of(given))
    end
    local ok, s = pcall(make, given)
    if ok then return s end
    if type(s) ~= "table" or s.code ~= "TYPE" and s.code ~= "INVALID" then
      error(s, 0)
    end
    invalid("%s: its space: %s", who, s.message)
  end

  -- ts.tune_tasks({ program, { program =, weight =, space =, name = }, ... },
  -- options): the results, in the order of the programs.
  function ts.tune_tasks(list, given)
    check_options(given)
    if type(list) ~= "table" or #list == 0 then
      invalid("ts.tune_tasks takes a list of programs, or of tables with one")
    end
    local stray = options.stray(list)
    if stray ~= nil then
      invalid("the list of tasks has a field %s, which is no task of it",
              options.quoted(stray))
    end
    local o, entries, default, made = {}, {}, nil, {}
    for k, v in next, with_fleet_target(ts, given) or {} do o[k] = v end
    local postprocs, given_postprocs = own_postprocs.split(o.postprocs)
    local functions = plugged.functions_of(o, given_postprocs)
    o.measure_name = measure_name.of(core, o)
    o.measure, o.measured, o.postprocs = nil, nil, nil
    -- Equal programs of one space are one task, so it is made once.
    local function space_of(given)
      if not made[given] then
        local s = given
        if postprocs ~= nil then s = ts.space.with_postprocs(s, postprocs) end
        made[given] = to_space(s)
      end
      return made[given]
    end
    -- Whether an earlier entry is the same task, whose strategy and model are
    -- those of both.
    local seen = {}
    local function is_same(e, i)
      local of = seen[e.space] or {}
      local hash = e.program:hash()
      seen[e.space] = of
      local first = of[hash]
      if not first then
        of[hash] = { strategy = e.strategy, cost_model = e.cost_model, i = i }
        return false
      end
      for _, k in ipairs { "strategy", "cost_model" } do
        if e[k] ~= nil and e[k] ~= first[k] then
          invalid("%s: its program and space are those of task %d, so they " ..
                  "are one task, but its %s is another", label(i, e), first.i,
                  (k:gsub("_", " ")))
        end
      end
      return true
    end
    if type(o.strategy) == "table" and plugged.is_built_in(o.strategy) then
      o.strategy = plugged.built_in_text(o.strategy)
    end
    for i = 1, #list do
      local e = entry_of(list[i], i)
      local space = e.space
      if space == nil then space = o.space end
      if space == nil then
        default = default or ts.space.default(o.target)
        space = default
      end
      e.space = e.space == nil and space_of(space) or
                own_space(space_of, e.space, label(i, e))
      local same = is_same(e, i)
      e.strategy = plug("strategy", o.strategy, e.strategy, e, i, #list)
      e.cost_model = plug("cost_model", o.cost_model, e.cost_model, e, i, #list)
      if same then e.strategy, e.cost_model = nil, nil end
      entries[i] = e
    end
    for _, k in ipairs { "strategy", "cost_model" } do
      if type(o[k]) ~= "string" then o[k] = nil end
    end
    o.space = nil
    return core.tune_tasks(entries, o, functions)
  end
end
