-- SPDX-License-Identifier: Apache-2.0
-- ts.builder: a program described by loops, blocks and stores.
local checking = require "tessera.lang.options"
local checks = require "tessera.lang.checks"

local builder = {}
builder.__index = builder

-- Builders made so far.  What one evaluates is of its own section of the list,
-- so that it comes into no other's program.
local sections = 0

-- Those that are in use, by section.
local living = setmetatable({}, { __mode = "v" })
debug.getregistry()["tessera.sections"] = living

-- The builder that made each buffer; its program is the one that can fill it.
local owner = setmetatable({}, { __mode = "k" })

-- Whether this builder can be used here.
local function enter(self)
  if type(self) ~= "table" or getmetatable(self) ~= builder then
    builder.core.invalid("a builder's functions are called with a colon, " ..
                         "b:loop(...)")
  end
  local opened = self.core.opened()   -- they append to one list of statements
  if opened and opened ~= self then
    self.core.invalid(("builder '%s' is used inside of a statement of " ..
                       "builder '%s', which is open"):format(self.name,
                                                            opened.name))
  end
  self.core.section(self.section)
end

local function check_body(self, what, f)
  if type(f) ~= "function" then
    self.core.invalid(("%s needs a function that describes what is in it, " ..
                       "not %s"):format(what, type(f)))
  end
end

local function parameter(self, role, list, name, shape, dtype, scope)
  local b = self.core.buffer(name, shape, dtype, scope or "global", role, true)
  table.insert(list, b)
  owner[b] = self
  return b
end

-- options: role, and what it holds, as of ts.placeholder.
function builder:input(name, shape, dtype, scope, options)
  enter(self)
  if type(dtype) == "table" then dtype, options = nil, dtype end
  if type(scope) == "table" then scope, options = nil, scope end
  self.core.options("b:input", options, "role", "range", "sorted", "unique",
                    "offsets_into")
  local role = options and options.role or "input"
  if role ~= "input" and role ~= "layout_free" then
    self.core.invalid(("b:input '%s': its role must be input or layout_free")
                      :format(tostring(name)))
  end
  local b = parameter(self, role, self.inputs, name, shape, dtype, scope)
  if options then checks.declare(self.core, b, name, options) end
  self.fixed[b] = name
  return b
end

-- A parameter that the caller fills and the program changes in place.
function builder:inout(name, shape, dtype, scope)
  enter(self)
  return parameter(self, "input", self.inputs, name, shape, dtype, scope)
end

function builder:output(name, shape, dtype, scope)
  enter(self)
  return parameter(self, "output", self.outputs, name, shape, dtype, scope)
end

function builder:buffer(name, shape, dtype, scope)
  enter(self)
  local b = self.core.buffer(name, shape, dtype, scope or "global", nil, false)
  owner[b] = self
  return b
end

-- b:loop("i", lo, extent, function(i) ... end)
function builder:loop(name, lo, extent, f)
  enter(self)
  checks.name(self.core, "a loop", name)
  check_body(self, ("loop '%s'"):format(name), f)
  self.core.loop(self, f, name, { lo, extent })
end

local of_iteration = { [1] = true, [2] = true, name = true, kind = true,
                       lo = true, extent = true, bind = true }

-- Iteration i of a block has no fields but these.
local function check_iteration(self, name, i, it)
  for k in next, it do
    if not of_iteration[k] then
      self.core.invalid(("iteration %d of block '%s' has no field %s; it is " ..
                         "{ name, kind, lo =, extent =, bind = }")
                        :format(i, name, checking.quoted(k)))
    end
  end
end

-- b:block("update", { { "vi", extent = N, bind = i },
--                     { "vk", "reduce", ... } },
--         [{ where = condition },] function(vi, vk) ... end)
function builder:block(name, iters, options, f)
  enter(self)
  checks.name(self.core, "a block", name)
  if type(options) == "function" then options, f = nil, options end
  self.core.options("b:block", options, "where")
  options = options or {}
  check_body(self, ("block '%s'"):format(name), f)
  if type(iters) ~= "table" then
    self.core.invalid(("block '%s' needs a list of its iterations, not %s")
                      :format(name, type(iters)))
  end
  local list = {}
  for i, it in ipairs(iters) do
    if type(it) ~= "table" then
      self.core.invalid(("iteration %d of block '%s' must be a table as " ..
                         "{ \"v\", extent = n, bind = i }, not %s")
                        :format(i, name, type(it)))
    end
    check_iteration(self, name, i, it)
    local iter = it[1] or it.name
    if iter ~= nil then checks.name(self.core, "an iteration", iter) end
    list[i] = { name = iter, kind = it[2] or it.kind or "spatial",
                lo = it.lo or 0, extent = it.extent, bind = it.bind }
  end
  self.core.block(self, f, name, list, options.where)
end

-- Inside a block: what happens when all its reduce variables are at their
-- start.
function builder:init(f)
  enter(self)
  check_body(self, "an init", f)
  self.core.init(self, f)
end

function builder:when(condition, yes, no)
  enter(self)
  check_body(self, "an if", yes)
  if no ~= nil then check_body(self, "an else", no) end
  self.core.when(self, function()
    yes()
    if no then
      self.core.else_begin()
      no()
    end
  end, condition)
end

function builder:let(name, value, f)
  enter(self)
  checks.name(self.core, "a let", name)
  check_body(self, ("let '%s'"):format(name), f)
  self.core.let(self, f, name, value)
end

function builder:store(buffer, indices, value)
  enter(self)
  local made = owner[buffer]
  if made and made ~= self then
    self.core.invalid(("%s is a buffer of builder '%s', and builder '%s' " ..
                       "cannot store to it")
                      :format(tostring(buffer), made.name, self.name))
  end
  if self.fixed[buffer] then
    self.core.invalid(("input '%s' cannot be stored to; a parameter that is " ..
                       "changed in place is made by b:inout")
                      :format(self.fixed[buffer]))
  end
  self.core.store(buffer, indices, value)
end

function builder:evaluate(x)
  enter(self)
  self.core.evaluate(x)
end

function builder:program()
  enter(self)
  return self.core.program(self.name, self.inputs, self.outputs, self.section)
end

function builder:__tostring() return "builder " .. self.name end

return function(ts, core)
  builder.core = core

  -- ts.builder(name): statements are appended in the order of the calls.
  function ts.builder(name)
    checks.name(core, "a builder", name)
    sections = sections + 1
    local b = setmetatable({ name = name, section = sections, inputs = {},
                             outputs = {}, fixed = {},
                             keep = core.hold() }, builder)
    living[sections] = b
    return b
  end
end
