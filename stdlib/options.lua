-- SPDX-License-Identifier: Apache-2.0
-- Declarations and checks of options, shared by ts.tune and `tessera tune`.
local options = {}

-- Options of ts.tune; `flag` is how `tessera tune` spells one, `takes` what
-- stands behind it there: "count" (1 .. `most`), "unsigned" (of 64 bits),
-- "seconds", "string", or a list of the words that it may be.  Without a flag,
-- `instead` is how the command has it.
options.list = {
  { name = "target", flag = "target", takes = "string",
    type = "string|tessera.Target", default = '"llvm", this machine',
    help = "what to compile for" },
  { name = "trials", flag = "trials", takes = "count", type = "integer",
    default = "256", most = 10000000,
    help = "candidates to measure, those of the database included" },
  { name = "seed", flag = "seed", takes = "unsigned", type = "integer",
    default = "0",
    help = "of every random choice; the same seed and the same measured " ..
           "times give the same candidates, whatever the threads. It has 64 " ..
           "bits: --seed takes 0 .. 2^64 - 1, of which Lua writes those " ..
           "from 2^63 on as negative integers, -1 for the last, which " ..
           "--seed takes, too" },
  { name = "space", instead = "the field space of what FILE.lua returns",
    type = "tessera.Space|table|function",
    default = "ts.space.default(target)",
    help = "what to search: a space, a list of modules, or a function that " ..
           "schedules the whole program by hand" },
  { name = "postprocs",
    instead = "ts.space.with_postprocs around the field space of what " ..
              "FILE.lua returns",
    type = "table", default = "those of the space, or of the target's kind",
    help = "the postprocessors of all candidates: a list of names, of " ..
           "tables { name, parameter = value }, \"default\" for those of " ..
           "the target's kind, and of functions of a schedule, or " ..
           "{ name, function }, that schedule it further, or not, and say " ..
           "whether it is kept: true, or false and why" },
  { name = "inputs", flag = "inputs", takes = "string", type = "table",
    default = "drawn, within what the placeholders declare",
    help = "a list of your own tensors, one for each parameter that is no " ..
           "output, in order, that candidates are run and checked on; " ..
           "--inputs takes .npy files with commas between" },
  { name = "strategy", flag = "strategy", takes = "string",
    type = "string|table",
    default = '"hybrid", with a cost model "evolutionary"',
    help = "who proposes candidates: \"hybrid\", \"bayesian\", " ..
           "\"evolutionary\", \"annealing\", \"genetic\", " ..
           "\"droplet\", \"grid\", \"replay\" (random), with " ..
           "options as { name = \"annealing\", chains = 64 } or " ..
           "\"annealing:chains=64\" (`tessera doc strategies`), or what " ..
           "ts.strategy gives (`tessera doc ts.strategy`)" },
  { name = "cost_model", flag = "cost-model", takes = "string",
    type = "string|table|tessera.Model", default = '"forest"',
    help = "who ranks candidates before they are measured: \"random\", " ..
           "\"xgb\", \"xgb_rank\", \"forest\", \"gp\", \"treegru\", " ..
           "several as \"xgb+forest\", or what ts.cost_model gives " ..
           "(`tessera doc ts.cost_model`)" },
  { name = "database", flag = "db", takes = "string", type = "string",
    default = "none",
    help = "an SQLite file that keeps every record; a second run goes on " ..
           "where the first ended (the funnel and the classes of its result " ..
           "are its own alone), and runs at once need seeds of their own" },
  { name = "threads", flag = "threads", takes = "count", type = "integer",
    default = "as many as cores", most = 1024,
    help = "threads of the engine itself" },
  { name = "kernel_threads", flag = "kernel-threads", takes = "count",
    type = "integer", default = "the target's cores", most = 1024,
    help = "threads a measured kernel runs on" },
  { name = "batch", flag = "batch", takes = "count", type = "integer",
    default = "16", most = 4096,
    help = "candidates proposed and measured at a time" },
  { name = "min_time", flag = "min-time", takes = "seconds",
    type = "number", default = "0.1",
    help = "seconds a measurement lasts at least" },
  { name = "timeout", flag = "timeout", takes = "seconds",
    type = "number", default = "10",
    help = "seconds a candidate may run" },
  { name = "deadline", flag = "deadline", takes = "seconds",
    type = "number", default = "none",
    help = "seconds until the search ends, wherever it is; then the best " ..
           "few are timed once more, and the result has a note; ts.build in " ..
           "a strategy raises \"CANCELLED\" from then on" },
  { name = "on_error", flag = "on-error", takes = { "record", "stop" },
    type = '"record"|"stop"', default = '"record"',
    help = "\"record\": a candidate that fails is recorded, a module that " ..
           "fails at a block is left out there with a warning, and the run " ..
           "goes on; \"stop\": such a candidate ends the run, with its " ..
           "status and message in the result, and such a module is an error " ..
           "of ts.tune; a function as the space that fails always is" },
  { name = "check", flag = "check", takes = { "best", "all" },
    type = '"best"|"all"', default = '"best"',
    help = "which candidates are compared with the unscheduled program: " ..
           "every new best and, before they are timed again at the end, the " ..
           "best few; or all" },
  { name = "frozen", flag = "frozen", takes = "flag", type = "boolean",
    default = "false",
    help = "measure nothing: take the best that the database holds, or, " ..
           "where it holds nothing, what a heuristic prefers; a note says so" },
  { name = "transfer", flag = "no-transfer", takes = "flag", negates = true,
    type = "boolean", default = "true",
    help = "whether what the database holds of other workloads, measured " ..
           "for the same target in the same way, teaches a built-in cost " ..
           "model before there are own times, and whether the best " ..
           "decisions of the nearest of them, and those of this workload " ..
           "that were measured in other ways, are tried first" },
  { name = "warm_cache", flag = "warm-cache", takes = "flag", type = "boolean",
    default = "false",
    help = "on CUDA devices, leave in the L2 cache what the run before left " ..
           "there, instead of evicting it before each timed run; such times " ..
           "are not comparable with others. Refused for other targets, " ..
           "whose caches keep what they have" },
  { name = "measure", instead = "the field measure of what FILE.lua returns",
    type = "function", default = "none",
    help = "instead of compiling and running candidates: a function of " ..
           "(session, candidate) that gives a time in seconds, or nil and " ..
           "how it failed, as \"TIMEOUT\"" },
  { name = "measure_name",
    instead = "the field measure_name of what FILE.lua returns",
    type = "string", default = "made of the function's code",
    help = "what `measure` measures: in a database times under one name are " ..
           "compared with each other only. Without it functions of other " ..
           "code, of another place in their file, or with other texts, " ..
           "numbers or booleans in their upvalues count as different" },
  { name = "fleet", flag = "fleet", takes = "string", type = "string",
    default = "none",
    help = "the address of a fleet's database, as " ..
           "\"postgres://user@host/fleet\": its devices measure, not this " ..
           "machine (`tessera doc fleet`)" },
  { name = "key", flag = "key", takes = "string", type = "string",
    default = "none",
    help = "which of the fleet's devices measure: those of one key, which " ..
           "are equal, as \"sm_90\"; the target is theirs where none is " ..
           "given" },
  { name = "measured", instead = "the field measured of what FILE.lua returns",
    type = "function", default = "none",
    help = "a function of (session, candidates) that is told of each batch " ..
           "when the strategy and the model have observed it" },
  { name = "progress", instead = "progress is on stderr, with --json on stdout",
    type = "boolean|function", default = "false",
    help = "true: a line on stderr; a function: called with a table " ..
           "(trials, max_trials, failed, best, gflops, elapsed, eta, text; " ..
           "status and seconds of the trial, or compiled and compiling) " ..
           "after each candidate and while a batch is compiled, and ends " ..
           "the run by returning false" },
}

options.by_name = {}
for _, o in ipairs(options.list) do options.by_name[o.name] = o end

local function count(name, help, default)
  return { name = name, type = "integer", least = 1, default = default,
           help = help }
end

local function flag(name, help)
  return { name = name, type = "boolean", default = "false", help = help }
end

local function text(name, default, help)
  return { name = name, type = "string", default = default, help = help }
end

local function seed(default, help)
  return { name = "seed", type = "integer", default = default,
           help = "a number that says " .. help }
end

-- Options of other functions, by their names; ops/declare.lua adds those of
-- operators.
options.of = {
  ["tensor.mma"] = {
    count("m", "rows of A and of C; without it C is a row", "none"),
    count("n", "columns of B and of C"),
    count("k", "columns of A and rows of B"),
    text("dtype", "float32", "the type of A and B"),
    text("acc", "dtype", "the type of C"),
    flag("trans", "B is given as B[n, k]"),
  },
  ["ts.placeholder"] = {
    { name = "role", type = '"input"|"layout_free"', default = '"input"',
      help = "layout_free: schedules may lay it out anew" },
    { name = "range", type = "table", default = "none",
      help = "{ least, below }: the values of an integer input" },
    flag("sorted", "each element is at least the one before it"),
    flag("unique", "no two elements are equal"),
    { name = "offsets_into", type = "integer", default = "none",
      help = "offsets of rows of that many elements, as in CSR: sorted, the " ..
             "first 0, the last that number" },
  },
  ["builder:input"] = {
    { name = "role", type = '"input"|"layout_free"', default = '"input"',
      help = "layout_free: schedules may lay it out anew" },
    { name = "range", type = "table", default = "none",
      help = "{ least, below }: the values of an integer input" },
    flag("sorted", "each element is at least the one before it"),
    flag("unique", "no two elements are equal"),
    { name = "offsets_into", type = "integer", default = "none",
      help = "offsets of rows of that many elements, as in CSR: sorted, the " ..
             "first 0, the last that number" },
  },
  ["builder:block"] = {
    { name = "where", type = "tessera.Expr", default = "always",
      help = "the condition under which an instance runs" },
  },
  ["ts.schedule"] = {
    seed("0", "what is drawn where no decision is given"),
    { name = "target", type = "string|tessera.Target", default = "none",
      help = "the machine that it is made for" },
  },
  ["trace:replay"] = {
    flag("resample", "draw all decisions afresh"),
    flag("repair", "mend decisions that do not fit"),
    flag("no_postproc", "stop before enter_postproc"),
    seed("0", "what is drawn"),
  },
  ["ts.tune_tasks"] = {
    { name = "scheduler", flag = "scheduler",
      takes = { "gradient", "round_robin" },
      type = '"gradient"|"round_robin"',
      default = '"gradient"',
      help = "which task gets the next batch: the one that promises the " ..
             "greatest gain, or each in turn" },
    { name = "alpha", type = "number", default = "0.2",
      help = "of \"gradient\": the weight of what the last batches gained, " ..
             "against what is left to gain" },
    { name = "window_size", type = "integer", least = 1, default = "3",
      help = "of \"gradient\": how many batches it looks back" },
    { name = "max_trials_per_task", type = "integer", least = 1,
      default = "none", help = "trials that one task gets at most" },
  },
  ["ts.space.sketches"] = {
    flag("postprocs", "with the postprocessors, as they are tuned"),
  },
  ["trace:mutate"] = { seed("0", "which decision, and to what") },
  ["ts.equivalent"] = { seed("1", "what the inputs are") },
  ["kernel:time"] = {
    { name = "min_time", type = "number", default = "0.1",
      help = "seconds that all its runs last at least" },
  },
}

-- ---- types -----------------------------------------------------------------

-- A value's type: of our own objects with the name in front, "tessera.program".
function options.type_of(x)
  local meta = type(x) == "userdata" and getmetatable(x)
  return type(meta) == "table" and meta.__name or math.type(x) or type(x)
end

function options.is(x, what) return options.type_of(x) == "tessera." .. what end

-- "a program", "an integer".
local function one(name)
  name = name:gsub("^tessera%.", ""):lower():gsub("^float$", "number")
  return (name:find "^[aeiou]" and "an " or "a ") .. name
end

function options.text_of(x)
  if x == nil then return "missing" end
  if type(x) == "string" then return (("%q"):format(x):gsub("\\\n", "\\n")) end
  if type(x) == "number" then return ("the number %s"):format(x) end
  return one(options.type_of(x))
end

-- What somebody gave for a word, in one line: in quotes where it can be read
-- so; of what prints itself at length, as a program does, what it is.
function options.quoted(x)
  local t = type(x)
  if t == "table" or t == "userdata" or t == "function" or t == "thread" then
    return one(options.type_of(x))
  end
  return ("'%s'"):format(tostring(x):gsub("\n", "\\n"))
end

-- How many letters must be changed, left out or put in to make one word the
-- other.
local function distance(a, b)
  local row = {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local above = row[0]
    row[0] = i
    for j = 1, #b do
      local change = above + (a:byte(i) == b:byte(j) and 0 or 1)
      above = row[j]
      row[j] = math.min(change, above + 1, row[j - 1] + 1)
    end
  end
  return row[#b]
end

-- " (is 'split' meant?)", if one of the words, a list, is so like the given
-- one.
function options.suggestion(given, words)
  local best, least = nil, math.max(1, #given // 3) + 1
  for _, word in ipairs(words) do
    local d = distance(given, word)
    if d < least then best, least = word, d end
  end
  return best and (" (is '%s' meant?)"):format(best) or ""
end

-- A float with an integer's value, such as 1e3, is that integer.
local function fits(x, wanted)
  if wanted == "integer" then
    return type(x) == "number" and math.tointeger(x) ~= nil
  end
  return wanted:lower() == type(x) or wanted:lower() == options.type_of(x) or
         type(x) == "string" and wanted == ('"%s"'):format(x)
end

-- What o takes: "an integer from 1 on", '"record" or "stop"'.
local function wanted(o)
  local words = {}
  for t in o.type:gmatch("[^|]+") do
    if not (o.list and t == "table") then
      words[#words + 1] = t:find '^"' and t or one(t)
    end
  end
  if o.list and #words == 0 then return "a list of integers" end
  return table.concat(words, " or ") ..
         (o.least and (" from %d on"):format(o.least) or "") ..
         (o.list and ", or a list of them" or "")
end

-- "'trials' is a table, not an integer", or nil where x is of one of the types
-- of option o, which are written "tessera.Space|table|function".
local function unfit(o, x)
  for t in o.type:gmatch("[^|]+") do
    local few = o.least and type(x) == "number" and not (x >= o.least)
    if fits(x, t) and not few then return nil end
  end
  return ("'%s' is %s, not %s"):format(o.name, options.text_of(x), wanted(o))
end

-- The same of an option of ts.tune, by its name.
function options.wrong(name, x) return unfit(options.by_name[name], x) end

-- What is wrong with the options given to a function that takes those of the
-- list; nil: nothing.  Those without a default are required.
function options.refusal(call, list, given)
  local names, known = {}, {}
  if type(given) ~= "table" then
    return ("%s takes one table, not a %s"):format(call, type(given))
  end
  for i, o in ipairs(list) do
    names[i], known[o.name] = o.name, true
  end
  for k in pairs(given) do
    if not known[k] then
      return ("unknown option %s of %s, which has %s"):format(
               options.quoted(k), call, table.concat(names, ", "))
    end
  end
  for _, o in ipairs(list) do
    local x = given[o.name]
    local why = (x ~= nil or not o.default) and unfit(o, x)
    if why then return call .. ": " .. why end
  end
end

-- A key of a list that is no place in it, but for the length that table.pack
-- leaves there; nil: there is none.
function options.stray(list)
  local n = #list
  for k, v in next, list do
    local at = math.type(k) == "integer" and k >= 1 and k <= n
    if not at and not (k == "n" and math.type(v)) then return k end
  end
end

-- ---- parameters of modules -------------------------------------------------

-- The number as an integer from 1 to `most`, as which 2.0 counts; nil: it is
-- none.
function options.positive(v, most)
  local n = math.type(v) and math.tointeger(v)
  return n and n >= 1 and n <= (most or math.maxinteger) and n or nil
end

-- What is wrong with parameter `name`, of this value.
function options.unusable(name, value, possible)
  return ("parameter '%s' is %s: %s"):format(name, options.quoted(value),
                                             possible)
end

-- The same where it is no integer from 1 on; nil: it is one.
function options.not_positive(name, value)
  if options.positive(value) then return nil end
  return options.unusable(name, value, "it is an integer from 1 on")
end

-- The same where it is no list of such integers.
function options.not_extents(name, list)
  if type(list) ~= "table" or #list == 0 then
    return options.unusable(name, list, "it is a list of integers from 1 on")
  end
  local stray = options.stray(list)
  if stray ~= nil then
    return ("parameter '%s' is a list, without a field %s"):format(
             name, options.quoted(stray))
  end
  for i, v in ipairs(list) do
    local why = options.not_positive(("%s[%d]"):format(name, i), v)
    if why then return why end
  end
end

return options
