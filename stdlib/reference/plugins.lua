-- SPDX-License-Identifier: Apache-2.0
-- Reference of search's extension points in Lua: strategies, cost models and
-- sessions.  Pages and editors' stubs are generated from it; their classes are
-- in objects.lua.
local objects = require "tessera.reference.objects"

local plugins = {}

-- Functions: a parameter is { name, type, what it is }, a result { type, what
-- it is }.
local functions = {
  { name = "ts.strategy",
    summary = "Check a strategy: who proposes the candidates to measure.",
    params = { { "strategy", "tessera.Strategy", "its functions" } },
    returns = { "tessera.Strategy", "the same table, for the option strategy" },
    takes = "tessera.Strategy" },
  { name = "ts.strategies",
    summary = "The built-in strategies (`tessera doc strategies`).",
    returns = { "table[]", "of each its `name`, `summary` and `options`, " ..
                "of each `name`, `help`, `default`, `least` and `most`" } },
  { name = "ts.cost_model",
    summary = "Check a cost model, or make a built-in one to keep: who " ..
              "ranks candidates before they are measured.",
    params = { { "model", "tessera.CostModel|string",
                 "its functions, or the name of a built-in one" } },
    returns = { "tessera.CostModel|tessera.Model",
                "the same table, or the model, for the option cost_model" },
    takes = "tessera.CostModel" },
  { name = "ts.cost_model.load",
    summary = "Read a cost model that was saved.",
    params = { { "path", "string", "the file" },
               { "own", "tessera.CostModel?",
                 "a model in Lua: what was kept of its fields is put there" } },
    returns = { "tessera.Model|tessera.CostModel",
                "the built-in model, or `own`" } },
  { name = "model:save",
    summary = "Write what a cost model was taught to a file; of one in Lua, " ..
              "its fields that are data.",
    params = { { "path", "string", "the file, which is replaced" } },
    returns = { "nil", "nothing" } },
  { name = "model:name",
    summary = "What a built-in cost model is called.",
    returns = { "string", 'as "xgb"' } },
  { name = "model:samples",
    summary = "How many candidates it was taught.",
    returns = { "integer", "those that failed included" } },
  { name = "model:importance",
    summary = "Which columns of its features matter most.",
    params = { { "n", "integer?", "how many of them; 10 if left out" } },
    returns = { "table[]", "of each its `column` and `share`; none until it " ..
                "is trained. UNSUPPORTED where no member is \"xgb\", " ..
                "\"xgb_rank\" or \"forest\"" } },
  { name = "session:sketches",
    summary = "How many sketches the space has.",
    returns = { "integer", "their number" } },
  { name = "session:draw",
    summary = "Draw a candidate at random: a sketch, and its decisions.",
    returns = { "tessera.Candidate?",
                "one that replays; nil after bounded tries" } },
  { name = "session:mutate",
    summary = "Change one decision of a candidate.",
    params = { { "parent", "tessera.Candidate", "it stays as it is" } },
    returns = { "tessera.Candidate?",
                "one that replays; nil after bounded tries" } },
  { name = "session:cross",
    summary = "Mix the decisions of two candidates of one sketch.",
    params = { { "a", "tessera.Candidate", "a parent" },
               { "b", "tessera.Candidate", "another of the same sketch" } },
    returns = { "tessera.Candidate?",
                "one that replays; nil after bounded tries" } },
  { name = "session:seen",
    summary = "Was a candidate measured already, in this run or an earlier " ..
              "one of the database?",
    params = { { "candidate", "tessera.Candidate", "the candidate" } },
    returns = { "boolean", "whether it was" } },
  { name = "session:unit",
    summary = "A random number of the run's seed.",
    returns = { "number", "0 or more, less than 1" } },
  { name = "session:predict",
    summary = "Ask the cost model.",
    params = { { "candidates", "tessera.Candidate[]", "at most 4096" } },
    returns = { "number[]", "their scores; higher is better" } },
  { name = "session:features",
    summary = "Describe candidates by numbers.",
    params = { { "candidates", "tessera.Candidate[]", "at most 4096" },
               { "kind", "string", '"per_store", "context", "tree", ' ..
                 '"traffic" or "decisions"' } },
    returns = { "number[][][], string[]",
                "of each candidate its rows; and the names of the columns" } },
  { name = "session:trace",
    summary = "The schedule of a candidate.",
    params = { { "candidate", "tessera.Candidate", "the candidate" } },
    returns = { "tessera.Trace", "its sketch with its decisions" } },
  { name = "session:program",
    summary = "The scheduled program of a candidate.",
    params = { { "candidate", "tessera.Candidate", "the candidate" } },
    returns = { "tessera.Program", "what its trace makes" } },
}

local function names_of(f)
  local names = {}
  for i, p in ipairs(f.params or {}) do names[i] = p[1] end
  return table.concat(names, ", ")
end

local function call_text(f) return ("%s(%s)"):format(f.name, names_of(f)) end

-- ---- pages -----------------------------------------------------------------

local function page(f)
  local lines = { "## " .. call_text(f), "", f.summary, "" }
  for _, p in ipairs(f.params or {}) do
    lines[#lines + 1] = ("- `%s` (`%s`): %s"):format(p[1], p[2], p[3])
  end
  lines[#lines + 1] = ("- returns `%s`: %s"):format(f.returns[1], f.returns[2])
  if f.takes then
    lines[#lines + 1] = ("\nclass %s:\n\n%s"):format(f.takes,
                                                    objects.fields(f.takes))
  end
  return table.concat(lines, "\n")
end

-- What an index has of each: { name =, call =, summary =, page = a function }.
function plugins.entries()
  local list = {}
  for i, f in ipairs(functions) do
    list[i] = { name = f.name, call = call_text(f), summary = f.summary,
                page = function() return page(f) end }
  end
  return list
end

-- ---- stubs -----------------------------------------------------------------

local function add_stub(lines, f)
  lines[#lines + 1] = "\n---" .. f.summary
  for _, p in ipairs(f.params or {}) do
    lines[#lines + 1] = ("---@param %s %s %s"):format(p[1], p[2], p[3])
  end
  lines[#lines + 1] = ("---@return %s # %s"):format(f.returns[1], f.returns[2])
  lines[#lines + 1] = ("function %s end"):format(
                        (call_text(f):gsub("^session:", "Session:")
                                     :gsub("^model:", "Model:")))
end

-- Declarations for the Lua language server, behind those of the classes and of
-- `ts`.
function plugins.stubs()
  local lines = {}
  for _, f in ipairs(functions) do add_stub(lines, f) end
  return table.concat(lines, "\n") .. "\n"
end

return plugins
