-- SPDX-License-Identifier: Apache-2.0
-- Errors of arguments: an error object names the argument and the calling line;
-- options are a table or absent.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

local A = ts.placeholder("A", { 4 })
local B = ts.compute("B", { 4 }, function(i) return A(i) + 1 end)
local p = ts.program("p", { A }, { B })
local sch = ts.schedule(p)
local trace = sch:trace()
local stepper = trace:stepper(p)
local t = ts.tensor("float32", { 4 })
local kernel = ts.build(p, "llvm")
local target = ts.target "llvm"

-- As an error of this file.
local function fails(code, text, f, ...)
  local args = table.pack(...)
  local e = checks.fails(code, text, function()
    f(table.unpack(args, 1, args.n))
  end)
  assert(getmetatable(e) and tostring(e):find("^[^\n]*methods%.lua:%d+: "), e)
end

-- Of the wrong type.
for text, call in pairs {
  ["a schedule is expected, not no value"] = { sch.can },
  ["a schedule is expected, not a tensor"] = { sch.can, t, "fuse" },
  ["the name of a primitive must be a string, not no value"] =
    { sch.can, sch },
  ["a block, loop or value of a schedule is expected, not a number"] =
    { sch.extent, sch, 3 },
  ["index 0 must be an integer, not string"] = { t.get, t, "a" },
  ["index 0 must be an integer, not 0.5"] = { t.get, t, 0.5 },
  ["index 0 must be an integer, not table"] = { t.set, t, {}, 1 },
  ["an element must be a number, not table"] = { t.set, t, 0, {} },
  ["the path must be a string, not no value"] = { t.save, t },
  ["the seed must be an integer, not string"] =
    { ts.tensor, "float32", { 2 }, "random", "x" },
  ["a position must be an integer, not string"] =
    { stepper.goto_, stepper, "x" },
  ["the number of alternatives must be an integer, not boolean"] =
    { stepper.alternatives, stepper, true },
  ["the position must be an integer, not string"] =
    { trace.with_decision, trace, "1", { 1 } },
  ["the text must be a string, not table"] = { ts.trace.from_json, {} },
  ["the name of a field must be a string, not no value"] =
    { target.get, target },
  ["the kind of source must be a string, not number"] =
    { kernel.source, kernel, 7 },
  ["a target must be a string, not number"] = { ts.target, 7 },
  ["the path of a database must be a string, not no value"] = { ts.database },
  ["a list of modules must be a table, not number"] =
    { ts.space.compose, 7 },
  ["a constant must be an integer, not string"] = { ts.const, "1", "int32" },
} do
  fails("TYPE", text, table.unpack(call))
end
fails("INVALID", "the number of alternatives is 0, outside of 1 .. 1048576",
      stepper.alternatives, stepper, 0)
fails("INVALID", "the role must be input, output, constant or layout_free, " ..
      "not 'inputs'", ts.placeholder, "A", { 4 }, { role = "inputs" })
fails("INVALID", "with a colon", ts.builder("b").loop, 1)

-- Options have the types that `tessera doc` gives, and a text is no number.
for name, bad in pairs {
  progress = { 3, "the number 3, not a boolean or a function" },
  trials = { "16", '"16", not an integer' },
  seed = { 1.5, "the number 1.5, not an integer" },
  min_time = { "1", '"1", not a number' },
  on_error = { 1, 'the number 1, not "record" or "stop"' },
  space = { p, "a program, not a space or a table or a function" },
  strategy = { true, "a boolean, not a string or a table" },
} do
  fails("TYPE", ("option '%s' is %s"):format(name, bad[2]), ts.tune, p,
        { [name] = bad[1] })
end
fails("TYPE", "unknown data type 'a b'", ts.tensor, "a\nb", { 1 })
for _, word in ipairs { "luck", "stop\0" } do
  fails("INVALID", ("option 'on_error' is %q, not "):format(word), ts.tune, p,
        { on_error = word })
end
fails("TYPE", "option 'seed': expected an integer", trace.replay, trace, p,
      { seed = "1" })
fails("TYPE", "element 1: expected an integer", ts.tensor, "int8", { "2" })

-- Options that are no table, or that hold what nothing reads.
for name, call in pairs {
  ["kernel:time"] = { kernel.time, kernel, { t, t } },
  ["ts.build"] = { ts.build, p, "llvm" },
  ["ts.schedule"] = { ts.schedule, p },
  ["ts.tune"] = { ts.tune, p },
  ["ts.equivalent"] = { ts.equivalent, p, p },
  ["trace:replay"] = { trace.replay, trace, p },
  ["trace:mutate"] = { trace.mutate, trace },
  ["ts.placeholder"] = { ts.placeholder, "A", { 4 }, "float32" },
} do
  for _, bad in ipairs { 5, "fast", true, print } do
    local given = table.pack(table.unpack(call))
    given[given.n + 1] = bad
    fails("TYPE", ("the options of %s must be a table, not %s")
                  :format(name, type(bad)), table.unpack(given))
  end
  local given = table.pack(table.unpack(call))
  given[given.n + 1] = { sede = 1 }
  fails("INVALID", ("unknown option 'sede' of %s"):format(name),
        table.unpack(given))
  given[given.n + 1] = { 7 }
  fails("INVALID", ("unknown option '1' of %s"):format(name),
        table.unpack(given))
end

-- Tables where there are no options, and what stands in a list, an entry or an
-- axis by a name that nothing reads.
do
  local space = ts.space.by_hand(function() end)
  local inline = require "tessera.modules.auto_inline" {}
  local function kept() return true end
  local function tuned(postprocs)
    return ts.tune(p, { trials = 1, postprocs = postprocs })
  end
  local function block(iter)
    local b = ts.builder "q"
    local A = b:output("A", { 4 })
    b:loop("i", 0, 4, function(i)
      iter.extent, iter.bind = 4, i
      b:block("A", { iter }, function(vi) b:store(A, { vi }, 1) end)
    end)
  end
  for _, case in ipairs {
    { "ts.space.sketches, which has postprocs", ts.space.sketches, space, p,
      "llvm", { zzz = true } },
    { "space:sketches", space.sketches, space, p, "llvm", { zzz = 1 } },
    { "ts.space.explain", ts.space.explain, space, p, "llvm", { zzz = 1 } },
    { "ts.space.by_hand", ts.space.by_hand, kept, { zzz = 1 } },
    { "ts.space.check", ts.space.check, { inline }, p, "llvm", { zzz = 1 } },
    { "ts.space.default", ts.space.default, "llvm", { zzz = 1 } },
    { "ts.target", ts.target, "llvm", { zzz = 1 } },
    { "ts.database", ts.database, "/nowhere/at.all", { zzz = 1 } },
    { "ts.cost_model", ts.cost_model, "forest", { zzz = 1 } },
    { "ts.space.compose", ts.space.compose, { inline, zzz = inline } },
    { "ts.space.union", ts.space.union, { space, zzz = space } },
    { "ts.space.traces", ts.space.traces, { trace, zzz = trace } },
    { "postprocs: entry 1", tuned, { { "x", kept, zzz = 3 } } },
    { "postprocs: it is a list", tuned, { "default", zzz = 3 } },
    { "'default' has no parameter", tuned, { { "default", zzz = 3 } } },
    { "it takes max_shared", tuned, { { "verify_gpu_code", zzz = 3 } } },
    { "postprocs: it is a list", ts.space.with_postprocs, space, { zzz = 3 } },
    { "ts.tune_tasks, which has target", ts.tune_tasks, { p }, { zzz = 1 } },
    { "'vectors' is a list", require "tessera.modules.register_tile",
      { vectors = { 2, zzz = 4 } } },
    { "'threads_per_block' is a list",
      require "tessera.modules.use_tensor_core",
      { threads_per_block = { 32, 64, zzz = 4 } } },
    { "list of tasks", ts.tune_tasks, { p, zzz = p }, { trials = 1 } },
    { "it is { name, kind", block, { "vi", zzz = 1 } },
    { "reduce axis 'k'", ts.reduce_axis, "k", { 0, 2, zzz = 1 } },
    { "element [zzz]", ts.tensor, "int8", { 2 }, { 1, 2, zzz = 1 } },
    { "element [zzz]", ts.placeholder, "A", { 2, zzz = 1 } },
  } do
    local ok, e = pcall(table.unpack(case, 2))
    assert(not ok and e.message:find("zzz", 1, true) and
           e.message:find(case[1], 1, true), case[1] .. ": " .. tostring(e))
  end
  fails("INVALID", "'postprocs' is the number 3, not a boolean",
        ts.space.sketches, space, p, "llvm", { postprocs = 3 })
  fails("INVALID", "'default' has no parameter '2'", tuned,
        { { "default", "foo" } })
  fails("INVALID", "which the option postprocs of ts.tune takes",
        ts.space.with_postprocs, space, { { "x", kept } })
end

-- A string of C ends at its first NUL: nothing is cut there in silence.
local function module(name)
  return function()
    return ts.space.compose {
      ts.module { name = name, apply = function() end } {} }
  end
end
local block = sch:get_block("B")
for _, call in ipairs {
  { ts.target, "llvm\0 -mcpu=foo" },
  { ts.build, p, "llvm\0 -mcpu=foo" },
  { ts.schedule, p, { target = "llvm\0" } },
  { ts.placeholder, "A\0b", { 4 } },
  { ts.placeholder, "A", { 4 }, "float32\0" },
  { ts.placeholder, "A", { 4 }, { role = "input\0" } },
  { ts.program, "p\0q", { A }, { B } },
  { ts.compute, "C\0z", { 4 }, function(i) return A(i) end },
  { ts.reduce_axis, "k\0", 4 },
  { ts.size, "n\0" },
  { ts.builder("b").input, ts.builder("b"), "A\0", { 4 } },
  { ts.builder("b").buffer, ts.builder("b"), "A", { 4 }, "float32",
    "global\0" },
  { ts.call_extern, "f\0", "float32" },
  { ts.tensor, "float32\0x", { 2 } },
  { ts.tensor, "float32", { 2 }, "zeros\0" },
  { ts.tensor, "a.npy\0" },
  { t.save, t, "/no/such\0" },
  { p.save, p, "/no/such\0" },
  { p.work_on, p, "p\0" },
  { ts.load_program, "/no/such\0" },
  { ts.database, "/no/such\0zz" },
  { ts.tune, p, { database = "/no/such\0zz", trials = 1 } },
  { ts.tune, p, { strategy = "replay\0", trials = 1 } },
  { ts.trace.from_json, "{}\0" },
  { ts.trace.from_lua, "return\0" },
  { sch.get_block, sch, "B\0zzz" },
  { sch.get_block, sch, { name = "B\0zzz" } },
  { sch.annotate, sch, block, "key\0", 1 },
  { sch.annotate, sch, block, "key", "text\0" },
  { sch.annotate, sch, block, "key", { ["a\0"] = 1 } },
  { sch.annotation, sch, block, "key\0" },
  { sch.can, sch, "fuse\0" },
  { kernel.source, kernel, "ir\0" },
  { target.get, target, "num-cores\0" },
  { target.has, target, "avx2\0" },
  { ts.doc, "fuse\0" },
  { ts.tensor_intrin, { name = "i\0", desc = p, impl = p } },
  { ts.tensor_intrin, { name = "i", desc = p, impl = "f\0" } },
  { module "m\0" },
} do
  fails("INVALID", "has a NUL byte at ", table.unpack(call))
end
