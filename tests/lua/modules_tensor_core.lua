-- SPDX-License-Identifier: Apache-2.0
-- use_tensor_core: a known trace is a point of its sketches, and what they make
-- of products and convolutions computes the same, padded where it must be.
local ts = require "tessera"
local ops = require "tessera.ops"
local searching = dofile((arg[0]:gsub("[^/]*$", "../support/searching.lua")))
local steps, use = searching.steps, searching.use

-- The layer of examples/bert_dense.lua, and its schedule by hand.
local example = assert(io.open((arg[0]:gsub("[^/]*$",
                                            "../../examples/bert_dense.lua"))))
local source = example:read "a":match "^(.-)%-%- At its real size"
example:close()
local dense, by_hand = load(source .. "\nreturn dense, schedule")()

local function space(params)
  return { use("use_tensor_core", params), use "auto_inline",
           use("auto_inline", { into_producer = true }) }
end

-- The trace with these decisions, in order.
local function decided(t, decisions)
  local n = 0
  for i = 1, #t do
    if t[i].name:find "^sample_" then
      n = n + 1
      t = t:with_decision(i, decisions[n])
    end
  end
  assert(n == #decisions, n)
  return t
end

-- At its real size: MetaSchedule's trace.
do
  local p = dense(1024, 4096, 1024)
  local sch = ts.schedule(p)
  local tiles = { i = { 8, 1, 2, 2, 2 }, j = { 1, 32, 4, 2, 1 },
                  k = { 32, 2, 1 } }
  by_hand(sch, tiles)
  local found = 0
  for _, t in ipairs(ts.space.sketches(space(), p)) do
    local s = decided(t, { tiles.i, tiles.j, tiles.k, 0, 2, 2 }):replay(p)
    found = found + (s:program():equal(sch:program()) and 1 or 0)
  end
  assert(found == 1, found)
end

-- Scaled down, with and without the intrinsics, as a device runs it.
local function same(p, params, how_many, kernels)
  local list = ts.space.sketches(space(params), p)
  assert(#list == how_many, #list)
  for _, t in ipairs(list) do
    local done = 0
    for seed = 1, 2 do
      local ok, s = pcall(t.replay, t, p, { resample = true, seed = seed })
      assert(ok or s.code == "REFUSED", s)
      if ok then
        assert(ts.equivalent(s, p))
        if kernels then assert(ts.equivalent(ts.lower(s), p)) end
        done = done + 1
      end
    end
    assert(done > 0, t)
  end
  return list
end
same(dense(32, 32, 32), {}, 1)
local list = same(dense(32, 32, 32), { tensorize = true }, 1, true)
assert(steps(list[1], "tensorize") == 2)
same(dense(32, 16, 32), { pipeline = false }, 1)
same(ops.matmul { m = 16, n = 16, k = 16, dtype = "float16" },  -- one step
     { tensorize = true }, 1, true)
same(ops.matmul { m = 20, n = 16, k = 24, dtype = "float16",
                  acc = "float16" }, {}, 1)
same(ops.conv2d_nhwc { n = 1, h = 4, w = 4, ci = 16, co = 16, k = 1,
                       dtype = "float16", acc = "float16" },
     { groups = { "f16f16f16" } }, 1)

-- Where only what is added up is padded, as of a convolution's three channels,
-- the result needs no copy.
same(ops.matmul { m = 32, n = 16, k = 24, dtype = "float16",
                  acc = "float16" }, { tensorize = true }, 1, true)
same(ops.conv2d_nhwc { n = 1, h = 4, w = 4, ci = 3, co = 16, k = 3, pad = 1,
                       dtype = "float16", acc = "float16" },
     { groups = { "f16f16f16" } }, 1)

-- The result of a convolution goes from fragments by shared memory to its
-- place, which need not be a box, with what is computed of it next.
for _, o in ipairs { { h = 4, w = 4, stride = 1 },
                     { h = 14, w = 10, stride = 2, bias = true, relu = true },
                     { n = 2, h = 3, w = 5, stride = 1, relu = true },
                     { h = 8, w = 6, ci = 64, k = 1, pad = 0, stride = 1 } } do
  local c = { n = 1, ci = 16, co = 32, k = 3, pad = 1, dtype = "float16",
              acc = "float32" }
  for k, v in pairs(o) do c[k] = v end
  local p = ops.conv2d_nhwc(c)
  local list = same(p, { groups = { "f16f16f32" }, tensorize = true }, 1, true)
  for seed = 1, 2 do
    local text = tostring(ts.lower(list[1]:replay(p, { resample = true,
                                                       seed = seed })))
    -- One kernel, and nothing in global memory but arguments.
    assert(select(2, text:gsub("in blockIdx.x", "")) == 1, text)
    for buffer in text:gmatch "allocate ([^\n]+)" do
      assert(buffer:find " in ", buffer)
    end
  end
end

-- The pieces are replaced behind the sketch, too: annotated by family, by the
-- one of it that fits, and left as they are where the module did so itself.
for _, tensorize in ipairs { false, true } do
  local p = ops.matmul { m = 32, n = 16, k = 32, dtype = "float16",
                         trans_b = true }
  local space = ts.space.with_postprocs(space { tensorize = tensorize }, {
    "rewrite_reduction_block", "rewrite_tensorize" })
  local list = ts.space.sketches(space, p, "cuda -arch=sm_80",
                                 { postprocs = true })
  assert(#list == 1, #list)
  local lowered = 0
  for seed = 1, 4 do
    local s = list[1]:replay(p, { resample = true, seed = seed })
    local text = tostring(s)
    assert(select(2, text:gsub("match C_reindex", "")) == 2 and
           not text:find "auto_tensorize", text)
    assert(ts.equivalent(s, p))
    -- The zeros of a single step stand among what is pipelined.
    local ok, l = pcall(ts.lower, s)
    if ok then assert(ts.equivalent(l, p)) end
    lowered = lowered + (ok and 1 or 0)
  end
  assert(lowered > 0, lowered)
  local r = ts.tune(p, { target = "cuda -arch=sm_80", space = space, seed = 1,
                         trials = 2, batch = 2, strategy = "replay",
                         cost_model = "random",
                         measure = function() return 1 end })
  assert(r.trace and not tostring(r.trace:replay(p)):find "auto_tensorize",
         r.funnel)
end

-- The sketches of use_mma: the schedule by hand of bench/gpu/hgemm.lua that was
-- the fastest is a point of the default space, to the last instruction.
do
  local hgemm = dofile((arg[0]:gsub("[^/]*$", "../../bench/gpu/hgemm.lua")))
  local target, found = "cuda -arch=sm_90", 0
  local o = { m = 1024, n = 512, k = 512, bm = 256, bn = 128, bk = 64, wm = 64,
              wn = 64, stages = 4, ahead = true, group = 2, pad = 8,
              out = "float32" }
  local p = hgemm.program(o)
  local want = ts.build(hgemm.schedule(p, o), target .. " -tensor-cores=mma")
  for _, t in ipairs(ts.space.sketches(ts.space.default(target), p, target)) do
    if tostring(t):find '"tensor_cores"' then
      local at, n = nil, 0
      for code in t:lua():match "sample_categorical{candidates = (%b{})":gmatch
        "%d+" do
        -- 4 x 2 warps of 4 x 4 fragments, as digits to the base 9.
        if tonumber(code) == ((4 * 9 + 2) * 9 + 4) * 9 + 4 then at = n end
        n = n + 1
      end
      local s = decided(t, { at, { 2, 2 }, 1, 0, 0, 0, 1 }):replay(p)
      found = found + 1
      assert(ts.build(s, target):source "ptx" == want:source "ptx")
    end
  end
  assert(found == 1, found)
end

-- Small ones compute the same, with sums in float16, operands that must be
-- padded or laid out, a single step.
do
  local function use_mma(params)
    return { use("use_mma", params), use "auto_inline",
             use("auto_inline", { into_producer = true }) }
  end
  for _, p in ipairs {
    dense(32, 64, 32), ops.matmul { m = 20, n = 16, k = 24, dtype = "float16" },
    ops.matmul { m = 32, n = 32, k = 16, dtype = "bfloat16" },
  } do
    local list = ts.space.sketches(use_mma {}, p)
    assert(#list == 1, #list)
    for seed = 1, 2 do
      local s = list[1]:replay(p, { resample = true, seed = seed })
      assert(ts.equivalent(s, p) and ts.equivalent(ts.lower(s), p))
    end
  end
  local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
  for name, bad in pairs { stages = 3, warps = {}, side = 0, must = 1 } do
    checks.fails("INVALID", "'" .. name .. "'", use, "use_mma",
                 { [name] = bad })
  end
end

-- What the target's tensor cores do not do is not applicable: no processor or
-- OpenCL device has any, mma.sync is of sm_80 and up, bfloat16 too; a size that
-- is known only at the call is none of a fragment.
do
  local p = ops.matmul { m = 64, n = 64, k = 64, dtype = "float16" }
  local half = ops.matmul { m = 64, n = 64, k = 64, dtype = "bfloat16" }
  local function says(module, program, target, what)
    local text = ts.space.explain({ use(module, {}) }, program, target)
    assert(text:find(what, 1, true), text)
  end
  for _, module in ipairs { "use_tensor_core", "use_mma" } do
    says(module, p, "opencl", "not applicable: target 'opencl' has no tensor")
    says(module, p, "llvm", "not applicable: target 'llvm' has no tensor cores")
  end
  says("use_mma", p, "cuda -arch=sm_75", "target 'sm_75' has no tensor " ..
       "cores with mma.sync, which cards from sm_80 on have")
  says("use_tensor_core", half, "cuda -arch=sm_75", "C: not applicable")
  local n = ts.size "n"
  local A = ts.placeholder("A", { n, 64 }, "float16")
  local B = ts.placeholder("B", { 64, 64 }, "float16")
  local k = ts.reduce_axis("k", 64)
  local C = ts.compute("C", { n, 64 }, function(i, j)
    return ts.sum(A(i, k) * B(k, j), k)
  end)
  says("use_mma", ts.program("open", { A, B }, { C }), "cuda -arch=sm_80",
       "tensor cores need constant extents, and that of loop i is not a")
end

local text = ts.space.explain({ use "use_tensor_core" },
                              ops.matmul { m = 16, n = 16, k = 16 })
assert(text:find("C: not applicable: f16f16f16: a buffer has another type", 1,
                 true), text)
