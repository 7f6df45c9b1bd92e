-- SPDX-License-Identifier: Apache-2.0
-- Decisions as people read them, and those of records compared.
local decisions = {}

-- ---- words -----------------------------------------------------------------

local PLACES = { [-2] = "inline", [-1] = "stay" }

local function choice_of(inst, value)
  local candidate = (inst.attrs.candidates or {})[value + 1]
  return candidate and tostring(candidate) or tostring(value)
end

-- A decision of the instruction: tiles in braces, the candidate that was
-- chosen, the loop of a location.
function decisions.text(inst, decision)
  if inst.name == "sample_categorical" then
    return choice_of(inst, decision[1])
  end
  if inst.name == "sample_compute_location" then
    return PLACES[decision[1]] or "loop " .. decision[1]
  end
  return "{" .. table.concat(decision, ", ") .. "}"
end

-- The numbers of a decision, as `choose` takes them, and what they stand for
-- where that is something else: "{3} (512)".
function decisions.numbers(inst, decision)
  local numbers = "{" .. table.concat(decision, ", ") .. "}"
  local text = decisions.text(inst, decision)
  return text == numbers and numbers or ("%s (%s)"):format(numbers, text)
end

-- "i_tile: tiles of i of C": the name that a knob gave first.
function decisions.label(d)
  return (d.knob and d.knob .. ": " or "") .. d.what
end

-- What the decisions are about, by the numbers of their instructions.
function decisions.labels(trace)
  local list = {}
  for _, d in ipairs(trace:decisions()) do
    list[d.instruction] = decisions.label(d)
  end
  return list
end

-- ---- records ---------------------------------------------------------------

function decisions.equal(a, b)
  if not a or not b then return a == b end
  if #a ~= #b then return false end
  for i = 1, #a do
    if a[i] ~= b[i] then return false end
  end
  return true
end

-- A record's { 2, 16, 1, 1, 3 } as { { 16, 1 }, { 3 } }.
function decisions.entries(flat)
  local list, at = {}, 1
  while at <= #flat do
    local n = flat[at]
    list[#list + 1] = { table.unpack(flat, at + 1, at + n) }
    at = at + n + 1
  end
  return list
end

-- Whether two lists of them differ in entry k alone, at most.
function decisions.differ_in(k, a, b)
  for i = 1, math.max(#a, #b) do
    if i ~= k and not decisions.equal(a[i], b[i]) then return false end
  end
  return true
end

return decisions
