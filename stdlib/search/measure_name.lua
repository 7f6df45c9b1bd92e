-- SPDX-License-Identifier: Apache-2.0
-- The name by which the database keeps times of the option measure apart from
-- those of other functions: that which was given, or one of the function's
-- code and the texts, numbers and booleans that it captured.  Functions in C
-- have none.

-- FNV-1a, 64 bits.
local function hash_of(text, h)
  for i = 1, #text do h = (h ~ text:byte(i)) * 0x100000001b3 end
  return h
end

return function(core, o)
  if o.measure == nil and o.measure_name ~= nil then
    core.invalid "option 'measure_name' is the name of the option 'measure', \z
                  which is not given"
  end
  if type(o.measure) ~= "function" or o.measure_name ~= nil then
    return o.measure_name
  end
  local ok, code = pcall(string.dump, o.measure, true)
  if not ok then return nil end
  local h, i = hash_of(code, -0x340d631b7bdddcdb), 1
  while true do
    local name, value = debug.getupvalue(o.measure, i)
    if not name then break end
    local kind = type(value)
    if kind == "string" or kind == "number" or kind == "boolean" then
      h = hash_of(("%d=%s:%s"):format(i, kind, value), h)
    end
    i = i + 1
  end
  return ("code %016x"):format(h)
end
