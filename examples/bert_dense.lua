-- SPDX-License-Identifier: Apache-2.0
-- A layer for tensor cores: the first feed-forward layer of BERT-Large with
-- GELU, 1024 x 4096 x 1024 in float16, scheduled for wmma fragments with
-- staged copies and a software pipeline, as MetaSchedule's tensor-core rule
-- does it.  No GPU is needed: the interpreter runs a scaled-down one, warp by
-- warp.
local ts = require "tessera"
local tensor = require "tessera.tensor"

local function dense(I, J, K)
  local X = ts.placeholder("X", { I, K }, "float16")
  local W = ts.placeholder("W", { J, K }, "float16")
  local bias = ts.placeholder("bias", { J }, "float16")
  local k = ts.reduce_axis("k", K)
  local function stage(name, f) return ts.compute(name, { I, J }, f) end
  local d = stage("T_dense", function(i, j)
    return ts.sum(X(i, k) * W(j, k), k)
  end)
  local a = stage("T_add", function(i, j) return d(i, j) + bias(j) end)
  local m = stage("T_multiply", function(i, j)
    return a(i, j) * 0.7071067811865476
  end)
  local c = stage("T_cast", function(i, j)
    return ts.cast(m(i, j), "float32")
  end)
  local e = stage("T_erf", function(i, j) return ts.erf(c(i, j)) end)
  local c1 = stage("T_cast_1", function(i, j)
    return ts.cast(e(i, j), "float16")
  end)
  local m1 = stage("T_multiply_1", function(i, j) return c1(i, j) * 0.5 end)
  local a1 = stage("T_add_1", function(i, j) return m1(i, j) + 0.5 end)
  local y = stage("T_multiply_2", function(i, j)
    return a(i, j) * a1(i, j)
  end)
  return ts.program("bert_dense", { X, W, bias }, { y })
end

local names = { "T_add", "T_multiply", "T_cast", "T_erf", "T_cast_1",
                "T_multiply_1", "T_add_1", "T_multiply_2" }

-- tiles: how the 16 x 16 x 16 pieces of each axis are cut up, outer first.
local function schedule(sch, tiles)
  local b = sch:get_block("T_dense")
  local after = {}
  for n, name in ipairs(names) do after[n] = sch:get_block(name) end
  sch:annotate(b, "tiling_structure", "SSSRRSRS")

  -- Operands of their own, with indices that are the block's.
  local out = sch:reindex(b, { "write", 0 })
  local left = sch:reindex(b, { "read", 0 })
  local right = sch:reindex(b, { "read", 1 })
  sch:transform_layout(b, { "write", 0 }, function(i, j) return i, j end)
  sch:transform_layout(b, { "read", 1 }, function(j, k) return j, k end)
  sch:transform_layout(b, { "read", 0 }, function(i, k) return i, k end)
  sch:transform_block_layout(b, function(i, j, k) return i, j, k end)

  -- The piece that one instruction of a tensor core computes.
  local i, j, k = sch:get_loops(b)
  local ko, ki = sch:split(k, { ts.auto, 16 })
  local jo, ji = sch:split(j, { ts.auto, 16 })
  local io, ii = sch:split(i, { ts.auto, 16 })
  sch:reorder(io, jo, ko, ii, ji, ki)
  local piece = sch:blockize(ii)
  sch:annotate(piece, "auto_tensorize", "wmma_sync")
  sch:annotate(piece, "auto_tensorize_init", "wmma_fill")
  sch:annotate(sch:get_block("root"), "tensor_core_enabled", "1")
  sch:annotate(piece, "warp_execution", 1)

  local function tile(loop, decision)
    return sch:split(loop, { sch:sample_perfect_tile(loop, {
      n = #decision, max_innermost_factor = 4, decision = decision }) })
  end
  i, j, k = sch:get_loops(piece)
  local i0, i1, i2, i3, i4 = tile(i, tiles.i)
  local j0, j1, j2, j3, j4 = tile(j, tiles.j)
  local k0, k1, k2 = tile(k, tiles.k)
  sch:reorder(i0, j0, i1, j1, i2, j2, k0, k1, i3, j3, k2, i4, j4)
  sch:bind(sch:fuse(i0, j0), "blockIdx.x")
  sch:bind(sch:fuse(i1, j1), "blockIdx.y")
  local warp = sch:fuse(i2, j2)
  sch:bind(warp, "threadIdx.y")
  sch:annotate(piece, "thread_extent_low_inclusive", 32)
  sch:annotate(piece, "thread_extent_high_inclusive", 1024)

  -- Copies: the result out of its fragments, the operands through shared
  -- memory into theirs.
  local function vector(copy, decision)
    sch:annotate(copy, "vector_bytes", sch:sample_categorical({ 4, 8, 16 },
      { 1 / 3, 1 / 3, 1 / 3 }, { decision = decision }))
  end
  local stored = sch:write_at(warp, piece, 0, "wmma.accumulator")
  sch:reverse_compute_inline(out)
  vector(stored, 0)
  for operand = 0, 1 do
    local copy = sch:read_at(k0, piece, operand, "shared.dyn")
    vector(copy, 2)
    sch:annotate(copy, "local_stage", 1)
    sch:annotate(copy, "double_buffer_scope", 0)
  end
  sch:read_at(k1, piece, 0, "wmma.matrix_a")
  sch:read_at(k1, piece, 1, "wmma.matrix_b")
  sch:compute_inline(left)
  sch:compute_inline(right)

  sch:annotate(k1, "software_pipeline_stage", { 0, 0, 1 })
  sch:annotate(k1, "software_pipeline_order", { 0, 1, 2 })
  sch:annotate(k0, "software_pipeline_stage", { 0, 0, 0, 0, 0, 1, 1 })
  sch:annotate(k0, "software_pipeline_order", { 0, 3, 1, 4, 5, 2, 6 })

  -- What follows the product moves into the copy out of the fragments.
  for n = #after - 1, 1, -1 do sch:compute_inline(after[n]) end
  sch:reverse_compute_inline(after[#after])
end

-- What the annotations ask for: the pieces are done by tensor cores, whose sums
-- start before the reduction.  (The copies into and out of fragments are found
-- when the program is lowered.)
local function tensorize(sch)
  local piece = sch:get_block("T_dense_o")
  local _, _, _, k0 = sch:get_loops(piece)
  local start = sch:decompose_reduction(piece, k0)
  sch:tensorize(start, tensor.wmma "wmma_fill_16x16x16_f16")
  sch:tensorize(piece, tensor.wmma "wmma_sync_16x16x16_f16f16f16_trans")
end

-- At its real size the trace replays, from all its texts.
local large = dense(1024, 4096, 1024)
local sch = ts.schedule(large)
schedule(sch, { i = { 8, 1, 2, 2, 2 }, j = { 1, 32, 4, 2, 1 },
                k = { 32, 2, 1 } })
local trace = sch:trace()
local hash = sch:program():hash()
assert(trace:replay():program():hash() == hash)
assert(ts.trace.from_json(trace:json(), large) == trace)
assert(ts.trace.from_lua(trace:lua(), large) == trace)
local theirs = ts.trace.from_tvm_json(trace:to_tvm_json(), large)
assert(theirs:replay():program():hash() == hash)
print(#trace .. " instructions, replayed")

-- Scaled down, it is the same computation, exactly and in float16.
local I, J, K = 64, 128, 64
local small = dense(I, J, K)
sch = ts.schedule(small)
schedule(sch, { i = { 1, 1, 2, 2, 1 }, j = { 1, 2, 4, 1, 1 },
                k = { 2, 2, 1 } })
assert(ts.equivalent(sch, small))
local tensorized = sch:copy()
tensorize(tensorized)
assert(ts.equivalent(tensorized, small))
local X = ts.tensor("float16", { I, K }, "random")
local W = ts.tensor("float16", { J, K }, "random")
local bias = ts.tensor("float16", { J }, "random")
local y = ts.tensor("float16", { I, J }, "zeros")
local expected = ts.tensor("float16", { I, J }, "zeros")
ts.interpret(small, { X, W, bias, expected })
ts.interpret(sch, { X, W, bias, y })
assert(y:compare(expected) == 0)   -- it sums in the same order
print("scaled down it computes the same")

-- And so does what a device runs of it: blocks of threads, warps that work
-- together on fragments, barriers.  The interpreter runs them in lockstep.
local kernel = ts.lower(tensorized)
assert(ts.equivalent(kernel, small))
y = ts.tensor("float16", { I, J }, "zeros")
ts.interpret(kernel, { X, W, bias, y })
assert(y:compare(expected) == 0)
local _, warps = tostring(kernel):gsub("in warp%(1%)", "")
print("a device would, too; " .. warps .. " statements are a warp's")

-- Other decisions, one at a time.
local changed, mutants = sch:trace(), 0
for seed = 1, 20 do
  local mutant = changed:mutate { seed = seed }
  local ok, other = pcall(mutant.replay, mutant)
  if ok then
    assert(ts.equivalent(other, small))
    changed, mutants = mutant, mutants + 1
  else
    assert(other.code == "REFUSED", tostring(other))
  end
end
assert(mutants > 0)
print("so do its mutants, " .. mutants .. " of 20")

-- For `tessera step TRACE --program examples/bert_dense.lua`, and for scripts.
return large, trace
