-- SPDX-License-Identifier: Apache-2.0
-- A program that reads what nobody wrote is not tuned: the error names the
-- block and the buffer.  What reads an element only after it was written is.
local ts = require "tessera"

local function tune(p)
  return ts.tune(p, { trials = 1, min_time = 0.001, progress = false,
                      check = "all" })
end

local function refused(p, what)
  local ok, e = pcall(tune, p)
  assert(not ok and e.code == "UNWRITTEN", tostring(e))
  assert(e.message:find(what, 1, true), e.message)
end

local function tuned(p)
  assert(tune(p).status == "OK")
end

-- A sum whose start was forgotten, of any size.
for _, n in ipairs { 8, 4096 } do
  local b = ts.builder "sum"
  local A, S = b:input("A", { n, n }), b:output("S", { n })
  b:loop("i", 0, n, function(i)
    b:loop("k", 0, n, function(k)
      b:block("s", { { "vi", extent = n, bind = i },
                     { "vk", "reduce", extent = n, bind = k } },
              function(vi, vk) b:store(S, { vi }, S(vi) + A(vi, vk)) end)
    end)
  end)
  refused(b:program(), "program 'sum': block 's' reads buffer 'S' before " ..
          "anything is written to it")
end

-- A buffer of which too little is computed, or that is computed later.
local function halves(n, later)
  local b = ts.builder "halves"
  local A, B = b:input("A", { 8 }), b:output("B", { 8 })
  local T = b:output("T", { 8 })
  local function copy(name, from, to, extent)
    b:loop("i", 0, extent, function(i)
      b:block(name, { { "v", extent = extent, bind = i } }, function(v)
        b:store(to, { v }, from(v))
      end)
    end)
  end
  if later then copy("use", T, B, 8) end
  copy("make", A, T, n)
  if not later then copy("use", T, B, 8) end
  return b:program()
end
refused(halves(4, false), "T[4] is read before it is written (in block use)")
refused(halves(8, true), "block 'use' reads buffer 'T' before anything")
tuned(halves(8, false))

-- The first iteration does not read, by a select, a condition or a loop that
-- has none there.
local function sums(body)
  local b = ts.builder "sums"
  local A, B = b:input("A", { 8 }), b:output("B", { 8 })
  b:loop("i", 0, 8, function(i) body(b, A, B, i) end)
  return b:program()
end
tuned(sums(function(b, A, B, i)
  b:block("scan", { { "v", "opaque", extent = 8, bind = i } }, function(v)
    b:store(B, { v }, ts.select(ts.gt(v, 0), B(ts.max(v - 1, 0)), 0) + A(v))
  end)
end))
tuned(sums(function(b, A, B, i)
  b:block("scan", { { "v", "opaque", extent = 8, bind = i } }, function(v)
    b:when(ts.gt(v, 0), function()
      b:store(B, { v }, B(ts.max(v - 1, 0)) + A(v))
    end, function() b:store(B, { v }, A(v)) end)
  end)
end))
tuned(sums(function(b, A, B, i)
  b:loop("k", 0, i, function(k)
    b:block("more", { { "v", "opaque", extent = 8, bind = i },
                      { "u", "opaque", extent = 8, bind = k } },
            function(v, u)
              b:when(ts.eq(u, 0), function() b:store(B, { v }, B(u)) end)
            end)
  end)
  b:block("start", { { "v", "opaque", extent = 8, bind = i } }, function(v)
    b:when(ts.eq(v, 0), function() b:store(B, { v }, A(v)) end)
  end)
end))
