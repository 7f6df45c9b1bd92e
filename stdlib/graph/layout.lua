-- SPDX-License-Identifier: Apache-2.0
-- Data layout: convolutions of images take and give channels in blocks as wide
-- as the target's vectors, NCHW[c]c (Liu et al., "Optimizing CNN model
-- inference on CPUs", 2019), and so does all between them that can, so that
-- images are converted where such a region begins and ends, and weights when
-- they fold.
local ts = require "tessera"
local blocked = require "tessera.graph.blocked"
local edit = require "tessera.graph.edit"
local program = require "tessera.graph.program"
local value = require "tessera.graph.value"

-- Channels of a block: the float32 of a vector of a processor; nil: there are
-- no vectors.
local function block_of(target)
  target = ts.target(target)
  if not tostring(target):find "^llvm" then return nil end
  local n = (target:get "vector-bytes" or 0) // 4
  return n > 1 and n or nil
end

-- ---- convolutions ----------------------------------------------------------

-- Whether extents are known.
local function is_fixed(v)
  for _, extent in ipairs(v.shape) do
    if type(extent) == "string" then return false end
  end
  return true
end

local function is_image(v)
  return #v.shape == 4 and v.dtype == "float32" and is_fixed(v)
end

-- "dense" or "depthwise" where it has such a form in blocks; nil: it has none.
local function kind_of(g, n)
  local o, w = n.attrs, edit.input(g, n, 2)
  local x, bias = edit.input(g, n, 1), edit.input(g, n, 3)
  local groups = o.groups or 1
  if n.op ~= "conv2d_nchw" or not is_image(x) or o.out or o.acc or o.bn or
     not edit.is_known(g, w) or bias and not edit.is_known(g, bias) then
    return nil
  end
  if groups == 1 then return "dense" end
  return groups == w.shape[1] and groups == x.shape[2] and "depthwise" or nil
end

-- What a convolution costs in multiply-adds, in blocks and as it is, where they
-- take so many times as long (docs/models.md, "Layout"), and what it costs
-- to convert an element.
local slower = { dense = 1.5, depthwise = 3 }
local conversion = 32

local function costs(g, n, kind, b)
  local w, y = edit.input(g, n, 2).shape, edit.result(g, n)
  local ci, co = w[2], w[1]
  local at = program.size(y) // co * w[3] * w[4]
  local of = kind == "dense" and ci > b and blocked.round_up(ci, b) or ci
  return at * of * blocked.round_up(co, b), at * ci * co * slower[kind]
end

local function convolution(g, n, kind, x, b)
  local w, bias = edit.input(g, n, 2), edit.input(g, n, 3)
  local o = edit.with(n.attrs, { bias = bias and blocked.vector(g, bias, b) })
  o.groups = nil
  if kind == "depthwise" then
    return g:depthwise_conv2d_nchwc(x, blocked.depthwise(g, w, b), o)
  end
  return g:conv2d_nchwc(x, blocked.weights(g, w, x.shape[5], b), o)
end

-- ---- element by element ----------------------------------------------------

-- What gives finite numbers of all finite ones, as channels behind the last
-- have.
local finite = {}
for op in ([[add sub mul div neg abs square relu leaky_relu elu selu clamp erf
  sigmoid tanh silu gelu gelu_tanh hard_sigmoid hard_swish softsign minimum
  maximum thresholded_relu shrink sign floor ceil round cast]]):gmatch "%S+" do
  finite[op] = true
end

-- The operand v of a node whose result has the channels c, as it goes with
-- images in blocks; nil: it cannot.
local function operand(l, v, c, with)
  local rank = #v.shape
  if rank > 4 then return nil end
  if rank < 4 then
    local to = table.move(v.shape, 1, rank, 5 - rank, { 1, 1, 1, 1 })
    v = l.g:reshape(v, { to = to })
  end
  local n, channels, h, w = table.unpack(v.shape)
  if channels == 1 then return l.g:reshape(v, { to = { n, 1, h, w, 1 } }) end
  local known = edit.is_known(l.g, v)
  return channels == c and (known and blocked.of(l.g, v, l.b, with) or
                            l:image(v)) or nil
end

local function pointwise(l, n)
  local c = edit.result(l.g, n).shape[2]
  local args, any = {}, false
  if c % l.b ~= 0 and not finite[n.op] then return nil end
  for i = 1, #n.inputs do
    local v = edit.input(l.g, n, i)
    local is_known = v and edit.is_known(l.g, v)
    if n.op == "div" and i == 2 and not is_known and c % l.b ~= 0 then
      return nil
    end
    any = any or v and l.blocked[v.id] ~= nil
    args[i] = v and operand(l, v, c, n.op == "div" and 1 or 0) or false
    if v and not args[i] then return nil end
  end
  args[#args + 1] = n.attrs
  return any and l.g[n.op](l.g, table.unpack(args)) or nil
end

-- ---- regions ---------------------------------------------------------------

-- Whether there may be a form of the node in blocks.
local function joins(l, n)
  if l.kind[n.id] then return true end
  local x = edit.input(l.g, n, 1)
  if not x or n.op == "conv2d_nchw" then return false end
  if blocked.rules[n.op] then return is_image(x) end
  return edit.is_pointwise(n) and
         is_image(edit.result(l.g, n))
end

-- What blocks gain, by region: operators that take what another gives.
local function find_regions(l)
  local root, gain, maker, inside = {}, {}, {}, {}
  local function find(i)
    while root[i] ~= i do root[i], i = root[root[i]], root[i] end
    return i
  end
  local function join(a, b)
    a, b = find(a), find(b)
    if a == b then return end
    root[a], gain[b] = b, gain[b] + gain[a]
  end
  local function pays(i, by) gain[find(i)] = gain[find(i)] + by end
  local function convert(i, v)
    if is_fixed(v) and not edit.is_known(l.g, v) then
      pays(i, -conversion * program.size(v))
    end
  end
  for _, n in ipairs(l.g:nodes()) do
    inside[n.id] = joins(l, n)
    root[n.id], gain[n.id] = n.id, 0
    if l.kind[n.id] then
      local there, here = costs(l.g, n, l.kind[n.id], l.b)
      gain[n.id] = here - there
    end
    for i, id in ipairs(n.inputs) do
      local v, from = id ~= 0 and value.of(l.g, id), maker[id]
      if from and inside[from] and inside[n.id] and is_image(v) then
        join(n.id, from)
      elseif from and inside[from] then
        convert(from, v)
      elseif inside[n.id] and v and (i == 1 or not l.kind[n.id]) then
        convert(n.id, v)
      end
    end
    for _, id in ipairs(n.outputs) do maker[id] = n.id end
  end
  for _, v in ipairs((l.g:outputs())) do
    if maker[v.id] and inside[maker[v.id]] then convert(maker[v.id], v) end
  end
  return function(n) return inside[n.id] and gain[find(n.id)] > 0 end
end

-- ---- the pass --------------------------------------------------------------

local layouts = {}
layouts.__index = layouts

-- An image in blocks of b channels.
function layouts:image(v)
  self.blocked[v.id] = self.blocked[v.id] or blocked.of(self.g, v, self.b)
  return self.blocked[v.id]
end

-- What a convolution takes: of few channels they are one block.
function layouts:input(v, kind)
  local c = v.shape[2]
  if kind == "dense" and c < self.b and not self.blocked[v.id] then
    return blocked.of(self.g, v, c)
  end
  return self:image(v)
end

-- The results of a node in blocks; nil: it has none.
local function results(l, n)
  local kind, rule = l.kind[n.id], blocked.rules[n.op]
  local first = edit.input(l.g, n, 1)
  if kind then
    return convolution(l.g, n, kind, l:input(first, kind), l.b)
  elseif not rule then
    return pointwise(l, n)
  end
  local x, any = {}, false
  for i = 1, #n.inputs do
    local v = edit.input(l.g, n, i)
    any = any or v and l.blocked[v.id] ~= nil
  end
  if not any then return nil end
  for i = 1, #n.inputs do
    local v = edit.input(l.g, n, i)
    x[i] = v and is_image(v) and l:image(v) or nil
  end
  return rule(l.g, n, x, first.shape[2], l.b)
end

-- Whether blocks are not mostly what fills them up.
local function fits(g, n, kind, b)
  local there, here = costs(g, n, kind, b)
  return there <= here + conversion * program.size(edit.input(g, n, 1))
end

local function replace(l, n, made)
  for i, id in ipairs(n.outputs) do
    local old = value.of(l.g, id)
    local y = blocked.plain(l.g, made[i], old.shape[2])
    if #old.shape ~= 4 then y = l.g:reshape(y, { to = old.shape }) end
    l.g:replace_value(id, y.id)
    if #old.shape == 4 then l.blocked[y.id] = made[i] end
  end
end

return function(g, o)
  local b = block_of(o.target)
  if not b then return end
  local l = setmetatable({ g = g, b = b, blocked = {}, kind = {} }, layouts)
  for _, n in ipairs(g:nodes()) do
    local kind = kind_of(g, n)
    if kind and fits(g, n, kind, b) then l.kind[n.id] = kind end
  end
  local pays = find_regions(l)
  for _, node in ipairs(g:nodes()) do
    if pays(node) then
      local n = g:node_info(node.id)
      n.id = node.id
      local made = { results(l, n) }
      if made[1] then replace(l, n, made) end
    end
  end
end
