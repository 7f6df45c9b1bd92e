-- SPDX-License-Identifier: Apache-2.0
-- What the parts of the language share: the check of a name, and what inputs
-- hold.
local checking = require "tessera.lang.options"
local checks = {}

-- What has a name quotes it in errors, and much that is none prints itself at
-- length.
function checks.name(core, what, name)
  if type(name) ~= "string" then
    core.wrong_type(("the name of %s must be a string, not %s")
                    :format(what, type(name)))
  end
end

-- Declares what an input holds (docs/describing.md, "Indices from data").
function checks.declare(core, buffer, name, options)
  local range, into = options.range, options.offsets_into
  local function refuse(text)
    core.invalid(("placeholder '%s': %s"):format(name, text))
  end
  if range ~= nil and (type(range) ~= "table" or #range ~= 2 or
                       checking.stray(range) ~= nil) then
    refuse "range is { least, below }, and nothing else"
  end
  if into ~= nil then
    if range then refuse "offsets_into says the range, too" end
    if math.type(into) ~= "integer" or into < 0 or into == math.maxinteger then
      refuse("offsets_into is a number of elements, an integer of at least 0")
    end
    range = { 0, into + 1 }
  end
  for _, option in ipairs { "sorted", "unique" } do
    local v = options[option]
    if v ~= nil and type(v) ~= "boolean" then
      refuse(option .. " is true or false")
    end
  end
  if not range and not options.sorted and not options.unique then return end
  core.holds(buffer, range and range[1], range and range[2], options.sorted,
             options.unique, into ~= nil)
end

return checks
