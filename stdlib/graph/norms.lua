-- SPDX-License-Identifier: Apache-2.0
-- Normalisations of rows as exporters write them out, mean, difference, mean of
-- squares, root, quotient, weight and bias, or those without a mean, are one
-- operator again.
local edit = require "tessera.graph.edit"
local program = require "tessera.graph.program"

local input, maker = edit.input, edit.maker

-- The node that makes v, if it is the mean of rows, which keeps its dimension.
local function mean(g, v)
  local n = maker(g, v, "reduce")
  local axes = n and n.attrs.axes
  if n and n.attrs.op == "mean" and n.attrs.keep and axes and #axes == 1 and
     axes[1] % #v.shape == #v.shape - 1 then
    return input(g, n, 1)
  end
end

-- The one number that v is; nil: it is none.
local function number_of(v)
  if not v or v.kind ~= "constant" or program.size(v) ~= 1 then return nil end
  local zeros = {}
  for d = 1, #v.shape do zeros[d] = 0 end
  return v:tensor():get(table.unpack(zeros))
end

-- The value whose square v is.
local function square(g, v)
  local n = maker(g, v, "pow")
  if n and number_of(input(g, n, 2)) == 2 then return input(g, n, 1) end
  n = maker(g, v, "square")
  if n then return input(g, n, 1) end
  n = maker(g, v, "mul")
  return n and n.inputs[1] == n.inputs[2] and input(g, n, 1) or nil
end

-- x where v is x minus the mean of its rows.
local function centered(g, v)
  local n = maker(g, v, "sub")
  local x = n and input(g, n, 1)
  return x and #x.shape > 0 and mean(g, input(g, n, 2)) == x and x or nil
end

-- x and eps where v is the mean of the squares of x, and eps.
local function mean_square(g, v)
  local sum = maker(g, v, "add")
  for i = 1, sum and 2 or 0 do
    local eps, of = number_of(input(g, sum, i)), mean(g, input(g, sum, 3 - i))
    local x = of and square(g, of)
    if eps and x then return x, eps end
  end
end

-- x and eps where v is the root of that.
local function deviation(g, v)
  local root = maker(g, v, "sqrt")
  if root then return mean_square(g, input(g, root, 1)) end
end

-- The same where v is 1 divided by the root.
local function inverse(g, v)
  local n = maker(g, v, "reciprocal")
  if n then return deviation(g, input(g, n, 1)) end
  n = maker(g, v, "rsqrt")
  if n then return mean_square(g, input(g, n, 1)) end
  n = maker(g, v, "div")
  if n and number_of(input(g, n, 1)) == 1 then
    return deviation(g, input(g, n, 2))
  end
end

-- The normalisation of rows that x divided by the root is.
local function normalized(g, x, eps)
  if type(x.shape[#x.shape]) ~= "number" then return nil end
  local from = centered(g, x)
  if from then return g:layer_norm(from, { axis = -1, eps = eps }) end
  return g:rms_norm(x, { axis = -1, eps = eps })
end

local rules = {}

function rules.div(g, n)
  local x = input(g, n, 1)
  local of, eps = deviation(g, input(g, n, 2))
  return of == x and normalized(g, x, eps) or nil
end

-- A normalisation that only n takes, and the vector that it takes, too.
local function scaled(g, n, uses, op)
  for i = 1, 2 do
    local y, v = input(g, n, i), input(g, n, 3 - i)
    local norm = y and uses[y.id] == 1 and maker(g, y, op)
    if norm and norm.attrs.axis == -1 and #norm.outputs == 1 and
       v.dtype == y.dtype and #v.shape == 1 and
       v.shape[1] == y.shape[#y.shape] then
      return norm, v
    end
  end
end

local function with(g, norm, more)
  local o = edit.with(norm.attrs, { weight = input(g, norm, 2),
                                    bias = input(g, norm, 3) })
  return g[norm.op](g, input(g, norm, 1), edit.with(o, more))
end

function rules.mul(g, n, uses)
  for i = 1, 2 do
    local x = input(g, n, i)
    local of, eps = inverse(g, input(g, n, 3 - i))
    local y = of and of == x and normalized(g, x, eps)
    if y then return y end
  end
  for _, op in ipairs { "layer_norm", "rms_norm" } do
    local norm, v = scaled(g, n, uses, op)
    if norm and not norm.inputs[2] then
      return with(g, norm, { weight = v })
    end
  end
end

function rules.add(g, n, uses)
  local norm, v = scaled(g, n, uses, "layer_norm")
  if norm and not norm.inputs[3] then return with(g, norm, { bias = v }) end
end

return function(g)
  local uses = edit.count_uses(g)
  for _, node in ipairs(g:nodes()) do
    local rule = rules[node.op]
    local y = rule and rule(g, g:node_info(node.id), uses)
    if y then
      uses[y.id] = uses[node.outputs[1]]
      g:replace_value(node.outputs[1], y.id)
    end
  end
end
