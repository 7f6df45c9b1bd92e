-- SPDX-License-Identifier: Apache-2.0
-- Linear algebra in place and on sparse matrices: LU and Cholesky
-- factorisation, triangular systems, and products with compressed rows.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local count, flag, tensor = declare.count, declare.flag, declare.tensor

-- Iteration variables that go in order, and in any order.
local function ordered(name, n, bind)
  return { name, "opaque", extent = n, bind = bind }
end
local function any(name, n, bind) return { name, extent = n, bind = bind } end

-- ---- factorisations --------------------------------------------------------

-- Step k of both: what is below the pivot is divided by it and kept, and the
-- product of what was kept is taken from an element behind.
local function scale_column(b, A, L, N, k, h)
  b:block("scale", { ordered("vk", N, k), any("vi", N, h) }, function(vk, vi)
    b:store(A, { vi, vk }, A(vi, vk) / A(vk, vk))
  end)
  b:block("column", { any("vk", N, k), any("vi", N, h) }, function(vk, vi)
    b:store(L, { vk, vi }, A(vi, vk))
  end)
end

local function update(b, A, L, U, N, k, i, j)
  b:block("update", { ordered("vk", N, k), any("vi", N, i), any("vj", N, j) },
          function(vk, vi, vj)
    b:store(A, { vi, vj }, A(vi, vj) - L(vk, vi) * U(vk, vj))
  end)
end

local square = tensor("A", { "n", "n" }, { changed = true })
local matrix = { count("n", "rows and columns of A"), declare.dtype("float") }

declare.operator {
  name = "lu",
  summary = "LU factorisation in place, without pivoting.",
  says = [[
A = L U, L with ones on its diagonal; A[n, n] becomes L - I + U
right-looking.  What a step takes from the column and the row of its pivot is
kept in buffers of their own, L and U, which schedules may lay out as they like.
No pivot may be 0.]],
  options = matrix,
  example = "{ n = 2 }",
  tensors = { square },
  result = "A",
  apply = function(o, A)
    local N, dtype = o.n, o.dtype
    local b = kit.builder "lu"
    local L = b:buffer("L", { N, N }, dtype)
    local U = b:buffer("U", { N, N }, dtype)
    b:loop("k", 0, N, function(k)
      b:loop("h", k + 1, N - 1 - k, function(h)
        scale_column(b, A, L, N, k, h)
      end)
      b:loop("j", k + 1, N - 1 - k, function(j)
        b:block("row", { any("vk", N, k), any("vj", N, j) }, function(vk, vj)
          b:store(U, { vk, vj }, A(vk, vj))
        end)
        b:loop("i", k + 1, N - 1 - k, function(i)
          update(b, A, L, U, N, k, i, j)
        end)
      end)
    end)
    return A
  end,
}

declare.operator {
  name = "cholesky",
  summary = "Cholesky factorisation in place.",
  says = [[
A = L L^T; the lower half of A[n, n], with the diagonal, becomes L
right-looking; A is symmetric and positive definite, of which the lower half
alone is read.  Buffers as of ops.lu.]],
  options = matrix,
  example = "{ n = 2 }",
  inputs = { A = "{ { 4, 2 }, { 2, 5 } }" },
  tensors = { square },
  result = "A",
  apply = function(o, A)
    local N, dtype = o.n, o.dtype
    local b = kit.builder "cholesky"
    local L = b:buffer("L", { N, N }, dtype)
    local U = b:buffer("U", { N, N }, dtype)
    b:loop("k", 0, N, function(k)
      b:block("root_of", { ordered("vk", N, k) }, function(vk)
        b:store(A, { vk, vk }, ts.sqrt(A(vk, vk)))
      end)
      b:loop("h", k + 1, N - 1 - k, function(h)
        scale_column(b, A, L, N, k, h)
        b:block("row", { any("vk", N, k), any("vi", N, h) }, function(vk, vi)
          b:store(U, { vk, vi }, A(vi, vk))
        end)
      end)
      b:loop("j", k + 1, N - 1 - k, function(j)
        b:loop("i", j, N - j, function(i)
          update(b, A, L, U, N, k, i, j)
        end)
      end)
    end)
    return A
  end,
}

-- ---- triangular systems ----------------------------------------------------

declare.operator {
  name = "triangular_solve",
  summary = "Solves a triangular system for many right-hand sides, in place.",
  says = [[
B[n, m] becomes the X with A X = B; A[n, n], of which the lower half is read, or
the upper one with `upper`
from the first row, or the last, each row takes its products from those to come.
With `unit` the diagonal counts as ones; else none of it may be 0.]],
  options = {
    count("n", "rows and columns of A"), count("m", "columns of B"),
    flag("upper", "A is upper triangular"),
    flag("unit", "the diagonal of A is 1, and is not read"),
    declare.dtype("float"),
  },
  example = "{ n = 1, m = 2 }",
  tensors = { tensor("A", { "n", "n" }),
              tensor("B", { "n", "m" }, { changed = true }) },
  result = "B",
  apply = function(o, A, B)
    local N, M, b = o.n, o.m, kit.builder "triangular_solve"
    -- Row number i of those in the order that they are solved in.
    local function row(i) return o.upper and N - 1 - i or i end
    b:loop("k", 0, N, function(k)
      b:loop("j", 0, M, function(j)
        if not o.unit then
          b:block("divide", { ordered("vk", N, k), any("vj", M, j) },
                  function(vk, vj)
            local r = row(vk)
            b:store(B, { r, vj }, B(r, vj) / A(r, r))
          end)
        end
        b:loop("i", k + 1, N - 1 - k, function(i)
          b:block("update", { ordered("vk", N, k), any("vi", N, i),
                              any("vj", M, j) }, function(vk, vi, vj)
            local r, at = row(vk), row(vi)
            b:store(B, { at, vj }, B(at, vj) - A(at, r) * B(r, vj))
          end)
        end)
      end)
    end)
    return B
  end,
}

-- ---- determinants ----------------------------------------------------------

-- Step k of Gaussian elimination of the matrices A[at.., :, :] of N rows, `at`
-- over `batch`: brings the row of the greatest element of column k, P, to row
-- k, multiplies the determinant D by that element, and takes row k from those
-- behind.
local function eliminate(b, A, P, D, N, batch, k)
  local rank, dtype = #batch, A.dtype
  -- A block over the batch and `more`; f gets the indices of the batch, a
  -- function of the place of an element, and the other indices.
  local function block(name, more, f)
    local iters = table.move(batch, 1, rank, 1, {})
    b:block(name, table.move(more, 1, #more, rank + 1, iters), function(...)
      local at = table.move({ ... }, 1, rank, 1, {})
      local function place(i, j)
        return kit.inserted(kit.inserted(at, rank + 1, i), rank + 2, j)
      end
      f(at, place, select(rank + 1, ...))
    end)
  end
  local function value(place) return A(table.unpack(place)) end
  local step = ordered("vk", N, k)
  local function row_of(at) return ts.clamp(P(table.unpack(at)), 0, N - 1) end
  block("start", { step }, function(at, _, vk)
    b:store(P, at, ts.cast(vk, "int64"))
  end)
  b:loop("i", k, N - k, function(i)
    block("pivot", { step, ordered("vi", N, i) }, function(at, place, vk, vi)
      local above = ts.gt(ts.abs(value(place(vi, vk))),
                          ts.abs(value(place(row_of(at), vk))))
      b:store(P, at, ts.select(above, ts.cast(vi, "int64"), row_of(at)))
    end)
  end)
  b:loop("j", 0, N, function(j)
    block("swap", { step, ordered("vj", N, j) }, function(at, place, vk, vj)
      b:let("upper", value(place(vk, vj)), function(upper)
        b:let("lower", value(place(row_of(at), vj)), function(lower)
          b:store(A, place(row_of(at), vj), upper)
          b:store(A, place(vk, vj), lower)
        end)
      end)
    end)
  end)
  block("multiply", { step }, function(at, place, vk)
    local d = value(place(vk, vk))
    local before = ts.select(ts.eq(vk, 0), ts.const(1, dtype),
                             D(table.unpack(at)))
    b:store(D, at, before * ts.select(ts.eq(row_of(at), vk), d, -d))
  end)
  b:loop("i", k + 1, N - 1 - k, function(i)
    b:loop("j", k + 1, N - 1 - k, function(j)
      block("update", { step, ordered("vi", N, i), ordered("vj", N, j) },
            function(_, place, vk, vi, vj)
        local d = value(place(vk, vk))
        local factor = ts.select(ts.eq(d, 0), ts.const(0, dtype),
                                 value(place(vi, vk)) / d)
        b:store(A, place(vi, vj), value(place(vi, vj)) -
                                  factor * value(place(vk, vj)))
      end)
    end)
  end)
end

declare.operator {
  name = "det",
  summary = "The determinant of each matrix.",
  says = [[
Y[b..] = det X[b.., :, :]
by Gaussian elimination, with the greatest element of a column as its pivot.]],
  options = { count("n", "rows and columns of a matrix"),
              declare.list_of("batch", 1, "the dimensions in front", "{}"),
              declare.dtype("float"), declare.acc() },
  example = "{ n = 2 }",
  tensors = { tensor("X", { "batch...", "n", "n" }) },
  infer = function(o, tensors)
    local x = tensors.X
    if x then o.batch = table.move(x.shape, 1, #x.shape - 2, 1, {}) end
  end,
  apply = function(o, X)
    local batch, N, iters, names = o.batch or {}, o.n, {}, {}
    local acc, wide, narrow = kit.accumulator(o)
    local b, rank = kit.builder "det", #batch
    local shape = kit.inserted(kit.inserted(batch, rank + 1, N), rank + 2, N)
    local A = b:buffer("rows", shape, acc)
    local P = b:buffer("pivots", batch, "int64")
    local D = b:buffer(acc == o.dtype and "Y" or "product", batch, acc)
    for d = 1, rank + 2 do names[d] = "i" .. d end
    kit.block(b, "copy", shape, names, function(...)
      b:store(A, { ... }, wide(X(...)))
    end)
    local function nest(d)
      if d <= rank then
        b:loop(names[d], 0, batch[d], function(i)
          iters[d] = any("v" .. names[d], batch[d], i)
          nest(d + 1)
        end)
        return
      end
      b:loop("k", 0, N, function(k) eliminate(b, A, P, D, N, iters, k) end)
    end
    nest(1)
    if acc == o.dtype then return D end
    return kit.map("Y", batch, function(...) return narrow(D(...)) end)
  end,
}

-- ---- sparse matrices -------------------------------------------------------

declare.operator {
  name = "spmv",
  summary = "A sparse matrix in compressed rows times a vector.",
  says = [=[
Y[i] = sum over p from R[i] to R[i + 1] - 1 of V[p] * X[C[p]]
V[nnz]: the elements that are not 0, row by row; C: int32[nnz], their columns;
R: int32[m + 1], where rows begin, ascending from 0 to nnz; X[n] -> Y[m].  Rows
and columns that lie outside count as the nearest inside.]=],
  options = {
    count("m", "rows"), count("n", "columns"),
    count("nnz", "elements that are not 0"), declare.dtype("number"),
    declare.accumulation(),
  },
  example = "{ m = 2, n = 2, nnz = 3 }",
  inputs = { C = "{ 0, 1, 1 }", R = "{ 0, 2, 3 }" },
  tensors = { tensor("V", { "nnz" }),
              tensor("C", { "nnz" }, { type = "int32" }),
              tensor("R", { function(o) return o.m + 1 end },
                     { type = "int32" }),
              tensor("X", { "n" }) },
  infer = function(o, tensors)
    o.m = o.m or (tensors.R.shape[1] or 0) - 1
  end,
  apply = function(o, V, C, R, X)
    local b = kit.builder "spmv"
    local acc, wide = kit.accumulator(o)
    local to_type = o.out or kit.beside(o)
    local Y = b:buffer("Y", { o.m }, to_type)
    local S = to_type == acc and Y or b:buffer("sums", { o.m }, acc)
    -- Where a row begins; within V, whatever R says.
    local function begin(i)
      return ts.clamp(ts.cast(R(i), "int64"), 0, o.nnz)
    end
    b:loop("i", 0, o.m, function(i)
      b:block("zero", { any("vi", o.m, i) }, function(vi)
        b:store(S, { vi }, 0)
      end)
      local from, to = begin(i), begin(i + 1)
      b:loop("p", from, to - from, function(p)
        b:block("add", { any("vi", o.m, i),
                         { "vp", "reduce", extent = o.nnz, bind = p } },
                { where = ts.all(ts.ge(p, 0), ts.lt(p, o.nnz)) },
                function(vi, vp)
          local at = ts.clamp(ts.cast(C(vp), "int64"), 0, o.n - 1)
          b:store(S, { vi }, S(vi) + wide(V(vp)) * wide(X(at)))
        end)
      end)
      if S == Y then return end
      b:block("converted", { any("vi", o.m, i) }, function(vi)
        b:store(Y, { vi }, ts.cast(S(vi), to_type))
      end)
    end)
    return Y
  end,
}
