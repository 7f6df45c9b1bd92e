-- SPDX-License-Identifier: Apache-2.0
-- `tessera tune`: tunes the program, or the programs, that a file returns.
local ts = require "tessera"
local options = require "tessera.lang.options"
local arguments = require "tessera.command.arguments"
local declared = require "tessera.command.declared"
local tell_end = require "tessera.command.ending"
local files = require "tessera.command.files"
local json = require "tessera.lang.write_json"

local usage = arguments.usage

local function say(line)
  print(line)
  io.stdout:flush()
end

-- What was found; also where a failure broke the run off.
local function report(result, program, as_json)
  if as_json then
    say(json.text {
      type = "result", status = result.status, program = program:name(),
      trials = result.trials, failed = result.failed,
      latency = result.latency, gflops = result.gflops, curve = result.curve,
      message = result.message, note = result.note,
      exhausted = result.exhausted, funnel = result.funnel,
      classes = result.classes ~= "" and
                json.raw(result.classes) or nil,
      trace = result.trace and result.trace:lua(),
      params = json.object(result:params()), unscheduled = result.unscheduled,
    })
    return
  end
  local interrupted = result.status == "CANCELLED"
  if interrupted and not result.trace then return end
  if result.trace then
    print("-- the best trace")
    print(result.trace)
  end
  print("-- " .. tostring(result)) -- all of it can be read as a trace
  for why in (result.note or ""):gmatch "on the host: [^;]*" do
    print("-- " .. why)
  end
  if result.ledger ~= "" then io.stderr:write("time:\n", result.ledger) end
  if result.trials == 0 and result.note then
    io.stderr:write(result.note, "\n")
  end
  if interrupted then
    io.stderr:write("interrupted: this is the best so far\n")
  elseif result.exhausted and result.trace then
    io.stderr:write("the space seems exhausted: nothing new was found; what ",
                    "became of what was drawn:\n",
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
      say(json.text { type = "tasks", tasks = list })
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
    say(json.text { type = p.event == "round" and "round" or "progress",
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
    if v and option.negates then v = false end
    if v == nil then v = d[option.name] end
    all[option.name] = v
  end
  if o.inputs then all.inputs = load_tensors(o.inputs) end
  if d.tasks then
    for name, option in pairs(of_tasks) do
      all[name] = o[option.flag] or d[name]
    end
  end
  if d.tasks and o.json then
    all.progress = tell_tasks()
  elseif o.json then
    all.progress = function(p)
      say(json.text { type = "progress", trials = p.trials, best = p.best,
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
    say(json.text { type = "result", message = message,
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
                message = r.message, trace = r.trace and r.trace:lua(),
                params = json.object(r:params()) }
  end
  say(json.text { type = "result", status = results.status,
             trials = results.trials, failed = results.failed,
             latency = results.latency, seconds = results.seconds,
             note = results.note, message = results.message,
             funnel = results.funnel, ledger = results.ledger,
             tasks = list })
end

-- Several programs; the exit status as of one.
local function tune_several(o, d, path, run)
  for _, name in ipairs { "inputs", "o" } do
    if o[name] then
      usage("option %s%s is of one program, and %s returns several",
            #name > 1 and "--" or "-", name, path)
    end
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

return function(args)
  local o, rest = arguments.parse(args, declared.kinds "tune")
  local run <close> = setmetatable({ reported = not o.json }, ending)
  if #rest ~= 1 then usage("tune takes one FILE.lua") end
  if o.o then arguments.check_output("-o", o.o, { rest[1], db = o.db }) end
  local d = files.run_tasks(rest[1]) -- which may define a machine
  o.target = arguments.target(o.target)
  if d.tasks then return tune_several(o, d, rest[1], run) end
  for _, option in pairs(of_tasks) do
    if o[option.flag] then
      usage("option --%s: %s returns one program only", option.flag, rest[1])
    end
  end
  local ok, result = pcall(ts.tune, d.program, tune_options(o, d, rest[1]))
  if not ok then
    run.code = type(result) == "table" and result.code or nil
    check_names(o, result)
  end
  report(result, d.program, o.json)
  if o.o and result.trace then
    local trace = result.trace
    ts.write_file(o.o, (o.o:find "%.json$" and trace:json() or trace:lua())
                       .. "\n")
  end
  if not o.json then tell_end(result, d, o, rest[1]) end
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
