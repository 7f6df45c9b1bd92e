-- SPDX-License-Identifier: Apache-2.0
-- Tensors that are made: of one value, with ones on a diagonal, of steps, of
-- cosines.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local count, tensor = declare.count, declare.tensor

declare.operator {
  name = "constant_of_shape",
  summary = "A tensor of one value.",
  says = "Y = value",
  options = { declare.list_of("shape", 1, "the shape of Y"),
              declare.number("value", "what each element is", "0"),
              declare.dtype("any") },
  example = "{ shape = { 2 }, value = 3 }",
  apply = function(o)
    local x = kit.constant(o, "value", 0)
    return kit.map("Y", o.shape, function() return x end)
  end,
}

declare.operator {
  name = "eye",
  summary = "A matrix with ones on a diagonal.",
  says = "Y[i, j] = 1 where j = i + k, else 0",
  options = { count("m", "rows"), count("n", "columns", "m"),
              declare.integer("k", "the diagonal, negative: below", "0"),
              declare.dtype("number") },
  example = "{ m = 2 }",
  apply = function(o)
    local n = o.n or o.m
    local k = math.max(-o.m, math.min(o.k, n))
    return kit.map("Y", { o.m, n }, function(i, j)
      return ts.select(ts.eq(j, i + k), ts.const(1, o.dtype),
                       ts.const(0, o.dtype))
    end)
  end,
}

declare.operator {
  name = "range",
  summary = "Numbers from a start on by equal steps.",
  says = "Y[i] = start + i step; start and step have one element",
  tensors = { tensor("start", { "one..." }), tensor("step", { "one..." }) },
  options = { count("n", "how many"),
              declare.list_of("one", 1, "the shape of start and step: {} or " ..
                              "{ 1 }", "{}"),
              declare.dtype("number") },
  example = "{ n = 3 }",
  apply = function(o, start, step)
    local at = o.one or {}
    if kit.product(at) ~= 1 then
      declare.wrong(o.name, "'one' has not one element")
    end
    local zeros = {}
    for d = 1, #at do zeros[d] = 0 end
    return kit.map("Y", { o.n }, function(i)
      return start(table.unpack(zeros)) +
             ts.cast(i, o.dtype) * step(table.unpack(zeros))
    end)
  end,
}

declare.operator {
  name = "cosine_window",
  summary = "A window of cosines, as Hann's, Hamming's and Blackman's.",
  says = [[
Y[i] = a - b cos(2 pi i / N) + c cos(4 pi i / N), { a, b, c } = coefficients
N: n, or n - 1 where it is not periodic.]],
  options = { count("n", "how many"),
              { name = "periodic", type = "boolean", default = "true",
                help = "whether the last is followed by the first" },
              { name = "coefficients", type = "table", default = "Hann's",
                help = "the list a, b, c" },
              declare.dtype("float") },
  example = "{ n = 4 }",
  apply = function(o)
    local N = math.max(o.periodic and o.n or o.n - 1, 1)
    local a, b, c = table.unpack(o.coefficients or { 0.5, 0.5, 0 })
    return kit.map("Y", { o.n }, function(i)
      local x = ts.cast(i, "float64") * (2 * math.pi / N)
      local y = a - b * ts.cos(x) + c * ts.cos(x * 2)
      return ts.cast(y, o.dtype)
    end)
  end,
}
