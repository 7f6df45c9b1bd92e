-- SPDX-License-Identifier: Apache-2.0
-- Reference of the classes: records and objects that functions take and return.
-- Pages and editors' stubs are generated from these tables; methods are in
-- functions.lua and plugins.lua.
local objects = {}

-- A class is { page = how code calls an object of it, and its page; name,
-- summary, more }, and its fields: { name, type, what it is }.  Editors' stubs
-- of the primitives declare those with `declared`.
local classes = {
  { name = "tessera.Program", page = "program", summary = "A program.",
    more = "It prints as its loops." },
  { name = "tessera.Schedule", page = "sch", also = "schedule",
    declared = true, summary = "A program that is being scheduled.",
    more = "It prints as its program. Primitives are its methods." },
  { name = "tessera.Block", page = "block", declared = true,
    summary = "A block of a schedule, for the primitives.",
    { "kind", "string", '"block"' } },
  { name = "tessera.Loop", page = "loop", declared = true,
    summary = "A loop of a schedule, for the primitives.",
    { "kind", "string", '"loop"' } },
  { name = "tessera.Int", page = "int", declared = true,
    summary = "A sampled integer of a schedule, for the primitives.",
    more = "It takes part in arithmetic; `sch:get` says what it is.",
    { "kind", "string", '"int"' } },
  { name = "tessera.Trace", page = "trace",
    summary = "What was done to a program: instructions, with decisions.",
    more = "It prints as Lua; #trace is how many instructions there are, " ..
           "trace[i] one of them." },
  { name = "tessera.Instruction", page = "instruction",
    summary = "One instruction of a trace, as trace[i] gives it.",
    { "name", "string", "its primitive" },
    { "place?", "string", "the line of Lua that made it" },
    { "inputs", "table", "blocks, loops and the like, by operand" },
    { "attrs", "table", "the other operands" },
    { "decision?", "integer[]", "what was drawn, where it samples" },
    { "outputs", "string[]", "the variables that it made" } },
  { name = "tessera.Stepper", page = "stepper",
    summary = "A trace that is gone through instruction by instruction.",
    more = "It stands after instruction 0 .. #stepper." },
  { name = "tessera.Buffer", page = "buffer",
    summary = "A tensor of what is described.",
    more = "It is called with indices: A(i, j).",
    { "name", "string", "its name" },
    { "dtype", "string", "its type" },
    { "shape", "table", "its extents: integers or expressions" } },
  { name = "tessera.Expr", page = "expr",
    summary = "A value of what is described; it takes part in arithmetic." },
  { name = "tessera.Builder", page = "builder",
    summary = "A program that is described by loops, blocks and stores." },
  { name = "tessera.Space", page = "space",
    summary = "What a search looks through: it writes the sketches." },
  { name = "tessera.Target", page = "target", summary = "A machine." },
  { name = "tessera.Kernel", page = "kernel",
    summary = "A compiled program.",
    more = "It is called with its tensors: kernel(a, b, c)." },
  { name = "tessera.Tensor", page = "tensor",
    summary = "Memory with a type and a shape." },
  { name = "tessera.Database", page = "database",
    summary = "A file of records." },
  { name = "tessera.Record", page = "record",
    summary = "A record of a database, as database:records gives it.",
    { "id", "integer", "its number, which database:trace takes" },
    { "workload", "string", "the name of the program" },
    { "hash", "string", "what tells it from others of that name: its hash, " ..
      "as program:hash() gives it" },
    { "shapes", "string", "the parameters of the program" },
    { "target", "string", "the machine that it was made for" },
    { "policy", "string", "how it was measured" },
    { "engine", "string", "the version of the engine that made it" },
    { "status", "string", '"OK", or how it failed: "BUILD_ERROR" and the ' ..
      'like' },
    { "message", "string", 'why it failed; "" of a success' },
    { "seconds", "number", "the median time; math.huge where it failed or " ..
      "is damaged" },
    { "samples", "number[]", "the times in seconds, as they were measured; " ..
      "none where it failed" },
    { "run?", "integer", "the number of the run that made it, as " ..
      "database:runs has it" },
    { "round?", "integer", "of which batch of the run it is, from 1" },
    { "slot?", "integer", "its place in the batch, from 1" },
    { "elapsed?", "number", "seconds since the run began" },
    { "predicted?", "number", "what the cost model said before it was " ..
      "measured; higher is better" },
    { "sketch", "string", "the hash of its trace without decisions" },
    { "decisions", "integer[]", "as a candidate has them" },
    { "checked", "boolean", "whether its results were compared with the " ..
      "unscheduled program's, and agreed" },
    { "damaged", "boolean", "whether its trace or decisions cannot be read, " ..
      "or are of two candidates" } },
  { name = "tessera.Result", page = "result",
    summary = "What a run of ts.tune found.",
    more = "Fields that end in ? are nil where nothing valid was found, or " ..
           "there is nothing to say.",
    { "status", "string", '"OK"; "NOT_FOUND" where nothing valid was found; ' ..
      '"CANCELLED", "IO" and the like where the run broke off' },
    { "message?", "string", "why the run broke off, or was ended by a " ..
      "candidate that failed" },
    { "latency?", "number", "the best time in seconds: the median when the " ..
      "best few were timed again at the end" },
    { "gflops?", "number", "operations a second of the best, in 10^9" },
    { "unscheduled?", "number", "the time of the unscheduled program in " ..
      "seconds: of its one run, or, where that is not clearly slower, timed " ..
      "interleaved with the best" },
    { "trials", "integer", "how many there were, those of the database " ..
      "included" },
    { "failed", "integer", "how many of these failed" },
    { "curve", "number[]", "the best time after each trial; math.huge while " ..
      "nothing valid was known" },
    { "trace?", "tessera.Trace", "the best, as its trace" },
    { "schedule?", "tessera.Schedule", "the best, as a schedule: a new one " ..
      "at each reading" },
    { "kernel?", "tessera.Kernel", "the best, compiled at the first reading " ..
      "and kept" },
    { "exhausted", "boolean", "whether it ended before its trials, since " ..
      "the strategy had nothing new three times in a row, or programs that " ..
      "were measured 1024 times" },
    { "funnel", "string", "what became of what this run drew" },
    { "ledger", "string", "where the time of this run went" },
    { "classes", "string", "how what this run measured ended, and how " ..
      "often, as JSON" },
    { "cost_model?", "tessera.Model", "that of the run, where it was a " ..
      "built-in one" },
    { "quality", "table[]", "how well it told each batch before it was " ..
      "taught it: `trials` known before, `n` in the batch, `rank_accuracy` " ..
      "(or `unranked`: why there is none), `top_k_recall`, and `rmse` of " ..
      "what predicts throughput" },
    { "note?", "string", "one line, where the latency is far from the best " ..
      "trial's time, the best is slower than the unscheduled program, the " ..
      "check of results sees little, no module applied, or most of what was " ..
      "drawn was refused by OTHER_OUTPUTS; of a run that found nothing, how " ..
      "the first candidate failed" } },
  { name = "tessera.Results", page = "results",
    summary = "What ts.tune_tasks found: results[i] is the " ..
              "tessera.Result of the i-th program given.",
    more = "It prints as the table of the tasks. Equal programs share a " ..
           "result.",
    { "status", "string", '"OK"; "CANCELLED"; or of the first task that has ' ..
      "no valid result or broke off" },
    { "latency?", "number", "the weighted sum of the best times, in seconds" },
    { "tasks", "integer", "how many different programs there were" },
    { "trials", "integer", "of all tasks, those of the database included" },
    { "failed", "integer", "how many of these failed" },
    { "seconds", "number", "how long it took" },
    { "table", "string", "the tasks, one a line" },
    { "funnel", "string", "what became of what was drawn, of all tasks" },
    { "ledger", "string", "where the time went" },
    { "note?", "string", "the notes of the tasks, with their names" },
    { "message?", "string", "why tasks broke off" } },
  { name = "tessera.Error", page = "error",
    summary = "What a failing function raises.",
    more = "It prints as its place and message, and until the next call of " ..
      "the engine with the program, the place marked: print it, or keep " ..
      "its tostring, before asking anything else. Whatever the " ..
      "primitive, it may be refused for NESTING (statements would be nested " ..
      "too deeply), DEPTH (the same of expressions) and GROWTH " ..
      "(it would make too many of these).",
    { "code", "string", 'its status: "INVALID", "REFUSED" and the like' },
    { "message", "string", "what is wrong" },
    { "primitive?", "string", "the primitive that failed" },
    { "reason?", "string", "why it was refused, as its page names it" },
    { "place?", "string", "where in the program or file, or the line of Lua " ..
      "that called" } },
  { name = "tessera.Progress", page = "progress",
    summary = "What the function that is the option progress is called with.",
    { "trials", "integer", "how many there were" },
    { "max_trials", "integer", "how many there are to be" },
    { "failed", "integer", "how many of these failed" },
    { "best", "number", "the best time so far, in seconds" },
    { "gflops?", "number", "operations a second of the best, in 10^9" },
    { "elapsed", "number", "seconds since the run began" },
    { "eta?", "number", "an estimate of the seconds that are left; nil " ..
      "until some trials are there to judge by" },
    { "status?", "string", 'how the trial that this follows ended, "OK" or ' ..
      "why it has no time; nil while a batch is compiled" },
    { "seconds?", "number", "its time; math.huge where it has none" },
    { "compiled?", "integer", "while a batch is compiled: how many of it are" },
    { "compiling?", "integer", "and how many it has" },
    { "text", "string", "all of it in a line" } },
  { name = "tessera.TasksProgress", page = "tasks_progress",
    summary = "What the option progress of ts.tune_tasks is called with.",
    { "event", "string", '"trial", "compile" or, after a batch, "round"' },
    { "task", "integer", "the task at work, from 1" },
    { "name", "string", "its name" },
    { "trials", "integer", "of all tasks so far" },
    { "max_trials?", "integer", "nil where only a deadline ends them" },
    { "failed", "integer", "how many of these failed" },
    { "latency?", "number", "the weighted sum of the best times, once each " ..
      "task has one" },
    { "elapsed", "number", "seconds since the beginning" },
    { "eta?", "number", "an estimate of the seconds that are left" },
    { "trial?", "tessera.Progress", "of that task; nil after a batch" },
    { "tasks", "table[]", "of each task: name, shapes, entries, weight, " ..
      "trials, failed, best, gflops, gain (seconds of weighted latency a " ..
      "minute of its batches), seconds, live" },
    { "table", "string", "the same as lines" },
    { "text", "string", "a line about all" } },
  { name = "tessera.Candidate", page = "candidate",
    summary = "A sketch with its decisions, and what measuring it gave.",
    { "sketch", "integer", "the number of the sketch, from 1; 1 if left out" },
    { "decisions", "integer[]", "the decision of each sampling instruction " ..
      "in order, each preceded by its length" },
    { "seconds?", "number", "the median time; math.huge where there is none" },
    { "status?", "string", '"OK", or why there is no time: "BUILD_ERROR", ' ..
      '"LAUNCH_ERROR", "TIMEOUT", "CRASHED", "WRONG_RESULT", "INFRA"; ' ..
      'before measuring "OK"' } },
  { name = "tessera.Strategy", page = "strategy",
    summary = "What ts.strategy takes; other fields are its own.",
    { "propose", "fun(self: table, session: tessera.Session, n: integer): " ..
      "tessera.Candidate[]",
      "gives a list of at most n candidates to measure" },
    { "observe?", "fun(self: table, session: tessera.Session, candidates: " ..
      "tessera.Candidate[])", "observes the measured candidates" } },
  { name = "tessera.CostModel", page = "cost_model",
    summary = "What ts.cost_model takes; other fields are its own.",
    { "predict", "fun(self: table, session: tessera.Session, candidates: " ..
      "tessera.Candidate[]): number[]",
      "gives a list of scores, one for each candidate; higher is better" },
    { "update?", "fun(self: table, session: tessera.Session, candidates: " ..
      "tessera.Candidate[])", "observes the measured candidates" } },
  { name = "tessera.Model", page = "model",
    summary = "A built-in cost model, as ts.cost_model makes one of a name: " ..
      "it goes on learning in each run that it is the option cost_model of." },
  { name = "tessera.Session", page = "session",
    summary = "The queries of a running strategy or cost model." },
}

-- The page of a class; `calls` gives the lines of what can be called on an
-- object of that name, `more` those of what else there is to say.
local function page(class, calls, more)
  local summary = class.summary .. (class.more and " " .. class.more or "")
  local lines = { "## class " .. class.name, "", summary, "" }
  for _, f in ipairs(class) do
    lines[#lines + 1] = ("- `%s` (`%s`): %s"):format(f[1], f[2], f[3])
  end
  table.move(calls, 1, #calls, #lines + 1, lines)
  table.move(more, 1, #more, #lines + 1, lines)
  return table.concat(lines, "\n")
end

-- What an index has of each class: { name =, summary =, page = a function of
-- the lines that page() wants }.
function objects.entries()
  local list = {}
  for i, class in ipairs(classes) do
    list[i] = { name = class.page, also = class.also, class = class.name,
                summary = class.summary,
                page = function(calls, more)
                  return page(class, calls, more)
                end }
  end
  return list
end

-- Declarations of the classes for the Lua language server, each with a local
-- variable for its methods.
function objects.stubs()
  local lines = {}
  for _, c in ipairs(classes) do
    if not c.declared then
      lines[#lines + 1] = ("\n---%s\n---@class %s"):format(c.summary, c.name)
      for _, f in ipairs(c) do
        lines[#lines + 1] = ("---@field %s %s %s"):format(f[1], f[2], f[3])
      end
      lines[#lines + 1] = ("local %s = {}"):format(c.name:match "%w+$")
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

-- The lines of the fields of a class, for the page of who takes one.
function objects.fields(name)
  for _, c in ipairs(classes) do
    if c.name == name then return page(c, {}, {}):match "\n\n(%- .*)$" end
  end
end

return objects
