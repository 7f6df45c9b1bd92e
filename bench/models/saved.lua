-- SPDX-License-Identifier: Apache-2.0
-- Models of a folder (bench/models/run makes it) as shared libraries, untuned
-- or by the best of a database: milliseconds to load one and to run it, first
-- and at best, and what is resident when it is loaded and after runs, in MiB,
-- beside its weights and the memory that it computes in.  Outputs have to be
-- ONNX Runtime's (support.lua says how close), loading has to take less than
-- 100 ms, and no more than 1.2 times weights and memory may be resident, and 1
-- MiB for code and threads' stacks; else the status is 1.
--   build/bin/tessera bench/models/saved.lua FOLDER [--db FILE] NAME..
local here = arg[0]:gsub("[^/]*$", "")
package.path = here .. "?.lua;" .. package.path
local ts = require "tessera"
local graph = require "tessera.graph"
local support = require "support"

local folder, names, db = arg[1], { table.unpack(arg, 2) }, nil
if names[1] == "--db" then
  db = names[2]
  names = table.move(names, 3, #names + 2, 1)
end
if not folder or #names == 0 then
  io.stderr:write("usage: saved.lua FOLDER [--db FILE] NAME..\n")
  os.exit(2)
end

local temporary = os.tmpname()
os.remove(temporary)
assert(os.execute("mkdir " .. temporary))
local host = temporary .. "/host"
assert(os.execute(("cc -O1 -o %s '%shost/host.c' -ldl"):format(host, here)))

-- The constants that the library has, in MiB.
local function weights_of(path)
  local f <close> = assert(io.popen("size -A -d " .. path))
  local bytes = f:read "a":match "%.rodata%s+(%d+)"
  return tonumber(bytes) / 2 ^ 20
end

local function run(name)
  local g, _, bounds = support.read(folder, name)
  local path = temporary .. "/model.so"
  local m = graph.model(g, { database = db })
  m:save(path)
  local f <close> = assert(io.popen(("%s %s model '%s/%s' %s 0"):format(
    host, path, folder, name, temporary)))
  local load, first, best, _, loaded, resident, memory =
    f:read("n", "n", "n", "n", "n", "n", "n")
  assert(memory, "the host failed")
  local got = {}
  for k, output in ipairs((select(2, m.graph:outputs()))) do
    got[k] = ts.tensor(("%s/%s.npy"):format(temporary,
                                            (output:gsub("/", "_"))))
  end
  local d = support.apart(support.pairs_of(folder, name, m.graph, bounds, got))
  local weights = weights_of(path)
  local ok = d.close and load < 100 and resident <= 1.2 * (weights + memory) + 1
  print(("%-16s %7.2f %9.2f %9.2f %8.1f %8.1f %9.1f %9.1f  %.1e%s"):format(
    name, load, first, best, loaded, resident, weights, memory, d.abs,
    ok and "" or " !"))
  return ok
end

print("model            load ms  first ms   best ms   loaded resident " ..
      "  weights    memory  differs by")
local passed = 0
for _, name in ipairs(names) do
  local ok, e = pcall(run, name)
  if ok and e then passed = passed + 1 end
  if not ok then
    print(("%-16s %s"):format(name, type(e) == "table" and e.message or e))
  end
  collectgarbage()
end
os.execute("rm -r " .. temporary)
os.exit(passed == #names)
