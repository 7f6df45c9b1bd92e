-- SPDX-License-Identifier: Apache-2.0
-- Placement of barriers between the threads of a block, and interleaving of
-- virtual threads.
local ts = require "tessera"

local function count(text, what)
  return select(2, text:gsub(what, ""))
end

-- A loop that may not run keeps what was waiting before it: `D1` reads what
-- other threads wrote in `S1`, and in the first block of threads no barrier of
-- the loop's is met.
do
  local b = ts.builder "skipped"
  local A = b:input("A", { 4, 8 }, "int32")
  local C = b:inout("C", { 4, 8 }, "int32")
  local D = b:output("D", { 4, 8 }, "int32")
  local S = b:buffer("S", { 4, 8 }, "int32", "shared")
  local R = b:buffer("R", { 4, 4, 8 }, "int32", "shared")
  local function iter(name, n, x, kind)
    return { name, kind or "spatial", extent = n, bind = x }
  end
  b:loop("b", 0, 4, function(q)
    b:loop("x", 0, 8, function(x)
      b:block("S1", { iter("vb", 4, q), iter("vx", 8, x) }, function(vb, vx)
        b:store(S, { vb, vx }, A(vb, vx))
      end)
    end)
    b:loop("t", 0, q, function(t)
      b:loop("x", 0, 8, function(x)
        b:block("R1", { iter("vb", 4, q), iter("vt", 4, t), iter("vx", 8, x) },
                function(vb, vt, vx) b:store(R, { vb, vt, vx }, A(vt, vx)) end)
      end)
      b:loop("x", 0, 8, function(x)
        b:block("C1", { iter("vb", 4, q), iter("vt", 4, t, "opaque"),
                        iter("vx", 8, x) }, function(vb, vt, vx)
          b:store(C, { vb, vx }, C(vb, vx) + R(vb, vt, 7 - vx))
        end)
      end)
    end)
    b:loop("x", 0, 8, function(x)
      b:block("D1", { iter("vb", 4, q), iter("vx", 8, x) }, function(vb, vx)
        b:store(D, { vb, vx }, S(vb, 7 - vx))
      end)
    end)
  end)
  local p = b:program()
  local s = ts.schedule(p)
  s:bind((s:get_loops(s:get_block "S1")), "blockIdx.x")
  for _, name in ipairs { "S1", "R1", "C1", "D1" } do
    local loops = { s:get_loops(s:get_block(name)) }
    s:bind(loops[#loops], "threadIdx.x")
  end
  local kernel = ts.lower(s)
  assert(ts.equivalent(kernel, p))
  assert(count(tostring(kernel), "barrier") == 3, tostring(kernel))
end

-- All that is in a loop over virtual threads differs from one to the next.
-- They are interleaved at each statement of the threads all the same, so that
-- threads wait once for all of them, and not once for each.
do
  local b = ts.builder "turns"
  local A = b:input("A", { 2, 4, 4, 8 }, "int32")
  local C = b:inout("C", { 2, 4, 8 }, "int32")
  local S = b:buffer("S", { 2, 4, 4, 8 }, "int32", "shared")
  local function block(name, kind, q, v, k, f)
    b:loop("x", 0, 8, function(x)
      b:block(name, { { "vb", extent = 2, bind = q },
                      { "vv", extent = 4, bind = v },
                      { "vk", kind, extent = 4, bind = k },
                      { "vx", extent = 8, bind = x } }, f)
    end)
  end
  b:loop("b", 0, 2, function(q)
    b:loop("v", 0, 4, function(v)
      b:loop("k", 0, 4, function(k)
        block("S1", "spatial", q, v, k, function(vb, vv, vk, vx)
          b:store(S, { vb, vv, vk, vx }, A(vb, vv, vk, vx) * 2)
        end)
        block("C1", "opaque", q, v, k, function(vb, vv, vk, vx)
          b:store(C, { vb, vv, vx },
                  C(vb, vv, vx) + S(vb, vv, vk, 7 - vx))
        end)
      end)
    end)
  end)
  local p = b:program()
  local s = ts.schedule(p)
  local q, v = s:get_loops(s:get_block "S1")
  s:bind(q, "blockIdx.x")
  s:bind(v, "vthread.x")
  for _, name in ipairs { "S1", "C1" } do
    local loops = { s:get_loops(s:get_block(name)) }
    s:bind(loops[#loops], "threadIdx.x")
  end
  local kernel = ts.lower(s)
  assert(ts.equivalent(kernel, p))
  local text = tostring(kernel)
  assert(count(text, "barrier") == 2 and count(text, "for k ") == 1, text)
  assert(text:find "\n +barrier shared\n +for v in range%(4%)\n +S%[", text)
  assert(text:find "\n +barrier shared\n +for v in range%(4%)\n +C%[", text)
end

-- What loops and lets inside of a loop are is another value in its next
-- iteration: there `W1` writes what other threads read in `R1` before, with
-- nothing else between that would need a barrier.
local function carried(n, around)
  local b = ts.builder "carried"
  local A = b:input("A", { n + 2, 8 }, "int32")
  local C = b:output("C", { n, 8 }, "int32")
  local D = b:output("D", { n, 8 }, "int32")
  local S = b:buffer("S", { n + 2, 8 }, "int32", "shared")
  local T = b:buffer("T", { n + 2, 8 }, "int32", "shared")
  local function row(name, f)
    b:loop("x", 0, 8, function(x)
      b:block(name, { { "vx", extent = 8, bind = x } }, f)
    end)
  end
  local function each(name, m, f)
    b:loop("i", 0, m, function(i)
      b:block(name .. "s", { { "vi", extent = m, bind = i } }, function(vi)
        row(name, function(vx) f(vi, vx) end)
      end)
    end)
  end
  b:loop("q", 0, 1, function()
    each("I1", n + 2, function(vi, vx) b:store(S, { vi, vx }, A(vi, vx)) end)
    each("J1", n + 2, function(vi, vx) b:store(T, { vi, vx }, 0) end)
    around(b, function(v, apart, t)
      row("W1", function(vx) b:store(S, { v, vx }, A(v, vx) * 2) end)
      row("T1", function(vx) b:store(T, { t, vx }, A(v, vx) * 3) end)
      row("R1", function(vx)
        b:store(C, { v, vx }, S(v + apart, 7 - vx) + T(t, 7 - vx))
      end)
    end)
    each("E1", n, function(vi, vx) b:store(D, { vi, vx }, T(vi, vx)) end)
  end)
  local p = b:program()
  local s = ts.schedule(p)
  s:bind((s:get_loops(s:get_block "I1s")), "blockIdx.x")
  for _, name in ipairs { "I1", "J1", "W1", "T1", "R1", "E1" } do
    local loops = { s:get_loops(s:get_block(name)) }
    s:bind(loops[#loops], "threadIdx.x")
  end
  local kernel = ts.lower(s)
  local same, why = ts.equivalent(kernel, p)
  assert(same, tostring(why) .. "\n" .. tostring(kernel))
end

carried(4, function(b, body)
  b:loop("k", 0, 4, function(k)
    b:block("O", { { "vk", "opaque", extent = 4, bind = k } }, function(vk)
      b:let("v", vk, function(v) body(v, 1, vk) end)
    end)
  end)
end)
carried(9, function(b, body)
  b:loop("k", 0, 3, function(k)
    b:loop("j", 0, 2, function(j)
      b:block("O", { { "v", "opaque", extent = 9, bind = 3 * k + j } },
              function(v) body(v, 2, v) end)
    end)
  end)
end)
