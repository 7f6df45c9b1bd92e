-- SPDX-License-Identifier: Apache-2.0
-- Products of one value with several matrices that are known, as the queries,
-- keys and values of attention are, become one with the matrices side by side,
-- whose columns are then taken apart.
local edit = require "tessera.graph.edit"

-- What a slice of columns is part of: without these it would be a copy.
local moves = { reshape = true, transpose = true }

-- By value the operators that take it, "" for an output of the graph.
local function find_users(g)
  local users = {}
  local function add(id, op)
    users[id] = users[id] or {}
    table.insert(users[id], op)
  end
  for _, n in ipairs(g:nodes()) do
    for _, id in ipairs(n.inputs) do add(id, n.op) end
  end
  for _, v in ipairs((g:outputs())) do add(v.id, "") end
  return users
end

local function only_moves(users)
  for _, op in ipairs(users or {}) do
    if not moves[op] then return false end
  end
  return true
end

-- What is the same of products that can be joined: operator, options, whether
-- there is a bias; nil: it cannot be.
local function key_of(g, n)
  local w, bias = edit.input(g, n, 2), edit.input(g, n, 3)
  if not edit.columns(g, n) or not edit.is_known(g, w) or
     bias and not edit.is_known(g, bias) then
    return nil
  end
  local list = { n.op, n.inputs[1], w.dtype, tostring(bias ~= nil) }
  for name, x in pairs(n.attrs) do
    x = type(x) == "table" and table.concat(x, ",") or tostring(x)
    list[#list + 1] = name .. "=" .. x
  end
  table.sort(list, function(a, b) return tostring(a) < tostring(b) end)
  return table.concat(list, " ")
end

local function concat(g, list, axis)
  list[#list + 1] = { axis = axis }
  return g:concat(table.unpack(list))
end

local function join(g, products)
  local weights, biases, first = {}, {}, products[1]
  for i, n in ipairs(products) do
    weights[i], biases[i] = edit.input(g, n, 2), edit.input(g, n, 3)
  end
  local w = concat(g, weights, edit.columns(g, first) - 1)
  local y = g[first.op](g, edit.input(g, first, 1), w, edit.with(first.attrs, {
    bias = biases[1] and concat(g, biases, 0) }))
  local from, rank = 0, #y.shape
  for _, n in ipairs(products) do
    local old, begin = edit.result(g, n), {}
    for d = 1, rank do begin[d] = d == rank and from or 0 end
    from = from + old.shape[rank]
    local stop = table.move(old.shape, 1, rank - 1, 1, {})
    stop[rank] = from
    g:replace_value(old.id, g:slice(y, { begin = begin, stop = stop }).id)
  end
end

return function(g)
  local users, groups, order = find_users(g), {}, {}
  for _, node in ipairs(g:nodes()) do
    local key = key_of(g, node)
    if key and only_moves(users[node.outputs[1]]) then
      if not groups[key] then
        groups[key] = {}
        order[#order + 1] = groups[key]
      end
      table.insert(groups[key], node)
    end
  end
  for _, products in ipairs(order) do
    if #products > 1 then join(g, products) end
  end
end
