-- SPDX-License-Identifier: Apache-2.0
-- Constant folding: a node all of whose inputs are constants is run, and its
-- results are constants.
local plain = require "tessera.graph.plain"
local value = require "tessera.graph.value"
local program = require "tessera.graph.program"

-- What is made of few elements and is large is computed when it is needed.
local large = 1 << 20

local function folds(g, node)
  local given, made = 0, 0
  for _, id in ipairs(node.inputs) do
    if id ~= 0 then
      local v = value.of(g, id)
      if v.kind ~= "constant" then return false end
      given = given + program.size(v)
    end
  end
  for _, id in ipairs(node.outputs) do
    made = made + program.size(value.of(g, id))
  end
  return made <= math.max(large, 2 * given)
end

return function(g)
  for _, node in ipairs(g:nodes()) do
    node = g:node_info(node.id) -- as it is now: its inputs may have folded
    if folds(g, node) then
      local results = plain.node(g, node, value.tensor)
      for i, id in ipairs(node.outputs) do
        local name = value.of(g, id).name
        g:replace_value(id, g:add_constant(name, results[i]))
      end
    end
  end
end
