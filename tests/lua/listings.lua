-- SPDX-License-Identifier: Apache-2.0
-- Programs that are printed and read back: described, scheduled, with any
-- names; what is no listing is refused at its line and column.
local ts = require "tessera"
local ops = require "tessera.ops"

local function survives(p)
  local text = tostring(p)
  local read = ts.parse(text)
  assert(read:hash() == p:hash() and read:equal(p), text)
  return text
end

local function has(text, what)
  assert(text:find(what, 1, true), what .. " is not in\n" .. text)
end

for _, name in ipairs(ops.suite_names()) do survives(ops.suite(name, 1)) end
for _, name in ipairs { "3mm", "lu", "cholesky" } do
  survives(ops.polybench(name, "MINI"))
end

-- Scheduled: kinds of loops, annotations, copies, reductions in parts.
for _, target in ipairs { "llvm -mcpu=skylake-avx512 -num-cores=2",
                          "cuda -arch=sm_80" } do
  local p = ops.suite(target:find "cuda" and "GMM" or "SFM", 1)
  for _, sketch in ipairs(ts.space.sketches(ts.space.default(target), p,
                                            target)) do
    survives(sketch:replay(p):program())
  end
end

-- Names that are no identifiers, or are words of listings.
local function named(buffer, block)
  local A = ts.placeholder(buffer, { 4 })
  return ts.program("of " .. block, { A },
    { ts.compute(block, { 4 }, function(i) return A(i) + 1 end) })
end
for _, name in ipairs { "for", "init", "a b", "it's", "x-1", "äö", "1st",
                        "true", "range", '"', "\\" } do
  local text = survives(named(name, name))
  local read = ts.parse(text)
  assert(read:params()[1].name == name and read:name() == "of " .. name, text)
end

-- Literals whose type nothing else says.
local B = ts.placeholder("B", { 4 }, "int8")
local C = ts.compute("C", { 4 }, function(i)
  return ts.cast(ts.select(ts.lt(i, 2), ts.const(1, "int8"),
                           ts.const(2, "int8")), "float32")
end)
local D = ts.compute("D", { 4 }, function(i)
  return B(i) + ts.const(-3, "int8")
end)
local typed = survives(ts.program("typed", { B }, { C, D }))
has(typed, "float32(select(vi < 2, int8(1), int8(2)))")
has(typed, "B[vi] + -3")

-- Reducers of one's own, and what is stated since it is not inferred.
local arg_max = ts.reducer(function(a, v, b, w)
  return ts.select(ts.le(w, v), a, b), ts.max(v, w)
end, { -1, -math.huge }, "arg_max")
local V = ts.placeholder("V", { 3, 8 })
local k = ts.reduce_axis("k", 8)
local at, best = ts.compute("M", { 3 }, function(i)
  return arg_max(ts.cast(k, "int32"), V(i, k), k)
end)
local most = ts.program("most", { V }, { at, best })
has(survives(most), "reducer arg_max(")
local sch = ts.schedule(most)
sch:rfactor(select(2, sch:get_loops(sch:get_block "M")), 0)
local again = ts.schedule(ts.parse(survives(most)))
again:rfactor(select(2, again:get_loops(again:get_block "M")), 0)
assert(again:program():equal(sch:program()))
local product = ts.schedule(ops.matmul { m = 8, n = 8, k = 8 })
product:decompose_reduction(product:get_block "C",
                            (product:get_loops(product:get_block "C")))
survives(product:program())

-- Contents of small constants are in the listing; of others they are not.
local function doubled(n)
  local list = {}
  for i = 1, n do list[i] = i - 2 end
  local W = ts.constant("W", ts.tensor("int16", { n }, list))
  return ts.program("doubled", {}, { ts.compute("Y", { n }, function(i)
    return W(i) * 2
  end) })
end
has(survives(doubled(3)), "constant W: int16[3] = [-1, 0, 1]")
local ok, e = pcall(ts.parse, tostring(doubled(65)))
assert(not ok and e.code == "PARSE")
has(e.message, "contents of this constant")

-- What a program may be written like: comments, blank lines, any indentation.
local p = ts.parse [[
# twice
twice(A: float32[8], B: out float32[8])

    for i in parallel(8)   # each
      block B(vi: 8 = i)
            B[vi] = A[vi] * 2
]]
local a = ts.tensor("float32", { 8 }, "integers", 1)
local b = ts.tensor("float32", { 8 })
ts.build(p)(a, b)
assert(b:get(3) == 2 * a:get(3))

-- Refused at their place.
local head = "f(A: float32[8], B: out float32[8])\n"
for text, want in pairs {
  [""] = "line 1, column 1|no function",
  ["f"] = "line 1, column 2|'(' is expected",
  ["f(A: floot32[8])"] = "line 1, column 6|no type 'floot32'",
  [head .. "  for i in sometimes(8)\n"] = "line 2, column 12|kind of loop",
  [head .. "  for i in range(8)\n    B[i] = C[i]"] =
    "line 3, column 12|no buffer 'C'",
  [head .. "  for i in range(8)\n    B[i] = A[j]"] =
    "line 3, column 14|no variable 'j'",
  [head .. "  for i in range(8)\n    B[i] = A[i, i]"] = "line 3, column 12|2",
  [head .. "  for i in range(8)\n    B[i] = 1 +"] =
    "line 3, column 15|expected",
  [head .. "  for i in range(8)\n    B[i] = i"] = "line 3, column 12|float32",
  [head .. "  for i in range(8)\n    B[i] = 1.0\n   B[i] = 1.0"] =
    "line 4, column 4|indented",
  [head .. "  for A in range(8)\n    B[A] = 1.0"] = "line 2, column 7|taken",
  [head .. "  for i in range(8)\n    B[i] = sine(1.0)"] =
    "line 3, column 12|no function 'sine'",
  [head .. "  for i in range(8)\n    B[i] = 'abc"] = "line 3, column 12|quote",
  [head .. "  for i in range(8) {a = }\n"] = "line 2, column 26|value",
  [head .. "  for i in range(8)\n    B[i] = " .. ("-"):rep(999) .. "i"] =
    "line 3, column 212|too deep",
} do
  local ok, e = pcall(ts.parse, text)
  local place, message = want:match "^(.-)|(.*)$"
  assert(not ok and e.code == "PARSE", text)
  assert(e.place == place, ("%s\n%s: %s"):format(text, e.place, e.message))
  has(e.message, message)
end
-- What is no program is refused as one that was saved is.
ok, e = pcall(ts.parse, head .. "  for i in range(9)\n    B[i] = A[i]")
assert(not ok and e.code == "INVALID", e.message)
