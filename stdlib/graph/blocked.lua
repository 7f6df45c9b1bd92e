-- SPDX-License-Identifier: Apache-2.0
-- Images whose channels are in blocks, [n, c / b, h, w, b], of those of a
-- graph, [n, c, h, w]: what the pass over layouts converts, and how operators
-- compute with them.  Channels that do not fill the last block are followed by
-- others, which are finite, and which weights of 0 leave out.
local edit = require "tessera.graph.edit"
local value = require "tessera.graph.value"

local blocked = {}

-- ---- conversions -----------------------------------------------------------

function blocked.round_up(c, b) return (c + b - 1) // b * b end

local function padded(g, v, dims, b, with)
  local before, after, any = {}, {}, false
  for d, n in ipairs(v.shape) do
    before[d], after[d] = 0, dims[d] and blocked.round_up(n, b) - n or 0
    any = any or after[d] > 0
  end
  if not any then return v end
  return g:pad(v, { before = before, after = after, value = with })
end

-- An image in blocks; `with`: what is behind its last channel, else 0.
function blocked.of(g, v, b, with)
  v = padded(g, v, { [2] = true }, b, with)
  local n, c, h, w = table.unpack(v.shape)
  if h * w == 1 then return g:reshape(v, { to = { n, c // b, 1, 1, b } }) end
  return g:transpose(g:reshape(v, { to = { n, c // b, b, h, w } }),
                     { perm = { 0, 1, 3, 4, 2 } })
end

-- What is in blocks as an image again, of c channels.
function blocked.plain(g, v, c)
  local n, blocks, h, w, b = table.unpack(v.shape)
  if h * w > 1 then v = g:transpose(v, { perm = { 0, 1, 4, 2, 3 } }) end
  v = g:reshape(v, { to = { n, blocks * b, h, w } })
  if c == blocks * b then return v end
  return g:slice(v, { begin = { 0, 0, 0, 0 }, stop = { n, c, h, w } })
end

-- Weights [co, ci, kh, kw] of blocks of `ib` and `ob` channels, and a vector of
-- the channels of a result.
function blocked.weights(g, w, ib, ob)
  w = padded(g, padded(g, w, { true }, ob), { [2] = true }, ib)
  local co, ci, kh, kw = table.unpack(w.shape)
  w = g:reshape(w, { to = { co // ob, ob, ci // ib, ib, kh, kw } })
  return g:transpose(w, { perm = { 0, 2, 4, 5, 3, 1 } })
end

-- The same of weights [c, 1, kh, kw], which have a channel each.
function blocked.depthwise(g, w, b)
  w = padded(g, w, { true }, b)
  local c, _, kh, kw = table.unpack(w.shape)
  w = g:reshape(w, { to = { c // b, b, kh, kw } })
  return g:transpose(w, { perm = { 0, 2, 3, 1 } })
end

function blocked.vector(g, v, b)
  v = padded(g, v, { true }, b)
  return g:reshape(v, { to = { v.shape[1] // b, b } })
end

-- ---- operators -------------------------------------------------------------
-- blocked.rules[op](g, n, x, c, b): the result in blocks of the node n (or
-- several), of its inputs x in blocks of b, the first of which has c channels;
-- dimensions of one that the result does not keep stay.  nil: it cannot be.

local rules = {}
blocked.rules = rules

-- Where windows move over channels that are last, blocks are as images.
local function of_images(g, n, x, _, b)
  local v, attrs = x[1], n.attrs
  if attrs.indices or attrs.layout == "NHWC" then return nil end
  local images, blocks, h, w = table.unpack(v.shape)
  v = g:reshape(v, { to = { images * blocks, h, w, b } })
  v = g[n.op](g, v, edit.with(attrs, { layout = "NHWC" }))
  return g:reshape(v, { to = { images, blocks, v.shape[2], v.shape[3], b } })
end

for _, op in ipairs { "max_pool2d", "avg_pool2d", "lp_pool2d", "global_pool2d",
                      "resize2d" } do
  rules[op] = of_images
end

-- A list of an entry a dimension, of which the channels' is `neutral`, with one
-- for blocks behind the others.
local function longer(list, neutral, last)
  if not list then return nil end
  if list[2] ~= neutral then return false end
  return { list[1], list[2], list[3], list[4], last }
end

function rules.pad(g, n, x)
  local before = longer(n.attrs.before, 0, 0)
  local after = longer(n.attrs.after or n.attrs.before, 0, 0)
  local value = n.attrs.value or 0
  if not before or not after or x[2] or value - value ~= 0 then return nil end
  return g:pad(x[1], edit.with(n.attrs, { before = before, after = after }))
end

function rules.resize(g, n, x, c, b)
  local to, scales = longer(n.attrs.to, c, b), longer(n.attrs.scales, 1, 1)
  if not to or scales == false or n.attrs.crop then return nil end
  to[2] = x[1].shape[2]
  return g:resize(x[1], edit.with(n.attrs, { to = to, scales = scales }))
end

local function is_channel(axis) return (axis or -1) % 4 == 1 end

function rules.concat(g, n, x, _, b)
  if not is_channel(n.attrs.axis) then return nil end
  for i, id in ipairs(n.inputs) do
    if value.of(g, id).shape[2] % b ~= 0 or not x[i] then return nil end
  end
  x[#x + 1] = { axis = 1 }
  return g:concat(table.unpack(x))
end

function rules.split(g, n, x, _, b)
  if not is_channel(n.attrs.axis) then return nil end
  local sizes = {}
  for i, size in ipairs(n.attrs.sizes) do
    if size % b ~= 0 then return nil end
    sizes[i] = size // b
  end
  return g:split(x[1], { sizes = sizes, axis = 1 })
end

function rules.slice(g, n, x, c, b)
  local o, shape = n.attrs, x[1].shape
  local step, stop = o.step and o.step[2] or 1, o.stop and o.stop[2] or c
  if step ~= 1 or o.begin[2] % b ~= 0 or stop % b ~= 0 then return nil end
  local function with(list, channel, last)
    return { list[1], channel, list[3], list[4], last }
  end
  local whole = { shape[1], 0, shape[3], shape[4] }
  return g:slice(x[1], {
    begin = with(o.begin, o.begin[2] // b, 0),
    stop = with(o.stop or whole, stop // b, b),
    step = o.step and with(o.step, 1, 1),
  })
end

function rules.reduce(g, n, x)
  local seen = {}
  for _, axis in ipairs(n.attrs.axes or {}) do seen[axis % 4] = true end
  if seen[0] or seen[1] or not (seen[2] and seen[3]) then return nil end
  return g:reduce(x[1], edit.with(n.attrs, { axes = { 2, 3 }, keep = true }))
end

return blocked
