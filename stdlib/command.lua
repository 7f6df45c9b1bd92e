-- SPDX-License-Identifier: Apache-2.0
-- The sub-commands of `tessera`: each is a function of the arguments and the
-- host (read_line, terminal, verbose) and returns the exit status.
local ts = require "tessera"
local options = require "tessera.options"
local reference = require "tessera.reference"
local chapters = require "tessera.chapters"

local command = {}

-- ---- arguments -------------------------------------------------------------

-- A usage error, independent of any file: an unknown option, an impossible
-- value, too many or too few arguments.  Exit status 2; a missing or malformed
-- file is 1.
local function usage(text, ...)
  error({ usage = text:format(...) }, 0)
end

-- An integer in decimal, of 64 bits: tonumber would wrap longer ones in
-- hexadecimal.
local function integer_of(name, text, least, most)
  if not text:find("^[+-]?%d+$") then
    usage("option --%s: '%s' is not an integer", name, text)
  end
  local n = math.tointeger(tonumber(text))
  if not n or n < least or n > most then
    usage("option --%s: %s is outside of %d .. %d", name, text, least, most)
  end
  return n
end

-- An integer from 0 to 2^64 - 1, as C takes it: of the integers of Lua the one
-- with the same bits.
local function unsigned_of(name, text)
  local most = "18446744073709551615"
  local sign, digits = text:match("^([+-]?)0*(%d+)$")
  if not digits then
    usage("option --%s: '%s' is not an integer", name, text)
  end
  if sign == "-" and digits ~= "0" or #digits > #most or
     #digits == #most and digits > most then
    usage("option --%s: %s is outside of 0 .. %s", name, text, most)
  end
  local n = 0
  for d in digits:gmatch "%d" do n = n * 10 + tonumber(d) end
  return n
end

-- A time in decimal.
local function seconds_of(name, text)
  local n = text:find "^[%d.eE+-]+$" and tonumber(text)
  if not n or n < 0 or n == math.huge then
    usage("option --%s: '%s' is not a time in seconds", name, text)
  end
  return n + 0.0
end

local function word_of(name, words, text)
  for _, w in ipairs(words) do
    if w == text then return text end
  end
  usage("option --%s: there is no '%s'; there are %s", name, text,
        table.concat(words, ", "))
end

local function value_of(name, kind, text)
  if type(kind) == "table" then return word_of(name, kind, text) end
  if kind == "string" then
    return text ~= "" and text or
           usage("option --%s needs a value, not ''", name)
  end
  if kind == "unsigned" then return unsigned_of(name, text) end
  if kind == "seconds" then return seconds_of(name, text) end
  return integer_of(name, text, 1, kind)
end

local function dashed(name) return (#name > 1 and "--" or "-") .. name end

-- The option is none of `known`; where there is `of`, the command that was
-- called is one of several whose options differ.
local function unknown(option, known, of)
  local names = {}
  for name in pairs(known) do names[#names + 1] = name end
  table.sort(names)
  local near = reference.nearest(option:match "^%-%-([^=]+)", names)
  for i, name in ipairs(names) do names[i] = dashed(name) end
  usage("unknown option %s%s%s", option,
        of and (" of %s, which has %s"):format(of, #names > 0 and
          table.concat(names, ", ") or "none") or "",
        near and not of and ("; did you mean %s?"):format(dashed(near)) or "")
end

-- Splits arguments into options and the rest; `known` maps each option to
-- "string", "unsigned", "seconds", "flag", a list of words or, for a count, to
-- the largest.
local function parse(args, known, of)
  local options, rest = {}, {}
  local i = 1
  while i <= #args do
    local a = args[i]
    local name, value = a:match("^%-%-([^=]+)=(.*)$")
    name = name or a:match("^%-%-(.+)$")
    local dashes = "--"
    if not name and a:find("^%-%a$") and known[a:sub(2)] then
      name, dashes = a:sub(2), "-"
    end
    if not name then
      if a:sub(1, 1) == "-" and #a > 1 then unknown(a, known, of) end
      rest[#rest + 1] = a
    else
      local kind = known[name] or unknown("--" .. name, known, of)
      if kind == "flag" then
        if value then usage("option --%s takes no value", name) end
        options[name] = true
      else
        if not value then
          i = i + 1
          value = args[i] or usage("option %s%s needs a value", dashes, name)
        end
        options[name] = value_of(name, kind, value)
      end
    end
    i = i + 1
  end
  return options, rest
end

-- More than any trace or program has; and what has no end, as /dev/zero,
-- shall not be read until memory is full.
local MOST_BYTES = 1 << 27

-- The file's text, or its first `most` bytes.
local function read_file(path, most)
  local f, why = io.open(path, "rb")
  if not f then error(why, 0) end
  local parts, left, bad = {}, most or MOST_BYTES + 1, nil
  while left > 0 do
    local part
    part, bad = f:read(math.min(left, 1 << 20))
    if not part then break end
    parts[#parts + 1] = part
    left = left - #part
  end
  f:close()
  if bad then error(path .. ": " .. bad, 0) end
  if not most and left == 0 then
    error(("%s: it has more than %d bytes"):format(path, MOST_BYTES), 0)
  end
  return table.concat(parts)
end

-- Raises an error that came from reading `name`, with that name.
local function blame(name, e)
  if type(e) == "table" and e.message then
    e = tostring(e):match("^[^\n]*")
  end
  error(name .. ": " .. tostring(e), 0)
end

-- ---- what a file holds -----------------------------------------------------

-- What a description FILE.lua returns: a program, or a table with one; or,
-- where `schedules`, a schedule in place of the program.
local function load_description(path)
  local chunk, why = loadfile(path)
  if chunk then return chunk end
  -- Lua names no file when its stack overflows.
  local named = why:find(":%d+: ") or why:find(path, 1, true)
  error(named and why or path .. ": " .. why, 0)
end

local function description_of(path, schedules, result)
  if options.is(result, "program") or
     (schedules and options.is(result, "schedule")) then
    return { program = result }
  end
  if type(result) == "table" and
     options.is(result.program, "program") then
    return result
  end
  if type(result) == "table" and type(result.program) == "function" then
    local made = { pcall(result.program) }
    if made[1] and options.is(made[2], "program") then
      return { program = made[2], space = result.space,
               target = result.target }
    end
    error(("%s: the field 'program' is a function that, without arguments, " ..
           "%s: let it have defaults, or return a program"):format(path,
          made[1] and "gives " .. options.text_of(made[2]) or
          "fails: " .. tostring(made[2])), 0)
  end
  if type(result) == "table" then
    error(("%s: the field 'program' is %s, not a program"):format(path,
          options.text_of(result.program)), 0)
  end
  error(path .. ": expected the file to return a program, or a table " ..
        "{ program = ..., space = ... }, not " .. options.type_of(result), 0)
end

-- Whether a file may return it for one program.
local function is_description(x)
  return options.is(x, "program") or
         type(x) == "table" and options.is(x.program, "program")
end

-- How the first is picked of several programs, which only tune takes, as an
-- expression of the file's name; nil: they are not several.
local function pick_of(results)
  local first, second = results[1], results[2]
  if is_description(first) then
    return is_description(second) and "(select(1, dofile(%q)))" or nil
  end
  if type(first) ~= "table" or first.program ~= nil then return nil end
  if type(first.tasks) == "table" then
    return is_description(first.tasks[1]) and "dofile(%q).tasks[1]" or nil
  end
  return is_description(first[1]) and "dofile(%q)[1]" or nil
end

local function run_description(path, schedules)
  local results = table.pack(load_description(path)())
  local pick = pick_of(results)
  if pick then
    error(("%s: it returns several programs, and one is expected; a file " ..
           "with `return %s` in it picks the first"):format(
            path, pick:format(path)), 0)
  end
  return description_of(path, schedules, results[1])
end

-- For tune: the same, or a description whose field `tasks` is the list of
-- several programs that the file returns, as values, a list, or a table with
-- such a field.
local function run_tasks(path)
  local results = table.pack(load_description(path)())
  local first = results[1]
  if results.n > 1 then
    results.n = nil
    return { tasks = results }
  end
  if type(first) == "table" and first.program == nil then
    if type(first.tasks) == "table" then return first end
    if #first > 0 then
      local d = { tasks = {} }
      for k, v in pairs(first) do
        if math.type(k) == "integer" then d.tasks[k] = v else d[k] = v end
      end
      return d
    end
  end
  return description_of(path, false, first)
end

local function is_database(path)
  return read_file(path, 15) == "SQLite format 3"
end

-- Whether there is such a file; one that cannot be read is an error.
local function exists(path)
  local f, why, code = io.open(path, "rb")
  if not f and code == 2 then return false end
  if not f then error(why, 0) end
  f:close()
  return true
end

-- "tune.db:17" names record 17: the record and its trace, which is bound to
-- its program; nil when `name` is no such thing.
local function from_record(name)
  local path, number = name:match("^(.+):([^:/]*)$")
  if not path or not exists(path) then return nil end
  local is_number = number:find("^%d+$")
  if not is_number and exists(name) then return nil end
  if not is_database(path) then error(path .. ": not a database", 0) end
  if not is_number then
    usage("'%s' is not the number of a record of %s: they count from 1, and " ..
          "`tessera db %s` lists them", number, path, path)
  end
  local db = ts.database(path)
  local id = math.tointeger(tonumber(number)) or
             error(("database %s has no record %s"):format(path, number), 0)
  local trace = db:trace(id)
  for _, r in ipairs(db:records(math.maxinteger)) do
    if r.id == id then return trace, r end
  end
  return trace
end

-- The trace that a text is, by the parsers, which run no code; or nil and
-- why not.  Our JSON is an object, TVM's an array.
local function parse_trace(text, program)
  local mark = text:match("^%s*([{%[])")
  local read = mark == "{" and ts.trace.from_json or
               mark == "[" and ts.trace.from_tvm_json or ts.trace.from_lua
  local ok, result = pcall(read, text, program)
  if ok then return result end
  return nil, result
end

-- A trace that is asked for, from a file or a record.
local function load_trace(name, program)
  local trace = from_record(name)
  if trace then return trace, true end
  if is_database(name) then
    usage("%s is a database: name a record of it, as in %s:1; `tessera db " ..
          "%s` lists them", name, name, name)
  end
  local why
  trace, why = parse_trace(read_file(name), program)
  if not trace then blame(name, why) end
  return trace, false
end

-- ---- tune ------------------------------------------------------------------

-- JSON text, to stand in a value as it is.
local written = {}

-- A value as JSON; keys in order, an empty table is a list.
local function json(v)
  if getmetatable(v) == written then return v.text end
  if type(v) == "table" then
    local parts = {}
    if #v > 0 or next(v) == nil then
      for i, x in ipairs(v) do parts[i] = json(x) end
      return "[" .. table.concat(parts, ", ") .. "]"
    end
    local keys = {}
    for k in pairs(v) do keys[#keys + 1] = k end
    table.sort(keys)
    for i, k in ipairs(keys) do parts[i] = json(k) .. ": " .. json(v[k]) end
    return "{" .. table.concat(parts, ", ") .. "}"
  elseif type(v) == "string" then
    return '"' .. v:gsub('[%c"\\]', function(c)
      return ("\\u%04x"):format(c:byte())
    end) .. '"'
  elseif type(v) == "number" and (v ~= v or v == math.huge or
                                  v == -math.huge) then
    return "null"
  end
  return tostring(v)
end

local function say(line)
  print(line)
  io.stdout:flush()
end

-- What was found; also where a failure broke the run off.
local function report(result, program, as_json)
  if as_json then
    say(json {
      type = "result", status = result.status, program = program:name(),
      trials = result.trials, failed = result.failed,
      latency = result.latency, gflops = result.gflops, curve = result.curve,
      message = result.message, note = result.note,
      exhausted = result.exhausted, funnel = result.funnel,
      classes = result.classes ~= "" and
                setmetatable({ text = result.classes }, written) or nil,
      trace = result.trace and result.trace:lua(),
    })
    return
  end
  local interrupted = result.status == "CANCELLED"
  if interrupted and not result.trace then return end
  if result.trace then
    print("-- the best trace")
    print(result.trace)
  end
  print(result)
  if result.ledger ~= "" then io.stderr:write("time:\n", result.ledger) end
  if result.trials == 0 and result.note then
    io.stderr:write(result.note, "\n")
  end
  if interrupted then
    io.stderr:write("interrupted: this is the best so far\n")
  elseif result.exhausted and result.trace then
    io.stderr:write("the space seems exhausted: three batches in a row had ",
                    "nothing new; what became of what was drawn:\n",
                    result.funnel)
  end
end

-- Options of many tasks alone, by their names.
local of_tasks = {}
for _, option in ipairs(options.of["ts.tune_tasks"]) do
  of_tasks[option.name] = option
end

-- The fields of a description are ones that there are, and of their types.
local function check_fields(d, path)
  for k, v in pairs(d) do
    local own = k == "program" or k == "tasks" or
                d.tasks and of_tasks[k]
    if not own and not options.by_name[k] then
      error(("%s: unknown option %s"):format(path, options.quoted(k)), 0)
    end
    local wrong = not own and options.wrong(k, v)
    if wrong then error(("%s: the field %s"):format(path, wrong), 0) end
  end
end

-- The events of many tasks as JSON: what they are, before the first; then
-- each trial, and the state of all after each batch.
local function tell_tasks()
  local begun = false
  return function(p)
    if not begun then
      local list = {}
      for i, x in ipairs(p.tasks) do
        list[i] = { task = i, name = x.name, shapes = x.shapes,
                    weight = x.weight, entries = x.entries }
      end
      say(json { type = "tasks", tasks = list })
      begun = true
    end
    local one = p.trial or {}
    local list
    if p.event == "round" then
      list = {}
      for i, x in ipairs(p.tasks) do
        list[i] = { task = i, best = x.best, gflops = x.gflops,
                    trials = x.trials, failed = x.failed, gain = x.gain,
                    seconds = x.seconds, live = x.live }
      end
    end
    say(json { type = p.event == "round" and "round" or "progress",
               task = p.task, name = p.name, trials = p.trials,
               max_trials = p.max_trials, failed = p.failed,
               latency = p.latency, elapsed = p.elapsed, eta = p.eta,
               status = one.status, seconds = one.seconds,
               best = one.best, compiled = one.compiled,
               compiling = one.compiling, tasks = list })
  end
end

-- The tensors of files "A.npy,B.npy".
local function load_tensors(list)
  local tensors = {}
  for path in (list .. ","):gmatch "([^,]*)," do
    if not path:find "%.npy$" then
      usage("option --inputs: '%s' is no NAME.npy", path)
    end
    tensors[#tensors + 1] = ts.tensor(path)
  end
  return tensors
end

-- What the command says stands above what the file says.
local function tune_options(o, d, path)
  local all = {}
  check_fields(d, path)
  for _, option in ipairs(options.list) do
    local v = option.flag and o[option.flag]
    if v == nil then v = d[option.name] end
    all[option.name] = v
  end
  if o.inputs then all.inputs = load_tensors(o.inputs) end
  if d.tasks then
    for name, option in pairs(of_tasks) do
      all[name] = option.flag and o[option.flag] or d[name]
    end
  end
  if d.tasks and o.json then
    all.progress = tell_tasks()
  elseif o.json then
    all.progress = function(p)
      say(json { type = "progress", trials = p.trials, best = p.best,
                 max_trials = p.max_trials, failed = p.failed,
                 gflops = p.gflops, elapsed = p.elapsed, eta = p.eta,
                 status = p.status, seconds = p.seconds,
                 compiled = p.compiled, compiling = p.compiling })
    end
  elseif all.progress == nil then
    all.progress = true
  end
  return all
end

-- An unknown strategy or cost model on the command line is a usage error.
local function check_names(o, e)
  local names = { strategy = "strategy", ["cost-model"] = "cost model" }
  for flag, what in pairs(names) do
    local unknown = ("there is no %s '"):format(what)
    if o[flag] and type(e) == "table" and
       e.message:sub(1, #unknown) == unknown then
      usage("option --%s: %s", flag, e.message)
    end
  end
  error(e, 0)
end

-- With --json the last line is a result whatever happens: what ends the
-- command before there was one gives its error.  What is raised comes here as
-- the text that stderr gets, or as a wrong call.
local ending = {
  __close = function(run, e)
    if e == nil or run.reported then return end
    local text = type(e) == "table" and e.usage or tostring(e)
    local message = text:match("^[^\n]*")
    say(json { type = "result", message = message,
               status = message == "interrupted" and "CANCELLED" or
                        run.code or "INVALID" })
  end,
}

-- What was found of many tasks.
local function report_tasks(results, as_json)
  if not as_json then
    print(results)
    io.stderr:write("time:\n", results.ledger,
                    "what became of what was drawn:\n", results.funnel)
    if results.note then io.stderr:write(results.note, "\n") end
    return
  end
  local list = {}
  for i, r in ipairs(results) do
    list[i] = { entry = i, status = r.status, latency = r.latency,
                gflops = r.gflops, trials = r.trials, failed = r.failed,
                message = r.message, trace = r.trace and r.trace:lua() }
  end
  say(json { type = "result", status = results.status,
             trials = results.trials, failed = results.failed,
             latency = results.latency, seconds = results.seconds,
             note = results.note, message = results.message,
             funnel = results.funnel, ledger = results.ledger,
             tasks = list })
end

-- Several programs; the exit status as of one.
local function tune_several(o, d, path, run)
  if o.inputs then
    usage("option --inputs: %s returns several programs", path)
  end
  local ok, results = pcall(ts.tune_tasks, d.tasks, tune_options(o, d, path))
  if not ok then
    run.code = type(results) == "table" and results.code or nil
    check_names(o, results)
  end
  report_tasks(results, o.json)
  run.reported = true
  if results.message then error(results.message, 0) end
  if results.status == "CANCELLED" then
    io.stderr:write("interrupted: this is the best so far\n")
  elseif results.status ~= "OK" then
    error("nothing valid was found of some of the tasks", 0)
  end
  return 0
end

function command.tune(args)
  local known = { json = "flag" }
  for _, option in ipairs(options.list) do
    if option.flag then known[option.flag] = option.most or option.takes end
  end
  for _, option in pairs(of_tasks) do
    if option.flag then known[option.flag] = option.takes end
  end
  local o, rest = parse(args, known)
  local run <close> = setmetatable({ reported = not o.json }, ending)
  if #rest ~= 1 then usage("tune takes one FILE.lua") end
  if o.target then
    local ok, target = pcall(ts.target, o.target)
    if not ok then usage("option --target: %s", target.message) end
    o.target = target
  end
  local d = run_tasks(rest[1])
  if d.tasks then return tune_several(o, d, rest[1], run) end
  if o.scheduler then
    usage("option --scheduler: %s returns one program only", rest[1])
  end
  local ok, result = pcall(ts.tune, d.program, tune_options(o, d, rest[1]))
  if not ok then
    run.code = type(result) == "table" and result.code or nil
    check_names(o, result)
  end
  report(result, d.program, o.json)
  run.reported = true
  if not result.trace then
    local interrupted = result.status == "CANCELLED"
    if not interrupted or result.trials > 0 then
      io.stderr:write(result.funnel)
    end
    error(interrupted and "interrupted before anything valid was found" or
          "nothing valid was found in " .. result.trials .. " trials" ..
          (result.note and result.note ~= "" and ": " .. result.note or ""), 0)
  end
  if result.message then error(result.message, 0) end
  return 0
end

-- ---- step ------------------------------------------------------------------

function command.step(args, host)
  local o, rest = parse(args, { program = "string" })
  if #rest ~= 1 then usage("step takes one FILE (JSON or Lua) or DB:RECORD") end
  local program = o.program and run_description(o.program).program
  local trace, bound = load_trace(rest[1], program)
  if not program and not bound then
    usage("step %s: a trace alone does not say what it schedules: add " ..
          "--program FILE.lua", rest[1])
  end
  require("tessera.stepping").step(trace:stepper(program), host, rest[1])
  return 0
end

-- ---- show, db, doc ---------------------------------------------------------

-- Four decimals, and of less than a microsecond four digits.
local function ms(seconds)
  return (seconds < 1e-6 and "%.4g ms" or "%.4f ms"):format(seconds * 1e3)
end

local function time_of(r)
  return r.seconds < math.huge and ms(r.seconds) or "-"
end

-- A text of a file, fit for one field of a line.
local function plain(text)
  return (text:gsub("%c", function(c) return ("\\x%02x"):format(c:byte()) end))
end

-- A time is worth little where nobody looked at what was computed.
local function status_of(r)
  if r.damaged then return "damaged" end
  return r.status == "OK" and not r.checked and "not compared" or r.status
end

-- Why a record failed, of which a compiler may say several lines.
local function print_message(indent, r)
  for line in r.message:gmatch "[^\n]+" do print(indent .. plain(line)) end
end

local function print_samples(r)
  if #r.samples == 0 then return end
  local least, greatest = math.huge, -math.huge
  for _, s in ipairs(r.samples) do
    least, greatest = math.min(least, s), math.max(greatest, s)
  end
  print(("-- samples: %d, from %s to %s"):format(#r.samples, ms(least),
                                                 ms(greatest)))
end

-- What tells programs of one name apart.
local function print_workload(r)
  print(("-- workload %s %s: %s"):format(plain(r.workload), r.hash,
        r.shapes ~= "" and plain(r.shapes) or "damaged"))
end

local function print_record(r)
  print(("-- record %d: %s, %s, %s, %s"):format(r.id, plain(r.workload),
        time_of(r), r.damaged and "damaged" or r.status, plain(r.target)))
  print_workload(r)
  print("-- measured by: " .. plain(r.policy))
  print_message("--   ", r)
  print_samples(r)
end

-- The workloads of the rows, each once.
local function print_workloads(rows)
  local seen = {}
  for _, r in ipairs(rows) do
    if not seen[r.hash] then print_workload(r) end
    seen[r.hash] = true
  end
end

-- A word of a shell.
local function shell_word(text)
  if text:find "^[%w_./:=,@%%+-]+$" then return text end
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- What a list leaves out; `o`: the options of the filter as they were given.
local function print_rest(rows, path, o)
  local rest, words = rows.total - #rows, { shell_word(path) }
  if rest <= 0 then return end
  for _, name in ipairs { "program", "workload", "target" } do
    if o[name] then
      words[#words + 1] = "--" .. name .. " " .. shell_word(o[name])
    end
  end
  print(("-- %d of %d records; `tessera db %s --limit %d` lists all"):format(
          #rows, rows.total, plain(table.concat(words, " ")), rows.total))
end

-- "workload and target", of those that are given.
local function filter_words(filter)
  local words = {}
  for _, word in ipairs { "program", "workload", "target" } do
    if filter[word] then words[#words + 1] = word end
  end
  return table.concat(words, " and ")
end

-- Why nothing is listed.
local function print_none(path, filter)
  local all, words = ts.database(path):records().total, filter_words(filter)
  print(all == 0 and path .. ": no records" or
        words ~= "" and ("%s: none of its %d records is of that %s"):format(
          path, all, words) or path .. ": none is shown")
end

local function list_records(path, filter, o, verbose)
  local rows = ts.database(path):records(filter)
  if rows.total == 0 then
    print_none(path, filter)
    return 0
  end
  print_workloads(rows)
  print(("%6s  %12s  %-13s  %-20s  %-8s  %s"):format(
          "record", "time", "status", "workload", "hash", "target"))
  for _, r in ipairs(rows) do
    print(("%6d  %12s  %-13s  %-20s  %-8s  %s"):format(
            r.id, time_of(r), status_of(r), plain(r.workload),
            r.hash:sub(1, 8), plain(r.target)))
    if verbose then print_message((" "):rep(8), r) end
  end
  print_rest(rows, path, o)
  return 0
end

-- The filter that --program, --workload and --target make.
local function filter_of(o)
  local target = o.target
  if target then
    local ok, made = pcall(ts.target, target)
    if not ok then usage("option --target: %s", made.message) end
    target = made
  end
  return { target = target, workload = o.workload,
           program = o.program and run_description(o.program).program }
end

-- The programs that a file returns, one or several.
local function programs_of(path)
  local d, list = run_tasks(path), {}
  for i, x in ipairs(d.tasks or { d.program }) do
    list[i] = options.is(x, "program") and x or x.program
  end
  return list
end

function command.db(args, host)
  local done = require("tessera.databases").run(args, parse, {
    usage = usage, is_database = is_database, ms = ms, plain = plain,
    programs = programs_of, filter_of = filter_of, print_none = print_none })
  if done then return done end
  if args[1] == "list" and #args > 1 then args = { table.unpack(args, 2) } end
  local o, rest = parse(args, { limit = 1 << 31, program = "string",
                                target = "string", workload = "string" })
  if #rest ~= 1 then usage("db takes one FILE") end
  if not is_database(rest[1]) then error(rest[1] .. ": not a database", 0) end
  local filter = filter_of(o)
  filter.limit = o.limit or 1000
  return list_records(rest[1], filter, o, host.verbose)
end

function command.report(args)
  local o, rest = parse(args, { o = "string", program = "string",
                                target = "string", workload = "string" })
  if #rest ~= 1 then usage("report takes one FILE") end
  if not o.o then usage("report needs -o FILE.html") end
  if not is_database(rest[1]) then error(rest[1] .. ": not a database", 0) end
  local text = require "tessera.report"(ts.database(rest[1]), filter_of(o),
                                        rest[1])
  local f, why = io.open(o.o, "wb")
  if not f then error(why, 0) end
  local ok, bad = f:write(text)
  local closed, late = f:close()
  if not ok or not closed then error(o.o .. ": " .. (bad or late), 0) end
  return 0
end

local function try_trace(name, trace, program)
  local ok, refused = pcall(trace.replay, trace, program)
  if not ok then blame(name, refused) end
end

-- What a file is, is found by trying: first what runs no code, a trace and a
-- saved program, then a script that gives a program.  What begins as only a
-- trace does, or is called so, is a trace, and why it is a bad one is said; so
-- is it where the trace does not apply to the program given.
local function show_file(name, o)
  local text = read_file(name)
  local program = o.program and run_description(o.program).program
  local trace, why = parse_trace(text, program)
  if trace then
    if program then try_trace(name, trace, program) end
    return trace
  end
  if name:find("%.json$") or text:find("^%s*[{%[]") or
     text:find("^%s*%-%- tessera trace") then
    blame(name, why)
  end
  local ok, saved = pcall(ts.load_program, name)
  if ok then return saved end
  if text:find("\0", 1, true) then
    error(name .. ": neither a trace, a saved program, a database nor a " ..
          "script", 0)
  end
  local d = run_description(name, true)
  o.described = d.target
  return d.program
end

function command.show(args, host)
  local o, rest = parse(args, { program = "string" })
  if #rest ~= 1 then usage("show takes one FILE or DB:RECORD") end
  local name = rest[1]
  local trace, r = from_record(name)
  if trace then
    if o.program then
      try_trace(name, trace, run_description(o.program).program)
    end
    print(trace)
    if r then print_record(r) end
  elseif is_database(name) then
    local filter = filter_of(o)
    filter.limit = 20
    list_records(name, filter, o, host.verbose)
  else
    print(show_file(name, o))
  end
  return 0
end

-- ---- lower -----------------------------------------------------------------

-- What is lowered: the program of a description or a saved one, or what a
-- trace makes of the program that it is bound to or that --program names; and
-- the target of a description that has one.
local function load_lowered(name, o)
  local found = from_record(name) or show_file(name, o)
  if options.is(found, "trace") then
    local program = o.program and run_description(o.program).program
    local ok, sch = pcall(found.replay, found, program)
    if ok then return sch end
    if not program and sch.code == "INVALID" then
      usage("lower %s: a trace alone does not say what it schedules: add " ..
            "--program FILE.lua", name)
    end
    blame(name, sch)
  end
  return found
end

-- The number of the pass that --after names, else of the last one.
local function last_pass(passes, after)
  if not after then return #passes end
  local pass = ts.lower_pass(after)
  if pass then return pass.number end
  local names = {}
  for i, pass in ipairs(passes) do names[i] = pass.name end
  usage("option --after: there is no lowering pass '%s'; there are %s", after,
        table.concat(names, ", "))
end

-- The program after each pass; those that leave its text as it is take one
-- line.
local function print_passes(program, passes, last, o)
  local before = tostring(options.is(program, "schedule") and
                          program:program() or program)
  for i = 1, last do
    local pass = passes[i]
    local text = tostring(ts.lower(program, { after = pass.name,
                                              target = o.target }))
    print(("-- %d. %s: %s"):format(i, pass.name,
                                   text == before and "no change" or
                                   pass.summary))
    if text ~= before then print(text) end
    before = text
  end
end

function command.lower(args)
  local o, rest = parse(args, { after = "string", target = "string",
                                program = "string",
                                ["print-after-all"] = "flag" })
  if #rest ~= 1 then
    usage("lower takes one FILE.lua, trace, saved program or DB:RECORD")
  end
  local passes = ts.lower_passes()
  local last = last_pass(passes, o.after)
  local ok, target = pcall(ts.target, o.target or "llvm")
  if not ok then usage("option --target: %s", target.message) end
  o.target = target
  local program = load_lowered(rest[1], o)
  if o["print-after-all"] then
    print_passes(program, passes, last, o)
  else
    print(ts.lower(program, { after = passes[last].name, target = o.target }))
  end
  return 0
end

-- ---- build -----------------------------------------------------------------

-- The fastest schedule of a program for a target that a database has.
local function best_schedule(path, program, target)
  if not is_database(path) then error(path .. ": not a database", 0) end
  local record, trace = ts.database(path):best(program, target)
  if not record then error(tostring(trace), 0) end
  return trace:replay(program), record
end

function command.build(args)
  local o, rest = parse(args, { o = "string", header = "string",
                                db = "string", target = "string",
                                program = "string" })
  if #rest ~= 1 then
    usage("build takes one FILE.lua, trace, saved program or DB:RECORD")
  end
  if not o.o then usage("build needs -o NAME.so or -o NAME.o") end
  if not o.o:find "%.s?o$" then
    usage("option -o: '%s' is neither NAME.so nor NAME.o", o.o)
  end
  local ok, target = pcall(ts.target, o.target or "llvm")
  if not ok then usage("option --target: %s", target.message) end
  local found, record = load_lowered(rest[1], o), nil
  if not o.target and o.described then target = ts.target(o.described) end
  if o.db then
    if options.is(found, "schedule") then
      usage("option --db: %s is scheduled already", rest[1])
    end
    found, record = best_schedule(o.db, found, target)
  end
  ts.build(found, target):save(o.o, o.header)
  print(("%s: %s"):format(o.o, record and
        ("record %d of %s, %.4g ms"):format(record.id, o.db,
                                            record.seconds * 1e3) or
        options.is(found, "schedule") and "as it is scheduled" or
        "without a schedule; --db takes the best one of a database"))
  return 0
end

-- Lines of the index whose names have the word in them; raises where none does.
local function parts_of(word)
  local parts, near = reference.parts(word), reference.near(word)
  if #parts == 0 then
    error(("there is no primitive, module, option or function '%s'%s; " ..
           "`tessera doc` lists them"):format(word, #near > 0 and
           ": did you mean " .. table.concat(near, " or ") .. "?" or ""), 0)
  end
  local lines = { ("Nothing is called '%s'; names with it:"):format(word), "" }
  for _, e in ipairs(parts) do
    lines[#lines + 1] = ("  %-26s %s"):format(e.name, e.summary)
  end
  return table.concat(lines, "\n")
end

function command.doc(args)
  local names = {}
  for _, a in ipairs(args) do
    names[#names + 1] = a
  end
  if #names > 1 then usage("doc takes one NAME") end
  if names[1] == "--stubs" then io.write(reference.stubs()) return 0 end
  if not names[1] then print(reference.index()) return 0 end
  local page = chapters.text(names[1]) or reference.page(names[1])
  if not page and names[1]:find "^%-." then
    usage("unknown option %s", names[1])
  end
  print(page or parts_of(names[1]))
  return 0
end

return command
