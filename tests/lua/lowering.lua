-- SPDX-License-Identifier: Apache-2.0
-- The lowering passes by name: ts.lower stops after any of them, in the
-- spelling of TVM too, and after each the interpreter finds the same
-- computation.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

local names, number = {}, {}
for i, pass in ipairs(ts.lower_passes()) do
  assert(pass.number == i and pass.name:find "^[a-z0-9_]+$", pass.name)
  assert(#pass.summary > 10 and not pass.summary:find "%.$", pass.summary)
  assert(not number[pass.name], pass.name)
  names[i], number[pass.name] = pass.name, i
end
assert(#names > 20)

-- ---- names -----------------------------------------------------------------

for spelling, name in pairs {
  vectorize = "vectorize", VectorizeLoop = "vectorize",
  ["tir.UnrollLoop"] = "unroll", unroll_loop = "unroll",
  FlattenBuffer = "flatten_buffer", LowerOpaqueBlock = "lower_blocks",
  InjectVirtualThread = "inject_virtual_thread",
  PlanAndUpdateBufferAllocationLocation = "plan_allocation",
} do
  assert(ts.lower_pass(spelling).name == name, spelling)
end
assert(ts.lower_pass "" == nil and ts.lower_pass "_" == nil)
assert(ts.lower_pass "unrol" == nil and ts.lower_pass "unrolls" == nil)

local function scaled()
  local A, B = ts.placeholder("A", { 16, 12 }), ts.placeholder("B", { 12, 16 })
  local k = ts.reduce_axis("k", 12)
  local C = ts.compute("C", { 16, 16 }, function(i, j)
    return ts.sum(A(i, k) * B(k, j), k)
  end)
  local D = ts.compute("D", { 16, 16 }, function(i, j)
    return ts.exp(C(i, j) / 64)
  end)
  return ts.program("scaled", { A, B }, { D })
end

local p = scaled()
local function refused(code, text, ...)
  checks.fails(code, text, ts.lower, ...)
end
refused("NOT_FOUND", "there is no lowering pass 'tidy'; there are " ..
        table.concat(names, ", "), p, { after = "tidy" })
refused("INVALID", "unknown option 'stop_after' of ts.lower, which has after",
        p, { stop_after = "unroll" })
refused("TYPE", "", p, { after = 3 })

-- ---- after each ------------------------------------------------------------

-- Vectors, registers and virtual threads; a pipeline through a shared copy; a
-- reduction across threads.
local function tiled()
  local s = ts.schedule(p)
  local i, j, k = s:get_loops(s:get_block "C")
  local i0, i1 = s:split(i, { ts.auto, 4 })
  local j0, j1 = s:split(j, { ts.auto, 8 })
  s:reorder(i0, j0, k, i1, j1)
  s:vectorize(j1)
  s:unroll(i1)
  s:parallel(i0)
  s:reverse_compute_at(s:get_block "D", j0)
  return s
end

local function pipelined()
  local s = ts.schedule(p)
  local i, j, k = s:get_loops(s:get_block "C")
  local i0, i1 = s:split(i, { 2, ts.auto })
  s:bind(i0, "vthread")
  s:bind(i1, "threadIdx.x")
  s:compute_at(s:cache_read(s:get_block "C", 0, "shared"), k)
  s:annotate(k, "software_pipeline_stage", { 0, 1 })
  s:annotate(k, "software_pipeline_order", { 0, 1 })
  s:bind(s:get_loops(s:get_block "D"), "threadIdx.x")
  return s
end

local function across()
  local s = ts.schedule(p)
  local i, _, k = s:get_loops(s:get_block "C")
  s:bind(i, "threadIdx.y")
  s:bind(k, "threadIdx.x")
  s:bind(s:get_loops(s:get_block "D"), "threadIdx.y")
  return s
end

-- A tensor of those values, in one dimension once buffers are flat.
local function tensor(values, shape, pass)
  if number[pass] < number.flatten_buffer then
    return ts.tensor("float32", shape, values)
  end
  local flat = {}
  for _, row in ipairs(values) do table.move(row, 1, #row, #flat + 1, flat) end
  return ts.tensor("float32", { #flat }, flat)
end

local function rows(n, m, f)
  local list = {}
  for i = 1, n do
    list[i] = {}
    for j = 1, m do list[i][j] = f(i, j) end
  end
  return list
end

local a = rows(16, 12, function(i, j) return (i * 5 + j * 3) % 7 - 3 end)
local b = rows(12, 16, function(i, j) return (i * 2 + j) % 5 - 2 end)
local zeros = rows(16, 16, function() return 0 end)

local function run(program, pass)
  local d = tensor(zeros, { 16, 16 }, pass)
  ts.interpret(program, { tensor(a, { 16, 12 }, pass),
                          tensor(b, { 12, 16 }, pass), d })
  return d
end

local first = run(p, names[1])
local values = rows(16, 16, function(i, j) return first:get(i - 1, j - 1) end)

local changed = {}
for how, schedule in pairs { tiled = tiled(), pipelined = pipelined(),
                             across = across() } do
  for _, threads in ipairs { true, false } do
    local before = tostring(schedule:program())
    for _, name in ipairs(names) do
      local options = { after = name, threads = threads }
      local q = ts.lower(schedule, options)
      local place = how .. ", " .. name
      assert(q:verify(), place)
      -- Expanded functions are other ones to the residue domain.
      if number[name] < number.lower_intrin then
        assert(ts.equivalent(q, ts.lower(p, options)), place)
      end
      local want = tensor(values, { 16, 16 }, name)
      assert(run(q, name):compare(want) < 1e-4, place)
      options.keep_intrinsics = true
      assert(ts.equivalent(ts.lower(schedule, options),
                           ts.lower(p, options)), place)
      changed[name] = changed[name] or tostring(q) ~= before
      before = tostring(q)
    end
  end
end
for _, name in ipairs { "lower_cross_thread_reduction", "plan_allocation",
                        "lower_init", "lower_blocks", "compact_buffers",
                        "software_pipeline", "inject_virtual_thread",
                        "form_kernels", "flatten_buffer", "vectorize",
                        "lower_intrin", "unroll", "hoist_init",
                        "scalar_replacement", "serialize_threads" } do
  assert(changed[name], name .. " had nothing to do")
end

-- Guards of tails limit loops.
local function tightened(extent, factors)
  local A = ts.placeholder("A", { extent })
  local B = ts.compute("B", { extent }, function(i) return A(i) * 2 end)
  local sch = ts.schedule(ts.program("tail", { A }, { B }))
  local loop = sch:get_loops(sch:get_block "B")
  for _, f in ipairs(factors) do
    loop = select(2, sch:split(loop, { ts.auto, f }))
  end
  local after = ts.lower(sch, { after = "tighten_loop_bounds" })
  assert(after:verify())
  local size = math.type(extent) and extent or 77
  for _, q in ipairs { ts.lower(sch, { after = "unroll" }), after } do
    local x = ts.tensor("float32", { size }, "integers", 3)
    local y = ts.tensor("float32", { size })
    ts.interpret(q, { x, y })
    for i = 0, size - 1 do assert(y:get(i) == x:get(i) * 2, i) end
  end
  return tostring(after)
end
local double = tightened(96, { 48, 32 })
assert(double:find("range(min(48 - i_1_0 * 32, 32))", 1, true), double)
assert(not double:find("if ", 1, true), double)
local sized = tightened(ts.size "n", { 32 })
assert(sized:find("range(max(min(n - i_0 * 32, 32), 0))", 1, true), sized)
assert(not tightened(96, { 48 }):find("min(", 1, true))
-- Multiples of the variable are divided; what is read from data stays, since
-- terms before it may guard the read.
do
  local b = ts.builder "bounds"
  local P = b:input("P", { 1 }, "int64")
  local Y = b:output("Y", { 40 }, "int64")
  b:loop("z", 0, 40, function(z)
    b:block("clear", { { "vz", extent = 40, bind = z } }, function(vz)
      b:store(Y, { vz }, 0)
    end)
  end)
  b:loop("i", 0, 40, function(i)
    b:when(ts.all(ts.le(3 * i, 71), ts.lt(i, P(0))), function()
      b:block("set", { { "vi", extent = 40, bind = i } }, function(vi)
        b:store(Y, { vi }, 1)
      end)
    end)
  end)
  local q = ts.lower(b:program(), { after = "tighten_loop_bounds" })
  assert(tostring(q):find "for i in range%(24%)\n +if i < P%[0%]", tostring(q))
  for _, most in ipairs { 0, 7, 24, 39 } do
    local y = ts.tensor("int64", { 40 })
    ts.interpret(q, { ts.tensor("int64", { 1 }, { most }), y })
    for i = 0, 39 do
      assert(y:get(i) == ((i < 24 and i < most) and 1 or 0), i)
    end
  end
end

-- Guards that unroll repeats for each statement guard them all again, outside
-- of the loop, so that what they store stays in registers there; terms that
-- need the loop's variable stay in it.
do
  local b = ts.builder "guards"
  local X = b:input("X", { 40 })
  local Y = b:inout("Y", { 4, 2 })
  local function guarded(k, j, i)
    return function()
      b:block("add", {
        { "vk", "opaque", extent = 40, bind = k },
        { "vj", extent = 4, bind = j }, { "vi", extent = 2, bind = i },
      }, function(vk, vj, vi)
        b:store(Y, { vj, vi }, Y(vj, vi) + X(vk))
      end)
    end
  end
  b:loop("n", 0, 5, function(n)
    b:loop("j", 0, 4, function(j)
      b:loop("k", 0, 40, function(k)
        b:loop("i", 0, 2, function(i)
          b:when(ts.all(ts.lt(n + j, 6), ts.lt(k, n + 2)), guarded(k, j, i))
        end)
      end)
    end)
  end)
  local sch = ts.schedule(b:program())
  sch:unroll((select(4, sch:get_loops(sch:get_block "add"))))
  local text = tostring(ts.lower(sch, { after = "hoist_guards" }))
  assert(text:find("if n %+ j < 6\n +for k in range%(40%)\n" ..
                   " +if k < n %+ 2\n +Y"), text)
  assert(select(2, text:gsub("if ", "")) == 2, text)
  text = tostring(ts.lower(sch, { after = "scalar_replacement" }))
  assert(text:find("for j in range(min(6 - n, 4))", 1, true), text)
  assert(text:find("Y_reg[1] = Y_reg[1] + X[k]", 1, true), text)
  checks.exact(sch, b:program(), checks.arguments(b:program(), "integers"))
end

-- Where a register tile reads no padding, a copy of it without the conditions
-- runs; those on columns that a tile has all of, which no tile fulfils
-- throughout, stay.
do
  local p = require "tessera.ops".depthwise_conv2d_nhwc {
    n = 1, h = 6, w = 9, c = 8, k = 3, pad = 1,
  }
  local function padded(tile)
    local sch = ts.schedule(p)
    sch:compute_inline((sch:get_block "padded"))
    local b = sch:get_block "conv"
    local _, _, w, c, kh, kw = sch:get_loops(b)
    local wo, wi = sch:split(w, { ts.auto, tile })
    sch:reorder(wo, kh, kw, wi, c)
    sch:vectorize(c)
    sch:unroll(wi)
    sch:decompose_reduction(b, kh)
    checks.exact(sch, p, checks.arguments(p, "integers"))
    return tostring(ts.lower(sch, { after = "version_tiles", threads = false }))
  end
  for tile, test in pairs { [3] = "1 <= w_0 && w_0 < 2 && 1 <= h && h < 5",
                            [9] = "1 <= h && h < 5" } do
    local text = padded(tile)
    local inside, border = text:match("if " .. test .. "\n(.-)\n +else\n(.*)")
    assert(inside and inside:find("X[ramp", 1, true), text)
    assert(not inside:find("h + kh < 7", 1, true), text)
    assert(tile == 9 or not inside:find("select", 1, true), text)
    assert(border:find("select(1 <= ", 1, true), text)
  end
end

-- ---- transpositions --------------------------------------------------------

-- Rows that become columns are transposed in registers, whole strips of them,
-- in any type, order of loops and number of vectors; `found`: how many loops.
local function transposed(dtype, rows, columns, shape, found)
  local A = ts.placeholder("A", { columns, rows }, dtype)
  local B = ts.compute("B", { rows, columns }, function(i, j)
    return A(j, i)
  end)
  local q = ts.program("transposed", { A }, { B })
  local sch = ts.schedule(q)
  shape(sch, sch:get_loops(sch:get_block "B"))
  local text = tostring(ts.lower(sch, { after = "transpose_copies",
                                        target = "llvm -mcpu=x86-64-v3" }))
  assert(select(2, text:gsub("pragma_transpose", "")) == found, text)
  checks.exact(sch, q, checks.arguments(q, "integers"))
end

local function vectors(n)
  return function(sch, i, j)
    sch:vectorize((select(2, sch:split(j, { ts.auto, n }))))
  end
end
local function fused(sch, i, j)
  local outer, inner = sch:split(j, { ts.auto, 16 })
  sch:vectorize(inner)
  sch:parallel(sch:fuse(i, outer))
end
for _, dtype in ipairs { "float32", "float64", "int32", "float16", "uint16" } do
  transposed(dtype, 48, 64, vectors(32), 1)
end
transposed("float32", 48, 16, vectors(16), 1)
transposed("float32", 45, 32, vectors(16), 1) -- with a rest
transposed("float32", 256, 16, fused, 1)
transposed("float32", 48, 16, fused, 0) -- too few iterations
transposed("float32", 5, 16, vectors(16), 0) -- too few rows
transposed("uint8", 48, 64, vectors(32), 0)
