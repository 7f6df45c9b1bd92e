-- SPDX-License-Identifier: Apache-2.0
-- Operators that choose elements by data: gathering and scattering by indices,
-- choosing by conditions, and vectors of one 1.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local count, list_of, tensor = declare.count, declare.list_of, declare.tensor

local any = declare.dtype("any")
local X = tensor("X", { "shape..." })
local I = tensor("I", { "indices..." }, { type = "index" })
local index_type = declare.word("index", { "int32", "int64" }, "int32",
                                "the type of I")

-- ---- by indices that are data ----------------------------------------------

declare.operator {
  name = "gather",
  summary = "Elements along a dimension, chosen by indices.",
  says = [[
Y[a.., i.., b..] = X[a.., I[i..], b..]
I: of the shape `indices`, which takes the place of `axis`; negative
indices count from the end, and one that is outside is the nearest inside.]],
  options = { list_of("shape", 1, "the shape of X"),
              list_of("indices", 1, "the shape of I"),
              declare.integer("axis", "the dimension, from 0", "0"), index_type,
              any },
  example = "{ shape = { 4, 2 }, indices = { 3 } }",
  tensors = { X, I },
  symbolic = true,
  apply = function(o, X, I)
    local d, n = kit.axis(o, #o.shape, o.axis), #o.indices
    local to = table.move(o.shape, 1, d - 1, 1, {})
    table.move(o.indices, 1, n, d, to)
    table.move(o.shape, d + 1, #o.shape, d + n, to)
    return kit.map("Y", to, function(...)
      local at = { ... }
      local from = table.move(at, 1, d - 1, 1, {})
      from[d] = kit.index(I(table.unpack(at, d, d + n - 1)), o.shape[d])
      table.move(at, d + n, #at, d + 1, from)
      return X(table.unpack(from, 1, #o.shape))
    end)
  end,
}

declare.operator {
  name = "gather_elements",
  summary = "An element for each index, from its own row.",
  says = [[
Y[.., i, ..] = X[.., I[.., i, ..], ..]
I: of the shape `indices`, which is that of Y and, but along `axis`, not
larger than that of X; negative indices count from the end, and one that is
outside is the nearest inside.]],
  options = { list_of("shape", 1, "the shape of X"),
              list_of("indices", 1, "the shape of I and Y"),
              declare.integer("axis", "the dimension, from 0", "0"), index_type,
              any },
  example = "{ shape = { 3, 2 }, indices = { 2, 2 } }",
  tensors = { X, I },
  apply = function(o, X, I)
    local n = #o.shape
    local d = kit.axis(o, n, o.axis)
    if #o.indices ~= n then
      declare.wrong(o.name, "'indices' has %d entries, and there are %d " ..
                    "dimensions", #o.indices, n)
    end
    for i, extent in ipairs(o.indices) do
      if i ~= d and extent > o.shape[i] then
        declare.wrong(o.name, "entry %d of 'indices' is %d, more than %d", i,
                      extent, o.shape[i])
      end
    end
    return kit.map("Y", o.indices, function(...)
      local from = kit.index(I(...), o.shape[d])
      return X(table.unpack(kit.with({ ... }, d, from), 1, n))
    end)
  end,
}

declare.operator {
  name = "scatter_add",
  summary = "Adds rows to those of a tensor that indices choose.",
  says = [[
Y[j, ..] = X[j, ..] + sum over i with I[i] = j of U[i, ..]
X and Y of `shape`, I: [n], U: [n, ..]; negative indices count from the
end, and one that is outside is the nearest inside.]],
  options = { list_of("shape", 1, "the shape of X"),
              count("n", "rows that are added"), index_type,
              declare.dtype("number") },
  example = "{ shape = { 3, 2 }, n = 2 }",
  tensors = { X, tensor("I", { "n" }, { type = "index" }),
              tensor("U", function(o) return kit.with(o.shape, 1, "n") end) },
  check = function(o)
    if #o.shape == 0 then
      declare.wrong(o.name, "'shape' has no dimension that indices choose from")
    end
  end,
  apply = function(o, X, I, U)
    local b = kit.builder "scatter_add"
    local names, rows = {}, kit.with(o.shape, 1, o.n)
    for d = 1, #o.shape do names[d] = "i" .. d end
    local Y = b:buffer("Y", o.shape, o.dtype)
    kit.block(b, "copy", o.shape, names, function(...)
      b:store(Y, { ... }, X(...))
    end)
    local loops = {}
    local function nest(d)
      if d <= #rows then
        b:loop(names[d], 0, rows[d], function(i)
          loops[d] = { "v" .. names[d], d == 1 and "reduce" or "spatial",
                       extent = rows[d], bind = i }
          nest(d + 1)
        end)
        return
      end
      b:block("add", loops, function(i, ...)
        local at = { kit.index(I(i), o.shape[1]), ... }
        b:store(Y, at, Y(table.unpack(at)) + U(i, ...))
      end)
    end
    nest(1)
    return Y
  end,
}

-- ---- by conditions ---------------------------------------------------------

local function operand(name, dtype)
  local of = name:lower() .. "_shape"
  return tensor(name, function(o)
    return { o[of] and of .. "..." or "shape..." }
  end, { type = dtype })
end

declare.operator {
  name = "where",
  summary = "Elements of one tensor or of another, as a condition says.",
  says = [[
Y = X where C holds, else Z
C: bool, and X, Z are broadcast to `shape`.]],
  options = {
    list_of("shape", 1, "the shape of Y"),
    list_of("c_shape", 1, "the shape of C", "shape"),
    list_of("x_shape", 1, "the shape of X", "shape"),
    list_of("z_shape", 1, "the shape of Z", "shape"), any,
  },
  example = "{ shape = { 2, 2 }, z_shape = { 1 } }",
  tensors = { operand("C", "bool"), operand "X", operand "Z" },
  infer = function(o, tensors)
    o.c_shape, o.x_shape = tensors.C.shape, tensors.X.shape
    o.z_shape = tensors.Z.shape
    local xz = kit.common({ name = "where" }, o.x_shape, o.z_shape, "x_shape",
                          "z_shape")
    o.shape = kit.common({ name = "where" }, o.c_shape, xz, "c_shape", "shape")
  end,
  symbolic = true,
  apply = function(o, ...)
    local inputs, of = { ... }, {}
    for i, name in ipairs { "c_shape", "x_shape", "z_shape" } do
      of[i] = o[name] or o.shape
      kit.check_broadcast(o, of[i], o.shape, name)
    end
    return kit.map("Y", o.shape, function(...)
      local at, x = { ... }, {}
      for i, b in ipairs(inputs) do
        x[i] = b(kit.broadcast(of[i], o.shape, at))
      end
      return ts.select(x[1], x[2], x[3])
    end)
  end,
}

declare.operator {
  name = "one_hot",
  summary = "Vectors that are 1 at an index and 0 elsewhere.",
  says = [[
Y[i.., j] = on where I[i..] = j, else off
I: of `shape`; negative indices count from the end; where one is outside
all of the vector is off.]],
  options = {
    list_of("shape", 1, "the shape of I"),
    count("depth", "the length of the vectors"),
    declare.number("on", "what is at the index", "1"),
    declare.number("off", "what is elsewhere", "0"), index_type,
    declare.dtype("number"),
  },
  example = "{ shape = { 2 }, depth = 3 }",
  tensors = { tensor("I", { "shape..." }, { type = "index" }) },
  symbolic = true,
  apply = function(o, I)
    local n = #o.shape
    local on, off = kit.constant(o, "on", 1), kit.constant(o, "off", 0)
    return kit.map("Y", kit.inserted(o.shape, n + 1, o.depth), function(...)
      local at = { ... }
      local i = ts.cast(I(table.unpack(at, 1, n)), "int64")
      local j = at[n + 1]
      return ts.select(ts.any(ts.eq(i, j), ts.eq(i + o.depth, j)),
                       on, off)
    end)
  end,
}
