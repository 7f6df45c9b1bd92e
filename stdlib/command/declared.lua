-- SPDX-License-Identifier: Apache-2.0
-- The sub-commands, each said once: what they take, their options and an
-- example.  Parsing, help, completion in shells and the manual page are made
-- of it.  Options of tuning are the engine's (include/tessera/*.def).
local options = require "tessera.lang.options"

local declared = {}

-- An option: name, kind (as arguments.parse has it), what stands behind it, and
-- its help.
local function option(name, kind, shown, help)
  return { name = name, kind = kind, shown = shown, help = help }
end

local function flag(name, help) return option(name, "flag", nil, help) end

local program = option("program", "string", "FILE.lua",
                       "the script that returns the program of a trace")
local target = option("target", "string", "T",
                      "what is compiled for, as \"llvm -num-cores=4\"")

-- ---- tune ------------------------------------------------------------------

local KINDS = { count = "N", unsigned = "N", seconds = "S", share = "X",
                string = "TEXT" }

-- An option of the engine's; nil where the command has none.
local function declared_by_engine(o)
  if not o.flag then return nil end
  local words = type(o.takes) == "table" and table.concat(o.takes, "|")
  local usual = o.default and o.takes ~= "flag" and
                (" (%s)"):format(o.default) or ""
  local but = o.negates and "without it " or "" -- what is so by default
  return option(o.flag, o.most or o.takes, o.shown or words or KINDS[o.takes],
                but .. o.help .. usual)
end

local function tuning()
  require "tessera"
  local list = { flag("json", "progress and result as JSON, a line an event"),
                 option("o", "string", "TRACE", "the best trace is written " ..
                        "there: JSON when the name ends in .json, else Lua") }
  for _, of in ipairs { options.list, options.of["ts.tune_tasks"] } do
    for _, o in ipairs(of) do list[#list + 1] = declared_by_engine(o) end
  end
  return list
end

-- ---- db --------------------------------------------------------------------

local function filters(...)
  return { program, option("workload", "string", "NAME", "of this program"),
           option("target", "string", "T", "of this target"),
           option("older-than", "age", "AGE", "stored longer ago, as 30d, 12h"),
           flag("failed", "those that failed"),
           flag("outside-space", "whose sketch the default space has not"),
           ... }
end

local tvm = option("tvm", "string", "DIR", "records of TVM's JSON database")

-- ---- fleet -----------------------------------------------------------------

local function of_fleet(...)
  return { option("fleet", "string", "URL", "the fleet's PostgreSQL"),
           flag("json", "the answer as JSON"), ... }
end

local key = option("key", "string", "K", "the kind of device")

-- ---- all -------------------------------------------------------------------

local ANY = "FILE.lua, a trace, a listing, a saved program or DB:RECORD"

-- Behind a name: takes, what stands behind the command; summary; options, or a
-- function that gives them; words, sub-commands of its own, each with `takes`
-- and `options`; example: a call that the docs have, and `more`, a chapter.
local list = {
  { name = "tune", takes = "FILE.lua",
    summary = "search for the best schedule of the program, or programs, " ..
              "that a script returns", options = tuning, chapter = "tutorial",
    example = "tessera tune matmul.lua --trials 200 --db tune.db" },
  { name = "step", takes = "FILE|DB:RECORD",
    summary = "go through a trace instruction by instruction",
    options = { program,
      flag("html", "write a page that steps through it instead"),
      option("o", "string", "PAGE.html", "where the page is written"),
      flag("times", "time the program after each instruction, for the page") },
    example = "tessera step tune.db:17", chapter = "stepping" },
  { name = "show", takes = "FILE|DB:RECORD",
    summary = "print the program that a trace makes, or the record",
    options = { program }, example = "tessera show tune.db:17",
    chapter = "database" },
  { name = "diff", takes = "FILE|DB:RECORD FILE|DB:RECORD",
    summary = "compare two traces: where they differ first, and what they make",
    options = { program }, example = "tessera diff tune.db:17 tune.db:3",
    chapter = "stepping" },
  { name = "db", takes = "[WORD] FILE",
    summary = "list, compare, merge, prune, verify, export, import records",
    example = "tessera db best tune.db", chapter = "database",
    words = {
      { name = "list", takes = "FILE", summary = "the records, best first",
        options = filters(option("limit", 1 << 31, "N",
                                 "at most so many (1000)")) },
      { name = "best", takes = "FILE", options = filters(),
        summary = "the best of each workload, target and policy" },
      { name = "diff", takes = "FILE FILE", least = 2, most = 2,
        what = "two FILEs", summary = "the best of two files", options = {} },
      { name = "merge", takes = "FILE FILE...", least = 2, most = math.huge,
        what = "a FILE and those to add to it",
        summary = "add the records of others", options = {} },
      { name = "prune", takes = "FILE", summary = "remove records",
        options = filters(
          option("keep", 1 << 31, "N", "but for the best N of each"),
          flag("dry-run", "only count them")) },
      { name = "verify", takes = "FILE", summary = "look for damage",
        options = {} },
      { name = "export", takes = "FILE", summary = "write the records",
        options = { option("o", "string", "FILE.jsonl", "as JSON, a line " ..
                           "each"), tvm, program } },
      { name = "import", takes = "FILE FILE.jsonl", least = 2, most = 2,
        what = "a FILE and the lines to add to it",
        summary = "add exported records", options = { tvm, program } } } },
  { name = "report", takes = "DB",
    summary = "write a page about everything in a database",
    options = { option("o", "string", "PAGE.html", "where it is written; " ..
                       "pages of the best traces beside it"),
                program, option("workload", "string", "NAME",
                                "of this program"),
                option("target", "string", "T", "of this target") },
    example = "tessera report tune.db -o report.html", chapter = "database" },
  { name = "watch", takes = "DB",
    summary = "look on while a run stores what it measures",
    options = { flag("once", "say how it stands, and leave") },
    example = "tessera watch tune.db", chapter = "database" },
  { name = "lower", takes = "FILE|DB:RECORD",
    summary = "print a program after lowering", what = ANY,
    options = { option("after", "string", "PASS", "stop behind that pass"),
                flag("print-after-all", "print it after each pass"), target,
                program },
    example = "tessera lower matmul.lua --after unroll",
    chapter = "architecture" },
  { name = "build", takes = "FILE|DB:RECORD",
    summary = "compile to a shared library, an object or a kernel", what = ANY,
    options = { option("o", "string", "NAME.so|.o|.kernel",
                       "where it is written"),
                option("header", "string", "FILE.h", "its C header"),
                option("db", "string", "F", "with the best record of it"),
                target, program },
    example = "tessera build tune.db:17 -o matmul.so --header matmul.h",
    chapter = "embedding" },
  { name = "model", takes = "FILE.onnx",
    summary = "tune, time and save a whole model",
    options = { option("shape", "string", "NAME=1x3x224x224,...",
                       "shapes of inputs that the file leaves open"),
                option("value", "string", "NAME=1,2,...",
                       "contents of inputs that become constants"),
                option("db", "string", "F", "where its records are"),
                option("trials", 1 << 30, "N", "candidates of all groups; " ..
                       "without it nothing is tuned"),
                option("deadline", "seconds", "S", "no batch begins later"),
                option("seed", "unsigned", "N", "the seed of random choices"),
                target,
                option("threads", 1024, "N", "that its kernels run on"),
                flag("passes", "only the graph behind all passes, in groups"),
                flag("print-after-all", "the graph after each pass"),
                flag("times", "how long each kernel takes"),
                option("trace-event", "string", "FILE.json",
                       "how long each kernel takes, for trace viewers"),
                option("dot", "string", "FILE",
                       "the graph for Graphviz, or drawn: .svg"),
                option("o", "string", "NAME.so", "where it is written"),
                option("header", "string", "FILE.h", "its C header") },
    example = "tessera model resnet18.onnx --trials 2000 --db models.db",
    chapter = "models" },
  { name = "doc", takes = "[WORD...]",
    summary = "the reference: a page by its name, or where words stand",
    options = {
                flag("stubs", "declarations of the methods, for editors"),
                option("completion", { "bash", "zsh" }, "bash|zsh",
                       "what completes the command in a shell"),
                flag("man", "the manual page") },
    example = "tessera doc split" },
  { name = "agent", takes = "",
    summary = "measure for a fleet until it is drained",
    options = { option("fleet", "string", "URL", "the fleet's PostgreSQL"),
      key, option("name", "string", "NAME", "of this agent"), target,
      option("cores", "string", "0,1", "that kernels run on"),
      option("device", "string", "cuda:0", "that kernels run on"),
      flag("share-cores", "with others"),
      option("role", { "both", "build", "run" }, "both|build|run",
             "what it does"),
      option("sign", "string", "fleet.key", "signs what it builds"),
      option("trust", "string", "fleet.pub", "runs what is signed so"),
      option("via", "string", "COMMAND", "through which kernels run elsewhere"),
      option("runner", "string", "PATH", "what runs them there"),
      flag("poll", "asks for jobs instead of being told") },
    example = "tessera agent --fleet postgresql://host/fleet --key avx512",
    chapter = "fleet" },
  { name = "fleet", takes = "WORD", summary = "set up and watch a fleet",
    example = "tessera fleet status --fleet postgresql://host/fleet",
    chapter = "fleet",
    words = {
      { name = "init", takes = "", summary = "make its tables",
        options = of_fleet(
          option("lease", "seconds", "S", "an agent has a job for"),
          option("keys", "string", "DIR", "make keys for signing there")) },
      { name = "status", takes = "", options = of_fleet(),
        summary = "agents, batches and jobs" },
      { name = "metrics", takes = "", options = of_fleet(),
        summary = "counters for Prometheus" },
      { name = "check", takes = "", options = of_fleet(),
        summary = "is its history right?" },
      { name = "doctor", takes = "", options = of_fleet(key),
        summary = "follow a job through all that it passes" },
      { name = "add", takes = "USER", summary = "a user",
        options = of_fleet(
          option("role", "string", "ROLE,...", "submit, build, run, admin"),
          option("password-file", "string", "F", "with the password")) },
      { name = "pause", takes = "NAME", options = of_fleet(),
        summary = "an agent takes no more jobs" },
      { name = "resume", takes = "NAME", options = of_fleet(),
        summary = "it does again" },
      { name = "drain", takes = "NAME", options = of_fleet(),
        summary = "an agent ends when its jobs have" },
      { name = "retry", takes = "NAME", options = of_fleet(),
        summary = "failed jobs of a batch once more" },
      { name = "gc", takes = "", summary = "forget what is old",
        options = of_fleet(option("older-than", "age", "AGE",
                                  "as 30d, 12h")) } } },
}

declared.list, declared.by_name = list, {}
for _, c in ipairs(list) do
  declared.by_name[c.name] = c
  for _, w in ipairs(c.words or {}) do
    c.words[w.name] = w
  end
end

-- The options of a command, or of a word of it.
function declared.options(name, word)
  local c = declared.by_name[name]
  if word then c = c.words[word] end
  if type(c.options) == "function" then c.options = c.options() end
  return c.options or {}
end

-- What arguments.parse knows of them.
function declared.kinds(name, word)
  local known = {}
  for _, o in ipairs(declared.options(name, word)) do known[o.name] = o.kind end
  return known
end

return declared
