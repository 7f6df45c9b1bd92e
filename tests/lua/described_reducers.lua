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

-- Results that are combined together, as of an arg max: its laws tell what may
-- be done.  `keep`: whether the old result stays.
local function arg_best(keep, start)
  local b = ts.builder "arg_best"
  local X = b:input("X", { 8, 16 })
  local at, best = b:output("at", { 8 }, "int64"), b:output("best", { 8 })
  b:loop("i", 0, 8, function(i)
    b:loop("k", 0, 16, function(k)
      b:block("y", { { "vi", extent = 8, bind = i },
                     { "vk", "reduce", extent = 16, bind = k } },
              function(vi, vk)
        b:init(function()
          b:store(at, { vi }, start[1])
          b:store(best, { vi }, start[2])
        end)
        b:let("stays", keep(at(vi), best(vi), vk, X(vi, vk)), function(stays)
          b:let("a", ts.select(stays, at(vi), vk), function(a)
            b:let("v", ts.select(stays, best(vi), X(vi, vk)), function(v)
              b:store(at, { vi }, a)
              b:store(best, { vi }, v)
            end)
          end)
        end)
      end)
    end)
  end)
  return b:program()
end

case("an arg max and an arg min", function()
  local inf = math.huge
  for _, how in ipairs {
    { function(a, m, k, x)
        return ts.any(ts.gt(m, x), ts.all(ts.eq(m, x), ts.lt(a, k)))
      end, { -1, -inf } },
    { function(a, m, k, x)
        return ts.any(ts.lt(m, x), ts.all(ts.eq(m, x), ts.lt(a, k)))
      end, { -1, inf } } } do
    local p = arg_best(table.unpack(how))
    same(factored(p), p)
    local sch = ts.schedule(p)
    local i, k = sch:get_loops(sch:get_block "y")
    sch:reorder(k, i)
    same(sch, p)
    local x = ts.tensor("float32", { 8, 16 }, "integers", 5)
    local found = {}
    for n, q in ipairs { p, factored(p) } do
      found[n] = ts.tensor("int64", { 8 })
      ts.build(q)(x, found[n], ts.tensor("float32", { 8 }))
    end
    for r = 0, 7 do assert(found[1]:get(r) == found[2]:get(r)) end
  end
end)

case("the first of equal values: the order stays", function()
  local p = arg_best(function(_, m, _, x) return ts.ge(m, x) end,
                     { -1, -math.huge })
  local sch = ts.schedule(p)
  local _, k = sch:get_loops(sch:get_block "y")
  local _, k1 = sch:split(k, { 4, 4 })
  refused(sch, "REDUCER_ORDERED", "rfactor", k1)
  same(factored(p), p)
end)

-- Of an own combiner whose laws do not hold, or of no one value.
for name, keep in pairs {
  ["an identity that is none"] = function(_, m, _, x) return ts.lt(m, x) end,
  ["what the indices decide"] = function(a, m, k, x)
    return ts.lt(m * 2, x + ts.cast(a - k, "float32"))
  end } do
  case("no reducer: " .. name, function()
    local sch = ts.schedule(arg_best(keep, { -1, 0 }))
    local _, k = sch:get_loops(sch:get_block "y")
    refused(sch, "NOT_REDUCER", "rfactor", k)
  end)
end
