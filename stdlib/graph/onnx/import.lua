-- SPDX-License-Identifier: Apache-2.0
-- A file's graph as one of tessera.ops: each node becomes those that a function
-- of its family says.  Nodes that are not supported are collected, so that all
-- of them are named.
local ts = require "tessera"
local graph = require "tessera.graph"
local value = require "tessera.graph.value"
local counted = require "tessera.graph.onnx.counted"
local fold = require "tessera.graph.onnx.fold"
local inputs = require "tessera.graph.onnx.inputs"
local node = require "tessera.graph.onnx.node"
local packed = require "tessera.graph.onnx.packed"
local versions = require "tessera.graph.onnx.versions"

local of = {}
for _, family in ipairs { "elementwise", "shapes", "making", "indices",
                          "reduce", "resize", "layers", "attention",
                          "quantized", "control" } do
  require("tessera.graph.onnx." .. family)(of)
end
require("tessera.graph.onnx.windows").families(of)

local import = { of = of }

-- ---- operators -------------------------------------------------------------

-- An operator's name and domain, of a node "onnx.DOMAIN.NAME".
local function operator_of(info)
  local domain, name = info.op:match "^onnx%.(.*)%.([^.]+)$"
  return name or info.op:match "^onnx%.(.*)$", domain or ""
end

-- The function of a node, or nil and why it is not supported.
local domains = { [""] = true, ["ai.onnx.preview"] = true,
                  ["ai.onnx.ml"] = true }
local function family_of(info)
  local name, domain = operator_of(info)
  local f = domains[domain] and of[name] or of[domain .. "." .. name]
  if not f then
    return nil, domain == "" and "there is no such operator here" or
                ("there is no such operator of domain '%s' here"):format(domain)
  end
  local why = domain == "" and versions.refusal(name, info.attrs[".opset"])
  if why then return nil, why end
  return f
end

-- ---- what is not supported -------------------------------------------------

local function text_of(from, info)
  if info.name ~= "" then return ("node '%s'"):format(info.name) end
  local first = info.outputs[1]
  return ("the node of '%s'"):format(first and from:value_info(first).name or
                                     "")
end

local function note(state, from, info, why)
  local op = operator_of(info)
  local key = op .. "\0" .. why
  local row = state.refusals[key]
  if row then
    row.count = row.count + 1
    return
  end
  row = { op = op, why = why, first = text_of(from, info), count = 1 }
  state.refusals[key] = row
  state.refusals[#state.refusals + 1] = row
end

-- Raises an error that names all that was noted.
local function check_supported(state, file)
  if #state.refusals == 0 then return end
  local list = {}
  for i, r in ipairs(state.refusals) do
    local others = r.count > 1 and
                   (" and %d more"):format(r.count - 1) or ""
    list[i] = ("%s (%s)%s: %s"):format(r.first, r.op, others, r.why)
  end
  local message = ("%s: not supported: %s"):format(file,
                                                   table.concat(list, "; "))
  error(setmetatable({ code = "UNSUPPORTED", message = message, where = "" },
                     debug.getregistry()["tessera.error"]), 0)
end

-- Whether an error ends all: an interrupt, and memory that ran out, or would
-- have gone over its cap.
local function ends_all(e)
  if type(e) == "string" then return e:find "interrupted!?$" end
  local code = type(e) == "table" and e.code
  return code == "CANCELLED" or code == "NOMEM" or
         code == "LIMIT" and e.message:find("memory_cap", 1, true)
end

-- What an error says, in one line; those that end all go on.
local function reason_of(e)
  if type(e) == "table" and e.refused then return e.refused end
  local code = type(e) == "table" and e.code
  if ends_all(e) then error(e, 0) end
  local text = code and e.message or tostring(e)
  return (text:gsub("\n.*", ""))
end

-- ---- values ----------------------------------------------------------------

-- The constant that a tensor is in place of value x, from now on.
local function replace(state, x, t)
  local c = state.graph:constant(x.name or "", t)
  state.replaced[x.id] = c
  packed.mark(state, c, packed.type(state, x))
  return c
end

-- A constant of the file's graph; integers of few bits as bytes.
local function constant(state, from, id, name)
  local info = from:value_info(id)
  local c = state.graph:constant(name, from:value_tensor(id))
  if not packed.of(info.dtype) then return c end
  return packed.unpack(state, c, info.dtype, info.shape)
end

local function refuse_counted()
  error({ refused = "the data decides how many elements it takes" }, 0)
end

-- What x is now; nil of one whose extent the data decides, unless it folds.
local function settled(state, x)
  local bound = state.bounds[x.id]
  if bound and not state.replaced[x.id] then
    local t, n = fold.tensor(x), fold.tensor(bound.count)
    if not t or not n then return nil end
    replace(state, x, fold.first(t, bound.dim, fold.elements(n)[1]))
  end
  return state.replaced[x.id] or x
end

local function current(state, x)
  return settled(state, x) or refuse_counted()
end

-- The value of a name in a graph of the file's.
local function id_of(scope, name)
  if not scope.names then
    scope.names = {}
    local id = 1
    local ok, info = pcall(scope.from.value_info, scope.from, id)
    while ok do
      if info.kind ~= "outer" or not scope.names[info.name] then
        scope.names[info.name] = id
      end
      id = id + 1
      ok, info = pcall(scope.from.value_info, scope.from, id)
    end
  end
  return scope.names[name]
end

-- What a value of the file's graph became, before it is asked how many elements
-- it has; nil where a node before failed.
local function value_of(state, scope, id)
  local x = scope.values[id]
  if x ~= nil then return x and (state.replaced[x.id] or x) or nil end
  local info = scope.from:value_info(id)
  if info.kind == "constant" then
    x = state.constant(scope.from, id, info.name)
  elseif info.kind == "outer" then
    local outer = id_of(scope.outer, info.name)
    x = outer and value_of(state, scope.outer, outer)
  end
  scope.values[id] = x or false
  return x or nil
end

-- ---- nodes -----------------------------------------------------------------

local convert

-- The names of values of outside that branches take, and the values that nodes
-- and outputs take.
local function used_in(from, names, ids)
  for _, n in ipairs(from:order()) do
    local info = from:node_info(n)
    for _, id in ipairs(info.inputs) do
      ids[id] = true
      local v = id ~= 0 and from:value_info(id)
      if v and v.kind == "outer" then names[v.name] = true end
    end
    for attr, x in pairs(info.attrs) do
      if x == "graph" and pcall(from.branch, from, n, attr) then
        used_in(from:branch(n, attr), names, {})
      end
    end
  end
  for _, id in ipairs((from:output_values())) do
    ids[id] = true
    local v = from:value_info(id)
    if v.kind == "outer" then names[v.name] = true end
  end
end

-- Which outputs of a node someone takes.
local function wanted(scope, info)
  local list = {}
  for k, id in ipairs(info.outputs) do
    list[k] = scope.used[id] or
              scope.used_names[scope.from:value_info(id).name] or false
  end
  return list
end

-- The values that a node takes, and where the data decides the extent of some
-- { dims =, count = } of these (counted.lua); nil where one is not there since
-- its node is not supported.
local function inputs_of(state, scope, info)
  local inputs, open = {}, false
  for i, id in ipairs(info.inputs) do
    local x = id ~= 0 and value_of(state, scope, id)
    if x == nil then return nil end
    local y = x and settled(state, x)
    open = open or y == nil
    inputs[i] = y == nil and x or y
  end
  if not open then return inputs end
  local dims, count = counted.of(operator_of(info), inputs, state.bounds)
  return inputs, dims and { dims = dims, count = count } or refuse_counted()
end

-- The body of an attribute, where the node is, applied to values: its outputs.
function node:inline(attr, inputs)
  local from = self.scope.from:branch(self.info.id, attr)
  local scope = convert(self.state, from, self.scope, inputs)
  if not scope then error({ refused = "a node in it is not supported" }, 0) end
  local list = {}
  for k, id in ipairs((from:output_values())) do
    local x = value_of(self.state, scope, id) or
              self:refuse "a node in it is not supported"
    list[k] = current(self.state, x)
  end
  return list
end

local function results_of(state, f, n, open)
  local results = table.pack(f(n))
  for k = 1, n.nout do
    local r = results[k]
    if r and not value.is(r) then
      state.bounds[r[1].id] = { count = r.count, dim = r.dim }
      results[k] = r[1]
    end
  end
  for k = 1, open and n.nout or 0 do
    local dim = counted.dimension(operator_of(n.info), n, open.dims,
                                  results[k]) or refuse_counted()
    state.bounds[results[k].id] = { count = open.count, dim = dim }
  end
  local type = n:nin() > 0 and packed.type(state, n:x(1))
  if type and packed.moves[operator_of(n.info)] then
    packed.mark(state, results[1], type)
  end
  return results
end

-- What somebody takes has to be there.
local function check_results(n, results)
  for k = 1, n.nout do
    if n:wants(k) and not results[k] then
      n:refuse("its output %d is not computed", k)
    end
  end
end

local function convert_node(state, scope, info)
  local results
  local f, why = family_of(info)
  local ok, e = pcall(function()
    local inputs, open = inputs_of(state, scope, info)
    if not f or not inputs then return end
    state.current = info.name
    local n = node.new(state, info, inputs, wanted(scope, info))
    n.state, n.scope = state, scope
    results = results_of(state, f, n, open)
    check_results(n, results)
  end)
  why = why or not ok and reason_of(e)
  if why then note(state, scope.from, info, why) end
  for k, id in ipairs(info.outputs) do
    scope.values[id] = results and results[k] or false
  end
end

-- Converts the nodes of a file's graph; `inputs` are what its own inputs are.
function convert(state, from, outer, inputs)
  local scope = { from = from, outer = outer, values = {}, used = {},
                  used_names = {} }
  used_in(from, scope.used_names, scope.used)
  for i, id in ipairs(from:input_values()) do
    scope.values[id] = inputs[i] or false
  end
  for _, id in ipairs(from:order()) do
    local info = from:node_info(id)
    info.id = id
    state.from = from
    convert_node(state, scope, info)
  end
  return scope
end

-- ---- outputs ---------------------------------------------------------------

-- Outputs whose extent the data decides have another beside them that says it.
local function add_outputs(state, scope)
  local ids, names = scope.from:output_values()
  local g, bounds = state.graph, {}
  for k, id in ipairs(ids) do
    local x = scope.values[id]
    if x == nil then x = value_of(state, scope, id) end
    local bound = state.bounds[x.id]
    local y = bound and x or current(state, x)
    g:output(names[k], packed.type(state, y) and packed.pack(state, y) or y)
    if bound then bounds[names[k]] = bound end
  end
  for _, name in ipairs(names) do
    local bound = bounds[name]
    if bound then g:output(name .. ".count", bound.count) end
  end
  return bounds
end

-- Operators whose nodes are named after the file's.
local function named_ops(state)
  local ops = graph.ops(state.graph)
  local function named(...)
    local args = table.pack(...)
    local last = args[args.n]
    if type(last) == "table" and not value.is(last) then
      last.name = state.current
      return table.unpack(args, 1, args.n)
    end
    args[args.n + 1] = { name = state.current }
    return table.unpack(args, 1, args.n + 1)
  end
  return setmetatable({}, { __index = function(_, name)
    local f = ops[name]
    return function(...) return f(named(...)) end
  end })
end

-- The graph of tessera.ops for what ts.read_onnx gave; `bounds` says of outputs
-- by name along which dimension (`dim`) the output NAME.count cuts them.  Of
-- o.known, contents of inputs, those become constants that decide something.
-- With o.flags errors advise options of the command line.
function import.run(from, file, o)
  local shapes, values = o.shapes or {}, o.values or {}
  local words = o.flags and inputs.flags or inputs.script
  inputs.check(from, shapes, values, words)
  local state = { graph = graph.new(from:name()), refusals = {}, replaced = {},
                  bounds = {}, packed = {}, current = "", words = words }
  state.ops = named_ops(state)
  local known = o.known or {}
  function state.fixed(x) return x.kind == "input" and known[x.name] or nil end
  function state.replace(x, t) return replace(state, x, t) end
  function state.constant(...) return constant(state, ...) end
  local scope = convert(state, from, nil, inputs.add(state, from, shapes,
                                                values))
  check_supported(state, file)
  local bounds = add_outputs(state, scope)
  state.graph:sweep()
  return state.graph, bounds
end

return import
