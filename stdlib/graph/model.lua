-- SPDX-License-Identifier: Apache-2.0
-- Models: a graph whose groups are compiled, with the best that the database
-- knows, what trials find, or the default schedules.
local ts = require "tessera"
local passes = require "tessera.graph.passes"
local program = require "tessera.graph.program"
local json = require "tessera.lang.write_json".text
local invalid = debug.getregistry()["tessera.invalid"]

local model = {}
model.__index = model

-- ---- groups ----------------------------------------------------------------

-- Nodes of one group after the other; those without one are alone.
local function groups_of(g)
  local groups, last = {}, nil
  for _, n in ipairs(g:nodes()) do
    if n.group == 0 or n.group ~= last then groups[#groups + 1] = {} end
    table.insert(groups[#groups], n)
    last = n.group
  end
  return groups
end

-- Whether a value is taken outside of the group that makes it, or an output.
local function outside_of(g)
  local taken, made = {}, {}
  for i, group in ipairs(groups_of(g)) do
    for _, n in ipairs(group) do
      for _, id in ipairs(n.inputs) do
        if made[id] ~= i then taken[id] = true end
      end
      for _, id in ipairs(n.outputs) do made[id] = i end
    end
  end
  for _, v in ipairs((g:outputs())) do taken[v.id] = true end
  return function(id) return taken[id] end
end

local function ids(list, more)
  local numbers = {}
  for _, v in ipairs(list) do numbers[#numbers + 1] = v.id end
  for _, v in ipairs(more or {}) do numbers[#numbers + 1] = v.id end
  return numbers
end

-- Reshapes alone are no work: the elements stay where they are.
local function only_reshapes(group)
  for _, n in ipairs(group) do
    if n.op ~= "reshape" then return false end
  end
  return true
end

-- The steps, each { program =, values =, results = } or, of reshapes,
-- { values = }.
local function steps_of(g, o)
  local steps, outside = {}, outside_of(g)
  local role = not (o.without or {}).layout and "layout_free" or nil
  for i, group in ipairs(groups_of(g)) do
    if only_reshapes(group) then
      for _, n in ipairs(group) do
        steps[#steps + 1] = { values = { n.inputs[1], n.outputs[1] } }
      end
    else
      local p, inputs, outputs = program.of(g, group, outside, role, i)
      steps[#steps + 1] = { program = p, values = ids(inputs, outputs),
                            results = outputs }
    end
  end
  return steps
end

-- ---- compiling -------------------------------------------------------------

-- Options that ts.tune_tasks gets as they are.
local passed = { "target", "database", "trials", "deadline", "seed", "threads",
                 "kernel_threads", "batch", "min_time", "progress", "strategy",
                 "cost_model", "scheduler", "timeout", "measure",
                 "measure_name" }

local own = { "shapes", "values", "after", "without" }

local function check_options(o)
  local known = {}
  for _, list in ipairs { passed, own } do
    for _, name in ipairs(list) do known[name] = true end
  end
  for name in pairs(o) do
    if not known[name] then
      invalid(("unknown option %s of ts.model, which has %s, %s"):format(
        name, table.concat(own, ", "), table.concat(passed, ", ")))
    end
  end
end

-- Those of them that matter where nothing is measured.
local known = { "target", "database", "seed", "threads", "kernel_threads" }

local function chosen(names, o)
  local list = {}
  for _, name in ipairs(names) do list[name] = o[name] end
  return list
end

-- How results of programs are found: with the options' budget or, frozen, what
-- the database knows, or the default schedules.
local function tuner_of(o)
  return function(programs, frozen)
    local list = chosen(frozen and known or passed, o)
    list.frozen = frozen or nil
    return ts.tune_tasks(programs, list)
  end
end

-- A result with a kernel for each task, how the tuning ended, what broke it,
-- and the results as they were found.  What it ended before, or found nothing
-- for, has what a frozen one has.
local function results_of(tasks, measured, tune)
  local results, list = tune(tasks, not measured), {}
  if not measured then return results, "OK", nil, results end
  for i = 1, #tasks do
    list[i] = results[i].kernel and results[i] or
              tune({ tasks[i] }, true)[1]
  end
  local status = results.status == "NOT_FOUND" and "OK" or results.status
  return list, status, results.message, results
end

-- What there is to say of results, each text once.
local function notes_of(results, n)
  local notes = {}
  for i = 1, n do
    local note = results[i].note
    if note and note ~= "" and not notes[note] then
      notes[#notes + 1], notes[note] = note, true
    end
  end
  return notes
end

-- The steps as g:make_network takes them, and in `m` what came of the tuning.
local function compile(m, steps, measured, tune)
  local tasks, list, i = {}, {}, 0
  for _, s in ipairs(steps) do
    if s.program then tasks[#tasks + 1] = s.program end
  end
  local results = {}
  m.status = "OK"
  if #tasks > 0 then
    results, m.status, m.message, m.results = results_of(tasks, measured, tune)
  end
  for k, s in ipairs(steps) do
    if s.program then
      i = i + 1
      s.trace = results[i].trace
    end
    list[k] = { s.program and results[i].kernel or false, s.values }
  end
  m.notes = notes_of(results, #tasks)
  return list
end

-- What has no programs is refused before passes change the graph.
local function check_graph(g)
  for _, n in ipairs(g:nodes()) do
    if not program.row(n.op) then
      invalid(("node %s of graph %s: there is no operator '%s'"):format(
        n.name == "" and n.id or "'" .. n.name .. "'", g:name(), n.op))
    end
  end
  for _, v in ipairs(g:inputs()) do
    for d, x in ipairs(v.shape) do
      if type(x) == "string" then
        invalid(("dimension %d of input %s of graph %s is of size '%s': " ..
                 "what is compiled has fixed sizes"):format(
          d - 1, v.name, g:name(), x))
      end
    end
  end
end

-- Whether passes have put nodes into groups.
local function is_grouped(g)
  for _, n in ipairs(g:nodes()) do
    if n.group ~= 0 then return true end
  end
  return false
end

-- A model of a graph, whose kernels are those of the results of
-- tune(programs, frozen), measured or frozen.  A graph in groups stays as it
-- is: it may belong to another model already.
function model.made(g, o, measured, tune)
  check_graph(g)
  if not is_grouped(g) then passes.run(g, o) end
  local m, steps = { graph = g, kernels = {} }, steps_of(g, o)
  m.steps = compile(m, steps, measured, tune)
  m.network = g:make_network(m.steps)
  for _, s in ipairs(steps) do
    if s.program then m.kernels[#m.kernels + 1] = s end
  end
  return setmetatable(m, model)
end

-- A model of a graph, which is changed and then belongs to it, or of an ONNX
-- file.
function model.new(from, o)
  o = o or {}
  check_options(o)
  local g = from
  if from == nil or type(from) == "number" or type(from) == "boolean" then
    invalid "a model is made of a graph, or of the name of an ONNX file"
  end
  if type(from) == "string" then
    g = require "tessera.graph.onnx".read(from, { shapes = o.shapes,
                                                  values = o.values })
  end
  local m = model.made(g, o, o.trials or o.deadline, tuner_of(o))
  if o.kernel_threads then m.network:set_threads(o.kernel_threads) end
  return m
end

-- ---- running ---------------------------------------------------------------

-- What is given and is no input, as a mask that the file no longer takes.
local function check_given(g, inputs, given)
  local known, names = {}, {}
  for i, v in ipairs(inputs) do
    known[i], known[v.name], names[i] = true, true, v.name
  end
  for key in pairs(given) do
    if not known[key] then
      invalid(("%s is no input of graph %s, which has %s"):format(
        key, g:name(), table.concat(names, ", ")))
    end
  end
end

-- The tensors of inputs, in order or by name.
local function input_tensors(g, given)
  local list = {}
  if type(given) ~= "table" then
    invalid(("graph %s takes a table of its inputs, in their order or by " ..
             "name"):format(g:name()))
  end
  local inputs = g:inputs()
  check_given(g, inputs, given)
  for i, v in ipairs(inputs) do
    list[i] = given[i] or given[v.name]
    if not list[i] then
      invalid(("graph %s needs its input %s"):format(g:name(), v))
    end
  end
  return list
end

local function with_outputs(m, given)
  local tensors, outputs = input_tensors(m.graph, given), {}
  local values, names = m.graph:outputs()
  local n = #tensors
  for i, v in ipairs(values) do
    outputs[i] = ts.tensor(v.dtype, v.shape)
    tensors[n + i] = outputs[i]
  end
  return tensors, outputs, names
end

-- m:run { x, .. } or { name = x }: the outputs, in order.
function model:run(given)
  local tensors, outputs = with_outputs(self, given)
  self.network:run(tensors)
  return table.unpack(outputs)
end

-- The seconds of each kernel, the least of some runs: { name =, seconds = }.
function model:times(given, runs)
  local tensors, list = with_outputs(self, given), {}
  for r = 1, runs or 5 do
    for k, seconds in ipairs(self.network:times(tensors)) do
      list[k] = list[k] or { name = self.kernels[k].program:name(),
                             seconds = seconds }
      list[k].seconds = math.min(list[k].seconds, seconds)
    end
  end
  return list
end

-- One run as trace events: JSON that Perfetto and chrome://tracing show.
function model:trace_events(given)
  local tensors, events, at = with_outputs(self, given), {}, 0
  self.network:run(tensors) -- so that pages and caches are there
  for k, seconds in ipairs(self.network:times(tensors)) do
    events[k] = { name = self.kernels[k].program:name(), ph = "X", pid = 1,
                  tid = 1, ts = at * 1e6, dur = seconds * 1e6,
                  args = { kernel = k } }
    at = at + seconds
  end
  return json { displayTimeUnit = "ms", traceEvents = events } .. "\n"
end

-- Bytes: arena, its least possible, the sum of all that is computed, and of
-- constants that were laid out anew; and how many kernels.
function model:memory() return self.network:info() end

-- m:save "resnet50.so": a shared library that needs nothing of Tessera, with
-- its C header beside it or at the other path.
function model:save(path, header) self.network:save(path, header) end

function model:__tostring() return tostring(self.graph) end

return model
