-- SPDX-License-Identifier: Apache-2.0
-- Annotations that say what a block accesses, and accesses that are hidden;
-- what is refused names its place.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local same, refused, case = checks.same, checks.refused, checks.case

-- The loops made would share a buffer that was private to each iteration.
case("fission re-checks the resulting parallel loops for races", function()
  local build = ts.builder("main")
  local x = ts.placeholder("x", { 4 })
  local t = build:buffer("t", { 2 }, "float32")
  local y = build:buffer("y", { 4, 3 }, "float32")
  build:loop("i", 0, 4, function(i)
    build:block("first", { { "v", extent = 4, bind = i } }, function(v)
      build:store(y, { v, 2 }, x(v))
    end)
    for k = 0, 1 do
      build:loop("j" .. k, 0, 1, function()
        build:block("make" .. k, { { "v", extent = 4, bind = i } }, function(v)
          build:store(t, { k }, x(v) * (k + 1))
        end)
        build:block("use" .. k, { { "v", extent = 4, bind = i } }, function(v)
          build:store(y, { v, k }, t(k))
        end)
      end)
    end
  end)
  local program = ts.program("main", { x }, { y })
  local sch = ts.schedule(program)
  sch:fission(sch:get_loops(sch:get_block("first")))
  same(sch, program)
  sch = ts.schedule(program)
  local i = sch:get_loops(sch:get_block("first"))
  sch:parallel(i)
  local e = refused(sch, "WOULD_RACE", "fission", i)
  assert(e.message:find("would conflict on buffer \"t\"", 1, true), e.message)
  same(sch, program)
end)

case("an access annotation is taken over by enclosing blocks", function()
  local x = ts.placeholder("x", { 9, 4 })
  local y = ts.compute("y", { 9, 4 }, function(i, j) return x(i, j) + 1 end)
  local program = ts.program("main", { x }, { y })
  local sch = ts.schedule(program)
  local _, j = sch:get_loops(sch:get_block "y")
  sch:blockize(j)
  sch:annotate_buffer_access(sch:get_block "y", { "read", 0 },
                             function(_) return 0, 9, 0, 4 end)
  same(sch, program)
  sch:blockize((sch:get_loops(sch:get_block "y_o")))
  same(sch, program)
end)

case("removing an access annotation restores the enclosing block's region",
     function()
  local A = ts.placeholder("A", { 20 })
  local I = ts.placeholder("I", { 8 }, "int32")
  local p = ts.program("p", { A, I }, {
    ts.compute("B", { 8 }, function(i) return A(I(i)) end) })
  local s = ts.schedule(p)
  local b = s:get_block "B"
  s:annotate_buffer_access(b, { "read", 0 }, function(_) return 0, 5 end)
  s:blockize((s:get_loops(b)))
  s:unannotate(b, "explicit_read_region")
  same(s, p)
end)

-- The proof succeeds for (2 * i + j) * 155 // 10 % 31, and not for
-- f * 155 // 10 % 31.
case("fuse is refused if a private buffer could not be proved private after it",
     function()
  local A = ts.placeholder("A", { 4, 31, 10 })
  local p = ts.program("flat", { A }, {
    ts.compute("C", { 8, 155 }, function(i, j)
      local at = i * 155 + j
      return A(at // 310, at // 10 % 31, at % 10)
    end) })
  local s = ts.schedule(p)
  local c = s:get_block "C"
  local copy = s:cache_read(c, 0, "local")
  s:reverse_compute_at(c, (s:get_loops(copy)))
  local _, _, j = s:get_loops(c)
  local j_0 = s:split(j, { 5, 31 })
  s:compute_at(copy, j_0)
  s:parallel(j_0)
  local i_0, i_1 = s:get_loops(c)
  refused(s, "WOULD_RACE", "fuse", i_0, i_1)
  same(s, p)
end)

case("a hidden access stays hidden in a block that reduces", function()
  local A = ts.placeholder("A", { 4, 4 }, "int32")
  local k = ts.reduce_axis("k", 4)
  local p = ts.program("p", { A }, {
    ts.compute("C", { 4 }, function(i) return ts.sum(A(i, k), k) end) })
  local s = ts.schedule(p)
  s:unsafe_hide_buffer_access(s:get_block "C", "write", { 0 })
  same(s, p)
end)
case("a buffer whose accesses are hidden cannot be cached", function()
  local b = ts.builder "in_place"
  local X = b:inout("X", { 4 }, "int32")
  b:loop("i", 0, 4, function(i)
    for n, name in ipairs { "f", "g" } do
      b:block(name, { { "v", extent = 4, bind = i } }, function(v)
        b:store(X, { v }, X(v) + n)
      end)
    end
  end)
  local s = ts.schedule(b:program())
  s:unsafe_hide_buffer_access(s:get_block "f", "write", { 0 })
  refused(s, "BUFFER_HIDDEN", "cache_inplace", s:get_block "g", 0, "global")
  refused(s, "BUFFER_HIDDEN", "read_at", (s:get_loops(s:get_block "g")),
          s:get_block "g", 0, "global")
end)
case("an access is hidden by name, which must be unique", function()
  local b = ts.builder "namesakes"
  local C = b:output("C", { 4 })
  local X, Y = b:buffer("X", { 4 }), b:buffer("X", { 4 })
  b:loop("i", 0, 4, function(i)
    for n, buffer in ipairs { X, Y } do
      b:block("x" .. n, { { "v", extent = 4, bind = i } }, function(v)
        b:store(buffer, { v }, 1)
      end)
    end
    b:block("c", { { "v", extent = 4, bind = i } }, function(v)
      b:store(C, { v }, X(v) + Y(v))
    end)
  end)
  local s = ts.schedule(b:program())
  refused(s, "BUFFER_NAMES", "unsafe_hide_buffer_access", s:get_block "c",
          "read", { 0 })
end)

case("a refusal without a place names the primitive's argument", function()
  local A = ts.placeholder("A", { 4 })
  local s = ts.schedule(ts.program("p", { A }, {
    ts.compute("C", { 4 }, function(i) return A(i) + 1 end) }))
  local e = refused(s, "PARAMETER_FIXED", "set_scope", s:get_block "C", 0,
                    "shared")
  assert(e.message:find('set_scope of block "C": buffer "C"', 1, true),
         e.message)
  local _, again = pcall(s.set_scope, s, s:get_block "C", 0, "shared")
  assert(tostring(again):find "%^%-%- here", tostring(again))
end)

case("an invalid decision is reported with its place", function()
  local A = ts.placeholder("A", { 16 })
  local s = ts.schedule(ts.program("p", { A }, {
    ts.compute("C", { 16 }, function(i) return A(i) + 1 end) }))
  local _, e = pcall(s.sample_perfect_tile, s, (s:get_loops(s:get_block "C")),
                     { n = 2, decision = { 0, 16 } })
  assert(tostring(e):find "%^%-%- here" and
         e.message:find("at `for i in range(16)`", 1, true), tostring(e))
end)
