-- SPDX-License-Identifier: Apache-2.0
-- JSON text that the engine wrote, as Lua values; null is nil.
local escapes = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }

local read

local function read_string(text, at)
  local last = at
  repeat last = text:find('"', last + 1, true)
  until #text:sub(at + 1, last - 1):match "\\*$" % 2 == 0
  local s = text:sub(at + 1, last - 1)
  s = s:gsub("\\u(%x%x%x%x)", function(h)
    return utf8.char(tonumber(h, 16))
  end):gsub("\\(.)", function(c) return escapes[c] or c end)
  return s, last + 1
end

-- The members of a list or an object, from behind its first bracket on.
local function read_members(text, at, close, keyed)
  local out, n = {}, 0
  at = text:find("%S", at)
  while text:sub(at, at) ~= close do
    local k
    n = n + 1
    if keyed then
      k, at = read_string(text, at)
      at = text:find("%S", text:find(":", at, true) + 1)
    end
    out[keyed and k or n], at = read(text, at)
    at = text:find("%S", at)
    if text:sub(at, at) == "," then at = text:find("%S", at + 1) end
  end
  return out, at + 1
end

function read(text, at)
  local c = text:sub(at, at)
  if c == "{" then return read_members(text, at + 1, "}", true) end
  if c == "[" then return read_members(text, at + 1, "]", false) end
  if c == '"' then return read_string(text, at) end
  local word = text:match("^[%w.+-]+", at)
  local values = { ["true"] = true, ["false"] = false }
  local v = values[word]
  if v == nil then v = tonumber(word) end
  return v, at + #word
end

return function(text) return (read(text, text:find "%S")) end
