-- SPDX-License-Identifier: Apache-2.0
-- The negative log likelihood of classes.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"
local tensor = declare.tensor

local function places(o)
  return kit.with(o.shape, 2, nil)
end

declare.operator {
  name = "nll_loss",
  summary = "The negative log likelihood of the classes that are right.",
  says = [[
L[n, ..] = -weight[t] X[n, t, ..], t = T[n, ..], 0 where t is `ignore`
X[n, c, ..]: logarithms of probabilities; T[n, ..]: int32 or int64.  The result
is L, its sum, or (mean) its sum by that of the weights.]],
  tensors = { tensor("X", { "shape..." }),
              tensor("T", places, { type = "index" }),
              tensor("weight", function(o) return { o.shape[2] } end,
                     { when = "weight" }) },
  options = {
    declare.list_of("shape", 1, "the shape of X"),
    declare.word("op", { "none", "sum", "mean" }, "mean", "which result"),
    declare.flag("weight", "a weight for each class"),
    declare.integer("ignore", "a class that does not count", "none"),
    declare.word("index", { "int32", "int64" }, "int64", "the type of T"),
    declare.dtype("float"), declare.acc(),
  },
  example = "{ shape = { 2, 3 } }",
  check = function(o)
    if #o.shape < 2 then declare.wrong(o.name, "'shape' has no classes") end
  end,
  apply = function(o, x, T, weight)
    local acc, wide, narrow = kit.accumulator(o)
    local to, c, n = places(o), o.shape[2], #o.shape
    local zero = ts.const(0, acc)
    local function class(...) return ts.cast(T(...), "int64") end
    -- The class, within those that there are.
    local function index(...)
      return ts.min(ts.max(class(...), 0), c - 1)
    end
    local function counted(v, ...)
      return o.ignore and ts.select(ts.ne(class(...), o.ignore), v, zero) or v
    end
    local L = kit.map("losses", to, function(...)
      local t = index(...)
      local l = -wide(x(table.unpack(kit.inserted({ ... }, 2, t), 1, n)))
      if weight then l = l * wide(weight(t)) end
      l = counted(l, ...)
      return o.op == "none" and narrow(l) or l
    end)
    if o.op == "none" then return L end
    local axes = {}
    for d, extent in ipairs(to) do
      axes[d] = ts.reduce_axis("r" .. d, extent)
    end
    local function total(name, f)
      return kit.map(name, {}, function() return ts.sum(f(), axes) end)
    end
    local S = total("sum", function() return L(table.unpack(axes)) end)
    local W = o.op == "mean" and total("weights", function()
      local w = weight and wide(weight(index(table.unpack(axes)))) or
                ts.const(1, acc)
      return counted(w, table.unpack(axes))
    end)
    return kit.map("Y", {}, function()
      return narrow(W and S() / W() or S())
    end)
  end,
}
