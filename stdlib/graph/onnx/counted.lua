-- SPDX-License-Identifier: Apache-2.0
-- Values whose extent the data decides: they have room for all elements, and
-- those behind the last that counts are of no matter.  Which operators may take
-- them so, since an element of the result depends on no others along that
-- dimension; a rule says which dimension of the result is that one.
local node = require "tessera.graph.onnx.node"

local counted = {}

-- A rule is a function of the node, the dimension (from 1) of each input that
-- is such a value, and a result; it gives the result's, or nil: it cannot be
-- taken so.
local rules = {}

-- ---- rules -----------------------------------------------------------------

-- Elements meet as broadcasting says: what is no such value must be alike along
-- the dimension.
local function each_element(n, dims, y)
  local at
  for i, d in pairs(dims) do
    local here = d + #y.shape - n:rank(i)
    if at and at ~= here then return nil end
    at = here
  end
  for i = 1, n:nin() do
    local shape = n:has(i) and not dims[i] and n:shape(i)
    local d = shape and at - #y.shape + #shape
    if d and d >= 1 and shape[d] ~= 1 then return nil end
  end
  return at
end

-- The dimension whose elements have as many others before and behind them.
local function reshaped(n, dims, y)
  local d, x = dims[1], n:shape(1)
  local before = node.product(x, 1, d - 1)
  for k, extent in ipairs(y.shape) do
    if extent == x[d] and node.product(y.shape, 1, k - 1) == before then
      return k
    end
  end
end

-- Only where all of the dimension stays, in order.
local function cut(n, dims, y)
  local d = dims[1]
  local all = y.shape[d] == n:shape(1)[d]
  local axes, steps = n:attr "axes", nil
  if n.op == "onnx.Slice" and n.opset >= 10 then
    axes, steps = n:values(4), n:values(5)
  end
  for i, step in ipairs(steps or {}) do
    local axis = n:axis(axes and axes[i] or i - 1, #y.shape)
    all = all and (axis + 1 ~= d or step > 0)
  end
  return all and d or nil
end

function rules.Transpose(n, dims, y)
  for k = 1, #y.shape do
    local perm = n:attr "perm"
    local from = perm and perm[k] + 1 or #y.shape - k + 1
    if from == dims[1] then return k end
  end
end

-- All have as many, and are joined along another dimension.
function rules.Concat(n, dims, y)
  local axis = n:axis(n:attr("axis", 0), #y.shape) + 1
  for i = 1, n:nin() do
    if dims[i] ~= dims[1] or dims[i] == axis then return nil end
  end
  return dims[1]
end

function rules.Gather(n, dims)
  local axis = n:axis(n:attr("axis", 0), n:rank(1)) + 1
  local data, indices = dims[1], dims[2]
  if indices then return not data and axis + indices - 1 or nil end
  if data ~= axis then return data < axis and data or data + n:rank(2) - 1 end
end

function rules.GatherND(n, dims)
  return not dims[1] and n:attr("batch_dims", 0) == 0 and
         dims[2] < n:rank(2) and dims[2] or nil
end

-- Rows of a product.
function rules.MatMul(n, dims)
  local d = not dims[2] and n:rank(1) >= n:rank(2) and dims[1]
  return d == n:rank(1) - 1 and d or nil
end

rules.Reshape, rules.Flatten = reshaped, reshaped
rules.Squeeze, rules.Unsqueeze = reshaped, reshaped
rules.Slice, rules.Split = cut, cut

local elementwise = {}
require "tessera.graph.onnx.elementwise"(elementwise)
for op in pairs(elementwise) do rules[op] = each_element end
rules.CastLike, rules.Dropout = nil, nil

-- ---- nodes -----------------------------------------------------------------

-- What bounds say of the inputs that are such values: the dimensions, and the
-- count, which they share; nil: they cannot be taken together by the operator.
function counted.of(op, inputs, bounds)
  local dims, count = {}, nil
  for i, x in ipairs(inputs) do
    local bound = x and bounds[x.id]
    if bound and count and bound.count.id ~= count.id then return nil end
    if bound then dims[i], count = bound.dim, bound.count end
  end
  return rules[op] and dims or nil, count
end

-- The dimension of a result; nil as above.
function counted.dimension(op, n, dims, y) return rules[op](n, dims, y) end

return counted
