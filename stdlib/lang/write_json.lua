-- SPDX-License-Identifier: Apache-2.0
-- Values as JSON text.

-- JSON text, to stand in a value as it is.
local written = {}

-- JSON is UTF-8: each other byte becomes the replacement character.
local function utf8_of(s)
  local parts, at = {}, 1
  while true do
    local ok, bad = utf8.len(s, at)
    if ok then break end
    parts[#parts + 1] = s:sub(at, bad - 1) .. "\u{fffd}"
    at = bad + 1
  end
  return table.concat(parts) .. s:sub(at)
end

-- A value as JSON; keys in order, an empty table is a list.
local function json(v)
  if getmetatable(v) == written then return v.text end
  if type(v) == "table" then
    local parts = {}
    if #v > 0 or next(v) == nil then
      for i, x in ipairs(v) do parts[i] = json(x) end
      return "[" .. table.concat(parts, ", ") .. "]"
    end
    local keys = {}
    for k in pairs(v) do keys[#keys + 1] = k end
    table.sort(keys)
    for i, k in ipairs(keys) do parts[i] = json(k) .. ": " .. json(v[k]) end
    return "{" .. table.concat(parts, ", ") .. "}"
  elseif type(v) == "string" then
    return '"' .. utf8_of(v):gsub('[%c"\\]', function(c)
      return ("\\u%04x"):format(c:byte())
    end) .. '"'
  elseif type(v) == "number" and (v ~= v or v == math.huge or
                                  v == -math.huge) then
    return "null"
  end
  return tostring(v)
end

-- What is written as it is, being JSON already.
local function raw(text) return setmetatable({ text = text }, written) end

-- A table by names, which is an object where it is empty, too.
local function object(t) return next(t) == nil and raw "{}" or t end

return { text = json, raw = raw, object = object }
