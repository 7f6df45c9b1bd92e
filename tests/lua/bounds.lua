-- SPDX-License-Identifier: Apache-2.0
-- Loop bounds and predicates that load from memory which the nest changes:
-- their values are those at loop entry, whatever is done to the loops.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))

local N = 9

-- A program of E, which bounds read, and F and G, which they do not.
local function program(f)
  local b = ts.builder("bounds")
  local E, F = b:inout("E", { N }, "int32"), b:inout("F", { N, N }, "int32")
  local G = b:input("G", { N }, "int32")
  local function read(k, least, most)
    return ts.min(ts.max(ts.cast(E(k), "int64"), least), most)
  end
  -- A nest of two loops around a block C.
  local function nest(lo, n, lo2, n2, body, extra)
    b:loop("i", lo, n, function(i)
      b:loop("j", lo2, n2, function(j)
        b:block("C", { { "v", extent = N, bind = i },
                       { "w", extent = N, bind = j } }, extra or {}, body)
      end)
    end)
  end
  local function change(v, w)
    b:store(F, { v, w }, G(w) + 1)
    b:store(E, { v }, E(v) - 3)
  end
  f(b, { E = E, F = F, G = G, read = read, nest = nest, change = change })
  return b:program()
end

local function filled(seed)
  return { ts.tensor("int32", { N }, "integers", seed),
           ts.tensor("int32", { N, N }, "integers", seed + 1),
           ts.tensor("int32", { N }, "integers", seed + 2) }
end
local inputs = { filled(1), filled(5), filled(9) }
for k = 0, N - 1 do inputs[1][1]:set(k, 6 - k) inputs[2][1]:set(k, k) end

local inner = program(function(_, x)
  x.nest(0, 4, 0, x.read(0, 1, 6), x.change)
end)
local outer = program(function(_, x)
  x.nest(0, x.read(0, 1, 6), 0, 4, x.change)
end)
local start = program(function(_, x)
  x.nest(0, 4, x.read(0, 0, 3), 5, x.change)
end)
local where = program(function(_, x)
  x.nest(0, 4, 0, 5, x.change, { where = ts.lt(x.read(1, 0, 9), 5) })
end)
local sum = program(function(b, x)
  b:loop("i", 0, 4, function(i)
    b:loop("j", 0, x.read(0, 1, 6), function(j)
      b:block("C", { { "v", extent = N, bind = i },
                     { "w", "reduce", extent = N, bind = j } },
              function(v, w)
        b:init(function() b:store(x.E, { v }, 0) end)
        b:store(x.E, { v }, x.E(v) + x.G(w))
      end)
    end)
  end)
end)
-- Two blocks, one of which changes the bounds of the other.
local two = program(function(b, x)
  b:loop("i", 0, 4, function(i)
    b:loop("j", 0, x.read(0, 0, 5), function(j)
      b:block("C", { { "v", extent = N, bind = i },
                     { "w", extent = N, bind = j } },
              function(v, w) b:store(x.F, { v, w }, x.G(w) + 1) end)
    end)
    b:block("D", { { "v", extent = N, bind = i } },
            function(v) b:store(x.E, { v }, x.E(v) - 3) end)
  end)
end)
local beside = program(function(b, x)
  for _, name in ipairs { "C", "D" } do
    b:loop("i", 0, x.read(0, 1, 5), function(i)
      b:block(name, { { "v", extent = N, bind = i } }, function(v)
        b:store(name == "C" and x.E or x.F,
                name == "C" and { v } or { v, v }, x.G(v) + 1)
      end)
    end)
  end
end)

local function loops(s, name) return s:get_loops(s:get_block(name or "C")) end
local calls = {
  parallel = function(s) s:parallel((loops(s))) end,
  vectorize = function(s) s:vectorize((loops(s))) end,
  unroll = function(s) s:unroll((loops(s))) end,
  unroll_inner = function(s) s:unroll((select(2, loops(s)))) end,
  reorder = function(s)
    local i, j = loops(s)
    s:reorder(j, i)
  end,
  fuse = function(s) s:fuse(loops(s)) end,
  fission = function(s) s:fission((loops(s))) end,
  decompose = function(s)
    s:decompose_reduction(s:get_block "C", (loops(s)))
  end,
  merge = function(s) s:merge((loops(s)), (loops(s, "D"))) end,
  partition = function(s) s:loop_partition((loops(s)), { 2 }) end,
  blockize = function(s) s:blockize((loops(s))) end,
}

-- What is refused, and why; all others keep what is computed.
local refusals = {
  [inner] = { parallel = "RACE_OTHER", vectorize = "RACE_OTHER",
              reorder = "INPUT_OVERWRITTEN", fuse = "INPUT_OVERWRITTEN" },
  [outer] = { reorder = "INPUT_OVERWRITTEN" },
  [start] = { parallel = "RACE_OTHER", vectorize = "RACE_OTHER",
              reorder = "INPUT_OVERWRITTEN" },
  [where] = { parallel = "RACE_OTHER", vectorize = "RACE_OTHER",
              reorder = "INPUT_OVERWRITTEN" },
  [sum] = { parallel = "RACE_OTHER", vectorize = "RACE_OTHER",
            reorder = "INPUT_OVERWRITTEN", fuse = "INPUT_OVERWRITTEN",
            decompose = "INPUT_OVERWRITTEN" },
  [two] = { parallel = "RACE_OTHER", vectorize = "RACE_OTHER",
            fission = "OTHER_STATEMENT" },
  [beside] = { merge = "OTHER_STATEMENT" },
}

for p, refused in pairs(refusals) do
  checks.exact(ts.schedule(p), p, table.unpack(inputs))
  for name, call in pairs(calls) do
    local s = ts.schedule(p)
    local ok, e = pcall(call, s)
    if refused[name] then
      assert(not ok and e.reason == refused[name],
             ("%s of\n%s: %s"):format(name, s, e))
    elseif ok then
      checks.exact(s, p, table.unpack(inputs))
    end
  end
end

-- Bounds that each iteration makes for itself.
do
  local b = ts.builder("ragged")
  local A, B = b:input("A", { N }, "int32"), b:output("B", { N, N }, "int32")
  local T = b:buffer("T", { N }, "int32")
  b:loop("i", 0, N, function(i)
    b:block("T", { { "v", extent = N, bind = i } },
            function(v) b:store(T, { v }, A(v)) end)
    b:loop("k", 0, N, function(k)
      b:block("zero", { { "v", extent = N, bind = i },
                        { "w", extent = N, bind = k } },
              function(v, w) b:store(B, { v, w }, 0) end)
    end)
    b:loop("j", 0, ts.min(ts.max(ts.cast(T(i), "int64"), 0), N), function(j)
      b:block("C", { { "v", extent = N, bind = i },
                     { "w", extent = N, bind = j } },
              function(v, w) b:store(B, { v, w }, A(w)) end)
    end)
  end)
  local p = b:program()
  local s = ts.schedule(p)
  s:parallel((loops(s)))
  checks.exact(s, p, checks.arguments(p, "integers"))
end

-- A predicate that reads what the block changes is asked in each iteration,
-- whatever is around it; a loop that is cut in parts, where it was.
do
  local p = program(function(_, x)
    x.nest(0, 4, 0, 5, x.change, { where = ts.lt(x.read(1, 0, 9), 5) })
  end)
  local s = ts.schedule(p)
  local i, j = loops(s)
  local i0, i1 = s:split(i, { 2, 2 })
  s:blockize(i1)
  checks.exact(s, p, table.unpack(inputs))
  p = program(function(_, x) x.nest(0, x.read(0, 1, 6), 0, 4, x.change) end)
  s = ts.schedule(p)
  checks.refused(s, "INPUT_OVERWRITTEN", "loop_partition", (loops(s)), nil,
                 true, nil, "() -> (1)")
end

-- A bound is read whether what it bounds runs or not.
do
  local p = program(function(b, x)
    b:loop("i", 0, N, function(i)
      b:loop("j", 0, x.read(i, 0, N), function(j)
        b:block("C", { { "v", extent = N, bind = i },
                       { "w", extent = N, bind = j } },
                function(v, w) b:store(x.F, { v, w }, 1) end)
      end)
      b:block("D", { { "v", extent = N, bind = i } },
              function(v) b:store(x.E, { v }, x.E(v) + 3) end)
    end)
  end)
  local s = ts.schedule(p)
  local _, i = s:split((loops(s)), { 1, N })
  local outer = s:split(i, { 7, N })
  checks.refused(s, "RACE_OTHER", "vectorize", outer)
end

-- Threads find out for themselves where their loop starts, at any time; a
-- parallel loop is told.
do
  local p = program(function(b, x)
    b:loop("j", x.read(0, 0, 3), 5, function(j)
      b:block("C", { { "v", extent = N, bind = j } },
              function(v) b:store(x.E, { v }, x.E(v) - 3) end)
    end)
  end)
  local s = ts.schedule(p)
  checks.refused(s, "INPUT_OVERWRITTEN", "bind", (loops(s)), "threadIdx.x")
  s:parallel((loops(s)))
  checks.exact(s, p, table.unpack(inputs))
end

-- A block may name what its loops begin with.
do
  local b = ts.builder "named"
  local A, D = b:input("A", { N }, "int32"), b:output("D", { N }, "int32")
  b:loop("t", 0, N, function(t)
    b:block("D", { { "v", extent = N, bind = t } }, function(v)
      b:let("l", N - 1 - v, function(l)
        b:loop("j", l, 1, function(j) b:store(D, { v }, A(j)) end)
      end)
    end)
  end)
  checks.legal(b:program(), function(s)
    local outer, inner = s:split((loops(s, "D")), { ts.auto, 2 })
    s:parallel(outer)
    s:vectorize(inner)
  end)
end
