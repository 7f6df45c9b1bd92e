-- SPDX-License-Identifier: Apache-2.0
-- The modules that tile: levels bound to threads, copies of operands, vectors
-- of a fixed length, tensor intrinsics.  What they make computes the same.
local ts = require "tessera"
local ops = require "tessera.ops"
local tensor = require "tessera.tensor"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local searching = dofile((arg[0]:gsub("[^/]*$", "../support/searching.lua")))
local steps, fails, use = searching.steps, checks.fails, searching.use
local sketches = searching.valid

-- For GPUs: three levels bound, results in registers, operands in shared
-- memory that threads fill together.
do
  local gpu = {
    structure = "SSSRRSRS",
    tile_binds = { "blockIdx.x", "vthread.x", "threadIdx.x" },
    write_levels = { 3 }, write_scope = "local", write_must = true,
    read_levels = { 4 }, vector_load_lens = { 1, 2, 4 },
  }
  for _, relu in ipairs { false, true } do
    local p = ops.matmul { m = 16, n = 16, k = 8, relu = relu }
    local list = sketches(p, { use("multi_level_tiling", gpu) })
    assert(#list == 1 and steps(list[1], "bind") == 5, list[1])
    local text = tostring(list[1]:replay())
    assert(text:find("alloc A_shared: float32[16, 8] in shared", 1, true) and
           text:find(" in local", 1, true), text)
  end
  -- Virtual threads share one copy of each operand: 2 x 8 x 2 rows and columns.
  local p = ops.matmul { m = 64, n = 64, k = 32 }
  local t = ts.space.sketches({ use("multi_level_tiling", gpu) }, p)[1]
  local tiles, n = { { 2, 2, 8, 2, 1 }, { 2, 2, 8, 2, 1 }, { 4, 4, 2 } }, 0
  for i = 1, #t do
    if t[i].name == "sample_perfect_tile" then
      n = n + 1
      t = t:with_decision(i, tiles[n])
    end
  end
  local kernel = ts.lower(t:replay(p))
  local text = tostring(kernel)
  assert(text:find("allocate A_shared: float32[32, 8] in shared", 1, true) and
         text:find("allocate B_shared: float32[8, 32] in shared", 1, true) and
         select(2, text:gsub("\n *[AB]_shared%[", "")) == 2, text)
  assert(ts.equivalent(kernel, p))
  -- What is copied next is on its way: asynchronous from sm_80 on.
  local ahead = {}
  for k, v in pairs(gpu) do ahead[k] = v end
  ahead.stages, ahead.vector_load_lens = { 3, 4 }, { 4 }
  local list = sketches(ops.conv1d_nlc { n = 1, w = 16, ci = 8, co = 8, k = 3 },
                        { use "auto_inline",
                          use("multi_level_tiling", ahead) })
  assert(#list == 2 and not tostring(list[1]):find "async" and
         tostring(list[2]):find "software_pipeline_async_stages", list[2])
  list = ts.space.sketches({ use("multi_level_tiling", ahead) }, p)
  t, n = list[2], 0
  for i = 1, #t do
    if t[i].name == "sample_perfect_tile" then
      n = n + 1
      t = t:with_decision(i, tiles[n])
    end
  end
  local s = t:replay(p)
  assert(ts.equivalent(ts.lower(s), p))
  for arch, copies in pairs { sm_75 = false, sm_80 = true } do
    local ptx = ts.build(s, "cuda -arch=" .. arch):source "ptx"
    assert(not ptx:find "cp%.async%.cg" == not copies, ptx)
  end
  local tiling = require "tessera.modules.multi_level_tiling"
  fails("INVALID", "'stages[1]' is '0'", tiling, { stages = { 0 } })
  fails("INVALID", "'tile_binds[1]' is 'x': it is an axis", tiling,
        { tile_binds = { "x" } })
  fails("INVALID", "'tile_binds' has 3 axes: structure 'SSRSRS' starts with 2",
        tiling, { tile_binds = gpu.tile_binds })
  fails("INVALID", "'read_levels[1]' is '7': levels are 1 to 6", tiling,
        { read_levels = { 7 } })
  fails("INVALID", "'write_must' is '1': it is true or false", tiling,
        { write_must = 1 })
end

-- Any structure, also with operands copied on a CPU.
for _, structure in ipairs { "SR", "SRS", "SSRSRS", "SRSRS" } do
  local p = ops.matmul { m = 12, n = 12, k = 12 }
  sketches(p, { use("multi_level_tiling", {
    structure = structure, read_levels = { 2 }, read_scope = "global" }) })
end

-- Vectors of a fixed length.
do
  local wide = use("multi_level_tiling_wide_vector", { vector_bits = 128 })
  for _, n in ipairs { 32, 3, 10 } do
    local p = ops.matmul { m = 8, n = n, k = 8 }
    local list = sketches(p, { wide })
    assert(#list == 1 or #list == 2, #list)
    local text = tostring(list[1]:replay(p, { resample = true, seed = 5 }))
    assert(text:find(("for j_?%%d* in range%%(%d%%)"):format(math.min(n, 4))) or
           text:find("range(" .. math.min(n, 4) .. ")", 1, true), text)
  end
  sketches(ops.matmul { m = 8, n = 64, k = 4 },
           { use("multi_level_tiling_wide_vector", { vector_bits = 0 }) },
           "llvm")
end

-- A tensor intrinsic in the innermost tiles.
do
  local A = ts.placeholder("A", { 4, 16 }, "uint8")
  local B = ts.placeholder("B", { 32, 16 }, "int8")
  local k = ts.reduce_axis("k", 16)
  local C = ts.compute("C", { 4, 32 }, function(i, j)
    return ts.sum(ts.cast(A(i, k), "int32") * ts.cast(B(j, k), "int32"), k)
  end)
  local p = ts.program("bytes", { A, B }, { C })
  local modules = { use "multi_level_tiling_with_intrin",
                    use "multi_level_tiling",
                    use "parallel_vectorize_unroll" }
  local list = sketches(p, modules, "llvm")
  assert(#list >= 1)
  for _, t in ipairs(list) do assert(steps(t, "tensorize") == 1, t) end
  local odd = ops.matmul { m = 8, n = 9, k = 8 }
  local name = tensor.mma { n = 4, k = 4 }
  local text = ts.space.explain({ use("multi_level_tiling_with_intrin",
                                      { intrin = name }) }, odd, "llvm")
  assert(text:find("C: not applicable: 9 iterations are no multiple of 4", 1,
                   true), text)
  list = sketches(odd, { use("multi_level_tiling_with_intrin",
                             { intrin = name, pad_extents = true }) }, "llvm")
  assert(#list >= 1)
end

-- Tiles that fill the registers, also where they do not divide the extents.
do
  local tile = require "tessera.modules.register_tile"
  for _, n in ipairs { 48, 13 } do
    local p = ops.matmul { m = n, n = n, k = 8 }
    local list = sketches(p, { tile { registers = 16, vectors = { 1, 2 } } },
                          "llvm -vector-bytes=32")
    assert(#list == 2 * 3, #list)
  end
  local sch = ts.space.sketches({ tile {} }, ops.matmul {
    m = 48, n = 48, k = 8 }, "llvm -vector-bytes=32")[1]:replay()
  local loops = { sch:get_loops(sch:get_block "C") }
  assert(sch:extent(loops[#loops]) == 16 and sch:extent(loops[#loops - 1]) == 6)
  local text = ts.space.explain({ tile { pad_extents = false } },
    ops.matmul { m = 13, n = 13, k = 8 }, "llvm -vector-bytes=32")
  assert(text:find("C: not applicable: tiles do not divide", 1, true), text)
  fails("INVALID", "'vectors' is 'x': it is a list", tile, { vectors = "x" })
end

-- Their rows are those along which vectors of columns are reused: channels, of
-- images whose last index is a row's; but where weights are far larger they are
-- not read from many places at once.
do
  local shape = require "tessera.steps.register_tiles".shape
  local function tile(p, loop)
    local sch = ts.schedule(p, { target = "llvm -vector-bytes=64" })
    return (shape(sch, sch:get_block "conv", 1, 0))[loop]
  end
  local p = ops.conv2d_nchw { n = 1, h = 64, w = 64, ci = 3, co = 24, k = 3,
                              stride = 2, pad = 1 }
  assert(tile(p, 2) == 24 and tile(p, 4) == 16 and not tile(p, 3))
  p = ops.conv2d_nhwc { n = 1, h = 64, w = 64, ci = 3, co = 32, k = 3 }
  assert(tile(p, 4) == 16 and tile(p, 3))
  p = ops.conv2d_nchw { n = 1, h = 7, w = 7, ci = 64, co = 512, k = 3 }
  assert(tile(p, 3) == 5 and not tile(p, 2))
  p = ops.conv2d_nchw { n = 1, h = 8, w = 16, ci = 8, co = 8, k = 3,
                        groups = 8 }
  assert(tile(p, 3) and not tile(p, 2))
end

-- Operands in the order of the tiles, and what follows computed by tiles.
do
  local tiling = use("multi_level_tiling", { write_levels = {} })
  local p = ops.matmul { m = 12, n = 32, k = 8, bias = true, relu = true }
  local list = sketches(p, { tiling, use("pack", { operands = "all" }) })
  assert(#list == 2 and steps(list[1], "transform_layout") == 2, #list)
  assert(#sketches(p, { tiling, use("pack", { must = true }),
                        use "parallel_vectorize_unroll" }) >= 1)
  list = sketches(p, { use "auto_inline", tiling, use "fuse_epilogue" })
  assert(#list == 3 and steps(list[1], "reverse_compute_at") == 1, #list)
  p = ops.matmul { m = 12, n = 32, k = 8, bias = true }
  list = sketches(p, { tiling, use("fuse_epilogue", { must = true }) })
  assert(#list == 3 and steps(list[3], "fuse_reduction_epilogue") == 1, #list)
  local text = ts.space.explain({ use "fuse_epilogue" }, p)
  assert(text:find("biased: not applicable: it reads nothing that is tiled",
                   1, true), text)
end

-- The spaces of GPUs, and who shadows whom.
do
  local spaces = require "tessera.modules.spaces"
  local p = ops.matmul { m = 8, n = 16, k = 8, bias = true, relu = true }
  sketches(p, spaces.modules_for "cuda")
  local text = ts.space.explain(spaces.modules_for "cuda", p, nil,
                                { all = true })
  assert(text:find("auto_bind at C: shadowed by multi_level_tiling: it is " ..
                   "tiled", 1, true), text)
  assert(not text:find("failed", 1, true), text)
  p = ops.matmul { m = 32, n = 32, k = 32, dtype = "float16", relu = true }
  local list = sketches(p, spaces.modules_for "cuda -mcpu=sm_80")
  assert(steps(list[1], "tensorize") == 2, list[1])
  -- Alone it would apply: twice the same module.
  text = ts.space.explain({ use "multi_level_tiling",
                            use "multi_level_tiling" }, p, "llvm",
                          { all = true })
  local name = "multi_level_tiling"
  assert(text:find(name .. " at C: shadowed by " .. name ..
                   ": it was tiled before", 1, true), text)
  assert(text:find(name .. " at root: not applicable", 1, true))
end

-- Tiles that fit the caches.
do
  local tile = require "tessera.modules.cache_tile"
  local small = tile { l1 = 512, l2 = 512, share = 0.5 }
  local p = ops.matmul { m = 32, n = 32, k = 32 }
  local target = "llvm -vector-bytes=32"
  local list = sketches(p, { small }, target)
  assert(#list == 3, #list)
  -- 256 bytes: 4 steps of two vectors; 256 bytes: 16 by 4 elements.
  for seed = 1, 5 do
    local s = list[1]:replay(p, { resample = true, seed = seed })
    local l = { s:get_loops(s:get_block "C") }
    assert(#l == 10)
    assert(s:extent(l[8]) <= 4)
    assert(s:extent(l[6]) * s:extent(l[9]) <= 16)
    assert(s:extent(l[7]) * s:extent(l[10]) <= 16)
  end
  for _, structure in ipairs { "SRS", "SR", "SSRS", "RS" } do
    sketches(p, { tile { structure = structure } }, target)
  end
  fails("INVALID", "'share' is '2': it is a number above 0", tile,
        { share = 2 })
end

-- For a product the default space of processors is tiles that fill the
-- registers, and all of MetaSchedule's.
do
  local p = ops.matmul { m = 512, n = 512, k = 512 }
  local few = ts.space.sketches({
    use "auto_inline", use "multi_level_tiling",
    use "parallel_vectorize_unroll" }, p, "llvm")
  local all = ts.space.sketches(ts.space.default "llvm", p, "llvm")
  assert(#all == 3 * 2 + #few, #all)
  for i, t in ipairs(few) do assert(t == all[#all - #few + i]) end
  -- Of several products one sketch each.
  p = ops.polybench("3mm", "MINI")
  assert(#ts.space.sketches({ use("register_tile", {
    must = false, few_from = 2 }) }, p, "llvm") == 1)
  fails("INVALID", "'few_from' is '-1': it is an integer from 0 on",
        require "tessera.modules.register_tile", { few_from = -1 })
end

-- Tiles pad as little as can be: 127 rows by 8, not by 14; 3 columns stay.
do
  local tile = use("register_tile", { registers = 32 })
  local function extents(m, n)
    local p = ops.matmul { m = m, n = n, k = 8 }
    local s = ts.space.sketches({ tile }, p, "llvm -vector-bytes=64")[1]
                :replay()
    local l = { s:get_loops(s:get_block "C") }
    return s:extent(l[#l - 1]), s:extent(l[#l])
  end
  local rows, columns = extents(127, 127)
  assert(rows == 8 and columns == 32)
  rows, columns = extents(28, 3)
  assert(rows == 14 and columns == 3)
  rows, columns = extents(5, 17)
  assert(rows == 5 and columns == 32)
end

-- Loops that are not perfectly nested are no failure of the module.
do
  local ops = require "tessera.ops"
  local program = ops.attention { b = 1, h = 2, m = 8, n = 8, d = 4,
                                  online = true }
  local heard
  ts.on_warning(function(text) heard = text end)
  assert(#ts.space.sketches(ts.space.default "llvm", program, "llvm") > 0)
  ts.on_warning(nil)
  assert(not heard, heard)
end

-- The tiles of AMX: sums stay in tile registers, edges are padded, operands
-- that are no matrices are copied.
do
  local intrin = require "tessera.intrin"
  local target = "llvm -mattr=+amx-tile,+amx-int8,+amx-bf16"
  local here = intrin.has "amx_acc_16x16x64_s8s8s32" and
               intrin.has "amx_acc_16x16x32_bf16bf16f32"
  local modules = { use "use_amx", use "parallel_vectorize_unroll" }
  local function product(a, b, m, n, k)
    local A = ts.placeholder("A", { m, k }, a)
    local B = ts.placeholder("B", { k, n }, b)
    local r = ts.reduce_axis("k", k)
    return ts.program("product", { A, B }, { ts.compute("C", { m, n },
      function(i, j)
        return ts.sum(ts.cast(A(i, r), "int32") * ts.cast(B(r, j), "int32"), r)
      end) })
  end
  for n, p in ipairs {
    ops.matmul { m = 32, n = 32, k = 128, dtype = "int8", acc = "int32" },
    ops.matmul { m = 33, n = 20, k = 70, dtype = "int8", acc = "int32",
                 relu = true },
    ops.dense { m = 16, n = 16, k = 32, dtype = "bfloat16", acc = "float32",
                bias = false },
    ops.matmul { m = 16, n = 32, k = 48, dtype = "bfloat16", acc = "float32" },
    product("uint8", "int8", 16, 16, 32), product("int8", "uint8", 16, 16, 32),
    product("uint8", "uint8", 16, 16, 32),
    ops.conv2d_nhwc { n = 1, h = 4, w = 5, ci = 16, co = 16, k = 3, pad = 1,
                      dtype = "int8", acc = "int32" },
  } do
    local list = ts.space.sketches(modules, p, target)
    assert(steps(list[1], "tensorize") >= 2, n)
    local s = list[1]:replay(p, { resample = true, seed = 1 })
    checks.same(s, p)
    local text = ts.build(s, target):source "asm"
    -- 2 x 2 sums: four products, which share what they load.
    local _, products = text:gsub("tdp%l+[^\n]*tmm", "")
    local _, loads = text:gsub("tileloadd[^\n]*tmm", "")
    assert(n ~= 1 or products == 4 and loads == 4, text)
    if here then
      checks.exact(s, p, checks.arguments(p, "integers"))
    end
  end
  local text = ts.space.explain({ use "use_amx" }, ops.matmul {
    m = 4, n = 32, k = 64, dtype = "int8", acc = "int32" }, target)
  assert(text:find("C: not applicable: 4 rows are too few", 1, true), text)
  text = ts.space.explain({ use "use_amx" }, ops.matmul {
    m = 16, n = 32, k = 64, dtype = "int8", acc = "int32" },
    "llvm -mcpu=x86-64")
  assert(text:find("C: not applicable: the target lacks", 1, true), text)
  fails("INVALID", "'rows' is '0'", require "tessera.modules.use_amx",
        { rows = 0 })
end

-- A blocked layout is read as it lies: no copy, and the intrinsic's tiles are
-- of the innermost iters.
do
  local with = require "tessera.modules.multi_level_tiling_with_intrin"
  local X = ts.placeholder("X", { 2, 6, 6, 16 }, "uint8")
  local W = ts.placeholder("W", { 2, 2, 4, 16, 4 }, "int8")
  local a, b, c = ts.reduce_axis("a", 2), ts.reduce_axis("b", 4),
                  ts.reduce_axis("c", 4)
  local p = ts.program("conv", { X, W }, {
    ts.compute("Y", { 2, 6, 6, 16 }, function(o, h, w, i)
      return ts.sum(ts.cast(X(a, h, w, b * 4 + c), "int32") *
                    ts.cast(W(o, a, b, i, c), "int32"), { a, b, c })
    end) })
  local list = ts.space.sketches({
    with { intrin = tensor.dot_16x4 "llvm" } }, p, "llvm -num-cores=2")
  assert(#list == 3)
  for _, t in ipairs(list) do
    local text = tostring(t)
    assert(not text:find("reindex", 1, true) and
           not text:find("transform_layout", 1, true), text)
    assert(steps(t, "tensorize") == 1)
    checks.same(t:replay(p, { resample = true, seed = 3 }), p)
  end
end

-- The last dimension of the result is cut to a vector, and none else: by each
-- of its sketches, behind other modules, too.
do
  local wide = require "tessera.modules.multi_level_tiling_wide_vector"
  for n, size in pairs { [256] = 32, [24] = 24, [80] = 32 } do
    local p = ops.matmul { m = 64, n = n, k = 32, relu = true }
    local list = ts.space.sketches({
      wide { vector_bits = 1024, write_levels = { 1 } } }, p, "llvm")
    for _, t in ipairs(list) do
      local cut = "factors = {ts.auto, " .. size .. "}"
      assert(select(2, tostring(t):gsub(cut, "")) == (t == list[1] and 1 or 2),
             t)
      assert(not tostring(t):find("guard", 1, true), t)
      checks.same(t:replay(p, { resample = true, seed = 1 }), p)
    end
    assert(#list == 2)
  end
end
