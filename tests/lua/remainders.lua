-- SPDX-License-Identifier: Apache-2.0
-- Remainders of floats: compiled code agrees with the interpreter to the bit,
-- at any magnitude and vector width, without a call.
local ts = require "tessera"

local special = { 0.0, -0.0, 1 / 0, -1 / 0, 0 / 0, 1, -1, 3, 0.1, -6.25,
                  65504, 6e-8, 1.4e-45, -1e-40, 1.17549435e-38, 3.4e38,
                  5e-324, 1e-310, 2.2250738585072014e-308, 1.7e308 }
-- The greatest of them that the type holds, and the exponents to draw.
local greatest = { float64 = 1.7e308, float32 = 3.4e38, bfloat16 = 3e38,
                   float16 = 65504 }
local exponents = { float64 = { -1074, 1020 }, float32 = { -149, 126 },
                    bfloat16 = { -133, 126 }, float16 = { -24, 14 } }

local function draw(dtype)
  local how, most = math.random(4), greatest[dtype]
  if how == 1 then
    local x = special[math.random(#special)]
    return math.abs(x) > most and x < math.huge and most or x
  end
  local lo, hi = -6, 6
  if how == 2 then lo, hi = table.unpack(exponents[dtype]) end
  local sign = math.random(2) == 1 and -1 or 1
  return sign * (1 + math.random()) * 2.0 ^ math.random(lo, hi)
end

local function some(dtype, n)
  local list = {}
  for i = 1, n do list[i] = draw(dtype) end
  return ts.tensor(dtype, { n }, list)
end

local function alike(x, y)
  if x ~= x or x == 0 then return x ~= x and y ~= y or 1 / x == 1 / y end
  return x == y
end

math.randomseed(5)
local n = 1024
for dtype in pairs(greatest) do
  local A, B = ts.placeholder("A", { n }, dtype),
               ts.placeholder("B", { n }, dtype)
  local p = ts.program("p", { A, B }, {
    ts.compute("C", { n }, function(i) return A(i) % B(i) end) })
  local a, b = some(dtype, n), some(dtype, n)
  local want, got = ts.tensor(dtype, { n }), ts.tensor(dtype, { n })
  ts.interpret(p, { a, b, want })
  for _, width in ipairs { 1, 2, 8, 32 } do
    local s = ts.schedule(p)
    local _, lanes = s:split(s:get_loops(s:get_block "C"), { ts.auto, width })
    if width > 1 then s:vectorize(lanes) end
    local kernel = ts.build(s)
    kernel(a, b, got)
    for i = 0, n - 1 do
      local x, y = want:get(i), got:get(i)
      assert(alike(x, y), ("%s in %d lanes: %s %% %s is %s, not %s"):format(
        dtype, width, a:get(i), b:get(i), x, y))
    end
    assert(not kernel:source "asm":find "fmod")
  end
end
