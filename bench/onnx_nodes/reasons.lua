-- SPDX-License-Identifier: Apache-2.0
-- Why node cases do not run, in few words.
local reasons = {}

-- Of messages, by a part of them.
local of_message = {
  { "type float8", "float8 types" }, { "type float4", "float4 types" },
  { "type object", "strings" }, { "type list", "sequences" },
  { "is 0; it must be", "extents of 0" }, { "the number 0", "extents of 0" },
  { "not positive", "extents of 0" }, { "nothing of", "extents of 0" },
  { "random", "random numbers" }, { "a graph of its own", "a graph inside" },
  { "is no tensor", "optional values" }, { "NoneType", "optional values" },
}

-- Of what is no operator here.
local of_operator = {
  If = "control flow", Loop = "control flow", Scan = "control flow",
  ImageDecoder = "image files", OptionalHasElement = "optional values",
  OptionalGetElement = "optional values", Bernoulli = "random numbers",
  TreeEnsemble = "trees", TfIdfVectorizer = "n-grams",
  MelWeightMatrix = "a constant of the host's",
  Adagrad = "training", Adam = "training", Momentum = "training",
}

local function reason(op, why)
  for _, row in ipairs(of_message) do
    if why:find(row[1], 1, true) then return row[2] end
  end
  local none = why:find("there is no such operator", 1, true)
  return none and of_operator[op] or why
end

-- "float8 types 10, strings 2", of the messages of an operator.
function reasons.of(op, list)
  local counts, order = {}, {}
  for _, why in ipairs(list) do
    local r = reason(op, why)
    if not counts[r] then order[#order + 1] = r end
    counts[r] = (counts[r] or 0) + 1
  end
  for i, r in ipairs(order) do order[i] = ("%s %d"):format(r, counts[r]) end
  return table.concat(order, ", ")
end

return reasons
