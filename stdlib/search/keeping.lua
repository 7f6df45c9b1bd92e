-- SPDX-License-Identifier: Apache-2.0
-- Saves the data of a cost model in Lua, and loads it again: the fields of its
-- table that are numbers, texts, booleans and tables of these, as text that is
-- read, never run.
local keeping = {}

local HEAD = "tessera cost model in Lua 1\n"
local DEEPEST = 100

-- ---- writing ---------------------------------------------------------------

local function before(a, b)
  if math.type(a) and math.type(b) then return a < b end
  if type(a) ~= type(b) then return type(a) < type(b) end
  return tostring(a) < tostring(b)
end

local write = {}

function write.number(out, x)
  out[#out + 1] = math.type(x) == "integer" and ("i%d;"):format(x) or
                  ("f%a;"):format(x)
end

function write.string(out, x) out[#out + 1] = ("s%d:%s"):format(#x, x) end

function write.boolean(out, x) out[#out + 1] = x and "y" or "n" end

-- Functions are left out: whoever loads it has them.
function write.table(out, t, depth)
  if depth > DEEPEST then
    error("it is nested too deep, or holds itself", 0)
  end
  local keys = {}
  for k, v in next, t do
    if write[type(k)] and type(k) ~= "table" and write[type(v)] then
      keys[#keys + 1] = k
    elseif type(v) ~= "function" then
      error(("there is a %s in it, by the key %s"):format(
              write[type(v)] and type(k) or type(v), tostring(k)), 0)
    end
  end
  table.sort(keys, before)
  out[#out + 1] = ("t%d:"):format(#keys)
  for _, k in ipairs(keys) do
    write[type(k)](out, k)
    write[type(t[k])](out, t[k], depth + 1)
  end
end

function keeping.save(core)
  return function(model, path)
    local out = {}
    local ok, why = pcall(write.table, out, model, 1)
    if not ok then core.invalid("the cost model cannot be saved: " .. why) end
    ok, why = pcall(require("tessera").write_file, path,
                    HEAD .. table.concat(out))
    if not ok then
      core.invalid("the cost model cannot be saved: " .. why.message)
    end
  end
end

-- ---- reading ---------------------------------------------------------------

local read

-- The table at `at`, behind its letter.
local function read_table(text, at, depth, into)
  local n, from = text:match("^(%d+):()", at)
  n = n and math.tointeger(tonumber(n))
  if not n or depth > DEEPEST then return nil end
  at = from
  for _ = 1, n do
    local k, v
    k, at = read(text, at, depth + 1)
    if k == nil or type(k) == "table" or k ~= k then return nil end
    v, at = read(text, at, depth + 1)
    if v == nil then return nil end
    into[k] = v
  end
  return into, at
end

-- The value at `at`, and where the next begins; nil: there is none.
function read(text, at, depth)
  local kind = text:sub(at, at)
  if kind == "y" or kind == "n" then return kind == "y", at + 1 end
  if kind == "t" then return read_table(text, at + 1, depth, {}) end
  if kind == "s" then
    local n, from = text:match("^(%d+):()", at + 1)
    n = n and math.tointeger(tonumber(n))
    if not n or n > #text - from + 1 then return nil end
    return text:sub(from, from + n - 1), from + n
  end
  local digits, after = text:match("^([^;]+);()", at + 1)
  if kind == "i" then
    return digits and math.tointeger(tonumber(digits)), after
  end
  if kind ~= "f" or not digits then return nil end
  local special = { inf = math.huge, ["-inf"] = -math.huge,
                    nan = 0 / 0, ["-nan"] = 0 / 0 }
  local x = special[digits] or tonumber(digits)
  return x and x + 0.0, after
end

function keeping.load(core, path, model)
  local file, why = io.open(path, "rb")
  if not file then core.invalid("the cost model cannot be read: " .. why) end
  local text = file:read "a"
  file:close()
  local good = text and text:sub(1, #HEAD + 1) == HEAD .. "t"
  local fields, at = {}, 0
  if good then fields, at = read_table(text, #HEAD + 2, 1, fields) end
  if not good or not fields or at ~= #text + 1 then
    core.invalid(("%s holds no cost model in Lua, or it is damaged")
                 :format(path))
  end
  for k, v in next, fields do
    if type(model[k]) ~= "function" then model[k] = v end
  end
  return model
end

return keeping
