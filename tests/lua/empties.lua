-- SPDX-License-Identifier: Apache-2.0
-- Loops of no iteration or of one: schedules of them are well-formed programs,
-- whatever the sizes of tiles.
local ts = require "tessera"
local ops = require "tessera.ops"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

local function builds(sch, p)
  checks.same(sch, p)
  assert(ts.build(sch, "llvm"))
end

-- A copy of what an empty loop accesses has no iteration either.
do
  local b = ts.builder("empty")
  local A, X = b:inout("A", { 5, 5 }), b:input("X", { 5 })
  b:loop("t", 0, 4, function(t)
    b:loop("i", 0, 0, function(i)
      b:block("w", {
        { "vt", extent = 5, bind = t },
        { "vi", extent = 5, bind = i },
      }, function(vt, vi) b:store(A, { vt, vi }, A(vt, vi) * 2 + X(vi)) end)
    end)
  end)
  local p = b:program()
  local sch = ts.schedule(p)
  sch:cache_read(sch:get_block("w"), "X", "local")
  builds(sch, p)
end

-- What is changed in place by none of the iterations of a block's loops.
do
  local b = ts.builder("skew")
  local A = b:inout("A", { 5, 5 })
  b:loop("t", 0, 9, function(t)
    b:loop("i", 0, 5, function(i)
      b:block("w", {
        { "vt", extent = 9, bind = t },
        { "vi", extent = 5, bind = i },
      }, { where = ts.le(i, t) }, function(vt, vi)
        local j = ts.max(ts.min(vt - vi, 4), 0)
        b:store(A, { vi, j }, A(vi, j) * 2 + A(ts.max(vi - 1, 0), j))
      end)
    end)
  end)
  local p = b:program()
  local sch = ts.schedule(p)
  local w = sch:get_block("w")
  local t, i = sch:get_loops(w)
  sch:loop_partition(i, { outer_loops = { t },
                          points = function(x) return x - 1 end })
  sch:loop_partition(t, { factors = { 1, ts.auto } })
  sch:fission((sch:get_loops(w)))
  sch:blockize((sch:get_loops(w)))
  sch:cache_inplace(w, 0, "global")
  builds(sch, p)
end

-- A sum of nothing, without its init, writes nothing that could be copied
-- back, although every instance that writes there has run.
do
  local b = ts.builder("sum")
  local X, Y = b:input("X", { 1, 1 }), b:output("Y", { 1 })
  b:loop("a", 0, 1, function(a)
    b:block("first", { { "va", extent = 1, bind = a } }, function(va)
      b:store(Y, { va }, 7)
    end)
  end)
  b:loop("i", 0, 1, function(i)
    b:loop("j", 0, i, function(j)
      b:block("sum", {
        { "vi", extent = 1, bind = i },
        { "vj", "reduce", extent = i, bind = j },
      }, function(vi, vj)
        b:init(function() b:store(Y, { vi }, 0) end)
        b:store(Y, { vi }, Y(vi) - X(vi, vj))
      end)
    end)
  end)
  local p = b:program()
  local sch = ts.schedule(p)
  local sum = sch:get_block("sum")
  sch:blockize((select(2, sch:get_loops(sum))), { preserve_unit_iters = false })
  checks.refused(sch, "INSTANCES_UNKNOWN", "reindex_cache_write", sum, 0,
                 "global", "(j) -> (0)")
  checks.refused(sch, "INSTANCES_UNKNOWN", "reindex", sum, { "write", 0 })
  builds(sch, p)
end

local function product(M, N, K)
  return ops.matmul { m = M, n = N, k = K }
end

-- As many loops of the init, whatever the tiles.
for _, extent in ipairs { 1, 4 } do
  local p = product(extent, 8, 4)
  for _, fi in ipairs { { 1, extent }, { extent, 1 } } do
    for _, fj in ipairs { { 8, 1 }, { 4, 2 }, { 1, 8 } } do
      local sch = ts.schedule(p)
      local c = sch:get_block("C")
      local i, j, k = sch:get_loops(c)
      local i0, i1 = sch:split(i, fi)
      local j0, j1 = sch:split(j, fj)
      sch:reorder(i0, j0, k, i1, j1)
      sch:fuse(i0, j0)
      local init = sch:decompose_reduction(c, k)
      assert(#{ sch:get_loops(init) } == 3)
      builds(sch, p)
    end
  end
end

-- So every sketch of a product of vectors can be replayed with other tiles.
for _, size in ipairs { { 1, 100, 50 }, { 100, 1, 50 }, { 10, 1, 50 },
                        { 1, 7, 13 }, { 12, 10, 1 } } do
  local p = product(table.unpack(size))
  local space = ts.space.default("llvm")
  for _, sketch in ipairs(ts.space.sketches(space, p, ts.target "llvm")) do
    for seed = 1, 20 do
      sketch:replay(p, { resample = true, seed = seed })
    end
  end
end

-- What is stored to by nothing but a loop that may be empty, and then is,
-- stays what it was.
do
  local b = ts.builder("perhaps")
  local O, X = b:inout("O", { 4 }), b:input("X", { 4 }, "int64")
  b:loop("v", 0, 4, function(v)
    b:loop("q", 0, 40, function(q)
      b:loop("j", 0, ts.max(ts.min(X(v), 3), 0), function(j)
        b:store(O, { v }, ts.cast(j + q, "float32"))
      end)
    end)
  end)
  local kernel = ts.build(b:program(), "llvm")
  local o = ts.tensor("float32", { 4 }, { 100, 101, 102, 103 })
  kernel(o, ts.tensor("int64", { 4 }, { 0, 2, 0, -1 }))
  for i, want in ipairs { 100, 40, 102, 103 } do
    assert(o:get(i - 1) == want, ("O[%d] is %g"):format(i - 1, o:get(i - 1)))
  end
end

-- In row 0 of a triangle nothing runs: a block made of that row alone reads
-- nothing of A, and the one in it does not read more.
do
  local b = ts.builder("rows")
  local A, y = b:input("A", { 3, 3 }), b:inout("y", { 3 })
  b:loop("i", 0, 3, function(i)
    b:loop("j", 0, i, function(j)
      b:block("y", { { "vi", "opaque", extent = 3, bind = i },
                     { "vj", "opaque", extent = 3, bind = j } },
        function(vi, vj)
          b:store(y, { vi }, y(vi) - y(vj) * A(vi, vj))
        end)
    end)
  end)
  local p = b:program()
  local sch = ts.schedule(p)
  local i, j = sch:get_loops(sch:get_block("y"))
  local row = sch:blockize(j)
  local first = sch:loop_partition(i, { 1, 1 })
  sch:blockize(first)
  builds(sch, p)
end

-- Statements in a loop of no iterations have no values at all.
do
  local p = checks.lu(1)
  checks.same(ts.schedule(p), p)
  local a = ts.tensor(p:params()[1].dtype, { 1, 1 }, "integers", 1)
  ts.build(p, "llvm")(a)
end

-- The last of the iterations that a pipeline takes apart has an empty loop,
-- which lies where it never lay before.
do
  local b = ts.builder("tail")
  local A = b:inout("A", { 3, 3 }, "int32")
  local function part(name, k, value)
    b:loop("i", k + 1, 2 - k, function(i)
      b:block(name, { { "vk", "opaque", extent = 3, bind = k },
                      { "vi", extent = 3, bind = i } }, value)
    end)
  end
  b:loop("k", 0, 3, function(k)
    part("one", k, function(vk, vi)
      b:store(A, { vi, vk }, A(vi, vk) - A(vk, vk))
    end)
    part("two", k, function(vk, vi) b:store(A, { vi, vi }, A(vi, vk)) end)
  end)
  checks.legal(b:program(), function(s)
    local k = s:get_loops(s:get_block "one")
    s:annotate(k, "software_pipeline_stage", { 1, 1 })
    s:annotate(k, "software_pipeline_order", { 0, 1 })
  end)
end

-- Nor do those in a block that never runs.
do
  local b = ts.builder "never"
  local A = b:inout("A", { 5 }, "int32")
  b:loop("i", 5, 0, function(i)
    b:block("w", { { "v", extent = 5, bind = i } }, function(v)
      b:store(A, { v }, A(v) * 2)
    end)
  end)
  local p = b:program()
  for _, inner in ipairs { false, true } do
    builds(checks.legal(p, function(s)
      local i_0, i_1 = s:split(s:get_loops(s:get_block "w"), { ts.auto, 2 })
      s:blockize(inner and i_1 or i_0)
    end), p)
  end
end
