-- SPDX-License-Identifier: Apache-2.0
-- Models: a graph whose groups are compiled, with the best that the database
-- knows, what trials find, or the default schedules.
local ts = require "tessera"
local passes = require "tessera.graph.passes"
local program = require "tessera.graph.program"
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

-- The steps, each { program =, values = } or, of reshapes, { values = }.
local function steps_of(g)
  local steps, outside = {}, outside_of(g)
  for i, group in ipairs(groups_of(g)) do
    if only_reshapes(group) then
      for _, n in ipairs(group) do
        steps[#steps + 1] = { values = { n.inputs[1], n.outputs[1] } }
      end
    else
      local p, inputs, outputs = program.of(g, group, outside, "layout_free")
      if #p:params() > 120 then
        invalid(("group %d of graph %s takes %d tensors"):format(
          i, g:name(), #p:params()))
      end
      steps[#steps + 1] = { program = p, values = ids(inputs, outputs) }
    end
  end
  return steps
end

-- ---- compiling -------------------------------------------------------------

-- Options that ts.tune_tasks gets as they are.
local passed = { "target", "database", "trials", "deadline", "seed", "threads",
                 "kernel_threads", "batch", "min_time", "progress", "strategy",
                 "cost_model", "scheduler", "timeout" }

local function tuning_options(o)
  local list = {}
  for _, name in ipairs(passed) do list[name] = o[name] end
  if not o.trials and not o.deadline then
    list.frozen = true
    for _, name in ipairs { "batch", "progress", "scheduler", "min_time",
                            "timeout" } do
      list[name] = nil
    end
  end
  return list
end

local function compile(steps, o)
  local tasks, list = {}, {}
  for _, s in ipairs(steps) do
    if s.program then tasks[#tasks + 1] = s.program end
  end
  if #tasks == 0 then return steps end
  local results, i = ts.tune_tasks(tasks, tuning_options(o)), 0
  for k, s in ipairs(steps) do
    local kernel = false
    if s.program then
      i = i + 1
      kernel = results[i].kernel or ts.build(s.program, o.target)
      s.latency = results[i].latency
    end
    list[k] = { kernel, s.values }
  end
  return list
end

-- A model of a graph, which is changed and then belongs to it.
function model.new(g, o)
  o = o or {}
  passes.run(g, o)
  local steps = steps_of(g)
  local network = g:make_network(compile(steps, o))
  if o.kernel_threads then network:set_threads(o.kernel_threads) end
  local kernels = {}
  for _, s in ipairs(steps) do
    if s.program then kernels[#kernels + 1] = s end
  end
  return setmetatable({ graph = g, network = network, kernels = kernels },
                      model)
end

-- ---- running ---------------------------------------------------------------

-- The tensors of inputs, in order or by name.
local function input_tensors(g, given)
  local list = {}
  for i, v in ipairs(g:inputs()) do
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

-- Bytes: arena, its least possible, the sum of all that is computed, and of
-- constants that were laid out anew; and how many kernels.
function model:memory() return self.network:info() end

function model:__tostring() return tostring(self.graph) end

return model
