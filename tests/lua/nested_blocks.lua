-- SPDX-License-Identifier: Apache-2.0
-- Blocks in blocks, and in tensorized ones: their copies, lanes and parts.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local same, refused, case = checks.same, checks.refused, checks.case

case("a nested block gets no copy of a buffer written partly outside of it",
     function()
  local x = ts.placeholder("x", { 4 })
  local build = ts.builder("main")
  local y = build:buffer("y", { 4 }, "float32")
  local z = build:buffer("z", { 4 }, "float32")
  local function copies(name, to, from, n)
    build:loop("i", 0, n, function(i)
      build:block(name, { { "vi", extent = n, bind = i } }, function(vi)
        build:store(to, { vi }, from(vi))
      end)
    end)
  end
  copies("all", y, x, 4)
  copies("part", y, x, 2)
  copies("reader", z, y, 4)
  local program = ts.program("main", { x }, { z })
  local sch = ts.schedule(program)
  sch:blockize({ sch:get_block("part"), sch:get_block("reader") })
  local reader = sch:get_block("reader")
  refused(sch, "BUFFER_LIVE_IN", "cache_read", reader, { "read", 0 }, "global")
  refused(sch, "BUFFER_LIVE_IN", "reindex", reader, { "read", 0 })
  same(sch, program)
end)

-- LLVM 19 pads other vectors and may select an instruction for the new lanes
-- that no processor with AVX-512 has.
case("gathers have a power of two of lanes", function()
  for _, n in ipairs { 3, 6, 24 } do
    local A = ts.placeholder("A", { 5 * n }, "int32")
    local X = ts.placeholder("X", { n })
    local p = ts.program("gather", { A, X }, {
      ts.compute("B", { n }, function(i)
        return ts.select(ts.lt(X(i), 2), A(5 * i), 1)
      end) })
    local s = ts.schedule(p)
    s:vectorize((s:get_loops(s:get_block "B")))
    local kernel = ts.build(s)
    for lanes in kernel:source("ir"):gmatch("masked%.gather%.v(%d+)") do
      local n = math.tointeger(lanes)
      assert(n & (n - 1) == 0, n)
    end
    local a = ts.tensor("int32", { 5 * n }, "integers", 3)
    local x = ts.tensor("float32", { n }, "integers", 4)
    local b, c = ts.tensor("int32", { n }), ts.tensor("int32", { n })
    kernel(a, x, b)
    ts.interpret(p, { a, x, c })
    for k = 0, n - 1 do assert(b:get(k) == c:get(k)) end
  end
end)

-- The inner intrinsic's buffer matches a part of the outer one's.
case("a block nested in a tensorized one can be tensorized itself", function()
  local function copy(name, n)
    local A = ts.placeholder(name .. "_in", { n })
    return ts.program(name, { A }, {
      ts.compute(name, { n }, function(i) return A(i) * 2 end) })
  end
  local eight = ts.tensor_intrin { name = "twice_8", desc = copy("twice", 8),
                                   impl = copy("twice", 8) }
  local four = ts.tensor_intrin { name = "twice_4", desc = copy("twice", 4),
                                  impl = copy("twice", 4) }
  local p = copy("B", 32)
  local s = ts.schedule(p)
  local _, inner = s:split(s:get_loops(s:get_block "B"), { ts.auto, 8 })
  s:tensorize(inner, eight)
  local _, part = s:split(s:get_loops(s:get_block "twice_1"), { ts.auto, 4 })
  s:tensorize(part, four)
  assert(tostring(s:program()):find("float32[4] = B_in_m[", 1, true))
  same(s, p)
  local a = ts.tensor("float32", { 32 }, "integers", 1)
  local b, c = ts.tensor("float32", { 32 }), ts.tensor("float32", { 32 })
  ts.build(s)(a, b)
  ts.interpret(p, { a, c })
  for k = 0, 31 do assert(b:get(k) == c:get(k)) end
end)

case("the buffers of an intrinsic's description are not the program's",
     function()
  local function twice(n)
    local A = ts.placeholder("A", { n })
    return ts.program("twice", { A }, {
      ts.compute("B", { n }, function(i) return A(i) * 2 end) })
  end
  ts.tensor_intrin { name = "twice of 8", desc = twice(8), impl = twice(8) }
  local A = ts.placeholder("A", { 16 })
  local p = ts.program("p", { A }, {
    ts.compute("C", { 16 }, function(i) return A(i) * 2 end),
    ts.compute("D", { 16 }, function(i) return A(i) + 1 end) })
  checks.legal(p, function(s)
    s:unsafe_hide_buffer_access(s:get_block "D", "read", { 0 })
    local _, tile = s:split(s:get_loops(s:get_block "C"), { 2, 8 })
    s:tensorize(tile, "twice of 8")
  end)
end)
