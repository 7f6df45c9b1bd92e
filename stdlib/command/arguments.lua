-- SPDX-License-Identifier: Apache-2.0
-- Command-line arguments of the sub-commands: options by their kinds, errors of
-- usage.
local words = require "tessera.lang.words"

local arguments = {}

-- A usage error, independent of any file: an unknown option, an impossible
-- value, too many or too few arguments.  Exit status 2; a missing or malformed
-- file is 1.
local function usage(text, ...)
  error({ usage = text:format(...) }, 0)
end

-- An integer in decimal, of 64 bits: tonumber would wrap longer ones in
-- hexadecimal.
local function integer_of(name, text, least, most)
  if not text:find("^[+-]?%d+$") then
    usage("option --%s: '%s' is not an integer", name, text)
  end
  local n = math.tointeger(tonumber(text))
  if not n or n < least or n > most then
    usage("option --%s: %s is outside of %d .. %d", name, text, least, most)
  end
  return n
end

-- An integer from 0 to 2^64 - 1, as C takes it: of the integers of Lua the one
-- with the same bits, which may be given itself, as -1 is.
local function unsigned_of(name, text)
  local most = "18446744073709551615"
  local sign, digits = text:match("^([+-]?)0*(%d+)$")
  if not digits then
    usage("option --%s: '%s' is not an integer", name, text)
  end
  local below = sign == "-" and tonumber(text)
  if math.type(below) == "integer" then return below end
  if sign == "-" or #digits > #most or #digits == #most and digits > most then
    usage("option --%s: %s is outside of 0 .. %s", name, text, most)
  end
  local n = 0
  for d in digits:gmatch "%d" do n = n * 10 + tonumber(d) end
  return n
end

-- A time in decimal.
local function seconds_of(name, text)
  local n = text:find "^[%d.eE+-]+$" and tonumber(text)
  if not n or n <= 0 or n == math.huge then
    usage("option --%s: '%s' is not a time in seconds%s", name, text,
          n == 0 and ", which is more than 0" or "")
  end
  return n + 0.0
end

local function share_of(name, text)
  local n = text:find "^[%d.eE+-]+$" and tonumber(text)
  if not n or n <= 0 or n > 1 then
    usage("option --%s: '%s' is not a number of more than 0, up to 1", name,
          text)
  end
  return n + 0.0
end

-- "30d", "12h": the time so long ago, in UTC.
local function age_of(name, text)
  local n, unit = text:match "^(%d+)([smhdw])$"
  local seconds = { s = 1, m = 60, h = 3600, d = 86400, w = 7 * 86400 }
  local since = n and math.tointeger(tonumber(n))
  if not since or since > 1000000 then
    usage("option --%s: '%s' is no age, as 30d or 12h (s, m, h, d, w)", name,
          text)
  end
  return { text = text, seconds = since * seconds[unit],
           time = os.date("!%Y-%m-%dT%H:%M:%SZ",
                          os.time() - since * seconds[unit]) }
end

local function word_of(name, words, text)
  for _, w in ipairs(words) do
    if w == text then return text end
  end
  usage("option --%s: there is no '%s'; there are %s", name, text,
        table.concat(words, ", "))
end

local function value_of(name, kind, text)
  if type(kind) == "table" then return word_of(name, kind, text) end
  if kind == "string" then
    return text ~= "" and text or
           usage("option --%s needs a value, not ''", name)
  end
  if kind == "unsigned" then return unsigned_of(name, text) end
  if kind == "seconds" then return seconds_of(name, text) end
  if kind == "share" then return share_of(name, text) end
  if kind == "age" then return age_of(name, text) end
  return integer_of(name, text, 1, kind)
end

local function dashed(name) return (#name > 1 and "--" or "-") .. name end

-- The option is none of `known`; where there is `of`, the command that was
-- called is one of several whose options differ.
local function unknown(option, known, of)
  local names = {}
  for name in pairs(known) do names[#names + 1] = name end
  table.sort(names)
  local near = words.nearest(option:match "^%-%-([^=]+)", names)
  for i, name in ipairs(names) do names[i] = dashed(name) end
  usage("unknown option %s%s%s", option,
        of and (" of %s, which has %s"):format(of, #names > 0 and
          table.concat(names, ", ") or "none") or "",
        near and not of and ("; did you mean %s?"):format(dashed(near)) or "")
end

-- Splits arguments into options and the rest; `known` maps each option to
-- "string", "unsigned", "seconds", "share", "age", "flag", a list of words or,
-- for a count, to the largest.
local function parse(args, known, of)
  local options, rest = {}, {}
  local i = 1
  while i <= #args do
    local a = args[i]
    local name, value = a:match("^%-%-([^=]+)=(.*)$")
    name = name or a:match("^%-%-(.+)$")
    local dashes = "--"
    if not name and a:find("^%-%a$") and known[a:sub(2)] then
      name, dashes = a:sub(2), "-"
    end
    if not name then
      if a:sub(1, 1) == "-" and #a > 1 then unknown(a, known, of) end
      rest[#rest + 1] = a
    else
      local kind = known[name] or unknown("--" .. name, known, of)
      if kind == "flag" then
        if value then usage("option --%s takes no value", name) end
        options[name] = true
      else
        if not value then
          i = i + 1
          value = args[i] or usage("option %s%s needs a value", dashes, name)
        end
        options[name] = value_of(name, kind, value)
      end
    end
    i = i + 1
  end
  return options, rest
end

arguments.usage = usage
arguments.parse = parse

-- What is written is none of the files that are read, and its folder is there;
-- those that options may name stand in the table's fields.
function arguments.check_output(option, path, inputs)
  for _, input in pairs(inputs) do
    if require("tessera").same_file(path, input) then
      usage("option %s: '%s' is read, and would be overwritten", option, path)
    end
  end
  local folder = path:match "^(.*/)[^/]*$"
  if not folder then return end
  local f <close>, why = io.open(folder)
  if not f then usage("option %s: %s", option, why) end
end

-- The target that --target names; nil without one.
function arguments.target(text)
  if not text then return nil end
  local ok, target = pcall(require("tessera").target, text)
  if not ok then usage("option --target: %s", target.message) end
  return target
end

return arguments
