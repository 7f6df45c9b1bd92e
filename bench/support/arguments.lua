-- SPDX-License-Identifier: Apache-2.0
-- What a bench in Lua is given on its command line: counts, and words of a
-- list.  Anything else ends it with a line that says what is wrong, and how it
-- is called.
--   local given = dofile(".../support/arguments.lua") "odd.lua [TRIALS [CASE]]"
return function(usage)
  local given = {}

  local function refuse(text, ...)
    error(("%s; usage: %s"):format(text:format(...), usage), 0)
  end

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

  return given
end
