-- SPDX-License-Identifier: Apache-2.0
-- ONNX's control flow, where constants decide it: the branch that is taken, and
-- the iterations of a loop, become nodes of the graph.
local fold = require "tessera.graph.onnx.fold"

-- More iterations of a loop would make too large a graph.
local MOST = 1024

-- A list of tensors of one shape as one, along a new first dimension.
local function stacked(n, list)
  local parts = {}
  for i, x in ipairs(list) do
    parts[i] = n:reshape(x, { 1, table.unpack(x.shape) })
  end
  if #parts == 1 then return parts[1] end
  parts[#parts + 1] = { axis = 0 }
  return n.ops.concat(table.unpack(parts))
end

local function truth(v) return v ~= 0 and v ~= false end

-- Whether the condition that a body gives is true.
local function goes_on(n, x)
  local t = fold.tensor(x) or n.import.fixed(x)
  if not t then n:refuse "its condition is not constant" end
  return truth(fold.elements(t)[1])
end

return function(of)
  function of.If(n)
    local branch = truth(n:value(1)) and "then_branch" or "else_branch"
    return table.unpack(n:inline(branch, {}))
  end

  -- The body takes the iteration, the condition and what is carried; it gives
  -- the condition, what is carried and, of each iteration, elements of lists.
  function of.Loop(n)
    local most = n:has(1) and n:value(1) or math.huge
    local carried, lists = {}, {}
    local goes = not n:has(2) or truth(n:value(2))
    for i = 3, n:nin() do carried[#carried + 1] = n:needs(i) end
    local kept, i = #carried, 0
    while goes and i < most do
      if i == MOST then n:refuse("more than %d iterations", MOST) end
      local results = n:inline("body", {
        n:constant("int64", {}, i), n:constant("bool", {}, 1),
        table.unpack(carried) })
      goes = goes_on(n, results[1])
      for k = 1, kept do carried[k] = results[k + 1] end
      for k = kept + 2, #results do
        lists[k - kept - 1] = lists[k - kept - 1] or {}
        table.insert(lists[k - kept - 1], results[k])
      end
      i = i + 1
    end
    for k = 1, n.nout - kept do
      if not lists[k] then n:refuse "a list without an element" end
      carried[kept + k] = stacked(n, lists[k])
    end
    return table.unpack(carried)
  end
end
