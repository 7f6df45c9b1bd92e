-- SPDX-License-Identifier: Apache-2.0
-- Draws of schedule modules beyond the primitives' own.
local sampling = {}

-- One of the list's values, each as likely as the others; `at`: this one.
function sampling.evenly(sch, list, at)
  local even = {}
  for i = 1, #list do even[i] = 1 / #list end
  return sch:sample_categorical(list, even, at and at - 1)
end

-- The same, but no choice where there is one value only.
function sampling.any(sch, list)
  return list[2] and sampling.evenly(sch, list) or list[1]
end

return sampling
