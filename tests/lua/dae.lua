-- SPDX-License-Identifier: Apache-2.0
-- Access-execute machines: programs are compiled to streams, with parts left
-- to the host, and compute what the unscheduled program does.
local ts = require "tessera"
local intrin = require "tessera.intrin"
local machines = require "tessera.machines"
local here = arg[0]:gsub("[^/]*$", "")
local checks = dofile(here .. "../support/checks.lua")
local dae = dofile(here .. "../support/dae.lua")

local INP, WGT, ACC = "local.inp_buffer", "local.wgt_buffer", "local.acc_buffer"

-- The kernel, when its outputs are those of the unscheduled program.
local function check(p, s, target)
  local kernel = ts.build(s, target or "dae")
  local got, want = dae.tensors(p, 1)
  kernel(table.unpack(got))
  ts.build(p)(table.unpack(want))
  assert(dae.same(got, want), s)
  local tokens = kernel:source "tokens"
  assert(not tokens:find "race:" and not tokens:find "idle:" and
         not tokens:find "left:" and not tokens:find "deadlock:", tokens)
  return kernel, got
end

local function refused(f, ...)
  local ok, e = pcall(f)
  assert(not ok, "it is not refused")
  for _, words in ipairs { ... } do
    assert(tostring(e):find(words, 1, true), tostring(e))
  end
end

-- A product by hand: tiles of 8 rows, `along` columns shared by two virtual
-- threads, the sum in two parts.
local function by_hand(p, threads)
  local s = ts.schedule(p, { target = "dae" })
  local c, d = s:get_block "C", s:get_block "D"
  s:set_scope(c, 0, ACC)
  local i, j, l = s:get_loops(d)
  local i0, i1 = s:split(i, { ts.auto, 8 })
  local j0, j1 = s:split(j, { 2, ts.auto })
  s:reorder(i0, j0, i1, j1, l)
  if threads then s:bind(j0, "vthread.x") end
  s:compute_at(c, j0)
  local list = { s:get_loops(c) }
  local ci, cj, cl, ko, ki = table.unpack(list, #list - 4)
  local k0, k1 = s:split(ko, { 2, ts.auto })
  s:reorder(k0, ci, cj, k1, cl, ki)
  s:compute_at(s:cache_read(c, 0, INP), k0)
  s:compute_at(s:cache_read(c, 1, WGT), k0)
  s:decompose_reduction(c, k0)
  s:tensorize(cl, intrin.use "dae_gemm_16x16")
  return s
end

-- ---- targets ---------------------------------------------------------------

local vta = ts.target "dae"
assert(tostring(vta):find "^dae %-machine=" and
       tostring(vta):find "name=vta", tostring(vta))
assert(tostring(ts.target(tostring(vta))) == tostring(vta))
assert(machines.of(vta).buffer.wgt == 262144)
assert(machines.of(ts.target "dae -model=vdla").clock == 200)
refused(function() ts.target "dae -model=pdp8" end,
        "there is no machine 'pdp8', as -model says; there are gemmini, ")
refused(function() ts.target "dae -machine=name=x,clok=1" end,
        "there is no field 'clok'; did you mean 'clock'?")
refused(function() ts.target "dae -machine=name=x,clock=0" end,
        "'clock' is a number from 1 to 100000, not '0'")
refused(function() ts.target "dae -machine=name=x" end, "there is no 'clock'")

local function changed(name, f)
  local t = machines.of(vta)
  t.name = name
  f(t)
  machines.define(t)
  return "dae -model=" .. name
end
refused(function()
  ts.target(changed("odd", function(t) t.buffer.inp = 3000 end))
end, "'buffer.inp' is a power of two of entries of 16 bytes")
refused(function()
  ts.target(changed("huge", function(t) t.buffer.acc = 4 << 20 end))
end, "its buffers are too deep for instructions of 128 bits")

refused(function()
  ts.target(changed("words", function(t) t.word.load = "load it" end))
end, "'word.load' is no number and no word")

-- Groups that are none, a change that is none, and the floats of a division.
refused(function()
  machines.define(machines.like("vta", { name = "odd", memroy = { bus = 4 } }))
  ts.target "dae -model=odd"
end, "there is no field 'memroy.bus'; did you mean 'memory.bus'?")
refused(function() machines.like("vta") end, "what is to be changed is a table")
machines.define(machines.like("vta", { name = "half",
                                       buffer = { inp = (32 << 10) / 2 } }))
assert(machines.of(ts.target "dae -model=half").buffer.inp == 16384)

-- ---- products --------------------------------------------------------------

local p = dae.dense(32, 4, 4)
local serial = check(p, by_hand(p, false))
local threaded = check(p, by_hand(p, true))
assert(serial:source "stream":find("gemm uop", 1, true))
assert(threaded:source "timeline":find("matrix unit", 1, true))
assert(threaded:source "events":find '"traceEvents"')
local args = dae.tensors(p, 1)
local slow = serial:time(args, { min_time = 1e-3 }).median
local fast = threaded:time(args, { min_time = 1e-3 }).median
assert(fast < slow, fast / slow)
-- The same cycles each time.
assert(fast == threaded:time(args, { min_time = 1e-3 }).median)
refused(function() serial:source "ptx" end, "stream", "tokens")

-- ---- virtual threads -------------------------------------------------------

-- Loads of inputs and products of a stream in the words of TVM's paper.
local function classical(stream)
  local list, count = {}, { ld = 0, ex = 0 }
  for line in stream:gmatch "[^\n]+" do
    local own = line:find "^ *%d+ load inp" and "ld" or
                line:find "^ *%d+ gemm uop" and "ex"
    if own then
      local other = own == "ld" and "ex" or "ld"
      local word = own == "ld" and "compute" or "load"
      if line:find("pop " .. word, 1, true) then
        list[#list + 1] = ("%s.pop_dep_from(%s)"):format(own, other)
      end
      list[#list + 1] = ("%s.perform(%s%d)"):format(own, own, count[own])
      if line:find("push " .. word, 1, true) then
        list[#list + 1] = ("%s.push_dep_to(%s)"):format(own, other)
      end
      count[own] = count[own] + 1
    end
  end
  return table.concat(list, " ")
end

-- Two virtual threads have a row of the sums each, and load an entry of it,
-- then execute its product, four times.
do
  local q = dae.dense(2, 1, 4)
  local s = ts.schedule(q, { target = "dae" })
  local c = s:get_block "C"
  s:set_scope(c, 0, ACC)
  local i = s:get_loops(s:get_block "D")
  s:bind(i, "vthread.x")
  s:compute_at(c, i)
  local list = { s:get_loops(c) }
  local cl, ko, ki = table.unpack(list, #list - 2)
  s:reorder(ko, cl, ki)
  s:compute_at(s:cache_read(c, 1, WGT), i)
  s:compute_at(s:cache_read(c, 0, INP), ko)
  s:decompose_reduction(c, ko)
  s:tensorize(cl, intrin.use "dae_gemm_16x16")
  local text = classical(check(q, s):source "stream")
  local wanted = "ld.perform(ld0) ld.push_dep_to(ex) " ..
    "ld.perform(ld1) ld.push_dep_to(ex) " ..
    "ex.pop_dep_from(ld) ex.perform(ex0) ex.push_dep_to(ld) " ..
    "ex.pop_dep_from(ld) ex.perform(ex1) ex.push_dep_to(ld) "
  for k = 2, 6, 2 do
    for n = k, k + 1 do
      wanted = wanted .. ("ld.pop_dep_from(ex) ld.perform(ld%d) " ..
                          "ld.push_dep_to(ex) "):format(n)
    end
    for n = k, k + 1 do
      wanted = wanted .. ("ex.pop_dep_from(ld) ex.perform(ex%d) %s"):format(
        n, k < 6 and "ex.push_dep_to(ld) " or "")
    end
  end
  assert(text .. " " == wanted, text)
end

-- ---- what does not fit -----------------------------------------------------

refused(function()
  ts.build(by_hand(p), changed("small", function(t) t.buffer.acc = 1 << 9 end))
end, "exceeds local.acc_buffer, which has room for 512 bytes")
do
  local s = ts.schedule(p)
  s:set_scope(s:get_block "C", 0, ACC)
  refused(function() ts.build(s, "dae") end, "parts of what the machine", "C[")
end
do -- a sum that is stored whole
  local A = ts.placeholder("A", { 4, 16 }, "int32")
  local B = ts.compute("B", { 4, 16 }, function(i, l) return A(i, l) + 1 end)
  local q = ts.program("whole", { A }, { B })
  local s = ts.schedule(q)
  s:cache_read(s:get_block "B", 0, ACC)
  refused(function() ts.build(s, "dae") end, "stores bytes only")
  check(q, s, changed("stores", function(t) t.store.acc = 1 end))
end

-- ---- the vector unit -------------------------------------------------------

local function vectors(f)
  local A = ts.placeholder("A", { 4, 8, 16 }, "int32")
  local B = ts.placeholder("B", { 8, 16 }, "int32")
  local C = ts.compute("C", { 4, 8, 16 }, function(i, j, l)
    return ts.cast(f(A(i, j, l), B(j, l)), "int8")
  end)
  local q = ts.program("vectors", { A, B }, { C })
  local s = ts.schedule(q)
  local c = s:get_block "C"
  for r = 0, s:block_info(c).reads - 1 do s:cache_read(c, r, ACC) end
  return q, s
end
for _, f in ipairs {
  function(a, b) return a + b end,
  function(a, b) return ts.max(a * 3 - 7, b) // 16 end,
  function(a, b) return ts.min(b, a) end,
  function(a, b) return ts.max(ts.min((a + b) // 4, 100), -50) end,
  function(a, b) return 5 + a * b end,
} do
  check(vectors(f))
end
-- Bytes that are loaded to accumulators.
do
  local A = ts.placeholder("A", { 4, 8, 16 }, "int8")
  local B = ts.placeholder("B", { 8, 16 }, "int8")
  local C = ts.compute("C", { 4, 8, 16 }, function(i, j, l)
    return ts.cast(ts.cast(A(i, j, l), "int32") * 3 +
                   ts.cast(B(j, l), "int32"), "int8")
  end)
  local q = ts.program("bytes", { A, B }, { C })
  local s = ts.schedule(q)
  for r = 0, 1 do s:cache_read(s:get_block "C", r, ACC) end
  assert(check(q, s):source "stream":find("load acc8", 1, true))
end
refused(function()
  local _, s = vectors(function(a) return a * (a + 1) end)
  ts.build(s, "dae")
end, "the vector unit has no such operation")
refused(function()
  local _, s = vectors(function(a, b) return a - b end)
  ts.build(s, "dae")
end, "the vector unit has no such operation")
refused(function()
  local _, s = vectors(function(a, b) return a + b + 70000 end)
  ts.build(s, "dae")
end, "70000 does not fit 16 bits")

-- ---- the host --------------------------------------------------------------

do -- all of it
  local A, B = ts.placeholder("A", { 8, 8 }), ts.placeholder("B", { 8, 8 })
  local k = ts.reduce_axis("k", 8)
  local C = ts.compute("C", { 8, 8 }, function(i, j)
    return ts.sum(A(i, k) * B(k, j), k)
  end)
  local q = ts.program("floats", { A, B }, { C })
  local kernel = check(q, q)
  assert(kernel:source "stream":find("host function 0 (A, B, C)", 1, true))
end
do -- before and after the machine, and once for each tile
  local A = ts.placeholder("A", { 16, 2, 16 }, "float32")
  local Q = ts.compute("Q", { 16, 2, 16 }, function(i, j, l)
    return ts.cast(A(i, j, l) * 50, "int8")
  end)
  local W = ts.compute("W", { 16, 2, 16 }, function(i, j, l)
    return ts.cast(Q(i, j, l), "int32")
  end)
  local R = ts.compute("R", { 16, 2, 16 }, function(i, j, l)
    return ts.cast(ts.max(W(i, j, l) * 3, 7), "int8")
  end)
  local S = ts.compute("S", { 16, 2, 16 }, function(i, j, l)
    return ts.cast(R(i, j, l), "float32") * 0.5
  end)
  local q = ts.program("mixed", { A }, { S })
  for _, at in ipairs { false, true } do
    local s = ts.schedule(q)
    s:set_scope(s:get_block "W", 0, ACC)
    for _, name in ipairs(at and { "R", "W", "Q" } or {}) do
      s:compute_at(s:get_block(name), (s:get_loops(s:get_block "S")))
    end
    local kernel = check(q, s)
    local stream = kernel:source "stream"
    local _, calls = stream:gsub("host function", "")
    assert(calls == (at and 32 or 2), stream)
    assert(stream:find("load acc8", 1, true) and stream:find("alu mul 3"))
  end
end

-- ---- the space -------------------------------------------------------------

for _, o in ipairs {
  { h = 6, ic = 32, oc = 32, bias = true, relu = true },
  { h = 7, w = 6, ic = 32, oc = 16, stride = 2 },
  { h = 8, ic = 16, oc = 32, k = 1, stride = 2, bias = true },
} do
  local q = dae.conv(o)
  for i, sketch in ipairs(ts.space.sketches(ts.space.default "dae", q, "dae"))
  do
    for seed = 1, checks.checked and 1 or 3 do
      local ok, s = pcall(sketch.replay, sketch, q,
                          { resample = true, seed = seed + i })
      assert(ok or s.code == "REFUSED", s)
      if ok then check(q, s) end
    end
  end
end

do -- a machine whose matrix unit has a shape of its own
  local broad = changed("broad", function(t)
    t.matrix = { k = 8, n = 32, interval = 1, depth = 8, preload = 0,
                 call = "broad_gemm" }
  end)
  assert(intrin.of_machine(machines.get "broad") == "broad_gemm_8x32")
  refused(intrin.of_machine, "takes a machine's table")
  local A = ts.placeholder("A", { 21, 20 }, "int8")
  local B = ts.placeholder("B", { 64, 20 }, "int8")
  local k = ts.reduce_axis("k", 20)
  local C = ts.compute("C", { 21, 64 }, function(i, j)
    return ts.sum(ts.cast(A(i, k), "int32") * ts.cast(B(j, k), "int32"), k)
  end)
  local D = ts.compute("D", { 21, 64 }, function(i, j)
    return ts.cast(ts.max(ts.min(C(i, j) // 64, 127), -128), "int8")
  end)
  local q, ran = ts.program("broad", { A, B }, { D }), 0
  for i, sketch in ipairs(ts.space.sketches(ts.space.default "dae", q, broad))
  do
    local ok, s = pcall(sketch.replay, sketch, q,
                        { resample = true, seed = i })
    if ok then
      local kernel = check(q, s, broad)
      assert(kernel:source "stream":find("gemm uop", 1, true))
      ran = ran + 1
    end
  end
  assert(ran > 0)
end

do -- the low byte of sums, which is what the machine stores
  local q = dae.conv { h = 6, ic = 32, oc = 32, bare = true }
  local sketch = ts.space.sketches(ts.space.default "dae", q, "dae")[1]
  local kernel = check(q, sketch:replay(q, { resample = true, seed = 1 }))
  assert(not kernel:source "stream":find "alu")
  -- That of bytes without sign is another, and other shifts are computed.
  for dtype, by in pairs { int8 = 20, uint8 = 24 } do
    local A = ts.placeholder("A", { 4, 16 }, "int32")
    local B = ts.compute("B", { 4, 16 }, function(i, l)
      return A(i, l) + A(i, l)
    end)
    local C = ts.compute("C", { 4, 16 }, function(i, l)
      return ts.cast(ts.shr(ts.shl(B(i, l), by), by), dtype)
    end)
    local shifted = ts.program("shifted", { A }, { C })
    local s = ts.schedule(shifted)
    s:set_scope(s:get_block "B", 0, ACC)
    s:cache_read(s:get_block "B", 0, ACC)
    local stream = check(shifted, s):source "stream"
    assert(stream:find("alu shr -" .. by) and stream:find("alu shr " .. by))
  end
end

local r = ts.tune(dae.dense(32, 4, 4), { target = "dae", trials = 16, seed = 1,
                                        min_time = 1e-6 })
assert(r.latency < slow and r.schedule)
-- What the machine cannot do is tuned, too, as it is.
local floats = ts.tune(require("tessera.ops").matmul { m = 8, n = 8, k = 8 },
                       { target = "dae", trials = 2, min_time = 1e-6 })
assert(floats.latency > 0)
