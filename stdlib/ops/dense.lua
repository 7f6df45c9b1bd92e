-- SPDX-License-Identifier: Apache-2.0
-- Products of matrices: plain, in batches, and dense layers.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local count, flag, tensor = declare.count, declare.flag, declare.tensor

local acc, out = declare.accumulation()

-- The indices of an operand that may be given transposed.
local function at(trans, i, j)
  if trans then return j, i end
  return i, j
end

-- A shape, or a list of indices, that ends so.
local function ending(trans, list, i, j)
  local to = table.move(list, 1, #list, 1, {})
  to[#to + 1], to[#to + 2] = at(trans, i, j)
  return to
end

local function wider(o)
  return o.name .. (o.bias and "_bias" or "") ..
         ((o.act or o.relu) and "_" .. (o.act or "relu") or "")
end

-- ---- one product -----------------------------------------------------------

-- The sum over k of A[b.., i, k] B[b.., k, j], its shape, its axes' names and
-- its type; the batches b are broadcast.
local function product(o, A, B, trans_a, trans_b)
  local sum_type, wide = kit.accumulator(o)
  local ba, bb = o.batch or {}, o.batch_b or o.batch or {}
  local batch = kit.common(o, ba, bb, "batch", "batch_b")
  local names = {}
  for d = 1, #batch do names[d] = "b" .. d end
  local n = #batch
  local k = ts.reduce_axis("k", o.k)
  local shape = ending(false, batch, o.m, o.n)
  names[n + 1], names[n + 2] = "i", "j"
  local C = kit.compute("C", shape, names, function(...)
    local index = { ... }
    local i, j = index[n + 1], index[n + 2]
    local a = ending(trans_a, { kit.broadcast(ba, batch, index) }, i, k)
    local b = ending(trans_b, { kit.broadcast(bb, batch, index) }, k, j)
    return ts.sum(wide(A(table.unpack(a))) * wide(B(table.unpack(b))), k)
  end)
  return C, shape, names, sum_type
end

local function layer(o, trans_a, trans_b, A, B, bias)
  local C, shape, names, sum_type = product(o, A, B, trans_a, trans_b)
  return kit.epilogue(o, C, shape, names, #shape, sum_type, bias)
end

declare.operator {
  name = "matmul",
  summary = "A matrix product, or one for each of a batch.",
  says = [[
C[b.., i, j] = act(sum over k of A[b.., i, k] * B[b.., k, j] + bias[j])
A[.., m, k], B[.., k, n], bias[n] -> C[.., m, n], row-major; trans_a:
A[.., k, m], trans_b: B[.., n, k].  The dimensions in front, those of `batch`
and `batch_b`, are broadcast.  Elements become `acc` before they are multiplied;
bias is of `acc` where that is given.]],
  tensors = {
    tensor("A", function(o) return { "batch...", at(o.trans_a, "m", "k") } end),
    tensor("B", function(o)
      return { o.batch_b and "batch_b..." or "batch...",
               at(o.trans_b, "k", "n") }
    end),
    kit.epilogue_tensors "n",
  },
  infer = function(o, tensors)
    local b = tensors.B.shape
    o.batch_b = o.batch_b or table.move(b, 1, #b - 2, 1, {})
  end,
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
    declare.list_of("batch", 1, "the dimensions of A in front", "none"),
    declare.list_of("batch_b", 1, "those of B", "batch"),
  },
  symbolic = true,
  example = "{ m = 2, n = 3, k = 2, relu = true }",
  result = "C",
  program = wider,
  apply = function(o, ...) return layer(o, o.trans_a, o.trans_b, ...) end,
}

declare.operator {
  name = "dense",
  summary = "A layer of a neural network: rows times weights, and bias.",
  says = [[
C[i, j] = act(sum over k of A[i, k] * B[j, k] + bias[j])
A[m, k], B[n, k], bias[n] -> C[m, n], row-major.]],
  tensors = { tensor("A", { "m", "k" }), tensor("B", { "n", "k" }),
              kit.epilogue_tensors "n" },
  options = {
    count("m", "rows: how many inputs there are at once"),
    count("n", "features of the result"),
    count("k", "features of the input"),
    declare.dtype("number", "float32", "the type of A and B"), acc, out,
    { name = "bias", type = "boolean", default = "true",
      help = "add a number to each feature" },
    kit.activations(),
  },
  symbolic = true,
  example = "{ m = 2, n = 2, k = 3, act = \"gelu\" }",
  result = "C",
  program = wider,
  apply = function(o, ...) return layer(o, false, true, ...) end,
}

declare.operator {
  name = "gemm",
  summary = "A matrix product, scaled, added to a scaled matrix.",
  says = [[
Y[i, j] = alpha * (sum over k of A[i, k] * B[k, j]) + beta * C[i, j]
A[m, k], B[k, n] -> Y[m, n], row-major; trans_a: A[k, m], trans_b: B[n, k].  C
is of `c_shape`, which is broadcast to that of Y.]],
  tensors = {
    tensor("A", function(o) return { at(o.trans_a, "m", "k") } end),
    tensor("B", function(o) return { at(o.trans_b, "k", "n") } end),
    tensor("C", function(o)
      return o.c_shape and { "c_shape..." } or { "m", "n" }
    end, { when = "add" }),
  },
  options = {
    count("m", "rows of A and of the result"),
    count("n", "columns of B and of the result"),
    count("k", "columns of A and rows of B"),
    declare.number("alpha", "what the product is multiplied with", "1"),
    declare.number("beta", "what C is multiplied with", "1"),
    { name = "add", type = "boolean", default = "true", help = "add C" },
    declare.list_of("c_shape", 1, "the shape of C", "that of Y"),
    declare.dtype("number"), declare.acc "number",
    flag("trans_a", "A is given as A[k, m]"),
    flag("trans_b", "B is given as B[n, k]"),
  },
  infer = function(o, tensors) o.c_shape = tensors.C and tensors.C.shape end,
  symbolic = true,
  example = "{ m = 2, n = 2, k = 2, alpha = 2 }",
  apply = function(o, A, B, C)
    local acc_type, wide, narrow = kit.accumulator(o)
    local to, k = { o.m, o.n }, ts.reduce_axis("k", o.k)
    local of = o.c_shape or to
    if C then kit.check_broadcast(o, of, to, "c_shape") end
    local alpha = kit.constant(o, "alpha", 1, acc_type)
    local beta = kit.constant(o, "beta", 1, acc_type)
    local P = kit.compute("product", to, { "i", "j" }, function(i, j)
      return ts.sum(wide(A(at(o.trans_a, i, k))) *
                    wide(B(at(o.trans_b, k, j))), k)
    end)
    return kit.compute("Y", to, { "i", "j" }, function(i, j)
      local y = P(i, j) * alpha
      if C then
        y = y + wide(C(kit.broadcast(of, to, { i, j }))) * beta
      end
      return narrow(y)
    end)
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
  tensors = {
    tensor("A", function(o) return { "b", at(o.trans_a, "m", "k") } end),
    tensor("B", function(o) return { "b", at(o.trans_b, "k", "n") } end),
    kit.epilogue_tensors "n",
  },
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
  symbolic = true,
  example = "{ b = 2, m = 1, n = 2, k = 2 }",
  result = "C",
  program = wider,
  apply = function(o, A, B, bias)
    local sum_type, wide = kit.accumulator(o)
    local k, shape = ts.reduce_axis("k", o.k), { o.b, o.m, o.n }
    local names = { "b", "i", "j" }
    local C = kit.compute("C", shape, names, function(b, i, j)
      return ts.sum(wide(A(b, at(o.trans_a, i, k))) *
                    wide(B(b, at(o.trans_b, k, j))), k)
    end)
    return kit.epilogue(o, C, shape, names, 3, sum_type, bias)
  end,
}

declare.operator {
  name = "transpose_batch_matmul",
  summary = "Products of what attention heads project, transposed on the way.",
  says = [[
C[b, h, i, j] = sum over k of Q[b, i, h, k] * V[b, j, h, k]
Q[b, seq, heads, dim], V[b, seq, heads, dim] -> C[b, heads, seq, seq]; both are
first laid out anew, as Q[b, h, i, k] and V[b, h, k, j].]],
  tensors = { tensor("Q", { "b", "seq", "heads", "dim" }),
              tensor("V", { "b", "seq", "heads", "dim" }) },
  options = {
    count("b", "sequences"), count("seq", "their length"),
    count("heads", "heads"), count("dim", "numbers of a head"),
    declare.dtype("number"), acc, out,
  },
  symbolic = true,
  example = "{ b = 1, seq = 2, heads = 2, dim = 2 }",
  result = "C",
  apply = function(o, Q, V)
    local sum_type, wide = kit.accumulator(o)
    local Qt = kit.map("Qt", { o.b, o.heads, o.seq, o.dim },
      function(b, h, i, k) return Q(b, i, h, k) end)
    local Vt = kit.map("Vt", { o.b, o.heads, o.dim, o.seq },
      function(b, h, k, j) return V(b, j, h, k) end)
    local k, shape = ts.reduce_axis("k", o.dim), { o.b, o.heads, o.seq, o.seq }
    local C = kit.map("C", shape, function(b, h, i, j)
      return ts.sum(wide(Qt(b, h, i, k)) * wide(Vt(b, h, k, j)), k)
    end)
    return kit.epilogue(o, C, shape, { "b", "h", "i", "j" }, 4, sum_type)
  end,
}
