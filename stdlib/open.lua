-- SPDX-License-Identifier: Apache-2.0
-- What `require "tessera"` opens of Lua, on top of the raw functions in
-- ts._core: the language of descriptions, spaces and tuning, models, and what a
-- stepper is asked.  Adds its functions to the module's table.
local checking = require "tessera.lang.options"
local index_map = require "tessera.lang.index_map"

-- What objects do not have is refused by its name, and of tensors also what
-- would be an element elsewhere.
local function name_methods(registry)
  local function no_element(i)
    registry["tessera.invalid"](("a tensor has no [%s]: t:get(i, j) gives " ..
      "an element, by an index a dimension, counted from 0"):format(i))
  end
  for _, class in ipairs { "schedule", "program", "trace", "kernel", "tensor",
                           "target", "database", "space", "stepper" } do
    local meta = registry["tessera." .. class]
    checking.refuse_unknown(meta.methods or meta.__index,
                            ("a %s has no method"):format(class), nil,
                            class == "tensor" and no_element)
  end
end

-- What a stepper is asked is answered by Lua, loaded when it is.
local function add_questions(methods)
  for _, name in ipairs { "why", "whynot", "bisect" } do
    methods[name] = function(...)
      return require("tessera.step.questions")[name](...)
    end
  end
  for _, name in ipairs { "blame", "html" } do
    methods[name] = function(...)
      return require("tessera.step." .. name)(...)
    end
  end
end

return function(ts)
  local core = ts._core
  ts._core = nil
  require "tessera.lang.options".declare(core.declared_options())
  local registry = debug.getregistry()
  registry["tessera.index_map"] = function(f)
    return index_map.text(core, f)
  end
  registry["tessera.invalid"] = core.invalid      -- ops.lua, tensor.lua
  name_methods(registry)
  -- Errors name the first line of Lua outside of this folder.
  registry["tessera.folder"] =
    debug.getinfo(1, "S").source:match("^@.*[/\\]")
  index_map.install(core)
  for _, part in ipairs { "expressions", "tensors", "builder" } do
    require("tessera.lang." .. part)(ts, core)
  end
  require "tessera.search.tune"(ts, core)
  -- ts.model(FILE.onnx or graph [, options]): a model that runs.
  function ts.model(from, o) return require "tessera.graph".model(from, o) end
  require "tessera.lang.names".install()
  add_questions(registry["tessera.stepper"].__index)
  return ts
end
