-- SPDX-License-Identifier: Apache-2.0
-- The modules for reductions with few spatial iterations, for constants, for
-- rules of blocks' own, and for threads: what they make computes the same.
local ts = require "tessera"
local ops = require "tessera.ops"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local searching = dofile((arg[0]:gsub("[^/]*$", "../support/searching.lua")))
local steps, fails, use = searching.steps, checks.fails, searching.use

local function sketches(p, modules)
  return searching.valid(p, modules, "llvm -num-cores=4")
end

local function why(p, modules)
  return ts.space.explain(modules, p, "llvm -num-cores=4", { all = true })
end

local function row_sums(rows, n, after)
  local A = ts.placeholder("A", { rows, n })
  local k = ts.reduce_axis("k", n)
  local S = ts.compute("S", { rows }, function(i) return ts.sum(A(i, k), k) end)
  local out = S
  if after then
    out = ts.compute("root_of", { rows }, function(i)
      return ts.sqrt(ts.abs(S(i)))
    end)
  end
  return ts.program("row_sums", { A }, { out })
end

local function softmax(rows, n)
  local A = ts.placeholder("A", { rows, n })
  local k, k2 = ts.reduce_axis("k", n), ts.reduce_axis("k2", n)
  local m = ts.compute("most", { rows }, function(i)
    return ts.reduce_max(A(i, k), k)
  end)
  local e = ts.compute("e", { rows, n }, function(i, j)
    return ts.exp(A(i, j) - m(i))
  end)
  local s = ts.compute("total", { rows }, function(i)
    return ts.sum(e(i, k2), k2)
  end)
  local y = ts.compute("norm", { rows, n }, function(i, j)
    return e(i, j) / s(i)
  end)
  return ts.program("softmax", { A }, { y })
end

-- What is asked: the bounds of needs_rfactor, and footprints.
do
  local function needs(p, ...)
    local sch = ts.schedule(p)
    return sch:needs_rfactor(sch:get_block("C"), ...)
  end
  local few = ops.matmul { m = 4, n = 4, k = 256 }
  assert(needs(few, 16) and not needs(few, 15))
  assert(not needs(ops.matmul { m = 16, n = 16, k = 256 }, 1 << 20))
  local sch = ts.schedule(row_sums(8, 32, true))
  local S = sch:get_block("S")
  assert(sch:needs_rfactor(S, 0) and sch:needs_rfactor(S, 0, 31))
  assert(not sch:needs_rfactor(S, 0, 32))
  assert(not sch:needs_rfactor(sch:get_block("root_of"), 1 << 20))
  assert(not sch:needs_rfactor(sch:get_block("root"), 1 << 20))
  local i, k = sch:get_loops(S)
  assert(sch:footprint(S, "read", 0) == 256)
  assert(sch:footprint(S, "read", 0, i) == 32)
  assert(sch:footprint(S, "read", 0, k) == 1)
  assert(sch:footprint(S, "write", 0, i) == 1)
  fails(nil, "no number 3", sch.footprint, sch, S, "read", 3)
  local other = sch:get_loops(sch:get_block("root_of"))
  fails("INVALID", "is not in that loop", sch.footprint, sch, S, "read", 0,
        other)
  -- What a loop's factor was.
  local v = sch:sample_categorical({ 2, 4 }, { 0.5, 0.5 })
  local outer, inner = sch:split(k, { ts.auto, v })
  assert(sch:factor(inner) == v and not sch:factor(outer) and
         not sch:factor(i))
  -- Asking leaves no trace.
  local before = sch:program():hash()
  sch:footprint(S, "read", 0, outer)
  assert(sch:program():hash() == before)
end

-- add_rfactor: both parts, and the program as it was.
do
  local p = row_sums(4, 24)
  local list = sketches(p, { use "add_rfactor" })
  assert(#list == 3, #list)
  assert(steps(list[1], "rfactor") == 1 and steps(list[2], "rfactor") == 1)
  assert(#list[3] == 0)
  assert(#sketches(ops.matmul { m = 2, n = 3, k = 64 },
                   { use "add_rfactor" }) == 3)
  assert(why(ops.matmul { m = 64, n = 64, k = 64 }, { use "add_rfactor" })
         :find("C: not applicable: it is no reduction, or has", 1, true))
  fails("INVALID", "'max_jobs_per_core' is '0': it is an integer from 1 on",
        require "tessera.modules.add_rfactor", { max_jobs_per_core = 0 })
  -- Partial results by a tree.
  list = sketches(p, { use("add_rfactor", { tree = true }),
                       use "parallel_vectorize_unroll" })
  assert(#list == 4 and steps(list[3], "rfactor") == 2, #list)
  fails("INVALID", "'tree' is '1': it is true or false",
        require "tessera.modules.add_rfactor", { tree = 1 })
end

-- add_rfactor: a matrix times a vector has vectors along the reduction, however
-- many rows it has; where columns lie beside each other it has not.
do
  local along = use("add_rfactor", { along = true, outer_rows = 1 })
  local column = { m = 100, n = 1, k = 24 }
  for _, o in ipairs { column, { m = 1, n = 100, k = 24, trans_b = true,
                                 batch = { 2 } } } do
    assert(#sketches(ops.matmul(o), { along }) == 2)
  end
  for _, o in ipairs { { m = 1, n = 100, k = 24 },
                       { m = 100, n = 1, k = 24, trans_a = true },
                       { m = 30, n = 100, k = 24, trans_b = true } } do
    assert(why(ops.matmul(o), { along }):find("C: not applicable", 1, true))
  end
  assert(ts.space.explain(ts.space.default "llvm", ops.matmul(column), "llvm")
         :find "add_rfactor at C: applied")
end

-- random_compute_location: the partial results follow.
do
  local p = row_sums(4, 24, true)
  local list = sketches(p, { use "add_rfactor", use "random_compute_location" })
  assert(#list == 3, #list)
  -- One place for the sums and one for the partial ones.
  assert(steps(list[1], "sample_compute_location") == 2)
  assert(steps(list[3], "sample_compute_location") == 1)
  local text = why(p, { use "random_compute_location" })
  assert(text:find("root_of: not applicable: nothing reads it", 1, true), text)
  -- Places that are not open, before modules that look at loops.
  local fixed = use("random_compute_location", { open = false })
  list = sketches(p, { use "add_rfactor", fixed })
  assert(#list == 2 * 2 * 2 + 2, #list)
  sketches(softmax(4, 12), { use "add_rfactor",
                             use("random_compute_location",
                                 { open = false, fuse = true }),
                             use "parallel_vectorize_unroll" })
  -- Nothing is put where it would be computed again for each element.
  local X = ts.placeholder("X", { 64, 64 })
  local k = ts.reduce_axis("k", 64)
  local S = ts.compute("S", { 64 }, function(i) return ts.sum(X(i, k), k) end)
  local Y = ts.compute("Y", { 64, 64 }, function(i, j)
    return X(i, j) / S(i)
  end)
  p = ts.program("shares", { X }, { Y })
  list = sketches(p, { use("random_compute_location",
                           { open = false, fuse = true }) })
  assert(#list == 1 and steps(list[1], "compute_at") == 1, #list)
  local at = list[1]:replay()
  assert(#{ at:get_loops(at:get_block "S") } == 3, at)
  assert(#sketches(p, { use("random_compute_location",
                            { open = false, most = 2, again = 64 }) }) == 3)
  fails("INVALID", "'again' is '0': it is a number from 1 on",
        require "tessera.modules.random_compute_location", { again = 0 })
end

-- Several reduction loops, and fewer rows than cores: both parts are factored
-- out.
do
  local list = sketches(ops.norm { b = 2, m = 12, n = 16 },
                        { use "add_rfactor" })
  assert(#list == 4 and steps(list[3], "rfactor") == 2, #list)
  -- However long the reduction is.
  assert(why(ops.norm { b = 1, m = 256, n = 256 }, { use "add_rfactor" })
         :find("squares: applied, 4 schedules\n", 1, true))
end

-- Reductions that are alike are split alike, and blocks move together.
do
  local function forms(p, more)
    return sketches(p, { use("auto_inline", { keep = true }),
                         use("add_rfactor", more) })
  end
  local p = softmax(4, 24)
  assert(#forms(p, {}) == 9)
  local list = forms(p, { together = true, tree = true })
  assert(#list == 4, #list)
  for i, n in ipairs { 2, 2, 4, 0 } do
    assert(steps(list[i], "rfactor") == n, list[i])
  end
  -- Those of another length have forms of their own.
  local A, B = ts.placeholder("A", { 4, 24 }), ts.placeholder("B", { 4, 36 })
  local k, q = ts.reduce_axis("k", 24), ts.reduce_axis("q", 36)
  local S = ts.compute("S", { 4 }, function(i) return ts.sum(A(i, k), k) end)
  local T = ts.compute("T", { 4 }, function(i) return ts.sum(B(i, q), q) end)
  assert(#forms(ts.program("two", { A, B }, { S, T }), { together = true })
         == 9)
  -- Jobs where there are few rows, and enough to do.
  local rows = row_sums(8, 64)
  assert(#forms(rows, { outer_rows = 3 }) == 3)
  assert(#forms(rows, { outer_rows = 2 }) == 2)
  assert(#forms(rows, { outer_from = 1000 }) == 3)
  assert(#forms(rows, { outer_from = 2000 }) == 2)
  fails("INVALID", "'outer_rows' is '-1': it is an integer from 0 on", use,
        "add_rfactor", { outer_rows = -1 })
  -- Places: nothing, all, the partial results, what adds them up.
  local place = use("random_compute_location", { open = false,
                                                 together = true })
  p = row_sums(4, 24, true)
  local modules = { use("add_rfactor", { together = true }), place }
  assert(#sketches(p, modules) == 2 * 4 + 2)
  assert(why(p, modules):find("moved: none; S, S_rf; S_rf; S\n", 1, true))
  modules[2] = use("random_compute_location", { open = false, fuse = true,
                                                together = true })
  assert(#sketches(p, modules) == 2 * 2 + 2)
  modules[2] = use("random_compute_location", {
    open = false, fuse = true, together = true, sums_from = 1 << 20 })
  assert(#sketches(p, modules) == 2 * 4 + 2)
  fails("INVALID", "'sums_from' is '-1': it is an integer from 0 on", use,
        "random_compute_location", { sums_from = -1 })
  assert(why(row_sums(4, 24), { place }):find(
    "at root: not applicable: no block can be under a loop of its consumer", 1,
    true))
  -- The partial sums of squares read the mean again, which stays in a register.
  modules[2] = use "multi_level_tiling"
  p = ops.layer_norm { shape = { 4, 24 } }
  assert(why(p, { use("auto_inline", { keep = true }), table.unpack(modules) })
         :find("multi_level_tiling at squares_rf: not applicable: what it " ..
               "reads again is the same", 1, true))
end

-- What would be computed again and again stays a block of its own.
do
  local function inlined(p)
    local list = sketches(p, { use("auto_inline", { keep = true,
                                                      rows = true }) })
    return steps(list[1], "compute_inline")
  end
  assert(inlined(softmax(4, 8)) == 0)
  assert(inlined(ops.conv2d_nhwc { n = 1, h = 4, w = 4, ci = 2, co = 8, k = 3,
                                   pad = 1 }) == 0)
  -- Padding that is read a few times: folded, and left alone.
  local list = sketches(ops.depthwise_conv2d_nhwc { n = 1, h = 4, w = 4, c = 2,
                                                    k = 3, pad = 1 },
                        { use("auto_inline", { keep = true }) })
  assert(#list == 2 and steps(list[1], "compute_inline") == 1 and
         steps(list[2], "compute_inline") == 0)
  fails("INVALID", "'again' is '0': it is an integer from 1 on",
        require "tessera.modules.auto_inline", { again = 0 })
  -- Rows move, and another operand's columns become rows.
  assert(inlined(ops.transpose_batch_matmul { b = 1, seq = 4, heads = 2,
                                              dim = 4 }) == 1)
  assert(inlined(ops.matmul { m = 4, n = 4, k = 4, bias = true,
                              relu = true }) == 1)
  fails("INVALID", "'keep' is '1': it is true or false",
        require "tessera.modules.auto_inline", { keep = 1 })
end

-- inline_constant_scalars
do
  local A = ts.placeholder("A", { 8 })
  local c = ts.compute("c", {}, function() return ts.const(3, "float32") end)
  local B = ts.compute("B", { 8 }, function(i) return A(i) * c() end)
  local p = ts.program("scaled", { A }, { B })
  local list = sketches(p, { use "inline_constant_scalars" })
  assert(#list == 1 and steps(list[1], "compute_inline") == 1)
  assert(why(p, { use "inline_constant_scalars" })
         :find("B: not applicable: it is not the value", 1, true))
end

-- apply_custom_rule: others are kept away from the block, unless there is no
-- such rule.
do
  local sch = ts.schedule(ops.matmul { m = 8, n = 8, k = 8, relu = true })
  sch:annotate(sch:get_block("C"), "schedule_rule", "mine")
  local p = sch:program()
  local seen
  local rules = { mine = function(s, block)
    seen = s:block_info(block).name
    s:parallel((s:get_loops(block)))
    return s
  end }
  local tiling = use "multi_level_tiling"
  local list = sketches(p, { use("apply_custom_rule", { rules = rules }),
                             tiling })
  assert(#list == 1 and seen == "C" and steps(list[1], "parallel") == 1)
  local text = why(p, { use "apply_custom_rule", tiling })
  assert(text:find("there is no rule 'mine', other modules schedule it", 1,
                   true), text)
  assert(text:find("multi_level_tiling at C: applied", 1, true), text)
  text = why(p, { tiling })
  assert(text:find("C: not applicable: a rule of its own", 1, true), text)
  fails("INVALID", "rules are functions with names",
        require "tessera.modules.apply_custom_rule", { rules = { mine = 1 } })
end

-- Threads: cross_thread_reduction and auto_bind.
do
  local modules = { use "cross_thread_reduction", use "auto_bind" }
  local p = row_sums(4, 24)
  local list = sketches(p, modules)
  assert(#list == 2 and steps(list[1], "bind") == 2, #list)
  p = row_sums(4, 24, true)
  list = sketches(p, modules)
  assert(#list == 2, #list)
  assert(list[1]:lua():find('set_scope', 1, true), list[1])
  list = sketches(softmax(2, 16), modules)
  assert(#list >= 2, #list)
  -- More than there are threads at once.
  local A = ts.placeholder("A", { 20, 20 })
  local B = ts.compute("B", { 20, 20 }, function(i, j) return A(j, i) + 1 end)
  p = ts.program("transposed", { A }, { B })
  list = sketches(p, { use("auto_bind", { max_threadblocks = 2,
                                          max_threads = 32 }) })
  assert(#list == 1 and steps(list[1], "bind") == 2)
  assert(why(p, { use "auto_bind", use "auto_bind" })
         :find("auto_bind at B: shadowed by auto_bind: it is bound", 1, true))
  -- One element.
  local x = ts.placeholder("x", { 4 })
  local k = ts.reduce_axis("k", 4)
  p = ts.program("one", { x }, { ts.compute("one", {}, function()
    return ts.sum(x(k), k)
  end) })
  sketches(p, { use "auto_bind" })
  sketches(p, modules)
end

-- Parts of a reduction by blocks that update the results together, where that
-- can be atomic.
do
  local modules = { use("cross_thread_reduction", { parts = { 4, 8 } }),
                    use "auto_bind" }
  for _, after in ipairs { false, true } do
    local list, found = sketches(row_sums(4, 200, after), modules), 0
    for _, t in ipairs(list) do
      local s = t:replay(row_sums(4, 200, after), { resample = true, seed = 1 })
      found = found + (tostring(ts.lower(s)):find "atomic S" and 1 or 0)
    end
    assert(#list == 3 and found == 1, #list)
  end
  local A, k = ts.placeholder("A", { 4, 200 }), ts.reduce_axis("k", 200)
  local p = ts.program("most", { A }, { ts.compute("M", { 4 }, function(i)
    return ts.reduce_max(A(i, k), k)
  end) })
  assert(#sketches(p, modules) == 2)
  assert(why(p, modules):find("no parts: ", 1, true), why(p, modules))
  -- OpenCL 1.2 updates 32 bits.
  for dtype, counts in pairs { float64 = { 2, 3 }, int64 = { 2, 3 },
                               float16 = { 2, 3 }, int32 = { 3, 3 } } do
    local X = ts.placeholder("X", { 4, 200 }, dtype)
    local sums = ts.program("sums", { X }, { ts.compute("S", { 4 },
      function(i) return ts.sum(X(i, k), k) end) })
    for n, target in ipairs { "opencl", "cuda -arch=sm_80" } do
      local list = ts.space.sketches(modules, sums, target)
      assert(#list == counts[n], dtype)
      for _, t in ipairs(list) do
        ts.build(t:replay(sums, { resample = true, seed = 1 }), target)
      end
    end
    assert(counts[1] == 3 or ts.space.explain(modules, sums, "opencl"):find(
             "no parts: S is " .. dtype, 1, true))
  end
  fails(nil, "parts", use, "cross_thread_reduction", { parts = { 0 } })
end

-- Partial results are tiled like what they are of, once the loops are those of
-- their iters in order; and until then that is the reason.
do
  local mlt = require "tessera.modules.multi_level_tiling"
  local p = ops.matmul { m = 32, n = 32, k = 64 }
  local sch = ts.schedule(p)
  local _, _, k = sch:get_loops(sch:get_block "C")
  local rf = sch:rfactor((sch:split(k, { 4, 16 })), 0)
  assert(table.concat(sch:block_info(rf).iters, " ") ==
         "spatial spatial spatial reduce")
  local function why()
    return ts.space.explain({ mlt {} }, sch:program(), "llvm", { all = true })
           :match "at C_rf: ([^\n]*)"
  end
  assert(why():find("its loops are not those of its iters", 1, true), why())
  local i, j, k0, k1 = sch:get_loops(rf)
  sch:reorder(k0, i, j, k1)
  assert(sch:needs_multi_level_tiling(rf))
  assert(why():find("applied", 1, true), why())
  checks.same(sch, p)
  local part = sch:program()
  for _, t in ipairs(ts.space.sketches({ mlt {} }, part, "llvm")) do
    checks.same(t:replay(part, { resample = true, seed = 2 }), part)
  end
end
