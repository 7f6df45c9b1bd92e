-- SPDX-License-Identifier: Apache-2.0
-- Values of a graph, as objects: v.shape, v.dtype, v.name, v.kind, v.node; of a
-- constant v:tensor().  A value is one object, whoever asks for it.
local value = {}
local class = {}
local known = setmetatable({}, { __mode = "k" })

local methods = {}

-- The tensor of a constant.
function value.tensor(v) return v.graph:value_tensor(v.id) end
methods.tensor = value.tensor

function class.__index(v, key)
  return methods[key] or v.graph:value_info(v.id)[key]
end

function class.__tostring(v)
  local shape = {}
  for d, x in ipairs(v.shape or {}) do shape[d] = tostring(x) end
  return ("%s: %s[%s]"):format(v.name ~= "" and v.name or "%" .. v.id,
                               v.dtype or "?", table.concat(shape, ", "))
end

-- The value of a graph by its number.
function value.of(g, id)
  local list = known[g]
  if not list then
    list = setmetatable({}, { __mode = "v" })
    known[g] = list
  end
  local v = list[id]
  if not v then
    v = setmetatable({ graph = g, id = id }, class)
    list[id] = v
  end
  return v
end

function value.is(v) return getmetatable(v) == class end

return value
