-- SPDX-License-Identifier: Apache-2.0
-- Operators that move elements: other orders, shapes, parts and borders.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local layout = require "tessera.ops.layout"
local list_of, tensor = declare.list_of, declare.tensor

local shape = list_of("shape", 1, "the shape of X")
local axis = declare.integer("axis", "the dimension, from 0; -1: the last",
                             "-1")
local any = declare.dtype("any")

-- Declares an operator with one input of `shape` and `dtype`.
local function mover(row)
  row.options = { shape, table.unpack(row.options) }
  row.options[#row.options + 1] = any
  row.tensors = row.tensors or { tensor("X", { "shape..." }) }
  declare.operator(row)
end

local function same_rank(o, name)
  if #o[name] ~= #o.shape then
    declare.wrong(o.name, "'%s' has %d entries, and there are %d dimensions",
                  name, #o[name], #o.shape)
  end
end

-- ---- orders and shapes -----------------------------------------------------

mover {
  name = "transpose",
  summary = "The dimensions of a tensor in another order.",
  says = [[
Y[i0, i1, ..] = X[j0, j1, ..], where j[p] = i[d], p = perm[d]
dimension d of Y is dimension perm[d] of X.]],
  options = { list_of("perm", 0, "dimensions of X, from 0", "reversed") },
  example = "{ shape = { 2, 3 } }",
  apply = function(o, X)
    local n, perm, to, seen = #o.shape, o.perm or {}, {}, {}
    if not o.perm then
      for d = 1, n do perm[d] = n - d end
    end
    if #perm ~= n then same_rank(o, "perm") end
    for d, from in ipairs(perm) do
      if from >= n or seen[from] then
        declare.wrong(o.name, "'perm' is not an order of %d dimensions", n)
      end
      seen[from], to[d] = true, o.shape[from + 1]
    end
    return kit.map("Y", to, function(...)
      local at, i = {}, { ... }
      for d, from in ipairs(perm) do at[from + 1] = i[d] end
      return X(table.unpack(at, 1, n))
    end)
  end,
}

mover {
  name = "reshape",
  summary = "The elements of a tensor in another shape.",
  says = [[
Y, in row-major order, has the elements of X in row-major order.]],
  options = { list_of("to", 1, "the shape of Y, of as many elements") },
  example = "{ shape = { 2, 3 }, to = { 3, 2 } }",
  apply = function(o, X)
    if kit.product(o.shape) ~= kit.product(o.to) then
      declare.wrong(o.name, "a shape of %d elements does not become one of %d",
                    kit.product(o.shape), kit.product(o.to))
    end
    return kit.map("Y", o.to, function(...)
      local at = layout.unflattened(layout.flat(o.to, { ... }), o.shape)
      return X(table.unpack(at, 1, #o.shape))
    end)
  end,
}

mover {
  name = "broadcast",
  summary = "A tensor repeated along dimensions of 1 and new first ones.",
  says = [[
Y[.., i, j] = X[i', j'], where i' is i, or 0 along a dimension of 1
the last dimensions of Y are those of X.]],
  options = { list_of("to", 1, "the shape of Y") },
  example = "{ shape = { 2, 1 }, to = { 2, 2, 3 } }",
  apply = function(o, X)
    kit.check_broadcast(o, o.shape, o.to, "shape")
    return kit.map("Y", o.to, function(...)
      return X(kit.broadcast(o.shape, o.to, { ... }))
    end)
  end,
}

mover {
  name = "tile",
  summary = "A tensor repeated along its dimensions.",
  says = [[
Y[i0, i1, ..] = X[i0 % shape[0], i1 % shape[1], ..]
dimension d of Y has shape[d] * times[d] elements.]],
  options = { list_of("times", 1, "how often along each dimension") },
  example = "{ shape = { 2, 2 }, times = { 1, 2 } }",
  apply = function(o, X)
    same_rank(o, "times")
    local to = {}
    for d, n in ipairs(o.shape) do to[d] = n * o.times[d] end
    return kit.map("Y", to, function(...)
      local at = { ... }
      for d, n in ipairs(o.shape) do
        if o.times[d] > 1 then at[d] = at[d] % n end
      end
      return X(table.unpack(at))
    end)
  end,
}

mover {
  name = "trilu",
  summary = "The lower or upper triangle of each matrix, 0 elsewhere.",
  says = [[
Y[.., i, j] = X[.., i, j] where j <= i + k (upper: j >= i + k), else 0
the matrices are the last two dimensions; k: how far right of the main diagonal
the triangle ends or begins.]],
  options = { declare.flag("upper", "the upper triangle"),
              declare.integer("k", "the diagonal, negative: below", "0") },
  example = "{ shape = { 3, 3 } }",
  apply = function(o, X)
    local n, dtype = #o.shape, o.dtype or "float32"
    if n < 2 then declare.wrong(o.name, "'shape' has no two dimensions") end
    local k = math.max(-o.shape[n - 1], math.min(o.k or 0, o.shape[n]))
    local zero = dtype == "bool" and ts.const(false, dtype) or
                 ts.const(0, dtype)
    return kit.map("Y", o.shape, function(...)
      local i, j = select(n - 1, ...)
      local inside = o.upper and ts.ge(j, i + k) or ts.le(j, i + k)
      return ts.select(inside, X(...), zero)
    end)
  end,
}

-- ---- channels and places ---------------------------------------------------

local images = { declare.count("n", "images"), declare.count("c", "channels"),
                 declare.count("h", "rows"), declare.count("w", "columns"),
                 declare.count("block", "rows and columns of a block") }
local channels_first = declare.word("mode", { "DCR", "CRD" }, "DCR",
  "whether the place in a block is before or behind the channel in the " ..
  "order of channels")

-- Channel c and place (y, x) of a block, as one of the channels that hold both.
local function folded_channel(o, c, y, x, channels)
  local place = y * o.block + x
  if o.mode == "CRD" then return c * (o.block * o.block) + place end
  return place * channels + c
end

declare.operator {
  name = "depth_to_space",
  summary = "Channels of an image become blocks of places, layout NCHW.",
  says = [[
Y[n, c, h*b + y, w*b + x] = X[n, (y*b + x) C + c, h, w] (DCR),
  X[n, c b b + y*b + x, h, w] (CRD)
b: block, C: c / (b b), the channels of Y[n, C, h b, w b].]],
  options = table.move({ channels_first, any }, 1, 2, 6,
                       table.move(images, 1, 5, 1, {})),
  example = "{ n = 1, c = 4, h = 1, w = 2, block = 2 }",
  tensors = { tensor("X", { "n", "c", "h", "w" }) },
  apply = function(o, X)
    local b = o.block
    if o.c % (b * b) ~= 0 then
      declare.wrong(o.name, "%d channels are no blocks of %d by %d", o.c, b, b)
    end
    local C = o.c // (b * b)
    return kit.map("Y", { o.n, C, o.h * b, o.w * b },
      function(n, c, h, w)
        return X(n, folded_channel(o, c, h % b, w % b, C), h // b, w // b)
      end)
  end,
}

declare.operator {
  name = "space_to_depth",
  summary = "Blocks of places of an image become channels, layout NCHW.",
  says = [[
Y[n, (y*b + x) c + i, h, w] = X[n, i, h*b + y, w*b + x] (DCR),
Y[n, i b b + y*b + x, h, w] (CRD)
b: block, which divides h and w; Y[n, c b b, h / b, w / b].]],
  options = table.move({ channels_first, any }, 1, 2, 6,
                       table.move(images, 1, 5, 1, {})),
  example = "{ n = 1, c = 1, h = 2, w = 4, block = 2 }",
  tensors = { tensor("X", { "n", "c", "h", "w" }) },
  apply = function(o, X)
    local b = o.block
    if o.h % b ~= 0 or o.w % b ~= 0 then
      declare.wrong(o.name, "%d rows and %d columns are no blocks of %d by %d",
                    o.h, o.w, b, b)
    end
    return kit.map("Y", { o.n, o.c * b * b, o.h // b, o.w // b },
      function(n, c, h, w)
        local place, i = c // o.c, c % o.c
        if o.mode == "CRD" then place, i = c % (b * b), c // (b * b) end
        return X(n, i, h * b + place // b, w * b + place % b)
      end)
  end,
}

-- ---- parts -----------------------------------------------------------------

mover {
  name = "slice",
  summary = "A part of a tensor, with steps.",
  says = [[
Y[i0, i1, ..] = X[begin[0] + i0 * step[0], ..]
up to but without `stop`; steps may be negative.]],
  options = {
    list_of("begin", 0, "the first index along each dimension"),
    list_of("stop", -1, "where each dimension ends; -1 with a negative " ..
            "step: after index 0", "shape"),
    list_of("step", math.mininteger, "the steps, not 0", "1"),
  },
  example = "{ shape = { 4, 4 }, begin = { 1, 0 }, step = { 1, 2 } }",
  apply = function(o, X)
    local begin, stop = o.begin, o.stop or o.shape
    local step, to = kit.each(o, "step", #o.shape, 1), {}
    for _, name in ipairs { "begin", "stop" } do
      if o[name] then same_rank(o, name) end
    end
    for d, n in ipairs(o.shape) do
      local s = step[d]
      local count_of = s ~= 0 and
                       -((begin[d] - stop[d]) // s) or 0
      if s == 0 or begin[d] >= n or stop[d] > n or count_of < 1 then
        declare.wrong(o.name, "nothing of dimension %d lies from %d to %d " ..
                      "by steps of %d", d - 1, begin[d], stop[d], s)
      end
      to[d] = count_of
    end
    return kit.map("Y", to, function(...)
      local at = { ... }
      for d, i in ipairs(at) do at[d] = begin[d] + i * step[d] end
      return X(table.unpack(at))
    end)
  end,
}

mover {
  name = "split",
  summary = "A tensor cut into parts along a dimension.",
  says = [[
Y1 has the first sizes[1] indices along `axis`, Y2 the next sizes[2], ..]],
  options = { declare.parts("sizes", 1,
                            "extents of the parts; their sum is that " ..
                      "of the dimension"), axis },
  example = "{ shape = { 2, 3 }, sizes = { 1, 2 } }",
  apply = function(o, X)
    local d, from, outputs = kit.axis(o, #o.shape, o.axis), 0, {}
    local sum = 0
    for _, n in ipairs(o.sizes) do sum = sum + n end
    if sum ~= o.shape[d] then
      declare.wrong(o.name, "the sum of 'sizes' is %d, not %d", sum, o.shape[d])
    end
    for i, n in ipairs(o.sizes) do
      local begin = from
      outputs[i] = kit.map("Y" .. i, kit.with(o.shape, d, n), function(...)
        local at = { ... }
        at[d] = at[d] + begin
        return X(table.unpack(at))
      end)
      from = from + n
    end
    return table.unpack(outputs)
  end,
}

-- A block reads at most so many parts; of more, as many at a time are joined
-- before.
local most_joined = 64

-- `inputs`, of `sizes` along dimension d, one behind the other.
local function joined(o, inputs, sizes, d, sum, name)
  if #inputs > most_joined then
    local parts, part_sizes = {}, {}
    for first = 1, #inputs, most_joined do
      local last, n = math.min(first + most_joined - 1, #inputs), 0
      for i = first, last do n = n + sizes[i] end
      parts[#parts + 1] = joined(o, table.move(inputs, first, last, 1, {}),
                                 table.move(sizes, first, last, 1, {}), d, n,
                                 "part")
      part_sizes[#parts] = n
    end
    return joined(o, parts, part_sizes, d, sum, name)
  end
  local begins, to = {}, 0
  for i, n in ipairs(sizes) do begins[i], to = to, to + n end
  return kit.map(name, kit.with(o.shape, d, sum), function(...)
    local at, y = { ... }, nil
    local i = at[d]
    for k = #inputs, 1, -1 do
      at[d] = i - begins[k]
      local x = inputs[k](table.unpack(at))
      y = y and ts.select(ts.lt(i, begins[k + 1]), x, y) or x
    end
    return y
  end)
end

mover {
  name = "concat",
  summary = "Tensors one behind the other along a dimension.",
  says = [[
Y has the indices of X1 along `axis`, then those of X2, ..
the others are of the shape but for sizes[1], sizes[2], .. along the axis.]],
  options = { declare.parts("sizes", 1,
                            "extents of the parts along the dimension"),
              axis },
  example = "{ shape = { 2, 1 }, sizes = { 1, 2 } }",
  tensors = { tensor("X", function(o, i)
    return kit.with(o.shape, kit.axis(o, #o.shape, o.axis), o.sizes[i])
  end, { list = function(o) return #o.sizes end }) },
  infer = function(o, tensors)
    local first = tensors.X[1]
    o.shape, o.sizes = first.shape, {}
    local d = kit.axis({ name = "concat" }, #o.shape, o.axis)
    for i, x in ipairs(tensors.X) do o.sizes[i] = x.shape[d] end
  end,
  apply = function(o, inputs)
    local d, sum = kit.axis(o, #o.shape, o.axis), 0
    if #o.sizes == 0 then declare.wrong(o.name, "'sizes' is empty") end
    for _, n in ipairs(o.sizes) do sum = sum + n end
    return joined(o, inputs, o.sizes, d, sum, "Y")
  end,
}

local modes = { "constant", "edge", "reflect", "wrap" }

-- What index i of a padded dimension is in one of n.
local function folded(mode, i, n)
  if mode == "wrap" then return i % n end
  if mode == "edge" then return ts.min(ts.max(i, 0), n - 1) end
  i = ts.max(i, -i)
  return ts.min(i, 2 * (n - 1) - i)
end

mover {
  name = "pad",
  summary = "A tensor with a border.",
  says = [[
Y[i, ..] = X[i - before[0], ..] where that lies in X, else
  value (constant), the nearest element (edge), the one that lies as far from
  the edge inside (reflect: X[1] before X[0]), or the one at the other end
  (wrap).]],
  options = {
    list_of("before", 0, "elements before each dimension"),
    list_of("after", 0, "elements behind each dimension", "before"),
    declare.word("mode", modes, "constant", "what the border is"),
    declare.number("value", "what a constant border is", "0"),
  },
  example = "{ shape = { 2, 2 }, before = { 0, 1 } }",
  apply = function(o, X)
    local before, after, to = o.before, o.after or o.before, {}
    local mode = o.mode or "constant"
    same_rank(o, "before")
    if o.after then same_rank(o, "after") end
    for d, n in ipairs(o.shape) do
      if mode == "reflect" and math.max(before[d], after[d]) >= n then
        declare.wrong(o.name, "dimension %d has too few elements to reflect",
                      d - 1)
      end
      to[d] = before[d] + n + after[d]
    end
    return kit.map("Y", to, function(...)
      local at, inside = { ... }, {}
      for d, n in ipairs(o.shape) do
        if before[d] + after[d] > 0 then
          local i = at[d] - before[d]
          at[d] = mode == "constant" and i or folded(mode, i, n)
          inside[#inside + 1] = ts.all(ts.ge(i, 0), ts.lt(i, n))
        end
      end
      local x = X(table.unpack(at))
      if mode ~= "constant" or #inside == 0 then return x end
      return ts.select(ts.all(table.unpack(inside)), x,
                       kit.constant(o, "value", 0))
    end)
  end,
}
