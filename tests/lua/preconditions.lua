-- SPDX-License-Identifier: Apache-2.0
-- What each primitive asks before it changes a program: what is legal is
-- accepted and computes the same, what is not is refused for the reason
-- given here, and leaves program and trace as they were.
local ts = require "tessera"

local function product()
  local A, B = ts.placeholder("A", { 16, 32 }), ts.placeholder("B", { 32, 24 })
  local k = ts.reduce_axis("k", 32)
  local C = ts.compute("C", { 16, 24 }, function(i, j)
    return ts.sum(A(i, k) * B(k, j), k)
  end)
  local D = ts.compute("D", { 16, 24 }, function(i, j)
    return ts.max(C(i, j), 0)
  end)
  return ts.program("product", { A, B }, { D })
end

local function chain()
  local A = ts.placeholder("A", { 16, 24 })
  local B = ts.compute("B", { 16, 24 }, function(i, j) return A(i, j) * 2 end)
  local C = ts.compute("C", { 16, 24 }, function(i, j) return B(i, j) + 1 end)
  local D = ts.compute("D", { 16, 24 }, function(i, j)
    return C(i, j) * B(i, j)
  end)
  return ts.program("chain", { A }, { D })
end

local function stencil()
  local A = ts.placeholder("A", { 20 })
  local B = ts.compute("B", { 20 }, function(i) return A(i) * 2 end)
  local C = ts.compute("C", { 18 }, function(i)
    return B(i) + B(i + 1) + B(i + 2)
  end)
  return ts.program("stencil", { A }, { C })
end

local P, Q, S = product(), chain(), stencil()

local function state_of(sch)
  return tostring(sch:program()) .. sch:trace():json()
end

-- Calls f with a schedule that notes how it was before each call.
local function attempt(program, f)
  local sch, before = ts.schedule(program)
  local noting = setmetatable({}, { __index = function(_, name)
    return function(_, ...)
      before = state_of(sch)
      return sch[name](sch, ...)
    end
  end })
  local ok, e = pcall(f, noting)
  return sch, ok, e, before
end

local function legal(program, f)
  local sch, ok, e = attempt(program, f)
  if not ok then error(tostring(e), 2) end
  assert(sch:program():verify())
  local same, where = ts.equivalent(sch, program)
  if not same then error(where, 2) end
end

local function illegal(reason, program, f)
  local sch, ok, e, before = attempt(program, f)
  if ok then error("not refused for " .. reason, 2) end
  if (e.reason or e.code) ~= reason then error(tostring(e), 2) end
  if state_of(sch) ~= before then error("something changed", 2) end
end

local function L(s, block) return s:get_loops(s:get_block(block)) end

-- ---- merge -----------------------------------------------------------------
legal(Q, function(s) s:merge((L(s, "B")), (L(s, "C"))) end)
illegal("MERGE_DEPTH", Q, function(s)
  local i = L(s, "B")
  local ci, cj = L(s, "C")
  s:merge(i, cj)
end)
illegal("LOOPS_FEW", Q, function(s) s:merge((L(s, "B"))) end)
illegal("MERGE_DEPTH", P, function(s)
  local c = { L(s, "C") }
  local d = { L(s, "D") }
  s:merge(c[1], d[2])
end)
illegal("MERGE_BOUNDS", Q, function(s)
  local i = s:split(L(s, "C"), { 4, 4 })
  s:merge((L(s, "B")), i)
end)
illegal("LOOPS_NESTED", P, function(s)
  local c = { L(s, "C") }
  s:merge(c[1], c[2])
end)
illegal("LOOP_REPEATED", Q, function(s)
  local i = L(s, "B")
  s:merge(i, i)
end)
illegal("LOOP_ANNOTATED", Q, function(s)
  local i = L(s, "C")
  s:annotate(i, "x", 1)
  s:merge((L(s, "B")), i)
end)
illegal("LOOP_ANNOTATED", Q, function(s)
  local i = L(s, "B")
  s:annotate(i, "x", 1)
  s:merge(i, (L(s, "C")))
end)
illegal("LOOP_NOT_SERIAL", Q, function(s)
  local i = L(s, "C")
  s:parallel(i)
  s:merge((L(s, "B")), i)
end)
legal(Q, function(s)
  local b = { L(s, "B") }
  local c = { L(s, "C") }
  s:merge(b[2], c[2])
end)
legal(Q, function(s) s:merge((L(s, "B")), (L(s, "C")), (L(s, "D"))) end)
illegal("MERGE_BETWEEN", Q, function(s) s:merge((L(s, "B")), (L(s, "D"))) end)

-- ---- fuse ------------------------------------------------------------------
legal(P, function(s) s:fuse(L(s, "C")) end)
illegal("NOT_PARENT", P, function(s)
  local i, j, k = L(s, "C")
  s:fuse(j, i)
end)
illegal("NOT_PARENT", P, function(s)
  local i, j, k = L(s, "C")
  s:fuse(i, k)
end)
illegal("LOOP_ANNOTATED", P, function(s)
  local i, j, k = L(s, "C")
  s:annotate(i, "x", 1)
  s:fuse(i, j)
end)
illegal("LOOP_NOT_SERIAL", P, function(s)
  local i, j, k = L(s, "C")
  s:bind(i, "blockIdx.x")
  s:fuse(i, j)
end)
illegal("LOOP_NOT_SERIAL", P, function(s)
  local i, j, k = L(s, "C")
  s:parallel(i)
  s:fuse(i, j)
end)
illegal("MISSING", P, function(s) s:fuse() end)
illegal("NOT_PARENT", P, function(s)
  local i = L(s, "C")
  local _, dj = L(s, "D")
  s:fuse(i, dj)
end)
illegal("NOT_ONLY_CHILD", Q, function(s)
  local i = L(s, "B")
  local b, c = { L(s, "B") }, { L(s, "C") }
  local m = s:merge(b[1], c[1])
  local _, j = L(s, "B")
  s:fuse(m, j)
end)

-- ---- split -----------------------------------------------------------------
legal(P, function(s)
  local i = L(s, "C")
  s:split(i, { ts.auto, 3 })
end)
illegal("FACTORS_SEVERAL_OPEN", P, function(s)
  local i = L(s, "C")
  s:split(i, { ts.auto, ts.auto })
end)
illegal("FACTOR_NOT_POSITIVE", P, function(s)
  local i = L(s, "C")
  s:split(i, { 0, 16 })
end)
illegal("FACTOR_NOT_POSITIVE", P, function(s)
  local i = L(s, "C")
  s:split(i, { -2, -8 })
end)
illegal("FACTOR_PRODUCT_SMALL", P, function(s)
  local i = L(s, "C")
  s:split(i, { 3, 5 })
end)
illegal("FACTORS_EMPTY", P, function(s)
  local i = L(s, "C")
  s:split(i, {})
end)
illegal("LOOP_ANNOTATED", P, function(s)
  local i = L(s, "C")
  s:annotate(i, "x", 1)
  s:split(i, { 2, 8 })
end)
illegal("LOOP_NOT_SERIAL", P, function(s)
  local i = L(s, "C")
  s:bind(i, "threadIdx.x")
  s:split(i, { 2, 8 })
end)
illegal("LOOP_NOT_SERIAL", P, function(s)
  local i, j = L(s, "D")
  s:vectorize(j)
  s:split(j, { 2, 12 })
end)
illegal("NEEDS_PREDICATE", P, function(s)
  local i = L(s, "C")
  s:split(i, { ts.auto, 3 }, { disable_predication = true })
end)
legal(P, function(s)
  local i = L(s, "C")
  s:split(i, { ts.auto, 4 }, { disable_predication = true })
end)

-- ---- loop_partition --------------------------------------------------------
legal(P, function(s)
  local i = L(s, "C")
  s:loop_partition(i, { 3, ts.auto })
end)
illegal("PARTITION_LONG", P, function(s)
  local i = L(s, "C")
  s:loop_partition(i, { 10, 10 })
end)
illegal("FACTORS_SEVERAL_OPEN", P, function(s)
  local i = L(s, "C")
  s:loop_partition(i, { ts.auto, ts.auto })
end)
illegal("LOOP_ANNOTATED", P, function(s)
  local i = L(s, "C")
  s:annotate(i, "x", 1)
  s:loop_partition(i, { 3, 4 })
end)
illegal("LOOP_NOT_SERIAL", P, function(s)
  local i = L(s, "C")
  s:parallel(i)
  s:loop_partition(i, { 3, 4 })
end)
illegal("FACTOR_NOT_POSITIVE", P, function(s)
  local i = L(s, "C")
  s:loop_partition(i, { 0, 4 })
end)

-- ---- reorder ---------------------------------------------------------------
legal(P, function(s)
  local i, j, k = L(s, "C")
  s:reorder(k, i)
end)
illegal("LOOP_REPEATED", P, function(s)
  local i, j, k = L(s, "C")
  s:reorder(k, k)
end)
illegal("LOOPS_NOT_CHAIN", P, function(s)
  local i, j, k = L(s, "C")
  s:reorder(k, (L(s, "D")))
end)
illegal("MISSING", P, function(s) s:reorder() end)
legal(P, function(s) s:reorder((L(s, "C"))) end)

-- ---- reorder_block_iter_var ------------------------------------------------
legal(P, function(s)
  s:reorder_block_iter_var(s:get_block("C"), { 2, 0, 1 })
end)
illegal("NOT_PERMUTATION", P, function(s)
  s:reorder_block_iter_var(s:get_block("C"), { 1, 0 })
end)
illegal("NOT_PERMUTATION", P, function(s)
  s:reorder_block_iter_var(s:get_block("C"), { 1, 0, -1 })
end)

-- ---- add_unit_loop ---------------------------------------------------------
illegal("BLOCK_IS_ROOT", P, function(s)
  s:add_unit_loop(s:get_block("root"))
end)

-- ---- parallel --------------------------------------------------------------
illegal("ITER_NOT_SPATIAL", P, function(s)
  local i, j, k = L(s, "C")
  s:parallel(k)
end)

-- ---- vectorize -------------------------------------------------------------
illegal("ITER_NOT_SPATIAL", P, function(s)
  local i, j, k = L(s, "C")
  s:vectorize(k)
end)

-- ---- bind ------------------------------------------------------------------
illegal("ITER_NOT_SPATIAL", P, function(s)
  local i, j, k = L(s, "C")
  s:bind(k, "blockIdx.x")
end)
legal(P, function(s)
  local i, j, k = L(s, "C")
  s:bind(k, "threadIdx.x")
end)
illegal("THREAD_UNKNOWN", P, function(s)
  local i, j, k = L(s, "C")
  s:bind(i, "threadIdx.w")
end)
legal(P, function(s)
  local i, j, k = L(s, "C")
  s:bind(i, "threadIdx.x")
  s:bind(j, "threadIdx.x")
end)
legal(P, function(s)
  local i, j, k = L(s, "C")
  s:bind(i, "vthread.x")
end)

-- ---- unroll ----------------------------------------------------------------
legal(P, function(s)
  local i, j, k = L(s, "C")
  s:unroll(k)
end)

-- ---- cache_read ------------------------------------------------------------
legal(P, function(s) s:cache_read(s:get_block("C"), 0, "local") end)
illegal("STORAGE_UNKNOWN", P, function(s)
  s:cache_read(s:get_block("C"), 0, "nowhere")
end)
illegal("BUFFER_INDEX", P, function(s)
  s:cache_read(s:get_block("C"), 2, "local")
end)
illegal("BUFFER_INDEX", P, function(s)
  s:cache_read(s:get_block("C"), -1, "local")
end)
legal(Q, function(s)
  s:cache_read(s:get_block("C"), 0, "local",
    { consumer_blocks = { s:get_block("D") } })
end)
illegal("NOT_READER", Q, function(s)
  s:cache_read(s:get_block("D"), "C", "local",
    { consumer_blocks = { s:get_block("B") } })
end)

-- ---- cache_write -----------------------------------------------------------
legal(P, function(s) s:cache_write(s:get_block("C"), 0, "local") end)
illegal("BUFFER_INDEX", P, function(s)
  s:cache_write(s:get_block("C"), 1, "local")
end)
legal(Q, function(s)
  s:cache_write(s:get_block("B"), 0, "local",
    { consumer_blocks = { s:get_block("C") } })
end)

-- ---- reindex_cache_read ----------------------------------------------------
legal(P, function(s)
  s:reindex_cache_read(s:get_block("C"), 0, "local",
    function(i, j, k) return k, i end)
end)
illegal("MAP_ITERS", P, function(s)
  s:reindex_cache_read(s:get_block("C"), 0, "local",
    function(i, j, k) return k, j end)
end)
illegal("MAP_ITERS", P, function(s)
  s:reindex_cache_read(s:get_block("C"), 0, "local",
    function(i, j, k) return k end)
end)
illegal("MAP_ITER_COUNT", P, function(s)
  s:reindex_cache_read(s:get_block("C"), 0, "local",
    function(i, j) return j, i end)
end)

-- ---- reindex_cache_write ---------------------------------------------------
legal(P, function(s)
  s:reindex_cache_write(s:get_block("C"), 0, "local",
    function(i, j, k) return j, i end)
end)
illegal("MAP_ITERS", P, function(s)
  s:reindex_cache_write(s:get_block("C"), 0, "local",
    function(i, j, k) return j, i, k end)
end)

-- ---- cache_inplace ---------------------------------------------------------
illegal("NOT_IN_PLACE", P, function(s)
  s:cache_inplace(s:get_block("D"), 0, "local")
end)

-- ---- cache_index -----------------------------------------------------------
illegal("THRESHOLD_NEGATIVE", P, function(s)
  s:cache_index(s:get_block("D"), "global", -1)
end)

-- ---- reindex ---------------------------------------------------------------
legal(P, function(s) s:reindex(s:get_block("C"), { "read", 0 }) end)
illegal("BUFFER_INDEX", P, function(s)
  s:reindex(s:get_block("C"), { "read", 5 })
end)
illegal("ACCESS_DIFFERS", S, function(s)
  s:reindex(s:get_block("C"), { "read", 0 })
end)

-- ---- transform_layout ------------------------------------------------------
legal(P, function(s)
  s:transform_layout(s:get_block("C"), { "write", 0 },
    function(i, j) return j, i end)
end)
illegal("MAP_MEETS", P, function(s)
  s:transform_layout(s:get_block("C"), { "write", 0 },
    function(i, j) return i end)
end)
illegal("PAD_MISSING", P, function(s)
  s:transform_layout(s:get_block("C"), { "write", 0 },
    function(i, j) return i//5, i%5, j end)
end)
legal(P, function(s)
  s:transform_layout(s:get_block("C"), { "write", 0 },
    function(i, j) return i//5, i%5, j end, { pad_value = 0 })
end)
illegal("PAD_MAP", P, function(s)
  s:transform_layout(s:get_block("C"), { "write", 0 },
    function(i, j) return i//5, i%5, j end,
    { pad_value = function(a, b) return 0 end })
end)
illegal("PARAM_GIVEN", P, function(s)
  s:transform_layout(s:get_block("C"), { "read", 0 },
    function(i, j) return j, i end)
end)
illegal("MAP_ARITY", P, function(s)
  s:transform_layout(s:get_block("C"), { "write", 0 }, function(i) return i end)
end)
illegal("MAP_NEGATIVE", P, function(s)
  s:transform_layout(s:get_block("C"), { "write", 0 },
    function(i, j) return i-3, j end)
end)

-- ---- transform_block_layout ------------------------------------------------
legal(P, function(s)
  s:transform_block_layout(s:get_block("C"),
    function(i, j, k) return j, k, i end)
end)
illegal("MAP_MIXES", P, function(s)
  s:transform_block_layout(s:get_block("C"),
    function(i, j, k) return i*32+k, j end)
end)
illegal("MAP_MEETS", P, function(s)
  s:transform_block_layout(s:get_block("C"), function(i, j, k) return i, k end)
end)
illegal("NOT_TRIVIAL", P, function(s)
  local i, j, k = L(s, "C")
  s:fuse(i, j)
  s:transform_block_layout(s:get_block("C"),
    function(i, j, k) return j, k, i end)
end)

-- ---- storage_align ---------------------------------------------------------
legal(P, function(s) s:storage_align(s:get_block("C"), 0, 0, 32, 8) end)
illegal("ALIGN_AXIS", P, function(s)
  s:storage_align(s:get_block("C"), 0, 2, 32, 8)
end)
legal(P, function(s) s:storage_align(s:get_block("C"), 0, -2, 32, 8) end)
illegal("ALIGN_FACTOR", P, function(s)
  s:storage_align(s:get_block("C"), 0, 0, 0, 8)
end)
illegal("PARAM_GIVEN", P, function(s)
  s:storage_align(s:get_block("D"), 0, 0, 32, 8)
end)

-- ---- set_scope -------------------------------------------------------------
legal(P, function(s) s:set_scope(s:get_block("C"), 0, "shared") end)
illegal("PARAM_GIVEN", P, function(s)
  s:set_scope(s:get_block("D"), 0, "shared")
end)
illegal("STORAGE_UNKNOWN", P, function(s)
  s:set_scope(s:get_block("C"), 0, "zzz")
end)

-- ---- unsafe_set_dtype ------------------------------------------------------
illegal("PARAM_GIVEN", P, function(s)
  s:unsafe_set_dtype(s:get_block("D"), 0, "float16")
end)

-- ---- unsafe_hide_buffer_access ---------------------------------------------
illegal("BUFFER_INDEX", P, function(s)
  s:unsafe_hide_buffer_access(s:get_block("C"), "read", { 7 })
end)
illegal("SIDE_UNKNOWN", P, function(s)
  s:unsafe_hide_buffer_access(s:get_block("C"), "both", { 0 })
end)

-- ---- compute_at ------------------------------------------------------------
legal(P, function(s) s:compute_at(s:get_block("C"), (L(s, "D"))) end)
illegal("LOOP_AROUND_BLOCK", P, function(s)
  s:compute_at(s:get_block("C"), (L(s, "C")))
end)
illegal("LOOP_NOT_AFTER", P, function(s)
  s:compute_at(s:get_block("D"), (L(s, "C")))
end)
illegal("CONSUMER_OUTSIDE", Q, function(s)
  s:compute_at(s:get_block("B"), (L(s, "C")))
end)
illegal("INDEX_INVALID", P, function(s)
  s:compute_at(s:get_block("C"), (L(s, "D")), { index = 5 })
end)
legal(P, function(s)
  s:compute_at(s:get_block("C"), (L(s, "D")), { index=-2 })
end)
legal(P, function(s) s:compute_at(s:get_block("C"), (L(s, "D"))) end)

-- ---- reverse_compute_at ----------------------------------------------------
legal(P, function(s)
  s:reverse_compute_at(s:get_block("D"), (select(2, L(s, "C"))))
end)
illegal("PRODUCER_UNFINISHED", P, function(s)
  s:reverse_compute_at(s:get_block("D"), (select(3, L(s, "C"))))
end)
illegal("PRODUCER_BETWEEN", Q, function(s)
  s:reverse_compute_at(s:get_block("D"), (L(s, "B")))
end)

-- ---- compute_inline --------------------------------------------------------
legal(Q, function(s) s:compute_inline(s:get_block("B")) end)
illegal("BLOCK_REDUCES", P, function(s) s:compute_inline(s:get_block("C")) end)
illegal("OUTPUT_BLOCK", P, function(s) s:compute_inline(s:get_block("D")) end)

-- ---- reverse_compute_inline ------------------------------------------------
illegal("NOT_A_COPY", P, function(s)
  s:reverse_compute_inline(s:get_block("D"))
end)
illegal("BLOCK_REDUCES", P, function(s)
  s:reverse_compute_inline(s:get_block("C"))
end)
legal(Q, function(s) s:reverse_compute_inline(s:get_block("D")) end)
illegal("NOT_INVERTIBLE", S, function(s)
  s:reverse_compute_inline(s:get_block("C"))
end)

-- ---- decompose_reduction ---------------------------------------------------
illegal("INIT_HEIGHT", P, function(s)
  local i, j, k = L(s, "C")
  s:reorder(k, i)
  s:decompose_reduction(s:get_block("C"), i)
end)
illegal("LOOP_NOT_AROUND", P, function(s)
  s:decompose_reduction(s:get_block("C"), (L(s, "D")))
end)
illegal("NO_INIT", P, function(s)
  s:decompose_reduction(s:get_block("D"), (L(s, "D")))
end)
-- The fused loop starts in each of its iterations, for one result or another.
do
  local b = ts.builder("noted")
  local A, C = b:input("A", { 4, 3 }), b:output("C", { 4 })
  b:loop("i", 0, 4, function(i)
    b:loop("k", 0, 3, function(k)
      b:block("C", { { "vi", extent = 4, bind = i },
                     { "vk", "reduce", extent = 3, bind = k } },
              function(vi, vk)
        b:init(function()
          b:evaluate(ts.call_extern("note", "int32", vi))
          b:store(C, { vi }, 0)
        end)
        b:store(C, { vi }, C(vi) + A(vi, vk))
      end)
    end)
  end)
  local p = b:program()
  illegal("INIT_EFFECTS", p, function(s)
    local ik = s:fuse(L(s, "C"))
    s:decompose_reduction(s:get_block("C"), ik)
  end)
  illegal("INIT_EFFECTS", p, function(s)
    local _, k = L(s, "C")
    s:blockize((select(2, s:split(k, { ts.auto, 1 }))))
  end)
end

-- ---- rfactor ---------------------------------------------------------------
illegal("LOOP_DRIVES_OTHERS", P, function(s) s:rfactor((L(s, "C")), 0) end)
illegal("AXIS_OUTSIDE", P, function(s) s:rfactor((select(3, L(s, "C"))), 3) end)
legal(P, function(s) s:rfactor((select(3, L(s, "C"))), -3) end)
illegal("AXIS_OUTSIDE", P, function(s)
  s:rfactor((select(3, L(s, "C"))), -4)
end)
illegal("LOOP_NOT_SERIAL", P, function(s)
  local _, _, k = L(s, "C")
  s:unroll(k)
  s:rfactor(k, 0)
end)
illegal("LOOP_DRIVES_OTHERS", P, function(s)
  local i, j, k = L(s, "C")
  local f = s:fuse(j, k)
  s:rfactor(f, 0)
end)

-- ---- blockize --------------------------------------------------------------
legal(P, function(s) s:blockize((select(2, L(s, "C")))) end)
illegal("NOT_DIVISIBLE", P, function(s)
  local i, j, k = L(s, "C")
  local f = s:fuse(i, j)
  local a, b = s:split(f, { ts.auto, 36 })
  s:blockize(b)
end)
legal(Q, function(s)
  local m = s:merge((L(s, "B")), (L(s, "C")))
  s:blockize({ s:get_block("B"), s:get_block("C") })
end)
illegal("BLOCK_BETWEEN", Q, function(s)
  s:blockize({ s:get_block("B"), s:get_block("D") })
end)

-- ---- tensorize -------------------------------------------------------------
illegal("INTRIN_UNKNOWN", P, function(s)
  s:tensorize((select(2, L(s, "C"))), "no_such")
end)

-- ---- annotate --------------------------------------------------------------
illegal("ANNOTATED", P, function(s)
  local i = L(s, "C")
  s:annotate(i, "x", 1)
  s:annotate(i, "x", 2)
end)
legal(P, function(s)
  local i = L(s, "C")
  s:annotate(i, "x", 1)
  s:annotate(i, "x", 1)
end)
illegal("KEY_EMPTY", P, function(s) s:annotate(s:get_block("C"), "", 1) end)
illegal("KEY_EMPTY", P, function(s) s:annotate(L(s, "C"), "", { 1, 2 }) end)

-- ---- unannotate ------------------------------------------------------------
illegal("NOT_ANNOTATED", P, function(s)
  local i = L(s, "C")
  s:unannotate(i, "x")
end)

-- ---- pad_einsum ------------------------------------------------------------
illegal("PADDING_COUNT", P, function(s)
  s:pad_einsum(s:get_block("C"), { 1, 2 })
end)
illegal("FACTOR_NOT_POSITIVE", P, function(s)
  s:pad_einsum(s:get_block("C"), { 1, 2, 0 })
end)
legal(P, function(s) s:pad_einsum(s:get_block("C"), { 5, 7, 9 }) end)

-- ---- decompose_padding -----------------------------------------------------
illegal("PADDING_PATTERN", P, function(s)
  s:decompose_padding(s:get_block("D"), (L(s, "D")))
end)

-- ---- rolling_buffer --------------------------------------------------------
illegal("OUTPUT_BLOCK", S, function(s)
  s:rolling_buffer(s:get_block("C"), 0)
end)
