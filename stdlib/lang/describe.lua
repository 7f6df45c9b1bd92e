-- SPDX-License-Identifier: Apache-2.0
-- The language of descriptions: the Lua part of the module "tessera", on top of
-- the raw functions in ts._core.  Adds its functions to the module's table;
-- modules and spaces are in search/.
local checking = require "tessera.lang.options"

local function axis_names(f, n)
  local names, default = {}, { "i", "j", "k", "l", "m", "n" }
  for d = 1, n do
    names[d] = debug.getlocal(f, d) or default[d] or ("i" .. d)
  end
  return names
end

-- What has a name quotes it in errors, and much that is none prints itself at
-- length.
local function check_name(core, what, name)
  if type(name) ~= "string" then
    core.wrong_type(("the name of %s must be a string, not %s")
                    :format(what, type(name)))
  end
end

-- One axis or a list of axes, as a list.
local function axes_of(axes)
  if type(axes) == "table" then return axes end
  return { axes }
end

-- ---- index maps -----------------------------------------------------------

-- A parameter of an index map that is given as a function, or what was made
-- of some: its text, how tightly that binds, and the list of the sampled
-- integers in the map, which stand in the text as $1, $2, ...
local formal = {}

local function is_formal(x) return getmetatable(x) == formal end

local ranks = { ["+"] = 1, ["-"] = 1, ["*"] = 2, ["//"] = 2, ["%"] = 2 }
local ATOM = 3

local function no_index(core)
  core.invalid("an index map computes with its parameters, integers and " ..
               "sampled integers, by + - * // % ts.min ts.max")
end

-- x as one, in a map with these sampled integers.
local function to_formal(core, sampled, x)
  if is_formal(x) then return x end
  if math.type(x) == "integer" then
    return setmetatable({ text = tostring(x), sampled = sampled,
                          rank = x < 0 and 0 or ATOM }, formal)
  end
  if type(x) ~= "userdata" or not core.rv_op(x, 0, "+") then
    no_index(core)
  end
  local k = 1
  while sampled[k] and sampled[k] ~= x do k = k + 1 end
  sampled[k] = x
  return setmetatable({ text = "$" .. k, sampled = sampled, rank = ATOM },
                      formal)
end

local function combine(core, op, a, b)
  local sampled = (is_formal(a) and a or b).sampled
  a, b = to_formal(core, sampled, a), to_formal(core, sampled, b)
  local rank = ranks[op]
  if not rank then
    return setmetatable({ text = ("%s(%s, %s)"):format(op, a.text, b.text),
                          sampled = sampled, rank = ATOM }, formal)
  end
  local left = a.rank < rank and "(%s)" or "%s"
  local right = b.rank <= rank and "(%s)" or "%s"
  return setmetatable({ text = (left .. " %s " .. right):format(a.text, op,
                                                                b.text),
                        sampled = sampled, rank = rank }, formal)
end

local function add_formals(core)
  for event, op in pairs { __add = "+", __sub = "-", __mul = "*",
                           __idiv = "//", __mod = "%" } do
    formal[event] = function(a, b) return combine(core, op, a, b) end
  end
  formal.__div = function() no_index(core) end
  formal.__pow = formal.__div
  formal.__unm = function(a) return combine(core, "-", 0, a) end
  formal.__tostring = function(a) return a.text end
end

-- The name of parameter d of f, unlike those before: function(_, _, k).
local function formal_name(f, d, seen)
  local name, n = debug.getlocal(f, d), 1
  local unlike = name
  while seen[unlike] do
    n = n + 1
    unlike = name .. n
  end
  seen[unlike] = true
  return unlike
end

-- An index map given as a function, as what traces keep: a text, or a list of
-- the text and what $1, $2, ... in it stand for.
local function index_map(core, f)
  local names, params, sampled, seen = {}, {}, {}, {}
  local info = debug.getinfo(f, "u")
  if info.isvararg then
    core.invalid("an index map has named parameters, one for each index")
  end
  for d = 1, info.nparams do
    names[d] = formal_name(f, d, seen)
    params[d] = setmetatable({ text = names[d], sampled = sampled,
                               rank = ATOM }, formal)
  end
  local results = table.pack(f(table.unpack(params)))
  if results.n == 1 and type(results[1]) == "table" and
     not is_formal(results[1]) then
    results = results[1]
  end
  local flat = {}                       -- pairs of begin and end too
  for i = 1, results.n or #results do
    local r = results[i]
    local pair = type(r) == "table" and not is_formal(r) and r or { r }
    for _, x in ipairs(pair) do
      flat[#flat + 1] = to_formal(core, sampled, x).text
    end
  end
  local text = ("(%s) -> (%s)"):format(table.concat(names, ", "),
                                       table.concat(flat, ", "))
  return #sampled > 0 and { text, table.unpack(sampled) } or text
end

-- ---- expressions ----------------------------------------------------------

local function add_expressions(ts, core)
  ts.const, ts.cast, ts.select = core.const, core.cast, core.select
  ts.bit_cast = core.bit_cast

  for _, fn in ipairs {
    "abs", "exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan",
    "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "sigmoid", "erf", "erfc", "floor", "ceil", "round",
  } do
    ts[fn] = function(x) return core.call(fn, x) end
  end
  for _, fn in ipairs { "pow", "shl", "shr", "bitand", "bitor", "bitxor" } do
    ts[fn] = function(x, y) return core.call(fn, x, y) end
  end
  function ts.bitnot(x) return core.call("bitnot", x) end
  function ts.clamp(x, low, high) return ts.min(ts.max(x, low), high) end
  function ts.call_extern(name, dtype, ...)
    return core.call_extern(name, dtype, ...)
  end

  -- ts.min, ts.max, ts.all, ts.any take one or more operands; the first two
  -- also integer variables of a schedule and parameters of an index map.
  local function fold(op)
    local function pair(a, b)
      if is_formal(a) or is_formal(b) then return combine(core, op, a, b) end
      return core.rv_op(a, b, op) or core.binary(a, b, op)
    end
    return function(first, ...)
      local rest = table.pack(...)
      if rest.n == 0 then pair(first, first) end -- for what it refuses
      for i = 1, rest.n do first = pair(first, rest[i]) end
      return first
    end
  end
  ts.min, ts.max = fold "min", fold "max"
  ts.all, ts.any = fold "and", fold "or"
  ts.land, ts.lor = ts.all, ts.any
  function ts.lnot(x) return core.call("not", x) end

  for name, reducer in pairs { sum = "sum", prod = "prod",
                               reduce_max = "max", reduce_min = "min" } do
    ts[name] = function(x, axes)
      return core.reduce(reducer, { x }, axes_of(axes))
    end
  end

  -- ts.reducer(combine, identity [, name]): `combine` gets the values so far,
  -- then the new ones, and gives the combined; `identity` is a number or a
  -- list of as many.  The result is called with the sources, then the axes.
  -- Schedules reduce in parts where `combine` is seen to be associative and the
  -- identity neutral, and in any order where it is commutative, too
  -- (docs/describing.md, "Reducers").
  function ts.reducer(combine, identity, name)
    if type(identity) ~= "table" then identity = { identity } end
    return function(...)
      local sources = { ... }
      local axes = table.remove(sources)
      return core.reduce_with(combine, identity, sources, axes_of(axes), name)
    end
  end
end

-- How many arguments these take at the most: what would be dropped silently is
-- refused, since it may have been meant to count.  (Functions of one value are
-- often called back with more.)
local most = {
  cast = 2, bit_cast = 2, select = 3, clamp = 3,
  eq = 2, ne = 2, lt = 2, le = 2, gt = 2, ge = 2,
  sum = 2, prod = 2, reduce_max = 2, reduce_min = 2,
}
local reducers = { sum = true, prod = true, reduce_max = true,
                   reduce_min = true }

local function limit_arguments(ts, core)
  for name, n in pairs(most) do
    local f = assert(ts[name], name)
    ts[name] = function(...)
      local got = select("#", ...)
      if got > n then
        core.invalid(("ts.%s takes %d argument%s, not %d%s"):format(
          name, n, n == 1 and "" or "s", got,
          reducers[name] and "; several axes are a list, { k, l }" or ""))
      end
      return f(...)
    end
  end
end

-- ---- tensors ---------------------------------------------------------------

-- Declares what an input holds (docs/describing.md, "Indices from data").
local function declare(core, buffer, name, options)
  local range, into = options.range, options.offsets_into
  local function refuse(text)
    core.invalid(("placeholder '%s': %s"):format(name, text))
  end
  if range ~= nil and (type(range) ~= "table" or #range ~= 2 or
                       checking.stray(range) ~= nil) then
    refuse "range is { least, below }, and nothing else"
  end
  if into ~= nil then
    if range then refuse "offsets_into says the range, too" end
    if math.type(into) ~= "integer" or into < 0 or into == math.maxinteger then
      refuse("offsets_into is a number of elements, an integer of at least 0")
    end
    range = { 0, into + 1 }
  end
  for _, option in ipairs { "sorted", "unique" } do
    local v = options[option]
    if v ~= nil and type(v) ~= "boolean" then
      refuse(option .. " is true or false")
    end
  end
  if not range and not options.sorted and not options.unique then return end
  core.holds(buffer, range and range[1], range and range[2], options.sorted,
             options.unique, into ~= nil)
end

local function add_tensors(ts, core)
  function ts.placeholder(name, shape, dtype, options)
    if type(dtype) == "table" then dtype, options = nil, dtype end
    core.options("ts.placeholder", options, "role", "range", "sorted", "unique",
                 "offsets_into")
    local b = core.placeholder(name, shape, dtype, options and options.role)
    if options then declare(core, b, name, options) end
    return b
  end
  ts.constant = core.constant
  ts.size = core.size_var

  -- ts.reduce_axis("k", K), or ts.reduce_axis("k", {lo, extent})
  function ts.reduce_axis(name, range)
    local stray = type(range) == "table" and checking.stray(range)
    if stray then
      core.invalid(("reduce axis '%s': { lo, extent } has no field %s")
                   :format(tostring(name), checking.quoted(stray)))
    end
    if type(range) == "table" then
      return core.reduce_axis(name, range[1], range[2])
    end
    return core.reduce_axis(name, 0, range)
  end

  -- ts.compute(name, shape, function(i, j, ...) return body end)
  function ts.compute(name, shape, body)
    check_name(core, "a compute", name)
    if type(shape) ~= "table" then
      core.invalid(("the shape of compute '%s' must be a list of extents, " ..
                    "not %s"):format(name, type(shape)))
    end
    if type(body) ~= "function" then
      core.invalid(("the body of compute '%s' must be a function of its " ..
                    "axes, not %s"):format(name, type(body)))
    end
    return core.compute(body, name, shape, axis_names(body, #shape))
  end

  function ts.program(name, inputs, outputs)
    if type(outputs) == "table" and #outputs == 0 then
      core.invalid "ts.program: there is no output"
    end
    return core.program(name, inputs, outputs)
  end
end

-- ---- imperative blocks -----------------------------------------------------

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
  if options then declare(self.core, b, name, options) end
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
  check_name(self.core, "a loop", name)
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
  check_name(self.core, "a block", name)
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
    if iter ~= nil then check_name(self.core, "an iteration", iter) end
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
  check_name(self.core, "a let", name)
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

local function add_builder(ts, core)
  builder.core = core

  -- ts.builder(name): statements are appended in the order of the calls.
  function ts.builder(name)
    check_name(core, "a builder", name)
    sections = sections + 1
    local b = setmetatable({ name = name, section = sections, inputs = {},
                             outputs = {}, fixed = {},
                             keep = core.hold() }, builder)
    living[sections] = b
    return b
  end
end

-- What objects do not have is refused by its name.
local function name_methods(registry)
  for _, class in ipairs { "schedule", "program", "trace", "kernel", "tensor",
                           "target", "database", "space", "stepper" } do
    local meta = registry["tessera." .. class]
    checking.refuse_unknown(meta.methods or meta.__index,
                            ("a %s has no method"):format(class))
  end
end

-- What a stepper is asked is answered by Lua, loaded when it is.
local function add_questions(methods)
  for _, name in ipairs { "why", "whynot", "bisect" } do
    methods[name] = function(...)
      return require("tessera.step.questions")[name](...)
    end
  end
  function methods.blame(...) return require "tessera.step.blame"(...) end
end

return function(ts)
  local core = ts._core
  ts._core = nil
  require "tessera.lang.options".declare(core.declared_options())
  local registry = debug.getregistry()
  registry["tessera.index_map"] = function(f)
    return index_map(core, f)
  end
  registry["tessera.invalid"] = core.invalid      -- ops.lua, tensor.lua
  name_methods(registry)
  add_formals(core)
  -- Errors name the first line of Lua outside of the folder above.
  registry["tessera.folder"] =
    debug.getinfo(1, "S").source:match("^(@.*[/\\])lang[/\\]")
  add_expressions(ts, core)
  add_tensors(ts, core)
  add_builder(ts, core)
  limit_arguments(ts, core)
  require "tessera.search.searching"(ts, core)
  -- ts.model(FILE.onnx or graph [, options]): a model that runs.
  function ts.model(from, o) return require "tessera.graph".model(from, o) end
  require "tessera.lang.names".install()
  add_questions(registry["tessera.stepper"].__index)
  return ts
end
