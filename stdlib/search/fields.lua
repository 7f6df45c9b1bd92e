-- SPDX-License-Identifier: Apache-2.0
-- What a table that users make an object of has wrong.
local options = require "tessera.lang.options"

-- What the table t, which `maker` makes something of, has wrong: `fields` is a
-- list of { name =, type =, optional = }.  A field that is not among them is
-- wrong, too; with `own` such may stand there for what the object remembers,
-- unless they are functions.
return function(core, maker, usage, t, fields, own)
  local function wrong(text, ...)
    core.invalid(("%s takes %s: %s"):format(maker, usage, text:format(...)))
  end
  if type(t) ~= "table" then wrong("not %s", type(t)) end
  local known = {}
  for _, field in ipairs(fields) do
    local found = type(t[field.name])
    known[field.name] = true
    if found ~= field.type and not (field.optional and found == "nil") then
      wrong("%s is %s, not a %s", field.name, found, field.type)
    end
  end
  for k, v in next, t do
    if not known[k] and not (own and type(v) ~= "function") then
      wrong("there is no field %s", options.quoted(k))
    end
  end
end
