-- SPDX-License-Identifier: Apache-2.0
-- Stencils over grids: Jacobi's iteration and the heat equation, a tensor for
-- each step.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local count, number = declare.count, declare.number

-- Each step has a tensor and a block of its own.
local most_steps = 4096

local letters = { "i", "j", "k" }

-- The next step: f(x, sum of the neighbours along each dimension) inside, and
-- on the border what was there.
local function step(X, name, shape, f)
  local names = table.move(letters, 1, #shape, 1, {})
  return kit.compute(name, shape, names, function(...)
    local at, inside, sums = { ... }, {}, {}
    for d, n in ipairs(shape) do
      inside[#inside + 1] = ts.ge(at[d], 1)
      inside[#inside + 1] = ts.lt(at[d], n - 1)
      local below = kit.with(at, d, at[d] - 1)
      local above = kit.with(at, d, at[d] + 1)
      sums[d] = X(table.unpack(below)) + X(table.unpack(above))
    end
    return ts.select(ts.all(table.unpack(inside)), f(X(...), sums), X(...))
  end)
end

local function stencil(o, X, rank, f)
  local shape = table.pack(o.n, o.m or o.n, o.l or o.n)
  shape = table.move(shape, 1, rank, 1, {})
  if (o.steps or 1) > most_steps then
    declare.wrong(o.name, "'steps' is %d, more than %d: run the kernel again",
                  o.steps, most_steps)
  end
  local x = X
  for t = 1, o.steps or 1 do
    x = step(x, t == (o.steps or 1) and "Y" or "step" .. t, shape, f)
  end
  return x
end

-- A grid: the second and third extents are the first one's if left out.
local function grid(rank)
  return { declare.tensor("X", function(o)
    return table.move({ "n", o.m and "m" or "n", o.l and "l" or "n" }, 1, rank,
                      1, {})
  end) }
end

-- Options m and l, which shapes give.
local function bounds(o, tensors)
  o.m, o.l = tensors.X.shape[2], tensors.X.shape[3]
end

local function total(sums)
  local s = sums[1]
  for d = 2, #sums do s = s + sums[d] end
  return s
end

local function options_of(rank, ...)
  local list = { count("n", "elements along the first dimension"),
                 count("m", "along the second", "n") }
  if rank == 3 then list[3] = count("l", "along the third", "n") end
  list[#list + 1] = count("steps", "steps in time", "1")
  table.move({ ... }, 1, select("#", ...), #list + 1, list)
  list[#list + 1] = declare.dtype("float")
  return list
end

for rank = 2, 3 do
  declare.operator {
    name = ("jacobi_%dd"):format(rank),
    summary = ("Steps of Jacobi's iteration on a grid of %d dimensions.")
              :format(rank),
    says = ([[
Y = (X + sum of its %d neighbours) / %d, `steps` times
elements on the border of the grid stay as they are.]])
           :format(2 * rank, 2 * rank + 1),
    options = options_of(rank),
    example = "{ n = 3 }",
    tensors = grid(rank),
    infer = bounds,
    apply = function(o, X)
      return stencil(o, X, rank, function(x, sums)
        return (x + total(sums)) * (1 / (2 * rank + 1))
      end)
    end,
  }
  declare.operator {
    name = ("heat_%dd"):format(rank),
    summary = ("Steps of the heat equation on a grid of %d dimensions.")
              :format(rank),
    says = [[
Y = X + alpha * (sum over the dimensions of X[.., i + 1, ..] - 2 X +
  X[.., i - 1, ..]), `steps` times
elements on the border of the grid stay as they are.]],
    options = options_of(rank, number("alpha",
      "the diffusivity times the step in time, by the square of that in space",
      "0.125")),
    example = "{ n = 3 }",
    tensors = grid(rank),
    infer = bounds,
    apply = function(o, X)
      return stencil(o, X, rank, function(x, sums)
        return x + (total(sums) - x * (2 * rank)) * (o.alpha or 0.125)
      end)
    end,
  }
end
