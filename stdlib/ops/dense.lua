-- SPDX-License-Identifier: Apache-2.0
-- Products of matrices: plain, in batches, and dense layers.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local count, flag = declare.count, declare.flag

local acc, out = declare.accumulation()

-- The indices of an operand that may be given transposed.
local function at(trans, i, j)
  if trans then return j, i end
  return i, j
end

local function wider(o, name)
  return name .. (o.bias and "_bias" or "") ..
         ((o.act or o.relu) and "_" .. (o.act or "relu") or "")
end

-- ---- one product -----------------------------------------------------------

local function product(o, name, trans_a, trans_b)
  local dtype = o.dtype or "float32"
  local sum_type, wide = kit.accumulator(o)
  local A = ts.placeholder("A", { at(trans_a, o.m, o.k) }, dtype)
  local B = ts.placeholder("B", { at(trans_b, o.k, o.n) }, dtype)
  local k = ts.reduce_axis("k", o.k)
  local C = ts.compute("C", { o.m, o.n }, function(i, j)
    return ts.sum(wide(A(at(trans_a, i, k))) * wide(B(at(trans_b, k, j))), k)
  end)
  local inputs = { A, B }
  local y = kit.epilogue(o, C, { o.m, o.n }, { "i", "j" }, 2, inputs, sum_type)
  return ts.program(wider(o, name), inputs, { y })
end

declare.operator {
  name = "matmul",
  summary = "A matrix product.",
  says = [[
C[i, j] = act(sum over k of A[i, k] * B[k, j] + bias[j])
A[m, k], B[k, n], bias[n] -> C[m, n], row-major; trans_a: A[k, m], trans_b:
B[n, k].  Elements become `acc` before they are multiplied; bias is of
`acc` where that is given.]],
  options = {
    count("m", "rows of A and of the result"),
    count("n", "columns of B and of the result"),
    count("k", "columns of A and rows of B"),
    declare.dtype("number", "float32", "the type of A and B"), acc, out,
    flag("trans_a", "A is given as A[k, m]"),
    flag("trans_b", "B is given as B[n, k]"),
    flag("bias", "add a vector of n to each row"),
    kit.activations(),
    flag("relu", "what is below 0 becomes 0"),
  },
  example = "{ m = 2, n = 3, k = 2, relu = true }",
  make = function(o) return product(o, "matmul", o.trans_a, o.trans_b) end,
}

declare.operator {
  name = "dense",
  summary = "A layer of a neural network: rows times weights, and bias.",
  says = [[
C[i, j] = act(sum over k of A[i, k] * B[j, k] + bias[j])
A[m, k], B[n, k], bias[n] -> C[m, n], row-major.]],
  options = {
    count("m", "rows: how many inputs there are at once"),
    count("n", "features of the result"),
    count("k", "features of the input"),
    declare.dtype("number", "float32", "the type of A and B"), acc, out,
    { name = "bias", type = "boolean", default = "true",
      help = "add a number to each feature" },
    kit.activations(),
  },
  example = "{ m = 2, n = 2, k = 3, act = \"gelu\" }",
  make = function(o)
    local with_bias = setmetatable({ bias = o.bias ~= false }, { __index = o })
    return product(with_bias, "dense", false, true)
  end,
}

declare.operator {
  name = "gemm",
  summary = "A matrix product, scaled, added to a scaled matrix.",
  says = [[
Y[i, j] = alpha * (sum over k of A[i, k] * B[k, j]) + beta * C[i, j]
A[m, k], B[k, n], C[m, n] -> Y[m, n], row-major; trans_a: A[k, m], trans_b:
B[n, k].]],
  options = {
    count("m", "rows of A and of the result"),
    count("n", "columns of B and of the result"),
    count("k", "columns of A and rows of B"),
    declare.number("alpha", "what the product is multiplied with", "1"),
    declare.number("beta", "what C is multiplied with", "1"),
    declare.dtype("float"), declare.acc(),
    flag("trans_a", "A is given as A[k, m]"),
    flag("trans_b", "B is given as B[n, k]"),
  },
  example = "{ m = 2, n = 2, k = 2, alpha = 2 }",
  make = function(o)
    local dtype = o.dtype or "float32"
    local _, wide, narrow = kit.accumulator(o)
    local A = ts.placeholder("A", { at(o.trans_a, o.m, o.k) }, dtype)
    local B = ts.placeholder("B", { at(o.trans_b, o.k, o.n) }, dtype)
    local C = ts.placeholder("C", { o.m, o.n }, dtype)
    local k = ts.reduce_axis("k", o.k)
    local P = ts.compute("product", { o.m, o.n }, function(i, j)
      return ts.sum(wide(A(at(o.trans_a, i, k))) *
                    wide(B(at(o.trans_b, k, j))), k)
    end)
    local Y = ts.compute("Y", { o.m, o.n }, function(i, j)
      return narrow(P(i, j) * (o.alpha or 1) + wide(C(i, j)) * (o.beta or 1))
    end)
    return ts.program("gemm", { A, B, C }, { Y })
  end,
}

-- ---- batches ---------------------------------------------------------------

declare.operator {
  name = "batch_matmul",
  summary = "Matrix products, one for each of a batch.",
  says = [[
C[b, i, j] = act(sum over k of A[b, i, k] * B[b, k, j] + bias[j])
A[b, m, k], B[b, k, n], bias[n] -> C[b, m, n], row-major; trans_a: A[b, k, m],
trans_b: B[b, n, k].]],
  options = {
    count("b", "matrices"),
    count("m", "rows of A and of the result"),
    count("n", "columns of B and of the result"),
    count("k", "columns of A and rows of B"),
    declare.dtype("number", "float32", "the type of A and B"), acc, out,
    flag("trans_a", "A is given as A[b, k, m]"),
    flag("trans_b", "B is given as B[b, n, k]"),
    kit.epilogue_options(),
  },
  example = "{ b = 2, m = 1, n = 2, k = 2 }",
  make = function(o)
    local dtype = o.dtype or "float32"
    local sum_type, wide = kit.accumulator(o)
    local A = ts.placeholder("A", { o.b, at(o.trans_a, o.m, o.k) }, dtype)
    local B = ts.placeholder("B", { o.b, at(o.trans_b, o.k, o.n) }, dtype)
    local k, shape = ts.reduce_axis("k", o.k), { o.b, o.m, o.n }
    local C = ts.compute("C", shape, function(b, i, j)
      return ts.sum(wide(A(b, at(o.trans_a, i, k))) *
                    wide(B(b, at(o.trans_b, k, j))), k)
    end)
    local inputs = { A, B }
    local y = kit.epilogue(o, C, shape, { "b", "i", "j" }, 3, inputs, sum_type)
    return ts.program(wider(o, "batch_matmul"), inputs, { y })
  end,
}

declare.operator {
  name = "transpose_batch_matmul",
  summary = "Products of what attention heads project, transposed on the way.",
  says = [[
C[b, h, i, j] = sum over k of Q[b, i, h, k] * V[b, j, h, k]
Q[b, seq, heads, dim], V[b, seq, heads, dim] -> C[b, heads, seq, seq]; both are
first laid out anew, as Q[b, h, i, k] and V[b, h, k, j].]],
  options = {
    count("b", "sequences"), count("seq", "their length"),
    count("heads", "heads"), count("dim", "numbers of a head"),
    declare.dtype("number"), acc, out,
  },
  example = "{ b = 1, seq = 2, heads = 2, dim = 2 }",
  make = function(o)
    local dtype, n = o.dtype or "float32", { o.b, o.seq, o.heads, o.dim }
    local Q, V = ts.placeholder("Q", n, dtype), ts.placeholder("V", n, dtype)
    local sum_type, wide = kit.accumulator(o)
    local Qt = ts.compute("Qt", { o.b, o.heads, o.seq, o.dim },
      function(b, h, i, k) return Q(b, i, h, k) end)
    local Vt = ts.compute("Vt", { o.b, o.heads, o.dim, o.seq },
      function(b, h, k, j) return V(b, j, h, k) end)
    local k = ts.reduce_axis("k", o.dim)
    local C = ts.compute("C", { o.b, o.heads, o.seq, o.seq },
      function(b, h, i, j)
        return ts.sum(wide(Qt(b, h, i, k)) * wide(Vt(b, h, k, j)), k)
      end)
    C = kit.epilogue({ name = o.name, dtype = o.dtype, acc = o.acc,
                       out = o.out }, C, { o.b, o.heads, o.seq, o.seq },
                     { "b", "h", "i", "j" }, 4, {}, sum_type)
    return ts.program("transpose_batch_matmul", { Q, V }, { C })
  end,
}
