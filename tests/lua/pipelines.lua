-- SPDX-License-Identifier: Apache-2.0
-- Software pipelines, double buffers and virtual threads, built and run;
-- thread-bound loops are refused for a processor.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local fails = checks.fails

local N = 24
local A = ts.placeholder("A", { N, N })
local B = ts.placeholder("B", { N, N })
local k = ts.reduce_axis("k", N)
local C = ts.compute("C", { N, N }, function(i, j)
  return ts.sum(A(i, k) * B(k, j), k)
end)
local program = ts.program("matmul", { A, B }, { C })

-- C in tiles; those of A and B are copied in each step of k0.
local function tiled()
  local sch = ts.schedule(program, { seed = 1 })
  local c = sch:get_block "C"
  local i, j, kk = sch:get_loops(c)
  local i0, i1 = sch:split(i, { ts.auto, 8 })
  local j0, j1 = sch:split(j, { ts.auto, 6 })
  local k0, k1 = sch:split(kk, { ts.auto, 4 })
  sch:reorder(i0, j0, k0, i1, j1, k1)
  local x = sch:cache_read(c, 0, "shared")
  local y = sch:cache_read(c, 1, "shared")
  sch:compute_at(x, k0)
  sch:compute_at(y, k0)
  return sch, i0, k0, x
end

local function must_work(sch)
  checks.same(sch, program)
  checks.exact(sch, program, checks.arguments(program, "integers"))
end

local sch, i0, k0, x = tiled()
sch:annotate(k0, "software_pipeline_stage", { 0, 0, 1 })
sch:annotate(k0, "software_pipeline_order", { 0, 1, 2 })
must_work(sch)

sch, i0, k0, x = tiled()
sch:annotate(x, "double_buffer_scope", 0)
must_work(sch)

sch, i0, k0, x = tiled()
sch:bind(i0, "vthread.x")
must_work(sch)

-- What does not fit is found when the program is lowered.
sch, i0, k0, x = tiled()
sch:annotate(k0, "software_pipeline_stage", { 0, 1 })
sch:annotate(k0, "software_pipeline_order", { 0, 1 })
fails("BUILD_ERROR", "has 2 entries, its body 3 statements", ts.build, sch)

sch, i0, k0, x = tiled()
sch:annotate(k0, "software_pipeline_stage", { 1, 1, 0 })
sch:annotate(k0, "software_pipeline_order", { 0, 1, 2 })
fails("BUILD_ERROR", "must run before", ts.build, sch)

sch, i0, k0, x = tiled()
sch:bind(i0, "threadIdx.x")
assert(ts.equivalent(sch, program))
fails("BUILD_ERROR", "threadIdx.x", ts.build, sch)

-- The loop's extent may change in its iterations.
local zero = ts.cast(0, "int64")
do
  local b = ts.builder "counted"
  local E, M = b:inout("E", { 1 }, "int32"), b:inout("M", { 8 }, "int32")
  local S = b:buffer("S", { 1 }, "int32")
  b:loop("t", 0, ts.min(ts.cast(E(zero), "int64"), 8), function(t)
    b:block("load", { { "v", extent = 8, bind = t } }, function(v)
      b:store(S, { 0 }, ts.cast(v, "int32") + 1)
    end)
    b:block("use", { { "v", "opaque", extent = 8, bind = t } }, function(v)
      b:store(M, { v }, S(zero) + E(zero))
      b:store(E, { 0 }, E(zero) + 2)
    end)
  end)
  local p = b:program()
  local s = ts.schedule(p)
  local t = s:get_loops(s:get_block "use")
  s:annotate(t, "software_pipeline_stage", { 0, 1 })
  s:annotate(t, "software_pipeline_order", { 0, 1 })
  for n = 0, 9 do
    local args = checks.arguments(p)
    args[1]:set(0, n)
    checks.exact(ts.lower(s), p, args)
    checks.exact(s, p, args)
  end
end

-- The iteration's own memory tells where a loop begins: another place in the
-- next one, which the pipeline may have come to by then.
do
  local b = ts.builder "told"
  local M, B = b:inout("M", { 16 }, "int32"), b:output("B", { 4 }, "int32")
  local E = b:buffer("E", { 1 }, "int32")
  local function from(n) return ts.cast(E(zero), "int64") % 8 + n end
  b:loop("t", 0, 4, function(t)
    local own = { { "v", "opaque", extent = 4, bind = t } }
    b:block("make", { { "v", extent = 4, bind = t } }, function(v)
      b:store(E, { 0 }, 4 - ts.cast(v, "int32"))
    end)
    b:block("use", own, function(v)
      b:loop("j", from(1), 1, function(j) b:store(B, { v }, M(j)) end)
    end)
    b:block("put", own, function(v)
      b:loop("j", from(0), 1, function(j)
        b:store(M, { j }, ts.cast(v, "int32") + 100)
      end)
    end)
  end)
  local s = ts.schedule(b:program())
  local t = s:get_loops(s:get_block "make")
  s:annotate(t, "software_pipeline_stage", { 0, 0, 1 })
  s:annotate(t, "software_pipeline_order", { 0, 1, 2 })
  fails("UNSUPPORTED", "of the next iteration, because of M", ts.lower, s)
end

-- The host's functions are called in the order that the program says.
local function calls(stages, order)
  local b = ts.builder "calls"
  local M = b:output("M", { 8 }, "int32")
  b:loop("t", 0, 8, function(t)
    for _, name in ipairs { "first", "second" } do
      b:block(name, { { "v", "opaque", extent = 8, bind = t } }, function(v)
        b:evaluate(ts.call_extern(name, "int32", v))
      end)
    end
    b:block("M", { { "v", extent = 8, bind = t } }, function(v)
      b:store(M, { v }, ts.cast(v, "int32"))
    end)
  end)
  local s = ts.schedule(b:program())
  local loop = s:get_loops(s:get_block "M")
  s:annotate(loop, "software_pipeline_stage", stages)
  s:annotate(loop, "software_pipeline_order", order)
  return s
end
ts.lower(calls({ 0, 0, 1 }, { 0, 1, 2 }))
ts.lower(calls({ 1, 1, 0 }, { 1, 2, 0 }))
fails("UNSUPPORTED", "statement 0 (stage 0, order 1) must run before " ..
      "statement 1 (stage 0, order 0), because of what they call",
      ts.lower, calls({ 0, 0, 1 }, { 1, 0, 2 }))
fails("UNSUPPORTED", "statement 1 (stage 1, order 1) must run before " ..
      "statement 0 (stage 0, order 0) of the next iteration",
      ts.lower, calls({ 0, 1, 1 }, { 0, 1, 2 }))

-- Virtual threads have in common what is the same for all of them; not what
-- each changes together with what is its own.
local function virtual(with_let)
  local b = ts.builder "virtual"
  local M = b:output("M", { 2, 8 }, "int32")
  local S = b:buffer("S", { 8 }, "int32")
  b:loop("v", 0, 2, function(v)
    b:loop("x", 0, 8, function(x)
      b:block("start", { { "vx", extent = 8, bind = x } }, function(vx)
        b:store(S, { vx }, ts.cast(vx, "int32"))
      end)
    end)
    b:loop("x", 0, 8, function(x)
      b:block("add", { { "vx", extent = 8, bind = x } }, function(vx)
        b:store(S, { vx }, S(vx) + 1)
      end)
      b:block("use", { { "vv", extent = 2, bind = v },
                       { "vx", extent = 8, bind = x } }, function(vv, vx)
        if not with_let then return b:store(M, { vv, vx }, S(vx)) end
        b:let("l", ts.cast(vv, "int32") * 2, function(l)
          b:store(S, { vx }, S(vx) + 1)
          b:store(M, { vv, vx }, S(vx) + l)
        end)
      end)
    end)
  end)
  return b:program()
end
for _, with_let in ipairs { false, true } do
  for _, how in ipairs { "parallel", "vectorize", "unroll" } do
    local p = virtual(with_let)
    local s = checks.legal(p, function(t)
      local v, x = t:get_loops(t:get_block "use")
      t:bind(v, "vthread.x")
      t[how](t, x)
    end)
    checks.exact(s, p, checks.arguments(p))
    local shared = tostring(ts.lower(s)):find "\n    for x in range%(8%)"
    assert(not shared == (with_let or how ~= "unroll"), ts.lower(s))
  end
end
