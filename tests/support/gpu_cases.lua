-- SPDX-License-Identifier: Apache-2.0
-- Programs for the emulated device, as files in the folder that is given: for
-- each workload its description, and random candidates of a space for CUDA.
-- arg[1]: the kind of workloads; arg[2]: how many candidates of each;
-- arg[3]: the folder.  The file `index` has a line for each candidate: the
-- program, the candidate, and the sizes that it is called with ("-": none).
local ts = require "tessera"
local ops = require "tessera.ops"
local spaces = require "tessera.modules.spaces"
local kind, count, folder = arg[1], math.tointeger(arg[2]), arg[3]

local function module(name, parameters)
  return require("tessera.modules." .. name)(parameters)
end

local kinds = {}

-- Small workloads of the operator suite, in the space for cards without
-- tensor cores.
function kinds.suite()
  local function conv(o)
    local c = { n = 1, h = 6, w = 6, ci = 4, co = 8, k = 3, stride = 1,
                pad = 1 }
    for k, v in pairs(o) do c[k] = v end
    return c
  end
  return spaces.modules_for "cuda -arch=sm_70", {
    C1D = ops.conv1d_nlc{ n = 1, w = 16, ci = 4, co = 8, k = 3, stride = 2,
                          pad = 1 },
    C2D = ops.conv2d_nhwc(conv{}),
    C3D = ops.conv3d_ndhwc{ n = 1, d = 4, h = 4, w = 4, ci = 2, co = 4, k = 3,
                            stride = 1, pad = 1 },
    DIL = ops.conv2d_nhwc(conv{ dilation = 2 }),
    GRP = ops.conv2d_nhwc(conv{ groups = 2 }),
    DEP = ops.depthwise_conv2d_nhwc{ n = 1, h = 6, w = 6, c = 8, k = 3,
                                     stride = 1, pad = 1 },
    T2D = ops.conv2d_transpose_nhwc(conv{ h = 3, w = 3, co = 4, k = 4,
                                          stride = 2 }),
    CAP = ops.capsule_conv2d_nhwc(conv{ h = 4, w = 4, co = 4, stride = 2 }),
    GMM = ops.batch_matmul{ b = 1, m = 16, n = 16, k = 16 },
    TBG = ops.transpose_batch_matmul{ b = 1, seq = 8, heads = 2, dim = 4 },
    CBR = ops.conv2d_nhwc(conv{ bias = true, bn = true, relu = true }),
    NRM = ops.norm{ b = 1, m = 16, n = 16 },
    SFM = ops.softmax{ shape = { 8, 16 } },
  }
end

-- Elementwise loops, bound to threads, and reductions shared by them.
function kinds.binding()
  local list = { module "cross_thread_reduction", module "auto_bind" }
  local A = ts.placeholder("A", { 12, 20 })
  local k = ts.reduce_axis("k", 20)
  local function unary(name, f)
    local y = ts.compute("Y", { 12, 20 }, function(i, j) return f(A(i, j)) end)
    return ts.program(name, { A }, { y })
  end
  local all = {
    sum = ts.program("sum", { A }, { ts.compute("S", { 12 }, function(i)
      return ts.sum(A(i, k), k)
    end) }),
    softmax = ops.softmax{ shape = { 6, 40 } },
    arg_max = ops.arg_max{ shape = { 7, 40 } },
  }
  for _, name in ipairs{ "exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid",
                         "erf", "floor", "ceil", "round", "abs", "sin", "cos",
                         "tan", "expm1", "log1p", "erfc", "atan", "sinh",
                         "cosh", "asinh" } do
    all[name] = unary(name, function(x) return ts[name](x * x + 0.5) end)
  end
  for _, t in ipairs{ "float16", "bfloat16", "int8", "int64", "float64" } do
    local X, Y = ts.placeholder("X", { 96 }, t), ts.placeholder("Y", { 96 }, t)
    local Z = ts.compute("Z", { 96 }, function(i)
      return X(i) * Y(i) + ts.max(X(i), Y(i)) - X(95 - i)
    end)
    all[t] = ts.program(t, { X, Y }, { Z })
  end
  return list, all
end

-- Sums of parts by blocks that update the results.
function kinds.atomics()
  local atomics = dofile((arg[0]:gsub("[^/]*$", "atomics.lua")))
  local all = { min = atomics.rows("int64", ts.reduce_min),
                max = atomics.rows("uint32", ts.reduce_max) }
  for _, t in ipairs { "int32", "float16", "float32", "float64" } do
    all[t] = atomics.rows(t, ts.sum)
  end
  return function(p)
    return { atomics.terms(p):trace(), atomics.parts(p):trace() }
  end, all
end

-- The same by a module that draws how many parts there are, of all that is
-- added up, too.
function kinds.parts()
  local atomics = dofile((arg[0]:gsub("[^/]*$", "atomics.lua")))
  local A = ts.placeholder("A", { 6, 150 })
  local axes = { ts.reduce_axis("i", 6), ts.reduce_axis("k", 150) }
  return function(p)
    local list = {}
    for _, t in ipairs(ts.space.sketches({
      module("cross_thread_reduction", { parts = { 4, 8 } }),
      module "auto_bind" }, p, "cuda -arch=sm_70")) do
      if tostring(t):find "blockIdx.y" then list[#list + 1] = t end
    end
    return list
  end, {
    rows = atomics.rows("float32", ts.sum),
    min = atomics.rows("int32", ts.reduce_min),
    all = ts.program("all", { A }, { ts.compute("S", {}, function()
      return ts.sum(A(axes[1], axes[2]), axes)
    end) }),
  }
end

-- Blocks of threads as many as the sizes say.
function kinds.grids()
  local grids = dofile((arg[0]:gsub("[^/]*$", "grids.lua")))
  local all, schedules, sizes = {}, {}, {}
  for name, g in pairs(grids.all) do
    local sch, p = grids.scheduled(g)
    all[name], schedules[tostring(p)] = p, { sch:trace() }
    sizes[name] = grids.in_order(p, g.sizes)
  end
  return function(p) return schedules[tostring(p)] end, all, sizes
end

-- One more block of threads than there can be, the second time.
function kinds.tall()
  local n = ts.size "n"
  local A = ts.placeholder("A", { n }, "int8")
  local B = ts.compute("B", { n }, function(i) return A(i) + A(i) end)
  return function(p)
    local sch = ts.schedule(p)
    sch:bind((sch:get_loops(sch:get_block "B")), "blockIdx.y")
    return { sch:trace() }
  end, { tall = ts.program("tall", { A }, { B }) },
  { tall = { { 300 }, { 65536 } } }
end

-- Four warps, and no loop over blocks of threads.
function kinds.one_block()
  local one_block = dofile((arg[0]:gsub("[^/]*$", "one_block.lua")))
  return function(p) return { one_block.schedule(p):trace() } end,
         { half = one_block.program() }
end

-- Products for tensor cores.
function kinds.tensor_core()
  local function product(dtype, acc, trans)
    local A = ts.placeholder("A", { 32, 32 }, dtype)
    local B = ts.placeholder("B", { 32, 32 }, dtype)
    local k = ts.reduce_axis("k", 32)
    local C = ts.compute("C", { 32, 32 }, function(i, j)
      local a, b = A(i, k), trans and B(j, k) or B(k, j)
      if acc ~= dtype then a, b = ts.cast(a, acc), ts.cast(b, acc) end
      return ts.sum(a * b, k)
    end)
    local D = ts.compute("D", { 32, 32 }, function(i, j)
      return C(i, j) + ts.const(1, acc)
    end)
    return ts.program("product", { A, B }, { D })
  end
  return { module("use_tensor_core", { tensorize = true }),
           module "auto_inline",
           module("auto_inline", { into_producer = true }) }, {
    f16 = product("float16", "float16", false),
    f16_trans = product("float16", "float16", true),
    f32 = product("float16", "float32", false),
    f32_trans = product("float16", "float32", true),
    bf16 = product("bfloat16", "float32", false),
    bf16_trans = product("bfloat16", "float32", true),
    s8 = product("int8", "int32", false),
    s8_trans = product("int8", "int32", true),
  }
end

-- Convolutions for tensor cores, whose results leave through shared memory.
function kinds.tensor_core_conv()
  local function conv(o)
    local c = { n = 1, ci = 16, co = 32, k = 3, pad = 1, dtype = "float16",
                acc = "float32" }
    for k, v in pairs(o) do c[k] = v end
    return ops.conv2d_nhwc(c)
  end
  return { module("use_tensor_core", { tensorize = true, groups = {
             "f16f16f32" } }), module "auto_inline",
           module("auto_inline", { into_producer = true }) },
         { square = conv { h = 8, w = 8 },
           odd = conv { h = 7, w = 5, bias = true, relu = true },
           first = conv { h = 6, w = 6, ci = 3, stride = 2 },
           point = conv { h = 8, w = 8, k = 1, pad = 0, relu = true } }
end

-- Operands in shared memory several tiles ahead of their use.
function kinds.ahead()
  return { module "auto_inline", module("multi_level_tiling", {
    structure = "SSSRRSRS",
    tile_binds = { "blockIdx.x", "vthread.x", "threadIdx.x" },
    write_levels = { 3 }, write_scope = "local", write_must = true,
    read_levels = { 4 }, vector_load_lens = { 1, 2, 4 },
    threads_per_block = { 16, 64 }, stages = { 3, 4 } }),
    module("auto_inline", { into_producer = true }), module "auto_bind" },
    { product = ops.matmul { m = 32, n = 32, k = 64, relu = true },
      batch = ops.batch_matmul { b = 2, m = 8, n = 16, k = 32 },
      conv = ops.conv2d_nhwc { n = 1, h = 8, w = 8, ci = 8, co = 16, k = 3,
                               pad = 1, bias = true } }
end

-- The layer of examples/bert_dense.lua, scaled down, by its schedule by hand.
function kinds.bert()
  local example = assert(io.open((arg[0]:gsub("[^/]*$",
                                  "../../examples/bert_dense.lua"))))
  local source = example:read "a":match "^(.-)%-%- At its real size"
  example:close()
  local dense, schedule, tensorize =
    load(source .. "\nreturn dense, schedule, tensorize")()
  return function(p)
    local sch = ts.schedule(p)
    schedule(sch, { i = { 1, 1, 2, 2, 1 }, j = { 1, 2, 4, 1, 1 },
                    k = { 2, 2, 1 } })
    tensorize(sch)
    return { sch:trace() }
  end, { bert = dense(64, 128, 64) }
end

-- Products by mma.sync in the default space, several stages ahead.
function kinds.mma()
  local function product(dtype, acc, trans, out)
    local A = ts.placeholder("A", { 64, 64 }, dtype)
    local B = ts.placeholder("B", { 64, 64 }, dtype)
    local k = ts.reduce_axis("k", 64)
    local C = ts.compute("C", { 64, 64 }, function(i, j)
      local b = trans and B(j, k) or B(k, j)
      return ts.sum(ts.cast(A(i, k), acc) * ts.cast(b, acc), k)
    end)
    local D = ts.compute("D", { 64, 64 }, function(i, j)
      return ts.cast(ts.max(C(i, j), 0), out)
    end)
    return ts.program("product", { A, B }, { D })
  end
  return { module "use_mma", module "auto_inline",
           module("auto_inline", { into_producer = true }) }, {
    half = product("float16", "float32", false, "float16"),
    half_trans = product("float16", "float32", true, "float16"),
    float = product("bfloat16", "float32", false, "float32"),
    bytes = product("int8", "int32", true, "int32"),
    ragged = ops.matmul { m = 24, n = 40, k = 20, dtype = "float16",
                          acc = "float32" },
    conv = ops.conv2d_nhwc { n = 1, h = 8, w = 8, ci = 16, co = 32, k = 3,
                             pad = 1, dtype = "float16", acc = "float32" },
    batch = ops.batch_matmul { b = 2, m = 32, n = 32, k = 48,
                               dtype = "float16", acc = "float32" },
  }
end

function kinds.mma_half()
  local modules, all = kinds.mma()
  return modules, { half = all.half, half_trans = all.half_trans }
end

-- Products by the hand schedule of bench/gpu/hgemm.lua: padded tiles, several
-- of them on their way, fragments loaded one step ahead, epilogues.
function kinds.hgemm()
  local hgemm = dofile((arg[0]:gsub("[^/]*$", "../../bench/gpu/hgemm.lua")))
  local function size(o)
    o.m, o.n, o.k = 64, 64, 256
    return hgemm.program(o)
  end
  return function(p)
    local text, list = tostring(p), {}
    for _, ahead in ipairs { false, true } do
      list[#list + 1] = hgemm.schedule(p, {
        bm = 32, bn = 64, bk = 64, wm = 16, wn = 32, stages = 4, pad = 8,
        group = 2, ahead = ahead, trans = text:find "hgemm_trans" ~= nil,
        out = text:find "float16%[64, 64%]" and "float16" or "float32",
      }):trace()
    end
    return list
  end, { half = size {}, single = size { out = "float32" },
         bias = size { bias = true }, trans = size { trans = true } }
end

-- A product in tiles of 16 x 16 by blocks of 8 x 8 threads, whose operands are
-- read where they are or fetched to shared memory by all threads together.
local function fetching(shared)
  local function schedule(p)
    local sch = ts.schedule(p)
    local c = sch:get_block "C"
    local back = sch:cache_write(c, 0, "local")
    local i, j, k = sch:get_loops(c)
    local i0, i1, i2 = sch:split(i, { ts.auto, 8, 2 })
    local j0, j1, j2 = sch:split(j, { ts.auto, 8, 2 })
    local k0, k1 = sch:split(k, { ts.auto, 16 })
    sch:reorder(i0, j0, i1, j1, k0, k1, i2, j2)
    sch:bind(sch:fuse(i0, j0), "blockIdx.x")
    local t = sch:fuse(i1, j1)
    sch:bind(t, "threadIdx.x")
    sch:reverse_compute_at(back, t)
    for operand = 0, shared and 1 or -1 do
      local copy = sch:cache_read(c, operand, "shared")
      sch:compute_at(copy, k0)
      local loops = table.pack(sch:get_loops(copy))
      local f = sch:fuse(loops[#loops - 1], loops[#loops])
      local _, y, v = sch:split(f, { ts.auto, 64, 4 })
      sch:bind(y, "threadIdx.x")
      sch:vectorize(v)
    end
    return { sch:trace() }
  end
  return schedule, { product = ops.matmul { m = 64, n = 64, k = 64 } }
end

-- A transposition by tiles of 32 x 32 in shared memory, written by rows and
-- read by columns; "padded": each row starts one bank further; "rotated": its
-- elements do.
local function transposing(layout)
  local function schedule(p)
    local sch = ts.schedule(p)
    local b = sch:get_block "B"
    local copy = sch:cache_read(b, 0, "shared")
    local i, j = sch:get_loops(b)
    local i0, i1 = sch:split(i, { ts.auto, 32 })
    local j0, j1 = sch:split(j, { ts.auto, 32 })
    sch:reorder(i0, j0, i1, j1)
    local blocks = sch:fuse(i0, j0)
    sch:bind(blocks, "blockIdx.x")
    sch:bind(j1, "threadIdx.x")
    sch:compute_at(copy, blocks)
    local loops = { sch:get_loops(copy) }
    sch:bind(loops[#loops], "threadIdx.x")
    if layout == "padded" then sch:storage_align(copy, 0, 0, 32, 1) end
    if layout == "rotated" then
      sch:transform_layout(copy, { "write", 0 }, function(i, j)
        return i, j // 32, (i + j) % 32
      end)
    end
    return { sch:trace() }
  end
  local A = ts.placeholder("A", { 64, 64 })
  local B = ts.compute("B", { 64, 64 }, function(i, j) return A(j, i) end)
  return schedule, { transpose = ts.program("transpose", { A }, { B }) }
end

-- The kernels of a whole model, by the schedules that it has untuned.
function kinds.model()
  local graph = require "tessera.graph"
  local g, n = graph.new "net", 0
  local function weight(...)
    n = n + 1
    return g:constant("w" .. n, ts.tensor("float32", { ... }, "integers", n))
  end
  local x = g:input("x", { 1, 4, 12, 12 })
  local y = g:relu(g:conv2d_nchw(x, weight(8, 4, 3, 3), weight(8),
                                 { pad = 1 }))
  y = g:max_pool2d(y, { k = 2, stride = 2 })
  y = g:relu(g:add(g:conv2d_nchw(y, weight(8, 8, 3, 3), { pad = 1 }), y))
  y = g:reshape(g:global_pool2d(y, { op = "max" }), { to = { 1, 8 } })
  g:output("y", g:dense(y, weight(10, 8), weight(10)))
  local m = graph.model(g, { target = "cuda -arch=sm_80", seed = 1 })
  local programs, traces = {}, {}
  for k, kernel in ipairs(m.kernels) do
    programs["kernel" .. k], traces[kernel.program] = kernel.program,
                                                      kernel.trace
  end
  return function(p) return { traces[p] } end, programs
end

function kinds.transposed() return transposing() end
function kinds.padded() return transposing "padded" end
function kinds.rotated() return transposing "rotated" end
function kinds.direct() return fetching(false) end
function kinds.fetched() return fetching(true) end

local modules, programs, sizes = kinds[kind]()
local names = {}
for name in pairs(programs) do names[#names + 1] = name end
table.sort(names)
local index = assert(io.open(folder .. "/index", "w"))
for _, name in ipairs(names) do
  local p = programs[name]
  p:save(folder .. "/" .. name)
  local sketches = type(modules) == "function" and modules(p) or
                   ts.space.sketches(modules, p)
  for seed = 1, count do
    local t = sketches[seed % #sketches + 1]
    local ok, s = pcall(t.replay, t, p, type(modules) == "table" and
                        { resample = true, seed = seed } or nil)
    if not ok and s.code ~= "REFUSED" then error(s) end
    if ok then
      local file = ("%s.%d"):format(name, seed)
      s:program():save(folder .. "/" .. file)
      for _, at in ipairs(sizes and sizes[name] or { { "-" } }) do
        index:write(name, " ", file, " ", table.concat(at, ","), "\n")
      end
    end
  end
end
index:close()
