-- SPDX-License-Identifier: Apache-2.0
-- Programs of sizes that are known at the call, whose outer loops are blocks
-- of threads.  Each: `make` of the sizes, `schedule`, and lists of sizes: no
-- multiple of a block, one, and such that a grid has no block.
local ts = require "tessera"
local grids = { all = {} }
local all = grids.all

-- A loop in blocks of `threads`.
local function bind(sch, loop, threads, axis)
  local blocks, inner = sch:split(loop, { ts.auto, threads })
  sch:bind(blocks, "blockIdx." .. (axis or "x"))
  sch:bind(inner, "threadIdx." .. (axis or "x"))
end

all.line = {
  sizes = { { 1 }, { 5 }, { 32 }, { 33 }, { 100 } },
  make = function(n)
    local A = ts.placeholder("A", { n })
    return ts.program("line", { A }, {
      ts.compute("B", { n }, function(i) return A(i) * 2 + 1 end) })
  end,
  schedule = function(sch)
    bind(sch, (sch:get_loops(sch:get_block "B")), 32)
  end,
}

-- Of fewer than four elements there is no quarter, and no block.  No program
-- has a constant extent of 0, so tensors are made of their shapes.
all.quarter = {
  shapes = function(n) return { n }, { n // 4 } end,
  sizes = { { 1 }, { 3 }, { 4 }, { 39 }, { 64 } },
  make = function(n)
    local A = ts.placeholder("A", { n })
    return ts.program("quarter", { A }, {
      ts.compute("B", { n // 4 }, function(i) return A(i * 4) + 1 end) })
  end,
  schedule = function(sch)
    bind(sch, (sch:get_loops(sch:get_block "B")), 8)
  end,
}

local function plane(n, m)
  local A = ts.placeholder("A", { n, m })
  return ts.program("plane", { A }, {
    ts.compute("B", { n, m }, function(i, j) return A(i, j) - 1 end) })
end

all.plane = {
  sizes = { { 1, 1 }, { 9, 5 }, { 4, 8 }, { 7, 17 } }, make = plane,
  schedule = function(sch)
    local i, j = sch:get_loops(sch:get_block "B")
    local i0, i1 = sch:split(i, { ts.auto, 4 })
    local j0, j1 = sch:split(j, { ts.auto, 8 })
    sch:reorder(i0, j0, i1, j1)
    sch:bind(i0, "blockIdx.y")
    sch:bind(j0, "blockIdx.x")
    sch:bind(i1, "threadIdx.y")
    sch:bind(j1, "threadIdx.x")
  end,
}

all.fused = {
  sizes = { { 1, 1 }, { 9, 5 }, { 4, 8 } }, make = plane,
  schedule = function(sch)
    bind(sch, sch:fuse(sch:get_loops(sch:get_block "B")), 16)
  end,
}

-- A kernel for each stage, of which one has two loops over blocks.
all.stages = {
  sizes = { { 1, 1 }, { 6, 3 }, { 20, 9 } },
  make = function(n, m)
    local A, k = ts.placeholder("A", { n, m }), ts.reduce_axis("k", m)
    local B = ts.compute("B", { n, m }, function(i, j) return A(i, j) * 2 end)
    local S = ts.compute("S", { n }, function(i) return ts.sum(B(i, k), k) end)
    return ts.program("stages", { A }, {
      ts.compute("C", { n, m }, function(i, j) return B(i, j) - S(i) end) })
  end,
  schedule = function(sch)
    local i, j = sch:get_loops(sch:get_block "B")
    sch:bind(i, "blockIdx.y")
    bind(sch, j, 4)
    local rows, sum = sch:get_loops(sch:get_block "S")
    sch:bind(rows, "blockIdx.x")
    sch:bind(select(2, sch:split(sum, { ts.auto, 4 })), "threadIdx.x")
    bind(sch, sch:fuse(sch:get_loops(sch:get_block "C")), 8)
  end,
}

-- Tiles of 8 x 8 by as many threads, operands fetched together.
all.product = {
  sizes = { { 1, 1, 1 }, { 8, 16, 4 }, { 11, 9, 7 } },
  make = function(n, m, l)
    local A, B = ts.placeholder("A", { n, l }), ts.placeholder("B", { l, m })
    local k = ts.reduce_axis("k", l)
    return ts.program("product", { A, B }, {
      ts.compute("C", { n, m }, function(i, j)
        return ts.sum(A(i, k) * B(k, j), k)
      end) })
  end,
  schedule = function(sch)
    local c = sch:get_block "C"
    local i, j, k = sch:get_loops(c)
    local i0, i1 = sch:split(i, { ts.auto, 8 })
    local j0, j1 = sch:split(j, { ts.auto, 8 })
    local k0, k1 = sch:split(k, { ts.auto, 4 })
    sch:reorder(i0, j0, i1, j1, k0, k1)
    sch:bind(i0, "blockIdx.y")
    sch:bind(j0, "blockIdx.x")
    sch:bind(i1, "threadIdx.y")
    sch:bind(j1, "threadIdx.x")
    for operand = 0, 1 do
      local copy = sch:cache_read(c, operand, "shared")
      sch:compute_at(copy, k0)
      local loops = { sch:get_loops(copy) }
      local y, x = sch:split(sch:fuse(loops[#loops - 1], loops[#loops]),
                             { ts.auto, 8 })
      sch:bind(x, "threadIdx.x")
    end
  end,
}

-- Parts of a sum that blocks update together; all of it starts from 0.
all.parts = {
  dtype = "int32",
  sizes = { { 1, 1 }, { 5, 40 }, { 12, 16 } },
  make = function(n, m)
    local A, k = ts.placeholder("A", { n, m }, "int32"), ts.reduce_axis("k", m)
    return ts.program("parts", { A }, {
      ts.compute("S", { n }, function(i) return ts.sum(A(i, k), k) end) })
  end,
  schedule = function(sch)
    local s = sch:get_block "S"
    local i, k = sch:get_loops(s)
    local k0 = sch:split(k, { ts.auto, 16 })
    bind(sch, (sch:get_loops(sch:decompose_reduction(s, i))), 4)
    sch:reorder(k0, i)
    sch:bind(k0, "blockIdx.y")
    bind(sch, i, 4)
  end,
}

-- The program of the sizes n1, n2, .., scheduled; and it.
function grids.scheduled(g)
  local names = {}
  for i = 1, #g.sizes[1] do names[i] = ts.size("n" .. i) end
  local program = g.make(table.unpack(names))
  local sch = ts.schedule(program)
  g.schedule(sch)
  return sch, program
end

-- Lists of arguments, one for each list of sizes: inputs filled, and then the
-- result.
function grids.arguments(g)
  local lists = {}
  for k, sizes in ipairs(g.sizes) do
    local list, shapes = {}, {}
    if g.shapes then
      shapes = { g.shapes(table.unpack(sizes)) }
    else
      for i, x in ipairs(g.make(table.unpack(sizes)):params()) do
        shapes[i] = x.shape
      end
    end
    for i, shape in ipairs(shapes) do
      list[i] = ts.tensor(g.dtype or "float32", shape,
                          i < #shapes and "integers" or nil)
    end
    lists[k] = list
  end
  return table.unpack(lists)
end

-- These lists of sizes in the order in which the function takes them.
function grids.in_order(program, lists)
  local out = {}
  for k, list in ipairs(lists) do
    out[k] = {}
    for i in tostring(program):gmatch "%f[%w]n(%d): size" do
      table.insert(out[k], list[math.tointeger(i)])
    end
  end
  return out
end

return grids
