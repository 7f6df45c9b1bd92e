-- SPDX-License-Identifier: Apache-2.0
-- The values that a trace names, as text for people.
local parameters = {}

local function value(v)
  if type(v) == "string" then
    return '"' .. v:gsub('[%c"\\]', function(c)
      return ("\\x%02x"):format(c:byte())
    end) .. '"'
  elseif type(v) ~= "table" then
    return tostring(v)
  end
  local parts = {}
  for i, x in ipairs(v) do parts[i] = value(x) end
  return "{" .. (#v > 0 and table.concat(parts, ", ") or
                 parameters.text(v)) .. "}"
end

-- "order = {1, 3, 2}, tile_i = {8, 4}", by name.
function parameters.text(params)
  local parts = {}
  for name, v in pairs(params) do
    parts[#parts + 1] = (name:gsub("%c", "?")) .. " = " .. value(v)
  end
  table.sort(parts)
  return table.concat(parts, ", ")
end

return parameters
