-- SPDX-License-Identifier: Apache-2.0
-- Loops over blockIdx: blocks of threads are not synchronized, so an enclosing
-- loop in the same kernel does not order them.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local same, refused = checks.same, checks.refused

-- G[x, at(k, y)] = A[x, k, y], k in order.
local function program(at, width)
  local b = ts.builder("main")
  local A, G = b:input("A", { 4, 3, 5 }), b:output("G", { 4, width })
  b:loop("x", 0, 4, function(x)
    b:loop("k", 0, 3, function(k)
      b:loop("y", 0, 5, function(y)
        b:block("G", { { "vx", extent = 4, bind = x },
                       { "vk", "opaque", extent = 3, bind = k },
                       { "vy", extent = 5, bind = y } }, function(vx, vk, vy)
          b:store(G, { vx, at(vk, vy) }, A(vx, vk, vy))
        end)
      end)
    end)
  end)
  return b:program()
end
local function meets(k, y) return y + k end
local function apart(k, y) return y * 3 + k end
local function in_rows(k, y) return k * 5 + y end

local function loops(s) return s:get_loops(s:get_block "G") end

-- Each iteration of k writes other elements, or those of other iterations.
for _, outer in ipairs { "blockIdx.x", "threadIdx.x" } do
  for _, at in ipairs { apart, in_rows } do
    local p = program(at, 15)
    local s = ts.schedule(p)
    local x, _, y = loops(s)
    s:bind(x, outer)
    s:bind(y, "blockIdx.y")
    same(s, p)
  end
  local p = program(meets, 7)
  local s = ts.schedule(p)
  local x, _, y = loops(s)
  s:bind(x, outer)
  local why = refused(s, "RACE", "bind", y, "blockIdx.y")
  assert(why.message:find(
    "such as %(x = (%d), k = %d, y = %d%) and %(x = %1, k = "), why)
  s:bind(y, "threadIdx.y")
  same(s, p)
  -- The other way round, k is in a kernel only when x is bound.
  s = ts.schedule(p)
  x, _, y = loops(s)
  s:bind(y, "blockIdx.y")
  same(s, p)
  refused(s, "WOULD_RACE", "bind", x, outer)
  s:parallel(x)
  same(s, p)
end

-- A loop that comes into the kernel.
do
  local p = program(meets, 7)
  local s = ts.schedule(p)
  local x, k, y = loops(s)
  s:reorder(k, x)
  s:bind(x, "blockIdx.x")
  s:bind(y, "blockIdx.y")
  same(s, p)
  refused(s, "WOULD_RACE", "reorder", x, k)
end

-- Threads of other blocks, too: x * 5 + y distinguishes them, but not from one
-- iteration of k to the next.
do
  local b = ts.builder("main")
  local A, G = b:input("A", { 3, 4, 5 }), b:output("G", { 40 })
  b:loop("k", 0, 3, function(k)
    b:loop("x", 0, 4, function(x)
      b:loop("y", 0, 5, function(y)
        b:block("G", { { "vk", "opaque", extent = 3, bind = k },
                       { "vx", extent = 4, bind = x },
                       { "vy", extent = 5, bind = y } }, function(vk, vx, vy)
          b:store(G, { vx * 5 + vy + vk * 6 }, A(vk, vx, vy))
        end)
      end)
    end)
  end)
  local p = b:program()
  local s = ts.schedule(p)
  local k, x, y = loops(s)
  s:bind(s:add_unit_loop(k), "threadIdx.y")
  s:bind(x, "threadIdx.x")
  refused(s, "RACE", "bind", y, "blockIdx.x")
end

-- Through a block around: its iter k goes on between those of y.
for _, at in ipairs { meets, apart } do
  local p = program(at, 15)
  local s = ts.schedule(p)
  local x, _, y = loops(s)
  s:blockize(y)
  s:bind(x, "blockIdx.x")
  if at == meets then
    refused(s, "RACE", "bind", y, "blockIdx.y")
  else
    s:bind(y, "blockIdx.y")
    same(s, p)
  end
end

-- Threads that have no iteration do not read what decides the way of the
-- others, though names and loops stand between it and a thread's place.
local ways = {
  loop = function(b, v, body) b:loop("j", v, 1, body) end,
  name = function(b, v, body) b:let("l", v, body) end,
  both = function(b, v, body)
    b:loop("j", v, 1, function(j) b:let("l", j, body) end)
  end,
}
for _, way in pairs(ways) do
  local b = ts.builder "idle"
  local A = b:input("A", { 4 }, "int32")
  local C, D = b:output("C", { 8 }, "int32"), b:inout("D", { 4 }, "int32")
  b:loop("g", 0, 1, function()
    b:loop("t", 0, 8, function(t)
      b:block("C", { { "v", extent = 8, bind = t } }, function(v)
        b:store(C, { v }, ts.cast(v, "int32"))
      end)
    end)
    b:loop("t", 0, 4, function(t)
      b:block("D", { { "v", extent = 4, bind = t } }, function(v)
        way(b, v, function(j)
          b:when(ts.gt(A(j), 0), function() b:store(D, { v }, 7) end)
        end)
      end)
    end)
  end)
  checks.legal(b:program(), function(s)
    for _, name in ipairs { "C", "D" } do
      local g, t = s:get_loops(s:get_block(name))
      if name == "C" then s:bind(g, "blockIdx.x") end
      s:bind(t, "threadIdx.x")
    end
  end)
end

-- The old name of the first axis of virtual threads.
do
  local A = ts.placeholder("A", { 8 })
  local p = ts.program("old", { A }, {
    ts.compute("B", { 8 }, function(i) return A(i) + 1 end) })
  checks.legal(p, function(s)
    local i = s:get_loops(s:get_block "B")
    s:bind(i, "vthread")
    assert(tostring(s):find("vthread.x(8)", 1, true), tostring(s))
    local t = s:trace()
    assert(ts.trace.from_tvm_json(t:to_tvm_json(), p) == t)
  end)
end

-- Blocks of threads share a reduction by updates that are atomic, where there
-- are such of it.
do
  local atomics = dofile((arg[0]:gsub("[^/]*$", "../support/atomics.lua")))
  local function update(dtype, reduce)
    local p = atomics.rows(dtype, reduce)
    local s = ts.schedule(p)
    local block = s:get_block "S"
    s:decompose_reduction(block, (s:get_loops(block)))
    return s, p, s:get_loops(block)
  end
  for dtype, reduce in pairs { float32 = ts.reduce_max, int32 = ts.prod,
                               int8 = ts.sum, bfloat16 = ts.sum } do
    local s, _, _, k = update(dtype, reduce)
    refused(s, "GRID_UPDATE", "bind", k, "blockIdx.x")
    s:bind(k, "threadIdx.x")
  end
  local s, p, i, k = update("float32", ts.sum)
  local k0, k1 = s:split(k, { ts.auto, 5 })
  s:bind(k0, "blockIdx.x")
  refused(s, "GRID_UPDATE", "bind", k1, "threadIdx.x")
  s:reorder(k0, k1, i)
  s:vectorize((select(2, s:split(i, { ts.auto, 4 }))))
  same(s, p)
end

-- Grids of sizes that are known at the call: in the interpreter, in lockstep
-- where there are barriers, at each list of sizes.
local grids = dofile((arg[0]:gsub("[^/]*$", "../support/grids.lua")))
for _, g in pairs(grids.all) do
  local s, p = grids.scheduled(g)
  local lowered = ts.lower(s)
  checks.replays(s, p)
  assert(lowered:verify(), lowered)
  checks.exact_by_interpreter(s, p, grids.arguments(g))
  checks.exact_by_interpreter(lowered, p, grids.arguments(g))
end

-- The loop is one over blocks; threads are a constant number of them.
do
  local s = grids.scheduled(grids.all.line)
  local text = tostring(ts.lower(s))
  assert(text:find("for bx in blockIdx.x((n1 - 1) // 32 + 1)", 1, true), text)
  local n = ts.size "n"
  local A = ts.placeholder("A", { n })
  local p = ts.program("p", { A }, { ts.compute("B", { n }, function(i)
    return A(i) * 2
  end) })
  s = ts.schedule(p)
  local i = s:get_loops(s:get_block "B")
  for _, axis in ipairs { "threadIdx.x", "vthread" } do
    local why = refused(s, "THREADS_NOT_STATIC", "bind", i, axis)
    assert(why.message:find("bind the inner one", 1, true), why)
  end
  s:bind(i, "blockIdx.z")
  checks.replays(s, p)
end

-- Of two loops over blocks in a kernel the longer one tells how many there are;
-- what is outside of both is done also where both have no iteration.
do
  local n = ts.size "n"
  local b = ts.builder("both")
  local A, B = b:input("A", { n }), b:output("B", { n // 2 })
  local C, D = b:output("C", { n // 3 }), b:output("D", { 4 })
  local function fill(name, X, extent, t)
    b:loop(name, 0, extent, function(i)
      b:block(name, { { "vt", extent = 4, bind = t },
                      { "v" .. name, extent = extent, bind = i } },
              { where = ts.eq(t, i % 4) }, function(_, v)
        b:store(X, { v }, A(v) + 1)
      end)
    end)
  end
  b:loop("t", 0, 4, function(t)
    b:block("D", { { "vt", extent = 4, bind = t } }, function(vt)
      b:store(D, { vt }, 7)
    end)
    fill("b", B, n // 2, t)
    fill("c", C, n // 3, t)
  end)
  local p = b:program()
  local s = ts.schedule(p)
  local t, i = s:get_loops(s:get_block "b")
  local _, j = s:get_loops(s:get_block "c")
  s:bind(t, "threadIdx.x")
  s:bind(i, "blockIdx.x")
  s:bind(j, "blockIdx.x")
  local lowered, all = ts.lower(s), {}
  assert(lowered:verify(), lowered)
  for size = 1, 9 do
    all[size] = { ts.tensor("float32", { size }, "integers", 1),
                  ts.tensor("float32", { size // 2 }),
                  ts.tensor("float32", { size // 3 }),
                  ts.tensor("float32", { 4 }) }
  end
  checks.exact_by_interpreter(s, p, table.unpack(all))
  checks.exact_by_interpreter(lowered, p, table.unpack(all))
end

-- The default spaces bind them so, tiles of products included.
do
  local spaces, tiled = require "tessera.modules.spaces", 0
  local function draw(sketch, p, seed, all)
    local s = sketch:replay(p, { resample = true, seed = seed })
    local text = tostring(s)
    assert(text:find "blockIdx%.x%([^\n]*n%d" or not text:find "threadIdx",
           text)
    if text:find "threadIdx" and text:find "tiling_structure" then
      tiled = tiled + 1
      s:rewrite_cooperative_fetch()
    end
    checks.exact_by_interpreter(s, p, table.unpack(all))
    checks.exact_by_interpreter(ts.lower(s), p, table.unpack(all))
  end
  for _, g in pairs(grids.all) do
    local _, p = grids.scheduled(g)
    local all = { grids.arguments(g) }
    for _, target in ipairs { "opencl", "opencl -model=cpu" } do
      for k, sketch in ipairs(ts.space.sketches(spaces.default(target), p,
                                                target)) do
        draw(sketch, p, k, all)
        if target == "opencl" then draw(sketch, p, k + 1, all) end
      end
    end
  end
  assert(tiled > 0)
  -- Tensor cores say why they are not for them.
  local n, k = ts.size "n", ts.reduce_axis("k", 64)
  local A = ts.placeholder("A", { n, 64 }, "float16")
  local B = ts.placeholder("B", { 64, 64 }, "float16")
  local p = ts.program("half", { A, B }, { ts.compute("C", { n, 64 },
    function(i, j) return ts.sum(A(i, k) * B(k, j), k) end) })
  local text = ts.space.explain(spaces.default "cuda -arch=sm_80", p,
                                "cuda -arch=sm_80")
  assert(text:find "use_tensor_core at C: not applicable: .*loop i is not " and
         not text:find "failed:", text)
end
