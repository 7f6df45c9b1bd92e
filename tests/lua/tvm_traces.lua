-- SPDX-License-Identifier: Apache-2.0
-- Traces that TVM recorded: the numbers of what blocks read, annotations of
-- blocks that are derived from others, and kinds of loops are TVM's.
local ts = require "tessera"
local ops = require "tessera.ops"

-- Replays a trace of TVM's, which goes back to what it was.
local function replay(p, json)
  local t = ts.trace.from_tvm_json(json, p)
  local sch = t:replay()
  assert(ts.equivalent(sch, p))
  local again = ts.trace.from_tvm_json(t:to_tvm_json(), p)
  assert(again == t)
  assert(again:replay():program():hash() == sch:program():hash())
  return sch
end

-- The n buffers that the block `name` reads, by their indices; a refusal names
-- the buffer, too.
local function reads(p, name, n)
  local list = {}
  for i = 0, n - 1 do
    local s = ts.schedule(p)
    local ok, e = pcall(s.cache_read, s, s:get_block(name), i, "global")
    list[i + 1] = ok and tostring(s:program()):match "alloc (%w+)_global" or
                  tostring(e):match "buffer \"(%w+)\""
  end
  return table.concat(list, " ")
end

-- A load stands before those in its indices, what is stored before where.
do
  local n = 16
  local A, E = ts.placeholder("A", { n }), ts.placeholder("E", { n })
  local I = ts.placeholder("I", { n }, "int32")
  local gather = ts.program("gather", { A, E, I }, {
    ts.compute("B", { n }, function(i)
      return A(ts.min(ts.max(I(i), 0), n - 1)) * E(i)
    end)
  })
  assert(reads(gather, "B", 3) == "A I E")
  local sch = replay(gather, [=[
[[["GetBlock", [], ["B", "main"], ["b0"]],
  ["CacheRead", ["b0", []], [0, "global"], ["b1"]],
  ["CacheRead", ["b0", []], [1, "shared"], ["b2"]]], []]
]=])
  local text = tostring(sch:program())
  assert(text:find "A_global" and text:find "I_shared", text)
end

do
  local n = 16
  local b = ts.builder "scatter"
  local I, A = b:input("I", { n }, "int32"), b:input("A", { n })
  local X = b:inout("X", { n })
  b:loop("i", 0, n, function(i)
    b:block("X", { { "v", "opaque", extent = n, bind = i } }, function(v)
      b:store(X, { ts.min(ts.max(I(v), 0), n - 1) }, A(v))
    end)
  end)
  assert(reads(b:program(), "X", 2) == "A I")
end

-- The update reads first what it updates; blocks in and around it keep that,
-- and inlining does not change it elsewhere.
do
  local X, W = ts.placeholder("X", { 16, 16 }), ts.placeholder("W", { 16, 16 })
  local P = ts.compute("P", { 16, 16 }, function(i, j) return W(i, j) + 1 end)
  local C = ts.compute("C", { 16, 16 }, function(i, j)
    local k = ts.reduce_axis("k", 16)
    return ts.sum(X(i, k) * P(k, j), k)
  end)
  local p = ts.program("main", { X, W }, { C })
  local function update(more)
    local s = ts.schedule(p)
    local c = s:get_block "C"
    local i, j, k = s:get_loops(c)
    local k0, k1 = s:split(k, { 4, 4 })
    if more == "tile" then
      s:decompose_reduction(s:blockize(k1), k0)
    else
      s:decompose_reduction(c, k0)
    end
    if more == "inline" then s:compute_inline(s:get_block "P") end
    return s:program()
  end
  assert(reads(update(), "C_update", 3) == "C X P")
  assert(reads(update "inline", "C_update", 3) == "C X W")
  assert(reads(update "tile", "C_o_update", 3) == "C X P")
  local sch = replay(p, [=[
[[["GetBlock", [], ["C", "main"], ["b0"]],
  ["GetLoops", ["b0"], [], ["l1", "l2", "l3"]],
  ["DecomposeReduction", ["b0", "l3"], [], ["b4"]],
  ["CacheRead", ["b0", []], [2, "global"], ["b5"]],
  ["CacheRead", ["b0", []], [1, "shared"], ["b6"]]], []]
]=])
  local text = tostring(sch:program())
  assert(text:find "P_global" and text:find "X_shared", text)
end

-- The init has the annotations of its block: TVM takes them off there.
local p = ops.matmul { m = 64, n = 64, k = 32 }
do
  local sch = replay(p, [=[
[[["GetBlock", [], ["C", "main"], ["b0"]],
  ["Annotate", ["b0", "\"dot\""], ["meta_schedule.auto_tensorize"], []],
  ["Annotate", ["b0", "\"fill\""], ["meta_schedule.auto_tensorize_init"], []],
  ["GetLoops", ["b0"], [], ["l1", "l2", "l3"]],
  ["DecomposeReduction", ["b0", "l3"], [], ["b4"]],
  ["Unannotate", ["b4"], ["meta_schedule.auto_tensorize"], []],
  ["Annotate", ["b4", "\"fill\""], ["meta_schedule.auto_tensorize"], []],
  ["Unannotate", ["b0"], ["meta_schedule.auto_tensorize_init"], []],
  ["Unannotate", ["b4"], ["meta_schedule.auto_tensorize_init"], []]], []]
]=])
  local init, update = sch:get_block "C_init", sch:get_block "C_update"
  assert(sch:annotation(init, "auto_tensorize") == '"fill"')
  assert(sch:annotation(update, "auto_tensorize") == '"dot"')
  assert(not sch:annotation(init, "auto_tensorize_init"))
end

-- So has the block of partial results.
do
  local sch = replay(p, [=[
[[["GetBlock", [], ["C", "main"], ["b0"]],
  ["Annotate", ["b0", 1], ["meta_schedule.random_compute_producer"], []],
  ["GetLoops", ["b0"], [], ["l1", "l2", "l3"]],
  ["RFactor", ["l3"], [2], ["b4"]],
  ["Unannotate", ["b4"], ["meta_schedule.random_compute_producer"], []],
  ["Unannotate", ["b0"], ["meta_schedule.random_compute_producer"], []]], []]
]=])
  assert(not sch:annotation(sch:get_block "C_rf", "random_compute_producer"))
end

-- Loops of any kind are fused and split, and become serial.
do
  local sch = replay(p, [=[
[[["GetBlock", [], ["C", "main"], ["b0"]],
  ["GetLoops", ["b0"], [], ["l1", "l2", "l3"]],
  ["Parallel", ["l1"], [], []],
  ["Fuse", ["l1"], [1], ["l4"]],
  ["Parallel", ["l4"], [], []],
  ["Unroll", ["l3"], [], []],
  ["Split", ["l3", "None", 4], [1, 0], ["l5", "l6"]],
  ["Fuse", ["l4", "l2"], [1], ["l7"]],
  ["Parallel", ["l7"], [], []]], []]
]=])
  local kinds = {}
  for i, loop in ipairs { sch:get_loops(sch:get_block "C") } do
    kinds[i] = sch:loop_info(loop).kind
  end
  assert(table.concat(kinds, " ") == "parallel serial serial")
end

-- A location in a reduction loop with a spatial loop further in.
do
  local A, B = ts.placeholder("A", { 16, 16 }), ts.placeholder("B", { 16, 16 })
  local P = ts.compute("P", { 16, 16 }, function(i, k) return A(i, k) * 2 end)
  local C = ts.compute("C", { 16, 16 }, function(i, j)
    local k = ts.reduce_axis("k", 16)
    return ts.sum(P(i, k) * B(k, j), k)
  end)
  local sch = replay(ts.program("main", { A, B }, { C }), [=[
[[["GetBlock", [], ["C", "main"], ["b0"]],
  ["GetLoops", ["b0"], [], ["l1", "l2", "l3"]],
  ["Split", ["l1", 4, 4], [1, 0], ["l4", "l5"]],
  ["Split", ["l3", 4, 4], [1, 0], ["l6", "l7"]],
  ["Reorder", ["l4", "l2", "l6", "l5", "l7"], [], []],
  ["GetBlock", [], ["P", "main"], ["b8"]],
  ["SampleComputeLocation", ["b8"], [], ["l9"]],
  ["ComputeAt", ["b8", "l9"], [1, -1], []]], [[6, 2]]]
]=])
  assert(#{ sch:get_loops(sch:get_block "P") } == 5)
end
