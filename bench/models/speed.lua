-- SPDX-License-Identifier: Apache-2.0
-- What passes, tuning and the plan of memory do for whole models, and how fast
-- ONNX Runtime is: bench/models/export.py makes FOLDER.
--   build/bin/tessera bench/models/speed.lua FOLDER [options]
--   --only NET       this one; may be given several times
--   --trials N       also a model tuned with N trials; what was measured is in
--                    FOLDER/NET.db, so that a run can go on later
--   --each           variants without a pass are tuned as well
--   --seconds S      for each time of one model (1)
--   --threads N      (2)
--   --python PATH    with onnxruntime (FOLDER/venv/bin/python)
local here = arg[0]:gsub("[^/]*$", "")
package.path = here .. "?.lua;" .. package.path
local ts = require "tessera"
local support = require "support"

local ROUNDS = 3

local function usage(why)
  io.stderr:write(("speed.lua: %s\nusage: speed.lua FOLDER [--only NET].. " ..
                   "[--trials N] [--each] [--seconds S] [--threads N] " ..
                   "[--python PATH]\n"):format(why))
  os.exit(2)
end

local function options()
  local o, i = { only = {}, seconds = 1, threads = 2 }, 2
  if not arg[1] then usage "no folder" end
  while arg[i] do
    local name = arg[i]:match "^%-%-(%a+)$"
    if name == "each" then
      o.each, i = true, i + 1
    else
      local x = arg[i + 1] or usage(arg[i] .. " needs a value")
      if name == "only" then table.insert(o.only, x)
      elseif name == "python" then o.python = x
      elseif name == "trials" or name == "threads" or name == "seconds" then
        o[name] = tonumber(x) or usage(arg[i] .. " is a number")
      else usage(arg[i]) end
      i = i + 2
    end
  end
  if #o.only == 0 then
    o.only = { "resnet50", "resnet18", "mobilenet_v2", "bert" }
  end
  o.python = o.python or arg[1] .. "/venv/bin/python"
  return o
end

local o = options()
local folder = arg[1]

-- ---- models ----------------------------------------------------------------

local function make(net, without, trials)
  local g, inputs, bounds = support.read(folder, net)
  local start = os.time()
  local m = ts.model(g, {
    seed = 1, trials = trials, without = without, kernel_threads = o.threads,
    min_time = 0.01, progress = trials and true or nil,
    database = trials and ("%s/%s.db"):format(folder, net) or nil })
  local differs = support.apart(support.pairs_of(folder, net, m.graph, bounds,
                                                 { m:run(inputs) }))
  return { model = m, inputs = inputs, made = os.time() - start,
           close = differs.close, abs = differs.abs, samples = {}, least = {} }
end

-- What kernels read and write.
local function bytes_moved(m)
  local sum = 0
  for _, step in ipairs(m.kernels) do
    for _, p in ipairs(step.program:params()) do
      local n = math.max(1, (tonumber(p.dtype:match "%d+$") or 8) // 8)
      for _, x in ipairs(p.shape) do n = n * x end
      sum = sum + n
    end
  end
  return sum
end

local function median(list)
  table.sort(list)
  return list[(#list + 1) // 2] or 0 / 0
end

-- One time of a model, in milliseconds; and the least of each kernel.
local function sample(v)
  local sum = 0
  for i, k in ipairs(v.model:times(v.inputs, 1)) do
    sum = sum + k.seconds
    v.least[i] = math.min(v.least[i] or k.seconds, k.seconds)
  end
  table.insert(v.samples, sum * 1e3)
  return sum
end

-- Milliseconds of the kernels' least times, of which load takes little.
local function least(v)
  local sum = 0
  for _, x in ipairs(v.least) do sum = sum + x end
  return sum * 1e3
end

-- All take turns for as many seconds each.
local function time_all(variants)
  local spent = 0
  for _, v in ipairs(variants) do sample(v) v.samples = {} end
  while spent < o.seconds * #variants or #variants[1].samples < 5 do
    for _, v in ipairs(variants) do spent = spent + sample(v) end
  end
end

-- ---- other processes -------------------------------------------------------

local function numbers_of(command)
  local f = assert(io.popen(command))
  local list = {}
  for x in f:read("a"):gmatch "[%d.]+" do list[#list + 1] = tonumber(x) end
  return f:close() and list or {}
end

-- The saved model and ONNX Runtime in turns: the medians of what they print.
local function other_processes(net, m)
  local place = ("%s/%s.saved"):format(folder, net)
  os.execute(("mkdir -p '%s'"):format(place))
  m:save(place .. "/model.so", place .. "/model.h")
  local compile = "cc -O2 '%shost/host.c' -ldl -o '%s/host'"
  assert(os.execute(compile:format(here, place)))
  local saved, runtime = { {}, {}, {}, {}, {}, {}, {} }, {}
  for _ = 1, ROUNDS do
    local x = numbers_of(
      ("OMP_NUM_THREADS=%d '%s/host' '%s/model.so' model '%s/%s' '%s' %g")
      :format(o.threads, place, place, folder, net, place, o.seconds))
    for k = 1, 7 do table.insert(saved[k], x[k]) end
    local y = numbers_of(("'%s' '%sruntime.py' '%s' '%s' %d %g"):format(
      o.python, here, folder, net, o.threads, o.seconds))
    table.insert(runtime, y[1])
  end
  for k = 1, 7 do saved[k] = median(saved[k]) end
  return { load = saved[1], run = saved[4], loaded = saved[5],
           resident = saved[6] }, median(runtime)
end

-- ---- the table -------------------------------------------------------------

local function line(label, v, base)
  local m = v.model
  local ms = median(v.samples)
  print(("%-22s %7d %8.1f %9.2f %7.2f %9.2f %7d %9.2g %s"):format(
    label, #m.kernels, bytes_moved(m) * 1e-6, ms, ms / base, least(v), v.made,
    v.abs, v.close and "" or "WRONG"))
  return ms
end

local passes_off = { { "without fusion", { fuse = true } },
                     { "without layout", { layout = true } } }

local function rows_of(net)
  local rows = { { "untuned", make(net) } }
  for _, off in ipairs(passes_off) do
    rows[#rows + 1] = { off[1], make(net, off[2]) }
  end
  local budgets = o.trials and { {} } or {}
  if o.trials and o.each then budgets = { {}, passes_off[1], passes_off[2] } end
  for _, b in ipairs(budgets) do
    local label = ("%d trials%s"):format(o.trials, b[1] and ", " .. b[1] or "")
    rows[#rows + 1] = { label, make(net, b[2], math.tointeger(o.trials)) }
  end
  return rows
end

local function measure(net)
  local rows, variants, best = rows_of(net), {}, nil
  for i, r in ipairs(rows) do
    variants[i] = r[2]
    if r[1]:match "trials$" or not best then best = r[2] end
  end
  time_all(variants)
  local base = median(variants[1].samples)
  print(("\n%s\n%-22s %7s %8s %9s %7s %9s %7s %9s"):format(
    net, "", "kernels", "MB moved", "ms", "times", "least ms", "made s",
    "differs"))
  for _, r in ipairs(rows) do line(r[1], r[2], base) end
  local memory = best.model:memory()
  print(("arena %.2f MB, bound %.2f, sum %.2f; weights laid out anew %.2f MB")
    :format(memory.arena * 1e-6, memory.bound * 1e-6, memory.sum * 1e-6,
            memory.converted * 1e-6))
  local saved, runtime = other_processes(net, best.model)
  print(("saved: loads in %.2f ms, resident %.1f MiB then and %.1f MiB " ..
         "after runs, %.2f ms a run"):format(
    saved.load, saved.loaded, saved.resident, saved.run))
  print(("ONNX Runtime: %.2f ms a run, %.2f times the saved model's"):format(
    runtime, runtime / saved.run))
  print(("{\"figure\": \"model_%s\", \"value\": %.3f, \"unit\": \"ms\", " ..
         "\"peer\": %.3f}"):format(net, saved.run, runtime))
  io.stdout:flush()
end

for _, net in ipairs(o.only) do
  local ok, e = pcall(measure, net)
  if not ok then
    print(("%s: %s"):format(net, type(e) == "table" and e.message or e))
  end
  collectgarbage()
end
