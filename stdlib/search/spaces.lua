-- SPDX-License-Identifier: Apache-2.0
-- ts.space: what a search looks through.
local options = require "tessera.lang.options"

local core, deterministic, postprocs

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

return function(ts, raw, run, kept, module)
  core, deterministic, postprocs = raw, run, kept
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

  -- Which module did what at which block, and why not: a line a module, or,
  -- with { all = true }, one for each block of each sketch.
  function space.explain(s, program, target, more)
    local call = "ts.space.explain"
    local why = more ~= nil and options.refusal(call, options.of[call], more)
    if why then core.invalid(why) end
    local text = core.space_explain(to_space(s), program, target)
    if more and more.all then return text end
    return require "tessera.search.explaining"(text)
  end
  debug.getregistry()["tessera.space"].__index.explain = space.explain

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
  return to_space, takes_none
end
