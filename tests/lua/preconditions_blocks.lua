-- SPDX-License-Identifier: Apache-2.0
-- What primitives that move, take apart and mark blocks ask
-- (preconditions.lua).
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local stages = dofile((arg[0]:gsub("[^/]*$", "../support/stages.lua")))
local legal, illegal = checks.legal, checks.illegal
local P, Q, S, L = stages.product, stages.chain, stages.stencil, stages.loops

-- ---- compute_at ------------------------------------------------------------
legal(P, function(s) s:compute_at(s:get_block("C"), (L(s, "D"))) end)
illegal(P, "LOOP_AROUND_BLOCK", function(s)
  s:compute_at(s:get_block("C"), (L(s, "C")))
end)
illegal(P, "LOOP_NOT_AFTER", function(s)
  s:compute_at(s:get_block("D"), (L(s, "C")))
end)
illegal(Q, "CONSUMER_OUTSIDE", function(s)
  s:compute_at(s:get_block("B"), (L(s, "C")))
end)
illegal(P, "INDEX_INVALID", function(s)
  s:compute_at(s:get_block("C"), (L(s, "D")), { index = 5 })
end)
legal(P, function(s)
  s:compute_at(s:get_block("C"), (L(s, "D")), { index=-2 })
end)
legal(P, function(s) s:compute_at(s:get_block("C"), (L(s, "D"))) end)

-- ---- reverse_compute_at ----------------------------------------------------
legal(P, function(s)
  s:reverse_compute_at(s:get_block("D"), (select(2, L(s, "C"))))
end)
illegal(P, "PRODUCER_UNFINISHED", function(s)
  s:reverse_compute_at(s:get_block("D"), (select(3, L(s, "C"))))
end)
illegal(Q, "PRODUCER_BETWEEN", function(s)
  s:reverse_compute_at(s:get_block("D"), (L(s, "B")))
end)

-- ---- compute_inline --------------------------------------------------------
legal(Q, function(s) s:compute_inline(s:get_block("B")) end)
illegal(P, "BLOCK_REDUCES", function(s) s:compute_inline(s:get_block("C")) end)
illegal(P, "OUTPUT_BLOCK", function(s) s:compute_inline(s:get_block("D")) end)

-- ---- reverse_compute_inline ------------------------------------------------
illegal(P, "NOT_A_COPY", function(s)
  s:reverse_compute_inline(s:get_block("D"))
end)
illegal(P, "BLOCK_REDUCES", function(s)
  s:reverse_compute_inline(s:get_block("C"))
end)
legal(Q, function(s) s:reverse_compute_inline(s:get_block("D")) end)
illegal(S, "NOT_INVERTIBLE", function(s)
  s:reverse_compute_inline(s:get_block("C"))
end)

-- ---- decompose_reduction ---------------------------------------------------
illegal(P, "INIT_HEIGHT", function(s)
  local i, j, k = L(s, "C")
  s:reorder(k, i)
  s:decompose_reduction(s:get_block("C"), i)
end)
illegal(P, "LOOP_NOT_AROUND", function(s)
  s:decompose_reduction(s:get_block("C"), (L(s, "D")))
end)
illegal(P, "NO_INIT", function(s)
  s:decompose_reduction(s:get_block("D"), (L(s, "D")))
end)
-- A condition ties what is reduced over to a loop further out: in each of its
-- iterations the init would run again.
do
  local function tied(where)
    local b = ts.builder("tied")
    local A, C = b:input("A", { 2, 5 }), b:output("C", { 2 })
    b:loop("r", 0, 5, function(r)
      b:loop("f", 0, 10, function(f)
        b:block("C", { { "vi", extent = 2, bind = f // 5 },
                       { "vk", "reduce", extent = 5, bind = f % 5 } },
                { where = where(r, f) }, function(vi, vk)
          b:init(function() b:store(C, { vi }, 0) end)
          b:store(C, { vi }, C(vi) + A(vi, vk))
        end)
      end)
    end)
    return b:program()
  end
  local function inside(s)
    local _, f = L(s, "C")
    s:decompose_reduction(s:get_block("C"), f)
  end
  illegal(tied(function(r, f) return ts.eq(r, f % 5) end), "INIT_LATE", inside)
  illegal(tied(function(r, f) return ts.le(r, f % 5) end), "INIT_LATE", inside)
  legal(tied(function(r, f) return ts.le(f % 5, r) end), inside)
end
-- The fused loop starts in each of its iterations, for one result or another.
do
  local b = ts.builder("noted")
  local A, C = b:input("A", { 4, 3 }), b:output("C", { 4 })
  b:loop("i", 0, 4, function(i)
    b:loop("k", 0, 3, function(k)
      b:block("C", { { "vi", extent = 4, bind = i },
                     { "vk", "reduce", extent = 3, bind = k } },
              function(vi, vk)
        b:init(function()
          b:evaluate(ts.call_extern("note", "int32", vi))
          b:store(C, { vi }, 0)
        end)
        b:store(C, { vi }, C(vi) + A(vi, vk))
      end)
    end)
  end)
  local p = b:program()
  illegal(p, "INIT_EFFECTS", function(s)
    local ik = s:fuse(L(s, "C"))
    s:decompose_reduction(s:get_block("C"), ik)
  end)
  illegal(p, "INIT_EFFECTS", function(s)
    local _, k = L(s, "C")
    s:blockize((select(2, s:split(k, { ts.auto, 1 }))))
  end)
end

-- ---- rfactor ---------------------------------------------------------------
illegal(P, "LOOP_DRIVES_OTHERS", function(s) s:rfactor((L(s, "C")), 0) end)
illegal(P, "AXIS_OUTSIDE", function(s) s:rfactor((select(3, L(s, "C"))), 3) end)
legal(P, function(s) s:rfactor((select(3, L(s, "C"))), -3) end)
illegal(P, "AXIS_OUTSIDE", function(s)
  s:rfactor((select(3, L(s, "C"))), -4)
end)
illegal(P, "LOOP_NOT_SERIAL", function(s)
  local _, _, k = L(s, "C")
  s:unroll(k)
  s:rfactor(k, 0)
end)
illegal(P, "LOOP_DRIVES_OTHERS", function(s)
  local i, j, k = L(s, "C")
  local f = s:fuse(j, k)
  s:rfactor(f, 0)
end)

-- ---- blockize --------------------------------------------------------------
legal(P, function(s) s:blockize((select(2, L(s, "C")))) end)
illegal(P, "NOT_DIVISIBLE", function(s)
  local i, j, k = L(s, "C")
  local f = s:fuse(i, j)
  local a, b = s:split(f, { ts.auto, 36 })
  s:blockize(b)
end)
legal(Q, function(s)
  local m = s:merge((L(s, "B")), (L(s, "C")))
  s:blockize({ s:get_block("B"), s:get_block("C") })
end)
illegal(Q, "BLOCK_BETWEEN", function(s)
  s:blockize({ s:get_block("B"), s:get_block("D") })
end)

-- ---- tensorize -------------------------------------------------------------
illegal(P, "INTRIN_UNKNOWN", function(s)
  s:tensorize((select(2, L(s, "C"))), "no_such")
end)

-- ---- annotate --------------------------------------------------------------
illegal(P, "ANNOTATED", function(s)
  local i = L(s, "C")
  s:annotate(i, "x", 1)
  s:annotate(i, "x", 2)
end)
legal(P, function(s)
  local i = L(s, "C")
  s:annotate(i, "x", 1)
  s:annotate(i, "x", 1)
end)
illegal(P, "KEY_EMPTY", function(s) s:annotate(s:get_block("C"), "", 1) end)
illegal(P, "KEY_EMPTY", function(s) s:annotate(L(s, "C"), "", { 1, 2 }) end)

-- ---- unannotate ------------------------------------------------------------
illegal(P, "NOT_ANNOTATED", function(s)
  local i = L(s, "C")
  s:unannotate(i, "x")
end)

-- ---- pad_einsum ------------------------------------------------------------
illegal(P, "PADDING_COUNT", function(s)
  s:pad_einsum(s:get_block("C"), { 1, 2 })
end)
illegal(P, "FACTOR_NOT_POSITIVE", function(s)
  s:pad_einsum(s:get_block("C"), { 1, 2, 0 })
end)
legal(P, function(s) s:pad_einsum(s:get_block("C"), { 5, 7, 9 }) end)

-- ---- decompose_padding -----------------------------------------------------
illegal(P, "PADDING_PATTERN", function(s)
  s:decompose_padding(s:get_block("D"), (L(s, "D")))
end)

-- ---- rolling_buffer --------------------------------------------------------
illegal(S, "OUTPUT_BLOCK", function(s)
  s:rolling_buffer(s:get_block("C"), 0)
end)

-- What grows with each block that is inlined comes to an end: expressions
-- that are nested, regions of many indices, and a tree of sums.
for _, case in ipairs {
  { "DEPTH", "deeper than 4096", 64, 1, function(x, i)
    local e = x(i)
    for _ = 1, 300 do e = ts.sigmoid(e) end
    return e
  end },
  { "DEPTH", "deeper than 4096", 64, 1, function(x, i)
    return x(i) * x((i * 3 + 1) % 64) + x((i + 7) % 64)
  end },
  { "GROWTH", "more than 262144 expressions", 1 << 20, 2, function(x, i)
    return x(2 * i) + x(2 * i + 1)
  end },
} do
  local reason, text, n, by, body = table.unpack(case)
  local A = ts.placeholder("A", { n })
  local names, last = {}, A
  for k = 1, 20 do
    local from = last
    n = n // by
    names[k] = "B" .. k
    last = ts.compute(names[k], { n }, function(i) return body(from, i) end)
  end
  local s, k = ts.schedule(ts.program("chain", { A }, { last })), 1
  while pcall(s.compute_inline, s, s:get_block(names[k])) do k = k + 1 end
  local e = checks.refused(s, reason, "compute_inline", s:get_block(names[k]))
  assert(k > 5 and e.message:find(text, 1, true), e.message)
  assert(s:program():verify())
end
