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
