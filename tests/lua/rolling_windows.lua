-- SPDX-License-Identifier: Apache-2.0
-- reverse_compute_at of consumers that read with a stride or a sliding window:
-- each instance runs where the last element that it reads is produced.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local same, refused = checks.same, checks.refused
local N = 20

local function program(n, read)
  local A = ts.placeholder("A", { N, 4 })
  local B = ts.compute("B", { N, 4 }, function(i, j) return A(i, j) * 2 end)
  local C = ts.compute("C", { n, 4 }, function(i, j) return read(B, i, j) end)
  return ts.program("windows", { A }, { C })
end

local readers = {
  stride = { N // 2, function(B, i, j) return B(i * 2, j) end },
  stride3 = { 6, function(B, i, j) return B(i * 3 + 1, j) end },
  pairs = { N // 2, function(B, i, j)
    return B(i * 2, j) + B(i * 2 + 1, j)
  end },
  stencil = { N - 2, function(B, i, j)
    return B(i, j) + B(i + 1, j) - B(i + 2, j)
  end },
  overlap = { 9, function(B, i, j) return B(i * 2, j) - B(i * 2 + 3, j) end },
  both = { N - 3, function(B, i, j) return B(i + 3, j) + B(i, 3 - j) end },
}

for _, r in pairs(readers) do
  local p = program(r[1], r[2])
  for tile = 1, 7 do
    for inner = 0, 1 do
      local s = ts.schedule(p)
      local i, j = s:get_loops(s:get_block "B")
      local i0, i1 = s:split(i, { ts.auto, tile })
      if inner == 1 then s:reorder(i0, j, i1) end
      s:reverse_compute_at(s:get_block "C", i0)
      same(s, p)
      -- An earlier tile is read, which is computed concurrently.
      local ok, e = pcall(s.parallel, s, i0)
      assert(ok or e.reason == "RACE_OTHER", tostring(e))
      same(s, p)
    end
  end
end

-- Refused under a loop that is parallel already.
do
  local s = ts.schedule(program(readers.stencil[1], readers.stencil[2]))
  local i0 = s:split((s:get_loops(s:get_block "B")), { ts.auto, 4 })
  s:parallel(i0)
  refused(s, "WOULD_RACE", "reverse_compute_at", s:get_block "C", i0)
end

-- A producer that runs backwards: the end of a window is computed before the
-- rest, and a refused move changes nothing.
for _, sign in ipairs { 1, -1 } do
  local b = ts.builder("back")
  local A, B, C = b:input("A", { N }), b:buffer("B", { N }),
                  b:output("C", { N - 2 })
  b:loop("i", 0, N, function(i)
    b:block("B", { { "v", extent = N, bind = N - 1 - i } },
            function(v) b:store(B, { v }, A(v) * 2) end)
  end)
  b:loop("i", 0, N - 2, function(i)
    b:block("C", { { "v", extent = N - 2, bind = i } }, function(v)
      b:store(C, { v }, B(v + 1 + sign) - B(v + 1 - sign))
    end)
  end)
  local p = b:program()
  local s = ts.schedule(p)
  local ok, e = pcall(s.reverse_compute_at, s, s:get_block "C",
                      (s:get_loops(s:get_block "B")))
  assert(ok or e.reason == "NOT_COVERED", tostring(e))
  same(s, p)
end

-- A reduction is not moved: its first operand need not be computed first.
do
  local A, k = ts.placeholder("A", { N }), ts.reduce_axis("k", 3)
  local B = ts.compute("B", { N }, function(i) return A(i) * 2 end)
  local C = ts.compute("C", { N - 2 }, function(i)
    return ts.sum(B(i + 2 - k), k)
  end)
  local p = ts.program("sums", { A }, { C })
  local s = ts.schedule(p)
  refused(s, "NOT_COVERED", "reverse_compute_at", s:get_block "C",
          (s:get_loops(s:get_block "B")))
  same(s, p)
end

-- Readers of one row or column run in the one iteration that computes it, so
-- the loop can be parallel.
do
  local rows = {
    row = function(B, c)
      return ts.compute("C", { 4 }, function(j) return B(c, j) + 1 end)
    end,
    matrix = function(B, c)
      return ts.compute("C", { 1, 4 }, function(i, j) return B(i + c, j) end)
    end,
    column = function(B, c)
      return ts.compute("C", { N }, function(i) return B(i, c) end)
    end,
    element = function(B, c)
      return ts.compute("C", {}, function() return B(c, c) end)
    end,
    pair = function(B, c)
      return ts.compute("C", { 3 },
                        function(j) return B(c, j) - B(c, j + 1) end)
    end,
  }
  for name, read in pairs(rows) do
    for c = 0, 3 do
      local A = ts.placeholder("A", { N, 4 })
      local B = ts.compute("B", { N, 4 },
                           function(i, j) return A(i, j) * 2 end)
      local E = ts.compute("E", { N, 4 },
                           function(i, j) return B(i, j) - 1 end)
      local p = ts.program("one", { A }, { read(B, c), E })
      for tile = 1, 5, 2 do
        local s = ts.schedule(p)
        local i, j = s:get_loops(s:get_block "B")
        local to = s:split(i, { ts.auto, tile })
        if name == "column" then
          s:reorder(j, to)
          to = j
        end
        s:reverse_compute_at(s:get_block "C", to)
        same(s, p)
        s:parallel(to)
        same(s, p)
      end
    end
  end
end
