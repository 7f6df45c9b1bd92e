-- SPDX-License-Identifier: Apache-2.0
-- Gathering and scattering by vectors of indices, and into windows; what is
-- scattered into is a copy.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local layout = require "tessera.ops.layout"
local list_of, tensor = declare.list_of, declare.tensor

local index_type = declare.word("index", { "int32", "int64" }, "int32",
                                "the type of the indices")
local shape = list_of("shape", 1, "the shape of X")
local indices = list_of("indices", 1, "the shape of I")
local X = tensor("X", { "shape..." })
local I = tensor("I", { "indices..." }, { type = "index" })

local function slice(list, from, to) return table.move(list, from, to, 1, {})
end

local function joined(...)
  local list = {}
  for _, part in ipairs { ... } do
    table.move(part, 1, #part, #list + 1, list)
  end
  return list
end

-- ---- vectors of indices ----------------------------------------------------

declare.operator {
  name = "gather_nd",
  summary = "Parts of a tensor, each chosen by a vector of indices.",
  says = [[
Y[b.., i.., r..] = X[b.., I[b.., i.., 0], I[b.., i.., 1], .., r..]
b: the first batch_dims dimensions, of both; the last dimension of I has the
vectors; negative indices count from the end, and one that is outside is the
nearest inside.]],
  tensors = { X, I },
  options = { shape, indices, declare.natural("batch_dims",
              "dimensions that both have in front", "0"), index_type,
              declare.dtype("any") },
  example = "{ shape = { 2, 3 }, indices = { 2, 2 } }",
  apply = function(o, x, idx)
    local b, n, k = o.batch_dims, #o.shape, o.indices[#o.indices]
    if #o.indices == 0 or b >= #o.indices or b + k > n then
      declare.wrong(o.name, "vectors of %s indices do not fit %d dimensions",
                    k or 0, n - b)
    end
    local rest = slice(o.shape, b + k + 1, n)
    local outer = slice(o.indices, 1, #o.indices - 1)
    return kit.map("Y", joined(outer, rest), function(...)
      local at = { ... }
      local from, place = slice(at, 1, b), slice(at, 1, #outer)
      for d = 1, k do
        place[#outer + 1] = d - 1
        from[b + d] = kit.index(idx(table.unpack(place)), o.shape[b + d])
      end
      table.move(at, #outer + 1, #at, b + k + 1, from)
      return x(table.unpack(from, 1, n))
    end)
  end,
}

-- ---- scattering ------------------------------------------------------------

-- What stays where x is and u comes.
local updates = {
  none = function(_, u) return u end,
  add = function(x, u) return x + u end,
  mul = function(x, u) return x * u end,
  max = ts.max, min = ts.min,
}
local ops_of = declare.word("op", { "none", "add", "mul", "max", "min" },
  "none", "what is done with what is there; without, the last one stays")

-- A tensor of shape `to` with x(place, ..) at each place, and of each element
-- of `from`, in order, f(place, ..): where it goes, and what.
local function scattered(o, to, x, from, f)
  local b = kit.builder(o.name)
  local Y, names, loops = b:buffer("Y", to, o.dtype), {}, {}
  for d = 1, 16 do names[d] = "i" .. d end
  kit.block(b, "copy", to, names, function(...)
    b:store(Y, { ... }, x(...))
  end)
  local function nest(d)
    if d <= #from then
      b:loop(names[d], 0, from[d], function(i)
        loops[d] = { "v" .. names[d], "opaque", extent = from[d], bind = i }
        nest(d + 1)
      end)
      return
    end
    b:block("update", loops, function(...)
      local at, u = f(...)
      b:store(Y, at, updates[o.op or "none"](Y(table.unpack(at)), u))
    end)
  end
  nest(1)
  return Y
end

declare.operator {
  name = "scatter_nd",
  summary = "Updates parts of a tensor, each chosen by a vector of indices.",
  says = [[
Y = X, but Y[I[i.., 0], I[i.., 1], .., r..] is U[i.., r..], or, with `op`, the
sum, product, greatest or least of what is there and that; in order of i
negative indices count from the end, and one that is outside is the nearest
inside.]],
  tensors = { X, I, tensor("U", function(o)
    local k = o.indices[#o.indices] or 0
    return joined(slice(o.indices, 1, #o.indices - 1),
                  slice(o.shape, k + 1, #o.shape))
  end) },
  options = { shape, indices, ops_of, index_type, declare.dtype("number") },
  example = "{ shape = { 4 }, indices = { 2, 1 } }",
  check = function(o)
    local k = o.indices[#o.indices]
    if not k or k > #o.shape then
      declare.wrong(o.name, "vectors of %s indices do not fit %d dimensions",
                    k or 0, #o.shape)
    end
  end,
  apply = function(o, x, idx, u)
    local k, n = o.indices[#o.indices], #o.indices - 1
    local rest = slice(o.shape, k + 1, #o.shape)
    local from = joined(slice(o.indices, 1, n), rest)
    return scattered(o, o.shape, x, from, function(...)
      local at = { ... }
      local place, to = slice(at, 1, n), {}
      for d = 1, k do
        place[n + 1] = d - 1
        to[d] = kit.index(idx(table.unpack(place)), o.shape[d])
      end
      table.move(at, n + 1, #at, k + 1, to)
      return to, u(...)
    end)
  end,
}

declare.operator {
  name = "scatter_elements",
  summary = "Updates an element of its own row for each index.",
  says = [[
Y = X, but Y[.., I[.., i, ..], ..] along `axis` is U[.., i, ..], or, with `op`,
the sum, product, greatest or least of what is there and that; in order
negative indices count from the end, and one that is outside is the nearest
inside.]],
  tensors = { X, I, tensor("U", { "indices..." }) },
  options = { shape, indices,
              declare.integer("axis", "the dimension, from 0", "0"), ops_of,
              index_type, declare.dtype("number") },
  example = "{ shape = { 3, 2 }, indices = { 1, 2 } }",
  check = function(o)
    if #o.indices ~= #o.shape then
      declare.wrong(o.name, "'indices' has %d entries, and there are %d " ..
                    "dimensions", #o.indices, #o.shape)
    end
    local d = kit.axis(o, #o.shape, o.axis)
    for i, n in ipairs(o.indices) do
      if i ~= d and kit.above(n, o.shape[i]) then
        declare.wrong(o.name, "entry %d of 'indices' is %d, more than %d", i,
                      n, o.shape[i])
      end
    end
  end,
  apply = function(o, x, idx, u)
    local d = kit.axis(o, #o.shape, o.axis)
    return scattered(o, o.shape, x, o.indices, function(...)
      local to = kit.with({ ... }, d, kit.index(idx(...), o.shape[d]))
      return to, u(...)
    end)
  end,
}

declare.operator {
  name = "tensor_scatter",
  summary = "Writes windows into a cache, each from an index of its own.",
  says = [[
Y = X, but Y[b, .., I[b] + i, ..] along `axis` is U[b, .., i, ..]
with `circular` what is behind the end comes to the beginning; else indices are
such that the window fits.]],
  tensors = { X, tensor("U", function(o)
    return kit.with(o.shape, kit.axis(o, #o.shape, o.axis), "n")
  end), tensor("I", function(o) return { o.shape[1] } end,
               { type = "index", when = "starts" }) },
  options = { shape, declare.count("n", "elements of a window"),
              declare.integer("axis", "the dimension, from 0 or the end",
                              "-2"),
              declare.flag("circular", "go on at the beginning"),
              { name = "starts", type = "boolean", default = "true",
                help = "whether there is I; else windows begin at 0" },
              declare.word("index", { "int32", "int64" }, "int64",
                           "the type of I"),
              declare.dtype("any") },
  example = "{ shape = { 1, 4, 2 }, n = 2 }",
  inputs = { I = "{ 1 }" },
  apply = function(o, x, u, I)
    local d, n = kit.axis(o, #o.shape, o.axis), #o.shape
    local extent = o.shape[d]
    if o.n > extent then
      declare.wrong(o.name, "'n' is %d, more than %d", o.n, extent)
    end
    return kit.map("Y", o.shape, function(...)
      local at = { ... }
      local from = I and ts.cast(I(at[1]), "int64") or 0
      local i = at[d] - from
      if o.circular then i = i % extent end
      local inside = ts.all(ts.ge(i, 0), ts.lt(i, o.n))
      local place = kit.with(at, d, ts.min(ts.max(i, 0), o.n - 1))
      return ts.select(inside, u(table.unpack(place, 1, n)), x(...))
    end)
  end,
}

declare.operator {
  name = "reverse_sequence",
  summary = "The first elements of each sequence in reverse.",
  says = [[
Y[.., b, .., t, ..] = X[.., b, .., L[b] - 1 - t, ..] where t < L[b], else X
L: int64, how many elements of a sequence are reversed; b along batch_axis, t
along time_axis.]],
  tensors = { X, tensor("L", function(o)
    return { o.shape[kit.axis(o, #o.shape, o.batch_axis, "batch_axis")] }
  end, { type = "index" }) },
  options = { shape, declare.integer("time_axis", "the dimension of time",
                                     "0"),
              declare.integer("batch_axis", "that of sequences", "1"),
              declare.word("index", { "int32", "int64" }, "int64",
                           "the type of L"), declare.dtype("any") },
  example = "{ shape = { 3, 2 } }",
  inputs = { L = "{ 2, 3 }" },
  apply = function(o, x, L)
    local n = #o.shape
    local t = kit.axis(o, n, o.time_axis, "time_axis")
    local b = kit.axis(o, n, o.batch_axis, "batch_axis")
    return kit.map("Y", o.shape, function(...)
      local at = { ... }
      local last = ts.cast(L(at[b]), "int64") - 1
      local from = ts.min(ts.max(last - at[t], 0), o.shape[t] - 1)
      return ts.select(ts.le(at[t], last),
                       x(table.unpack(kit.with(at, t, from), 1, n)), x(...))
    end)
  end,
}

declare.operator {
  name = "max_unpool",
  summary = "Elements put back where a max pooling took them from, else 0.",
  says = [[
Y = 0, but the element at place I[i..], in row-major order, is X[i..]; in order
I: int64, as of ops.max_pool2d with `indices`; places are those of a tensor of
shape `of`, the first part of Y; one that is outside is the nearest inside.]],
  tensors = { X, tensor("I", { "shape..." }, { type = "int64" }) },
  options = { shape, list_of("to", 1, "the shape of Y"),
              list_of("of", 1, "the shape that places are of", "to"),
              declare.dtype("number") },
  example = "{ shape = { 1, 1, 2 }, to = { 1, 1, 4 } }",
  inputs = { I = "{ { { 1, 3 } } }" },
  check = function(o)
    local of = o.of or o.to
    if #of ~= #o.to then
      declare.wrong(o.name, "'of' has %d entries, and 'to' has %d", #of, #o.to)
    end
    for d, n in ipairs(of) do
      if n > o.to[d] then
        declare.wrong(o.name, "entry %d of 'of' is %d, more than %d", d, n,
                      o.to[d])
      end
    end
  end,
  apply = function(o, x, I)
    local of = o.of or o.to
    local function zero() return ts.const(0, o.dtype) end
    return scattered(o, o.to, zero, o.shape, function(...)
      local place = ts.clamp(I(...), 0, kit.product(of) - 1)
      return layout.unflattened(place, of), x(...)
    end)
  end,
}
