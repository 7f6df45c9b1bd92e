-- SPDX-License-Identifier: Apache-2.0
-- What sorts or selects: sizes that depend on data are bounded by those of the
-- input, and a result says how many there are; what is behind is 0.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local layout = require "tessera.ops.layout"
local list_of, tensor = declare.list_of, declare.tensor
local unflattened = layout.unflattened

local shape = list_of("shape", 1, "the shape of X")
local axis = declare.integer("axis", "the dimension, from 0; -1: the last",
                             "-1")
local X = tensor("X", { "shape..." })

local function long(x) return ts.cast(x, "int64") end
local function one_if(c) return ts.select(c, ts.const(1, "int64"),
                                          ts.const(0, "int64")) end
local function inside(i, n) return ts.min(ts.max(i, 0), n - 1) end

-- Where element i of a dimension of n would come: how many come before it.
--   before(j, ...): whether element j does, of element ...
local function ranks(name, to, d, before)
  local r = ts.reduce_axis("r", to[d])
  return kit.map(name, to, function(...)
    return ts.sum(one_if(before(r, ...)), r)
  end)
end

-- An order of all values, NaN behind infinity and equal to itself: whether a is
-- greater than b, and whether they are equal.
local function ordered(dtype)
  if not declare.is(dtype, "float") then return ts.gt, ts.eq end
  local function is_nan(x) return ts.ne(x, x) end
  local function greater(a, b)
    return ts.any(ts.gt(a, b), ts.all(is_nan(a), ts.eq(b, b)))
  end
  local function equal(a, b)
    return ts.any(ts.eq(a, b), ts.all(is_nan(a), is_nan(b)))
  end
  return greater, equal
end

-- ---- the greatest ----------------------------------------------------------

declare.operator {
  name = "top_k",
  summary = "The k greatest, or least, elements along a dimension, in order.",
  says = [[
Y_v0[.., i, ..] = the element of X of rank i along `axis`, Y_v1 where it is
from the greatest on, or the least (largest = false); of equal ones the first
comes first.  NaN is greater than all others.  Each element counts those before
it.]],
  tensors = { X },
  options = { shape, declare.count("k", "how many"), axis,
              { name = "largest", type = "boolean", default = "true",
                help = "the greatest, not the least" },
              declare.dtype("number") },
  example = "{ shape = { 4 }, k = 2 }",
  apply = function(o, x)
    local n, d = #o.shape, kit.axis(o, #o.shape, o.axis)
    local extent = o.shape[d]
    if o.k > extent then
      declare.wrong(o.name, "'k' is %d, more than %d", o.k, extent)
    end
    local function at(i, ...)
      return table.unpack(kit.with({ ... }, d, i), 1, n)
    end
    local greater, equal = ordered(o.dtype)
    local R = ranks("ranks", o.shape, d, function(j, ...)
      local here, there = x(...), x(at(j, ...))
      local better = o.largest and greater(there, here) or
                     not o.largest and greater(here, there)
      return ts.any(better,
                    ts.all(equal(there, here), ts.lt(j, (select(d, ...)))))
    end)
    local r, to = ts.reduce_axis("r", extent), kit.with(o.shape, d, o.k)
    local index = kit.map("index", to, function(...)
      local found = ts.eq(R(at(r, ...)), long((select(d, ...))))
      return ts.sum(ts.select(found, long(r), ts.const(0, "int64")), r)
    end)
    return kit.map("Y", to, function(...)
      return x(at(inside(index(...), extent), ...))
    end), index
  end,
}

-- ---- elements that are chosen ----------------------------------------------

-- Of `n` flags f the places of those that hold, in order, and how many hold.
local function chosen(n, f)
  local r = ts.reduce_axis("r", n)
  local before = kit.map("before", { n }, function(i)
    return ts.sum(one_if(ts.all(f(r), ts.lt(r, i))), r)
  end)
  local place = kit.map("place", { n }, function(i)
    return ts.sum(ts.select(ts.all(f(r), ts.eq(before(r), long(i))), long(r),
                            ts.const(0, "int64")), r)
  end)
  local count = kit.map("count", { 1 }, function()
    return ts.sum(one_if(f(r)), r)
  end)
  return place, count
end

local function is_set(x, dtype)
  if dtype == "bool" then return x end
  return ts.ne(x, ts.const(0, dtype))
end

declare.operator {
  name = "nonzero",
  summary = "The indices of the elements that are not 0.",
  says = [[
Y[d, i] = index along dimension d of the element number i that is not 0
in row-major order; Y: int64, of as many columns as X has elements, those behind
the last are 0; the second result, count[1], says how many there are.]],
  tensors = { X },
  options = { shape, declare.dtype("any") },
  example = "{ shape = { 2, 2 } }",
  apply = function(o, x)
    local total, rank = kit.product(o.shape), #o.shape
    local place, count = chosen(total, function(i)
      return is_set(x(table.unpack(unflattened(i, o.shape))), o.dtype)
    end)
    local Y = kit.map("Y", { rank, total }, function(d, i)
      local at = unflattened(place(i), o.shape)
      local y = ts.const(0, "int64")
      for k = rank, 1, -1 do
        y = ts.select(ts.eq(d, k - 1), long(at[k]), y)
      end
      return ts.select(ts.lt(long(i), count(0)), y, ts.const(0, "int64"))
    end)
    return Y, count
  end,
}

declare.operator {
  name = "compress",
  summary = "The parts along a dimension for which a flag is set.",
  says = [[
Y[.., i, ..] = X[.., p, ..], p: the place of flag number i that is set
C: bool, not longer than the dimension; Y is of X's shape, parts behind the last
are 0; the second result, count[1], says how many there are.]],
  tensors = { X, tensor("C", { "n" }, { type = "bool" }) },
  options = { shape, declare.count("n", "flags"), axis,
              declare.dtype("number") },
  example = "{ shape = { 4 }, n = 4 }",
  inputs = { C = "{ true, false, true, false }" },
  apply = function(o, x, C)
    local rank, d = #o.shape, kit.axis(o, #o.shape, o.axis)
    local extent = o.shape[d]
    if o.n > extent then
      declare.wrong(o.name, "%d flags of %d parts", o.n, extent)
    end
    local place, count = chosen(o.n, C)
    local Y = kit.map("Y", o.shape, function(...)
      local i = select(d, ...)
      local from = place(ts.min(i, o.n - 1))
      local y = x(table.unpack(kit.with({ ... }, d, inside(from, extent)), 1,
                               rank))
      return ts.select(ts.lt(long(i), count(0)), y, ts.const(0, o.dtype))
    end)
    return Y, count
  end,
}

declare.operator {
  name = "unique",
  summary = "The different parts of a tensor along a dimension.",
  says = [[
Y = the parts of X along `axis` that are unlike all before, in ascending order,
or, without `sorted`, in that of X; then first, where each comes first, inverse,
which part of Y each of X is, and counts, how many of each, all int64
Y and the others have room for all; count[1] says how many there are.]],
  tensors = { X },
  options = { shape, axis,
              { name = "sorted", type = "boolean", default = "true",
                help = "in ascending order" },
              declare.dtype("number") },
  example = "{ shape = { 4 } }",
  apply = function(o, x)
    local rank, d = #o.shape, kit.axis(o, #o.shape, o.axis)
    local n, rest = o.shape[d], kit.with(o.shape, d, nil)
    local total = kit.product(rest)
    local function element(i, k)
      return x(table.unpack(kit.inserted(unflattened(k, rest), d, i), 1, rank))
    end
    -- The first of the places where parts i and j differ; total: nowhere.
    local k = ts.reduce_axis("k", total)
    local differ = kit.map("differ", { n, n }, function(i, j)
      return ts.reduce_min(ts.select(ts.ne(element(i, k), element(j, k)),
                                     long(k), ts.const(total, "int64")), k)
    end)
    local function same(i, j) return ts.eq(differ(i, j), total) end
    local function less(i, j)
      local at = inside(differ(i, j), total)
      return ts.all(ts.lt(differ(i, j), total),
                    ts.lt(element(i, at), element(j, at)))
    end
    local r = ts.reduce_axis("r", n)
    local first = kit.map("firsts", { n }, function(i)
      return ts.reduce_min(ts.select(same(i, r), long(r),
                                     ts.const(n, "int64")), r)
    end)
    local function is_first(i) return ts.eq(first(i), long(i)) end
    local inverse = kit.map("inverse", { n }, function(i)
      local before = o.sorted and less(r, i) or
                     ts.lt(long(r), first(i))
      return ts.sum(one_if(ts.all(is_first(r), before)), r)
    end)
    local count = kit.map("count", { 1 }, function()
      return ts.sum(one_if(is_first(r)), r)
    end)
    local place = kit.map("first", { n }, function(i)
      local here = ts.all(is_first(r), ts.eq(inverse(r), long(i)))
      return ts.sum(ts.select(here, long(r), ts.const(0, "int64")), r)
    end)
    local counts = kit.map("counts", { n }, function(i)
      return ts.sum(one_if(ts.eq(inverse(r), long(i))), r)
    end)
    local Y = kit.map("Y", o.shape, function(...)
      local i = select(d, ...)
      local from = inside(place(i), n)
      local y = x(table.unpack(kit.with({ ... }, d, from), 1, rank))
      return ts.select(ts.lt(long(i), count(0)), y, ts.const(0, o.dtype))
    end)
    return Y, place, inverse, counts, count
  end,
}

-- ---- boxes -----------------------------------------------------------------

declare.operator {
  name = "non_max_suppression",
  summary = "Of boxes that overlap the one with the highest score.",
  says = [[
Y[i] = (image, class, box) of selection i, of those of each image and class from
the highest score on; a box counts if its score is above `score` and it shares
at most `iou` of its union with all that are selected
B[n, m, 4], corners (y1, x1, y2, x2) or, with `center`, (x, y, width, height);
S[n, c, m]; at most `most` of an image and a class; Y: int64[n c most, 3], and
count[1], how many there are.]],
  tensors = { tensor("B", { "n", "m", 4 }), tensor("S", { "n", "c", "m" }) },
  options = { declare.count("n", "images"), declare.count("c", "classes"),
              declare.count("m", "boxes"), declare.natural("most",
              "selections of an image and a class"),
              declare.number("iou", "the part that may overlap", "0"),
              declare.number("score", "the score to be above", "none"),
              declare.flag("center", "boxes by centers and sizes"),
              declare.dtype("float") },
  example = "{ n = 1, c = 1, m = 2, most = 1 }",
  apply = function(o, B, S)
    local n, c, m, most = o.n, o.c, o.m, math.max(o.most, 1)
    local function corner(high, axis_of, i, j)
      if not o.center then
        local a, b = B(i, j, axis_of), B(i, j, axis_of + 2)
        return high and ts.max(a, b) or ts.min(a, b)
      end
      local half = B(i, j, 3 - axis_of) / 2
      return B(i, j, 1 - axis_of) + (high and half or -half)
    end
    local corners = {}
    for d = 0, 1 do
      corners[d] = {
        low = kit.map("low" .. d, { n, m }, function(i, j)
          return corner(false, d, i, j)
        end),
        high = kit.map("high" .. d, { n, m }, function(i, j)
          return corner(true, d, i, j)
        end),
      }
    end
    local function area(i, j)
      return (corners[0].high(i, j) - corners[0].low(i, j)) *
             (corners[1].high(i, j) - corners[1].low(i, j))
    end
    local function overlap(i, j, k)
      local a = 1
      for d = 0, 1 do
        local x = corners[d]
        a = ts.max(ts.min(x.high(i, j), x.high(i, k)) -
                   ts.max(x.low(i, j), x.low(i, k)), 0) * a
      end
      return a
    end
    local over = kit.map("overlaps", { n, m, m }, function(i, j, k)
      local both = overlap(i, j, k)
      local union = area(i, j) + area(i, k) - both
      return ts.all(ts.gt(union, 0), ts.gt(both / union, o.iou))
    end)
    -- Selection s of image i and class k: the best box that is left; m: none.
    local b = kit.builder "non_max_suppression"
    local left = b:buffer("left", { n, c, m }, "bool")
    local pick = b:buffer("picks", { n, c, most }, "int64")
    local best = b:buffer("best", { n, c }, o.dtype)
    local function it(name, extent, bind, kind)
      return { name, kind or "spatial", extent = extent, bind = bind }
    end
    b:loop("i", 0, n, function(i) b:loop("k", 0, c, function(k)
      b:loop("j", 0, m, function(j)
        b:block("start", { it("vi", n, i), it("vk", c, k), it("vj", m, j) },
                function(vi, vk, vj)
          local ok = o.score and ts.gt(S(vi, vk, vj), o.score) or
                     ts.const(true, "bool")
          b:store(left, { vi, vk, vj }, ok)
        end)
      end)
      b:loop("s", 0, most, function(s)
        b:block("none", { it("vi", n, i), it("vk", c, k),
                          it("vs", most, s, "opaque") },
                function(vi, vk, vs)
          b:store(pick, { vi, vk, vs }, ts.const(m, "int64"))
          b:store(best, { vi, vk }, 0)
        end)
        b:loop("j", 0, m, function(j)
          b:block("pick", { it("vi", n, i), it("vk", c, k),
                            it("vs", most, s, "opaque"),
                            it("vj", m, j, "opaque") },
                  function(vi, vk, vs, vj)
            local better = ts.all(left(vi, vk, vj), ts.any(
              ts.eq(pick(vi, vk, vs), m), ts.gt(S(vi, vk, vj), best(vi, vk))))
            b:let("better", better, function(is)
              b:store(pick, { vi, vk, vs },
                      ts.select(is, long(vj), pick(vi, vk, vs)))
              b:store(best, { vi, vk },
                      ts.select(is, S(vi, vk, vj), best(vi, vk)))
            end)
          end)
        end)
        b:loop("j", 0, m, function(j)
          b:block("suppress", { it("vi", n, i), it("vk", c, k),
                                it("vs", most, s, "opaque"), it("vj", m, j) },
                  function(vi, vk, vs, vj)
            local p = pick(vi, vk, vs)
            local gone = ts.all(ts.lt(p, m), ts.any(ts.eq(p, long(vj)),
              over(vi, inside(p, m), vj)))
            b:store(left, { vi, vk, vj },
                    ts.all(left(vi, vk, vj), ts.lnot(gone)))
          end)
        end)
      end)
    end) end)
    local total = n * c * most
    local function at(f)
      return f // (c * most), f // most % c, f % most
    end
    local place, count = chosen(total, function(f)
      return o.most > 0 and ts.lt(pick(at(f)), m) or ts.const(false, "bool")
    end)
    local Y = kit.map("Y", { total, 3 }, function(i, k)
      local f = inside(place(i), total)
      local image, class = at(f)
      local y = ts.select(ts.eq(k, 0), long(image),
                          ts.select(ts.eq(k, 1), long(class), pick(at(f))))
      return ts.select(ts.lt(long(i), count(0)), y, ts.const(0, "int64"))
    end)
    return Y, count
  end,
}
