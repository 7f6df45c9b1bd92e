-- SPDX-License-Identifier: Apache-2.0
-- `tessera model`: reads an ONNX file, tunes its groups, tells what it is and
-- how long it takes, and writes it as a shared library.
local ts = require "tessera"
local graph = require "tessera.graph"
local import = require "tessera.graph.onnx.import"
local passes = require "tessera.graph.passes"
local arguments = require "tessera.command.arguments"
local declared = require "tessera.command.declared"

local usage = arguments.usage

-- "x=1x3x224x224,y=1" as a table of shapes.
local function shapes_of(text)
  local shapes = {}
  for part in (text .. ","):gmatch "([^,]*)," do
    local name, list = part:match "^(.+)=([%dx]+)$"
    if not name then
      usage("option --shape: '%s' is no NAME=1x3x224x224", part)
    end
    shapes[name] = {}
    for extent in list:gmatch "%d+" do
      local whole = math.tointeger(tonumber(extent))
      if not whole then
        usage("option --shape: %s is too long for an extent", extent)
      end
      table.insert(shapes[name], whole)
    end
  end
  return shapes
end

-- "use_past=1,sizes=640,480" as a table of lists of numbers.
local function values_of(text)
  local values, list = {}, nil
  for part in (text .. ","):gmatch "([^,]*)," do
    local name, number = part:match "^(.+)=(.*)$"
    if name then
      list = {}
      values[name] = list
    end
    local x = tonumber(number or part)
    if not list or not x then
      usage("option --value: '%s' is no NAME=1,2", part)
    end
    list[#list + 1] = x
  end
  return values
end

-- ---- what is told ----------------------------------------------------------

local function bytes(n)
  for _, unit in ipairs { "B", "KiB", "MiB" } do
    if n < 1024 then return ("%.4g %s"):format(n, unit) end
    n = n / 1024
  end
  return ("%.4g GiB"):format(n)
end

local function tell_memory(m)
  local x = m:memory()
  print(("%d kernel%s; arena %s (no plan is below %s; all values together " ..
         "%s); weights laid out anew: %s"):format(
    x.kernels, x.kernels == 1 and "" or "s", bytes(x.arena), bytes(x.bound),
    bytes(x.sum), bytes(x.converted)))
end

-- Inputs of whatever contents, integers 0: they may be indices.
local function some_inputs(g)
  local list = {}
  for i, v in ipairs(g:inputs()) do
    list[i] = ts.tensor(v.dtype, v.shape,
                        v.dtype:find "float" and "random" or "zeros", i)
  end
  return list
end

local function tell_times(m)
  local times, total = m:times(some_inputs(m.graph)), 0
  for _, t in ipairs(times) do total = total + t.seconds end
  for i, t in ipairs(times) do
    print(("%4d %9.3f ms %5.1f %%  %s"):format(i, t.seconds * 1e3,
          100 * t.seconds / total, t.name))
  end
  print(("     %9.3f ms"):format(total * 1e3))
end

local function write(path, text)
  ts.write_file(path, text)
  print(path)
end

local function shell_quoted(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- A drawing in the language of Graphviz, or as NAME.svg what `dot` makes of it.
local function draw(path, g)
  if not path:find "%.svg$" then return write(path, g:dot()) end
  local from = os.tmpname()
  ts.write_file(from, g:dot())
  local drawn = os.execute(("dot -Tsvg -o %s %s 2>/dev/null"):format(
    shell_quoted(path), shell_quoted(from)))
  os.remove(from)
  if not drawn then
    error(("--dot %s: `dot`, of Graphviz, did not draw it; NAME.dot is " ..
           "written without it"):format(path), 0)
  end
  print(path)
end

-- Without a budget all comes from the database, which has to be there.
local function check_database(o)
  if not o.db or o.trials or o.deadline then return end
  local f <close>, why = io.open(o.db)
  if not f then error(why, 0) end
end

-- What links a saved model is there before hours of tuning, not only behind.
local function check_linker()
  if os.execute "command -v cc >/dev/null 2>&1" then return end
  error("option -o: a model is linked by the system's C compiler 'cc', and " ..
        "there is none", 0)
end

-- ---- the command -----------------------------------------------------------

local function check(o, rest)
  if #rest ~= 1 then usage "model takes one FILE.onnx" end
  if o.header and not o.o then usage "option --header needs -o NAME.so" end
  if o.o and not o.o:find "%.so$" then
    usage("option -o: '%s' is no NAME.so", o.o)
  end
  for option, name in pairs { ["-o"] = "o", ["--dot"] = "dot",
                              ["--header"] = "header",
                              ["--trace-event"] = "trace-event" } do
    if o[name] then
      arguments.check_output(option, o[name], { rest[1], o.db })
    end
  end
end

return function(args)
  local o, rest = arguments.parse(args, declared.kinds "model")
  check(o, rest)
  local target = arguments.target(o.target)
  if o.o and target and not tostring(target):find "^llvm" then
    usage "option -o: only models of the processor are saved"
  end
  check_database(o)
  if o.o then check_linker() end
  local g = import.run(ts.read_onnx(rest[1]), rest[1],
                       { shapes = o.shape and shapes_of(o.shape),
                         values = o.value and values_of(o.value),
                         flags = true })
  local function after(name, h)
    print(("-- after %s"):format(name))
    print(h)
  end
  local all = { after = o["print-after-all"] and after or nil }
  if o.passes then
    passes.run(g, all)
    print(g)
    if o.dot then draw(o.dot, g) end
    return 0
  end
  local m = graph.model(g, {
    target = o.target, database = o.db, trials = o.trials,
    deadline = o.deadline, seed = o.seed, kernel_threads = o.threads,
    progress = (o.trials or o.deadline) and true or nil, after = all.after })
  if o.dot then draw(o.dot, m.graph) end
  if not all.after and not o.o then print(m) end
  if o.times then tell_times(m) end
  if o["trace-event"] then
    write(o["trace-event"], m:trace_events(some_inputs(m.graph)))
  end
  tell_memory(m)
  for _, note in ipairs(o.db and m.notes or {}) do
    io.stderr:write(note, "\n")
  end
  if m.status == "CANCELLED" then
    io.stderr:write("interrupted: this is the best so far\n")
  elseif m.message then
    io.stderr:write(m.message, "\n")
  end
  if o.o then
    m:save(o.o, o.header)
    print(o.o)
  end
  return 0
end
