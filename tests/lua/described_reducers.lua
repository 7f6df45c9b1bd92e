-- SPDX-License-Identifier: Apache-2.0
-- Reductions of imperative blocks: recognized through lets and of several
-- results, so that rfactor and threads take them; and what is none.
local ts = require "tessera"
local checks = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua")))
local case, refused, same = checks.case, checks.refused, checks.same

-- Results Y, Z of X, of which `init` stores what `start` has.
local function reduction(update, start)
  local b = ts.builder "reduction"
  local X = b:input("X", { 8, 16 })
  local Y, Z = b:output("Y", { 8 }), b:output("Z", { 8 })
  b:loop("i", 0, 8, function(i)
    b:loop("k", 0, 16, function(k)
      b:block("y", { { "vi", extent = 8, bind = i },
                     { "vk", "reduce", extent = 16, bind = k } },
              function(vi, vk)
        b:init(function()
          b:store(Y, { vi }, start[1])
          if start[2] then b:store(Z, { vi }, start[2]) end
        end)
        update(b, Y, Z, X(vi, vk), vi)
      end)
    end)
  end)
  if not start[2] then
    b:loop("i", 0, 8, function(i)
      b:block("z", { { "vi", extent = 8, bind = i } }, function(vi)
        b:store(Z, { vi }, 0)
      end)
    end)
  end
  return b:program()
end

local right = {
  square = { function(b, Y, _, x, v)
    b:let("s", x * x, function(s) b:store(Y, { v }, Y(v) + s) end)
  end, { 0 } },
  old = { function(b, Y, _, x, v)
    b:let("y", Y(v), function(y)
      b:let("s", x + 1, function(s)
        b:let("sum", s + y, function(sum) b:store(Y, { v }, sum) end)
      end)
    end)
  end, { 0 } },
  moments = { function(b, Y, Z, x, v)
    b:store(Y, { v }, Y(v) + x)
    b:store(Z, { v }, Z(v) + x * x)
  end, { 0, 0 } },
  mixed = { function(b, Y, Z, x, v)
    b:let("z", Z(v), function(z)
      b:store(Y, { v }, Y(v) * (x - 3))
      b:let("s", x * 2, function(s) b:store(Z, { v }, ts.max(z, s)) end)
    end)
  end, { 1, -math.huge } },
}

local function factored(p)
  local sch = ts.schedule(p)
  local _, k = sch:get_loops(sch:get_block "y")
  local k0 = sch:split(k, { 4, 4 })
  sch:rfactor(k0)
  return sch
end

for name, how in pairs(right) do
  case("rfactor of " .. name, function()
    local p = reduction(how[1], how[2])
    same(factored(p), p)
    local sch = ts.schedule(p)
    local i, k = sch:get_loops(sch:get_block "y")
    sch:decompose_reduction(sch:get_block "y", k)
    same(sch, p)
    sch = ts.schedule(p)
    i, k = sch:get_loops(sch:get_block "y")
    sch:bind(i, "blockIdx.x")
    sch:bind(k, "threadIdx.x")
    same(sch, p)
    assert(ts.equivalent(ts.lower(sch), p))
    local x = ts.tensor("float32", { 8, 16 }, "random", 7)
    local got, want = {}, {}
    for r = 1, 2 do
      got[r], want[r] = ts.tensor("float32", { 8 }), ts.tensor("float32", { 8 })
    end
    ts.build(factored(p))(x, got[1], got[2])
    ts.interpret(p, { x, want[1], want[2] })
    for r = 1, 2 do
      for at = 0, 7 do
        local g, w = got[r]:get(at), want[r]:get(at)
        assert(math.abs(g - w) <= 1e-4 * (1 + math.abs(w)), name)
      end
    end
  end)
end

local wrong = { -- no reducer: a result of another, or of a new value
  coupled = function(b, Y, Z, x, v)
    b:store(Y, { v }, Y(v) + x)
    b:store(Z, { v }, Z(v) + Y(v))
  end,
  late = function(b, Y, Z, x, v)
    b:store(Y, { v }, Y(v) + x)
    b:let("y", Y(v), function(y) b:store(Z, { v }, Z(v) + y * 0) end)
  end,
  twice = function(b, Y, Z, x, v)
    b:store(Y, { v }, Y(v) + x)
    b:store(Y, { v }, Y(v) + x)
    b:store(Z, { v }, Z(v) + x)
  end,
  elsewhere = function(b, Y, Z, x, v)
    b:let("y", Y(v) + x, function(y)
      b:store(Y, { v }, y + Y(v))
      b:store(Z, { v }, Z(v) + 1)
    end)
  end,
}
for name, update in pairs(wrong) do
  case("no reducer: " .. name, function()
    local sch = ts.schedule(reduction(update, { 0, 0 }))
    local _, k = sch:get_loops(sch:get_block "y")
    refused(sch, "NOT_REDUCER", "rfactor", k)
  end)
end
