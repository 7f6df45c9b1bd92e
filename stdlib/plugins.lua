-- SPDX-License-Identifier: Apache-2.0
-- The reference of what searches are extended with in Lua: strategies, cost
-- models, and the session that both may ask.  Pages and editors' stubs are
-- both made of it.
local plugins = {}

-- Tables: a field is { name, type, what it is }.
local classes = {
  { name = "tessera.Candidate", page = "candidate",
    summary = "A sketch with its decisions, and what measuring it gave.",
    { "sketch", "integer", "the number of the sketch, from 1; 1 if left out" },
    { "decisions", "integer[]", "the decision of each sampling instruction " ..
      "in turn, each preceded by its length" },
    { "seconds?", "number", "the median time; math.huge where there is none" },
    { "status?", "string", '"OK", or why there is no time: "BUILD_ERROR", ' ..
      '"LAUNCH_ERROR", "TIMEOUT", "CRASHED", "WRONG_RESULT", "INFRA"; ' ..
      'before measuring "OK"' } },
  { name = "tessera.Strategy",
    summary = "What ts.strategy takes; other fields are its own.",
    { "propose", "fun(self: table, session: tessera.Session, n: integer): " ..
      "tessera.Candidate[]",
      "gives a list of at most n candidates to measure" },
    { "observe?", "fun(self: table, session: tessera.Session, candidates: " ..
      "tessera.Candidate[])", "is told what measuring them gave" } },
  { name = "tessera.CostModel",
    summary = "What ts.cost_model takes; other fields are its own.",
    { "predict", "fun(self: table, session: tessera.Session, candidates: " ..
      "tessera.Candidate[]): number[]",
      "gives a list of scores, one for each candidate; higher is better" },
    { "update?", "fun(self: table, session: tessera.Session, candidates: " ..
      "tessera.Candidate[])", "is told what measuring them gave" } },
}

-- Functions: a parameter is { name, type, what it is }, a result { type, what
-- it is }.
local functions = {
  { name = "ts.strategy",
    summary = "Check a strategy: who proposes the candidates to measure.",
    params = { { "strategy", "tessera.Strategy", "its functions" } },
    returns = { "tessera.Strategy", "the same table, for the option strategy" },
    more = "class tessera.Strategy" },
  { name = "ts.cost_model",
    summary = "Check a cost model: who ranks candidates before they are " ..
              "measured.",
    params = { { "model", "tessera.CostModel", "its functions" } },
    returns = { "tessera.CostModel",
                "the same table, for the option cost_model" },
    more = "class tessera.CostModel" },
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
}

-- ---- pages -----------------------------------------------------------------

local function fields_text(class)
  local lines = {}
  for i, f in ipairs(class) do
    lines[i] = ("- `%s` (`%s`): %s"):format(f[1], f[2], f[3])
  end
  return table.concat(lines, "\n")
end

local function class_named(name)
  for _, c in ipairs(classes) do
    if c.name == name then return c end
  end
end

local function call_text(f)
  local names = {}
  for i, p in ipairs(f.params or {}) do names[i] = p[1] end
  return ("%s(%s)"):format(f.name, table.concat(names, ", "))
end

local function function_page(f)
  local lines = { "## " .. call_text(f), "", f.summary, "" }
  for _, p in ipairs(f.params or {}) do
    lines[#lines + 1] = ("- `%s` (`%s`): %s"):format(p[1], p[2], p[3])
  end
  lines[#lines + 1] = ("- returns `%s`: %s"):format(f.returns[1], f.returns[2])
  if f.more then
    local class = class_named(f.more:match("%S+$"))
    lines[#lines + 1] = ""
    lines[#lines + 1] = f.more .. ":"
    lines[#lines + 1] = ""
    lines[#lines + 1] = fields_text(class)
  end
  return table.concat(lines, "\n")
end

local function class_page(class)
  return ("## class %s\n\n%s\n\n%s"):format(class.name, class.summary,
                                            fields_text(class))
end

local function session_page()
  local lines = { "## class tessera.Session", "",
                  "What a strategy or a cost model may ask while it runs.",
                  "" }
  for _, f in ipairs(functions) do
    if f.name:find "^session:" then
      lines[#lines + 1] = ("- `%s`: %s"):format(call_text(f), f.summary)
    end
  end
  return table.concat(lines, "\n")
end

-- The page of a function, "session" or "candidate"; nil for anything else.
function plugins.page(name)
  if name == "session" then return session_page() end
  for _, f in ipairs(functions) do
    if f.name == name then return function_page(f) end
  end
  for _, c in ipairs(classes) do
    if c.page == name then return class_page(c) end
  end
end

-- Lines for an index.
function plugins.index()
  local lines = {}
  for i, f in ipairs(functions) do
    lines[i] = ("  %-26s %s"):format(f.name, f.summary)
  end
  return lines
end

-- ---- stubs -----------------------------------------------------------------

local function add_class(lines, name, summary, fields)
  lines[#lines + 1] = ""
  lines[#lines + 1] = "---" .. summary
  lines[#lines + 1] = "---@class " .. name
  for _, f in ipairs(fields) do
    lines[#lines + 1] = ("---@field %s %s %s"):format(f[1], f[2], f[3])
  end
end

local function add_function(lines, f)
  local names = {}
  lines[#lines + 1] = ""
  lines[#lines + 1] = "---" .. f.summary
  for i, p in ipairs(f.params or {}) do
    names[i] = p[1]
    lines[#lines + 1] = ("---@param %s %s %s"):format(p[1], p[2], p[3])
  end
  lines[#lines + 1] = ("---@return %s # %s"):format(f.returns[1], f.returns[2])
  local name = f.name:gsub("^session:", "Session:")
  lines[#lines + 1] = ("function %s(%s) end"):format(name,
                                                     table.concat(names, ", "))
end

-- Declarations for the Lua language server.
function plugins.stubs()
  local lines = {}
  for _, c in ipairs(classes) do add_class(lines, c.name, c.summary, c) end
  add_class(lines, "tessera.Session",
            "What a strategy or a cost model may ask while it runs.", {})
  lines[#lines + 1] = "local Session = {}"
  lines[#lines + 1] = ""
  lines[#lines + 1] = "---@class tessera"
  lines[#lines + 1] = "local ts = {}"
  for _, f in ipairs(functions) do add_function(lines, f) end
  return table.concat(lines, "\n") .. "\n"
end

return plugins
