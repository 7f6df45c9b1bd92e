-- SPDX-License-Identifier: Apache-2.0
-- Blocks whose predicate is affine but not a box: moved, inlined and copied as
-- exactly the instances that run.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local legal, illegal, refused = checks.legal, checks.illegal, checks.refused

-- ---- a split reduction's partial results, which end early ------------------

local function sums(N, K, reduce)
  local A, k = ts.placeholder("A", { N, K }), ts.reduce_axis("k", K)
  local S = ts.compute("S", { N }, function(i) return reduce(A(i, k), k) end)
  local D = ts.compute("D", { N }, function(i) return S(i) * 2 end)
  return ts.program("sums", { A }, { D })
end

for _, reduce in ipairs { ts.sum, ts.reduce_max } do
  for _, N in ipairs { 12, 13 } do
    local p = sums(N, 50, reduce)
    for turn = 0, 1 do
      for part = 0, 1 do
        local function factored(s, tile)
          local b = s:get_block "S"
          local i, k = s:get_loops(b)
          local k0, k1 = s:split(k, { ts.auto, 8 })
          if turn == 1 then s:reorder(k1, k0) end
          local rf = s:rfactor(part == 0 and k0 or k1, 0)
          local at = (s:get_loops(b))
          if tile then at = s:split(at, { ts.auto, tile }) end
          return rf, at
        end
        legal(p, function(s) s:compute_at(factored(s)) end)
        legal(p, function(s) s:compute_at(factored(s, 4)) end)
        legal(p, function(s)
          local rf = factored(s)
          local _, k = s:get_loops(s:get_block "S")
          s:compute_at(rf, k)
        end)
        legal(p, function(s)
          local rf = factored(s)
          local i = s:split((s:get_loops(s:get_block "D")), { ts.auto, 4 })
          s:compute_at(s:get_block "S", i)
          s:compute_at(rf, i)
        end)
      end
    end
  end
end

do -- however many rows there are
  local n = ts.size("n")
  local A, k = ts.placeholder("A", { n, 50 }), ts.reduce_axis("k", 50)
  local S = ts.compute("S", { n }, function(i) return ts.sum(A(i, k), k) end)
  local p = ts.program("rows", { A }, { S })
  local s = ts.schedule(p)
  local b = s:get_block "S"
  local _, whole = s:get_loops(b)
  local _, k1 = s:split(whole, { ts.auto, 8 })
  s:compute_at(s:rfactor(k1, 0), (s:get_loops(b)))
  checks.replays(s, p)
  for _, size in ipairs { 1, 3, 8 } do
    checks.exact(s, p, { ts.tensor("float32", { size, 50 }, "integers", 1),
                         ts.tensor("float32", { size }) })
  end
end

-- Two counts that end early, one of which makes an iter.
legal(sums(13, 50, ts.sum), function(s)
  local b = s:get_block "S"
  local i, k = s:get_loops(b)
  local i0, i1 = s:split(i, { ts.auto, 4 })
  local k0, k1, k2 = s:split(k, { ts.auto, 4, 2 })
  s:reorder(i0, i1, k1, k2, k0)
  local rf = s:rfactor(k1, 0)
  s:compute_at(rf, (s:get_loops(b)))
end)

do -- arg-max
  local argmax = ts.reducer(function(at, best, nat, new)
    local keep = ts.any(ts.gt(best, new),
                        ts.all(ts.eq(best, new), ts.lt(at, nat)))
    return ts.select(keep, at, nat), ts.max(best, new)
  end, { -1, -math.huge }, "arg_max")
  local A, k = ts.placeholder("A", { 5, 37 }), ts.reduce_axis("k", 37)
  local at, best = ts.compute("M", { 5 }, function(i)
    return argmax(ts.cast(k, "int64"), A(i, k), k)
  end)
  legal(ts.program("argmax", { A }, { at, best }), function(s)
    local b = s:get_block "M"
    local i, k = s:get_loops(b)
    local k0, k1 = s:split(k, { ts.auto, 8 })
    s:compute_at(s:rfactor(k1, 1), (s:get_loops(b)))
  end)
end

-- ---- a producer and a consumer that both end early -------------------------

-- made, used: how many of the 64 instances run; deep: each three times, but
-- for the last ones.
local function pair(made, used, deep)
  local b = ts.builder("pair")
  local X, T, Y = b:input("X", { 64 }), b:buffer("T", { 8, 8 }),
                  b:output("Y", { 8, 8 })
  local function point(name, i, j, at, n, f)
    b:block(name, { { "vi", extent = 8, bind = i },
                    { "vj", extent = 8, bind = j } },
            { where = ts.lt(at, n) }, f)
  end
  local function nest(name, n, f)
    b:loop("i", 0, 8, function(i)
      b:loop("j", 0, 8, function(j)
        if not deep then return point(name, i, j, i * 8 + j, n, f) end
        b:loop("r", 0, 3, function(r)
          point(name, i, j, i * 8 + j + r, n, f)
        end)
      end)
    end)
  end
  nest("t", made, function(i, j) b:store(T, { i, j }, X(i * 8 + j) * 2) end)
  nest("y", used, function(i, j) b:store(Y, { i, j }, T(i, j) + 1) end)
  return b:program()
end

for _, n in ipairs { { 50, 50 }, { 50, 31 } } do
  local p = pair(n[1], n[2])
  for depth = 1, 2 do
    local function at(s, name)
      return (select(depth, s:get_loops(s:get_block(name))))
    end
    legal(p, function(s) s:compute_at(s:get_block "t", at(s, "y")) end)
    legal(p, function(s) s:reverse_compute_at(s:get_block "y", at(s, "t")) end)
  end
  legal(p, function(s)
    local i = s:get_loops(s:get_block "t")
    s:reverse_compute_at(s:get_block "y", (s:split(i, { ts.auto, 3 })))
  end)
  local s = legal(p, function(s) s:reverse_compute_inline(s:get_block "y") end)
  local guard = "where i * 8 + j < " .. n[2]
  assert(tostring(s):find(guard, 1, true), tostring(s))
  assert(not tostring(s):find("&&", 1, true), tostring(s))
end

-- Where the guard asks of a loop that no iter follows, it is not known which
-- instances there were.
illegal(pair(50, 50, true), "INSTANCES_UNKNOWN", function(s)
  s:compute_at(s:get_block "t", (s:get_loops(s:get_block "y")))
end)

-- ---- triangles -------------------------------------------------------------

local N = 11
local function nest(b, bounds, name, kind, f)
  b:loop("i", 0, N, function(i)
    b:loop("j", 0, bounds and i + 1 or N, function(j)
      b:block(name, { { "vi", extent = N, bind = i },
                      { "vj", kind, extent = N, bind = j } },
              { where = not bounds and ts.le(j, i) or nil }, f)
    end)
  end)
end

for _, bounds in ipairs { false, true } do
  local b = ts.builder("triangles")
  local A, T, C = b:input("A", { N, N }), b:buffer("T", { N, N }),
                  b:output("C", { N, N })
  nest(b, bounds, "t", "spatial",
       function(i, j) b:store(T, { i, j }, A(i, j) * 2) end)
  nest(b, bounds, "c", "spatial",
       function(i, j) b:store(C, { j, i }, T(i, j) + 1) end)
  local p = b:program()
  local s = legal(p, function(s) s:reverse_compute_inline(s:get_block "c") end)
  local _, n = tostring(s):gsub("where", "")
  assert(n == (bounds and 0 or 1), tostring(s))
  -- No box is written.
  for _, f in ipairs { { "REGION_NOT_WHOLE", "cache_write", 0, "local" },
                       { "INSTANCES_UNKNOWN", "reindex", { "write", 0 } } } do
    illegal(p, f[1], function(s)
      s[f[2]](s, s:get_block "t", table.unpack(f, 3))
    end)
  end
end

-- Each row's sum is made, whatever the rows' lengths.  from: the first row; the
-- rows have from elements less.
local function rows(bounds, from)
  local b = ts.builder("rows")
  local A, S, D = b:input("A", { N, N }), b:buffer("S", { N }),
                  b:output("D", { N })
  b:loop("i", 0, N, function(i)
    b:loop("k", 0, bounds and i + 1 - from or N, function(k)
      b:block("S", { { "vi", extent = N, bind = i },
                     { "vk", "reduce", extent = N, bind = k } },
              { where = not bounds and ts.le(k + from, i) or nil },
              function(i, k)
        b:init(function() b:store(S, { i }, 0) end)
        b:store(S, { i }, S(i) + A(i, k))
      end)
    end)
  end)
  b:loop("i", from, N - from, function(i)
    b:block("D", { { "vi", extent = N, bind = i } },
            function(i) b:store(D, { i }, S(i) * 2) end)
  end)
  return b:program()
end

for _, bounds in ipairs { false, true } do
  local p = rows(bounds, 0)
  legal(p, function(s)
    local b = s:get_block "S"
    local c = s:cache_write(b, 0, "local")
    s:reverse_compute_at(c, (s:get_loops(b)))
  end)
  legal(p, function(s)
    local b = s:get_block "S"
    s:write_at((s:get_loops(b)), b, 0, "local")
  end)
  legal(p, function(s)
    local b = s:get_block "S"
    local i = s:split((s:get_loops(b)), { ts.auto, 3 })
    s:write_at(i, b, 0, "local")
  end)
  legal(p, function(s)
    local b = s:get_block "S"
    s:reindex(b, { "write", 0 })
    s:reindex(b, { "read", 0 })
  end)
  -- The first row is not made.
  p = rows(bounds, 1)
  illegal(p, "REGION_NOT_WHOLE", function(s)
    s:cache_write(s:get_block "S", 0, "local")
  end)
  illegal(p, "INSTANCES_UNKNOWN", function(s)
    s:reindex(s:get_block "S", { "write", 0 })
  end)
  illegal(p, "REGION_NOT_WHOLE", function(s)
    local b = s:get_block "S"
    s:write_at((s:get_loops(b)), b, 0, "local")
  end)
end

-- ---- messages of refusals --------------------------------------------------

-- Of many loops those in which two iterations differ, whichever they are.
do
  local b = ts.builder("deep")
  local A = b:inout("A", { 8, 2, 2, 2, 2, 2, 2, 2 })
  local function deeper(at, iters)
    if #at == 8 then
      b:block("x", iters, function(v, ...)
        b:store(A, { v, ... }, A(v - 1, ...) + 1)
      end)
      return
    end
    local first = #at == 0
    local name = string.char(("p"):byte() + #at)
    b:loop(name, first and 1 or 0, first and 7 or 2, function(i)
      local more, all = { table.unpack(at) }, { table.unpack(iters) }
      more[#more + 1] = i
      all[#all + 1] = { "v" .. name, extent = first and 8 or 2, bind = i }
      deeper(more, all)
    end)
  end
  deeper({}, {})
  local s = ts.schedule(b:program())
  local e = refused(s, "RACE", "parallel", (s:get_loops(s:get_block "x")))
  local a, c = e.message:match("%(p = (%d), [^()]*%) and %(p = (%d), [^()]*%)")
  assert(a and a ~= c, e.message)
end

-- ---- iters of one value, which most iterations miss ------------------------

-- X and Y run where k is 1; only v determines where X writes.
do
  local b = ts.builder("once")
  local A, D = b:input("A", { 4 }), b:output("D", { 4 })
  local C = b:buffer("C", { 4 })
  b:loop("i", 0, 4, function(i)
    b:loop("k", 0, 3, function(k)
      local iters = { { "v", extent = 4, bind = i },
                      { "u", lo = 1, extent = 1, bind = k } }
      local once = { where = ts.all(ts.le(1, k), ts.lt(k, 2)) }
      b:block("X", iters, once, function(v) b:store(C, { v }, A(v)) end)
      b:block("Y", iters, once, function(v) b:store(D, { v }, C(v)) end)
    end)
  end)
  local p = b:program()
  illegal(p, "INSTANCES_UNKNOWN", function(s)
    s:reindex(s:get_block "X", { "write", 0 })
  end)
  illegal(p, "INSTANCES_UNKNOWN", function(s)
    s:reindex_cache_write(s:get_block "X", 0, "global",
                          function(v, u) return v end)
  end)
  -- Behind all of k's iterations each element has been made.
  legal(p, function(s) s:reindex(s:get_block "Y", { "write", 0 }) end)
end
