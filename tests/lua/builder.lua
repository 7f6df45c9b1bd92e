-- SPDX-License-Identifier: Apache-2.0
-- Imperative programs of loops, blocks and stores: their results, what a
-- builder refuses, and what it proves.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local fails = checks.fails

-- In place, triangular and ordered: the Cholesky factor of A, by columns.
do
  local N = 6
  local b = ts.builder("cholesky")
  local A = b:inout("A", { N, N }, "float64")
  local once = { lo = 0, extent = N }
  local function iter(name, bind)
    return { name, "opaque", lo = once.lo, extent = once.extent, bind = bind }
  end
  b:loop("j", 0, N, function(j)
    b:loop("k", 0, j, function(k)
      b:loop("i", j, N - j, function(i)
        b:block("update", { iter("vi", i), iter("vj", j), iter("vk", k) },
                function(vi, vj, vk)
          b:store(A, { vi, vj }, A(vi, vj) - A(vi, vk) * A(vj, vk))
        end)
      end)
    end)
    b:block("root_of", { iter("vj", j) }, function(vj)
      b:store(A, { vj, vj }, ts.sqrt(A(vj, vj)))
    end)
    b:loop("i", j + 1, N - j - 1, function(i)
      b:block("scale", { iter("vi", i), iter("vj", j) }, function(vi, vj)
        b:store(A, { vi, vj }, A(vi, vj) / A(vj, vj))
      end)
    end)
  end)
  local p = b:program()
  assert(p:verify())
  -- A = L * L^T with a known L.
  local L, rows = {}, {}
  for i = 1, N do
    L[i] = {}
    for j = 1, N do L[i][j] = i > j and 1 / (i + j) or i == j and i or 0 end
  end
  for i = 1, N do
    rows[i] = {}
    for j = 1, N do
      local sum = 0
      for k = 1, N do sum = sum + L[i][k] * L[j][k] end
      rows[i][j] = sum
    end
  end
  for _, run in ipairs { function(t) ts.interpret(p, { t }) end,
                         function(t) ts.build(p)(t) end } do
    local t = ts.tensor("float64", rows)
    run(t)
    for i = 1, N do
      for j = 1, i do
        assert(math.abs(t:get(i - 1, j - 1) - L[i][j]) <= 1e-5)
      end
    end
  end
  -- It is scheduled like any other: what is independent may run in parallel,
  -- and what is not is refused.
  local sch = ts.schedule(p)
  local j = sch:get_loops(sch:get_block("root_of"))
  checks.refused(sch, "ITER_NOT_SPATIAL", "parallel", j)
end

-- The rest of the builder: outputs, local buffers, let, when, init.
do
  local N = 8
  local b = ts.builder("pieces")
  local A, S = b:input("A", { N }), b:output("S", { 1 })
  local T = b:buffer("T", { N }, "float32")
  b:loop("i", 0, N, function(i)
    b:block("twice", { { "vi", extent = N, bind = i } }, function(vi)
      b:let("x", A(vi) * 2, function(x)
        b:when(ts.lt(vi, 4), function() b:store(T, { vi }, x) end,
               function() b:store(T, { vi }, -x) end)
      end)
    end)
  end)
  b:loop("k", 0, N, function(k)
    b:block("total", { { "vk", "reduce", extent = N, bind = k } }, function(vk)
      b:init(function() b:store(S, { 0 }, 0) end)
      b:store(S, { 0 }, S(0) + T(vk))
    end)
  end)
  local p = b:program()
  assert(p:verify())
  local a = ts.tensor("float32", { N }, { 1, 2, 3, 4, 5, 6, 7, 8 })
  local s, u = ts.tensor("float32", { 1 }), ts.tensor("float32", { 1 })
  ts.interpret(p, { a, s })
  ts.build(p)(a, u)
  assert(s:get(0) == 2 * (10 - 26) and u:get(0) == s:get(0))
end

-- The values of a block's variables are proven to lie in their domains, from
-- the loops, conditions and predicates around; what is not is refused.
do
  local n = ts.size "n"
  -- One block whose variable has the domain [lo, lo + extent).
  local function program(o)
    local b = ts.builder "bound"
    local N = b:input("N", { 2 }, "int64")
    local A = b:output("A", { o.sized and n or 8 })
    if o.sized then b:input("S", { n }) end
    local function block(i, j)
      local v = { "v", lo = o.lo, extent = o.extent, bind = o.bind(i, j, N) }
      b:block("o", { v },
              { where = o.where and o.where(i, j, N) }, function(v)
        b:store(A, { v }, 1)
      end)
    end
    b:loop("i", o.from or 0, o.to, function(i)
      b:loop("j", 0, o.inner and o.inner(i, N) or 1, function(j)
        if o.when then
          b:when(o.when(i, j), function() block(i, j) end,
                 o.other and function() block(i, j) end)
        else
          block(i, j)
        end
      end)
    end)
    return b:program()
  end
  local function first(i) return i end
  local function second(_, j) return j end
  local function sum(i, j) return i + j end
  for k, o in ipairs {
    { to = 8, extent = 8, bind = first },
    { to = 4, extent = 8, bind = first },
    { to = 4, from = 4, lo = 4, extent = 4, bind = first },
    { to = 8, extent = 4, bind = function(i) return i // 2 end },
    { to = 100, extent = 8, bind = first,
      where = function(i) return ts.lt(i, 8) end },
    { to = 100, extent = 8, bind = first,
      when = function(i) return ts.lt(i, 8) end },
    { to = 12, extent = 8, bind = function(i) return i - 4 end,
      where = function(i) return ts.all(ts.ge(i, 4), ts.lt(i, 12)) end },
    { to = 3, inner = function() return 3 end, extent = 8,
      bind = function(i, j) return i * 3 + j end,
      where = function(i, j) return ts.lt(i * 3 + j, 8) end },
    { to = 8, inner = function(i) return 8 - i end, extent = 8, bind = sum },
    { to = 8, inner = function(i) return i end, extent = 8, bind = second },
    { to = 4, inner = function(_, N) return N(0) end, extent = 8, bind = sum,
      where = function(i, j) return ts.lt(i + j, 8) end },
    { sized = true, to = n, extent = n, bind = first },
    { sized = true, to = n, inner = function(i) return n - i - 1 end,
      extent = n, bind = function(i, j) return i + j + 1 end },
    { sized = true, to = n, inner = function(i) return i + 1 end, extent = n,
      bind = second },
  } do
    local ok, p = pcall(program, o)
    assert(ok, ("case %d: %s"):format(k, tostring(p)))
    assert(p:verify())
  end
  for _, o in ipairs {
    { "the value of 'v' of block 'o', `i`, which is in [0, 7], is not " ..
      "proven to lie in its domain [0, 4)", to = 8, extent = 4, bind = first },
    { "`i * 2`, which is in [0, 14]", to = 8, extent = 8,
      bind = function(i) return i * 2 end },
    { "`i - 4`, which is in [-4, 3]", to = 8, extent = 8,
      bind = function(i) return i - 4 end },
    { "its domain [4, 8)", to = 4, lo = 4, extent = 4, bind = first },
    { "not proven", to = 8, extent = 4, bind = first,
      where = function(i) return ts.lt(i, 5) end },
    { "not proven", to = 8, extent = 4, bind = first, other = true,
      when = function(i) return ts.lt(i, 4) end },
    { "not proven", to = 8, extent = 4, bind = first,
      where = function(_, _, N) return ts.lt(N(0), 4) end },
    { "`j`, is not proven", to = 4, inner = function(_, N) return N(0) end,
      extent = 8, bind = second },
    { "its domain [0, n)", sized = true, to = n, extent = n, bind = sum,
      inner = function(i) return i + 1 end },
    { "the value of 'v' of block 'o' reads buffer 'N'", to = 8, extent = 8,
      bind = function(_, _, N) return N(0) end },
  } do
    fails("INVALID", o[1], program, o)
  end
  local b = ts.builder "late"
  local N = b:input("N", { 1 }, "int64")
  fails(nil, "the extent of 'v' of block 'o' reads buffer 'N'", b.block, b, "o",
        { { "v", extent = N(0), bind = 0 } }, function() end)
end

-- A call for what it does stays, whatever it is near, and is made as often.
do
  local function program(times)
    local b = ts.builder("effects")
    local A, B = b:input("A", { 4 }), b:output("B", { 4 })
    local unused = b:buffer("unused", { 4 })
    b:evaluate(ts.call_extern("begin", "int32"))
    b:loop("i", 0, 4, function(i)
      b:block("tells", { { "vi", "opaque", extent = 4, bind = i } },
        function(v) b:evaluate(ts.call_extern("note", "int32", v)) end)
    end)
    b:loop("i", 0, 4, function(i)
      b:loop("r", 0, times, function(r)
        b:block("both", { { "vi", extent = 4, bind = i } }, function(v)
          b:evaluate(ts.call_extern("note", "int32", A(v)))
          b:store(unused, { v }, A(v))
        end)
      end)
    end)
    b:loop("i", 0, 4, function(i)
      b:block("B", { { "vi", extent = 4, bind = i } }, function(v)
        b:store(B, { v }, A(v))
      end)
    end)
    return b:program()
  end
  local p = program(2)
  local text = tostring(p)
  for _, what in ipairs { "block tells", "block both", 'extern "begin"' } do
    assert(text:find(what, 1, true), text)
  end
  local s = ts.schedule(p)
  s:split(s:get_loops(s:get_block "both"), { 2, 2 })
  s:vectorize((s:get_loops(s:get_block "B")))
  assert(ts.equivalent(s, p))
  local ok, why = ts.equivalent(p, program(3))
  assert(not ok and tostring(why):find "another number of times", why)
end

-- Where a loop starts is read once, whatever a function that is called in it
-- does to the memory that it was read from.
do
  local function lowered(body)
    local b = ts.builder("started")
    local E, O = b:input("E", { 1 }, "int64"), b:output("O", { 8 }, "int64")
    b:loop("j", ts.max(ts.min(E(0), 4), 0), 4, function(j)
      body(b, j)
      b:store(O, { j }, j)
    end)
    return tostring(ts.lower(b:program()))
  end
  local told = lowered(function(b, j)
    b:evaluate(ts.call_extern("note", "int32", j))
  end)
  assert(told:find("let j_start: int64 = max(min(E[0], 4), 0)", 1, true), told)
  assert(told:find("for j in range(j_start, extent=4)", 1, true), told)
  local plain = lowered(function() end)
  assert(not plain:find("j_start", 1, true), plain)
end

-- A sum that reports each term keeps their order; nothing else depends on it.
do
  local b = ts.builder("tells")
  local A, C = b:input("A", { 4, 8 }), b:output("C", { 4 })
  b:loop("i", 0, 4, function(i)
    b:loop("k", 0, 8, function(k)
      b:block("C", { { "vi", extent = 4, bind = i },
                     { "vk", "reduce", extent = 8, bind = k } },
              function(vi, vk)
        b:init(function() b:store(C, { vi }, 0) end)
        b:evaluate(ts.call_extern("note", "int32", vi, vk))
        b:store(C, { vi }, C(vi) + A(vi, vk))
      end)
    end)
  end)
  local s = ts.schedule(b:program())
  local i, k = s:get_loops(s:get_block "C")
  local k0, k1 = s:split(k, { 2, 4 })
  fails("REFUSED", "ordered iters of block \"C\"", s.reorder, s, k1, k0)
  s:reorder(k0, k1, i)
  s:decompose_reduction(s:get_block "C", k0)
end

-- Rows of a sparse matrix: what int32 tensors hold bounds loops and indexes,
-- in loads and stores.
do
  local b = ts.builder("sparse")
  local P, J = b:input("P", { 5 }, "int32"), b:input("J", { 6 }, "int32")
  local V, X = b:input("V", { 6 }), b:input("X", { 8 })
  local T, Y = b:input("T", { 4 }, "uint8"), b:inout("Y", { 4 })
  b:loop("i", 0, 4, function(i)
    b:loop("k", P(i), P(i + 1) - P(i), function(k)
      b:store(Y, { T(i) }, Y(T(i)) + V(k) * X(J(k)))
    end)
  end)
  local p = b:program()
  local args = {
    ts.tensor("int32", { 5 }, { 0, 2, 2, 5, 6 }),
    ts.tensor("int32", { 6 }, { 7, 0, 1, 1, 2, 3 }),
    ts.tensor("float32", { 6 }, { 1, 2, 3, 4, 5, 6 }),
    ts.tensor("float32", { 8 }, { 1, 10, 100, 1000, 0, 0, 0, 5 }),
    ts.tensor("uint8", { 4 }, { 3, 2, 1, 0 }),
  }
  local want = { [0] = 6000, 570, 0, 7 }
  for _, run in ipairs { ts.build(p, "llvm"),
                         function(...) ts.interpret(p, { ... }) end } do
    args[6] = ts.tensor("float32", { 4 })
    run(table.unpack(args))
    for i = 0, 3 do assert(args[6]:get(i) == want[i], args[6]) end
  end
end

-- What a program leaves out since no output needs it is told.
do
  local told = {}
  ts.on_warning(function(text) told[#told + 1] = text end)
  local b = ts.builder "partly"
  local X, T = b:input("X", { 4 }), b:buffer("T", { 4 })
  local Y = b:output("Y", { 4 })
  for name, to in pairs { unused = T, used = Y } do
    b:loop("i", 0, 4, function(i)
      b:block(name, { { "v", extent = 4, bind = i } }, function(v)
        b:store(to, { v }, X(v))
      end)
    end)
  end
  b:program()
  ts.on_warning(nil)
  assert(#told == 1 and told[1]:find(
           "program 'partly': block 'unused' is left out, since no output " ..
           "needs it", 1, true), told[1])
end

-- The role of an input: the default, or one whose layout is free.
do
  local b = ts.builder "weigh"
  local W = b:input("W", { 4, 8 }, { role = "layout_free" })
  local X, Y = b:input("X", { 4 }, "float32", { role = "input" }),
               b:output("Y", { 8 })
  b:loop("i", 0, 8, function(i) b:loop("k", 0, 4, function(k)
    b:block("y", { { "vi", extent = 8, bind = i },
                   { "vk", "reduce", extent = 4, bind = k } },
            function(vi, vk)
      b:init(function() b:store(Y, { vi }, 0) end)
      b:store(Y, { vi }, Y(vi) + W(vk, vi) * X(vk))
    end)
  end) end)
  local p = b:program()
  assert(tostring(p):find("W: layout_free float32[4, 8], X: float32[4]", 1,
                          true))
  local sch = ts.schedule(p)
  sch:transform_layout(sch:get_block "y", { "read", 0 }, "(i, j) -> (j, i)")
  assert(ts.equivalent(sch:program(), p))
  b = ts.builder "wrong"
  for _, role in ipairs { "output", "constant", "x", 3 } do
    local ok, e = pcall(b.input, b, "A", { 4 }, { role = role })
    assert(not ok and tostring(e):find("its role must be", 1, true), e)
  end
end
