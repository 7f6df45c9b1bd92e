-- SPDX-License-Identifier: Apache-2.0
-- Sums of products in Einstein's notation.
local ts = require "tessera"
local declare = require "tessera.ops.declare"
local kit = require "tessera.ops.kit"

-- The letters of a term as a list; those that "..." stands for are "1", "2", ..
-- of which the last is next to what follows.
local function letters_of(o, term, rank)
  local list, named = {}, term:gsub("%.%.%.", "")
  if named:find "[^%a]" then
    declare.wrong(o.name, "'equation' has the term %q", term)
  end
  local rest = rank and rank - #named or 0
  local before = term:match "^(%a*)%.%.%."
  if rest < 0 or rest > 0 and not before then
    declare.wrong(o.name, "the term %q is not of %d dimensions", term, rank)
  end
  for letter in (before or named):gmatch "." do list[#list + 1] = letter end
  if not before then return list, 0 end
  for k = rest, 1, -1 do list[#list + 1] = tostring(k) end
  for letter in term:match("%.%.%.(%a*)$"):gmatch "." do
    list[#list + 1] = letter
  end
  return list, rest
end

-- The letters of the inputs, those of the result and the extent of each.
local function parsed(o, shapes)
  local text = o.equation:gsub("%s", "")
  local left, right = text:match "^(.-)%->(.*)$"
  left = left or text
  local inputs, extents, seen, most = {}, {}, {}, 0
  for term in (left .. ","):gmatch "([^,]*)," do
    local i = #inputs + 1
    if not shapes[i] then
      declare.wrong(o.name, "'equation' has more than %d terms", #shapes)
    end
    local list, rest = letters_of(o, term, #shapes[i])
    inputs[i], most = list, math.max(most, rest)
    for d, letter in ipairs(list) do
      local n = shapes[i][d]
      local have = extents[letter]
      if have and not kit.same(have, n) and not kit.same(n, 1) and
         not kit.same(have, 1) then
        declare.wrong(o.name, "index %s has extents %s and %s", letter, have, n)
      end
      if not have or kit.same(have, 1) then extents[letter] = n end
      seen[letter] = (seen[letter] or 0) + 1
    end
  end
  if #inputs ~= #shapes then
    declare.wrong(o.name, "'equation' has %d terms, and there are %d tensors",
                  #inputs, #shapes)
  end
  local result = {}
  if right then
    local named = right:gsub("%.%.%.", "")
    local dots = right:find("...", 1, true)
    result = letters_of(o, right, dots and #named + most or nil)
  else
    for k = most, 1, -1 do result[#result + 1] = tostring(k) end
    local once = {}
    for letter, n in pairs(seen) do
      if n == 1 and letter:find "%a" then once[#once + 1] = letter end
    end
    table.sort(once)
    table.move(once, 1, #once, #result + 1, result)
  end
  for _, letter in ipairs(result) do
    if not extents[letter] then
      declare.wrong(o.name, "index %s is of no tensor", letter)
    end
  end
  return inputs, result, extents
end

declare.operator {
  name = "einsum",
  summary = "Sums of products over indices that are named.",
  says = [[
Y[result] = sum over all other indices of X1[term 1] * X2[term 2] * ..
equation: terms with commas between, "ij,jk->ik"; "..." stands for dimensions
that are broadcast, without "->" the result has the indices that come once.]],
  tensors = { declare.tensor("X", function(o, i) return o.shapes[i] end,
                             { list = function(o) return #o.shapes end }) },
  options = {
    { name = "equation", type = "string", help = "the indices of each tensor" },
    { name = "shapes", type = "table", help = "the shapes of the tensors" },
    declare.dtype("number"), declare.acc "number",
  },
  infer = function(o, tensors)
    o.shapes = {}
    for i, x in ipairs(tensors.X) do o.shapes[i] = x.shape end
  end,
  symbolic = true,
  example = "{ equation = \"ij,jk->ik\", shapes = { { 2, 2 }, { 2, 2 } } }",
  apply = function(o, inputs)
    local _, wide, narrow = kit.accumulator(o)
    local terms, result, extents = parsed(o, o.shapes)
    local to, kept, axes, axis_of = {}, {}, {}, {}
    for d, letter in ipairs(result) do
      to[d], kept[letter] = extents[letter], true
    end
    local function axis(letter)
      if not axis_of[letter] then
        axis_of[letter] = ts.reduce_axis("r" .. letter, extents[letter])
        axes[#axes + 1] = axis_of[letter]
      end
      return axis_of[letter]
    end
    for _, list in ipairs(terms) do
      for _, letter in ipairs(list) do
        if not kept[letter] then axis(letter) end
      end
    end
    local Y = kit.map("Y", to, function(...)
      local at, x = {}, nil
      for d, letter in ipairs(result) do at[letter] = select(d, ...) end
      for i, list in ipairs(terms) do
        local place = {}
        for d, letter in ipairs(list) do
          local one = kit.same(o.shapes[i][d], 1) and
                      not kit.same(extents[letter], 1)
          place[d] = one and 0 or at[letter] or axis_of[letter]
        end
        local v = wide(inputs[i](table.unpack(place, 1, #list)))
        x = x and x * v or v
      end
      return #axes > 0 and ts.sum(x, axes) or narrow(x)
    end)
    if #axes == 0 or kit.accumulator(o) == o.dtype then return Y end
    return kit.map("converted", to, function(...) return narrow(Y(...)) end)
  end,
}
