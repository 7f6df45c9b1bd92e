-- SPDX-License-Identifier: Apache-2.0
-- What a bench in Lua is given on its command line: counts, words of a list,
-- options.  Anything else ends it with a line that says what is wrong, and how
-- it is called.
--   local given = dofile(".../support/arguments.lua") "odd.lua [TRIALS [CASE]]"
return function(usage)
  local given = {}

  local function refuse(text, ...)
    error(("%s; usage: %s"):format(text:format(...), usage), 0)
  end
  given.refuse = refuse

  -- Argument i as an integer from 1 on; `otherwise` where it is left out.
  function given.count(i, name, otherwise)
    local text = arg[i]
    if text == nil then return otherwise end
    local n = math.tointeger(tonumber(text))
    if not n or n < 1 then
      refuse("%s is an integer from 1 on, not '%s'", name, text)
    end
    return n
  end

  -- Argument i, which is a word.
  function given.word(i, name)
    return arg[i] or refuse("%s is missing", name)
  end

  -- There is no argument behind number n.
  function given.at_most(n)
    if arg[n + 1] then refuse("what is '%s'?", arg[n + 1]) end
  end

  -- Those of the names that have `part` in them; one has.
  function given.matching(name, part, names)
    local list = {}
    for _, known in ipairs(names) do
      if known:find(part, 1, true) then list[known] = true end
    end
    if next(list) == nil then
      refuse("there is no %s '%s'; there are %s", name, part,
             table.concat(names, "; "))
    end
    return list
  end

  -- A word that is one of the names.
  function given.one_of(name, word, names)
    for _, known in ipairs(names) do
      if known == word then return word end
    end
    refuse("there is no %s '%s'; there are %s", name, word,
           table.concat(names, ", "))
  end

  -- The text of an option as a value of the same kind as the one that it has
  -- where it is left out; a count may be 0 where that is.
  local function value_of(option, text, otherwise)
    local kind = math.type(otherwise)
    if not text then refuse("%s has no value", option) end
    if not kind then return text end
    local n = tonumber(text)
    if kind == "integer" then n = math.tointeger(n) end
    if not n or n < 0 then
      refuse("%s is %s, not '%s'", option, kind == "integer" and "a count"
             or "a number from 0 on", text)
    end
    return n
  end

  -- The values of options, "--seeds 3", by name: `otherwise` has all of them
  -- with what they are where they are left out, false of one without a value;
  -- and the other words.  Those behind "--NAME", where NAME is in `lists`, are
  -- in a list of that name.
  function given.options(otherwise, lists)
    local values, words = setmetatable({}, { __index = otherwise }), {}
    local to, i = words, 1
    for name in pairs(lists or {}) do words[name] = {} end
    while arg[i] do
      local name = arg[i]:match "^%-%-(.*)"
      if not name then
        to[#to + 1] = arg[i]
      elseif words[name] then
        to = words[name]
      elseif otherwise[name] == nil then
        refuse("there is no option %s", arg[i])
      elseif otherwise[name] == false then
        values[name] = true
      else
        values[name] = value_of(arg[i], arg[i + 1], otherwise[name])
        i = i + 1
      end
      i = i + 1
    end
    return values, words
  end

  -- As a word of a shell's command.
  function given.quoted(s)
    return "'" .. s:gsub("'", "'\\''") .. "'"
  end

  return given
end
